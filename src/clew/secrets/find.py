"""Find secrets in a text by the rules of ``rules.toml``, and mask them.

Most keys are long runs of letters, digits and a few symbols, and most text is not. A fast prefilter finds
those runs; keywords are searched only in them and, if a name is assigned the run, shortly before. In ``export
TOKEN=ghp_16C7…`` the keyword ``ghp_`` of the rule ``github-token`` is found in the run, and the rule's
pattern is tried there. Secrets that may be short or contain spaces (a password, a key over several lines) are
searched by their own keywords in the whole text.

A mask keeps a secret's kind and position and holds four digits of a keyed hash: equal secrets get equal
masks, and a mask reveals nothing without the key.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from tempfile import mkstemp
from typing import Any, NamedTuple, TypeAlias

from clew.secrets.tables import table_passwords
from clew.settings import clew_home

# A key may follow an escape of JSON (\n, \u003d), of a URL (%3D) or of a terminal (\x1b[31m): the letter
# before it is then not part of a word.
_WORD_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-F]{2})|(?<=\[[0-9]m)|(?<=[0-9]{2}m))"
)
AFTER_KEYWORD = 16
"""Characters after the beginning of a keyword that a pattern searched before it may need."""
ENTROPY_SAMPLE = 256
"""Characters of a value from which its entropy is measured."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret."""

    id: str
    description: str
    keywords: tuple[str, ...]
    regex: str
    """Matched from ``back`` characters before a keyword."""
    back: int = 0
    """How far before its keyword a secret may begin, in characters."""
    before: int = 0
    """If set, the secret precedes its keyword: the pattern is searched in so many characters before it."""
    loose: bool = False
    """A secret may be short or contain spaces, so the keyword is searched in the whole text."""
    entropy: float = 0.0
    """Minimum bits per character of a secret."""
    allow: tuple[str, ...] = ()
    """Patterns of values that match ``regex`` but are not secrets."""

    def span(self, text: str, at: int) -> tuple[int, int] | None:
        """Return the span of the secret whose keyword is at a position of the text; None if there is none."""
        pattern = _compile(self.regex)
        if self.before:
            matches = pattern.finditer(text, max(0, at - self.before), at + AFTER_KEYWORD)
            match = next((match for match in matches if match.end() > at), None)
        else:
            match = pattern.match(text, at - self.back) if at >= self.back else None
        if match is None:
            return None
        start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
        value = text[start:end]
        if entropy(value[:ENTROPY_SAMPLE]) < self.entropy or any(
            _compile(text).fullmatch(value) for text in self.allow
        ):
            return None
        return start, end


@cache
def _compile(regex: str) -> re.Pattern[str]:
    """Compile a pattern at first use: compiling all of them takes 0.1 s."""
    return re.compile(regex)


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text's own characters, in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


@cache
def rules() -> tuple[SecretRule, ...]:
    """Return the rules; where matches overlap, the earlier rule names the secret."""
    written = tomllib.loads(files("clew.secrets").joinpath("rules.toml").read_text("utf-8"))
    return tuple(_rule(entry, written["placeholders"], written["lists"]) for entry in written["rule"])


def _rule(entry: dict[str, Any], placeholders: list[str], lists: dict[str, list[str]]) -> SecretRule:
    allow = (pattern for item in entry.get("allow", ()) for pattern in lists.get(item, [item]))
    start = "" if entry.get("inside") else _WORD_START
    return SecretRule(
        entry["id"],
        entry["description"],
        tuple(_spellings(entry["keywords"]) if entry.get("any_case") else entry["keywords"]),
        start + entry["regex"],
        entry.get("back", 0),
        entry.get("before", 0),
        entry.get("loose", False),
        entry.get("entropy", 0.0),
        (*placeholders, *allow),
    )


def _spellings(keywords: list[str]) -> list[str]:
    """Return keywords in lower case, capitalised, and in upper case."""
    spelled = (form for word in keywords for form in (word, word[:1].upper() + word[1:], word.upper()))
    return list(dict.fromkeys(spelled))


Ranked: TypeAlias = tuple[int, SecretRule]
"""A rule and its index among the rules."""

MIN_RUN = 16
"""The shortest run, in characters, that may be a key."""
NAME_REACH = 48
"""How far before a run its name may begin: ``"aws_secret_access_key": "``."""
_ASSIGNED = re.compile(r"[:=]|(?:er|ER|ic|en|ey|rd|et)[ \"',]{1,4}$")
"""What precedes a run that is assigned to a name (``key = ``), a flag (``--token ``) or a header
(``Bearer ``)."""
_SIGNS = b"_-+/=.~%$"
# Translates each byte to x if a key may contain it, else to a space: a long run of x may be a key.
_DENSE = bytes(
    ord("x") if (chr(byte).isalnum() and byte < 128) or byte in _SIGNS else ord(" ") for byte in range(256)
)


class _Keywords(NamedTuple):
    """The keywords, the pattern that finds them, and the rules of each."""

    dense: re.Pattern[str]
    loose: tuple[str, ...]
    rules: dict[str, tuple[Ranked, ...]]


