"""``clew import``, ``export``, ``audit``, ``stats``, ``secrets`` and ``config``."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path

from clew.chat.reports import stats_lines, stats_of
from clew.cli.inputs import (
    WORKSPACE,
    has_no_log,
    no_session,
    open_arguments,
    open_input,
    own_name,
    own_store,
    the_store,
)
from clew.cli.rules import waiting_lines
from clew.cli.stored import own_log
from clew.cli.terminal import PRIVATE, Terminal, refuse_existing
from clew.cli.text import count, one_line, printable
from clew.errors import NotFound, SessionDiverged
from clew.log import (
    ABOUT,
    CALL,
    COMPACTION,
    MESSAGE,
    RESUME,
    TOOL_COMPACTION,
    ImportResult,
    canonical,
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
from clew.message import Json, JsonObject, Message, Role, Usage
from clew.providers import WIRES
from clew.secrets import find, mask, mask_message
from clew.secrets.find import rules
from clew.secrets.mask import mask_of, own_key
from clew.session import Session
from clew.session.replay import skipped_events
from clew.settings import KEYS, Threshold, load_settings, store_path
from clew.tokens import counter_for
from clew.transcripts import Entry, Source, Transcript
from clew.transcripts.transcript import tool_compactions

BATCH = 500


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
    """Append what is new; refuse if the file and the log have diverged.

    With ``calls``, what the provider reported for each reply is recorded too, and the label of the session.
    With ``calls`` or ``current`` the view continues from what the tool's last compaction left.
    """
    entries = transcript.full_entries()
    ctx = Ctx(workspace=WORKSPACE, session=name or _name(transcript, entries))
    head = store.head(ctx)
    before, known = head.seq, 0
    for known, stored in enumerate(store.read(ctx, kinds=[MESSAGE.name]), start=1):
        if known > len(entries):
            raise SessionDiverged(f"{ctx.session}: the file has {len(entries)} messages, the log has more")
        if stored.event.body.get("fingerprint") != _fingerprint(entries[known - 1].message):
            raise SessionDiverged(f"{ctx.session}: message {known} of the file differs from the imported one")
    about: JsonObject = {"model": transcript.model} if transcript.model else {}
    title = transcript.label if calls and transcript.label != transcript.id else transcript.title
    if title:
        about["title"] = one_line(mask(title).text, 200)
    if transcript.start.directory:
        about["project"] = project_at(transcript.start.directory)
    if transcript.window:
        about["window"] = transcript.window
    if about and not before:
        head = store.append(ctx, [new_event(ABOUT.name, about, ABOUT.version)], head)
    recorded = sum(1 for _ in store.read(ctx, kinds=[TOOL_COMPACTION.name]))
    compacted = _tool_compactions(transcript, entries, keep_secrets)[recorded:]
    events = _events(entries, known, compacted, keep_secrets, calls)
    while batch := list(islice(events, BATCH)):
        head = store.append(ctx, batch, head)
    by_clew = any(True for _ in store.read(ctx, kinds=[COMPACTION.name]))
    resumes = bool(compacted) and (calls or current) and not by_clew
    if resumes:
        head = store.append(ctx, [_resume(store, ctx)], head)
    return ImportResult(ctx, head, head.seq - before, len(compacted) if resumes else 0)


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
        name = f"{Path(name).name}-{_fingerprint(entries[0].message)[:8]}"
    return f"{transcript.format}:{name}"


def _fingerprint(message: Message) -> str:
    return hashlib.sha256(canonical(message_to_json(message))).hexdigest()[:32]


def _tool_compactions(
    transcript: Transcript, entries: Sequence[Entry], keep_secrets: bool
) -> list[tuple[int, Event]]:
    """Return each compaction of the tool's own as an event, and how many messages come before it."""
    numbers = {entry.id: number for number, entry in enumerate(entries, start=1)}
    counter = counter_for(transcript.model or "")
    result: list[tuple[int, Event]] = []
    done = 0
    for compaction in tool_compactions(transcript):
        done = max((numbers[entry.id] for entry in compaction.before if entry.id in numbers), default=done)
        system = [
            number for number, entry in enumerate(entries[:done], 1) if entry.message.role is Role.SYSTEM
        ]
        kept = (numbers[entry.id] for entry in compaction.kept if entry.id in numbers)
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
            "keeps": list[Json](dict.fromkeys((*system, *kept))),
            "system": len(system),
        }
        result.append((done, new_event(TOOL_COMPACTION.name, body, TOOL_COMPACTION.version)))
    return result


def _events(
    entries: Sequence[Entry],
    known: int,
    compacted: Sequence[tuple[int, Event]],
    keep_secrets: bool,
    calls: bool,
) -> Iterator[Event]:
    """Yield the entries after the known ones as events, each compaction of the tool at its place."""
    waiting = deque(compacted)
    for number, entry in enumerate(entries[known:], start=known):
        while waiting and waiting[0][0] <= number:
            yield waiting.popleft()[1]
        place: JsonObject = {"id": entry.id, "line": entry.line, "time": entry.time}
        about: JsonObject = {"source": place, "fingerprint": _fingerprint(entry.message)}
        yield message_event(entry.message if keep_secrets else mask_message(entry.message), about)
        if calls and entry.usage and entry.usage.input_tokens:
            yield _call(entry, entry.usage)
    yield from (event for _, event in waiting)


