"""How the offline model finds its answer: the best sentence in view, and the rule that forbids a request.

The sentence with the largest share of the question's words is quoted; rare words count more, as in search. A
prohibition applies to a request that names its path or tool, or, if it names none, most of its topic words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from clew.chat.approvals import path_covers
from clew.compaction.plan.render import parse_digest
from clew.memory.question import understand
from clew.memory.terms import stem, terms
from clew.message import Item, Message, Origin, Role, text_message
from clew.rules.find import find_candidates
from clew.rules.rule import Kind, Pin, Scope

ENOUGH = 0.6
"""Least share of a question's weighted words that an answering sentence must have. Chosen by hand."""
PAIR = 0.1
"""Bonus for each pair of adjacent words shared with the question. Chosen by hand."""
LONGEST = 400
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*", re.M)
_QUOTED_BLOCK = re.compile(
    r"^\[(?P<ref>[^,\]\n]+), (?P<role>\w+), (?P<about>[^\]]*)\]\n"
    r"(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$",
    re.M | re.S,
)
_DOUBT = re.compile(r"marked as \w+|(?:changed|deleted) since it was indexed")
"""What a search says of a document that may no longer apply."""
# The offline model's own phrases: its earlier replies are not sources.
OWN = re.compile(
    r"(?:\[\S+\] |I don't know\b|Noted\b|I won't\b|I have no tool\b|Done\b|It was not done\b|Let me\b"
    r"|Rules in force\b|No rules\b|Nothing was done\b)"
)


_EXACT = re.compile(r"(?<![\w./-])(?=[\w./-]*[A-Za-z])(?=[\w./-]*[\d_])[A-Za-z\d_](?:[\w./-]*\w)?")
"""A name with digits or underscores, such as ``E4711``, ``max_size`` or ``src/part5.py``."""


@dataclass(frozen=True, slots=True)
class ViewPassage:
    """A sentence with its speaker and its reference."""

    ref: str
    who: str
    text: str


def passages(items: Iterable[Item]) -> Iterator[ViewPassage]:
    """Yield the sentences of a view; those of a digest with the references of their source turns."""
    for item in items:
        message = item.message
        if message.origin is Origin.SUMMARY:
            yield from _of_digest(message)
        elif message.role is Role.USER:
            yield from _sentences(item.id, "you said", message.text)
        elif message.role is Role.ASSISTANT and not OWN.match(message.text):
            yield from _sentences(item.id, "I said", message.text)
        for result in message.results:
            if not result.is_error:
                yield from of_result(item.id, result.name or "a tool", result.text)


def of_result(ref: str, name: str, text: str) -> Iterator[ViewPassage]:
    """Yield the lines of a tool result; quoted earlier turns keep their own references."""
    blocks = list(_QUOTED_BLOCK.finditer(text))
    for block in blocks:
        if block["role"] == Role.ASSISTANT and OWN.match(block["text"]):
            continue
        doubts = "".join(f" ({doubt})" for doubt in _DOUBT.findall(block["about"]))
        who = {"user": "you said", "assistant": "I said"}.get(block["role"], f"{block['role']}{doubts} said")
        yield from _sentences(block["ref"], who, block["text"])
    if not blocks:
        lines = (line.strip() for line in text.splitlines())
        yield from (ViewPassage(ref, f"{name} answered", line[:LONGEST]) for line in lines if line)


def _of_digest(message: Message) -> Iterator[ViewPassage]:
    digest = parse_digest(message.text)
    if digest is None:
        return
    for pin in digest.pins:
        yield ViewPassage(pin.source.message, f"your rule ({digest.id})", pin.quote)
    for claim in digest.claims:
        source = claim.messages[0] if claim.messages else digest.id
        for sentence in _sentences(source, f"on record ({digest.id})", claim.text):
            if not OWN.match(sentence.text):
                yield sentence


