"""``clew import``: copy sessions into clew's own log."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clew.cli.inputs import WORKSPACE, opened, the_store
from clew.cli.pin import waiting_lines
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import SessionDiverged
from clew.log import (
    ABOUT,
    MESSAGE,
    TOOL_COMPACTION,
    ImportResult,
    canonical,
    import_session,
    message_event,
    message_to_json,
    new_event,
)
from clew.log.protocol import Ctx, Event, Store
from clew.memory.scope import project_at
from clew.message import JsonObject, Message
from clew.providers import WIRES
from clew.secrets import mask_message
from clew.session import Session
from clew.transcripts import Entry, Source, Transcript
from clew.transcripts.transcript import tool_compactions

BATCH = 500


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Import every session of the file."""
    given = opened(args)
    if given.source and given.is_clew:
        with the_store() as store:
            done = import_export(store, given.source)
            _tell(term, done)
            with Session.open(done.ctx.session, store) as session:
                for line in waiting_lines(session.ledger.pins.waiting, done.ctx.session):
                    term.write(printable(line))
        return 0
    found = given.sessions(term)
    with the_store() as store:
        for transcript in found:
            _tell(term, import_transcript(store, transcript, keep_secrets=args.keep_secrets))
    return 0


def import_export(store: Store, source: Source) -> ImportResult:
    """Import a session that clew exported, after verifying every line."""
    with source.on_disk() as path, Path(path).open("rb") as file:
        return import_session(store, WORKSPACE, file)


def import_transcript(store: Store, transcript: Transcript, *, keep_secrets: bool = False) -> ImportResult:
    """Append what is new; refuse if the file and the log have diverged."""
    entries = transcript.full_entries()
    ctx = Ctx(workspace=WORKSPACE, session=_name(transcript, entries))
    head = store.head(ctx)
    before, known = head.seq, 0
    for known, stored in enumerate(store.read(ctx, kinds=[MESSAGE.name]), start=1):
        if known > len(entries):
            raise SessionDiverged(f"{ctx.session}: the file has {len(entries)} messages, the log has more")
        if stored.event.body.get("fingerprint") != _fingerprint(entries[known - 1].message):
            raise SessionDiverged(f"{ctx.session}: message {known} of the file differs from the imported one")
    about: JsonObject = {"model": transcript.model} if transcript.model else {}
    if transcript.start.directory:
        about["project"] = project_at(transcript.start.directory)
    if about and not before:
        head = store.append(ctx, [new_event(ABOUT.name, about, ABOUT.version)], head)
    compacted = _tool_compactions(transcript)
    for start in range(known, len(entries), BATCH):
        head = store.append(ctx, list(_events(entries[start : start + BATCH], compacted, keep_secrets)), head)
    return ImportResult(ctx, head, head.seq - before)


def _name(transcript: Transcript, entries: Sequence[Entry]) -> str:
    """Name a session by its tool and id; a list without an id, by its file name and a hash of its start."""
    name = one_line(transcript.id, 200)
    if transcript.format in WIRES and entries:
        name = f"{Path(name).name}-{_fingerprint(entries[0].message)[:8]}"
    return f"{transcript.format}:{name}"


def _fingerprint(message: Message) -> str:
    return hashlib.sha256(canonical(message_to_json(message))).hexdigest()[:32]


def _tool_compactions(transcript: Transcript) -> dict[str, JsonObject]:
    """Return each compaction of the tool's own, by the entry that followed it."""
    found: dict[str, JsonObject] = {}
    for one in tool_compactions(transcript):
        if one.after:
            boundary = one.boundary
            sizes: JsonObject = {"before": boundary.tokens_before, "after": boundary.tokens_after}
            found[one.after[0].id] = {"time": boundary.time, "trigger": boundary.trigger, **sizes}
    return found


def _events(
    entries: Sequence[Entry], compacted: Mapping[str, JsonObject], keep_secrets: bool
) -> Iterator[Event]:
    for entry in entries:
        place: JsonObject = {"id": entry.id, "line": entry.line, "time": entry.time}
        about: JsonObject = {"source": place, "fingerprint": _fingerprint(entry.message)}
        if entry.id in compacted:
            about[TOOL_COMPACTION] = compacted[entry.id]
        yield message_event(entry.message if keep_secrets else mask_message(entry.message), about)


def _tell(term: Terminal, done: ImportResult) -> None:
    new = count(done.events, "new event") if done.events else "nothing new"
    term.write(f"{done.ctx.session}: {new}, {done.head.seq:,} in all")
