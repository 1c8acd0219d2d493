"""Terms that say what the work is about now, with weights: what excerpts look for in long texts.

What the user's last request names and what the agent searched for counts more than names that occur in the
agent's last messages: these are many, and most of them only happen to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.tool_actions import ActionKind, action_of
from clew.message import Item, Message, Role, words

RECENT = 10
"""Last messages in which the agent's words and calls say what the work is about."""
LONGEST_READ = 4_000
"""Characters of each text that are read for that..."""
LONGEST_REQUEST = 12_000
"""...and of the request and the goal: a plan names the places that it changes up to its end."""
REQUESTED, SEARCHED_FOR, MENTIONED = 3.0, 2.0, 1.0
"""Weights of a term; chosen by hand."""
SHORT_REQUEST = 1_000
"""Characters up to which a request is about what it names; a longer one only mentions much of it."""
MOST_SEARCHES = 12
"""Last searches of the running turn whose patterns count."""
NAME = re.compile(r"[A-Za-z]\w*(?:[._]\w+)+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|\b[a-zA-Z]{8,}\b")
"""An identifier, or a long word."""
_COMPOUND = re.compile(r"\b[A-Za-z]+(?:-[A-Za-z]+)+\b")
"""Words that code writes as one name: ``stale-timeout``."""
_SPECIAL = re.compile(r"\\[bBsSwWdD]|\\(.)")
_LITERAL = re.compile(r"[A-Za-z_][\w.\-]{3,}")
"""What a pattern to search for names."""
_PATTERN_KEYS = ("pattern", "regex", "query", "search_term")
_SEARCHERS = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack"))


def terms_of(view: Sequence[Item], turn: int, request: str, goal: str) -> dict[str, float]:
    """Return terms with their weights; ``turn`` is the index at which the running turn begins.

    In a fixed order, so that the same list gives the same view in every process.
    """
    recent = (item.message for item in view[-RECENT:] if item.message.role is Role.ASSISTANT)
    texts = [words(part)[:LONGEST_READ] for message in recent for part in message.parts]
    asked = (request[:LONGEST_REQUEST], goal[:LONGEST_REQUEST])
    found = {name: MENTIONED for text in (*texts, *asked) for name in NAME.findall(text)}
    found.update(dict.fromkeys(_searched(view, turn), SEARCHED_FOR))
    if len(request) <= SHORT_REQUEST:
        found.update(dict.fromkeys(_named(request), REQUESTED))
    return dict(sorted(found.items()))


def mentioned(terms: Mapping[str, float]) -> dict[str, float]:
    """Return the names among terms, all with the same weight: for what the agent itself wrote."""
    return {term: MENTIONED for term in terms if NAME.fullmatch(term)}


def _named(request: str) -> Iterator[str]:
    """Yield the names in a request, and what code would call a compound of words."""
    yield from NAME.findall(request)
    for compound in _COMPOUND.findall(request):
        first, *more = compound.split("-")
        yield compound
        yield "_".join((first, *more))
        yield "".join((first, *(word.capitalize() for word in more)))


def _searched(view: Sequence[Item], turn: int) -> Iterator[str]:
    """Yield what the last searches of the running turn look for, latest first."""
    searches = (
        pattern for item in reversed(view[turn:]) for pattern in reversed(list(_patterns(item.message)))
    )
    for pattern in islice(searches, MOST_SEARCHES):
        yield from _LITERAL.findall(_SPECIAL.sub(lambda one: one[1] or " ", pattern))


def _patterns(message: Message) -> Iterator[str]:
    """Yield the patterns that the calls of a message search for."""
    for call in message.calls:
        action = action_of(call)
        if action.kind is ActionKind.SEARCH:
            given = (action.arguments.get(key) for key in _PATTERN_KEYS)
            yield from (value for value in given if isinstance(value, str) and " " not in value.strip())
        elif action.kind is ActionKind.SHELL and any(name in action.subject for name in _SEARCHERS):
            yield from _of_command(action.subject)


def _of_command(line: str) -> Iterable[str]:
    """Yield the pattern of each search in a command line: the first word that is no option."""
    for simple in simple_commands(line):
        name, *rest = without_prefixes(simple.words) or [""]
        if name.rpartition("/")[2] in _SEARCHERS:
            yield from islice((word for word in rest if not word.startswith("-")), 1)
