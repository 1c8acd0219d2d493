"""Steps that the model announces ("Next I'll add the tests"), and when they count as carried out.

``announced_steps(text)`` finds the sentences, ``Announcements`` tracks what is left of them. A step is
closed if the calls after it name most of its words and the model speaks of something else, or if files are
changed after it and the tests pass then. What the model says it is doing next ("next I'm exporting the log")
is closed by the results of calls that name some of it, and if it only looks ("next I'm reading the parser"),
by those of its next calls. A later announcement replaces it. ``Talk`` opens and closes the work items.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.ledger.exchange import Asked
from clew.ledger.loop import Loop
from clew.ledger.part_reports import announced_stems, named_in
from clew.ledger.phrases import Phrases, sentences_with
from clew.ledger.tool_actions import CHANGING
from clew.message import Cite
from clew.message.text import AnyCasePattern, lazy_pattern

_FEWEST_WORDS, _MISSING = 3, 0.4
"""Content words of an announcement from which it can be recognised in calls, and the share of them that the
calls which carry it out need not name; chosen by hand."""
_MISSING_UNDERWAY = 0.7
"""The same share for a step that the model is taking already: its calls follow at once. Chosen by hand."""


class AnnouncedSteps(NamedTuple):
    """The spans of a text that announce something."""

    later: list[tuple[int, int]]
    """For another time: the next report does not keep such a promise."""
    next: list[tuple[int, int]]


def announced_steps(text: str) -> AnnouncedSteps:
    """Return what a text of the model announces; an offer is no announcement."""
    if not _PROMISE_PHRASES.may_match(text):
        return AnnouncedSteps([], [])
    found = sentences_with(_PROMISE, _PROMISE_SIGNS, text)
    steps = [span for span in found if not _OFFER.match(text, *span)]
    later = [span for span in steps if _PUT_OFF.search(text, *span)]
    return AnnouncedSteps(later, [span for span in steps if span not in later])


def changes_course(text: str) -> bool:
    """Return True if a text of the model says that it chooses another way than before."""
    return _CHANGES_COURSE.search(text) is not None


@dataclass(slots=True)
class Announcements:
    """What is left to do of the steps announced last; the work items themselves are the caller's."""

    undone: dict[str, list[str]] = field(default_factory=dict)
    """By id of an announcement: the stems of its words that no call after it names."""
    begun: list[str] = field(default_factory=list)
    """Ids of announcements after which files were changed."""

    def add(self, id_: str, text: str) -> None:
        """Add a step."""
        self.undone[id_] = sorted(announced_stems(text))

    def clear(self) -> None:
        """Forget all steps, because others are announced."""
        self.undone, self.begun = {}, []

    def work(self, calls: list[Asked], items: Mapping[str, Loop]) -> None:
        """Note which words of steps announced in earlier messages calls name that do more than look."""
        if not self.undone:
            return
        text, message = named_in(calls), calls[0].cite.message
        for id_, words in self.undone.items():
            if id_ in items and _only_looks(items[id_].text):
                self.undone[id_] = []
            elif text and id_ in items and items[id_].source.message != message:
                self.undone[id_] = [word for word in words if word not in text]
                if id_ not in self.begun and any(asked.action.kind in CHANGING for asked in calls):
                    self.begun.append(id_)

    def carried_out(self, items: Mapping[str, Loop], *, underway: bool = False) -> list[str]:
        """Return the ids of the open steps that calls carried out, and forget these and closed ones.

        With ``underway`` only those of steps that the model was taking as it announced them.
        """
        done = []
        for id_, missing in tuple(self.undone.items()):
            loop = items.get(id_)
            words = announced_stems(loop.text) if loop else ()
            share = _MISSING_UNDERWAY if loop and _UNDERWAY.search(loop.text) else _MISSING
            if loop is None:
                del self.undone[id_]
            elif underway and share != _MISSING_UNDERWAY:
                continue
            elif (not missing and underway) or (
                len(words) >= _FEWEST_WORDS and len(missing) <= len(words) * share
            ):
                del self.undone[id_]
                done.append(id_)
        return done

    def tested(self, by: Cite, items: Mapping[str, Loop], *, passed: bool) -> list[str]:
        """Return the ids of the open steps that a test run or check shows to be done, and forget them."""
        done = []
        for id_ in tuple(self.undone):
            loop = items.get(id_)
            if loop is None or loop.source.message == by.message or _AFTER_TESTS.search(loop.text):
                continue
            if (passed and id_ in self.begun) or _RUNS_TESTS.search(loop.text):
                del self.undone[id_]
                done.append(id_)
        return done


def _only_looks(step: str) -> bool:
    """Return True if the model says that it is reading something, and nothing else: its next calls do it."""
    return _LOOKS.search(step) is not None and _FOLLOWED.search(step) is None


