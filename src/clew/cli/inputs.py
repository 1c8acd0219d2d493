"""Open the input of a command: a session file, another tool's session by its id, or a session of clew's log.

Every command opens its input here, so that lines that could not be read are always reported.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, NoIndex, NotFound
from clew.log import ABOUT, fold, import_session, load_messages, named_messages
from clew.log.protocol import Ctx, Store
from clew.log.store import MemoryStore, SqliteStore, open_store
from clew.log.transfer import OWN
from clew.settings import load_settings, network_disk, store_address, use_encoder
from clew.transcripts import (
    Entry,
    FoundSession,
    Problem,
    Record,
    Source,
    Start,
    Transcript,
    find_sessions,
    open_source,
    read,
)
from clew.transcripts.discover import SHORT_ID_LENGTH, file_id, short_id
from clew.transcripts.transcript import collect

if TYPE_CHECKING:
    from clew.log.store.postgres import PostgresStore
    from clew.memory.index import Index

WORKSPACE = "local"
"""The one workspace of the command line; hosts with several tenants name their own."""
OWN_FORMAT = "clew"
"""The format name of sessions in clew's own log."""
SHOWN = 8
MOST_FILES = 1_000
"""Files of a folder that a mistyped name is compared with."""
SHORTEST_PREFIX = 4
NEAR = 0.6
"""Similarity (of `difflib`) from which a name is suggested for a mistyped one; chosen by hand."""
LONGEST_ID = 300
"""Ids up to this length are shown whole: they must be typed exactly, and often differ only at their end."""


@dataclass(frozen=True, slots=True)
class Input:
    """The session file or log session named on the command line, opened."""

    name: str
    format: str | None
    session: str | None
    source: Source | None
    """None for a session of clew's own log."""
    stored: tuple[Record, ...] = ()

    @property
    def is_clew(self) -> bool:
        """Whether it is a session of clew's own, from the log or exported."""
        return self.source is None or (self.format is None and is_export(self.source))

    def records(self) -> Iterator[Record]:
        """Yield its records, as they are read."""
        if self.source is None:
            return iter(self.stored)
        if self.is_clew:
            return iter(_export_records(self.source))
        return read(self.source, self.format)

    def sessions(self, term: Terminal) -> list[Transcript]:
        """Read all its sessions; report on standard error what could not be read."""
        transcripts = list(collect(self.records(), Start(self.name, self.format or "unknown")))
        if self.session is not None:
            transcripts = [_select(transcripts, self.session, self.name)]
        for session in transcripts:
            report_problems(session.problems, term)
        if not any(session.entries for session in transcripts):
            raise NotFound(f"no messages in {self.name}", "check --format, and whether the file is complete")
        return transcripts

    def single_session(self, term: Terminal) -> Transcript:
        """Read the one session that the arguments name."""
        transcripts = self.sessions(term)
        if len(transcripts) == 1:
            return transcripts[0]
        raise InputError(
            f"{self.name} holds {len(transcripts)} sessions", f"name one with --session: {_ids(transcripts)}"
        )


def open_arguments(args: argparse.Namespace) -> Input:
    """Open what the arguments name."""
    stored = _own_session(args.file)
    if stored:
        return Input(args.file, args.format, args.session, None, tuple(stored))
    session = found_named(args.file)
    if session is None:
        return Input(args.file, args.format, args.session, _open_path(args.file))
    return Input(args.file, args.format or session.format, args.session, session.open())


def report_problems(problems: Sequence[Problem], term: Terminal) -> None:
    """Report what could not be read, a line each."""
    for problem in problems[:SHOWN]:
        term.note(printable(problem_line(problem)))
    if len(problems) > SHOWN:
        term.note(f"⚠ … and {count(len(problems) - SHOWN, 'more problem')} (`clew show` lists them all)")


def problem_line(problem: Problem) -> str:
    """Return a problem as one line."""
    place = f"line {problem.line}: " if problem.line is not None else ""
    return f"⚠ {place}{problem.what}"


def open_input(name: str) -> Source:
    """Open a path, standard input, or the file of a session that ``clew sessions`` lists."""
    session = found_named(name)
    return session.open() if session else _open_path(name)


