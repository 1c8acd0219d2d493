"""Load the modules, tables and patterns of a compaction before the first client asks for one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from clew.proxy import answers
from clew.proxy.conversations import Conversations
from clew.proxy.digests import DigestWriter
from clew.proxy.requests import CompactionRequest, RequestKind

_WORK = (
    (
        "Bash",
        {"command": "pytest -q"},
        "FAILED tests/test_a.py::test_b - ValueError: bad port 8123\n1 failed",
    ),
    ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "The file was updated."),
    ("TodoWrite", {"todos": [{"content": "Fix a", "status": "pending"}]}, "Todos were modified."),
)


def warm_up() -> None:
    """Compact a small made-up conversation in a folder that is deleted again."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        conversations = Conversations(Path(folder) / "clew.db")
        request = CompactionRequest(
            RequestKind.SUMMARY, "anthropic", {"model": "claude-sonnet-5"}, _entries()
        )
        answers.answer(request, DigestWriter(conversations, 400).write(request))
        conversations.close()


def _entries() -> list[dict[str, object]]:
    said = "Fix the parser in src/a.py. Never modify files under legacy/. We decided to use port 8123."
    entries: list[dict[str, object]] = [{"role": "user", "content": said}]
    for n, (name, given, output) in enumerate(_WORK * 4):
        call = {"type": "tool_use", "id": f"t{n}", "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{output}\n" * 9}
        reply = {
            "type": "text",
            "text": f"I found that the cause is in src/a.py:{n}. Next I will run the tests.",
        }
        entries += [{"role": "assistant", "content": [reply, call]}, {"role": "user", "content": [result]}]
    return entries
