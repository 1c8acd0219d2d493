"""The printed report of ``clew compact``: the digest, the view before and after, what was dropped."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.anatomy import PartKind
from clew.cli.run_compaction import CompactReport
from clew.cli.text import count, fit_name, one_line, printable, typed
from clew.compaction.plan import ClaimKind, Condense, Digest, Drop, Freed, Operation, Shrink
from clew.compaction.plan.digest import spans
from clew.compaction.plan.render import HEADINGS, NOTE, PINS_HEADING, TAG, render_digest
from clew.compaction.verify import CHECKS, Level, Report
from clew.message import Cite, Item, Message, Origin, Role, fixed_prefix
from clew.session import DecidedCompaction, DigestAttempt

NARROWEST = 40
INDENT = "  "
_HEADINGS = {PINS_HEADING, *HEADINGS.values()}
_CARRIAGE_RETURN = re.compile(r"\r {0,2}(?=\n|$)")
_SOURCE = re.compile(r"\[[^\]\s]+(?:, [a-z-]+)?\]")


def digest_text(digest: Digest) -> str:
    """Return the text of a digest, safe to print, with Windows line ends removed."""
    return printable(_CARRIAGE_RETURN.sub("", render_digest(digest)))


def no_digest(report: CompactReport) -> str:
    """Return why there is no digest."""
    if report.outcome is None:
        return "no digest: nothing was compacted"
    return "no digest: all messages fit, the older ones with their tool output shortened"


def digest_lines(digest: Digest, width: int) -> Iterator[Styled]:
    """Yield every line of a digest, wrapped at words."""
    for line in digest_text(digest).split("\n"):
        if line in _HEADINGS:
            yield Styled(line, style="bold")
        elif line == NOTE or line.startswith((f"<{TAG}", f"</{TAG}")) or _SOURCE.fullmatch(line):
            yield from (Styled(piece, style="dim") for piece in _wrap(line, width))
        else:
            yield from map(Styled, _wrap(line, width))


def _wrap(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)] or (INDENT if line[:2] in ("- ", "~ ") else "")
    return wrap(
        line,
        max(NARROWEST, width),
        subsequent_indent=indent[: width // 2],
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [line]


MESSAGE_KINDS = (
    PartKind("system", "s", "magenta"),
    PartKind("digest", "d", "red"),
    PartKind("user", "u", "cyan"),
    PartKind("injected", "i", "bright_black"),
    PartKind("assistant", "a", "green"),
    PartKind("tool output", "r", "yellow"),
)
"""Kinds of content in the order of the bars, each with a letter and a colour."""
MOST_LISTED = 4
MOST_RULES = 8
MOST_OPERATIONS = 12
LARGE_PROMPT = 0.1
"""Share of the view from which its system prompt explains why it is larger than the size asked for."""
LABEL = 10
BLANK = Styled("")


def picture(
    compaction: CompactReport, width: int, out_path: Path | None = None, *, every_figure: bool = False
) -> list[Styled]:
    """Return the report: the digest, and below it a summary or all statistics."""
    if compaction.outcome is None:
        messages = count(len(compaction.before), "message")
        size = f"{compaction.tokens(compaction.before):,} tokens in {messages}"
        name = fit_name(compaction.name, 60)
        unchanged = Styled(f"{name}: {size}; compacting would save nothing, so it is unchanged")
        return [unchanged, *([_row("takes", compaction.part)] if compaction.part else [])]
    plan, dry_run = compaction.outcome.plan, compaction.dry_run
    most = MOST_OPERATIONS if dry_run else MOST_LISTED if every_figure else 0  # of each list
    if compaction.digest:
        lines = [*digest_lines(compaction.digest, width), BLANK, *_head(compaction)]
    else:
        lines = [*_head(compaction), Styled(no_digest(compaction)), BLANK]
    if every_figure or dry_run:
        lines += [*_bars(compaction, width), BLANK]
    lines += [*_rungs(plan.operations, plan.freed), *_digest_rows(compaction)]
    if dry_run:
        lines += _list_rows("plan", "", _operations(plan.operations), width, MOST_OPERATIONS)
    if every_figure or compaction.digest is None:
        lines += [BLANK, *_kept_rows(compaction, width)]
    lines += [BLANK, *_leaving(compaction.outcome.report, width, most)]
    lines += [BLANK, *_check_rows(compaction.outcome, width, every_figure)]
    if every_figure or dry_run:
        lines.append(_row("cache", str(compaction.price)))
    else:
        more = "--stats prints what fills the view, what was dropped and every check"
        lines.append(_row("more", more, "dim"))
    return [*lines, BLANK, *_what_next(compaction, out_path, width)]


def _row(label: str, words: str, style: str = "") -> Styled:
    return Styled.assemble((f"{printable(label):<{LABEL}}", "bold"), (printable(words), style))


class ReportEntry(NamedTuple):
    """A line of a list: its name and its text."""

    name: str
    text: str


def _list_rows(
    label: str, title: str, entries: Iterable[ReportEntry], width: int, most: int, total: int = 0
) -> list[Styled]:
    """Return the first entries under a title; the rest are counted.

    With ``most=0`` only the title is returned.
    """
    listed = list(entries)
    more = max(total, len(listed)) - min(most, len(listed))
    rows = wrap(title, max(20, width - LABEL), subsequent_indent=INDENT)
    wide = max((len(entry.name) for entry in listed[:most]), default=0) + 1
    room = max(20, width - LABEL - wide - 2)
    rows += [f"  {printable(entry.name):<{wide}}{one_line(entry.text, room)}" for entry in listed[:most]]
    if more and listed and most:
        rows.append(f"  … and {more:,} more")
    return [_row(label if not number else "", row) for number, row in enumerate(rows)]


# Before and after ------------------------------------------------------------------------------------


def _head(report: CompactReport) -> list[Styled]:
    before, after = report.tokens(report.before), report.tokens(report.after)
    exact = "" if report.counter.exact else ", estimated"
    messages = f" · {len(report.before):,} → {count(len(report.after), 'message')}"
    title = Styled.assemble((fit_name(report.name, 60), "bold"), messages)
    size = Styled.assemble(
        (f"{before:,} → {after:,} tokens", "bold"),
        f" ({after / max(1, before) - 1:.0%}{exact}), {after / report.window:.0%} of a window of ",
        f"{report.window:,}",
    )
    if report.dry_run:
        size.append(" · dry run: nothing was changed", style="bold yellow")
    rows = [_row("takes", report.part)] if report.part else []
    prompt = report.tokens(report.after[: fixed_prefix(report.after)])
    if report.outcome and prompt >= after * LARGE_PROMPT:
        rows.append(
            _row("of these", f"{prompt:,} system prompt: never compacted, not counted in a target size")
        )
    return [title, size, *rows, BLANK]


def _bars(report: CompactReport, width: int) -> list[Styled]:
    before, after = _weights(report, report.before), _weights(report, report.after)
    room = max(10, width - LABEL)
    most = max(1, sum(before.values()), sum(after.values()))
    rows = [_bar("before", before, room, most), _bar("after", after, room, most), BLANK]
    for kind in MESSAGE_KINDS:
        if before[kind] or after[kind]:
            row = Styled(" " * LABEL).append(kind.letter, style=f"{kind.colour} reverse")
            rows.append(row.append(f" {kind.name:<12}{before[kind]:>9,} → {after[kind]:>9,}"))
    return rows


def _weights(report: CompactReport, items: Iterable[Item]) -> dict[PartKind, int]:
    weights = dict.fromkeys(MESSAGE_KINDS, 0)
    named = {kind.name: kind for kind in MESSAGE_KINDS}
    for item in items:
        weights[named[_kind(item.message)]] += report.counter.count(item.message)
    return weights


def _kind(message: Message) -> str:
    """Return the kind of a message in the bars."""
    if message.role in (Role.SYSTEM, Role.DEVELOPER):
        return "system"
    if message.origin is Origin.SUMMARY:
        return "digest"
    if any(message.results) or message.role is Role.TOOL:
        return "tool output"
    if message.origin is Origin.INJECTED:
        return "injected"
    return message.role.value


def _bar(label: str, weights: dict[PartKind, int], room: int, most: int) -> Styled:
    """Return one bar; a kind that is present has at least one cell."""
    row = _row(label, "")
    drawn = 0
    for kind, tokens in weights.items():
        cells = max(1, round(room * tokens / most)) if tokens else 0
        cells = min(cells, room - drawn)
        row.append(kind.letter * cells, style=f"{kind.colour} reverse")
        drawn += cells
    return row.append("·" * (room - drawn), style="dim")


# What was done ---------------------------------------------------------------------------------------


def _rungs(operations: Sequence[Operation], freed: Sequence[Freed]) -> list[Styled]:
    rows = []
    for number, step in enumerate(freed):
        did = "; ".join(_did([operation for operation in operations if operation.rung is step.rung]))
        rows.append(_row("freed" if not number else "", f"{step.tokens:>9,}  {step.rung.value:<10} {did}"))
    return rows


def _did(operations: Sequence[Operation]) -> Iterator[str]:
    """Return in a few words what a step of the compaction did."""
    for operation in operations:
        if isinstance(operation, Condense):
            digest = operation.digest
            folds = f", with {', '.join(digest.folds)} in it" if digest.folds else ""
            lines = count(len(digest.claims), "line")
            yield f"{count(len(operation.ids), 'message')} → {digest.id}, {lines}{folds}"
    smaller = sum(isinstance(operation, Shrink) for operation in operations)
    if smaller:
        yield f"{count(smaller, 'message')} shortened"
    dropped = sum(len(operation.ids) for operation in operations if isinstance(operation, Drop))
    if dropped:
        yield f"{count(dropped, 'message')} dropped"


def _digest_rows(report: CompactReport) -> list[Styled]:
    """Count the lines of the digest, by kind."""
    if report.digest is None:
        return []
    kinds = Counter(claim.kind for claim in report.digest.claims)
    text = " · ".join(f"{kind.value} {kinds[kind]:,}" for kind in ClaimKind if kinds[kind])
    return [_row(report.digest.id, text)]


def _operations(operations: Sequence[Operation]) -> Iterator[ReportEntry]:
    for operation in operations:
        match operation:
            case Shrink():
                yield ReportEntry(f"shrink {operation.id}", operation.reason)
            case Condense():
                yield ReportEntry(f"summarise {spans(operation.ids)}", f"into {operation.digest.id}")
            case Drop():
                yield ReportEntry(f"drop {spans(operation.ids)}", operation.reason)


# What is kept and dropped ------------------------------------------------------------------------------


def _kept_rows(report: CompactReport, width: int) -> list[Styled]:
    pins, open_work = report.ledger.pins.active, report.ledger.loops.open
    claims = report.digest.claims if report.digest else ()
    rules = [ReportEntry(pin.id, f'"{pin.quote}"{_place(pin.source)}') for pin in pins]
    loops = [ReportEntry(loop.kind.value, f"{loop.text}{_place(loop.source)}") for loop in open_work]
    files = [ReportEntry(claim.id, claim.text) for claim in claims if claim.kind is ClaimKind.ARTIFACT]
    rows: list[Styled] = []
    if rules:
        rows += _list_rows("", f"{count(len(rules), 'rule')}, word for word", rules, width, MOST_RULES)
    if loops:
        rows += _list_rows("", count(len(loops), "open item"), loops, width, MOST_LISTED)
    if files:
        rows += _list_rows("", "files and commands", files, width, MOST_LISTED)
    return _with_label("kept", rows or [_row("", "there are no rules and no open items")])


def _with_label(label: str, rows: Sequence[Styled]) -> list[Styled]:
    return [_row(label, "") + rows[0][LABEL:], *rows[1:]]


def _place(source: Cite | None) -> str:
    return f" [{source.message}]" if source else ""


def _leaving(report: Report, width: int, most: int) -> list[Styled]:
    """Return what the model no longer sees: counts, and the first ``most`` of each kind."""
    rows: list[Styled] = []
    for kept in report.kept:
        if kept.before == kept.stand:
            continue
        reach = f"{kept.reachable:,} reachable through a kept line" if kept.reachable else ""
        gone = f"{kept.gone:,} only in the original" if kept.gone else ""
        dropped = f"{kept.before - kept.stand:,} of {kept.before:,} {kept.matter.plural}"
        title = f"{dropped}: {', '.join(filter(None, (reach, gone)))}" if reach or gone else dropped
        lost = (ReportEntry(loss.id, loss.text) for loss in report.lost if loss.matter is kept.matter)
        rows += _list_rows("", title, lost, width, most, kept.before - kept.stand)
    return _with_label("dropped", rows or [_row("", "no rule, open item, decision or exact value")])


# Checks and next steps -------------------------------------------------------------------------------


def _check_rows(outcome: DecidedCompaction, width: int, each: bool) -> list[Styled]:
    against = {finding.check for finding in outcome.report.findings if finding.level is not Level.NOTE}
    noted = [
        _row("! rules", f"{finding.what}: {finding.why}")
        for finding in outcome.report.findings
        if finding.check == "pins" and finding.level is Level.NOTE and not finding.subject
    ]
    if not against and not each:
        return [*noted, _row("checks", f"✓ all {len(CHECKS)} passed"), _row("written", author(outcome))]
    rows = [*noted, _row("checks", "")]
    for check in CHECKS:
        bad = check.name in against
        if rows[-1].cell_len + len(check.name) + 4 > width:
            rows.append(_row("", ""))
        rows[-1].append("✗ " if bad else "✓ ", style="red" if bad else "green").append(f"{check.name}  ")
    return [*rows, _row("written", author(outcome))]


def author(outcome: DecidedCompaction) -> str:
    """Return who wrote the digest, in how many attempts, and its cost."""
    last = outcome.attempts[-1].author if outcome.attempts else "clew"
    how = ", ".join(
        f"{attempt.author} {attempt.outcome}{_why_failed(attempt)}" for attempt in outcome.attempts
    )
    if not outcome.calls:
        return "by code, without a model" if last == "clew" else how
    usage = outcome.usage
    cost = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    rules = "; the rules were not judged" if outcome.not_judged else ""
    return f"by {last} ({how}; {count(outcome.calls, 'call')}, {cost}{rules})"


def _why_failed(attempt: DigestAttempt) -> str:
    """Return why an attempt produced nothing to check."""
    return f" ({one_line(attempt.misses[0], 80)})" if attempt.outcome == "failed" and attempt.misses else ""


def _what_next(report: CompactReport, out_path: Path | None, width: int) -> list[Styled]:
    """Return the commands that are useful after this compaction: undo, expand, trace, import."""
    name = shlex.quote(report.name)
    rows = [_row("list", f"in {out_path}, ready for {report.wire.title}")] if out_path else []
    if report.undoable:
        look = f"expand {name} {report.compaction_name}"
        has_digest = report.outcome is not None and bool(report.outcome.plan.digests)
        what = "its lines and their source messages" if has_digest else "what it did, and to which messages"
        return [
            *rows,
            _command("undo", f"undo {name}", "restore every message", width),
            _command("look", look, f"print {what}", width),
            _command("why", f"trace {name} m12", "explain why a message was kept or dropped", width),
        ]
    if report.dry_run:
        return [*rows, _row("do it", "run the same command without --dry-run")]
    if not out_path:
        rows.append(_row("list", "nothing was written; -o FILE, --to WIRE or --json gives the list"))
    if report.is_current:
        rows.append(_command("look", f"expand {name} m12", "print a source message", width))
    return [
        *rows,
        _command("keep it", f"import {name}", "then it can be compacted in the log, and undone", width),
    ]


def _command(label: str, words: str, why: str, width: int) -> Styled:
    """Return a command, and what it does if there is room."""
    row = _row(label, typed(words), "green")
    return row.append(f"  {why}", style="dim") if row.cell_len + len(why) + 2 <= width else row
