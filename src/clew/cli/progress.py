"""Progress display on standard error, only if it is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TypeAlias

from clew.cli.terminal import Terminal
from clew.cli.text import one_line
from clew.compaction.bill import ModelBill
from clew.providers.model import Ask, Model, Reply

ReportStep: TypeAlias = Callable[[str], None]
"""Reports which step begins."""
STEPS = 4
"""Steps of a compaction: read, compact, perhaps ask a model, print."""
WIDTH = 60


@dataclass(frozen=True, slots=True)
class ProgressDisplay:
    """A progress display in use."""

    report: ReportStep
    term: Terminal
    """Collects notes, which are printed when the bar is removed."""


@contextmanager
def progress_display(term: Terminal) -> Iterator[ProgressDisplay]:
    """Draw a progress bar and remove it at the end; draw nothing if standard error is not a terminal."""
    if not term.err.isatty():
        yield ProgressDisplay(lambda _step: None, term)
        return
    notes = StringIO()
    try:
        with _bar(term) as report:
            yield ProgressDisplay(report, Terminal(term.out, notes))
    finally:
        term.err.write(notes.getvalue())


@contextmanager
def _bar(term: Terminal) -> Iterator[ReportStep]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(file=term.err), transient=True) as bar:
        task = bar.add_task("", total=STEPS)

        def report(step: str) -> None:
            done = bar.tasks[task].completed
            bar.update(task, description=one_line(step, WIDTH), completed=min(done + 1, STEPS - 1))

        yield report


class WatchedModel:
    """A model that reports each call to the progress display, and adds up the usage."""

    def __init__(self, model: Model, report: ReportStep) -> None:
        """Wrap a model."""
        self.name = model.name
        self.window_tokens = model.window_tokens
        self.bill = ModelBill()
        self._model = model
        self._report = report

    def ask(self, ask: Ask) -> Reply:
        """Report the call and pass it on."""
        self.bill.calls += 1
        again = f", question {self.bill.calls}" if self.bill.calls > 1 else ""
        self._report(f"asking {self.name} to {ask.purpose}{again}")
        reply = self._model.ask(ask)
        self.bill.add(reply.usage)
        return reply
