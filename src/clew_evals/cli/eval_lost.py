"""The part of ``clew eval``'s report about compactions made by the sessions' own tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line
from clew_evals.cli.eval_cells import table
from clew_evals.lost import Lost, OwnCompactions
from clew_evals.report.losses import in_words, newest, sides, use_of

LATEST = 5
USES_TOLD = 3
NAMES_TOLD = 6
COMPARED = (
    "share", "retained", "far", "hard", "in_context", "explained", "constraints", "rules", "open", "files",
    "failed",
)  # fmt: skip


def print_lost(own: OwnCompactions, term: Terminal) -> None:
    """Print what was lost: in words, then in figures next to clew's, then per compaction."""
    term.print(Styled("What your tool lost at its own compactions", "bold"), *map(Styled, in_words(own)), "")
    if not own.judged:
        return
    title = "as shares: its own tool, and clew with as many tokens"
    term.console().print(table(title, sides(own.judged), COMPARED))
    for one in newest(own.judged, LATEST):
        _print_one(one, term)
    term.print("")


def _print_one(one: Lost, term: Terminal) -> None:
    when = (one.time or "").replace("T", " ")[:16]
    sizes = f"{one.tokens_before:,} tokens became {one.tokens_after:,}"
    term.print("", Styled(f"{when}  {one.format}: {sizes}", "bold"), Styled(f"  {one.path.name}", "dim"))
    room = term.console().width - 2
    term.print(*(f"  {one_line(line, room)}" for line in _losses(one)))


def _losses(one: Lost) -> Iterator[str]:
    """Yield what a compaction lost, a line per kind; for values used later, where they were used."""
    files = [Path(name).name for name in one.files]
    for what, gone in (("rule", one.rules), ("open task", one.open), ("changed file", files)):
        if gone:
            yield f"lost {count(len(gone), what)}: {', '.join(gone[:NAMES_TOLD])}"
    needed = [probe for probe in one.values if not probe.refetched]
    again = [probe.key for probe in one.values if probe.refetched]
    for probe in needed[:USES_TOLD]:
        yield f"lost {probe.key}, needed in: …{''.join(use_of(probe))}…"
    if more := [probe.key for probe in needed[USES_TOLD:]]:
        yield f"lost {count(len(more), 'more value')} needed later: {', '.join(more[:NAMES_TOLD])}"
    if again:
        yield f"lost {count(len(again), 'value')} to be fetched again: {', '.join(again[:NAMES_TOLD])}"
    if not (one.rules or one.open or one.files or one.values):
        yield "lost nothing that was needed later"
