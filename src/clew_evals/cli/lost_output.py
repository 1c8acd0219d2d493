"""What ``clew lost`` prints: one session's losses item by item, or a table with a row per session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.sessions import SessionRow
from clew.cli.terminal import Terminal
from clew.cli.text import count, fit_name, one_line, typed
from clew.transcripts import FORMATS, Transcript
from clew.transcripts.transcript import CompactionSizes
from clew_evals.lost_items import CompactionLosses, NeededItem, NeedKind

NAMED = 3
"""Items of one kind listed by default."""
HEADS = {
    NeedKind.RULE: "RULES",
    NeedKind.OPEN: "OPEN",
    NeedKind.FINDING: "FINDINGS",
    NeedKind.FILE: "FILES",
    NeedKind.VALUE: "VALUES",
}
"""Column heads of the table; kinds without one are not counted as lost."""
PLURALS = {
    NeedKind.RULE: "rules",
    NeedKind.OPEN: "open work",
    NeedKind.FINDING: "findings",
    NeedKind.FILE: "changed files",
    NeedKind.VALUE: "values used later",
}
LABELS = {NeedKind.OPEN: "open", NeedKind.FILE: "file", NeedKind.VALUE: "value", NeedKind.REREAD: "re-read"}
"""Short names of kinds in front of a lost item; the others are short enough."""
WORST = 3
"""Losses listed under the table."""
CELL = 9
TOOL = 12
"""Widths of columns of the table."""
NARROW = 78
"""Below this width the table has one column for all kinds together."""


# One session -----------------------------------------------------------------------------------------


def session_lines(
    session: Transcript, name: str, reports: Sequence[CompactionLosses], *, full: bool, width: int
) -> Iterator[Styled | str]:
    """Yield the report of one session; ``name`` is what the user typed for it."""
    tool = FORMATS[session.format].title if session.format in FORMATS else session.format
    yield Styled(one_line(f"What {tool} lost: {session.label}", width), "bold")
    for item in reports:
        yield ""
        yield from _compaction(item, tool, full=full, width=width)
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


def _compaction(item: CompactionLosses, tool: str, *, full: bool, width: int) -> Iterator[Styled | str]:
    when = (item.time or "")[:16].replace("T", " ")
    sizes = CompactionSizes(
        item.tokens_before,
        item.tokens_after,
        before_reported=not item.tokens_before_estimated,
        after_reported=not item.tokens_after_estimated,
    )
    text = ", ".join(filter(None, (str(sizes), when, item.trigger)))
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
            yield from _named(things, full=full, width=width)
    if all(thing.by_tool for thing in item.counted):
        yield f"  {tool} kept all of it."
    if again := [thing for thing in item.of_kind(NeedKind.REREAD) if not thing.by_tool]:
        shown = f"{count(len(again), 'value')} that a tool showed again before the next use"
        text = f"Not counted as lost: {shown}."
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="  ")
        yield from _named(again, full=full, width=width) if full else ()


def _counts(item: CompactionLosses, tool: str, width: int) -> Iterator[Styled]:
    """Yield the table of one compaction: for each kind how many were needed, and how many each side lost."""
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


def _named(things: Sequence[NeededItem], *, full: bool, width: int) -> Iterator[str]:
    """Yield the items, a line each; of each kind only the first few if not ``full``."""
    for kind in NeedKind:
        several = [thing for thing in things if thing.kind is kind]
        shown = several if full else several[:NAMED]
        for thing in shown:
            yield f"    {_label(kind):<10}{_words(thing, max(16, width - 14))}"
        if len(several) > len(shown):
            yield f"    {'':<10}and {len(several) - len(shown)} more"


def _label(kind: NeedKind) -> str:
    return LABELS.get(kind, kind.value)


def _words(thing: NeededItem, width: int) -> str:
    """Return an item on one line: ``shop/tax.py (m12), used in m90: …open shop/tax.py and…``.

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


# Many sessions ---------------------------------------------------------------------------------------


class ComparedSession(NamedTuple):
    """A session that its tool compacted, and what that lost."""

    row: SessionRow
    age: str
    """Of its last compaction: ``3d``."""
    losses: Sequence[CompactionLosses]

    @property
    def counted(self) -> list[CompactionLosses]:
        """Return the compactions that the table counts."""
        return [item for item in self.losses if not _why_not_counted(item)]


