"""Parse what a rule is about and how long it holds, and compare the subjects of two sentences.

``scope_of`` returns the paths, tools, names and topics of a rule and its duration: of "don't touch src/api
until the release", the path ``src/api`` and the duration "until the release". ``subject_of`` returns the
stems by which ``retire.py`` compares two sentences: "pushing" and "push" are one word. ``choices`` returns
which of several alternatives a sentence is for: tabs, not spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from clew.message.text import lazy_pattern
from clew.rules.cues import Hit
from clew.rules.languages import is_function_word
from clew.rules.rule import Duration, Lasts, Scope
from clew.rules.words import CODE, PATH, Token, table, words

_FILE = lazy_pattern(
    r"(?<![\w/.`-])[\w-][\w.-]*\.(?:py|pyi|js|jsx|ts|tsx|json|jsonl|toml|ya?ml|md|rst|txt|html?|s?css|sql|sh|go|rs"
    r"|rb|java|kt|c|h|cpp|cs|php|swift|lock|cfg|ini|env|csv|xml|ipynb|vue|svelte)\b"
)
_GLOB = lazy_pattern(
    r"(?<![\w*/`.\\-])(?:\.\w[\w.-]*\*|\w[\w.-]*\.\*|\*\.\w[\w.-]*|\w[\w.-]*[\w-]\*\.\w[\w.-]*)(?![\w*/`(])"
)
"""A glob without quotes or a folder: ".env*", "config.*", "*.lock", "test_*.py"; not "*this*" or "2 * 3"."""
_IDENTIFIER = lazy_pattern(
    r"(?<![\w/.])(?:[a-z][a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w+\(\)|[a-z0-9]+_\w+|[A-Z]{2,}_[A-Z_]+)(?![\w/])"
)
_SURE_PATH = lazy_pattern(r"[.*~@]|/$|^/|/.*/")
_CLAUSE_END = lazy_pattern(r"[,;.!?。！？，；]|\s[-–—]\s|\Z")
_BACKTICKS = lazy_pattern(r"`[^`]*`")
_FIRST_UNSPACED = "\u2e80"
"""From this code point on, a run of letters is a whole clause, not a word."""
_MAX_TOPICS = 8
_LAWS = frozenset(
    ("if", "always", "always_do", "always_thing", "lasting", "rule_heading", "rule_lead", "ban_lead")
)
"""Cues that make a sentence more than a remark for the next answer."""
_TIMED = ("lasting", "for_now", "not_yet")


def scope_of(text: str, tokens: Sequence[Token], hits: Iterable[Hit]) -> Scope:
    """Return what a sentence is about; tokens and hits are those of ``text``."""
    names, paths = _quoted_code(text, tokens)
    paths += [text[token.start : token.end] for token in _bare_paths(text, tokens)]
    for pattern in (_GLOB, _FILE) if "*" in text else (_FILE,):
        paths += [name for name in pattern.findall(text) if not any(name in path for path in paths)]
    names += _IDENTIFIER.findall(_BACKTICKS.sub(" ", text))
    tools = [token.word for token in tokens if token.word in words("scope", "tools")]
    tools += [name for name in names if name.split(" ", 1)[0].lower() in words("scope", "tools")]
    named = {word for name in (*names, *paths, *tools) for word in _WORD.findall(name.lower())}
    return Scope(
        paths=_once(path.rstrip(".,") for path in paths),
        tools=_once(tools),
        names=_once(name for name in names if name not in tools),
        topics=_once(_topics(tokens, named))[:_MAX_TOPICS],
        duration=duration_of(text, hits, placed=bool(paths)),
    )


def _quoted_code(text: str, tokens: Iterable[Token]) -> tuple[list[str], list[str]]:
    """Return the text in backticks: names and commands, and paths."""
    names: list[str] = []
    paths: list[str] = []
    for token in tokens:
        if token.word == CODE and text[token.start] == "`":
            inner = text[token.start + 1 : token.end - 1].strip()
            is_path = " " not in inner and bool("/" in inner or "*" in inner or _FILE.fullmatch(inner))
            (paths if is_path else names).append(inner)
    return names, paths


def _bare_paths(text: str, tokens: Sequence[Token]) -> Iterator[Token]:
    for i, token in enumerate(tokens):
        raw = text[token.start : token.end]
        if token.word != PATH or raw.startswith("http") or raw.lower() in words("scope", "not_paths"):
            continue
        if _SURE_PATH.search(raw) or (i and tokens[i - 1].word in words("scope", "before_paths")):
            yield token


def _topics(tokens: Iterable[Token], named: set[str]) -> Iterator[str]:
    for token in tokens:
        word = token.word
        if len(word) > 2 and word[0] < _FIRST_UNSPACED and word not in named and not is_function_word(word):
            yield word


def duration_of(text: str, hits: Iterable[Hit], *, placed: bool = False) -> Duration:
    """Return how long a sentence says it holds; ``placed`` if it names a path.

    Cues are tried in the order of ``_TIMED``. "until the release" ends a rule at an event, whichever cue
    matched it; "not yet" counts only in that form. Without such words a rule about a path lasts, and any
    other sentence may be a remark for the next answer only.
    """
    found = tuple(hits)
    timed = {hit.cue: hit for hit in found if hit.cue in _TIMED}
    for cue in _TIMED:
        if cue not in timed:
            continue
        hit = timed[cue]
        said = text[hit.start : hit.end]
        if said.lower().split(" ", 1)[0] in words("scope", "until"):
            return Duration(Lasts.UNTIL, said if cue == "lasting" else _clause(text, hit.start))
        if cue != "not_yet":
            return Duration(_lasts(cue, said.lower()), said)
    return Duration() if placed else _for_a_turn(text, found)


def _for_a_turn(text: str, hits: Iterable[Hit]) -> Duration:
    """Return the duration of a sentence for the next answer only; conditions and laws are excluded."""
    cues = {hit.cue: hit for hit in hits}
    turn = cues.get("for_turn")
    if turn is None or not cues.keys().isdisjoint(_LAWS):
        return Duration()
    return Duration(Lasts.TURN, text[turn.start : turn.end])


def _clause(text: str, start: int) -> str:
    end = _CLAUSE_END.search(text, start)
    return text[start : end.start() if end else None].strip()


def _lasts(cue: str, said: str) -> Lasts:
    if any(word in said for word in words("scope", "session")):
        return Lasts.SESSION
    if not words("scope", "task").isdisjoint(said.split()):
        return Lasts.TASK
    return Lasts.FOR_NOW if cue == "for_now" else Lasts.ONWARD


def _once(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry for entry in entries if entry))


_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+")
_WORD = lazy_pattern(r"[^\W_]+")
_PLURALS = (("ies", "y"), ("s", ""))
_TENSES = (("ing", ""), ("ed", ""))
_LONGEST_ENDING = 4
_SHORTEST_BORROWED = 4
_NEGATED_WITHIN = 3
ENOUGH = 0.5
"""Share of the shorter sentence's subject that must be shared; chosen by hand."""
_ENOUGH_APART = 0.67
"""The same if each sentence also names something the other does not."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a sentence is about: paths, and stems of its content words."""

    paths: frozenset[str]
    words: frozenset[str]

    def likeness(self, other: Subject) -> float:
        """Return the share of the shorter subject that is in the other, 0 if their paths differ."""
        if self.paths and other.paths:
            return 1.0 if _overlap(self.paths, other.paths) else 0.0
        shared = self.words & other.words
        if not shared:
            return 0.0
        return len(shared) / min(len(self.words), len(other.words))

    def closeness(self, other: Subject) -> float:
        """Return the share of both subjects that is common, to choose between similar rules."""
        return len(self.words & other.words) / max(1, len(self.words | other.words))

    def matches(self, other: Subject) -> bool:
        """Return True if two sentences are about the same subject."""
        apart = bool(self.words - other.words and other.words - self.words) and not (
            self.paths and other.paths
        )
        return self.likeness(other) >= (_ENOUGH_APART if apart else ENOUGH)


