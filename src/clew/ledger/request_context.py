"""What a message states beside its requests: problems, and the conditions of a request.

"The PDF is cut off. Can you estimate an XLSX export?" asks for two things, though the first is a statement.
In "once the parser is done, renew the certificate", a report on the parser does not speak of the certificate.
``request_parts`` uses both: what is stated is a part beside which a request may be left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.ledger.non_requests import asks_nothing_new, states_only, states_trouble
from clew.ledger.stems import stems
from clew.message.text import lazy_pattern
from clew.rules.sentences import Sentence


class Problem(NamedTuple):
    """A problem that a message states, without asking for anything in the same words."""

    start: int
    end: int
    is_separate: bool
    """Whether the message says that it is another matter: "also, the page is slow"."""


class Statements:
    """The statements before each request of a text; give it all sentences in order."""

    def __init__(self, text: str) -> None:
        """Take the text."""
        self._text = text
        self._said: list[Sentence] = []
        """The statements of the running paragraph, until a request follows them."""
        self._waiting: Problem | None = None
        """A problem that a paragraph before the first request states."""
        self._asked = False
        self._last_end = 0

    def add(self, sentence: Sentence, *, asks: bool) -> tuple[int, list[Problem]]:
        """Return where a request begins, with the statements that belong to it, and problems before it."""
        problems: list[Problem] = []
        if sentence.item or _PARAGRAPH.search(self._text, self._last_end, sentence.start):
            problems += self.end()
        self._last_end = sentence.end
        if not asks:
            if asks_nothing_new(sentence.text) or states_only(sentence.text) or sentence.text[-1] in ":?":
                self._said = []  # a greeting, a rule or a fact
            elif self._said or not self._asked or _ANOTHER.match(sentence.text):
                self._said.append(sentence)
            return sentence.start, problems
        problem, waiting = _problem_in(self._said), self._waiting
        said, self._said, self._waiting, self._asked = self._said, [], None, True
        is_other = _ANOTHER.match(said[0].text if said else sentence.text) is not None
        if waiting and (is_other or not self._is_about(sentence, waiting)):
            problems.append(waiting._replace(is_separate=waiting.is_separate or is_other))
        asks_for_other = _ANOTHER.match(sentence.text) is not None
        is_introduced = problem is not None and problem.is_separate and not asks_for_other
        if problem and not is_introduced and not self._is_about(sentence, problem):
            return sentence.start, [*problems, problem._replace(is_separate=asks_for_other)]
        return said[0].start if said else sentence.start, problems

    def end(self) -> list[Problem]:
        """End a paragraph; return the problems in it that are a matter of their own."""
        problem, self._said = _problem_in(self._said), []
        if problem is None:
            return []
        if problem.is_separate:
            waiting, self._waiting = self._waiting, None
            return [waiting._replace(is_separate=True), problem] if waiting else [problem]
        if not self._asked:
            self._waiting = problem
        return []

    def _is_about(self, request: Sentence, problem: Problem) -> bool:
        """Return True if a request refers to a problem, or shares a word with it."""
        if _REFERS.search(request.text):
            return True
        return not stems(request.text).isdisjoint(stems(self._text[problem.start : problem.end]))


def _problem_in(said: list[Sentence]) -> Problem | None:
    if not any(states_trouble(sentence.text) for sentence in said):
        return None
    return Problem(said[0].start, said[-1].end, _ANOTHER.match(said[0].text) is not None)


def has_condition(text: str) -> bool:
    """Return True if a request in a text may have a condition: "once the tests pass, …"."""
    return _CONDITION_BEFORE.match(text) is not None or _CONDITION_AFTER.search(text) is not None


def without_condition(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a sentence without the condition that it begins or ends with."""
    before = _CONDITION_BEFORE.match(text, start, end)
    if before:
        return before.end(), end
    after = _CONDITION_AFTER.search(text, start, end)
    return start, after.start() if after else end


# What the patterns recognise ---------------------------------------------------------------------------

_PARAGRAPH = lazy_pattern(r"\n[ \t]*\n")
"""A blank line."""
_ANOTHER = lazy_pattern(
    r"""\W*(?:(?:and|but|oh|ok(?:ay)?|hey|now|so)\b\W+)*
    (?:also|separately|besides|another|unrelated(?:ly)?|by\ the\ way|btw|one\ more|second(?:ly)?|third(?:ly)?
      |in\ addition|additionally|apart\ from\ that|on\ top\ of\ that|other)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What begins another matter: "And separately:", "By the way"."""
_REFERS = lazy_pattern(
    r"\b(?:it|its|this|that|these|those|them|they|both|there|here|same"
    r"|the\ (?:issue|problem|bug|error|failure|cause|reason|culprit))\b",
    re.IGNORECASE,
)
"""Words that refer to what was said before."""
_DONE = (
    r"(?:done|finish\w*|ready|complete[ds]?|through|merged|deployed|released|pass(?:es|ed)?|green|works?"
    r"|over|landed)"
)
"""Words for the end of some work."""
_CONDITION_BEFORE = lazy_pattern(
    rf"""(?:\W*(?:ok(?:ay)?|and|also|then|please)\b)*\W*
    (?:(?:once|as\ soon\ as)\b|(?:when|after)\b(?=[^,;:.!?\n]*\b{_DONE}\b))
    [^,;:.!?\n]{{3,80}},\s+(?:then\s+)?""",
    re.VERBOSE | re.IGNORECASE,
)
"""A condition before a request: "when you're done with the parser, "."""
_CONDITION_AFTER = lazy_pattern(
    rf""",?\s+(?:(?:once|as\ soon\ as)\s+(?:you|the|this|that|it|we|everything|all)\b
      |(?:when|after)\ (?=you\b)(?=[^;:.!?\n]*\b{_DONE}\b))
    [^;:.!?\n]{{2,80}}[.!]*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""A condition after a request: " once the tests pass"."""
