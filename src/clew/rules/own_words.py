"""Yield the sentences of a text that its speaker wrote, each with where it is in the text.

Of "Fix this: <pasted log> … and never push", the sentences are "Fix this:" and "and never push".
``sentences.py`` splits the text and leaves out code and quotes line by line; here whole passages are left
out: pasted documents, forwarded mail, terminal output. ``find.py`` looks for rules in what remains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.message import Trust
from clew.message.text import lazy_pattern
from clew.rules.evidence import Surroundings
from clew.rules.foreign import foreign
from clew.rules.languages import guess
from clew.rules.lines import Spans
from clew.rules.pasted import (
    LONG,
    NOTHING_PASTED,
    is_briefing,
    is_deep,
    is_own_paragraph,
    is_status,
    pasted_document,
    printed_spans,
    tasks,
)
from clew.rules.sentences import Sentence, sentences
from clew.rules.words import words_again

_SAMPLE = 2_000
"""Characters from which the language of a text is guessed."""
_TYPED = 4_000
"""Characters above which nobody types a text: of a prompt that long, only its start and its end are speech.
In three samples of sessions that were new to the finder, 17 of 71 pins from such texts were right."""
_BOOK = 8_000
"""Characters above which a text is a specification: its lists of rules are about the product (by hand)."""
_JSON_STRING = lazy_pattern(r'\s*"[^"]*\\"')
"""The start of a text that a program wrote as a JSON string: a person does not type escaped quotes."""
_NOTE = lazy_pattern(r"\s*#(?!include|define|region|pragma) ?[^\W\d][^\n#]{14,400}\s*\Z")
"""A message of one line after "#", which Claude Code keeps as a note for later: no heading, no comment."""


def own_sentences(text: str, trust: Trust) -> Iterator[tuple[Sentence, Surroundings]]:
    """Yield the speaker's own sentences, each with its surroundings."""
    by_user = trust is Trust.USER
    if by_user and _JSON_STRING.match(text):
        return
    if by_user and _NOTE.match(text):
        text = text.replace("#", " ", 1)  # same positions
    language = guess(text[:_SAMPLE], words_again(text[:_SAMPLE]))
    paste = pasted_document(text) if by_user else NOTHING_PASTED
    others = Spans(iter(foreign(text) if by_user else ()))
    output = Spans(iter(printed_spans(text) if by_user else ()))
    is_prompt = trust > Trust.USER and len(text) >= LONG
    briefs = not is_prompt and is_briefing(text)
    handed_on = Spans(tasks(text) if briefs else iter(()))
    # In which texts a sentence far from the start and the end is mostly not typed by the user:
    has_depth = len(text) > _TYPED if briefs else by_user and not is_prompt and not _is_list_of_rules(text)
    for sentence in sentences(text, tags_are_speech=trust > Trust.USER):
        start, end = sentence.start, sentence.end
        in_document = paste.start <= start < paste.end
        if (in_document and paste.material) or is_status(sentence.text):
            continue
        if output.hold(start) and not is_own_paragraph(text, start, end):
            continue
        if others.hold(start):
            continue
        deep = has_depth and is_deep(text, start, end) and not _is_plain_line(text, sentence)
        briefed = is_prompt or (briefs and not handed_on.hold(start))
        placed = sentence._replace(heading="", lead="") if deep and len(text) > _BOOK else sentence
        yield placed, Surroundings(language, in_document, briefed, is_prompt, deep, len(text))


_RULE_WORD = lazy_pattern(
    r"\b(?:never|always|do\s+not|don['’]t|must(?:\s+not)?|no\s+new|ask\s+me|only|without)\b", re.IGNORECASE
)
_PLAIN_RULE = 160
"""Characters of a sentence that says little but a rule..."""
_MOSTLY = 0.8
"""...and the share of such sentences from which a text is a list of rules. Both chosen by hand."""


def _is_list_of_rules(text: str) -> bool:
    """Return True if nearly every sentence of a long text is a plain rule: then it is no specification."""
    if len(text) < LONG or len(_RULE_WORD.findall(text)) * _PLAIN_RULE < len(text):
        return False
    said = [one.text for one in sentences(text)]
    plain = sum(len(one) <= _PLAIN_RULE and _RULE_WORD.search(one) is not None for one in said)
    return plain >= _MOSTLY * len(said)


_NAMES_FILE = lazy_pattern(r"\w\.[a-z]{2,5}\b|[\w.-]+/|\byet\b")
_PLAIN_ORDER = lazy_pattern(r"(?:important\W+)?(?:please )?(?:never|do not|don['’]t|always)\b", re.IGNORECASE)


def _is_plain_line(text: str, sentence: Sentence) -> bool:
    """Return True if a sentence is a line of its own that opens with a plain ban or order."""
    start, end = sentence.start, sentence.end
    alone = text[:start].endswith("\n") and text[end : end + 1] in ("", "\n")
    if alone and len(text) > _TYPED:
        alone = is_own_paragraph(text, start, end) or _NAMES_FILE.search(sentence.text) is not None
    return alone and _PLAIN_ORDER.match(sentence.text) is not None
