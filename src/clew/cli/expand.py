"""``clew expand``: print the source messages of a reference, with the quoted words marked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.inputs import Input
from clew.cli.run_compaction import read_list
from clew.cli.show import SIGNS, part_words, speaker
from clew.cli.stored import Log, history, open_log_or_input
from clew.cli.terminal import Terminal, print_wrapped
from clew.cli.text import count, one_line, printable
from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.codec import claim_to_json
from clew.compaction.plan.digest import spans
from clew.errors import NotFound
from clew.log import TOOL_COMPACTION
from clew.message import Cite, Item, JsonObject, Part, Text, Thinking, ToolResult, Trust, words
from clew.message.codec import message_to_plain_json
from clew.session import CompactResult, Expansion, Quote
from clew.session.provenance import how_ended
from clew.transcripts import Transcript

AROUND_LINES = 2
FIRST_LINES = 12
AROUND_CHARACTERS = 160
MARK = "▌"
"""Starts every line with highlighted words, so that colour is not the only sign."""
ADVICE = (
    "use m12 for a message, c1 for a summary of its tool, p2 for a rule; "
    "for digests, `clew import` the file, then `clew compact` it"
)
_BESIDE = {
    "digest": " · from {ids}",
    "claim": " · from {ids}",
    "compaction": " · no digest; it changed {ids}",
}
CLAIM_CHARACTERS = 160
"""Characters of a line in the list of a digest's lines; asked for alone, it is printed whole."""
EARLIER = "the list was compacted before: look in the original file"


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A reference, resolved."""

    expansion: Expansion
    items: tuple[Item, ...]
    """The source messages, and their neighbours if asked for."""
    claims: tuple[Claim, ...] = ()
    """The lines of a digest, or the one that was asked for."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Resolve the reference and print it."""
    with open_log_or_input(args) as where:
        if isinstance(where, Input):
            session = where.single_session(term)
            result = _in_list(session, args.ref, args.around)
        else:
            result = _in_log(where, args.ref, args.around)
    if args.json:
        term.write_json(_to_json(result))
        return 0
    with term.paged(not args.no_pager) as console:
        for line in _page(result, args.full):
            print_wrapped(console, line)
    return 0


# Resolving -------------------------------------------------------------------------------------------


def _in_log(log: Log, ref: str, around: int) -> ResolvedReference:
    for stored in log.store.read(log.ctx, kinds=[TOOL_COMPACTION.name]):
        if stored.event.body.get("name") == ref:  # the summary of an imported session's tool
            summary = tuple(Item(ref, message) for message in TOOL_COMPACTION.messages(stored.event.body))
            return ResolvedReference(Expansion(ref, "message", "", (ref,)), summary)
    with log.open() as session:
        expansion = session.expand(ref)
        items = tuple(session.originals(_with_neighbours(expansion.ids, around)))
    digest_id = ref.partition(".")[0]
    digests = [compaction.compaction.digest for compaction in history(log) if compaction.name == digest_id]
    return ResolvedReference(expansion, items, _claims(digests[0] if digests else None, ref))


def _in_list(session: Transcript, ref: str, around: int) -> ResolvedReference:
    result = read_list(session, current=bool(session.boundaries))
    expansion = _expansion(result, ref)
    # As they were written: the tool may have hidden the output of a message that its model sees.
    written = {f"m{number}": message for number, message in enumerate(session.full(), start=1)}
    known = result.originals if result.digest else {**result.originals, **written}
    ids = _with_neighbours(expansion.ids, around)
    items = tuple(Item(name, known[name]) for name in ids if name in known)
    return ResolvedReference(expansion, items, _claims(result.digest, ref))


