"""What system and developer messages behind the prompt of a list say: a digest quotes it if they leave.

``later_instructions`` returns the latest text of each, as quotes with their places. Lines that the prompt or
a later such message has are said there; of a prompt sent again with one line changed, that line is left::

    Claim("", ClaimKind.INSTRUCTION, "Pay no fine.", (Cite("m14", 0, 0, 12),), Trust.SYSTEM, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind
from clew.message import Cite, Item, Message, Origin, Role, Text, fixed_prefix

INSTRUCTING = (Role.SYSTEM, Role.DEVELOPER)
SAME_LINES, SAME_SHARE = 5, 0.6
"""A text with at least so many lines, of which a later one has this share, is an earlier version of it. Of
short notes one line often repeats ("Approved command prefix saved:") and the other says what is new."""


class _Line(NamedTuple):
    start: int
    end: int
    words: str
    """Without spaces around it; empty if it has no letter or digit."""


def later_instructions(
    view: Sequence[Item],
    find: Callable[[str], Message | None],
    earlier: Iterable[Claim] = (),
    said: Sequence[str] = (),
) -> tuple[Claim, ...]:
    """Return what instructs behind the prompt, oldest first, also what the claims of an earlier digest quote.

    ``find`` returns originals; what ``said`` quotes, such as rules, is not repeated.
    """
    prompt = fixed_prefix(view)
    texts = (part.text for item in view[:prompt] for part in item.message.parts if isinstance(part, Text))
    seen = {line.words for text in texts for line in _lines(text)} | {text.strip() for text in said}
    later: set[str] = set()
    quoted: list[list[Claim]] = []
    for source in reversed([*_quoted_before(earlier, find), *_instructing(view[prompt:], find)]):
        new, known = _new_in(source, seen, later)
        quoted.append(new)
        seen |= known
        later |= known
    return tuple(claim for claims in reversed(quoted) for claim in claims)


def _quoted_before(earlier: Iterable[Claim], find: Callable[[str], Message | None]) -> Iterator[Item | Claim]:
    """Yield the messages that an earlier digest quotes, or its quotes if they cannot be looked up."""
    names: set[str] = set()
    for claim in earlier:
        if claim.kind is ClaimKind.INSTRUCTION and claim.sources:
            name = claim.sources[0].message
            message = find(name)
            if message is None or message.role not in INSTRUCTING:
                yield claim
            elif name not in names:
                names.add(name)
                yield Item(name, message)


def _instructing(view: Sequence[Item], find: Callable[[str], Message | None]) -> Iterator[Item]:
    for item in view:
        if item.message.role in INSTRUCTING and item.message.origin is not Origin.SUMMARY:
            yield Item(item.id, find(item.id) or item.message)


def _new_in(source: Item | Claim, seen: set[str], later: set[str]) -> tuple[list[Claim], set[str]]:
    """Return the quotes of what is new in a message or earlier quote, and all of its lines."""
    if isinstance(source, Claim):
        lines = list(_lines(source.text))
        is_new = any(line.words not in seen for line in lines if line.words)
        return [source] if is_new else [], {line.words for line in lines}
    known: set[str] = set()
    claims: list[Claim] = []
    for number, part in enumerate(source.message.parts):
        if not isinstance(part, Text):
            continue
        lines = list(_lines(part.text))
        known.update(line.words for line in lines)
        if _is_earlier_version(lines, later):
            continue
        for start, end in _runs(lines, seen):
            cite = Cite(source.id, number, start, end)
            text = part.text[start:end]
            claims.append(Claim("", ClaimKind.INSTRUCTION, text, (cite,), part.trust, verbatim=True))
    return claims, known


def _is_earlier_version(lines: Sequence[_Line], later: set[str]) -> bool:
    told = [line.words for line in lines if line.words]
    return len(told) >= SAME_LINES and sum(words in later for words in told) >= SAME_SHARE * len(told)


def _runs(lines: Sequence[_Line], seen: set[str]) -> Iterator[tuple[int, int]]:
    """Yield where neighbouring lines that are new begin and end; empty lines between them do not count."""
    run: list[_Line] = []
    for line in lines:
        if line.words and line.words not in seen:
            run.append(line)
        elif line.words and run:
            yield run[0].start, run[-1].end
            run = []
    if run:
        yield run[0].start, run[-1].end


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        stripped = line.strip()
        lead = len(line) - len(line.lstrip())
        words = stripped if any(map(str.isalnum, stripped)) else ""
        yield _Line(start + lead, start + lead + len(stripped), words)
        start += len(line) + 1


def whole_lines(claim: Claim, characters: int) -> Claim | None:
    """Return as many lines of a quote as fit, from its beginning; None if not even the first does."""
    if len(claim.text) <= characters:
        return claim
    end = claim.text.rfind("\n", 0, characters + 1)
    text = claim.text[: max(end, 0)].rstrip()
    if not text:
        return None
    cite = claim.sources[0]
    end_of_quote = None if cite.end is None else cite.start + len(text)
    return claim._replace(text=text, sources=(cite._replace(end=end_of_quote),))