def _open_path(name: str) -> Source:
    """Open a path or standard input; raises ``NotFound`` with the most similar names in its folder."""
    path = Path(name)
    if name != "-" and not path.exists() and path.parent.is_dir():
        with suppress(OSError):
            files = [item.name for item in islice(path.parent.iterdir(), MOST_FILES)]
            if near := get_close_matches(path.name, files, 2):
                target = " or ".join(one_line(str(path.with_name(item)), LONGEST_ID) for item in near)
                raise NotFound(f"no file {name!r}", f"did you mean {target}?")
    return open_source(name)


def is_path(name: str) -> bool:
    """Whether a name is the path of something that exists."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or not possible as a path
        return False


def found_named(name: str) -> FoundSession | None:
    """Return the session of another tool that has this id; None for a path or standard input.

    Raises ``NotFound`` with the nearest ids if it is neither.
    """
    if name == "-" or is_path(name) or "/" in name or len(name) < SHORTEST_PREFIX:
        return None
    sessions = list(find_sessions(titles=False))
    hits = [session for session in sessions if session.is_named(name)]
    exact = [hit for hit in hits if name in (hit.short_id, hit.id)]
    if len(hits) == 1 or len(exact) == 1:
        return (exact or hits)[0]
    if hits:
        alike = len({hit.short_id for hit in hits}) < len(hits)
        ids = _name_list([str(hit.path) if alike else hit.short_id for hit in hits])
        raise InputError(f"{name!r} matches {len(hits)} sessions", f"give one id: {ids}")
    if "." in name:
        return None  # a path that does not exist
    forms = {
        session.short_id: (session.short_id, f"{session.format}:{session.id}", file_id(session.path))
        for session in sessions
    }
    suggestion = did_you_mean(name, forms)
    raise NotFound(f"no file and no session {name!r}", f"{suggestion}`clew sessions` lists them")


def own_short_id(name: str) -> str:
    """Return the id under which a session of clew's log is listed: its name, or an 8-character id."""
    return name if len(name) <= SHORT_ID_LENGTH else short_id(name, OWN_FORMAT, hashed=True)


