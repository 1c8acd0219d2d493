"""What a person allowed, kept in the log: an answer outlives the process, a compaction and a resume.

A log can come from anywhere. An answer counts only where this computer's clew wrote it, for this session and
this root: each has a keyed hash of those. One in an imported log, of another session or for another root does
not, and is only history.
"""

from __future__ import annotations

import hmac
from hashlib import blake2b
from pathlib import Path

from clew.chat.happenings import Answer
from clew.log import canonical
from clew.log.fold import APPROVAL
from clew.message import JsonObject
from clew.secrets import mask
from clew.secrets.mask import own_key
from clew.session import Session

INSTRUCTIONS = "instructions:"
"""Begins what is allowed where no tool is: that a file which the session wrote counts as instructions."""


class Approvals:
    """The answers of one session, for one root."""

    def __init__(self, session: Session, root: Path | None = None) -> None:
        """Read what was answered before."""
        self._session = session
        self._root = root.resolve().as_posix() if root else ""
        self.always: set[str] = set()
        """The tools that need not be asked about any more."""
        self.places: set[str] = set()
        """The files that a tool was allowed to write to, whoever says so."""
        self._instructions: set[str] = set()
        for stored in session.store.read(session.ctx, kinds=[APPROVAL.name]):
            self._take(stored.event.body)

    def _take(self, body: JsonObject) -> None:
        tool, answer = str(body.get("tool")), str(body.get("answer"))
        place = body.get("place")
        if isinstance(place, str) and answer != Answer.NO:
            self.places.add(place)
        if not hmac.compare_digest(str(body.get("seal")).encode(), self._seal(tool, answer).encode()):
            return
        if tool.startswith(INSTRUCTIONS):
            self._instructions.add(tool)
        elif answer == Answer.ALWAYS:
            self.always.add(tool)

    def _seal(self, tool: str, answer: str) -> str:
        """Return what only this computer's clew can write behind an answer."""
        ctx = self._session.ctx
        told: JsonObject = {"for": [ctx.workspace, ctx.session, self._root], "tool": tool, "answer": answer}
        return blake2b(canonical(told), key=own_key(), digest_size=16, person=b"clew-approval").hexdigest()

    def holds(self, tool: str) -> bool:
        """Tell whether a person said that this tool need not be asked about any more."""
        return tool in self.always

    def counts(self, path: str, sha256: str) -> bool:
        """Tell whether a person said that a file which the session wrote counts as instructions."""
        return _as_instructions(path, sha256) in self._instructions

    def let_count(self, path: str, sha256: str) -> None:
        """Keep that a person lets a file count as instructions, with just these words in it."""
        self.record(_as_instructions(path, sha256), "", f"follow {path}", Answer.YES)

    def record(self, tool: str, call_id: str, what: str, answer: Answer, place: str = "") -> None:
        """Keep an answer; ``place`` is the file that the tool would write to."""
        body: JsonObject = {
            "tool": tool,
            "call": call_id,
            "what": mask(what).text,
            "answer": answer.value,
            "by": "person",
            **({"place": place} if place else {}),
            "seal": self._seal(tool, answer.value),
        }
        self._session.record(APPROVAL.name, body)
        self._take(body)


def _as_instructions(path: str, sha256: str) -> str:
    """Return what is allowed when a file may count as instructions; it tells nothing of the path."""
    told: JsonObject = {"path": path, "sha256": sha256}
    return f"{INSTRUCTIONS}{blake2b(canonical(told), digest_size=16).hexdigest()}"