def candidates(text: str) -> Iterator[tuple[int, Ranked]]:
    """Yield every position where a secret may be, with the rule to try there."""
    keywords = _keywords()
    for start, end in _regions(text):
        match = keywords.dense.search(text, start, end)
        while match:
            at = match.start()
            for ranked in keywords.rules[match.group()]:
                yield at, ranked
            match = keywords.dense.search(text, at + 1, end)  # one keyword may be inside another
    for keyword in keywords.loose:
        at = text.find(keyword)
        while at >= 0:
            for ranked in keywords.rules[keyword]:
                yield at, ranked
            at = text.find(keyword, at + 1)


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the long runs, each extended to the name before it; no two overlap.

    In ``key = sk-ant-0123456789abcdef0 end`` that is ``key = sk-ant-0123456789abcdef0``.
    """
    dense = text.encode("latin-1", "replace").translate(_DENSE)
    run, done = b"x" * MIN_RUN, 0
    at = dense.find(run)
    while at >= 0:
        end = dense.find(b" ", at + MIN_RUN)
        end = len(text) if end < 0 else end
        match = _ASSIGNED.search(text, max(0, at - 8), at)
        yield max(done, at - NAME_REACH if match else at - 1), end  # a keyword may begin one symbol earlier
        done = end
        at = dense.find(run, end)


@cache
def _keywords() -> _Keywords:
    dense = _by_keyword([rule for rule in enumerate(rules()) if not rule[1].loose])
    loose = _by_keyword([rule for rule in enumerate(rules()) if rule[1].loose])
    return _Keywords(re.compile(_alternation(dense)), tuple(loose), loose | dense)


def _by_keyword(ranked: Sequence[Ranked]) -> dict[str, tuple[Ranked, ...]]:
    """Return the rules of each keyword, including those of shorter keywords that it begins with."""
    own: dict[str, list[Ranked]] = {}
    for item in ranked:
        for word in item[1].keywords:
            own.setdefault(word, []).append(item)
    result: dict[str, tuple[Ranked, ...]] = {}
    for word in own:
        starts = (word[:length] for length in range(len(word) + 1))
        by_rank = {entry[0]: entry for start in starts for entry in own.get(start, ())}
        result[word] = tuple(by_rank[rank] for rank in sorted(by_rank))
    return result


def _alternation(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of the words without backtracking.

    Words with a common start share it: ``sk``, ``sk-ant`` and ``xox`` give ``(?:sk(?:-ant)?|xox)``.
    """
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[:1], []).append(word[1:])
    whole = tails.pop("", None) is not None
    branches = [re.escape(first) + _alternation(rest) for first, rest in tails.items()]
    if not branches:
        return ""
    either = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"{either}?" if whole else either


CELL = "password-cell"
"""The rule of a password in a table; one in a column below its name is found without a pattern."""
MASK = "[secret:"
"""The start of a mask."""


class FoundSecret(NamedTuple):
    """A secret in a text."""

    rule: str
    start: int
    end: int


class _RankedSpan(NamedTuple):
    start: int
    end: int
    rank: int
    rule: str


def find(text: str) -> list[FoundSecret]:
    """Return the secrets in a text, in order, without overlaps.

    If several rules match overlapping spans, the spans become one secret, named by the most specific rule.
    """
    ranked_spans: list[_RankedSpan] = []
    for at, (rank, rule) in candidates(text):
        span = rule.span(text, at)
        if span and MASK not in text[span[0] : span[1]]:
            ranked_spans.append(_RankedSpan(*span, rank, rule.id))
    ranked_spans += (_RankedSpan(*span, len(rules()), CELL) for span in table_passwords(text))
    return [FoundSecret(place.rule, place.start, place.end) for place in _join_overlaps(sorted(ranked_spans))]


def _join_overlaps(places: list[_RankedSpan]) -> list[_RankedSpan]:
    joined: list[_RankedSpan] = []
    for place in places:
        last = joined[-1] if joined else None
        if last is None or place.start >= last.end:
            joined.append(place)
            continue
        span = min(last, place, key=lambda item: item.rank)
        joined[-1] = _RankedSpan(last.start, max(last.end, place.end), span.rank, span.rule)
    return joined


KEY_FILE = "mask.key"
KEY_BYTES = 32


def key_file(path: Path) -> bytes:
    """Return the key kept in a file that only its owner can read; create the file if it is missing.

    If two processes create it at once, both use the one that was written first.
    """
    with suppress(FileNotFoundError):
        kept = path.read_bytes()
        if len(kept) >= KEY_BYTES:
            return kept[:KEY_BYTES]
        path.unlink()  # an incomplete write: nothing was masked with it
    path.parent.mkdir(parents=True, exist_ok=True)
    data = os.urandom(KEY_BYTES)
    # A random name: two containers that share a home may have the same process id.
    file, name = mkstemp(prefix=f"{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        os.write(file, data)
    finally:
        os.close(file)
    try:
        os.link(temporary, path)  # atomic, and never replaces another process's key
    except FileExistsError:
        data = path.read_bytes()[:KEY_BYTES]
    finally:
        temporary.unlink()
    return data


@cache
def own_key() -> bytes:
    """Return this user's key; if clew's home is not writable, a random one for this process."""
    try:
        return key_file(clew_home() / KEY_FILE)
    except OSError:
        return os.urandom(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text without its secrets."""

    text: str
    found: tuple[FoundSecret, ...] = ()
    """What was masked, with positions in the original text."""


def mask(text: str, key: bytes | None = None) -> MaskedText:
    """Return a text with every secret replaced by ``[secret:<rule>:<4 hex>]``.

    The four digits come from a keyed hash, so equal secrets get equal masks and a mask reveals nothing.
    Masking twice changes nothing. Without ``key``, clew's own key is used.
    """
    secrets = find(text)
    if not secrets:
        return MaskedText(text)
    key = own_key() if key is None else key
    pieces: list[str] = []
    done = 0
    for rule, start, end in secrets:
        pieces += [text[done:start], mask_of(rule, text[start:end], key)]
        done = end
    return MaskedText("".join(pieces) + text[done:], tuple(secrets))


def mask_of(rule: str, secret: str, key: bytes) -> str:
    """Return the mask of a secret."""
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=2).hexdigest()
    return f"{MASK}{rule}:{digest}]"
