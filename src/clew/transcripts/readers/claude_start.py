"""Facts about a Claude Code session, collected before it is read; titles come last in its file."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.message import JsonObject
from clew.transcripts.fields import mapping, string
from clew.transcripts.records import Start

FORMAT = "claude-code"
# The title fields, best first: by the user, by the model, for the list of sessions.
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


@dataclass(slots=True)
class Session:
    """What is known about a session so far."""

    first: int
    fields: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    has_spoken: bool = False

    def learn(self, record: JsonObject) -> None:
        """Take what a record says about its session."""
        session_id = string(record, "sessionId") or string(record, "session_id")
        if session_id:
            self.fields["session_id"] = session_id
        for name, value in (
            ("directory", string(record, "cwd")),
            ("time", string(record, "timestamp")),
            ("parent_id", string(mapping(record, "forkedFrom"), "sessionId")),
        ):
            if value:
                self.fields.setdefault(name, value)
        model = string(mapping(record, "message"), "model")
        if model and model != "<synthetic>":
            self.fields.setdefault("model", model)

    def entitle(self, record: JsonObject) -> None:
        """Take the title from a record that has one; the last of each kind counts."""
        key = _TITLES.get(string(record, "type") or "")
        title = string(record, key) if key else None
        if key and title:
            self.titles[key] = title

    def start(self, fallback_id: str, agent_id: str | None) -> Start:
        """Return the ``Start`` of the session; a sub-agent's has the id of its agent."""
        known = dict(self.fields)
        session_id = known.pop("session_id", fallback_id)
        if agent_id:
            known["parent_id"], session_id = session_id, agent_id
        title = next(
            (self.titles[k] for k in ("customTitle", "aiTitle", "summary") if k in self.titles), None
        )
        return Start(session_id, FORMAT, title, **known)