def _expansion(result: CompactResult, ref: str) -> Expansion:
    """Resolve a reference in a plain list, which no longer holds the messages that a digest replaced."""
    if ref in result.ledger.pins.held:
        pin = result.ledger.pins.get(ref)
        rule = _expansion_of(result, ref, "rule", pin.quote, (pin.source,) if pin.source else ())
        return replace(rule, ended=how_ended(pin))
    digest = result.digest
    if digest and ref == digest.id:
        return Expansion(ref, "digest", "", digest.covers)
    for claim in _claims(digest, ref):
        return _expansion_of(result, ref, "claim", claim.text, claim.sources)
    if ref not in result.originals:
        earlier = digest is not None and ref in digest.covers
        raise NotFound(f"there is no {ref!r} in this list", EARLIER if earlier else ADVICE)
    return Expansion(ref, "message", "", (ref,))


def _expansion_of(result: CompactResult, ref: str, what: str, text: str, cites: Sequence[Cite]) -> Expansion:
    quotes = tuple(
        Quote(cite, cite.quote(result.originals[cite.message]))
        for cite in cites
        if cite.message in result.originals
    )
    return Expansion(ref, what, text, tuple(dict.fromkeys(cite.message for cite in cites)), quotes)


def _claims(digest: Digest | None, ref: str) -> tuple[Claim, ...]:
    claims = digest.claims if digest else ()
    return tuple(claim for claim in claims if ref in (claim.id, digest and digest.id))


def _with_neighbours(ids: Sequence[str], around: int) -> list[str]:
    """Return the ids and those of the messages next to them, in the order of the session."""
    numbers = {int(name[1:]) for name in ids if name[0] == "m" and name[1:].isdecimal()}
    near = {number + step for number in numbers for step in range(-around, around + 1)}
    return [f"m{number}" for number in sorted(near) if number > 0] if numbers and around > 0 else list(ids)


# Output for people -----------------------------------------------------------------------------------


def _page(result: ResolvedReference, full: bool) -> Iterator[Styled]:
    what = result.expansion
    source = _BESIDE.get(what.what, "").format(ids=printable(spans(what.ids)))
    yield Styled.assemble((f"{printable(what.ref)} · {what.what}", "bold"), source)
    for claim in result.claims:
        yield _claim_line(claim, whole=full or what.what == "claim")
    if what.what == "rule":
        yield Styled(f'  "{printable(what.text)}"')
    if what.ended:
        yield Styled(f"  no longer in force: {printable(what.ended)}", style="yellow")
    if what.what == "compaction":
        yield from (Styled(f"  {printable(line)}") for line in what.text.splitlines())
    tools: dict[str, str] = {}
    for item in result.items:
        yield Styled("")
        yield from _message(item, result, tools, full)
    missing = len(what.ids) - sum(item.id in what.ids for item in result.items)
    if missing:
        yield Styled(f"{count(missing, 'message')} not in this file: {EARLIER}", style="yellow")


def _claim_line(claim: Claim, *, whole: bool) -> Styled:
    sign = "~" if claim.trust <= Trust.SEMI_TRUSTED else "-"
    turns = printable(",".join(dict.fromkeys(cite.message for cite in claim.sources)))
    text = printable(claim.text).replace("\n", "\n    ") if whole else one_line(claim.text, CLAIM_CHARACTERS)
    name = f"  {printable(claim.id):<7} {claim.kind.value:<9}"
    return Styled.assemble((name, "dim"), f"{sign} {text}", (f" [{turns}]", "dim"))


def _message(item: Item, result: ResolvedReference, tools: dict[str, str], full: bool) -> Iterator[Styled]:
    who = speaker(item.message)
    sign, style = SIGNS[who]
    beside = "" if item.id in result.expansion.ids else " · neighbour"
    yield Styled.assemble((f"{printable(item.id):<6}", "bold"), (f"{sign} {who}", style), (beside, "dim"))
    tools.update((call.call_id, call.name) for call in item.message.calls)
    for number, part in enumerate(item.message.parts):
        marks = [
            TextSpan(quote.cite.start, quote.cite.start + len(quote.words))
            for quote in result.expansion.quotes
            if (quote.cite.message, quote.cite.part) == (item.id, number)
        ]
        yield from _part(part, marks, tools, full)