def _why_not_counted(item: CompactionLosses) -> str:
    """Return why a compaction is not counted in the table; empty if it is."""
    return item.unjudged or ("its summary is encrypted" if item.sealed else "")


class LossCounts(NamedTuple):
    """Items of some kinds: how many were needed, and how many each side lost."""

    needed: int
    by_tool: int
    by_clew: int

    def __str__(self) -> str:
        return f"{self.by_tool} of {self.needed}" if self.needed else "–"


def _loss_counts(losses: Sequence[CompactionLosses], kinds: Sequence[NeedKind]) -> LossCounts:
    things = [thing for item in losses for thing in item.things if thing.kind in kinds]
    return LossCounts(
        needed=len(things),
        by_tool=sum(not thing.by_tool for thing in things),
        by_clew=sum(not thing.by_clew for thing in things),
    )


def print_compared(sessions: Sequence[ComparedSession], term: Terminal) -> None:
    """Print the table with a row per session, the totals, and the worst losses in words."""
    width = term.console().width
    about = '"2 of 7" means: after the compaction the session needed 7, and the tool had lost 2 of them.'
    term.print(*wrap(about, width), "")
    term.print(*_rows(sessions, width))
    counted = [item for session in sessions for item in session.counted]
    term.print("", *_totals(counted, width))
    term.print(*_worst(sessions, width))
    others = sum(bool(_why_not_counted(item)) for session in sessions for item in session.losses)
    most = max(sessions, key=lambda session: _loss_counts(session.counted, tuple(HEADS)).by_tool)
    term.print(
        f"{count(len(counted), 'compaction')} compared in {count(len(sessions), 'session')}"
        + (f", {others} not (see above)." if others else "."),
        f"The one that lost most, item by item: {typed(f'lost {most.row.id}')}",
    )


def _rows(sessions: Sequence[ComparedSession], width: int) -> Iterator[Styled | str]:
    columns = {head: (kind,) for kind, head in HEADS.items()} if width >= NARROW else {"LOST": tuple(HEADS)}
    heads = "".join(f"{head:>{CELL}}" for head in columns)
    yield Styled(f"{'ID':<9}{'COMPACTED':>9} {'TOOL':<{TOOL}}{heads}", "dim")
    for session in sessions:
        row, counted = session.row, session.counted
        cells = (f"{_loss_counts(counted, kinds)!s:>{CELL}}" for kinds in columns.values() if counted)
        when = f"{session.age} ago"
        yield Styled.assemble((f"{row.id:<9}", "bold"), f"{when:>9} {row.tool:<{TOOL}}{''.join(cells)}")
        yield Styled(f"  {one_line(row.title or 'no user messages', width - 2)}", "dim")
        for why in dict.fromkeys(map(_why_not_counted, session.losses)):
            if why:
                yield f"  {one_line(f'not compared: {why}', width - 2)}"


def _totals(counted: Sequence[CompactionLosses], width: int) -> Iterator[Styled | str]:
    yield Styled(f"{'TOTAL':<9}{'NEEDED':>8}{'TOOL LOST':>11}{'CLEW LOSES':>12}", "dim")
    totals: dict[str, LossCounts] = {}
    for kind, head in HEADS.items():
        name = "open work" if kind is NeedKind.OPEN else head.lower()
        total = totals[name] = _loss_counts(counted, (kind,))
        yield f"{name:<9}{total.needed:>8}{total.by_tool:>11}{total.by_clew:>12}"
    yield from ("", *wrap(_who_keeps_more(totals), width))


def _who_keeps_more(totals: Mapping[str, LossCounts]) -> str:
    """Say how to read the totals: of which kinds clew keeps more, of which fewer."""
    more = [name for name, total in totals.items() if total.by_clew < total.by_tool]
    fewer = [name for name, total in totals.items() if total.by_clew > total.by_tool]
    parts = [f"{word} {_listed(names)}" for word, names in (("more", more), ("fewer", fewer)) if names]
    return f"In as many tokens as the tool used, clew keeps {', but '.join(parts) or 'as much'}."


def _listed(names: Sequence[str]) -> str:
    """Return names as a person lists them: "open work, findings and files"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _worst(sessions: Sequence[ComparedSession], width: int) -> Iterator[Styled | str]:
    """Yield the worst losses in words: rules first, then open work, findings, files and values."""
    lost = [
        (thing, session.row)
        for session in sessions
        for item in session.counted
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
