"""Split text into words, and load the data tables: word lists, and the weights of the cues.

``tokens("Don't edit `a.py`, please")`` are the words "don't", "edit", one token for the code, and "please",
which opens a clause. ``words(section, key)`` is a word list of ``data/words.toml``; ``model()`` has the
weights by which ``find.py`` decides whether a sentence binds.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

from clew.message.text import lazy_pattern
from clew.rules.rule import Kind, Strength

CODE = "`"
QUOTE = '"'
PATH = "/"

# Alternatives are tried in order: the first that matches at a place wins. To the right, an example of each.
_TOKEN = lazy_pattern(
    r"""\s*(?:
      (?P<plain>[^\W_]+)(?=[\s,;!?)]|[.:](?:\s|\Z)|\Z)    # "push ", "now.": most words; the rest is slower
    | (?P<code>
        `[^`\n]*`                                         # `a.py`
      | (?<![\w-])--?[a-z][\w-]*                          # --force, -f
      | [^\W_]*_\w+                                       # user_id, _private
      | [^\W\d_][^\W_]*(?=\((?:\w{2,}[,.)]|\))))          # parse() and parse(text): the name
    | (?P<quote>
        "[^"\n]{1,300}" | “[^”\n]{0,300}” | «[^»\n]{0,300}» | 「[^」\n]{0,300}」      # "done"
      | (?<!\w)'[^'\n]{2,120}'(?!\w)                      # 'done', not the apostrophes of "it's Bob's"
      | (?<!\w)"[^"\n]*\Z)                                # a quotation that a sentence leaves open: "done
    | (?P<command>\A/[a-z][\w:-]*(?=\s))                 # /review at the start; it is no word
    | (?P<path>
        https?://\S+                                     # https://example.org/a
      | (?<!\w)(?:@|[A-Za-z]:)(?:\\[\w.@$~-]+){2,}        # C:\src\app
      | (?<![\w/])@?[\w.~*-]{0,200}+(?:/[\w.*@$-]+)+/?     # src/app.py, /etc/hosts, @scope/name, lib/*
      | (?<![\w/])[\w-]+/(?=[\s,.;:!?)]|\Z)               # legacy/
      | (?<![\w/.])(?=[\w-]++\.\w)[\w.-]{0,80}\w\.        # setup.py, app.test.ts: a file without a folder
        (?:py|[jt]sx?|jsonl?|toml|ya?ml|md|txt|html?|s?css|sql|sh|lock|env|csv)(?![\w/]|\.\w))
    | (?P<word>
        [^\W_]+-only\b                                   # read-only
      | (?i:don'ts)\b                                     # dos and don'ts
      | (?i:don|doesn|didn|isn|won|can)'t(?=[a-z])        # don'tpush: "don't"
      | [^\W_]+(?:'(?:t|s|re|d|ll|ve|m|T|S|RE|D|LL|VE|M)(?!\w))?)     # it's, DON'T; the parts of end-to-end
    | (?P<mark>
        [,;:()—–…!?.，、：；。！？（）]                       # a mark ends a clause
      | (?<=\s)-{1,2}(?=\s)                                 # a dash: "a - b"
    ))""",
    re.VERBOSE,
)
_REMEMBERED = 16
"""Cached texts: in a message of one sentence, sample and sentence are the same text."""
_BREAKS = frozenset(("mark", "command"))
_OPAQUE = {"code": CODE, "quote": QUOTE, "path": PATH}
_PLAIN = lazy_pattern(r"don'ts\b|don't(?=[a-z])|[^\W_]+(?:'(?:t|s|re|d|ll|ve|m)(?!\w))?")


class Token(NamedTuple):
    """A word in lower case with its position."""

    word: str
    start: int
    end: int
    opens: bool
    """It begins a clause: the first word of the sentence, or the first after a comma, dash or other break."""


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


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table by its name; loaded once."""
    return tomllib.loads(resources.files(__package__).joinpath(f"data/{name}.toml").read_text("utf-8"))


@cache
def words(section: str, key: str) -> frozenset[str]:
    """Return a set of words from ``words.toml``."""
    return frozenset(table("words")[section][key].split())


@dataclass(frozen=True, slots=True)
class Cue:
    """One row of the table."""

    weight: float
    meaning: str
    kind: Kind | None = None
    strength: Strength = Strength.MUST


@dataclass(frozen=True, slots=True)
class CueModel:
    """A linear model: the bias plus the weights of the cues that fire, each counted once."""

    bias: float
    threshold: float
    cues: dict[str, Cue]

    def score(self, fired: Iterable[str]) -> float:
        """Return the score of a sentence in which these cues fire."""
        return math.fsum([self.bias, *(self.cues[cue].weight for cue in set(fired))])  # order-independent

    def is_rule(self, fired: Iterable[str]) -> bool:
        """Return True if a sentence in which these cues fire binds."""
        return self.score(fired) > self.threshold


def confidence(score: float) -> float:
    """Return a score as a number between 0 and 1."""
    return 1 / (1 + math.exp(-score))


@cache
def model() -> CueModel:
    """Return the shipped model; loaded once."""
    rows = table("model")
    cues = {
        name: Cue(
            row["weight"],
            row["meaning"],
            Kind(row["kind"]) if "kind" in row else None,
            Strength(row.get("strength", Strength.MUST)),
        )
        for name, row in rows["cues"].items()
    }
    return CueModel(rows["bias"], rows["threshold"], cues)
