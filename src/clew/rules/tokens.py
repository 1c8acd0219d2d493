"""Split a sentence into words; quotes, code and paths are one opaque word each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

CODE = "`"
QUOTE = '"'
PATH = "/"

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<plain>[^\W_]+)(?=[\s,;!?)]|[.:](?:\s|\Z)|\Z)    # most words; the rest is rarer and dearer
    | (?P<code>`[^`\n]*` | (?<![\w-])--?[a-z][\w-]* | [^\W_]*_\w+ | [^\W\d_][^\W_]*(?=\((?:\w{2,}[,.)]|\))))
    | (?P<quote>"[^"\n]{1,300}" | “[^”\n]{0,300}” | «[^»\n]{0,300}» | 「[^」\n]{0,300}」
        | (?<!\w)'[^'\n]{2,120}'(?!\w) | (?<!\w)"[^"\n]*\Z)
    | (?P<command>\A/[a-z][\w:-]*(?=\s))
    | (?P<path>https?://\S+ | (?<!\w)(?:@|[A-Za-z]:)(?:\\[\w.@$~-]+){2,}
        | (?<![\w/])@?[\w.~*-]{0,200}+(?:/[\w.*@$-]+)+/? | (?<![\w/])[\w-]+/(?=[\s,.;:!?)]|\Z)
        | (?<![\w/.])(?=[\w-]++\.\w)[\w.-]{0,80}\w\.
          (?:py|[jt]sx?|jsonl?|toml|ya?ml|md|txt|html?|s?css|sql|sh|lock|env|csv)(?![\w/]|\.\w))
    | (?P<word>[^\W_]+-only\b | (?i:don'ts)\b | (?i:don|doesn|didn|isn|won|can)'t(?=[a-z])
        | [^\W_]+(?:'(?:t|s|re|d|ll|ve|m|T|S|RE|D|LL|VE|M)(?!\w))?)
    | (?P<mark>[,;:()—–…!?.，、：；。！？（）] | (?<=\s)-{1,2}(?=\s)))""",
    re.VERBOSE,
)
_REMEMBERED = 16
"""Cached texts: in a message of one sentence, sample and sentence are the same text."""
_BREAKS = frozenset(("mark", "command"))
_OPAQUE = {"code": CODE, "quote": QUOTE, "path": PATH}
_PLAIN = re.compile(r"don'ts\b|don't(?=[a-z])|[^\W_]+(?:'(?:t|s|re|d|ll|ve|m)(?!\w))?")


class Token(NamedTuple):
    """A word in lower case with its position; ``opens`` if it begins a clause."""

    word: str
    start: int
    end: int
    opens: bool


def tokens(text: str) -> list[Token]:
    """Return the words of a sentence, in order, without a leading slash command."""
    text = text.replace("’", "'")
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters grow in lower case; positions matter more than case
        lowered = text
    found: list[Token] = []
    opens = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in _BREAKS:
            opens = True
            continue
        start, end = match.span(kind)
        found.append(Token(_OPAQUE.get(kind) or lowered[start:end], start, end, opens))
        opens = False
    return found


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, fast: quotes and code are not recognised."""
    return _PLAIN.findall(text.lower().replace("’", "'"))


@lru_cache(maxsize=_REMEMBERED)
def words_again(text: str) -> tuple[str, ...]:
    """Return the plain words of a text, cached because they are often needed twice."""
    return tuple(plain_words(text))
