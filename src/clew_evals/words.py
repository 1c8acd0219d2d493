"""Exact values and words of a text, and whether a sentence is still in one (``Survival``).

In ``set MAX_RETRIES in src/shop/cart.py to 4500`` the values are ``MAX_RETRIES`` (env), ``src/shop/cart.py``
(path) and ``4500`` (number); the only plain word is ``set``: ``in`` and ``to`` are too short. A value is
looked for by its *key*: of a path its last two components (``shop/cart.py``), so that it is found whichever
folder it is written from.

Nothing here is shared with the ledger on purpose: what is measured must not choose what it is measured by.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

# Exact values ---------------------------------------------------------------------------------------------


class SpottedValue(NamedTuple):
    """A value and its place in a text."""

    kind: str
    value: str
    start: int
    end: int


KINDS = (
    "url", "uuid", "path", "file", "hash", "version", "issue", "env", "identifier", "code", "number",
)  # fmt: skip

_CHUNK = re.compile(
    r"https?://[^\s\"'<>()\[\]{}`,\\]+"
    r"|\$?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)"
    r"|[\w$#~./@+:%-]{2,}"
)
_ENDINGS = (
    "go|py|ts|tsx|js|jsx|mjs|json|jsonl|md|mdx|yml|yaml|toml|rs|php|sh|sql|css|scss|html|htm|txt|lock|mod|sum|cfg|ini|"
    "proto|java|kt|rb|c|cc|h|hh|cpp|hpp|cs|vue|svelte|tf|env|csv|xml|log|ps1|psm1|lua|nu|omp"
)
_VALUE = re.compile(
    rf"""
    (?P<url>https?://\S+)
  | \b(?P<uuid>[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})\b
  | (?<![\w/.@-])(?P<path>(?:~|\.\.?)?/?(?:[\w.@+-]+/)+[\w.@+-]*\w)
  | (?<![\w/.-])(?P<file>\w[\w.-]*\.(?:{_ENDINGS}))\b(?![\w/])
  | (?<![\w-])(?P<hash>(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,40}})(?![\w-])
  | (?<![\w.])(?P<version>v?\d+\.\d+\.\d+(?:[-+][\w.]+)?)(?![\w.])
  | (?<![\w&])(?P<issue>\#\d{{1,6}})\b
  | (?<![\w$])(?P<env>[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b
  | (?<![\w.])(?P<identifier>
        [a-z_]*[a-z0-9]+(?:_[a-z0-9]+)+
      | [a-z]+[0-9]*(?:[A-Z][a-z0-9]+)+
      | (?:[A-Z][a-z0-9]+){{2,}})\b
  | \b(?P<code>[A-Z]{{1,5}}[-_]?\d{{3,6}}|E[A-Z]{{4,}}|[A-Z0-9]{{6}})\b
  | (?<![\w.,:/-])(?P<number>
        \$?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\w)
      | \d{{4,}}(?:\.\d+)?(?![\w.])
      | \d+\.\d{{1,4}}%?(?![\w.]))
    """,
    re.VERBOSE,
)
_ROUND = re.compile(r"(?:19|20)\d\d|\d+0000?")
"""Years and round numbers, which many texts hold by chance."""
_PLAIN_SLASHES = re.compile(r"[^.\d_@-]*")
_MOST_REMEMBERED = 400_000
"""Chunks of which the values are kept in memory: each distinct chunk of a text is judged once."""
_ARGUMENT_NAMES = re.compile(
    "file_path|output_mode|head_limit|files_with_matches|run_in_background|subagent_type|replace_all|exec_command|"
    "yield_time_ms|max_output_tokens|write_stdin|apply_patch|update_plan|old_string|new_string"
)
"""Names of tools' arguments: a model writes them because its tools have them, not because it remembers."""


def spot(text: str) -> list[SpottedValue]:
    """Return the values of a text, in order; none overlaps another."""
    result = []
    for chunk in _CHUNK.finditer(text):
        for kind, value, start, end in _CHUNKS[chunk[0]]:
            result.append(SpottedValue(kind, value, chunk.start() + start, chunk.start() + end))
    return result


def keys_in(text: str) -> set[str]:
    """Return the keys of all values of a text."""
    chunks = set(_CHUNK.findall(text))
    return {key_of(spotted.kind, spotted.value) for chunk in chunks for spotted in _CHUNKS[chunk]}


class _Chunks(dict[str, tuple[SpottedValue, ...]]):
    """The values of every chunk that was asked for, with their places in it."""

    def __missing__(self, chunk: str) -> tuple[SpottedValue, ...]:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        is_word = chunk.isalpha() and (chunk.islower() or chunk[1:].islower())
        result = self[chunk] = () if is_word else tuple(_values(chunk))
        return result


_CHUNKS = _Chunks()


def _values(chunk: str) -> Iterator[SpottedValue]:
    for match in _VALUE.finditer(chunk):
        kind = match.lastgroup or ""
        value = match[kind].rstrip(".,;:")
        if _is_value(kind, value):
            start = match.start(kind)
            yield SpottedValue(kind, value, start, start + len(value))


def _is_value(kind: str, value: str) -> bool:
    """Whether it is a value, not a word or a number that only looks like one."""
    if len(value) < 4 and kind != "issue":
        return False
    match kind:
        case "number":
            return not _ROUND.fullmatch(value)
        case "code":
            return not (value.isdigit() or value.isalpha())
        case "path":
            return _is_path(value)
        case "identifier":
            return len(value) >= 7 and not _ARGUMENT_NAMES.fullmatch(value)
        case _:
            return True


def _is_path(value: str) -> bool:
    if len(value) < 6 or not any(map(str.isalpha, value)):
        return False
    if ".." in value and value[0] not in "./":
        return False
    # "read/write", "saved/loaded": words that a slash joins.
    return value[0] in "/~." or value.count("/") >= 3 or not _PLAIN_SLASHES.fullmatch(value)


def key_of(kind: str, value: str) -> str:
    """Return what must be found again: of a path its last two components, else the value itself."""
    if kind == "path":
        names = [name for name in value.split("/") if name not in ("", ".", "..", "~")]
        return "/".join(names[-2:]) if len(names) >= 2 else value
    return value.rstrip("/") if kind == "url" else value


def places(text: str, kind: str, key: str, start: int = 0) -> Iterator[int]:
    """Yield the places of a key in a text as a whole value, not as a piece of a longer one."""
    at = text.find(key, start)
    while at >= 0:
        before = text[at - 1] if at else " "
        after = text[at + len(key) : at + len(key) + 1] or " "
        if _stands_alone(kind, before, after):
            yield at
        at = text.find(key, at + 1)


def first_place(text: str, kind: str, key: str) -> int:
    """Return the first place of a key; -1 if there is none."""
    return next(places(text, kind, key), -1)


def _stands_alone(kind: str, before: str, after: str) -> bool:
    if kind == "number":
        return not (before.isdigit() or before in ".,") and not after.isdigit()
    if kind in ("path", "url"):
        return not (before.isalnum() or before in "_-") and not (after.isalnum() or after == "_")
    return not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_")


# Words ----------------------------------------------------------------------------------------------------

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for that this with you not are was but can have from will its into then than when all any
        our out has had were what which there their they them your use using should would could about also
        just like""",
    )
)
_WORD = re.compile(r"[^\W\d][\w'’-]{2,}")
_PLAIN = re.compile(r"(?<![\w./-])[a-z]{3,}(?![\w./-])")


def all_words(text: str) -> list[str]:
    """Return the words of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in small letters."""
    return [word for word in all_words(text) if word not in STOP_WORDS]


def plain_words(text: str) -> list[str]:
    """Return the small words of a text that are no part of an exact value: a list of names has none."""
    pieces, last = [], 0
    for spotted in spot(text):
        pieces.append(text[last : spotted.start])
        last = spotted.end
    pieces.append(text[last:])
    return [word for word in _PLAIN.findall(" ".join(pieces)) if word not in STOP_WORDS]


WINDOW_WORDS = 40
"""A sentence survives if its words are this close together: about two lines of a summary."""
MOST_PLACES = 400
"""Places of one word that are looked at, so that a frequent word costs little."""


class Survival:
    """Answers for one text which sentences are still in it: enough of their words, close together."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.lower().split())
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(all_words(text)):
            self._places[word].append(place)

    def share(self, sentence: str) -> float:
        """Return the largest share of a sentence's words that is within 40 words of the text."""
        flat = " ".join(sentence.lower().split())
        if flat and flat in self._flat:
            return 1.0
        wanted = set(content_words(sentence))
        if not wanted:
            return 0.0
        marks = sorted((place, word) for word in wanted for place in self._places.get(word, ())[:MOST_PLACES])
        inside: Counter[str] = Counter()
        best = left = 0
        for place, word in marks:
            inside[word] += 1
            while place - marks[left][0] > WINDOW_WORDS:
                gone = marks[left][1]
                inside[gone] -= 1
                if not inside[gone]:
                    del inside[gone]
                left += 1
            best = max(best, len(inside))
        return best / len(wanted)
