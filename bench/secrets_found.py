"""What the rules for secrets find in folders of sessions and of source code: by rule, never the secret.

    uv run python bench/secrets_found.py FOLDER ...

Give it sessions that were cleaned, and code: what is found there is a false alarm, or a made-up key of an
example. Python files are read as text, everything else as sessions; what is neither is passed over.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clew.errors import ClewError
from clew.message import Message, Text, Thinking, ToolCall, ToolResult
from clew.secrets import find
from clew.transcripts import load


def texts(message: Message) -> Iterator[str]:
    """Yield the words of a message."""
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text):
                yield text
            case ToolCall():
                yield part.input_text
            case ToolResult(text=text):
                yield text


def read(path: Path) -> Iterator[str]:
    """Yield the texts of a file."""
    if path.suffix == ".py":
        yield path.read_text("utf-8", "replace")
        return
    try:
        sessions = load(path)
    except ClewError:
        return
    for session in sessions:
        for message in session.full():
            yield from texts(message)


def main() -> None:
    found: Counter[str] = Counter()
    characters, seconds = 0, 0.0
    for folder in map(Path, sys.argv[1:]):
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            for text in read(path):
                characters += len(text)
                started = time.process_time()
                found.update(one.rule for one in find(text))
                seconds += time.process_time() - started
    print(f"{characters:,} characters, {seconds:.1f} s, {found.total():,} finds")
    for rule, times in found.most_common():
        print(f"{times:>8,}  {rule}")


if __name__ == "__main__":
    main()
