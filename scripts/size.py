"""Print the size of the package: rooms, files, lines, duplicate class names, functions run by a compaction.

usage: uv run python scripts/size.py
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "clew"


def main() -> None:
    """Print the figures, one per line."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    classes = Counter(
        node.name for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)
    )
    print(
        f"rooms                     {sum((path / '__init__.py').exists() for path in PACKAGE.iterdir()):>7,}"
    )
    print(f"files                     {len(files):>7,}")
    print(f"lines                     {sum(text.count(chr(10)) for text in texts):>7,}")
    print(f"duplicate class names     {sum(count > 1 for count in classes.values()):>7,}")
    for name, work in (("clew.compact", compact_list), ("Session.compact", compact_session)):
        functions, modules = touched(work())
        print(f"{name:<25} {functions:>7,} functions in {modules} files")


def compact_list() -> Callable[[], object]:
    """Return a compaction of a list of 241 messages, after a warm-up that imports and compiles."""
    import clew

    messages = _messages()
    clew.compact(messages, 9_000)
    return lambda: clew.compact(messages, 9_000)


def compact_session() -> Callable[[], object]:
    """Return a compaction of a session with the same messages."""
    from clew import MemoryStore, Session

    sessions = [Session.open(name, MemoryStore(), window=9_000) for name in ("warm", "measured")]
    for session in sessions:
        session.add(*_messages())
    sessions[0].compact(target_tokens=3_000)
    return lambda: sessions[1].compact(target_tokens=3_000)


def _messages() -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "Tidy up the billing code. Never touch legacy/."}
    ]
    for n in range(80):
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/part_{n}.py"}}
        output = "\n".join(f"rate_{n}_{i} = table[{i}] * {n + i}" for i in range(20))
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"I read part {n}."}, call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": output}],
            },
            {"role": "assistant", "content": f"Part {n} is done; rate_{n}_3 was wrong."},
        ]
    return messages


def touched(work: Callable[[], object]) -> tuple[int, int]:
    """Return how many functions of the package a call runs, and in how many files."""
    seen: set[tuple[str, int]] = set()

    def note(frame, event, _argument) -> None:  # noqa: ANN001
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(seen), len({file for file, _ in seen})


if __name__ == "__main__":
    main()
