"""What a view is made of: messages as they were, words of user and agent, tool lines, bare or made-up values.

Each line that a policy wrote is looked for in the session: ``- User: never push to main`` is found in a
message of the user, so its tokens count as ``user_words``. A value that is nowhere in the session is
``unsupported``: the policy made it up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from clew.message import Item, Origin, Part, Text, Thinking, ToolCall, ToolResult
from clew_evals.layout import bare
from clew_evals.passages import PassageSpeaker, Readable, speaker, text_of, view_text
from clew_evals.sessions import COUNTER, Cut
from clew_evals.words import keys_in, plain_words, spot

KINDS = ("verbatim", "user_words", "agent_prose", "tool_lines", "bare_values")
SHORTEST = 12
"""Characters of the shortest piece that is looked for in the session."""
PREFIX = 48
"""Characters of a longer piece that are looked for: its end may have been cut off."""
VALUES_SHARE = 0.6
"""If exact values make up this share of a line's characters, it is a list of values…"""
FEW_PLAIN_WORDS = 2
"""…unless it has more plain words than these."""
_OF_SPEAKER = {
    PassageSpeaker.USER: "user_words",
    PassageSpeaker.AGENT: "agent_prose",
    PassageSpeaker.TOOL: "tool_lines",
}
_CUT = re.compile(r" ?(?:…|\.\.\.|\[[^\]\n]{3,80}\]| → | -> | — |: |\"|`)\s?")
"""Marks at which a line is divided: of shortening, of quoting, of a label."""
_ALSO = "also: "
"""How clew begins a line that lists values."""
_WHO = re.compile(r"(?P<user_words>user|human|asked)\b|(?P<agent_prose>agent|assistant|reported)\b", re.I)
"""Whose words a line says that it is, if they are found nowhere."""


def composition(cut: Cut, view: Sequence[Item]) -> dict[str, float | None]:
    """Return the share of a view's tokens of each kind; headings and the like are of none."""
    if not view:
        return dict.fromkeys(KINDS)
    tokens: Counter[str] = Counter()
    known = _known_parts(cut.items)
    for item in view:
        for part in item.message.parts:
            if _key(part) in known:
                tokens["verbatim"] += COUNTER.count_part(part)
            elif item.message.origin is Origin.SUMMARY and isinstance(part, Text):
                tokens.update(_of_lines(cut.readable, part.text))
            else:
                tokens[_of_part(item, part)] += COUNTER.count_part(part)
    total = max(1, tokens.total())
    return {kind: tokens[kind] / total for kind in KINDS}


_last: list[tuple[tuple[Item, ...], frozenset[tuple[type, str]]]] = []


def _known_parts(items: tuple[Item, ...]) -> frozenset[tuple[type, str]]:
    """Return the parts of a history; the last one's are remembered, as every policy asks for the same."""
    if not _last or _last[0][0] is not items:
        _last[:] = [(items, frozenset(_key(part) for item in items for part in item.message.parts))]
    return _last[0][1]


def _key(part: Part) -> tuple[type, str]:
    return type(part), part.input_text if isinstance(part, ToolCall) else text_of(part)


def _of_part(item: Item, part: Part) -> str:
    if isinstance(part, ToolCall | ToolResult):
        return "tool_lines"
    if isinstance(part, Thinking):
        return "agent_prose"
    return _OF_SPEAKER.get(speaker(item.message, part), "other")


def _of_lines(source: Readable, text: str) -> Counter[str]:
    tokens: Counter[str] = Counter()
    for line in text.split("\n"):
        tokens[kind_of_line(source, line)] += COUNTER.count_text(line)
    return tokens


def kind_of_line(source: Readable, line: str) -> str:
    """Return what one line of a written text is: a list of values, or whose words it holds."""
    text = bare(line)
    if is_bare_values(text):
        return "bare_values"
    for piece in _pieces(text):
        place = source.text.find(piece[:PREFIX])
        if place >= 0:
            return _kind_at(source, place)
    who = _WHO.match(text)
    return who.lastgroup or "other" if who else "other"


def _kind_at(source: Readable, place: int) -> str:
    passage = source.at(place)
    if isinstance(passage.part, ToolCall):
        return "tool_lines"
    return _OF_SPEAKER.get(passage.speaker, "other")


def _pieces(text: str) -> list[str]:
    """Return the line, then its pieces between marks of shortening and quoting, the longest first."""
    pieces = sorted((piece.strip() for piece in _CUT.split(text)), key=len, reverse=True)
    return [item for item in (text.strip(), *pieces[:3]) if len(item) >= SHORTEST]


def is_bare_values(text: str) -> bool:
    """Whether a line lists exact values and says nothing of them."""
    if text.startswith(_ALSO):
        return True
    values = spot(text)
    if len(values) < 2 or len(plain_words(text)) > FEW_PLAIN_WORDS:
        return False
    characters = sum(not character.isspace() for character in text)
    return sum(value.end - value.start for value in values) >= VALUES_SHARE * characters


def unsupported(cut: Cut, view: Sequence[Item]) -> float | None:
    """Return the share of values in what was written that the session never held; None without any."""
    source = cut.readable.text
    written = [text for item in view if (text := view_text([item])) not in source]
    names = keys_in("\n".join(written))
    if not names:
        return None
    strange = names - _known(source)
    system = view_text(cut.system)
    return sum(key not in source and key not in system for key in strange) / len(names)


@lru_cache(maxsize=4)
def _known(source: str) -> set[str]:
    """Return the values of a session: worked out once for all policies."""
    return keys_in(source)