# What the patterns recognise ---------------------------------------------------------------------------

_UNDERWAY = lazy_pattern(r"\b(?:i[’']m|i am|we[’']re|we are) (?!going\b)\w+ing\b", re.IGNORECASE)
"""A step that is being taken: "next I'm exporting the log"."""
_LOOKS = lazy_pattern(
    r"\b(?:i[’']m|i am|we[’']re|we are) (?:\w+ly )?(?:re-?)?(?:reading|checking|looking|tracing|inspecting"
    r"|searching|exploring|reviewing|examining|scanning|gathering|mapping|locating|confirming)\b",
    re.IGNORECASE,
)
"""A step that changes nothing, and is being taken: "next I'm reading the parser"."""
_FOLLOWED = lazy_pattern(r"\b(?:i|we)(?:[’']ll|\s+(?:will|shall))\b", re.IGNORECASE)
"""Another step after it: "…, then I'll patch it"."""
_RUNS_TESTS = lazy_pattern(
    r"\b(?:re-?run|run|execute|verify|validate)\b[^.;]*\b(?:tests?|suite|checks?|lint\w*|type-?check\w*)\b",
    re.IGNORECASE,
)
"""A step that the test run itself carries out: "run the test suite again"."""
_AFTER_TESTS = lazy_pattern(
    r"\b(?:commit|push|merge|deploy|release|publish|pull\ request|PR|docs?|documentation|README|changelog"
    r"|report|summar\w+|clean\ ?up|then)\b(?!\s+I\b)",
    re.IGNORECASE,
)
"""Steps that follow the tests, or a second step."""
_LATER = r"(?:i|we)(?:[’']?ll|\s+(?:will|shall))\s+(?:\w[^.!?\n]{0,120}\s)?(?:later|afterwards|tomorrow)\b"
"""A promise for another time: "I'll add the docs later"."""
_PUT_OFF = AnyCasePattern(rf"\b{_LATER}")
"""A promise for another time: the next report does not keep it."""
_PROMISE = AnyCasePattern(
    rf"""
    \b(?:
      (?:next|then|after\s+that|afterwards|once\s+[^.\n]{{3,80}}?)\b,?\s+
      (?:i[’']?ll|i\s+will|i[’']m\s+going\s+to|we[’']?ll)\s+\w+
    | i[’']?(?:ll|\s+will)\s+(?:then|next)\s+\w+
    | next\s+(?:i[’']m|step\s+is|up\s+is|up:|i\s+(?:need|want)\s+to)\b
    | {_LATER}
    )
  | ^\W*(?:next\s+steps?|remaining(?:\s+(?:work|tasks?|steps?))?|still\s+(?:to\s+do|open|left)|to\s+do\s+next
      |follow-?ups?)\W*:\s*(?!\W*(?:none|nothing)\b)\S
    """,
    re.VERBOSE | re.MULTILINE,
)
"""An announced step: "Next I'll add the tests", "Remaining work: the docs"."""
_CHANGES_COURSE = lazy_pattern(
    r"""\b(?:
      (?:a|an|the)\s+(?:\w+\s+)?(?:different|another|alternative|better|simpler|cleaner|new)\s+
      (?:approach|way|solution|strategy|design)
    | another\s+(?:approach|way|solution|strategy|design)
    | (?:solution|fix|way\ out)\s+is\s+(?:not\s+)?to
    | (?:that|this|the)\s+(?:\w+\s+)?(?:approach|plan|design|solution)\s+
      (?:won[’']t|doesn[’']t|didn[’']t|does\s+not|did\s+not|will\s+not|can(?:no|[’'])t)\s+work
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Another way than before: "the solution is to extract them", "let me try a different approach"."""
_OFFER = lazy_pattern(
    r"\W*(?:if|when|once)\s+you(?:[’']d|\s+would)?\s+(?:want|like|prefer|wish|agree|approve)\b", re.IGNORECASE
)
"""How the model offers a step; it is open work only if the user asks for it."""
_PROMISE_PHRASES = Phrases(
    ("next then after afterwards once later tomorrow", "ll ill well will shall going"),
    ("next", "step steps up need want m do"),
    ("still", "do open left"),
    ("remaining followup followups",),
    ("follow", "up ups"),
)
"""The words that each announcement has, as a prefilter."""
_PROMISE_SIGNS = (
    *("next", "hen i", "hen,", "hen we", "ll then", "fter that", "fterwards", "nce ", "emaining"),
    *("till to", "till open", "till left", "o do next", "ollow-up", "ollowup", " later", " tomorrow"),
)
"""Substrings of which every announcement contains at least one, as a prefilter."""
