"""Split a sentence that states several rules, and relate a sentence to the one before it.

"Never push, and ask me before you deploy" becomes two rules, which can be kept and lifted separately; so does
"you can touch lib/ but not lib/core/", a permission and a ban. A sentence may withdraw the one before it
("wait, no"), or borrow its verb ("answer in Spanish; code in English"). ``find.py`` calls this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clew.message.text import lazy_pattern
from clew.rules.cues import Hit
from clew.rules.evidence import Evidence, Surroundings, evidence
from clew.rules.permission import PERMITS, is_false_permission
from clew.rules.sentences import Sentence
from clew.rules.subject import choices, scope_of, subject_of
from clew.rules.words import PATH, Token, model, table, tokens, words
from clew.rules.words import words as known_words

_COMMAS = ",;，；、"
_JOINT = lazy_pattern(
    rf"(?:[{_COMMAS}]\s*|\s+)"
    r"(?:(?:and|but|also|then|plus|et|mais|und|aber|y|pero|e|ma|mas|en|maar|i|ale|и|но)\s+)?\Z"
)
_HELD_BACK = lazy_pattern(
    r"[,;]?\s+(?P<held>(?:but|just|only|aber|nur|mais|pero|ma|mas|maar|ale|но|только)\s+"
    r"(?:not|never|nicht|nie|pas|no|non|não|niet|nie|не)\b"
    r"|(?:except|außer|sauf|salvo|excepto|tranne|exceto|behalve|oprócz|кроме)\b)"
    r"(?=\s+\S)",
    re.IGNORECASE,
)
"""What restricts a permission: "but not", "except"."""
_INTRODUCES = lazy_pattern(
    r"\W*(?:whatever|no matter|come what may|regardless|in any case|at all costs)\b.{0,30}", re.IGNORECASE
)
_WITHOUT_VERB = lazy_pattern(
    r"\W*(?:and |or |but )?(?:never|not) "
    r"(?:as|in|on|with|for|to|at|by|from|into|under|via|through|inside|outside)\b",
    re.IGNORECASE,
)
_LONGEST = 600
"""Characters above which a sentence is not split (chosen by hand): it is a list without punctuation."""
_PARTICLE_AND_WORD = 2
"""Words of a clause such as "never pip"."""
_HEAVY = 3.0
"""Weight from which on a cue can begin a rule of its own; chosen by hand."""


def split_exception(
    sentence: Sentence, cues: Evidence, surroundings: Surroundings
) -> tuple[tuple[Sentence, Evidence], ...]:
    """Split a permission with an exception into the permission and the rule; () if it has none.

    "You can now touch lib/ but not lib/core/" permits lib/ and forbids lib/core/.
    """
    given = next((hit.end for hit in cues.hits if hit.cue in PERMITS), 0)
    holding = known_words("permission", "holding_back")
    holds_back = given and any(token.word in holding for token in cues.words)
    match = _HELD_BACK.search(sentence.text, given) if holds_back else None
    if match is None:
        return ()
    permission = _part(sentence, 0, match.start())
    heard = evidence(permission, surroundings)
    kept_tokens = tuple(token for token in cues.words if token.start >= match.end())
    if heard is None or not kept_tokens or is_false_permission(sentence.text):
        return ()
    if not (_is_given(heard) or kept_tokens[0].word == PATH):
        return ()
    passing = heard._replace(hits=(*heard.hits, Hit("leave_now", 0, len(permission.text))))
    rest = Evidence(
        (Hit("held_back", match.start("held"), match.end()),), kept_tokens, about_from=match.end()
    )
    return (permission, passing), (sentence, rest)


def _is_given(permission: Evidence) -> bool:
    """Return True for a permission, not for a possibility: "you can reproduce it, but not on Linux"."""
    return any(hit.cue in ("permit", "leave_now") for hit in permission.hits)


def split_rules(
    sentence: Sentence, cues: Evidence, surroundings: Surroundings
) -> Iterator[tuple[Sentence, Evidence]]:
    """Yield a sentence unchanged, or its clauses if every one of them is a rule with a subject."""
    # "don't fix it, just look" is one remark.
    whole = len(sentence.text) > _LONGEST or any(hit.cue == "for_turn" for hit in cues.hits)
    cuts = () if whole else _cuts(sentence.text, cues)
    for cut in cuts:
        first = _piece(sentence, 0, cut, surroundings)
        rest = _piece(sentence, cut, len(sentence.text), surroundings)
        if first is not None and rest is not None and not (_is_case(first[1]) or _is_incomplete(first, rest)):
            yield first
            yield from split_rules(*rest, surroundings)
            return
    yield sentence, cues


def _is_case(cues: Evidence) -> bool:
    """Return True if a clause is only the condition of the next: "if anything is unclear, stop and ask"."""
    return any(hit.cue == "if" and hit.start == 0 for hit in cues.hits)


def _is_incomplete(first: tuple[Sentence, Evidence], rest: tuple[Sentence, Evidence]) -> bool:
    """Return True if a clause only introduces the rest ("whatever happens"), or the rest has no verb.

    "Never pip" and "never directly" say nothing without "always use uv" before them; "never push" does.
    """
    said = [token.word for token in rest[1].words]
    without_verb = len(said) <= _PARTICLE_AND_WORD and _acts().isdisjoint(said)
    return without_verb or bool(_INTRODUCES.fullmatch(first[0].text) or _WITHOUT_VERB.match(rest[0].text))


@cache
def _acts() -> frozenset[str]:
    """Return the verbs of the English table."""
    classes = table("english")["classes"]
    return frozenset(f"{classes['work']} {classes['tell']}".split())


def _cuts(text: str, seen: Evidence) -> Iterator[int]:
    """Yield where a clause with its own rule may begin: a heavy cue after a comma or a conjunction."""
    cues = model().cues
    for hit in seen.hits:
        cue = cues[hit.cue]
        if hit.start and cue.kind is not None and cue.weight >= _HEAVY:
            joint = _JOINT.search(text, 0, hit.start)
            if joint is not None and joint.group().strip():
                yield joint.start() + (text[joint.start()] in _COMMAS)


def _piece(
    sentence: Sentence, begin: int, end: int, surroundings: Surroundings
) -> tuple[Sentence, Evidence] | None:
    """Return a part of a sentence if it is a rule by itself and names its subject."""
    piece = _part(sentence, begin, end)
    cues = evidence(piece, surroundings)
    if cues is None or not model().is_rule(hit.cue for hit in cues.hits):
        return None
    scope = scope_of(piece.text, cues.words, cues.hits)
    return (piece, cues) if scope.paths or subject_of(piece.text, cues.words, scope).words else None


def _part(sentence: Sentence, begin: int, end: int) -> Sentence:
    """Return a part of a sentence without surrounding white space and commas."""
    raw = sentence.text[begin:end]
    start = sentence.start + begin + len(raw) - len(raw.lstrip())
    text = raw.strip().rstrip(_COMMAS)
    return sentence._replace(start=start, end=start + len(text), text=text)


_SHORT_WORDS = 10


def joint_of(text: str, before: Sentence, sentence: Sentence) -> str:
    """Return the text between two adjacent sentences; empty if there is another one between them."""
    joint = text[before.end - 1 : sentence.start]
    return joint if joint[1:].strip() in ("", ";") else ""


def withdraws(sentence: Sentence) -> bool:
    """Return True if a sentence only withdraws the one before it: "Wait, no, keep that."."""
    return withdrawal_index(tokens(sentence.text)) == 0


def withdrawal_index(sentence_tokens: Sequence[Token]) -> int | None:
    """Return the index of words that withdraw all before them and add nothing: "wait no, keep that"."""
    kept = words("unsaid", "kept")
    tail = len(sentence_tokens)  # all words from here on only confirm the withdrawal
    while tail and sentence_tokens[tail - 1].word in kept:
        tail -= 1
    for i, token in enumerate(sentence_tokens):
        for phrase in _withdrawals().get(token.word, ()) if token.opens else ():
            end = i + len(phrase)
            if end >= tail and [other.word for other in sentence_tokens[i:end]] == phrase:
                return i
    return None


@cache
def _withdrawals() -> dict[str, list[list[str]]]:
    """Return the withdrawing phrases by their first word."""
    phrases: dict[str, list[list[str]]] = {}
    for line in table("words")["unsaid"]["withdrawals"].strip().split("\n"):
        for phrase in line.split(", "):
            phrases.setdefault(phrase.split()[0], []).append(phrase.split())
    return phrases


def borrows(sentence: Sentence, before: Sentence, cues: Evidence) -> bool:
    """Return True if a sentence after a semicolon uses the verb of the rule before it.

    "Answer in Spanish; code and commits in English": without its own verb it chooses among the same
    alternatives as the rule.
    """
    if not model().is_rule(hit.cue for hit in cues.hits) or sentence.text.endswith("?"):
        return False
    sentence_tokens = tokens(sentence.text)
    telling = words("evidence", "telling") | words("permission", "fact_words")
    if len(sentence_tokens) > _SHORT_WORDS or not telling.isdisjoint(token.word for token in sentence_tokens):
        return False
    return not set(_groups_chosen_from(before.text, cues.words)).isdisjoint(
        _groups_chosen_from(sentence.text, sentence_tokens)
    )


def with_borrowed_verb(sentence: Sentence, cues: Evidence | None) -> Evidence:
    """Return the evidence of a sentence plus the verb it borrows."""
    alone = cues or Evidence((), tuple(tokens(sentence.text)))
    return alone._replace(hits=(*alone.hits, Hit("borrowed", 0, len(sentence.text))))


def _groups_chosen_from(text: str, sentence_tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the groups of alternatives that a sentence chooses from."""
    subject = subject_of(text, sentence_tokens, scope_of(text, sentence_tokens, ()))
    yield from (choice.group for choice in choices(sentence_tokens, subject) if choice.chosen)