def subject_of(text: str, tokens: Sequence[Token], scope: Scope) -> Subject:
    """Return what a sentence is about."""
    paths = frozenset(path.strip("/*.").lower() for path in scope.paths)
    return Subject(paths, frozenset(_stems(text, tokens, scope)))


def _stems(text: str, tokens: Sequence[Token], scope: Scope) -> Iterator[str]:
    elsewhere = {
        word for named in (*scope.paths, scope.duration.words) for word in _WORD.findall(named.lower())
    }
    for token in tokens:
        word = token.word
        # Without spaces a "word" is a whole clause; its character pairs are added below.
        is_word = len(word) > 1 and word[0].isalnum() and not _UNSPACED.match(word)
        if is_word and word not in elsewhere and not _says_nothing(word):
            yield _stem(word)
    for name in scope.names:
        yield name.lower()
    for run in _UNSPACED.findall(_noise_runs().sub(" ", text)):
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _says_nothing(word: str) -> bool:
    return is_function_word(word) or word in words("subject", "noise") or word in words("subject", "light")


def _stem(word: str) -> str:
    """Return a word without irrelevant endings, mapped to one word per group of synonyms."""
    if word in _synonyms():
        return _synonyms()[word]
    word = _without(_without(_as_borrowed(word), _PLURALS), _TENSES)
    for whole in (word, f"{word}e"):  # "merging" and "merge"
        if whole in _synonyms():
            return _synonyms()[whole]
    if len(word) > 3 and (word[-1] == word[-2] or word[-1] == "e"):  # "running"
        word = word[:-1]
    return _synonyms().get(word, word)


