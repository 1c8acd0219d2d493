"""What a reader yields: a stream of small typed records, in the order of the conversation.

A session that its tool compacted once is: ``Start``, entries, ``Boundary``, an entry with the summary,
further entries. Readers are generators, so a file of any size is read in bounded memory. Bad input never
raises: what cannot be read becomes a ``Problem`` with its line, and reading continues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from clew.message import Message, Usage


@dataclass(frozen=True, slots=True)
class Start:
    """A session begins; a file may hold several."""

    session_id: str
    format: str
    title: str | None = None
    directory: str | None = None
    model: str | None = None
    time: str | None = None
    parent_id: str | None = None
    """The session that this one was forked or spawned from."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message with its position in its file."""

    message: Message
    id: str
    """The tool's own id, or ``L<line>`` / ``#<index>`` if it has none. Unique in its session."""
    line: int | None = None
    """One-based line, or the index in a JSON list; None for databases."""
    time: str | None = None
    """ISO 8601; UTC if the file says so."""
    model: str | None = None
    usage: Usage | None = None
    sidechain: str | None = None
    """The id of the sub-agent that the message belongs to; None in the main conversation."""
    hidden_results: tuple[str, ...] = ()
    """Call ids whose output the tool hides from its model but still stores; ``message`` has the originals."""
    shown: Message | None = None
    """What the tool's model sees instead of ``message``; None if it sees the message itself."""
    replaces: str | None = None
    """The id of the entry that it replaces: a system prompt that was logged again, changed."""
    window: int | None = None
    """The context window of its model, if the tool recorded it."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The tool compacted here: its model no longer sees the session's earlier entries, except ``keeps``.

    The summary, if it can be read, follows as an entry whose message has ``Origin.SUMMARY``.
    """

    id: str
    line: int | None = None
    time: str | None = None
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    keeps: tuple[str, ...] = ()
    kept_first: int = 0
    """How many of the entries in ``keeps`` the model sees before the summary, with the system prompt."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """From here on the tool hides the output of these earlier calls from its model.

    Unlike after a ``Boundary``, the calls stay in place; their entries hold the original outputs.
    """

    call_ids: tuple[str, ...]
    line: int | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """The user went back: these earlier entries are no longer part of the conversation."""

    ids: tuple[str, ...]
    line: int | None = None
    reason: str = "rewound"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read, and where. The rest was read."""

    what: str
    line: int | None = None


Record: TypeAlias = Start | Entry | Boundary | Cleared | Dropped | Problem
