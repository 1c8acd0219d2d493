"""Which of the rules that stand forbids what is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.chat.asking import covers
from clew.memory.stem import stem
from clew.memory.words import terms
from clew.message import Role, said
from clew.rules.find import find_candidates
from clew.rules.pins import Pin
from clew.rules.values import Kind, Scope

MOST_TOPICS = 0.75
"""Of the words that a rule is about, named by a request that it forbids, where it names nothing firmer."""
_CHANGING = frozenset(
    map(
        stem,
        (
            *("modify", "change", "edit", "write", "create", "delete", "remove", "rename", "move", "touch"),
            *("refactor", "update", "overwrite", "rewrite", "fix", "patch", "replace", "add", "append"),
            *("reformat", "clean", "wipe", "drop", "truncate", "alter"),
        ),
    )
)
_PATH = re.compile(r"[\w.*~-]*/[\w./*~-]*|\b[\w-]+\.[a-z]\w{0,4}\b")
_UNTIL = re.compile(r"\b(?:without|unless|until|before|except)\b", re.I)


def forbidding(request: str, pins: Iterable[Pin], now: str = "") -> Pin | None:
    """Return the first rule that forbids a request, made in the message ``now``: its own rules do not."""
    for pin in pins:
        if pin.source is not None and pin.source.message == now:
            continue
        kind, scope = _read(pin)
        if kind is Kind.PROHIBITION and _touches(request, pin.quote, scope):
            return pin
    return None


def _read(pin: Pin) -> tuple[Kind, Scope]:
    """Return what a rule does and is about; one that was set by hand is read from its words."""
    if pin.source is not None:
        return pin.kind, pin.scope
    found = next(iter(find_candidates(said(Role.USER, pin.quote))), None)
    return (found.kind, found.scope) if found else (pin.kind, pin.scope)


def _touches(request: str, rule: str, scope: Scope) -> bool:
    asked = set(terms(request))
    if scope.paths:
        named = any(covers(held, path) for held in scope.paths for path in _PATH.findall(request))
        return named and (not _changes(rule) or bool(asked & _CHANGING))
    firm = [*scope.tools, *scope.names]
    if firm:
        return any(set(terms(name)) <= asked for name in firm)
    about = set(_topics(rule, scope))
    return bool(about) and len(about & asked) >= MOST_TOPICS * len(about)


def _changes(rule: str) -> bool:
    """Tell whether a rule is about changing something, so that looking at it is no matter."""
    return not _CHANGING.isdisjoint(terms(rule))


def _topics(rule: str, scope: Scope) -> Iterator[str]:
    """Yield what a rule is about, without its conditions: ``without asking`` is not what it forbids."""
    told = set(terms(_UNTIL.split(rule, maxsplit=1)[0]))
    for topic in scope.topics:
        for word in terms(topic):
            if word in told and word not in ("pleas", "please", stem("never"), stem("always")):
                yield word
