"""Measure a call of ``clew.compact`` that compacts nothing, as the list grows.

    uv run python bench/idle.py [--sizes 10 100 1000 10000]

Each call gets two more messages, in the caller's whole list or appended to ``.messages`` of the last result.
Prints the median and fastest CPU time; exits with 1 if the longest list takes more than ``LIMIT`` or
costs more than ``GROWTH`` times the shortest.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import clew

LIMIT = 0.001
GROWTH = 1.5
CALLS = 60
WINDOW = 1_000_000_000


def entry(n: int) -> dict[str, Any]:
    """Return one message of a made-up conversation."""
    role = "user" if n % 2 == 0 else "assistant"
    return {"role": role, "content": f"Step {n}: module_{n % 300} loads the rows; see src/app/file_{n}.py."}


def seconds(length: int, keeps: str) -> list[float]:
    """Return the CPU seconds of calls with a list that begins at a length."""
    messages = [entry(n) for n in range(length)]
    fitted, spent = clew.compact(messages, WINDOW), []
    for _ in range(CALLS):
        if keeps == "messages":
            messages = fitted.messages
        messages += [entry(len(messages)), entry(len(messages) + 1)]
        started = time.process_time()
        fitted = clew.compact(messages, WINDOW, previous=fitted)
        spent.append(time.process_time() - started)
    return spent


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    sizes = parser.parse_args().sizes
    seconds(10, "whole")  # tables and patterns are loaded
    failed = False
    for keeps in ("whole", "messages"):
        fastest = []
        for length in sizes:
            spent = seconds(length, keeps)
            fastest.append(min(spent))
            print(
                f"{keeps:<9}{length:>8,} messages: median {statistics.median(spent) * 1e3:.3f} ms, "
                f"fastest {min(spent) * 1e3:.3f} ms"
            )
        failed |= fastest[-1] > LIMIT or fastest[-1] > GROWTH * fastest[0]
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
