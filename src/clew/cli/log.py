"""``clew import``, ``export``, ``audit`` and ``stats``: fill, write, verify and count clew's log.

An imported message event holds a fingerprint of the message in the file, so that importing the file again
adds only what is new. The compactions that the tool made itself are events between the messages.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from clew.cli.inputs import WORKSPACE, existing_name, has_no_log, open_arguments, own_store, the_store
from clew.cli.known_entries import KnownEntries, entry_about, fingerprint
from clew.cli.rules import waiting_lines
from clew.cli.stored import own_log
from clew.cli.terminal import Terminal, private_file, refuse_existing
from clew.cli.text import count, one_line, printable
from clew.errors import NotFound
from clew.log import (
    ABOUT,
    CALL,
    COMPACTION,
    RESUME,
    TOOL_COMPACTION,
    ImportResult,
    export_session,
    export_session_zstd,
    import_session,
    message_event,
    message_to_json,
    new_event,
)
from clew.log.protocol import Ctx, Event, Store
from clew.log.store.audit import AuditReport, audit
from clew.memory.scope import project_at
from clew.message import Json, JsonObject, Role, Usage
from clew.providers import WIRES
from clew.secrets import mask_json, mask_message
from clew.session import Session
from clew.session.replay import skipped_events
from clew.settings import store_path
from clew.tokens import counter_for
from clew.transcripts import Entry, Source, Transcript
from clew.transcripts.transcript import tool_compactions


def run_export(args: argparse.Namespace, term: Terminal) -> int:
    """Write the session."""
    if has_no_log():
        raise NotFound(
            f"there is no session {args.session!r}: clew's log is empty", "`clew import FILE` adds a session"
        )
    if args.output:
        refuse_existing(args.output, force=args.force)
    with the_store() as store:
        ctx = Ctx(workspace=WORKSPACE, session=existing_name(store, args.session))
        if args.output is None:
            export_session(store, ctx, sys.stdout.buffer)
            return 0
        write = export_session_zstd if args.output.suffix == ".zst" else export_session
        with private_file(args.output) as out:
            head = write(store, ctx, out)
    term.note(f"{args.output}: {count(head.seq, 'event')}, head {head.hash[:19]}…")
    return 0


def run_audit(args: argparse.Namespace, term: Terminal) -> int:
    """Audit and report."""
    report = audit(args.store or store_path(), skipped_events=skipped_events)
    if args.json:
        term.write(_as_json(report))
    else:
        for session in report.sessions:
            words = f"{count(session.events, 'event')}, {count(session.visible, 'visible message')}"
            unknown = sum(session.skipped.values())
            note = f", {count(unknown, 'event')} of kinds this clew does not know" if unknown else ""
            term.say(printable(f"{session.ctx.session}: {words}{note}, head {session.head.hash[:19]}…"))
            for problem in session.problems:
                term.say(printable(f"! {session.ctx.session}: {problem}"))
        for flaw in report.flaws:
            term.say(printable(f"✗ {flaw}"))
        flaws = f"✗ {count(len(report.flaws), 'flaw')}"
        verdict = "✓ log intact: all hashes match" if report.sound else flaws
        skipped = f"; {count(report.problems, 'problem')} listed above" if report.problems else ""
        value = f"{count(len(report.sessions), 'session')}, {count(report.blobs, 'shared body')}"
        term.say(f"{verdict} ({value}){skipped}")
    return 0 if report.sound else 1


def _as_json(report: AuditReport) -> str:
    sessions = [
        {
            "session": session.ctx.session,
            "workspace": session.ctx.workspace,
            "events": session.events,
            "visible": session.visible,
            "skipped": dict(session.skipped),
            "head": session.head.hash,
            "problems": [problem._asdict() for problem in session.problems],
        }
        for session in report.sessions
    ]
    flaws = [asdict(flaw) for flaw in report.flaws]
    return json.dumps({"sound": report.sound, "sessions": sessions, "blobs": report.blobs, "flaws": flaws})


def run_stats(args: argparse.Namespace, term: Terminal) -> int:
    """Count, and print."""
    from clew.chat.reports import stats_lines, stats_of  # imported only for this command

    if args.session:
        with own_log(args.session) as log:
            stats = stats_of(log.store.read(log.ctx))
    else:
        with own_store() as store:
            names = [session.session for session in store.sessions(WORKSPACE)] if store else []
            ctxs = [Ctx(workspace=WORKSPACE, session=name) for name in names]
            stats = stats_of(chain.from_iterable(store.read(ctx) for ctx in ctxs) if store else ())
    if args.json:
        term.write(json.dumps(stats.to_json()))
        return 0
    for line in stats_lines(stats):
        term.say(printable(line))
    return 0


BATCH = 500
"""Events that are appended at once."""


def run_import(args: argparse.Namespace, term: Terminal) -> int:
    """Import every session of the file."""
    source = open_arguments(args)
    if source.source and source.is_clew:
        with the_store() as store:
            result = import_export(store, source.source)
            _print_import(term, result, as_json=args.json)
            with Session.open(result.ctx.session, store) as session:
                for line in waiting_lines(session.ledger.pins.waiting, result.ctx.session):
                    (term.note if args.json else term.say)(printable(line))
        return 0
    transcripts = source.sessions(term)
    with the_store() as store:
        for transcript in transcripts:
            secrets = args.keep_secrets
            result = import_transcript(store, transcript, keep_secrets=secrets, current=not args.whole)
            _print_import(term, result, as_json=args.json)
    return 0


def import_export(store: Store, source: Source) -> ImportResult:
    """Import a session that clew exported, after verifying every line."""
    with source.on_disk() as path, Path(path).open("rb") as file:
        return import_session(store, WORKSPACE, file)


def import_transcript(
    store: Store,
    transcript: Transcript,
    *,
    name: str | None = None,
    keep_secrets: bool = False,
    calls: bool = False,
    current: bool = False,
) -> ImportResult:
    """Append what is new, also of a reply that went on; refuse if the file and the log have diverged.

    With ``calls``, what the provider reported for each reply is recorded too, and the label of the session.
    With ``calls`` or ``current`` the view continues from what the tool's last compaction left.
    """
    entries = transcript.full_entries()
    ctx = Ctx(workspace=WORKSPACE, session=name or _name(transcript, entries))
    known = KnownEntries.of(store, ctx)
    extension = known.extension(entries, ctx, keep_secrets=keep_secrets)
    ahead = max(0, len(known.entries) - len(entries))
    head = store.head(ctx)
    before = head.seq
    about = _about(transcript, with_label=calls)
    if about and not before:
        head = store.append(ctx, [new_event(ABOUT.name, about, ABOUT.version)], head)
    recorded = sum(1 for _ in store.read(ctx, kinds=[TOOL_COMPACTION.name]))
    numbers = known.numbers(entries)
    all_compacted = _tool_compactions(transcript, entries, numbers, keep_secrets)
    compacted = all_compacted[recorded:]  # since the last import
    new = _events(entries, len(known.entries), compacted, keep_secrets, calls)
    events = chain([extension] if extension else [], new)
    while batch := list(islice(events, BATCH)):
        head = store.append(ctx, batch, head)
    by_clew = any(True for _ in store.read(ctx, kinds=[COMPACTION.name]))
    resumes = bool(compacted) and (calls or current) and not by_clew
    if resumes:  # the view continues from what the tool left
        head = store.append(ctx, [_resume(store, ctx)], head)
    return ImportResult(ctx, head, head.seq - before, recorded + len(compacted) if resumes else 0, ahead)


def _about(transcript: Transcript, *, with_label: bool) -> JsonObject:
    """Return what the file says about the session itself: model, title, project and window."""
    about: JsonObject = {"model": transcript.model} if transcript.model else {}
    title = transcript.label if with_label and transcript.label != transcript.id else transcript.title
    if title:
        about["title"] = one_line(title, 200)
    if transcript.start.directory:
        about["project"] = project_at(transcript.start.directory)
    if transcript.window:
        about["window"] = transcript.window
    return mask_json(about)


def _resume(store: Store, ctx: Ctx) -> Event:
    """Return the event that makes the view what the tool's model sees now."""
    *_, last = store.read(ctx, kinds=[TOOL_COMPACTION.name])
    body = last.event.body
    fields: JsonObject = {
        "compaction": last.seq,
        "messages": len(TOOL_COMPACTION.messages(body)),
        "keeps": body["keeps"],
        "system": body["system"],
    }
    return new_event(RESUME.name, fields, RESUME.version)


