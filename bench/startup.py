"""Measure the CPU time of a fresh process: ``clew COMMAND --help``, a hook, the first ``clew.compact``.

uv run python bench/startup.py [--runs 3] [COMMAND …]

Prints the median of the CPU time (user and system) of each; exits with 1 if one takes more than its limit.
Modules are read as bytecode, as in an installation, which an uncounted first run compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from clew.cli.commands import COMMANDS

HELP_LIMIT = 0.2
HOOK_LIMIT = 0.4
HOOK_MESSAGES = 500
COMPACT_LIMIT = 0.3
COMPACT = """import clew
clew.compact([{"role": "user", "content": "Fix src/a.py, but never touch legacy/."}], 200_000)"""


def cpu_seconds(words: Sequence[str], bytecode: str, stdin: bytes = b"", home: str = "") -> float:
    """Return the CPU seconds of one run of Python with its modules' bytecode kept in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = os.environ | ({"CLEW_HOME": home} if home else {}) | {"PYTHONPYCACHEPREFIX": bytecode}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *words], input=stdin, env=env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hook_event(folder: Path) -> bytes:
    """Write a Claude Code session and return the event that announces its compaction."""
    path = folder / "session.jsonl"
    with path.open("w", encoding="utf-8") as out:
        parent = None
        for n in range(HOOK_MESSAGES):
            role = "user" if n % 10 == 0 else "assistant"
            text = f"Step {n}: never edit src/legacy_{n}.py; run `pytest tests/test_{n}.py` and report. " * 4
            line = {
                "type": role,
                "uuid": f"u{n}",
                "parentUuid": parent,
                "sessionId": "bench",
                "cwd": str(folder),
                "timestamp": f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02}.000Z",
                "message": {"role": role, "content": text},
            }
            parent = line["uuid"]
            out.write(json.dumps(line) + "\n")
    event = {"session_id": "bench", "transcript_path": str(path), "cwd": str(folder), "trigger": "manual"}
    return json.dumps({"hook_event_name": "PreCompact", **event}).encode()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commands", metavar="COMMAND", nargs="*", default=[*COMMANDS])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        event = hook_event(Path(folder))

        def measure(name: str, limit: float, words: Sequence[str], stdin: bytes = b"") -> None:
            nonlocal slow
            homes = (str(Path(folder, f"home{n}")) for n in range(args.runs + 1))
            first, *times = [cpu_seconds(words, f"{folder}/bytecode", stdin, home) for home in homes]
            took = statistics.median(times)
            slow += took > limit
            print(f"{name:<45} {took:.3f} s (the first run, which compiles: {first:.3f} s)")

        for name in args.commands:
            measure(f"clew {name} --help", HELP_LIMIT, ["-m", "clew", name, "--help"])
        hook = f"clew hook before a compaction, {HOOK_MESSAGES} messages"
        measure(hook, HOOK_LIMIT, ["-m", "clew", "hook", "claude-code"], event)
        measure("the first clew.compact, of one message", COMPACT_LIMIT, ["-c", COMPACT])
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
