"""The line that a list of sessions shows of each: title, project, size, compactions, last request.

A session is read whole once; the result is cached in a small file in clew's home until the session's file
changes. Deleting the cache loses nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from clew.errors import ClewError
from clew.message import Message
from clew.settings import clew_home
from clew.tokens import counter_for
from clew.transcripts.discover import FoundSession
from clew.transcripts.records import Boundary, Entry
from clew.transcripts.transcript import Transcript, load

VERSION = 8
"""Version of the cache; entries of another version are read again."""
KEPT_CHARACTERS = 300
ReportCount: TypeAlias = Callable[[str, int, int], None]
"""Reports what is being done, how much of it is done, and how much there is."""
LARGEST_BYTES = 300 << 20
"""A larger file is listed without being read."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Key facts about one session, as ``clew sessions`` lists them."""

    title: str | None = None
    """The title its tool gave it, or the user's first request that says what the work is."""
    project: str | None = None
    model: str | None = None
    tokens: int = 0
    """What its model sees now: as reported for the last call, with what followed it; or estimated."""
    messages: int = 0
    compactions: int = 0
    compacted: Sequence[str] = ()
    """When its tool compacted it, oldest first; empty texts for times that it did not record."""
    asked: str | None = None
    """The user's last words."""


def profile_of(session: Transcript) -> Profile:
    """Return the key facts about a session."""
    hidden_ids = session.dropped
    cuts = [boundary for boundary in session.boundaries if boundary.id not in hidden_ids]
    words = [*session.user_words()]
    return Profile(
        title=_short(session.label if session.label != session.id else None),
        project=_masked(session.start.directory),
        model=_masked(session.model),
        tokens=_tokens_now(session),
        messages=len(session.full_entries()),
        compactions=len(cuts),
        compacted=[boundary.time or "" for boundary in cuts],
        asked=_short(words[-1] if words else None),
    )


def _short(text: str | None) -> str | None:
    """Return the first words of a text on one line, with secrets masked, because they are stored."""
    kept = _masked(text and text[: KEPT_CHARACTERS * 2])
    return " ".join(kept.split())[:KEPT_CHARACTERS] if kept else None


def _masked(text: str | None) -> str | None:
    from clew.secrets import mask  # here, because a listing from the cache needs no secret rules

    return mask(text).text if text else None


def _tokens_now(session: Transcript) -> int:
    """Return the tokens of the last call and what followed it; an estimate if a compaction came last."""
    counter = counter_for(session.model or "")
    live = {entry.id for entry in session.full_entries()}
    later: list[Message] = []
    for record in reversed(session.records):
        if isinstance(record, Boundary):
            break
        if not isinstance(record, Entry) or record.id not in live:
            continue
        if record.usage is not None and record.usage.input_tokens:
            return record.usage.input_tokens + record.usage.output_tokens + sum(map(counter.count, later))
        later.append(record.message)
    return sum(map(counter.count, session.current()))


# The cache ---------------------------------------------------------------------------------------------


class _Cached(NamedTuple):
    """A profile, and the state of the session's file that it was made from (see ``_file_state``)."""

    state: list[int]
    profile: Profile


class Profiles:
    """Profiles of sessions, from the cache if their files have not changed."""

    def __init__(self, path: Path | None = None) -> None:
        """Use this cache file; by default one in clew's home."""
        self._path = path or clew_home() / "cache" / "sessions.json"
        self._cache = self._load()
        self._changed = False

    def of(self, sessions: Sequence[FoundSession], report: ReportCount | None = None) -> list[Profile]:
        """Return the profile of each session, in the order given; report how many of them are read."""
        for done, session in enumerate(sessions, start=1):
            cached = self._cache.get(_key(session))
            if cached is None or cached.state != _file_state(session):
                self._read(session)
            if report is not None:
                report("reading", done, len(sessions))
        self._save()
        return [self._profile(session) for session in sessions]

    def _profile(self, session: FoundSession) -> Profile:
        cached = self._cache.get(_key(session))
        profile = cached.profile if cached else Profile()
        title, project = session.title or profile.title, session.project or profile.project
        return replace(profile, title=title, project=project)

    def _read(self, found: FoundSession) -> None:
        if found.size > LARGEST_BYTES and not found.in_database:
            return
        with suppress(ClewError, OSError):
            for session in load(found.open(), found.format):
                self._cache[_key(found)] = _Cached(_file_state(found), profile_of(session))
                self._changed = True

    def _load(self) -> dict[str, _Cached]:
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            if stored["version"] != VERSION:
                return {}
            sessions = stored["sessions"].items()
            return {key: _Cached(state, Profile(**fields)) for key, (state, fields) in sessions}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}  # missing or unreadable: it is created again

    def _save(self) -> None:
        """Write the cache atomically, without sessions whose files are gone."""
        if not self._changed:
            return
        sessions = {
            key: [cached.state, asdict(cached.profile)]
            for key, cached in self._cache.items()
            if Path(key.split("\n")[0]).exists()
        }
        stored = {"version": VERSION, "sessions": sessions}
        with suppress(OSError):  # without a cache, listing is only slower
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = self._path.with_suffix(f".{os.getpid()}")
            temporary.touch(mode=0o600)
            temporary.write_text(json.dumps(stored), encoding="utf-8")
            temporary.replace(self._path)
            self._changed = False


def _key(session: FoundSession) -> str:
    return f"{session.path}\n{session.session_id}" if session.in_database else str(session.path)


def _file_state(session: FoundSession) -> list[int]:
    """Return what changes when a session changes; for one in a database, its time of change."""
    return [int(session.modified.timestamp() * 1000), 0 if session.in_database else session.size]