def _name(transcript: Transcript, entries: Sequence[Entry]) -> str:
    """Name a session by its tool and id; a list without an id, by its file name and a hash of its start."""
    name = one_line(transcript.id, 200)
    if transcript.format in WIRES and entries:
        name = f"{Path(name).name}-{fingerprint(entries[0].message)[:8]}"
    return f"{transcript.format}:{name}"


class _PlacedEvent(NamedTuple):
    """An event, and how many messages of the session come before it."""

    after: int
    event: Event


def _tool_compactions(
    transcript: Transcript, entries: Sequence[Entry], numbers: Mapping[str, list[int]], keep_secrets: bool
) -> list[_PlacedEvent]:
    """Return each compaction of the tool's own as an event; ``numbers`` are those of the log."""
    places = {entry.id: place for place, entry in enumerate(entries, start=1)}
    counter = counter_for(transcript.model or "")
    result: list[_PlacedEvent] = []
    done = 0
    for compaction in tool_compactions(transcript):
        done = max((places[entry.id] for entry in compaction.before if entry.id in places), default=done)
        system = [
            number
            for entry in entries[:done]
            if entry.message.role is Role.SYSTEM
            for number in numbers[entry.id]
        ]
        kept = {entry.id: numbers.get(entry.id, []) for entry in compaction.kept}
        first = frozenset(compaction.boundary.keeps[: compaction.boundary.kept_first])
        at_first = chain.from_iterable(own for id_, own in kept.items() if id_ in first)
        before_summary = dict.fromkeys((*system, *at_first))
        summary = [
            entry.message if keep_secrets else mask_message(entry.message) for entry in compaction.summary
        ]
        sizes = compaction.sizes(counter)
        body: JsonObject = {
            "name": compaction.name,
            "time": compaction.boundary.time,
            "trigger": compaction.boundary.trigger,
            "before": sizes.before,
            "after": sizes.after,
            "estimated": not (sizes.before_reported and sizes.after_reported),
            "sealed": compaction.is_sealed,
            "names": list[Json](compaction.summary_names),
            "messages": [message_to_json(message) for message in summary],
            "keeps": list[Json](dict.fromkeys((*before_summary, *chain.from_iterable(kept.values())))),
            "system": len(before_summary),
        }
        result.append(_PlacedEvent(done, new_event(TOOL_COMPACTION.name, body, TOOL_COMPACTION.version)))
    return result