def is_export(source: Source) -> bool:
    """Whether a source is a session that clew exported."""
    if source.is_directory:
        return False
    try:
        value = json.loads(source.peek().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("clew") == "session"


def the_store() -> SqliteStore | PostgresStore:
    """Open clew's log for writing; create it if needed."""
    return open_store(store_address(), network_disk())


def has_no_log() -> bool:
    """Whether clew has no log yet, not even an empty one. A server's always exists."""
    address = store_address()
    return isinstance(address, Path) and not address.exists()


@contextmanager
def own_store() -> Iterator[Store | None]:
    """Open clew's log, or yield None if there is none; never creates it."""
    if has_no_log():
        yield None
        return
    with the_store() as store:
        yield store


@contextmanager
def open_index(store: Store, model: str | None = None) -> Iterator[Index]:
    """Open the search index of a store; ``model`` is the embedder's name, None for that of the settings."""
    from clew.memory.memory import index_of  # imported only by commands that search

    use_encoder(load_settings().settings)
    index = index_of(store, WORKSPACE, model)
    if index is None:
        raise NoIndex("this store has no search index")
    try:
        yield index
    finally:
        close = getattr(index, "close", None)
        if close is not None:
            close()


def own_name(store: Store, name: str) -> str | None:
    """Return the name of the session of clew's log that matches, None if none does.

    Accepts a prefix of a name (``codex:019a4c…``), also without the tool in front, as tools print their ids,
    and the id that ``clew sessions`` lists.
    """
    if store.head(Ctx(workspace=WORKSPACE, session=name)).seq:
        return name
    begins = name.removesuffix("…")
    if not begins:
        return None
    named = [session.session for session in store.sessions(WORKSPACE)]
    if listed := [session for session in named if own_short_id(session) == begins]:
        return listed[0]
    wants_internal = begins.startswith(OWN)
    names = [
        session
        for session in named
        if _begins_with(session, begins) and (wants_internal or not session.startswith(OWN))
    ]
    if len(names) > 1:
        advice = f"give more of its name: {_name_list(names)}"
        raise InputError(f"more than one session of clew's log begins with {begins!r}", advice)
    return names[0] if names else None


def _begins_with(name: str, begins: str) -> bool:
    """Whether a name begins with this, with or without its tool: ``019a4c``, ``copilot:4f2a``.

    A tool alone names no session, even if the log has only one of it. The short id of the tool's session
    counts too: that of a Codex session is the end of its id.
    """
    tool, colon, rest = name.partition(":")
    if name.startswith(begins):
        return not colon or len(begins) > len(tool + colon)
    wanted_tool, _, wanted = begins.rpartition(":")
    is_enough = len(wanted) >= SHORTEST_PREFIX and tool.startswith(wanted_tool)
    return is_enough and (rest.lower().startswith(wanted.lower()) or short_id(rest, tool) == wanted.lower())


def existing_name(store: Store, name: str) -> str:
    """Return the name of the session of clew's log that matches; raises ``NotFound``."""
    found = own_name(store, name)
    if found is None:
        raise no_session(store, name)
    return found


def no_session(store: Store | None, name: str) -> NotFound:
    """Return the error for a session that is not in clew's log, with the nearest names."""
    names = [session.session for session in store.sessions(WORKSPACE)] if store else []
    names = [session for session in names if not session.startswith(OWN)]
    advice = "`clew sessions --tool clew` lists them, `clew import FILE` adds one"
    suggestion = did_you_mean(name, {session: (session, own_short_id(session)) for session in names})
    return NotFound(f"there is no session {name!r} in clew's log", f"{suggestion}{advice}")


def did_you_mean(name: str, known: Mapping[str, Iterable[str]]) -> str:
    """Return "did you mean …?" with the sessions that resemble a mistyped name; empty if none does.

    ``known`` has the ids of each session. Ids are often cut off, so they are compared only up to the length
    of what was typed, with and without their tool (``codex:019a4c`` and ``019a4c``).
    """
    text = name.removesuffix("…").lower()

    def likeness(ids: Iterable[str]) -> float:
        forms = {form.lower() for id_ in ids for form in (id_, id_.partition(":")[2]) if form}
        return max((SequenceMatcher(None, text, form[: len(text)]).ratio() for form in forms), default=0)

    rated = sorted(((likeness(ids), session) for session, ids in known.items()), reverse=True)[:3]
    near = [one_line(session, LONGEST_ID) for rate, session in rated if rate >= NEAR]
    return f"did you mean {' or '.join(near)}? " if near else ""


_ID = re.compile(r".*…|[\w-]+:.+|ses_\w+|rollout-.*|\d+[a-f][0-9a-f-]*|(?=.*\d)[0-9a-f-]{8,}", re.IGNORECASE)
"""Ids as tools print them: cut off, with the tool in front, of opencode, of a Codex file, hexadecimal."""


def looks_like_id(name: str) -> bool:
    """Whether a name looks like an id made by a tool, not a name chosen by a person."""
    return _ID.fullmatch(name) is not None


def _own_session(name: str) -> list[Record] | None:
    if name == "-" or is_path(name):
        return None
    with own_store() as store:
        value = own_name(store, name) if store else None
        return _as_records(store, Ctx(workspace=WORKSPACE, session=value)) if store and value else None


def _export_records(source: Source) -> list[Record]:
    store = MemoryStore()
    with source.on_disk() as path, Path(path).open("rb") as file:
        ctx = import_session(store, WORKSPACE, file).ctx
    return _as_records(store, ctx)


def _as_records(store: Store, ctx: Ctx) -> list[Record]:
    view = fold(store.read(ctx))
    entries = [
        Entry(visible.message, name)
        for name, visible in named_messages(view, load_messages(store, ctx, view.entries))
    ]
    return [Start(ctx.session, OWN_FORMAT, model=recorded_model(store, ctx)), *entries]


def recorded_model(store: Store, ctx: Ctx) -> str | None:
    """Return the model of a session of a log, as last recorded."""
    values = [stored.event.body.get("model") for stored in store.read(ctx, kinds=[ABOUT.name])]
    return next((model for model in reversed(values) if isinstance(model, str)), None)


def conversation(session: Transcript) -> list[Entry]:
    """Return the whole conversation; of a session of clew's own, what its model sees, digests included."""
    return list(session.entries) if session.format == OWN_FORMAT else session.full_entries()


def _select(transcripts: Sequence[Transcript], wanted: str, name: str) -> Transcript:
    for session in transcripts:
        if session.id == wanted:
            return session
    verb = "is" if len(transcripts) == 1 else "are"
    raise InputError(f"no session {wanted!r} in {name}", f"there {verb} {_ids(transcripts)}")


def _ids(transcripts: Sequence[Transcript]) -> str:
    return _name_list([session.id for session in transcripts])


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(one_line(name, LONGEST_ID) for name in names[:SHOWN])}{more}"
