"""The table of ``clew lost --all``: a row per compacted session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.sessions import Row, age_of, list_sessions
from clew.cli.terminal import Terminal
from clew.cli.text import count
from clew.errors import ClewError, NotFound
from clew.transcripts import FORMATS, load, open_source
from clew_evals.cli.eval import drawn_progress
from clew_evals.files import SessionFile
from clew_evals.forgotten import Forgotten, Kind, forgotten
from clew_evals.study import mapped

LOOKED_AT = 2_000
HEADS = {
    Kind.RULE: "RULES",
    Kind.OPEN: "OPEN",
    Kind.FINDING: "FINDINGS",
    Kind.FILE: "FILES",
    Kind.VALUE: "VALUES",
}
CELL = 10
NARROW = 78


class Losses(NamedTuple):
    """Items of one kind: how many were needed, and how many were lost."""

    asked: int
    by_tool: int
    by_clew: int

    def __str__(self) -> str:
        return f"{self.by_tool}:{self.by_clew}/{self.asked}" if self.asked else "–"


def print_table(limit: int, as_json: bool, term: Terminal) -> None:
    """Compare the newest compacted sessions and print what they lost."""
    rows = [row for row in list_sessions(LOOKED_AT) if row.compactions and row.tool in FORMATS][:limit]
    if not rows:
        raise NotFound("no session on this computer was compacted", "name a file: clew lost FILE")
    files = [SessionFile(Path(row.path), row.session) for row in rows]
    with drawn_progress(term) as progress:
        found = list(mapped(_judged, files, 0, progress, "reading"))
    if as_json:
        told = [
            {"id": row.id, "tool": row.tool, "compactions": [asdict(one) for one in several]}
            for row, several in zip(rows, found, strict=True)
        ]
        term.write(json.dumps(told, ensure_ascii=False))
        return
    _print(rows, found, term)


def _judged(file: SessionFile) -> list[Forgotten]:
    source = open_source(file.path)
    source.session = file.set  # a database holds several: read only this one
    try:
        return [one for session in load(source) for one in forgotten(session)]
    except ClewError:
        return []


def _print(rows: Sequence[Row], found: Sequence[list[Forgotten]], term: Terminal) -> None:
    width = term.console().width
    wide = width >= NARROW
    kinds = tuple(HEADS) if wide else ()
    term.print(*wrap("Lost by the tool : lost by clew in as many tokens / needed", width), "")
    heads = "".join(f"{HEADS[kind]:>{CELL}}" for kind in kinds) if wide else f"{'LOST':>{CELL}}"
    term.print(Styled(f"{'ID':<9}{'AGE':>4} {'TOOL':<12}{heads}", "dim"))
    judged = [one for several in found for one in several if not one.unjudged and not one.sealed]
    for row, several in zip(rows, found, strict=True):
        told = [one for one in several if not one.unjudged and not one.sealed]
        cells = _cells(told, kinds) if told else f"{'not judged':>{CELL}}"
        term.print(Styled.assemble((f"{row.id:<9}", "bold"), f"{age_of(row):>4} {row.tool:<12}{cells}"))
    term.print("", Styled("all together", "bold"))
    for kind, head in HEADS.items():
        term.print(f"  {head.lower():<12}{_losses(judged, (kind,)):>16}")
    term.print("")
    sealed = sum(bool(one.unjudged or one.sealed) for several in found for one in several)
    term.print(
        f"{count(len(judged), 'compaction')} judged in {count(len(rows), 'session')}"
        + (f", {sealed} not (see clew lost ID)." if sealed else "."),
    )


def _cells(told: Sequence[Forgotten], kinds: Sequence[Kind]) -> str:
    if not kinds:
        return f"{_losses(told, tuple(HEADS)):>{CELL}}"
    return "".join(f"{_losses(told, (kind,)):>{CELL}}" for kind in kinds)


def _losses(told: Sequence[Forgotten], kinds: Sequence[Kind]) -> str:
    things = [thing for one in told for thing in one.things if thing.kind in kinds]
    return str(
        Losses(
            len(things),
            sum(not thing.by_tool for thing in things),
            sum(not thing.by_clew for thing in things),
        )
    )
