"""Recognise exact values in text: paths, identifiers, versions, numbers, hashes and so on.

``kind_of("src/app.py")`` is ``Known(PATH, "src/app.py")``, ``kind_of("hello")`` is None. A text is split at
white space and punctuation; each distinct word is classified once and cached, because a session repeats its
words. Values that contain punctuation themselves (URLs, amounts, quoted text, Windows paths) have their own
patterns, which run only if the text contains their marker. ``values`` collects what is found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from clew.message.text import lazy_pattern
from clew.rules.prefilter import Chunks


class ValueKind(StrEnum):
    """The kind of an exact value."""

    PATH = "path"
    FILE = "file"
    """A file name without its folder."""
    URL = "url"
    HASH = "hash"
    UUID = "uuid"
    VERSION = "version"
    NUMBER = "number"
    """An amount, with its unit if there is one; also a date."""
    ENV = "env"
    IDENTIFIER = "identifier"
    """A name of code: snake_case, camelCase, dotted.name, kebab-case-name, --flag, an e-mail address."""
    ISSUE = "issue"
    CODE = "code"
    """A code such as an error number or a booking reference: ``E0308``, ``ENOENT``, ``HAT170``."""
    QUOTED = "quoted"
    """Text that a person or the model put in quotes or backticks."""


class Known(NamedTuple):
    """A classified word: its kind and the value without surrounding punctuation."""

    kind: ValueKind
    value: str


WORD = lazy_pattern(r"[^\s\"'`<>()\[\]{},;|=:*!?&\\^“”‘’«»…—→│·•、，。；：！？（）「」『』【】《》]{3,}|#\d")

_EXTENSIONS = (
    "go|py|pyi|ipynb|tsx?|jsx?|mjs|cjs|json|jsonl|jsonc|json5|ndjson|md|mdx|rst|ya?ml|toml|rs|php|sh|bash|zsh|fish|sql|s?css|"
    "less|html?|txt|lock|mod|sum|cfg|ini|conf|proto|java|kt|kts|swift|rb|cc?|hh?|cpp|hpp|cs|fs|vue|svelte|tf|env|csv|"
    "tsv|xml|log|ps1|psm1|bat|lua|nu|omp|zig|ex|exs|erl|hs|ml|scala|dart|r|jl|pl|svg|png|jpe?g|gif|webp|ico|pdf|zip|gz|"
    "zst|tar|whl|db|sqlite|plist|gradle|cmake|diff|patch|snap|tmpl|j2|template|example|sample|pem|key|crt|wasm|parquet"
)
"""Extensions by which a name is a file name."""
_ERRNO = (
    "E(?:NOENT|ACCES|PERM|EXIST|NOTDIR|ISDIR|NOTEMPTY|INVAL|TIMEDOUT|CONN[A-Z]+|ADDRINUSE|PIPE|NOSPC|MFILE|NOTFOUND|"
    "BUSY|ROFS|NOEXEC|LIFECYCLE|INTR|AGAIN|RESOLVE|USAGE|HOSTUNREACH|PROTO|BADF|XDEV|LOOP)"
)
"""Error codes of operating systems: "ENOENT"."""
_WITH_SLASH = lazy_pattern(
    r"""
    (?P<path>(?:~|\.{1,2})?/?(?:[\w.@+%$#~-]+/)+[\w.@+%$#~-]*|(?:~|\.{1,2})?/[\w.@+-]{3,})
  | (?P<issue>[\w.-]+/[\w.-]+\#\d+)
    """,
    re.VERBOSE,
)
"""A value with a slash: "src/app.py", "owner/repo#12"."""
_WITHOUT_SLASH = lazy_pattern(
    rf"""
    (?P<uuid>[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}})
  | (?P<number>
        \d{{4}}-\d\d-\d\d(?:T[\d.]+Z?)?
      | [$€£]?(?!(?:19|20)\d\d$)\d{{4,}}(?:\.\d+)?
      | [$€£]?\d+\.\d+(?:%|[a-zA-Z]{{1,3}})?
      | [$€£]\d+[kKmMbB]?
      | \d+(?:%|ms|[µun]s|s|min|h|[kKMGT]i?[bB]|[kKMB]|px|rem|em|x))
  | (?P<version>[v^~]?\d+\.\d+\.\d+(?:[-+.][\w.+-]*)?)
  | (?P<file>
        [\w@][\w.@+-]*\.(?:{_EXTENSIONS})
      | \.[a-z][\w-]*(?:ignore|rc|config|env|attributes)(?:\.\w+)? | \.env(?:\.\w+)?)
  | (?P<hash>(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{{7,64}})
  | (?P<issue>
        \#[A-Z]?\d{{1,9}}
      | (?!UTF|SHA|ISO|GPT|AES|RFC|MD|X)
        (?:[A-Z][A-Z0-9]{{1,9}}-\d{{1,6}}|[A-Z][A-Z0-9]{{0,9}}(?:-[A-Z0-9]{{1,10}}){{0,3}}-\d{{3,12}}))
  | (?P<env>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)
  | (?P<code>[A-Z]{{1,5}}_?\d{{3,6}}|(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{{6}}
      | (?=(?:[A-Z]*\d){{2}})(?=\d*[A-Z])[A-Z0-9]{{7,34}} | {_ERRNO})
  | (?P<identifier>
        (?=[0-9_]*[A-Za-z])_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*
      | _*[a-z]+[0-9]*[A-Z][A-Za-z0-9]*
      | (?:[A-Z][a-z0-9]+){{2,}}[A-Z]* | [A-Z]{{2,}}[a-z]+(?:[A-Z][a-z0-9]*)+
      | [\w$]+(?:\.[\w$]+){{2,}} | [\w$]+\.(?:[a-z]+[A-Z]\w*|\w+_\w+)
      | (?:[a-z]+[A-Z]\w*|\w+_\w+|[A-Z][a-z]+[A-Z]\w*)\.[\w$]+
      | (?=[a-z0-9-]{{12}})[a-z0-9]+(?:-[a-z0-9]+){{2,}}
      | (?=[a-z0-9-]{{8}})(?=[a-z-]*\d)[a-z0-9]+(?:-[a-z0-9]+)+
      | --[a-z][\w-]{{2,}}
      | [\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    """,
    re.VERBOSE,
)
"""A value without a slash: "a1b2c3d", "v1.2.3", "MAX_SIZE", "getUser", "--dry-run"."""
_SNAKE = lazy_pattern(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
"""The most common identifier form, tried before the larger pattern."""
_KINDS = {kind.value: kind for kind in ValueKind}
"""The kind by the name of the pattern's group."""
_SLASHED_WORDS = lazy_pattern(r"[A-Za-z]+(?:/[A-Za-z]+){1,2}/?")
"""Words with slashes that are no path: "read/write"."""
_NO_LETTER = lazy_pattern(r"[\d./+~-]+")
"""Numbers with slashes, such as "1/2"."""
_NAMES = frozenset(
    """
    /dev/null GitHub GitLab JavaScript TypeScript OpenAI PostgreSQL MySQL SQLite LinkedIn YouTube DevOps
    PowerShell WordPress StackOverflow JetBrains FastAPI NumPy
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Product names that look like identifiers but identify nothing."""
_SHORTEST_IDENTIFIER = 6
_SHORTEST_PATH = 5
"""Characters of both; shorter ones are too common to identify anything. Chosen by hand."""
_SHORTEST_NUMBER = 4
"""Digits in a number without unit. Shorter numbers are too common to identify anything, and so are years."""
_LONGEST = 300
"""Characters of a word that is classified; a longer one is data. Chosen by hand."""
_REMEMBERED = 200_000
"""Words in the cache; chosen by hand."""


def kind_of(word: str) -> Known | None:
    """Classify a word, ignoring punctuation at its ends; None for plain words."""
    core = word.rstrip(".-~")
    if (core.isalpha() and (core.islower() or core[1:].islower())) or len(word) > _LONGEST:
        return None
    if core and core[0] in "+-$%" and not core.startswith("--") and not core[1:2].isdigit():
        core = core.lstrip("+-$%")
    if core.isdigit() and core.isascii():
        is_number = len(core) >= _SHORTEST_NUMBER and not (len(core) == 4 and core[:2] in ("19", "20"))
        return Known(ValueKind.NUMBER, core) if is_number else None
    if _SNAKE.fullmatch(core):
        return Known(ValueKind.IDENTIFIER, core) if len(core) >= _SHORTEST_IDENTIFIER else None
    match = (_WITH_SLASH if "/" in core else _WITHOUT_SLASH).fullmatch(core)
    if match is None or match.lastgroup is None or core in _NAMES:
        return None
    kind = _KINDS[match.lastgroup]
    return Known(kind, core) if _counts(kind, core) else None


def _counts(kind: ValueKind, value: str) -> bool:
    """Return False for ordinary words and short paths that match a pattern by accident."""
    if kind is ValueKind.PATH:
        return not (
            len(value) < _SHORTEST_PATH
            or value.startswith("//")
            or _NO_LETTER.fullmatch(value)
            or _SLASHED_WORDS.fullmatch(value)  # "read/write", "and/or"
        )
    return kind is not ValueKind.IDENTIFIER or len(value) >= _SHORTEST_IDENTIFIER


class KnownWords(dict[str, "Known | None"]):
    """Cache from word to classification; cleared when it holds ``_REMEMBERED`` words."""

    def __missing__(self, word: str) -> Known | None:
        """Classify a new word."""
        if len(self) >= _REMEMBERED:
            self.clear()
        known = self[word] = kind_of(word)
        return known


KNOWN_WORDS = KnownWords()
"""Shared by all ledgers: the classification depends on the word alone."""
classify = KNOWN_WORDS.__getitem__
"""Return the value that a word is, or None if it is none; cached."""


_URL = lazy_pattern(r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>)\]}`,\\|]+")
"""An address of any scheme: "https://example.org/a", "s3://bucket/key"."""
_WINDOWS = lazy_pattern(r"\b[A-Za-z]:\\[^\s\"'<>|*?`:,;()]+")
"""A Windows path: "C:\\Users\\me"."""
_UNIT = (
    r"(?:\s?[€£¥元円]|\s[%원]|\s(?:ms|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|months?|[kKMGT]i?B|bytes|"
    r"tokens|lines|files|words|characters|chars|requests|retries|attempts|tests|items|users|px|USD|EUR|GBP|CHF|dollars|euros|pounds)\b)"
)
"""A unit after a number: " ms", " tokens", "元"."""
_AMOUNT = lazy_pattern(
    # Match the first digit before the lookbehinds, so that most positions are rejected at once.
    rf"\d(?<!\d\d)(?<!\d[.,]\d)\d*+(?:(?:,\d{{3}})++(?![\d,])(?:\.\d++)?{_UNIT}?"
    rf"|(?:\.\d{{3}})*+,\d\d?(?![\d,]){_UNIT}?|(?:\.\d++)?{_UNIT})"
)
"""A number with a unit, with thousands separators or a decimal comma; other numbers are matched as words."""
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|Sept|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec|"
    "Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|"
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|"
    "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|"
    "gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|novembre|dicembre|"
    "janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro"
)
_HAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of scripts without spaces, which stand directly beside a number."""
_GROUPED = lazy_pattern(
    rf"""
    \d(?<!\d\d)(?:
        \d?(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?(?:{_MONTHS})\b(?:\.?,?\s(?:de\s|del\s)?\d{{4}}\b)?
      | (?<![\w:.]\d)\d?:[0-5]\d(?::[0-5]\d)?(?![\w:])
      | \d{{0,3}}[年月]\d{{1,2}}[月日](?:\d{{1,2}}日)?
      | (?<=[{_HAN}]\d)\d{{3,}}(?![\d.,]|\s?[年元円])
      | \d{{3,}}(?<![-.,]\d{{4}})(?=[{_HAN}])(?![年元円])
      | (?<=\+\d)\d{{0,2}}(?:[ .-]\(?\d{{2,4}}\)?){{2,6}}(?!\w)
      | (?<=[A-Z]{{2}}\d)\d(?:\s[A-Z0-9]{{4}}){{2,7}}(?:\s[A-Z0-9]{{1,3}})?(?!\w)
      | (?<=[{_HAN}][A-Z]-\d)\d{{2,}} | (?<=[{_HAN}][A-Z]{{2}}-\d)\d{{2,}}
    )
  | \b(?:{_MONTHS})\.?\s\d\d?(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?
    """,
    re.VERBOSE,
)
"""Dates in words, times, telephone and bank account numbers in groups, numbers without space around them.
All but a month before its day begin with a digit, as far as the pattern goes: ``_LEADS`` is what precedes."""
_LEADS = lazy_pattern(r"(?:\+|[A-Z]{1,2}-?)$")
"""What belongs to a number before its first digit: the plus of a telephone number, a country's letters."""
_CURRENCIES = ("$", "€", "£")
"""Signs before an amount."""
_QUOTE = lazy_pattern(r"[`\"“]([^`\"“”\n]{5,80})[`\"”]")
"""Quoted text: "`make all`"."""


def with_punctuation(text: str, *, spoken: bool) -> list[tuple[Known, int]]:
    """Return the values that contain punctuation, each with its position.

    In tool output, only URLs and Windows paths.
    """
    found: list[tuple[Known, int]] = []
    if "://" in text:
        for match in _URL.finditer(text):
            found.append((Known(ValueKind.URL, match[0].rstrip(".,;:!?/")), match.start()))
    if ":\\" in text:
        for match in _WINDOWS.finditer(text):
            found.append((Known(ValueKind.PATH, match[0].rstrip("\\.,")), match.start()))
    if spoken:
        found += _amounts(text)
        found += _grouped(text)
        found += _quoted(text)
    return found


def _amounts(text: str) -> Iterator[tuple[Known, int]]:
    for match in _AMOUNT.finditer(text):
        start = match.start() - text.startswith(_CURRENCIES, max(0, match.start() - 1), match.start())
        yield Known(ValueKind.NUMBER, text[start : match.end()]), start


def _grouped(text: str) -> Iterator[tuple[Known, int]]:
    for match in _GROUPED.finditer(text):
        lead = _LEADS.search(text, max(0, match.start() - 3), match.start())
        start = lead.start() if lead else match.start()
        yield Known(ValueKind.NUMBER, text[start : match.end()]), start


def _quoted(text: str) -> Iterator[tuple[Known, int]]:
    for match in _QUOTE.finditer(text):
        value = match[1]
        is_mask = value.startswith("[secret:")
        if not is_mask and not value.isalnum() and value.strip() == value and classify(value) is None:
            yield Known(ValueKind.QUOTED, value), match.start(1)


# All values of a text --------------------------------------------------------------------------------

_MARKS = lazy_pattern(r"://|:\\|\d|[`\"“]")
"""Markers of values that contain punctuation."""


def _may_hold_value(chunk: str) -> bool:
    return any(map(classify, WORD.findall(chunk))) or _MARKS.search(chunk) is not None


VALUE_CHUNKS = Chunks()
"""Marks chunks that may hold a value; apart from the trackers' marks, because values are found on demand."""
VALUE_CHUNKS.mark_by(_may_hold_value)


def may_hold_values(text: str) -> bool:
    """Return False if the words of a text show that it contains no value."""
    return any(map(VALUE_CHUNKS.__getitem__, text.split()))


def values_in(text: str, *, spoken: bool) -> tuple[list[str], list[tuple[Known, int]]]:
    """Return the words of a text that are values, in order, and its values ``with_punctuation``."""
    if not spoken:
        return value_words(text), with_punctuation(text, spoken=False)
    # Drop the chunks that are known to hold no value first: speech repeats the same plain words.
    rest = " ".join(chunk for chunk in dict.fromkeys(text.split()) if VALUE_CHUNKS[chunk])
    return value_words(rest), with_punctuation(text, spoken=True) if _MARKS.search(rest) else []


def value_words(text: str) -> list[str]:
    """Return the words of a text that are values, in order of first appearance."""
    return list(filter(classify, dict.fromkeys(WORD.findall(text))))
