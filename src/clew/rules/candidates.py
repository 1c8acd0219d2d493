"""Which sentences of the user a model is asked about: those that may be rules, taken generously.

The finder has to be certain without a model and misses rules in unusual words. A model that is at hand anyway
judges more sentences: what the tables call a rule, every other candidate, and what the user typed in passing.
Only the user's own words are asked about, never text of tools, nor what the user pastes, quotes or shows as
code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clew.message import Cite, Item, Origin, Role, Text, Trust
from clew.rules.evidence import Evidence, evidence
from clew.rules.find import candidates_in, read_rule
from clew.rules.findings import in_whole_message
from clew.rules.own_words import own_sentences
from clew.rules.rule import Force, Rule
from clew.rules.sentences import sentences
from clew.rules.speech import WHOLE_SPEECH, utterances
from clew.rules.words import tokens

LONGEST_ASKED = 400
"""Characters of a sentence above which it is a paragraph without full stops, and not asked about."""
_TYPED_IN_PASSING = 600
"""Characters up to which all sentences of a message are asked about: of a longer one only the candidates.
Chosen by hand: prompts that people type without preparing them are shorter."""
_FEWEST_WORDS = 3
_RULES = (Force.STANDING, Force.LIKELY)


@dataclass(frozen=True, slots=True)
class AskedSentence:
    """A sentence of the user that a model is asked about, with the text that it is in."""

    rule: Rule
    """The sentence as the finder reads it, with its place."""
    rank: int
    """0 if the tables call it a rule, 1 for another candidate, 2 for what was typed in passing."""
    text: str = ""
    """The text around it; empty if that is gone, because only a digest quotes the sentence."""
    start: int = 0
    """Where the sentence begins in that text."""
    heading: str = ""


def sentences_to_judge(item: Item) -> Iterator[AskedSentence]:
    """Yield the sentences of a message that a model is asked about, in order."""
    message = item.message
    if message.origin is not Origin.SPOKEN:
        return
    for index, part in enumerate(message.parts if message.role is Role.USER else ()):
        if isinstance(part, Text) and part.trust is Trust.USER and len(part.text) <= WHOLE_SPEECH:
            yield from _in_text(part.text, Cite(item.id, index))
    for utterance in utterances(item):
        if utterance.aside and utterance.trust is Trust.USER:  # an answer to a question of a tool
            yield from _in_text(utterance.text, utterance.cite(0, 0))


def _in_text(text: str, source: Cite) -> Iterator[AskedSentence]:
    found = [*candidates_in(text, Trust.USER)]
    if len(text) <= _TYPED_IN_PASSING:
        found += _typed_in_passing(text, found)
    headings = {sentence.start: sentence.heading for sentence in sentences(text)}
    for rule in sorted(found, key=lambda rule: rule.span):
        if len(rule.quote) <= LONGEST_ASKED:
            rank = 0 if rule.force in _RULES else 1 if rule.because else 2
            start = rule.span.start
            yield AskedSentence(in_whole_message(rule, source), rank, text, start, headings.get(start, ""))


def _typed_in_passing(text: str, found: list[Rule]) -> Iterator[Rule]:
    """Yield the other sentences of a short message that ask nothing and have a few words."""
    spans = [rule.span for rule in found]
    for sentence, around in own_sentences(text, Trust.USER):
        if around.document or sentence.text.rstrip().endswith(("?", "？", ":", "：")):
            continue
        seen = evidence(sentence, around) or Evidence((), tuple(tokens(sentence.text)))
        if len(seen.words) < _FEWEST_WORDS:
            continue
        if not any(span.start < sentence.end and sentence.start < span.end for span in spans):
            yield replace(read_rule(sentence, seen, 0, Trust.USER), force=Force.REQUEST, because="")
