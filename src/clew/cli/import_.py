"""Take a session into clew's own log: one that clew exported, or any session file that clew reads.

An export is verified line by line before anything is written. From another tool's file comes the whole
conversation, without that tool's summaries where the originals are there.

examples:
  clew import story.clew.zst
  clew import ~/.codex/sessions/2026/11/02/rollout-….jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from clew.cli.inputs import WORKSPACE, add_input
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line
from clew.log import Imported, import_session, message_event
from clew.message import JsonObject
from clew.ports import Ctx, Event, Store
from clew.settings import store_path
from clew.store import SqliteStore
from clew.transcripts import Entry, Source, Transcript, load, open_source

BATCH = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_input(parser)


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Import every session of the file."""
    source = open_source(args.file).keep()
    with SqliteStore(store_path()) as store:
        if args.format is None and _is_export(source):
            _tell(term, _import_export(store, source))
            return 0
        for transcript in load(source, args.format):
            _tell(term, _import_transcript(store, transcript))
    return 0


def _is_export(source: Source) -> bool:
    first = source.peek().split(b"\n", 1)[0]
    try:
        value = json.loads(first)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("clew") == "session"


def _import_export(store: Store, source: Source) -> Imported:
    with source.on_disk() as path, Path(path).open("rb") as file:
        return import_session(store, WORKSPACE, file)


def _import_transcript(store: Store, transcript: Transcript) -> Imported:
    """Append the conversation; a session that was imported before goes on where it had ended."""
    ctx = Ctx(workspace=WORKSPACE, session=f"{transcript.format}:{one_line(transcript.id, 200)}")
    head = store.head(ctx)
    before = head.seq
    entries = transcript.full_entries()[before:]
    for start in range(0, len(entries), BATCH):
        head = store.append(ctx, list(_events(entries[start : start + BATCH])), head)
    return Imported(ctx, head, head.seq - before)


def _events(entries: list[Entry]) -> Iterator[Event]:
    for entry in entries:
        about: JsonObject = {"source": {"id": entry.id, "line": entry.line, "time": entry.time}}
        yield message_event(entry.message, about)


def _tell(term: Terminal, done: Imported) -> None:
    new = count(done.events, "new event") if done.events else "nothing new"
    term.write(f"{done.ctx.session}: {new}, {done.head.seq:,} in all")
