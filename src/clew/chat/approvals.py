"""What a person allowed, kept in the log: an answer outlives the process, a compaction and a resume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from posixpath import normpath
from typing import Any

from clew.chat.happenings import Answer
from clew.ledger.constraints.values import Kind
from clew.ledger.pins import Pin
from clew.log.kinds import APPROVAL
from clew.message import JsonObject
from clew.session import Session

LONGEST_WHAT = 300


class Approvals:
    """The answers of one session."""

    def __init__(self, session: Session) -> None:
        """Read what was answered before."""
        self._session = session
        self.always: set[str] = set()
        """The tools that need not be asked about any more."""
        for stored in session.store.read(session.ctx, kinds=[APPROVAL.name]):
            self._take(stored.event.body)

    def _take(self, body: JsonObject) -> None:
        if body.get("answer") == Answer.ALWAYS:
            self.always.add(str(body.get("tool")))

    def holds(self, tool: str) -> bool:
        """Tell whether a person said that this tool need not be asked about any more."""
        return tool in self.always

    def record(self, tool: str, call_id: str, what: str, answer: Answer) -> None:
        """Keep an answer."""
        body: JsonObject = {
            "tool": tool,
            "call": call_id,
            "what": what,
            "answer": answer.value,
            "by": "person",
        }
        self._session.record(APPROVAL.name, body)
        self._take(body)


def what_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Say in one line what a call would do."""
    match name, dict(arguments):
        case "write_file", {"path": str(path), "text": str(text)}:
            return _short(f"write {len(text):,} characters to {path}: {text}")
        case "remember", {"text": str(text)}:
            return _short(f"keep a note: {text}")
        case "forget", {"note": str(note)}:
            return _short(f"forget the note {note} (because: {arguments.get('why') or 'no reason given'})")
        case "pin", {"quote": str(quote)}:
            return _short(f"pin the rule: {quote}")
    return _short(f"{name} {arguments}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_WHAT else f"{flat[:LONGEST_WHAT]}…"


def against(pins: tuple[Pin, ...], arguments: Mapping[str, Any]) -> Iterator[Pin]:
    """Yield the prohibitions that name the place which a call would write to."""
    path = arguments.get("path")
    if isinstance(path, str):
        for pin in pins:
            if pin.kind is Kind.PROHIBITION and any(covers(scope, path) for scope in pin.scope.paths):
                yield pin


def covers(scope: str, path: str) -> bool:
    """Tell whether a path as a rule names it holds another: ``legacy/`` holds ``legacy/a.py``."""
    place = normpath(path).strip("/")
    if "*" in scope.rstrip("/*"):
        return fnmatch(place, scope) or fnmatch(place.rpartition("/")[2], scope)
    held = scope.removeprefix("./").strip("/*")
    return bool(held) and f"/{held}/" in f"/{place}/"
