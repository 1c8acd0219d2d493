"""Cues that are not phrases: the form of a sentence, and combinations of its phrases.

``evidence.py`` calls ``shapes`` after it has found the phrases ("hits") of ``data/LANGUAGE.toml``, and adds
what is found here. The weights are in ``data/model.toml``: most of these cues make a rule more or less
likely, some decide alone.

================  ==================================================  =====================================
cue               means                                               example; the words of the cue starred
================  ==================================================  =====================================
*of the whole sentence (``shapes``)*
``ban``           a ban on what outlasts the step (``lasting_bans``)  "*u r not to email customers*"
``question``      ends in a question mark                             "why is it always red*?*"
``colon``         introduces something                                "these are the rules*:*"
``tiny``          has one or two words                                "*never mind*"
``long``          has more than 35 words
``measure``       names an amount of text                             "use at most *200 words*"
``always_do``     a label orders what follows; "Never:" is a ``ban``  "*Always*: run the tests"
``leave_now``     a permission that only undoes a rule                "*you can push again*"
*of its words*
``you``           addresses the agent (``_emphasis_hits``)            "*you* must not push"
``shouted``       a cue of a rule in capitals (``_emphasis_hits``)    "*NEVER* push"
``duty``          a named thing must be some way (``_duty_hits``)     "the *migration must* be reversible"
``duty_weak``     ... should be some way                              "*answers should* be short"
``contrast``      a last clause excludes (``_contrast_hits``)         "tabs, *not spaces*"
``bare_no``       ... by "no", outside a task                         "plain SQL, *no ORM*"
``platform``      what the work runs on (``_description_hits``)       "*we're on Python 3.8*"
``reports``       only describes a limit (``_description_hits``)      "*the table has 100 rows at most*"
``error_text``    a program's message (``_error_message_hits``)       "*npm error* you must be logged in"
``fragment``      no sentence (``_fragment_hits``)                    "*before going on*."
``only_the``      restricts to a thing (``_fragment_hits``)           "*only that file*"
*of phrases that meet (``_combined_hits``)*
``limit_number``  a limit with its number                             "*at most 80* columns"
``only_task``     a task with "only" or "without"                     "change *only* the parser"
``gate_task``     a task with a time                                  "run the tests *before merging*"
``each_turn``     a task for each turn                                "end *every message* with a sum"
``if_order``      an order for a case                                 "*if it is missing, leave* it out"
``asked``         a polite question that binds                        "*can you* keep the price the same"
================  ==================================================  =====================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.message.text import lazy_pattern
from clew.rules.cues import Hit
from clew.rules.lasting_bans import lasting_ban
from clew.rules.permission import only_undoes_rule
from clew.rules.words import Token, model
from clew.rules.words import words as known_words

OPENING = 8
"""Characters within which a sentence still opens: "and then return"."""
ORDERS = frozenset(("task", "use", "ensure"))
"""Cues of an order if they open a sentence."""
_OPENS_ORDER = ORDERS | {"conduct"}
"""The same, and cues of an order on how to behave: "answer in ..."."""
_ASKING = ("?", "？", "吗", "嗎")
"""How a question ends."""
# All limits in words and characters are chosen by hand.
_TINY_WORDS = 2
"""Words up to which a sentence is ``tiny``: "thanks", "never mind"."""
_LONG_WORDS = 35
"""Words from which on a sentence says much besides a rule; it is ``long`` if it has more."""
_SHORT_WORDS = 10
"""Words before a last clause that contrasts: "we use plain SQL, no ORM"."""
_BARE_WORDS = 4
"""Words of a sentence that only names: "only that file"."""
_NUMBER_WITHIN = 20
"""Characters after a limit within which its number begins: "at most the last 3"."""
_BOUND_WITHIN = 40
"""Characters before a limit within which its number begins: "80 columns at most"."""
_NUMERAL = lazy_pattern(r"[一二两三四五六七八九十百]+|(?<![A-Za-z\d.])\d++(?:[.,]\d++)*+(?!\.[A-Za-z])")
"""A whole number in digits ("1,500") or Chinese numerals, not part of a name or a version."""
_VERSION = lazy_pattern(
    r"\s*(?:[^\W\d_]{1,8}\s+){0,2}?(?:(?:i?[A-Z][\w.+#-]*\s){1,2}v?\d[\d.]*|[a-z][\w.+#-]*\s?v?\d+\.\d[\d.]*)"
)
"""A platform with its version, after words that may introduce it: "Node 18", "python 3.8"."""
_DESCRIBED = frozenset(("the", "this", "that", "it", "there"))
"""First words of a sentence that describes: "the table has 100 rows at most"."""
_MEASURE = lazy_pattern(
    r"\b\d[\d.,k-]*\s?"
    r"(?:words?|lines?|characters?|chars?|columns?|sentences?|paragraphs?|bullets?|pages?|slides?)\b",
    re.IGNORECASE,
)
"""An amount of text: "200 words"."""
_CAPITALS = lazy_pattern(r"[A-ZÀ-ÖØ-ÞА-ЯЁ]['’]?[A-ZÀ-ÖØ-ÞА-ЯЁ]")
"""Two capitals in a row, without which no word can be shouted: "DON'T"."""
_LABEL = lazy_pattern(r"(never|don't|do not|always|forbidden)\s?:\s", re.IGNORECASE)
"""A label that makes a rule of what follows: "Never: edit this file"."""
_ERROR_TEXT = lazy_pattern(
    r"(?:Error|Exception)\b:\s|\b[Ee]xception\b[^:\n]{1,40}:\s|\bnpm (?:warn|error|ERR!)\s"
    r"|\b(?:error|warning) [A-Z]{2,5}\d{3,5}\b"
)
"""The start of a program's error message in a sentence."""
_TIMES = frozenset(("before", "after", "once", "until"))
"""First words of a time that is no sentence alone: "before going on."."""
_CONNECTING = frozenset(("ok", "okay", "so", "and", "but", "now", "also", "then", "please"))
"""Words before the first word that counts: "and only that file"."""
_NO_THING = frozenset(
    ("in", "on", "at", "when", "if", "after", "for", "once", "with", "by", "then", "works", "fails", "from")
)
"""Words after "only" that do not name a thing."""
_ADDRESS = frozenset(("you", "your", "yourself"))
"""Words that address the agent."""
_IN_CASE = frozenset((*ORDERS, "omit", "skip", "keep", "avoid", "conduct"))
"""Orders that may follow a condition: "if it is missing, leave the setting out"."""
_WITH_ORDER = {
    **{"only_mid": "only_task", "without": "only_task", "gate": "gate_task", "gate_you": "gate_task"},
    "turns": "each_turn",
}
"""Cues added if the sentence opens with an order: "return blocking issues only with their paths"."""
_ASKED = frozenset(
    """
    avoid ban keep keep_way only consent omit prefer prefer_weak must_work always wish behave unfit mine
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Cues that make a rule of a polite question: "can you keep the price the same"."""
_NEGATING = frozenset(("not", "no"))
"""First words of a clause that contrasts."""
_SHOULD = frozenset(("should", "shouldn't", "ought", "need", "needs"))
"""Words of a weak duty; others ("must", "has to") make a strong one."""


def shapes(text: str, words: Sequence[Token], hits: Sequence[Hit], *, spaced: bool) -> Iterator[Hit]:
    """Yield the cues that are not phrases: form, and combinations of the phrases in ``hits``."""
    end = len(text)
    banned = lasting_ban(text) if spaced else None
    if banned and not any(model().cues[hit.cue].kind for hit in hits):
        yield Hit("ban", *banned)
    elif not banned and text.endswith(_ASKING) and not any(hit.cue == "request" for hit in hits):
        yield Hit("question", end - 1, end)
    if text.endswith((":", "：")):
        yield Hit("colon", end - 1, end)
    if spaced and len(words) <= _TINY_WORDS:
        yield Hit("tiny", 0, end)
    if len(words) > _LONG_WORDS:
        yield Hit("long", 0, end)
    if measure := _MEASURE.search(text):
        yield Hit("measure", *measure.span())
    yield from _emphasis_hits(text, words, hits)
    yield from _duty_hits(words, hits)
    yield from _contrast_hits(text, words, hits)
    if label := _LABEL.match(text):
        yield Hit("always_do" if label[1].lower() == "always" else "ban", *label.span(1))
    yield from _combined_hits(text, words, hits)
    yield from _description_hits(text, words, hits)
    yield from _error_message_hits(text, hits)
    yield from _fragment_hits(text, words, hits)
    if only_undoes_rule(words, hits):
        yield Hit("leave_now", 0, end)


def _duty_hits(words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield obligations of a named thing (not "it" or "we"): it must or should be some way."""
    obliged = {hit.start: hit for hit in hits if hit.cue == "must_thing"}
    for i, token in enumerate(words[1:-1], start=1):
        if token.start not in obliged or token.opens or _is_guess(words[i + 1 : i + 3]):
            continue
        subject = words[i - 1]
        if "'" not in subject.word and subject.word not in known_words("evidence", "not_named"):
            cue = "duty_weak" if token.word in _SHOULD else "duty"
            yield Hit(cue, subject.start, obliged[token.start].end)


def _is_guess(behind: Sequence[Token]) -> bool:
    """Return True for "must have been" and "must be the reason", which guess rather than oblige."""
    first, last = behind[0].word, behind[-1].word
    if first == "be":
        return last in known_words("evidence", "guessed")
    return first == "have" and last.endswith(("ed", "en", "had"))


def _contrast_hits(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield a last clause that excludes something: "tabs, not spaces", "plain SQL, no ORM"."""
    opening = next((i for i in range(len(words) - 1, 0, -1) if words[i].opens), 0)
    if not 0 < opening <= _SHORT_WORDS or words[opening].word not in _NEGATING:
        return
    # "It is slow, not wrong" is a statement; in "I want plain SQL, no ORM" the last clause is not.
    telling = known_words("evidence", "telling")
    tells_at_last = not telling.isdisjoint(token.word for token in words[opening:])
    tells = tells_at_last or not telling.isdisjoint(token.word for token in words[:opening])
    if tells_at_last or (tells and words[opening].word == "not"):
        return
    joint = text[words[opening - 1].end : words[opening].start]
    if "(" in joint:
        return  # "the local file (not the example)" explains
    yield Hit("contrast", words[opening].start, words[-1].end)
    # After a task it is a detail of the product: "return all of them, no exchange".
    other = tells or ":" in joint or any(hit.cue in ("trouble", "task") for hit in hits)
    if words[opening].word == "no" and not other:
        yield Hit("bare_no", words[opening].start, words[-1].end)


def _emphasis_hits(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the words that address the agent, and cues in capitals."""
    for token in words:
        if token.word in _ADDRESS:
            yield Hit("you", token.start, token.end)
    if not _CAPITALS.search(text):
        return
    cues = model().cues
    for hit in hits:
        shouted = any(
            len(word) > 2 and word.isupper() and not word[-1].isdigit()
            for word in text[hit.start : hit.end].split()
        )
        if shouted and cues[hit.cue].kind is not None:
            yield Hit("shouted", hit.start, hit.end)


def _description_hits(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield named platforms, and limits that only describe a thing: "it has 100 rows at most"."""
    for hit in hits:
        if hit.cue == "runs_on" and (version := _VERSION.match(text, hit.end)):
            yield Hit("platform", hit.start, version.end())
        elif hit.cue == "limit" and words and words[0].word in _DESCRIBED:
            holding = known_words("evidence", "holding")
            if any(token.word in holding for token in words if token.start < hit.start):
                yield Hit("reports", words[0].start, hit.end)


def _error_message_hits(text: str, hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield a program's error message, if no cue of a rule precedes it."""
    may_be = "rror" in text or "xception" in text or "npm" in text or "warning" in text
    if may_be and (error := _ERROR_TEXT.search(text)):
        cues = model().cues
        if not any(cues[hit.cue].kind is not None and hit.start < error.start() for hit in hits):
            yield Hit("error_text", *error.span())


def _fragment_hits(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield incomplete sentences: a title, a bare time ("before going on."), a bare "only that file"."""
    if _is_title(text, words, hits):
        yield Hit("fragment", 0, len(text))
        return
    first = next((i for i, token in enumerate(words) if token.word not in _CONNECTING), len(words))
    rest = words[first:]
    if not rest or any(token.opens for token in rest[1:]):
        return
    if rest[0].word in _TIMES and text[-1] in ".;":
        yield Hit("fragment", rest[0].start, rest[-1].end)
    elif rest[0].word == "only" and 1 < len(rest) <= _BARE_WORDS and rest[1].word not in _NO_THING:
        yield Hit("only_the", rest[0].start, rest[-1].end)


def _is_title(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> bool:
    """Return True if a sentence only announces: "Focus on:", "IMPORTANT", "In future;"."""
    if len(words) <= _TINY_WORDS and text.endswith((":", "：")):
        return True
    if text.isupper():
        cues = model().cues
        return {hit.cue for hit in hits if cues[hit.cue].kind is not None} == {"rule_word"}
    whole = (words[0].start, words[-1].end) if words else (0, 0)
    return any(hit.cue == "lasting" and (hit.start, hit.end) == whole for hit in hits)


def _number(text: str, words: Sequence[Token], start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a number between two positions of a sentence, in digits or in words."""
    numbers = known_words("evidence", "numbers")
    for token in words:
        if start <= token.start < end and token.word in numbers:
            return token.start, token.end
    figure = _NUMERAL.search(text, max(0, start))
    return figure.span() if figure and figure.start() < end else None


def _combined_hits(text: str, words: Sequence[Token], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield numbers next to a limit, and cues that restrict a task the sentence opens with."""
    opens_with_order = any(hit.cue in _OPENS_ORDER and hit.start <= OPENING for hit in hits)
    for hit in hits:
        if hit.cue == "limit":
            if number := _number(text, words, hit.end, hit.end + _NUMBER_WITHIN):
                yield Hit("limit_number", hit.start, number[1])
            elif number := _number(text, words, hit.start - _BOUND_WITHIN, hit.start):
                yield Hit("limit_number", number[0], hit.end)
        if opens_with_order and hit.cue in _WITH_ORDER and not (hit.cue == "turns" and text.endswith(":")):
            yield Hit(_WITH_ORDER[hit.cue], hit.start, hit.end)
    case = next((hit for hit in hits if hit.cue == "if" and hit.start <= OPENING), None)
    order = case and next((hit for hit in hits if hit.cue in _IN_CASE and hit.start > case.end), None)
    if case and order:
        yield Hit("if_order", case.start, order.end)
    ask_hit = next((hit for hit in hits if hit.cue == "request"), None)
    if ask_hit and any(hit.cue in _ASKED for hit in hits):
        yield Hit("asked", ask_hit.start, ask_hit.end)