def _events(
    entries: Sequence[Entry], known: int, compacted: Sequence[_PlacedEvent], keep_secrets: bool, calls: bool
) -> Iterator[Event]:
    """Yield the entries after the known ones as events, each compaction of the tool at its place."""
    waiting = deque(compacted)
    for number, entry in enumerate(entries[known:], start=known):
        while waiting and waiting[0].after <= number:
            yield waiting.popleft().event
        message = entry.message if keep_secrets else mask_message(entry.message)
        yield message_event(message, entry_about(entry))
        if calls and entry.usage and entry.usage.input_tokens:
            yield _call(entry, entry.usage)
    yield from (placed.event for placed in waiting)


def _call(entry: Entry, usage: Usage) -> Event:
    cache = {"read": usage.cache_read_tokens, "written": usage.cache_write_tokens}
    body: JsonObject = {"model": entry.model, "usage": asdict(usage), "cache": {**cache}}
    return new_event(CALL.name, mask_json(body), CALL.version)


def _print_import(term: Terminal, imported: ImportResult, *, as_json: bool) -> None:
    if as_json:
        result = {"session": imported.ctx.session, "new_events": imported.events, "events": imported.head.seq}
        term.write_json(result)
        return
    new = count(imported.events, "new event") if imported.events else "nothing new"
    ahead = f"; the log has {count(imported.ahead, 'message')} more than this file" if imported.ahead else ""
    term.say(f"{imported.ctx.session}: {new}, {imported.head.seq:,} in all{ahead}")
    if times := imported.by_tool:
        term.say(f"its tool compacted it {count(times, 'time')}: the view is what its model sees now")
