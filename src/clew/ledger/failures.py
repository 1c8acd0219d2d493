"""Track failures: the error lines, the attempts, and the changes that preceded success.

``pytest a.py`` fails twice, then ``app.py`` is changed, then it passes: that is one ``Failure`` with its
error lines, two attempts, the changed file and the call that fixed it. Calls that do the same thing (a
program with the same first words, a tool with the same file) are attempts at one thing. It counts as fixed
if one of them succeeds, if a file that could not be read is read by another tool, if every edit that failed
is made (``edit_aims``), if the failed tests pass in another run, or if the failed script succeeds with other
arguments. A search that found nothing, and a failure without output, count only if repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clew.ledger.attempts import Attempt, attempt, names_to_change, only_looks, scripts_run, signatures
from clew.ledger.edit_aims import Aim, aims_of, not_reached, same_file, with_aims
from clew.ledger.error_lines import error_spans
from clew.ledger.exchange import Exchange, Reading
from clew.ledger.outcome import Ended
from clew.ledger.testruns import run_of, selected_by
from clew.ledger.tool_actions import BY_NAME, CHANGING, ActionKind, touches
from clew.message import Cite
from clew.message.text import lazy_pattern

MOST_ATTEMPTS = 8
"""Failed calls listed of one failure: the first ones and the latest. Chosen by hand."""
MOST_CHANGES = 8
"""Changed files listed of one failure. Chosen by hand."""
MOST_OPEN = 200
"""Open failures kept; above that the oldest are dropped. Chosen by hand."""
MOST_FIXED = 1_000
"""Fixed failures kept; above that the oldest are dropped. Chosen by hand."""
_CANCELLED = lazy_pattern(r"\s*<tool_use_error>(?:Sibling tool call errored|Cancelled)")
"""Claude Code's result for a call that it did not run because another call of the same reply failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that did not work."""

    id: str
    tool: str
    subject: str
    """The command line or the path; the first line of a long one."""
    lines: tuple[str, ...]
    """The most informative lines of the last failed attempt, verbatim."""
    sources: tuple[Cite, ...]
    """Positions of these lines."""
    attempts: tuple[Cite, ...]
    """The failed calls: the first ones and the latest."""
    count: int = 1
    """Number of failed attempts."""
    last_number: int = 0
    """Index of the message with the last failed result."""
    exit_code: int | None = None
    changed: tuple[str, ...] = ()
    """Files that were changed since a command failed; of a failed edit, those that were edited otherwise."""
    fixed_by: Cite | None = None
    """The call that succeeded: the same attempt, a change of the same file, or a run of the same tests."""
    script: str = ""
    """The script that it ran, with its subcommand."""
    otherwise: bool = False
    """What succeeded was the same script with other arguments."""
    aims: tuple[Aim, ...] = ()
    """Of failed edits: what they would have written and nobody wrote since."""
    redone: bool = False
    """Of failed edits: whether some of them were made since."""
    runner: str = ""
    """Of a test run: the runner."""
    slight: bool = False
    """It only read something, or has no output: one occurrence is not a failure."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files in which a failed edit was not made."""
        return tuple(dict.fromkeys(aim.file for aim in self.aims))

    @property
    def is_fixed(self) -> bool:
        """Whether it works now."""
        return self.fixed_by is not None


