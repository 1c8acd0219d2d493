"""What is a quote of what: white space, typographic signs and case aside, and with omissions marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

_SIGNS = {'"': "“”„«»", "'": "‘’‚", "-": "‑–—", " ": "\u00a0\u202f"}
_LINES = re.compile(r"^[ \t]*\[… [\d,]+ lines?\][ \t]*$", re.MULTILINE)
_CHARACTERS = re.compile(r"\[… [\d,]+ characters?\]")
ELISION = re.compile(r"\s*\[… [\d,]+ (?:lines?|characters?)\]\s*")
"""How an excerpt says what it leaves out."""
LONG = 120
"""Characters from which a quote brings its context along: it need not begin and end where sentences do."""
_LONGEST_EXCERPT = 20_000
_TELLING = 100
"""Characters that must stand on each side of what is left out of one line."""


class Wording:
    """A text in the forms that it is looked through in, each worked out once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def straight(self) -> str:
        """The text with plain quotation marks, dashes and spaces; as long as it was."""
        return _straight(self.text)

    @cached_property
    def plain(self) -> str:
        """The words and their order alone."""
        return plain(self.text)


def plain(text: str) -> str:
    """Return a text in which only words and their order count."""
    return " ".join(_straight(text).casefold().split())


def _straight(text: str) -> str:
    if not text.isascii():
        for straight, signs in _SIGNS.items():
            for sign in signs:
                text = text.replace(sign, straight)
    return text


def stands_in(words: str, text: str) -> bool:
    """Tell whether words stand in a text and are no piece of longer ones (``3 failed`` in ``13 failed``)."""
    return bool(words) and next(_places(words, text), None) is not None


def _places(words: str, text: str) -> Iterator[int]:
    at = text.find(words)
    while at >= 0:
        if not (_glued(text, at) or _glued(text, at + len(words))):
            yield at
        at = text.find(words, at + 1)


def _glued(text: str, at: int) -> bool:
    """Tell whether the characters on both sides of a place belong to one word."""
    return 0 < at < len(text) and _is_wordly(text[at - 1]) and _is_wordly(text[at])


def _is_wordly(sign: str) -> bool:
    # Scripts without spaces have no words to be a piece of.
    return (sign.isalnum() or sign == "_") and not is_unspaced(sign)


def is_unspaced(sign: str) -> bool:
    """Tell whether a sign belongs to a script that puts no spaces between words."""
    return "\u0e00" <= sign <= "\u0e7f" or "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff"


def is_elided(quote: str) -> bool:
    """Tell whether a text is an excerpt that says what it leaves out."""
    return "[… " in quote and ELISION.search(quote) is not None


def is_quote(quote: str, source: Wording) -> bool:
    """Tell whether a text is a quote of a source: words that stand in it, or an excerpt of it."""
    if is_elided(quote):
        return _is_excerpt(quote, source.text)
    if quote == source.text:
        return not quote.isspace() and bool(quote)
    return stands_in(quote.strip(), source.text) or stands_in(plain(quote), source.plain)


def _is_excerpt(quote: str, source: str) -> bool:
    """Tell whether a text is runs of whole lines of a source, in their order and with the gaps marked.

    Scraps will not do: out of those, somebody's words can be put together to say anything.
    """
    if len(quote) > _LONGEST_EXCERPT:
        return False
    lines = [line for line in map(plain, source.split("\n")) if line]
    start = 0
    for run in _LINES.split(quote):
        shown = [_finder(line) for line in run.split("\n") if line.strip()]
        starts = range(start, len(lines) - len(shown) + 1)
        at = next((i for i in starts if all(is_it(lines[i + k]) for k, is_it in enumerate(shown))), None)
        if at is None:
            return False
        start = at + len(shown)
    return True


def _finder(line: str) -> Callable[[str], bool]:
    """Return what tells the line of a source that a line of an excerpt shows."""
    cut = _CHARACTERS.search(line)
    if cut is None:
        return plain(line).__eq__
    begin, end = line[: cut.start()], line[cut.end() :]
    if min(len(begin), len(end)) < _TELLING:
        return lambda _: False
    begin, end = plain(begin), plain(end)
    return lambda whole: whole.startswith(begin) and whole.endswith(end)


