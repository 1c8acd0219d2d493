"""Parse from a sentence what a rule is about and how long it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from clew.rules.cues import Hit
from clew.rules.languages import is_function_word
from clew.rules.tables import words
from clew.rules.tokens import CODE, PATH, Token
from clew.rules.values import Duration, Lasts, Scope

_FILE = re.compile(
    r"(?<![\w/.`-])[\w-][\w.-]*\.(?:py|pyi|js|jsx|ts|tsx|json|jsonl|toml|ya?ml|md|rst|txt|html?|s?css|sql|sh|go|rs"
    r"|rb|java|kt|c|h|cpp|cs|php|swift|lock|cfg|ini|env|csv|xml|ipynb|vue|svelte)\b"
)
_IDENTIFIER = re.compile(
    r"(?<![\w/.])(?:[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w+\(\)|[a-z0-9]+_\w+|[A-Z]{2,}_[A-Z_]+)(?![\w/])"
)
_SURE_PATH = re.compile(r"[.*~@]|/$|^/|/.*/")
_CLAUSE_END = re.compile(r"[,;.!?。！？，；]|\s[-–—]\s|\Z")
_BACKTICKS = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u2e80"
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
    paths += [name for name in _FILE.findall(text) if not any(name in path for path in paths)]
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
        if len(word) > 2 and word[0] < _UNSPACED and word not in named and not is_function_word(word):
            yield word


def duration_of(text: str, hits: Iterable[Hit], *, placed: bool = False) -> Duration:
    """Return how long a sentence says it holds; ``placed`` if it names a path."""
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