def _without(word: str, endings: Iterable[tuple[str, str]]) -> str:
    for ending, instead in endings:
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith("ss"):
            return word[: len(word) - len(ending)] + instead
    return word


def _as_borrowed(word: str) -> str:
    """Return the English root of a borrowed verb: "mergen", "mergear"."""
    for size in range(1, min(_LONGEST_ENDING, len(word) - _SHORTEST_BORROWED) + 1):
        root, ending = word[:-size], word[-size:]
        if ending in words("subject", "borrowed_endings"):
            for known in (root, root[:-1] if root[-1] == root[-2] else root):  # "committen"
                if len(known) >= _SHORTEST_BORROWED and known in words("scope", "tools"):
                    return known
    return word


@cache
def _noise_runs() -> re.Pattern[str]:
    """Return the pattern of empty words in a text without spaces, longest first."""
    return re.compile("|".join(sorted(words("subject", "noise_runs"), key=len, reverse=True)))


@cache
def _synonyms() -> dict[str, str]:
    lines = table("words")["subject"]["same"].strip().split("\n")
    return {word: line.split()[0] for line in lines for word in line.split()}


def _overlap(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return any(a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/") for a in ours for b in theirs)


@dataclass(frozen=True, slots=True)
class Choice:
    """The values of one group of alternatives that a sentence is for and against, and its other subject."""

    group: int
    chosen: frozenset[str]
    refused: frozenset[str]
    beside: frozenset[str]


def choices(tokens: Sequence[Token], subject: Subject) -> Iterator[Choice]:
    """Yield what a sentence chooses from each group of alternatives it names."""
    for number, (about, values) in enumerate(_groups()):
        chosen: set[str] = set()
        refused: set[str] = set()
        for i, token in enumerate(tokens):
            if token.word in values:
                before = {earlier.word for earlier in tokens[max(0, i - _NEGATED_WITHIN) : i]}
                against = before & words("subject", "negating")
                (refused if against else chosen).add(values[token.word])
        if chosen or refused:
            beside = subject.words - {_stem(word) for word in (*about, *values)}
            yield Choice(number, frozenset(chosen), frozenset(refused), beside)


@cache
def _groups() -> tuple[tuple[frozenset[str], dict[str, str]], ...]:
    """Return each group of alternatives: its topic words, and its spellings with their values."""
    return tuple(
        (
            frozenset(group["about"].split()),
            {word: line.split("|")[0] for line in group["values"].split() for word in line.split("|")},
        )
        for group in table("alternatives")["groups"]
    )