# Out of its sentence ---------------------------------------------------------------------------------

_BEFORE = re.compile(
    r"""(?:
      (?:\A|\n)[ \t>*+•#-]*(?:\d{1,2}[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?["'*_`(]*    # a line begins
    | [.!?…]["')\]*_`]*\s+["'*_`(]*                                              # a sentence ended
    | [。！？]\s*
    )\Z""",
    re.VERBOSE,
)
_AFTER = re.compile(r"""[ \t]*["')\]*_`,;]*(?:[.!?…。！？]|[ \t]*(?:\n|\Z))""")
_ENDED = (".", "!", "?", "…", "。", "！", "？")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,2}[.)])\s|\s*$")
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|avoid|without|refrain|forbidden|prohibited|off[- ]limits|stop|except)\b"
    r"|n['’]t\b"
    r"|\b(?:nicht|nie|niemals|kein\w*|ne|pas|jamais|sans|nunca|jamás|sin|não|mai|senza|non|niet|nooit|geen|bez)\b"
    r"|\b(?:не|никогда|нельзя|без)\b|[不别勿禁没]|ない|しない|禁止|금지|마세요|않",
    re.IGNORECASE,
)
_LOOKED_BACK = 2_000
_NEAR = 200


def is_cut_out(quote: str, source: Wording) -> bool:
    """Tell whether a short quote was cut out of its sentence, or out of a list of what is not to be done.

    ``delete legacy/`` is a quote of ``never delete legacy/``, and says the opposite.
    """
    quote = quote.strip()
    if quote == source.text:
        return False
    if is_elided(quote):
        return False  # whole lines, and what is missing is marked
    if len(quote) >= LONG:
        return _follows_negation(quote, [source])
    return not any(_stands_alone(source.text, start, end) for start, end in _spans(quote, source))


def is_reversed(quote: str, sources: Iterable[Wording]) -> bool:
    """Tell whether a short quote leaves out a negation that stands before it in its line and sentence."""
    return len(quote.strip()) < LONG and _follows_negation(quote.strip(), sources)


def _follows_negation(quote: str, sources: Iterable[Wording]) -> bool:
    begun = [_begun(source.text, start) for source in sources for start, _ in _spans(quote, source)]
    return bool(begun) and all(map(_NEGATION.search, begun))


def _begun(source: str, at: int) -> str:
    """Return how the sentence around a place begins, as far as it stands in the same line."""
    line = source[max(source.rfind("\n", 0, at) + 1, at - _LOOKED_BACK) : at]
    return re.split(r"[.!?…:;]\s|[。！？：；]", line)[-1]


def _spans(quote: str, source: Wording) -> Iterator[tuple[int, int]]:
    """Yield where words stand in a source, exactly or spaced and spelt a little differently."""
    exact = False
    for at in _places(quote, source.text):
        exact = True
        yield at, at + len(quote)
    if not exact:
        words = r"\s+".join(map(re.escape, _straight(quote).split()))
        yield from (match.span() for match in re.finditer(words, source.straight, re.IGNORECASE))


def _stands_alone(source: str, start: int, end: int) -> bool:
    if not _BEFORE.search(source[max(0, start - _NEAR) : start]):
        return False
    if not (source[start:end].rstrip("\"')]*_`").endswith(_ENDED) or _AFTER.match(source, end)):
        return False
    return not _NEGATION.search(_lead_in(source, start))


def _lead_in(source: str, start: int) -> str:
    """Return the line that leads in the list which stands here: ``Never do any of this:``."""
    earlier = source[max(0, start - _LOOKED_BACK) : start].split("\n")[:-1]
    for line in reversed(earlier):
        if not _ITEM.match(line):
            return line if line.rstrip(" \t*_").endswith((":", "：")) else ""
    return ""
