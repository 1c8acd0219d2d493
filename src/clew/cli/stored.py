"""Sessions of a log: clew's own, or an exported file, which is only read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clew.cli.inputs import (
    WORKSPACE,
    Input,
    conversation,
    is_path,
    no_session,
    open_arguments,
    own_name,
    own_store,
)
from clew.errors import InputError, NotFound
from clew.log import COMPACTION, REFUSAL, UNDO, import_session
from clew.log.protocol import Ctx, Store
from clew.log.store import MemoryStore
from clew.message import Item
from clew.session import Session
from clew.session.history import PastCompaction, compaction_history
from clew.transcripts import Transcript

ADVICE = "`clew sessions --tool clew` lists them, `clew import FILE` adds one"


@dataclass(frozen=True, slots=True)
class Log:
    """A session in a log."""

    store: Store
    ctx: Ctx
    own: bool
    """Whether it is in clew's own log, where changes are kept."""

    @property
    def name(self) -> str:
        """Return the name of the session."""
        return self.ctx.session

    def open(self) -> Session:
        """Open the session as the log has it, also if a setting switches clew off."""
        return Session.open(self.name, self.store, workspace=self.ctx.workspace, off=False)


@contextmanager
def open_log_or_input(args: argparse.Namespace) -> Iterator[Log | Input]:
    """Open the session that the arguments name: of a log, or any other input."""
    with _log_session(args.file) as log:
        if log:
            yield log
            return
    source = open_arguments(args)
    if source.source and source.is_clew:
        store = MemoryStore()
        with source.source.on_disk() as path, Path(path).open("rb") as file:
            yield Log(store, import_session(store, WORKSPACE, file).ctx, own=False)
    else:
        yield source


@contextmanager
def open_log(args: argparse.Namespace) -> Iterator[Log]:
    """Open the session of a log that the arguments name, exported or not."""
    if not _is_file(args.file):
        with own_log(args.file) as log:
            yield log
        return
    with open_log_or_input(args) as source:
        if isinstance(source, Input):
            raise InputError(f"{args.file} is not a session of clew's log", "`clew import` adds it")
        yield source


@contextmanager
def own_log(name: str) -> Iterator[Log]:
    """Open a session of clew's own log; raises ``NotFound``."""
    with _log_session(name) as log:
        if log is None:
            if _is_file(name):
                what = f"{name!r} is not a session of clew's log"
                raise NotFound(what, "`clew import FILE` adds a file to the log")
            with own_store() as store:
                raise no_session(store, name)
        yield log


@contextmanager
def _log_session(name: str) -> Iterator[Log | None]:
    if _is_file(name):
        yield None
        return
    with own_store() as store:
        value = own_name(store, name) if store else None
        yield Log(store, Ctx(workspace=WORKSPACE, session=value), own=True) if store and value else None


def _is_file(name: str) -> bool:
    return name == "-" or is_path(name)


def numbered(session: Transcript) -> list[Item]:
    """Return the conversation of a file, its messages numbered as ``clew expand`` does."""
    entries = conversation(session)
    return [Item(f"m{number}", entry.message) for number, entry in enumerate(entries, start=1)]


@dataclass(frozen=True, slots=True)
class RefusedCompaction:
    """A compaction that was refused."""

    time: str
    reason: str


def history(log: Log) -> list[PastCompaction]:
    """Return every compaction, undone ones included, oldest first."""
    return compaction_history(log.store.read(log.ctx, kinds=[COMPACTION.name, UNDO.name]))


def refusals(log: Log) -> list[RefusedCompaction]:
    """Return the compactions that were proposed and refused."""
    events = log.store.read(log.ctx, kinds=[REFUSAL.name])
    return [RefusedCompaction(event.event.time, str(event.event.body.get("reason", ""))) for event in events]


def past_named(log: Log, name: str) -> PastCompaction:
    """Return a compaction by its number."""
    past = history(log)
    for compaction in past:
        if compaction.name == name:
            return compaction
    last = len(past)
    known_names = {0: "it was never compacted", 1: "there is d1"}.get(last, f"there are d1 to d{last}")
    raise NotFound(f"there is no compaction {name!r} in {log.name!r}", known_names)