@dataclass(slots=True)
class Failures:
    """Tracks failures by what was attempted."""

    open: dict[str, Failure] = field(default_factory=dict)
    fixed: list[Failure] = field(default_factory=list)
    count: int = 0

    @property
    def all(self) -> tuple[Failure, ...]:
        """Return the failures that count, fixed ones first."""
        return tuple(
            failure
            for failure in (*self.fixed, *self.open.values())
            if failure.count > 1 or not failure.slight
        )

    def add(self, reading: Reading, changed: Mapping[str, Cite]) -> None:
        """Read a message; ``changed`` are the files that its results show as changed, with the calls."""
        for exchange in reading.exchanges:
            ended = exchange.outcome.ended
            if ended is Ended.REFUSED or (ended is Ended.OK and not self.open):
                continue
            if ended is Ended.OK:
                is_edit = exchange.action.kind in CHANGING
                same = self._edited(exchange) if is_edit else signatures(exchange.action)
                self._mark_fixed(
                    [*same, *self._same_tests(exchange), *self._read_after_all(exchange)], exchange.asked
                )
                self._same_script(exchange)
                self._edited_by_command(exchange)
            else:
                self._add_failure(exchange, reading.number)
        if changed and self.open:
            for name, call in changed.items():
                self._changed_by_command(name, call, reading)
            self._note_changes(changed)
        if len(self.fixed) > MOST_FIXED:
            del self.fixed[: MOST_FIXED // 4]

    def _mark_fixed(self, signatures: list[str], call_cite: Cite) -> None:
        for signature in signatures:
            if signature in self.open:
                self.fixed.append(replace(self.open.pop(signature), fixed_by=call_cite))

    def _same_tests(self, exchange: Exchange) -> list[str]:
        """Return the failed test runs that a passing run covers, however it was started."""
        if exchange.action.kind is not ActionKind.SHELL or not any(
            earlier.runner for earlier in self.open.values()
        ):
            return []
        run = run_of(exchange.action.subject, exchange.result.text)
        if run is None or run.failed:
            return []
        return [
            signature
            for signature, failure in self.open.items()
            if failure.runner == run.runner and run.covers(failure.subject, selected_by(failure.subject))
        ]

    def _same_script(self, exchange: Exchange) -> None:
        """Mark failed scripts that succeed now with other arguments as fixed; tests may be other ones."""
        if not any(failure.script for failure in self.open.values()):
            return
        scripts = scripts_run(exchange.action)
        for signature, failure in tuple(self.open.items()) if scripts else ():
            if failure.script in scripts and not failure.runner:
                del self.open[signature]
                self.fixed.append(replace(failure, fixed_by=exchange.asked, otherwise=True))

    def _edited(self, exchange: Exchange) -> list[str]:
        """Return the failed edits that are made now."""
        files = [touch.name for touch in touches(exchange.action, exchange.result.text) if touch.name]
        open_edits = [signature for signature, failure in self.open.items() if failure.aims]
        return [signature for signature in open_edits if self._is_made(signature, files, exchange)]

    def _changed_by_command(self, file: str, call: Cite, reading: Reading) -> None:
        """Note that a command changed a file."""
        for exchange in reading.exchanges:
            if exchange.asked == call and exchange.action.kind not in CHANGING:
                made = [
                    signature
                    for signature, failure in tuple(self.open.items())
                    if failure.aims
                    and failure.last_number < reading.number
                    and self._is_made(signature, [file], exchange)
                ]
                self._mark_fixed(made, call)

    def _edited_by_command(self, exchange: Exchange) -> None:
        """Note that a command names the files of failed edits and does more than read.

        An agent whose edit does not match often writes a script that makes the change.
        """
        if exchange.action.kind is not ActionKind.SHELL or only_looks(exchange.action):
            return
        for signature, failure in tuple(self.open.items()):
            named = [name for name in failure.files if names_to_change(exchange.action.subject, _base(name))]
            if named and self._is_made(signature, named, exchange):
                self._mark_fixed([signature], exchange.asked)

    def _is_made(self, signature: str, files: Sequence[str], exchange: Exchange) -> bool:
        """Compare a failed edit with a successful call that changed these files; note what is left of it."""
        failure = self.open[signature]
        left = failure.aims
        for file in files:
            left = not_reached(left, file, exchange.action)
        if left and len(left) < len(failure.aims):
            self.open[signature] = replace(failure, aims=left, redone=True)
        elif left and (
            others := tuple(name for name in failure.files if any(same_file(name, one) for one in files))
        ):
            self.open[signature] = replace(failure, changed=others)
        return not left

    def _read_after_all(self, exchange: Exchange) -> list[str]:
        """Return the failed reads of files that a call reads now, by any tool."""
        unread = list(self._open_reads())
        if not unread:
            return []
        names = [touch.name for touch in touches(exchange.action, exchange.result.text)]
        return [signature for signature, path in unread if any(same_file(path, name) for name in names)]

    def _open_reads(self) -> Iterator[tuple[str, str]]:
        """Yield the signature and subject of the failed calls of tools, not commands, that read."""
        for signature, failure in self.open.items():
            if not signature.startswith("$ ") and BY_NAME.get(failure.tool.lower()) is ActionKind.READ:
                yield signature, failure.subject

    def _add_failure(self, exchange: Exchange, number: int) -> None:
        """Record a failed call: a new failure, or one more attempt of a known one."""
        text = exchange.result.text
        if _CANCELLED.match(text):
            return
        spans = error_spans(text)
        lines = tuple(text[start:end] for start, end in spans)
        tried = attempt(exchange.action, lines)
        if tried is None:
            return
        sources = tuple(exchange.answered._replace(start=start, end=end) for start, end in spans)
        before = self.open.pop(tried.signature, None)  # re-inserted at the end, as the latest
        if before is None:
            before = self._first(tried, exchange)
        self.fixed = [one for one in self.fixed if not _is_back(one, before, lines)]
        self.open[tried.signature] = replace(
            before,
            lines=lines,
            sources=sources,
            attempts=(*before.attempts[: MOST_ATTEMPTS - 1], exchange.asked),
            changed=(),
            count=before.count + 1,
            last_number=number,
            exit_code=exchange.outcome.exit_code,
            runner=_runner(exchange),
            slight=not lines or only_looks(exchange.action),
            script=tried.script,
            aims=with_aims(before.aims, aims_of(exchange.action)),
            redone=False,
        )
        if len(self.open) > MOST_OPEN:
            del self.open[next(iter(self.open))]

    def _first(self, tried: Attempt, exchange: Exchange) -> Failure:
        self.count += 1
        return Failure(f"e{self.count}", exchange.action.tool, tried.subject, (), (), (), count=0)

    def _note_changes(self, changed: Iterable[str]) -> None:
        for signature, failure in self.open.items():
            if not signature.startswith("$ "):
                continue  # only what a command says depends on files
            new = [name for name in changed if name not in failure.changed]
            if new and len(failure.changed) < MOST_CHANGES:
                self.open[signature] = replace(failure, changed=(*failure.changed, *new)[:MOST_CHANGES])


def _is_back(fixed: Failure, again: Failure, lines: tuple[str, ...]) -> bool:
    """Return True if a fixed failure is there again: the same edit, or the same error of a command."""
    is_same = (fixed.tool, fixed.subject) == (again.tool, again.subject)
    return is_same and (fixed.lines == lines or BY_NAME.get(fixed.tool.lower()) in CHANGING)


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _runner(exchange: Exchange) -> str:
    """Return the test runner of a call; empty if it ran no tests."""
    if exchange.action.kind is not ActionKind.SHELL:
        return ""
    run = run_of(exchange.action.subject, exchange.result.text)
    return run.runner if run else ""