def _call(entry: Entry, usage: Usage) -> Event:
    cache = {"read": usage.cache_read_tokens, "written": usage.cache_write_tokens}
    body: JsonObject = {"model": entry.model, "usage": asdict(usage), "cache": {**cache}}
    return new_event(CALL.name, body, CALL.version)


def _print_import(term: Terminal, imported: ImportResult, *, as_json: bool) -> None:
    if as_json:
        result = {"session": imported.ctx.session, "new_events": imported.events, "events": imported.head.seq}
        term.write(json.dumps(result, ensure_ascii=False))
        return
    new = count(imported.events, "new event") if imported.events else "nothing new"
    term.say(f"{imported.ctx.session}: {new}, {imported.head.seq:,} in all")
    if times := imported.by_tool:
        term.say(f"its tool compacted it {count(times, 'time')}: the view is what its model sees now")


def run_export(args: argparse.Namespace, term: Terminal) -> int:
    """Write the session."""
    if has_no_log():
        raise NotFound(
            f"there is no session {args.session!r}: clew's log is empty", "`clew import FILE` adds a session"
        )
    if args.output:
        refuse_existing(args.output, force=args.force)
    with the_store() as store:
        name = own_name(store, args.session)
        if name is None:
            raise no_session(store, args.session)
        ctx = Ctx(workspace=WORKSPACE, session=name)
        if args.output is None:
            export_session(store, ctx, sys.stdout.buffer)
            return 0
        write = export_session_zstd if args.output.suffix == ".zst" else export_session
        part = args.output.with_name(f"{args.output.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as out:
            head = write(store, ctx, out)
        part.replace(args.output)  # atomic: a file of that name is always complete
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
        verdict = (
            "✓ log intact: all hashes match" if report.sound else f"✗ {count(len(report.flaws), 'flaw')}"
        )
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
    flaws = [dataclasses.asdict(flaw) for flaw in report.flaws]
    return json.dumps({"sound": report.sound, "sessions": sessions, "blobs": report.blobs, "flaws": flaws})


def run_stats(args: argparse.Namespace, term: Terminal) -> int:
    """Count, and print."""
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


LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A secret and its place in the text."""

    line: int
    column: int
    rule: str
    mask: str
    """The text that would replace it."""
    characters: int
    """How long it is."""


def run_secrets(args: argparse.Namespace, term: Terminal) -> int:
    """List the secrets found."""
    rows = list(_rows(open_input(args.file).read(LARGEST).decode("utf-8", "replace")))
    if args.json:
        term.write(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
    elif not rows:
        term.say("No secrets found.")
    else:
        described = {rule.id: rule.description for rule in rules()}
        for row in rows:
            place = f"{row.line}:{row.column}"
            term.say(printable(f"{place:<12} {row.mask:<44} {described[row.rule]}"))
        term.note(f"{count(len(rows), 'secret')} would be masked")
    return 1 if rows else 0


def _rows(text: str) -> Iterator[SettingRow]:
    secrets = find(text)
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")] if secrets else [0]
    for rule, start, end in secrets:
        line = bisect_right(starts, start)
        shown = mask_of(rule, text[start:end], own_key())
        yield SettingRow(line, start - starts[line - 1] + 1, rule, shown, end - start)


DEFAULT = "default"
"""The origin shown for a setting that no source gives."""


def run_config(args: argparse.Namespace, term: Terminal) -> int:
    """Print the settings in effect."""
    settings = load_settings()
    rows = [
        (name, getattr(settings.settings, name), settings.origins.get(name, DEFAULT), key.means)
        for name, key in KEYS.items()
    ]
    if args.json:
        output = {name: {"value": _json(value), "origin": origin} for name, value, origin, _ in rows}
        term.write(json.dumps(output, ensure_ascii=False))
    else:
        width = max(len(_cell_text(value)) for _, value, _, _ in rows)
        for name, value, origin, means in rows:
            text = f"{name:<14} {_cell_text(value):<{width}}  {origin}"
            term.say(printable(f"{text}  # {means}" if origin == DEFAULT else text))
    for warning in settings.warnings:
        term.note(printable(f"⚠ {warning}"))
    return 0


def _json(value: object) -> Json:
    if isinstance(value, Threshold):
        return str(value)
    if isinstance(value, tuple):
        return [str(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else None


def _cell_text(value: object) -> str:
    match _json(value):
        case None | "" | []:
            return "–"
        case bool(truth):
            return "yes" if truth else "no"
        case list(listed):
            return ", ".join(str(value) for value in listed)
        case int(number):
            return f"{number:,}"
        case other:
            return str(other)
