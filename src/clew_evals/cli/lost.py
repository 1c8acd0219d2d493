"""``clew lost``: what the compactions of a tool dropped, for one session or as a table of many."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.inputs import open_arguments
from clew.cli.sessions import SessionRow, list_sessions
from clew.cli.terminal import Terminal
from clew.cli.text import age, count, fit_name, one_line, typed
from clew.errors import ClewError, NotFound
from clew.transcripts import FORMATS, Transcript, find_sessions, load, open_source
from clew.transcripts.discover import Computer, places
from clew.transcripts.transcript import CompactionSizes, tool_compactions
from clew_evals.cli.eval import drawn_progress
from clew_evals.files import SessionFile
from clew_evals.forgotten import CompactionLosses, NeededItem, NeedKind, forgotten
from clew_evals.study import mapped

NAMED = 3
"""Items of one kind listed by default."""
LABEL = 18


def report(args: argparse.Namespace, term: Terminal) -> int:
    """Print what was lost."""
    if args.all or args.days:
        print_table(args.limit, args.json, term, args.days)
        return 0
    if not args.file:
        newest = _newest(term)
        args.file = newest.id
        term.note(f"{newest.id}, compacted {_age(newest)} ago, has the newest compaction.")
    session = open_arguments(args).single_session(term)
    reports = forgotten(session, last=None if args.full else args.last)
    if args.json:
        rows = [asdict(item) for item in reports]
        term.write(json.dumps({"session": session.id, "compactions": rows}, ensure_ascii=False))
    elif not reports:
        term.say("This session was never compacted by its tool: nothing was lost.")
    else:
        term.print(*_lines(session, args.file, reports, args.full, term.console().width))
    return 0


def _newest(term: Terminal) -> SessionRow:
    rows = _compacted(term)
    if not rows:
        raise _nothing()
    return rows[0]


def _compacted(term: Terminal) -> list[SessionRow]:
    """Return the sessions that their tools compacted, the newest compaction first; show how far it is."""
    sessions = sum(1 for _ in find_sessions(titles=False))
    if sessions:
        term.note(f"Looking at {count(sessions, 'session')} …")
    with drawn_progress(term) as progress:
        rows = list_sessions(LOOKED_AT, report=progress)
    return sorted((row for row in rows if row.compactions and row.tool in FORMATS), key=_compacted_at)[::-1]


def _compacted_at(row: SessionRow) -> datetime:
    """Return when a session was last compacted; if that is not recorded, when its file changed."""
    return max((_moment(time, row) for time in row.compacted), default=_moment("", row))


def _moment(time: str | None, row: SessionRow) -> datetime:
    try:
        moment = datetime.fromisoformat(time or row.modified)
    except ValueError:
        moment = datetime.fromisoformat(row.modified)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _age(row: SessionRow) -> str:
    return age(datetime.now(UTC) - _compacted_at(row))


def _nothing() -> NotFound:
    """Return the error for no compacted session: where clew looked."""
    if next(find_sessions(titles=False), None):
        return NotFound("no session on this computer was compacted", f"name a file: {typed('lost FILE')}")
    here = Computer()
    folders = dict.fromkeys(place.folder for place in places(here) if place.folder.is_relative_to(here.home))
    names = [f"~/{folder.relative_to(here.home)}" for folder in folders if folder != here.home][:FOLDERS]
    return NotFound(
        f"no sessions found in {', '.join(names)} and other places (`{typed('formats')}` lists all)",
        f"name a file: {typed('lost FILE')}",
    )


def _lines(
    session: Transcript, name: str, reports: Sequence[CompactionLosses], full: bool, width: int
) -> Iterator[Styled | str]:
    tool = FORMATS[session.format].title if session.format in FORMATS else session.format
    yield Styled(one_line(f"What {tool} lost: {session.label}", width), "bold")
    for item in reports:
        yield ""
        yield from _compaction(item, tool, full, width)
    yield ""
    yield from _footer(name, reports[-1], width)


def _footer(name: str, last: CompactionLosses, width: int) -> Iterator[str]:
    about = (
        "Lost means neither in the summary nor in the messages that stayed. clew gets as many tokens as "
        "those, and no model. Values count if the session used them later; "
        f"`{typed(f'expand {name} m12')}` prints m12."
    )
    yield from wrap(about, width)
    if not last.sealed:
        yield f"The summary: {typed(f'trace {name} {last.name}')}"
    yield f"Start again from: {typed(f'handoff {name}')}"
    yield f"All of last week: {typed('lost --days 7')}"


def _compaction(item: CompactionLosses, tool: str, full: bool, width: int) -> Iterator[Styled | str]:
    when = (item.time or "")[:16].replace("T", " ")
    reported = (not item.tokens_before_estimated, not item.tokens_after_estimated)
    sizes = str(CompactionSizes(item.tokens_before, item.tokens_after, *reported))
    text = ", ".join(filter(None, (sizes, when, item.trigger)))
    yield Styled.assemble((item.name, "bold"), f"  {one_line(text, width - 4)}")
    if item.unjudged:
        yield f"  Not comparable: {item.unjudged}."
        return
    yield from _counts(item, tool, width)
    clew_gave_up = any(thing.by_clew is None for thing in item.things)
    if clew_gave_up:
        yield f"  clew cannot keep it in {item.tokens_left:,} tokens."
    if item.sealed:
        yield "  The summary is encrypted: not counted."
    lost = f"not in the messages {tool} kept" if item.sealed else f"lost by {tool}"
    neither = f"{lost}, and not kept by clew" if item.sealed else f"neither {tool} nor clew kept it"
    for title, wanted in (
        (f"{lost}, kept by clew", (False, True)),
        (lost, (False, None)) if clew_gave_up else (neither, (False, False)),
        (f"kept by {tool}, lost by clew", (True, False)),
    ):
        things = [thing for thing in item.counted if (thing.by_tool, thing.by_clew) == wanted]
        if things:
            yield Styled(f"  {one_line(title, width - 2)}", "bold")
            yield from _named(things, full, width)
    if all(thing.by_tool for thing in item.counted):
        yield f"  {tool} kept all of it."
    if again := [thing for thing in item.of_kind(NeedKind.REREAD) if not thing.by_tool]:
        shown = f"{count(len(again), 'value')} that a tool showed again before the next use"
        text = f"Not counted as lost: {shown}."
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ")
        yield from _named(again, full, width) if full else ()


def _counts(item: CompactionLosses, tool: str, width: int) -> Iterator[Styled]:
    wide = width >= 60
    columns = ("needed", f"{tool} lost", "clew loses") if wide else ("all", "tool", "clew")
    sizes = (12, len(tool) + 8, 13) if wide else (6, 6, 6)
    name = 20
    if not wide:
        yield Styled(f"{'lost by':>{name + sum(sizes)}}", "dim")
    yield Styled(f"{'':<{name}}" + "".join(f"{c:>{n}}" for c, n in zip(columns, sizes, strict=True)), "dim")
    for kind in HEADS:
        things = item.of_kind(kind)
        if things:
            ours = "–" if things[0].by_clew is None else str(sum(not thing.by_clew for thing in things))
            figures = (str(len(things)), str(sum(not thing.by_tool for thing in things)), ours)
            cells = "".join(f"{figure:>{n}}" for figure, n in zip(figures, sizes, strict=True))
            yield Styled(f"  {PLURALS[kind]:<{name - 2}}{cells}")


PLURALS = {
    NeedKind.RULE: "rules",
    NeedKind.OPEN: "open work",
    NeedKind.FINDING: "findings",
    NeedKind.FILE: "changed files",
    NeedKind.VALUE: "values used later",
}


def _named(things: Sequence[NeededItem], full: bool, width: int) -> Iterator[str]:
    for kind in NeedKind:
        several = [thing for thing in things if thing.kind is kind]
        shown = several if full else several[:NAMED]
        for thing in shown:
            yield f"    {_label(kind):<10}{_words(thing, max(16, width - 14))}"
        if len(several) > len(shown):
            yield f"    {'':<10}and {len(several) - len(shown)} more"


def _label(kind: NeedKind) -> str:
    return {
        NeedKind.OPEN: "open",
        NeedKind.FILE: "file",
        NeedKind.VALUE: "value",
        NeedKind.REREAD: "re-read",
    }.get(kind, kind.value)


def _words(thing: NeededItem, width: int) -> str:
    """Return a thing on one line: its text, where it is from and where it was used.

    A long path keeps its end, which names the file.
    """
    place = f" ({thing.source})" if thing.source else ""
    used = f", used in {thing.used}" if thing.used else ""
    if thing.kind is NeedKind.RULE:
        return one_line(f"\u201c{thing.text}\u201d{place}", width)
    is_path = "/" in thing.text and " " not in thing.text
    text = fit_name(thing.text, max(12, width - len(place) - len(used))) if is_path else thing.text
    use = f": …{thing.use}…" if thing.use and thing.use != thing.text else ""
    return one_line(f"{text}{place}{used}{use}", width)


LOOKED_AT = 2_000
HEADS = {
    NeedKind.RULE: "RULES",
    NeedKind.OPEN: "OPEN",
    NeedKind.FINDING: "FINDINGS",
    NeedKind.FILE: "FILES",
    NeedKind.VALUE: "VALUES",
}
TOTALS = {kind: "open work" if kind is NeedKind.OPEN else head.lower() for kind, head in HEADS.items()}
WORST = 3
"""Losses listed under the table."""
FEW = 5
"""Sessions of the table if none was compacted in the days asked for."""
FOLDERS = 8
"""Folders named where no session was found."""
CELL = 9
NARROW = 78


TOOL = 12


class Losses(NamedTuple):
    """Items of one kind: how many were needed, and how many were lost."""

    asked: int
    by_tool: int
    by_clew: int

    def __str__(self) -> str:
        return f"{self.by_tool} of {self.asked}" if self.asked else "–"


def print_table(limit: int, as_json: bool, term: Terminal, days: int | None = None) -> None:
    """Compare the newest compacted sessions, or those compacted in these days; print what they lost."""
    rows = _compacted(term)
    if not rows:
        raise _nothing()
    since = datetime.now(UTC) - timedelta(days=days) if days else None
    recent = [row for row in rows if since is None or _compacted_at(row) >= since]
    if not recent and not as_json:
        term.note(f"Nothing was compacted in the last {count(days or 0, 'day')}. The newest compactions:")
        recent, since = rows[:FEW], None
    rows = recent[:limit]
    files = [SessionFile(Path(row.path), row.session) for row in rows]
    with drawn_progress(term) as progress:
        result = list(mapped(partial(_judged, since), files, 0, progress, "comparing"))
    if as_json:
        output = [
            {"id": row.id, "tool": row.tool, "compactions": [asdict(item) for item in several]}
            for row, several in zip(rows, result, strict=True)
        ]
        term.write(json.dumps(output, ensure_ascii=False))
        return
    _print(rows, result, term)


def _judged(since: datetime | None, file: SessionFile) -> list[CompactionLosses]:
    """Return the losses of a session, with ``since`` only those of compactions after it."""
    source = open_source(file.path)
    source.session = file.set  # a database holds several: read only this one
    try:
        return [
            item
            for session in load(source)
            for item in forgotten(session, names=_names_since(session, since) if since else None)
        ]
    except ClewError:
        return []


def _names_since(session: Transcript, since: datetime) -> set[str]:
    """Return the names of the compactions since a time; without a recorded time they count."""
    names = set()
    for compaction in tool_compactions(session):
        with suppress(TypeError, ValueError):  # not recorded, or not a time with its zone
            if datetime.fromisoformat(compaction.boundary.time or "") < since:
                continue
        names.add(compaction.name)
    return names


def _print(rows: Sequence[SessionRow], result: Sequence[list[CompactionLosses]], term: Terminal) -> None:
    width = term.console().width
    wide = width >= NARROW
    kinds = tuple(HEADS) if wide else ()
    about = '"2 of 7" means: after the compaction the session needed 7, and the tool had lost 2 of them.'
    term.print(*wrap(about, width), "")
    heads = "".join(f"{HEADS[kind]:>{CELL}}" for kind in kinds) if wide else f"{'LOST':>{CELL}}"
    term.print(Styled(f"{'ID':<9}{'COMPACTED':>9} {'TOOL':<{TOOL}}{heads}", "dim"))
    judged = [item for several in result for item in _readable(several)]
    for row, several in zip(rows, result, strict=True):
        reports = _readable(several)
        cells = _cells(reports, kinds) if reports else ""
        when = f"{_age(row)} ago"
        term.print(Styled.assemble((f"{row.id:<9}", "bold"), f"{when:>9} {row.tool:<{TOOL}}{cells}"))
        term.print(Styled(f"  {one_line(row.title or 'no user messages', width - 2)}", "dim"))
        for why in dict.fromkeys(map(_why_not, several)):
            if why:
                term.print(f"  {one_line(f'not compared: {why}', width - 2)}")
    totals = {TOTALS[kind]: _losses(judged, (kind,)) for kind in HEADS}
    term.print("", Styled(f"{'TOTAL':<9}{'NEEDED':>8}{'TOOL LOST':>11}{'CLEW LOSES':>12}", "dim"))
    for name, total in totals.items():
        term.print(f"{name:<9}{total.asked:>8}{total.by_tool:>11}{total.by_clew:>12}")
    term.print("", *wrap(_compared(totals), width))
    term.print(*_worst(rows, result, width))
    others = sum(bool(_why_not(item)) for several in result for item in several)
    most = max(zip(rows, result, strict=True), key=_lost_most)[0]
    term.print(
        f"{count(len(judged), 'compaction')} compared in {count(len(rows), 'session')}"
        + (f", {others} not (see above)." if others else "."),
        f"The one that lost most, item by item: {typed(f'lost {most.id}')}",
    )


def _compared(totals: Mapping[str, Losses]) -> str:
    """Say how to read the totals: of which kinds clew keeps more, of which fewer."""
    more = [name for name, total in totals.items() if total.by_clew < total.by_tool]
    fewer = [name for name, total in totals.items() if total.by_clew > total.by_tool]
    parts = [f"{word} {_listed(names)}" for word, names in (("more", more), ("fewer", fewer)) if names]
    return f"In as many tokens as the tool used, clew keeps {', but '.join(parts) or 'as much'}."


def _listed(names: Sequence[str]) -> str:
    """Return names as a person lists them: "open work, findings and files"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _lost_most(judged: tuple[SessionRow, list[CompactionLosses]]) -> int:
    return _losses(_readable(judged[1]), tuple(HEADS)).by_tool