def _part(part: Part, marks: Sequence[TextSpan], tools: dict[str, str], full: bool) -> Iterator[Styled]:
    text, style = part_words(part, tools)
    if isinstance(part, Text | Thinking):
        yield from marked_lines(part.text or text, marks, style, full=full)
        return
    yield Styled(f"  {printable(text)}", style=style)
    if isinstance(part, ToolResult) or marks:
        yield from marked_lines(words(part), marks, full=full)


# Text with quoted words marked ------------------------------------------------------------------------


class TextSpan(NamedTuple):
    """A range of characters."""

    start: int
    end: int


def marked_lines(
    text: str, marks: Sequence[TextSpan], style: str = "", *, full: bool = False
) -> Iterator[Styled]:
    """Yield the lines of a text with spans highlighted; without ``full``, only those near a span."""
    lines = list(_lines(text))
    shown = range(len(lines)) if full else _lines_to_print(lines, marks)
    last = -1
    for number in shown:
        if number > last + 1:
            yield _fold(number - last - 1)
        yield _line(text, lines[number], marks, style, full)
        last = number
    if last + 1 < len(lines):
        yield _fold(len(lines) - last - 1)


def _lines(text: str) -> Iterator[TextSpan]:
    start = 0
    for line in text.split("\n"):
        yield TextSpan(start, start + len(line.removesuffix("\r")))
        start += len(line) + 1


def _lines_to_print(lines: Sequence[TextSpan], marks: Sequence[TextSpan]) -> Sequence[int]:
    """Return the lines around the spans; the first lines if there are no spans or all is marked."""
    touched = [number for number, line in enumerate(lines) if any(_marks_in_line(line, marks))]
    if not touched or len(touched) == len(lines):
        return range(min(FIRST_LINES, len(lines)))
    near = {n for number in touched for n in range(number - AROUND_LINES, number + AROUND_LINES + 1)}
    return sorted(n for n in near if 0 <= n < len(lines))


def _marks_in_line(line: TextSpan, marks: Iterable[TextSpan]) -> Iterator[TextSpan]:
    """Yield the parts of the spans inside a line."""
    for mark in marks:
        if mark.start <= line.end and mark.end > line.start:
            yield TextSpan(max(mark.start, line.start), min(mark.end, line.end))


def _line(text: str, line: TextSpan, marks: Sequence[TextSpan], style: str, full: bool) -> Styled:
    inside = sorted(_marks_in_line(line, marks))
    whole = inside == [line]
    span = line if full else _visible_part(line, inside)
    row = Styled.assemble((MARK if inside else " ", "bold yellow"), " ")
    row.append("…" if span.start > line.start else "", style="dim")
    at = span.start
    for mark in inside:
        start, end = max(mark.start, at), min(mark.end, span.end)
        row.append(_words(text, at, start), style=style)
        row.append(_words(text, start, end), style="bold" if whole else "bold reverse")
        at = max(at, end)
    row.append(_words(text, at, span.end), style=style)
    return row.append(f"… {line.end - line.start:,} characters" if span.end < line.end else "", style="dim")


def _visible_part(line: TextSpan, inside: Sequence[TextSpan]) -> TextSpan:
    """Return the part of a long line to print, from shortly before its first span."""
    start = max(line.start, (inside[0].start if inside else line.start) - AROUND_CHARACTERS)
    return TextSpan(start, min(line.end, start + 4 * AROUND_CHARACTERS))


def _words(text: str, start: int, end: int) -> str:
    return printable(text[start:end].expandtabs(4)).replace("\n", " ")


def _fold(lines: int) -> Styled:
    return Styled(f"  … {lines:,} more lines (--full shows them)", style="dim")


# Output for programs ---------------------------------------------------------------------------------


def _to_json(result: ResolvedReference) -> JsonObject:
    what = result.expansion
    return {
        "ref": what.ref,
        "what": what.what,
        "text": what.text,
        "ended": what.ended,
        "ids": list(what.ids),
        "quotes": [{**quote.cite._asdict(), "words": quote.words} for quote in what.quotes],
        "claims": [claim_to_json(claim) for claim in result.claims],
        "messages": [{"id": item.id, **message_to_plain_json(item.message)} for item in result.items],
    }
