"""How fast and in how much memory sessions are read, against a floor and a peer, in one run.

    uv run python bench/read.py [--megabytes 200]
    uv run --with claude-code-log python bench/read.py      with the peer

The input is generated: a Claude Code session of one reply with thinking, a call, and 4 kB of output a step.
The floor is what any reader must do: read the lines and parse their JSON. Each reader runs in a process of
its own; rates are by CPU time, memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "read.md"


def floor(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def clew_reads(path: Path) -> int:
    from clew.transcripts import Entry, open_source, read

    return sum(isinstance(record, Entry) for record in read(open_source(path)))


def clew_loads(path: Path) -> int:
    from clew.transcripts import load, open_source

    return sum(len(session.full()) for session in load(open_source(path)))


def claude_code_log_loads(path: Path) -> int:
    from claude_code_log.converter import load_transcript  # type: ignore[import-not-found]

    return len(load_transcript(path, silent=True))


READERS = {
    "floor: lines and json.loads": floor,
    "clew, record by record": clew_reads,
    "clew, whole session in memory": clew_loads,
    "claude-code-log, whole session in memory": claude_code_log_loads,
}


def claude_code_lines(size_bytes: int) -> Iterator[str]:
    """Yield the lines of a session of about that size."""
    output = "\n".join(f"{n:6}\tdef function_{n}(self, value: int) -> str:" for n in range(80))
    written, step, parent = 0, 0, None
    while written < size_bytes:
        for line in step_lines(step, parent, output):
            parent = line["uuid"]
            text = json.dumps(line)
            written += len(text) + 1
            yield text
        step += 1


def step_lines(step: int, parent: object, output: str) -> list[dict[str, object]]:
    def line(kind: str, part: str, message: dict[str, object], before: object) -> dict[str, object]:
        return {
            "type": kind,
            "uuid": f"{part}-{step}",
            "parentUuid": before,
            "sessionId": "bench",
            "timestamp": "2026-08-01T10:00:00.000Z",
            "isSidechain": False,
            "cwd": "/project",
            "version": "2.1.0",
            "userType": "external",
            "gitBranch": "main",
            "message": message,
        }

    def reply(block: dict[str, object]) -> dict[str, object]:
        usage = {"input_tokens": 5, "output_tokens": 40, "cache_read_input_tokens": 1000}
        return {
            "id": f"msg_{step}",
            "type": "message",
            "stop_reason": None,
            "role": "assistant",
            "model": "claude-x",
            "content": [block],
            "usage": usage,
        }

    thinking = {
        "type": "thinking",
        "thinking": f"Step {step}: look at the file. " * 8,
        "signature": "c2ln" * 40,
    }
    call = {
        "type": "tool_use",
        "id": f"toolu_{step}",
        "name": "Read",
        "input": {"file_path": f"/p/{step}.py"},
    }
    result = {"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": f"{step}\n{output}"}
    return [
        line("assistant", "a", reply(thinking), parent),
        line("assistant", "b", reply(call), f"a-{step}"),
        line("user", "c", {"role": "user", "content": [result]}, f"b-{step}"),
    ]


def measure(name: str, path: Path) -> tuple[float, float, int]:
    """Run one reader in a process of its own; return CPU seconds, peak MB and what it counted."""
    done = subprocess.run(
        [sys.executable, __file__, "--reader", name, "--file", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak_mb, count = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak_mb, count


def run_reader(name: str, path: Path) -> None:
    started = time.process_time()
    count = READERS[name](path)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([time.process_time() - started, peak_mb, count]))


def table(megabytes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in claude_code_lines(megabytes * 1_000_000))
        size_mb = path.stat().st_size / 1e6
        rows = ["| reader | MB/s | of the floor | peak MB | counted |", "|---|---|---|---|---|"]
        rate_of_floor = 0.0
        for name in READERS:
            if name.startswith("claude-code-log") and not importlib.util.find_spec("claude_code_log"):
                rows.append(f"| {name} | not installed | | | |")
                continue
            seconds, peak_mb, count = measure(name, path)
            rate = size_mb / seconds
            rate_of_floor = rate_of_floor or rate
            rows.append(f"| {name} | {rate:.0f} | {rate / rate_of_floor:.2f} | {peak_mb:.0f} | {count:,} |")
    return f"A generated Claude Code session of {size_mb:.0f} MB.\n\n" + "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--reader")
    parser.add_argument("--file", type=Path)
    args = parser.parse_args()
    if args.reader:
        run_reader(args.reader, args.file)
        return
    command = f"uv run --with claude-code-log python bench/read.py --megabytes {args.megabytes}"
    text = f"# Reading sessions\n\n`{command}`\n\n{table(args.megabytes)}"
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