def _why_not(item: CompactionLosses) -> str:
    """Return why a compaction is not counted in the table; empty if it is."""
    return item.unjudged or ("its summary is encrypted" if item.sealed else "")


def _readable(reports: Sequence[CompactionLosses]) -> list[CompactionLosses]:
    return [item for item in reports if not _why_not(item)]


def _worst(
    rows: Sequence[SessionRow], result: Sequence[list[CompactionLosses]], width: int
) -> Iterator[Styled | str]:
    """Yield the worst losses in words: rules first, then open work, findings, files and values."""
    lost = [
        (thing, row)
        for row, several in zip(rows, result, strict=True)
        for item in _readable(several)
        for thing in item.things
        if thing.kind in HEADS and not thing.by_tool
    ]
    lost.sort(key=lambda pair: tuple(HEADS).index(pair[0].kind))
    if lost:
        yield from ("", Styled("The worst losses of the tools:", "bold"))
    for thing, row in lost[:WORST]:
        yield f"  {_label(thing.kind):<9}{_words(thing, width - 11)}"
        place = f"{row.id}, {row.project_name}" if row.project_name else row.id
        yield Styled(f"  {'':<9}{one_line(place, width - 11)}", "dim")
    if lost:
        yield ""


def _cells(reports: Sequence[CompactionLosses], kinds: Sequence[NeedKind]) -> str:
    if not kinds:
        return f"{_losses(reports, tuple(HEADS))!s:>{CELL}}"
    return "".join(f"{_losses(reports, (kind,))!s:>{CELL}}" for kind in kinds)


def _losses(reports: Sequence[CompactionLosses], kinds: Sequence[NeedKind]) -> Losses:
    things = [thing for item in reports for thing in item.things if thing.kind in kinds]
    return Losses(
        len(things),
        sum(not thing.by_tool for thing in things),
        sum(not thing.by_clew for thing in things),
    )
