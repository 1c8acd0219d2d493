"""Measure long lists and one giant result: CPU time, and peak memory over the list's own size.

    uv run python bench/large.py [--shape real] [--sizes 10000 100000] [--megabytes 59]

Each case runs in a process of its own, cold: ``clew.compact`` down to a quarter of the tokens, a giant result
to 100,000 tokens. The size of the list is what the process grew by while it was made; the peak is the growth
of the largest resident set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from compact_pass import SHAPES, session

import clew
from clew.providers import OPENAI

PAGE = os.sysconf("SC_PAGE_SIZE")
LINE = "src/app/store_{n}.py:{n}: INFO the worker keeps {n} rows of cache_{n} in {n} ms\n"


def resident() -> int:
    """Return the bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def peak() -> int:
    """Return the most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def giant(megabytes: int) -> list[dict[str, Any]]:
    """Return a session with one tool result of this size."""
    length, lines = 0, []
    while length < megabytes * 1_000_000:
        lines.append(LINE.format(n=len(lines)))
        length += len(lines[-1])
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "make"}'}}
    return [
        {"role": "user", "content": "Build it, but never push to main."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "".join(lines)},
        {"role": "assistant", "content": "The build passes."},
    ]


def measure(shape: str, size: int) -> dict[str, float]:
    """Compact one list; return seconds and megabytes."""
    warm = OPENAI.render(item.message for item in session("short", 60, seed=-1))
    clew.compact(warm, target_tokens=600, model="gpt-4o", wire="openai")
    before = resident()
    if shape == "giant":
        messages = giant(size)
    else:
        messages = OPENAI.render(item.message for item in session(shape, size, seed=0))
    held = resident() - before
    characters = sum(len(str(message.get("content") or "")) for message in messages)
    started = time.process_time()
    target = 100_000 if shape == "giant" else characters // 16
    after = clew.compact(messages, target_tokens=target, model="gpt-4o", wire="openai")
    spent = time.process_time() - started
    return {"seconds": spent, "list": held / 1e6, "peak": (peak() - before) / 1e6, "kept": after.tokens_after}


def main() -> None:
    """Measure each case in a process of its own and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=SHAPES, default="real")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--megabytes", type=int, nargs="*", default=[59])
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "SIZE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], int(asked.one[1]))))
        return
    cases = [(asked.shape, size) for size in asked.sizes] + [("giant", size) for size in asked.megabytes]
    print("| list | CPU s | list, MB | peak, MB | peak / list |\n|---|---|---|---|---|")
    for shape, size in cases:
        command = [sys.executable, __file__, "--one", shape, str(size)]
        found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        name = f"a result of {size} MB" if shape == "giant" else f"{size:,} {shape} messages"
        cells = f"{found['seconds']:.2f} | {found['list']:.0f} | {found['peak']:.0f}"
        print(f"| {name} | {cells} | {found['peak'] / max(1, found['list']):.1f} |", flush=True)


if __name__ == "__main__":
    main()