def _sentences(ref: str, who: str, text: str) -> Iterator[ViewPassage]:
    for match in _SENTENCE.finditer(text):
        sentence = match[0].strip()
        if sentence and not sentence.endswith("?"):
            yield ViewPassage(ref, who, sentence[:LONGEST])


def best(question: str, among: Sequence[ViewPassage]) -> ViewPassage | None:
    """Return the sentence with most of a question's words, the latest on a tie; None if none has enough."""
    wanted = understand(question, date.today()).terms
    names = _EXACT.findall(question)
    # Names must match exactly: KEY_3_40 does not answer a question about KEY_2_40.
    whole_names = [re.compile(rf"(?<![\w]){re.escape(name)}(?!\w)", re.I) for name in names]
    among = [passage for passage in among if all(name.search(passage.text) for name in whole_names)]
    if not wanted or not among:
        return None
    passage_terms = [terms(passage.text) for passage in among]
    having = Counter(term for words in passage_terms for term in set(words))
    weight = {term: math.log(1 + len(among) / (1 + having[term])) + 0.1 for term in wanted}
    total = sum(weight.values())
    pairs = set(pairwise(terms(question)))
    answer, highest = None, 0.0
    for passage, words in zip(among, passage_terms, strict=True):
        share = sum(weight[term] for term in wanted if term in words) / total
        score = share + PAIR * len(pairs & set(pairwise(words)))
        if share >= ENOUGH and score >= highest:  # the latest on a tie
            answer, highest = passage, score
    return answer


MOST_TOPICS = 0.75
"""Least share of a rule's topic words in a request it forbids, if it names no path or tool. By hand."""
_CHANGE_WORDS = (
    *("modify", "change", "edit", "write", "create", "delete", "remove", "rename", "move", "touch"),
    *("refactor", "update", "overwrite", "rewrite", "fix", "patch", "replace", "add", "append"),
    *("reformat", "clean", "wipe", "drop", "truncate", "alter"),
)
_CHANGING = frozenset(map(stem, _CHANGE_WORDS))
_PATH = re.compile(r"[\w.*~-]*/[\w./*~-]*|\b[\w-]+\.[a-z]\w{0,4}\b")
_UNTIL = re.compile(r"\b(?:without|unless|until|before|except)\b", re.I)


def forbidding(request: str, pins: Iterable[Pin], now: str = "") -> Pin | None:
    """Return the first rule that forbids a request; rules from the message ``now`` itself are ignored."""
    for pin in pins:
        if pin.source is not None and pin.source.message == now:
            continue
        kind, scope = _read(pin)
        if kind is Kind.PROHIBITION and _touches(request, pin.quote, scope):
            return pin
    return None


def _read(pin: Pin) -> tuple[Kind, Scope]:
    """Return the kind and scope of a rule; for one set by hand, found in its text."""
    if pin.source is not None:
        return pin.kind, pin.scope
    rule = next(iter(find_candidates(text_message(Role.USER, pin.quote))), None)
    return (rule.kind, rule.scope) if rule else (pin.kind, pin.scope)


def _touches(request: str, rule: str, scope: Scope) -> bool:
    question_words = set(terms(request))
    if scope.paths:
        named = any(path_covers(text, path) for text in scope.paths for path in _PATH.findall(request))
        forbids_changes = not _CHANGING.isdisjoint(terms(rule))  # then reading is allowed
        return named and (not forbids_changes or bool(question_words & _CHANGING))
    firm = [*scope.tools, *scope.names]
    if firm:
        return any(set(terms(name)) <= question_words for name in firm)
    about = set(_topics(rule, scope))
    return bool(about) and len(about & question_words) >= MOST_TOPICS * len(about)


def _topics(rule: str, scope: Scope) -> Iterator[str]:
    """Yield the topic words of a rule, without its conditions such as ``without asking``."""
    lines = set(terms(_UNTIL.split(rule, maxsplit=1)[0]))
    for topic in scope.topics:
        for word in terms(topic):
            if word in lines and word not in ("pleas", "please", stem("never"), stem("always")):
                yield word
