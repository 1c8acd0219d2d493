"""Split a request in another language than English into its steps, by its form alone.

"Ändere die Adresse, storniere die Bestellung und schicke dem Kunden eine Bestätigung." has three: after a
comma or an "and" stands a word that is no function word, and after that a determiner. No verbs are known, so
objects in a row ("die Doku, das Changelog") stay one step. ``request_parts`` uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.message.text import lazy_pattern
from clew.rules.languages import is_function_word
from clew.rules.prefilter import CHUNKS, MARKS

_SHORTEST = 3
"""Words of a step: a verb, a determiner and what it is about."""


def may_have_steps(text: str) -> bool:
    """Return False if a text has nothing that joins two steps."""
    return bool(MARKS[text] & _AND_MARK)


def steps(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the steps that a text asks for; none if it is one step or anything else."""
    found: list[tuple[int, int]] = []
    for sentence in _SENTENCE.finditer(text):
        if sentence[0].endswith(("?", ":")):
            continue
        start, has_steps = sentence.start(), _is_step(sentence[0])
        for joint in _JOINT.finditer(text, sentence.start(), sentence.end()) if has_steps else ():
            if _is_step(text[joint.end() : sentence.end()]):
                found.append((start, joint.start()))
                start = joint.end()
        if has_steps:
            found.append((start, sentence.end()))
    if len(found) > 1:
        yield from found


def _is_step(text: str) -> bool:
    """Return True if a text begins like an order: "bitte ändere die Adresse"."""
    opening = _OPENING.match(text)
    words = text[opening.end() if opening else 0 :].split(None, _SHORTEST)
    if len(words) < _SHORTEST:
        return False
    verb, determiner = words[0].lower(), words[1].lower()
    if not verb.isalpha() or is_function_word(verb) or verb in _SUBORDINATE:
        return False
    return determiner in _DETERMINERS


# What the patterns recognise ---------------------------------------------------------------------------

_SENTENCE = lazy_pattern(r"(?=\S)[^.!?\n]+(?:[.](?=\S)[^.!?\n]+)*[.!?]?")
"""A sentence or line; a full stop within a word does not end it."""
_JOINT = lazy_pattern(
    r",\s+(?:(?:und|y|e|et|en|dann|luego|puis|poi|danach)\s+)*"
    r"|\s+(?:und|y|e|et|en)\s+(?:(?:dann|luego|después|ensuite|puis|poi|danach)\s+)?",
    re.IGNORECASE,
)
"""What may join two steps."""
_AND_MARK = CHUNKS.mark_words(("und", "y", "e", "et", "en"))
"""Set for texts with one of these words."""
_OPENING = lazy_pattern(
    r"\W*(?:(?:bitte|danke|gut|okay|ok|ja|por\s+favor|vale|s[’']il\s+(?:te|vous)\s+pla[iî]t|merci|oui|sí"
    r"|per\s+favore|alsjeblieft|graag)\b\W*)*",
    re.IGNORECASE,
)
"""What may come before the first order."""
_DETERMINERS = frozenset(
    """
    der die das den dem des ein eine einen einem einer alle beide mein meine meinen dein ihr ihre unser unsere
    el la los las un una unos al le les lo il gli une des du mes ma mon notre votre nos mi mis tu su sus
    nuestro nuestra todos todas tous toutes de het een mijn onze
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Determiners of German, Spanish, French, Italian and Dutch, whose orders begin with the verb."""
_SUBORDINATE = frozenset(
    """
    damit nachdem bevor falls sodass sobald sofern obwohl während denn aber sondern sowie also porque aunque
    mientras antes después pero sino parce quand puisque lorsque tandis mais donc perché quando mentre però
    zodat omdat nadat voordat terwijl maar als welche welcher welches deren dessen
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Words that begin a subordinate clause or a contrast, not an order."""
