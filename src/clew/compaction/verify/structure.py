"""Check *structure*: prompt, recent turns, pairs and spans are intact; the provider accepts the view.

The *seal* of a digest is what it states about its span: level, covered messages, folded digests, checksum. It
must be what follows from the messages that the digest replaces.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

from clew.compaction.plan import Condense, Digest, Drop, Shrink
from clew.compaction.plan.digest import checksum
from clew.compaction.verify.context import VerificationContext
from clew.compaction.verify.report import Finding, Level, short
from clew.compaction.verify.wording import ELISION
from clew.message import Message, Part, Role, Text, Thinking, ToolCall, ToolResult, cut_points, words
from clew.message.text import without_colours
from clew.providers import CheckScope, ConversionOptions, RuleLevel, Wire, convert
from clew.providers.rules import check_body


@dataclass(frozen=True, slots=True)
class Seal:
    """The span of a digest: level, covered messages, folded digests, checksum."""

    level: int
    covers: tuple[str, ...]
    folds: tuple[str, ...]
    checksum: str


def seal_of(case: VerificationContext, condense: Condense) -> Seal:
    """Return what the digest of an operation must state."""
    folded = [case.shown_digests[name] for name in condense.ids if name in case.shown_digests]
    condensed = frozenset(condense.ids).difference(case.shown_digests)
    own_items = [item for item in case.task.view if item.id in condensed]
    return Seal(
        level=1 + max((digest.level for digest in folded), default=-1),
        covers=_covers(case, condense),
        folds=tuple(digest.id for digest in folded),
        checksum=checksum(own_items, "".join(digest.checksum for digest in folded)),
    )


def _covers(case: VerificationContext, condense: Condense) -> tuple[str, ...]:
    shown = case.shown_digests
    if shown.keys().isdisjoint(condense.ids):
        return tuple(condense.ids)
    spans: Iterable[Sequence[str]] = (
        shown[name].covers if name in shown else (name,) for name in condense.ids
    )
    return tuple(name for span in spans for name in span)


def stated_seal(digest: Digest) -> Seal:
    """Return what a digest does state."""
    return Seal(digest.level, digest.covers, digest.folds, digest.checksum)


_CHECK = "structure"


def check_structure(case: VerificationContext) -> Iterator[Finding]:
    """Find changes to what a plan may not touch, and spans that do not match their messages."""
    yield from _prompt(case)
    yield from _spans(case)
    yield from _seals(case)
    for operation in case.plan.operations:
        if isinstance(operation, Drop):
            yield from _drop(case, operation)
        elif isinstance(operation, Shrink):
            yield from _shrink(case, operation)
    yield from _wire(case)


def _refuse(subject: str, what: str, why: str = "") -> Finding:
    return Finding(_CHECK, Level.REFUSE, subject, what, why)


def _prompt(case: VerificationContext) -> Iterator[Finding]:
    for item in case.task.view:
        if item.message.role not in (Role.SYSTEM, Role.DEVELOPER):
            return
        if item.id in case.removed or item.id in case.shrinks:
            yield _refuse(item.id, "the system prompt would be changed")


def _spans(case: VerificationContext) -> Iterator[Finding]:
    """Find atoms that would be split, and recent messages that would be removed.

    A thinking block ties the steps of its loop together as long as it is shown.
    """
    messages = [item.message for item in case.task.view]
    findings = list(_split_atoms(case, messages))
    if findings and not any(map(_is_thought, _kept_parts(case))):
        findings = list(_split_atoms(case, [_without_thoughts(message) for message in messages]))
    yield from findings


def _kept_parts(case: VerificationContext) -> Iterator[Part]:
    for item in case.task.view:
        if item.id in case.shrinks:
            yield from case.shrinks[item.id].message.parts
        elif item.id not in case.removed:
            yield from item.message.parts


def _split_atoms(case: VerificationContext, messages: Sequence[Message]) -> Iterator[Finding]:
    view = case.task.view
    points = cut_points(messages)
    tail = max(0, len(view) - 1)
    kept = points[bisect_right(points, tail) - 1]
    dropped = list(map(case.removed.__contains__, case.before))
    for i in range(kept, len(view)):
        if dropped[i]:
            yield _refuse(view[i].id, "one of the most recent messages would be removed")
    edges = [i for i, (left, right) in enumerate(pairwise(dropped), start=1) if left is not right]
    for i in sorted(frozenset(edges).difference(points)):
        why = f"{view[i - 1].id} belongs to it"
        yield _refuse(view[i].id, "a call would be separated from its result", why)


def _seals(case: VerificationContext) -> Iterator[Finding]:
    for condense in case.condenses:
        expected, stated = seal_of(case, condense), stated_seal(condense.digest)
        for field in fields(expected):
            if getattr(expected, field.name) != getattr(stated, field.name):
                what = f"the digest's {field.name} does not match the messages it replaces"
                yield _refuse(condense.digest.id, what, _SEALS[field.name])


_SEALS = {
    "level": "it must be one above the digests it folds",
    "covers": "it must list every message it replaces, in order",
    "folds": "it must list every digest it folds",
    "checksum": "it was made from other messages, or they were changed since",
}


def _drop(case: VerificationContext, drop: Drop) -> Iterator[Finding]:
    """Find dropped messages that no digest covers or that the log does not have."""
    for name in drop.ids:
        digest = case.shown_digests.get(name)
        if not (name in case.covered or (digest and digest.id in case.folded)):
            yield _refuse(name, "the message would be dropped", "no digest in the view covers it")
        yield from _missing_in_log(case, name)


def _missing_in_log(case: VerificationContext, name: str) -> Iterator[Finding]:
    find = case.task.originals
    if find is not None and find(name) is None and name not in case.shown_digests:
        yield _refuse(name, "the message would no longer be shown whole", "the log does not have it")


def _shrink(case: VerificationContext, shrink: Shrink) -> Iterator[Finding]:
    """Find smaller forms that are not smaller, add lines, or change role, calls or results.

    Arguments are not compared: a stub of a call may say in a field of its own what became of it.
    """
    before, message, after = case.before[shrink.id], _original(case, shrink.id), shrink.message
    if not after.parts and before.parts and all(map(_is_thought, before.parts)):
        yield from _missing_in_log(case, shrink.id)
        return
    if not any(map(_is_thought, after.parts)):  # removed whole, which providers allow
        before, message = _without_thoughts(before), _without_thoughts(message)
    if _frame(before) != _frame(after):
        yield _refuse(shrink.id, "the smaller form is not the same message", "role, calls or results differ")
        return
    if case.task.counter.count(after) >= case.sizes[shrink.id]:
        yield Finding(_CHECK, Level.NOTE, shrink.id, "the smaller form is not smaller")
    for old, whole, new in zip(before.parts, message.parts, after.parts, strict=True):
        if new.trust > old.trust:
            yield _refuse(shrink.id, "the smaller form is labelled above the original")
        if (
            new != old
            and isinstance(new, Text | ToolResult)
            and (line := _added_line(*map(without_colours, (words(whole), words(new)))))
        ):
            yield _refuse(
                shrink.id, f'the smaller form adds "{short(line)}"', "the original does not say that"
            )
    yield from _missing_in_log(case, shrink.id)


def _original(case: VerificationContext, name: str) -> Message:
    """Return the original message: the view may already show a smaller form with other lines.

    If the view no longer shows its thinking, it is returned without.
    """
    original = case.task.originals(name) if case.task.originals else None
    message = case.before[name]
    if original and not any(map(_is_thought, message.parts)):
        original = _without_thoughts(original)
    return original if original and _frame(original) == _frame(message) else message


def _without_thoughts(message: Message) -> Message:
    """Return a message without thinking blocks; if nothing else is in it, with an empty text."""
    parts = tuple(part for part in message.parts if not _is_thought(part))
    if len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts or (Text("", trust=message.parts[0].trust),))


def _is_thought(part: Part) -> bool:
    return isinstance(part, Thinking)


def _frame(message: Message) -> tuple[object, ...]:
    """Return what must stay the same in a smaller form of a message."""
    return (message.role, message.origin, *map(_part_frame, message.parts))


def _part_frame(part: Part) -> tuple[object, ...]:
    match part:
        case ToolCall(call_id=call_id, name=name):
            return ("call", call_id, name)
        case ToolResult(call_id=call_id, is_error=is_error):
            return ("result", call_id, is_error)
        case Text():
            return ("text",)
        case _:
            return ("other", part)


_NOTE = re.compile(r"\[.{0,200}\]")
_OUTLINE = re.compile(
    r"\[(?:… )?[\d,]+ lines?(?:, kept as [\w-]+)?: "
    r"(?P<names>(?!.*, kept as [\w-]+\]).+?)(?: and [\d,]+ more)?\]"
)
"""A note that lists the names that a text defines or its headings, each perhaps behind its line number."""

_COUNTED = re.compile(r"[\d,]+ hunks?|\+[\d,]+ −[\d,]+")
"""How much of a diff a note leaves out."""


def _added_line(old: str, new: str) -> str:
    """Return a line that a smaller form adds to the original; notes in square brackets do not count.

    An outline is such a note if the original has every name in it. A line may lack its end, and what a note
    marks as omitted, but not its beginning: "delete it" is not what "never delete it" says. Excerpts keep the
    order of the original, so each line is looked for after the one before it first: that takes linear time,
    and no memory.
    """
    at = 0
    for line in new.split("\n"):
        if not line.strip():
            continue
        outline = _OUTLINE.fullmatch(line)
        if all(_named(outline["names"], old)) if outline else _NOTE.fullmatch(line):
            continue
        pieces = ELISION.split(line) if "[… " in line else [line]
        after = _line_start(pieces[0], old, at)
        for piece in pieces[1:]:
            if after < 0:
                break
            after = old.find(piece, after)
        if after >= 0:
            at = after
        elif _line_start(pieces[0], old) < 0 or not all(piece in old for piece in pieces[1:]):
            return line
    return ""


def _named(names: str, text: str) -> Iterator[bool]:
    """Yield whether each name of an outline is in a text."""
    return (
        _COUNTED.fullmatch(name) is not None or re.sub(r"^\d+ ", "", name) in text
        for name in names.split(", ")
    )


def _line_start(piece: str, text: str, start: int = 0) -> int:
    """Return where a line of a text begins with a piece, whatever its indentation; -1 if none does."""
    if not piece or (start == 0 and text.startswith(piece)):
        return start
    at = text.find(f"\n{piece}", max(0, start - 1))  # the common case
    if at >= 0:
        return at + 1
    found = re.compile(rf"^[^\S\n]*{re.escape(piece.strip())}", re.MULTILINE).search(text, start)
    return found.start() if found else -1


def _wire(case: VerificationContext) -> Iterator[Finding]:
    """Find what the provider would reject in the view after; what it rejected before is only a note."""
    wire = case.task.wire
    if wire is None:
        return
    broken = _broken([item.message for item in case.after], wire)
    known = _broken(list(case.before.values()), wire) if broken else {}
    for rule, text in broken.items():
        level = Level.NOTE if rule in known else Level.REFUSE
        why = "it rejects the view before as well" if rule in known else text
        yield Finding(_CHECK, level, "", f"{wire.title} would reject the view by rule {rule}", why)


def _broken(messages: Sequence[Message], wire: Wire) -> dict[str, str]:
    """Return the wire rules that messages break, without repairing anything, which would hide the cause."""
    body = convert(messages, wire, ConversionOptions(repair=False)).body
    report = check_body(wire.rules, body, scope=CheckScope.MESSAGES)
    refusing = (violation for violation in report.violations if violation.level is RuleLevel.REFUSE)
    return {violation.rule.id: str(violation) for violation in reversed(list(refusing))}
