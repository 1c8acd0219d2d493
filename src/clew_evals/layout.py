"""How a view is laid out: the sections of what a policy wrote, and what it says that the user asks last.

A view may present finished work as open: then the agent does it again. To judge that, the lines under a title
like ``Still open:`` are read, and those under ``Now:`` for the goal.

This is the one place that knows section titles. They are matched by their words, in any form of heading
(``Now:``, ``## Now``, ``**Now**``), so that other policies' summaries are read by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.message import Item, Origin, Text
from clew_evals.passages import passages, text_of, view_text
from clew_evals.turns import EvalTurn, goals_of, turns_of

GOAL = re.compile(
    r"(?:now|goals?|(?:current|last|latest) (?:goal|task|request|state|work)|tasks?|primary request"
    r"|objective)\b",
    re.I,
)
OPEN = re.compile(
    r"(?:(?:still |what is )?open|to ?-?do|pending|remaining|next(?: steps?)?|not (?:yet )?done)\b", re.I
)
VALID = re.compile(r"(?:rules?|decided|decisions?|constraints?|instructions?|preferences?|agreed)\b", re.I)
"""Titles of sections by what they present: the goal, open work, what holds. Matched at a title's start."""
ASKED = re.compile(
    r"(?:user|asked|the user asked|(?:first |last |latest |original )?request|human)\b[^:\n]{0,40}: ?", re.I
)
"""How a line begins that quotes the user outside of any section of the kind above."""
ENDING = re.compile(
    r"(?:(?:the )?agent|assistant|reported|result|calls? so far|story|findings|files|facts|</?[\w-]*digest)\b"
    rf"|(?:{GOAL.pattern}|{OPEN.pattern}|{VALID.pattern})[^\n:]{{0,30}}:",
    re.I,
)
"""How a line begins that ends such a quote."""
LONGEST_QUOTE = 600
DONE = re.compile(
    r"\b(?:done|finished|completed?|answered|reported|closed|fixed|merged|overruled|replaced|superseded"
    r"|withdrawn|revoked|lifted|cancelled|dropped|no longer|formerly|was asked)\b|\[x\]|✅|✓|☑|→|->",
    re.I,
)
"""Marks by which a line says that something is over, or what came of it."""

_TITLE = re.compile(r"(?:#{1,6} +|\*\*)?(?P<title>[A-Z][^\n:*#]{1,60}?)(?:\*\*)?(?P<colon>:)?(?:\*\*)?\s*")
_MOST_TITLE_WORDS = 7
_INLINE = re.compile(
    rf"(?P<title>{GOAL.pattern}|{OPEN.pattern}|{VALID.pattern})[^\n:]{{0,30}}: +(?P<rest>\S.*)", re.I
)
"""A title with its text on the same line."""


@dataclass(frozen=True, slots=True)
class SummarySection:
    """A titled part of a written text; the title is empty for what comes before the first."""

    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return its lines as one text."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class SummaryLayout:
    """One view, in the pieces that probes ask about."""

    text: str
    """All that it says."""
    sections: tuple[SummarySection, ...]
    """Of what the policy wrote."""
    requested: tuple[str, ...]
    """What the user asks last by this view: texts of which each states it. For a go-ahead ("yes, do it") that
    is what the agent had proposed."""

    def under(self, titles: re.Pattern[str]) -> list[SummarySection]:
        """Return the sections with such a title."""
        return [section for section in self.sections if titles.match(section.title)]


def layout_of(view: Sequence[Item]) -> SummaryLayout:
    """Take a view apart."""
    written = [
        text_of(part)
        for item in view
        if item.message.origin is Origin.SUMMARY
        for part in item.message.parts
        if isinstance(part, Text)
    ]
    sections = tuple(section for text in written for section in sections_of(text))
    kept = [passage for passage in passages(view) if view[passage.turn].message.origin is not Origin.SUMMARY]
    quoted = [turn for text in written for turn in _quoted(text)]
    return SummaryLayout(view_text(view), sections, goals_of([*quoted, *turns_of(kept)]))


def _quoted(text: str) -> Iterator[EvalTurn]:
    """Yield what a written text quotes of the user, in order."""
    asked = ""
    for line in map(bare, text.split("\n")):
        match = ASKED.match(line)
        if asked and (match or ENDING.match(line)):
            yield EvalTurn(asked, "", ended=True)
            asked = ""
        if match:
            asked = line[match.end() :]
        elif asked and len(asked) < LONGEST_QUOTE:
            asked += f"\n{line}"  # the quote goes on
    if asked:
        yield EvalTurn(asked, "", ended=True)


def sections_of(text: str) -> list[SummarySection]:
    """Return the sections of a text.

    The first title sets the form of all: after ``## Now``, a line ``Open:`` is text, probably quoted.
    """
    title, form = "", ""
    lines: list[str] = []
    sections = []
    for line in text.split("\n"):
        heading = _title_of(line)
        if heading and form in ("", _form_of(line)):
            sections.append(SummarySection(title, tuple(lines)))
            title, form = heading.title, _form_of(line)
            lines = [heading.rest] if heading.rest else []
        elif line.strip():
            lines.append(line)
    sections.append(SummarySection(title, tuple(lines)))
    return [section for section in sections if section.lines]


class _Title(NamedTuple):
    title: str
    rest: str = ""
    """The text after it on the same line."""


def _title_of(line: str) -> _Title | None:
    """Return the title that a line is; None for every other line."""
    if inline := _INLINE.fullmatch(line):
        return _Title(inline["title"], inline["rest"])
    match = _TITLE.fullmatch(line)
    if match is None or len(match["title"].split()) > _MOST_TITLE_WORDS or not _form_of(line):
        return None
    return _Title(match["title"].strip())


def _form_of(line: str) -> str:
    """Return how a title is marked: as a heading (``#``), in bold (``**``), by its colon alone, or not."""
    return next((form for form in ("#", "**") if line.startswith(form)), ":" if ":" in line else "")


def bare(line: str) -> str:
    """Return a line without its mark and its bracketed source: ``use tabs`` for ``- [m12] use tabs``."""
    return re.sub(r"^[\s>*+~•-]*(?:\[[\w,; .-]{1,40}\]\s*)?[\s>*+~•-]*", "", line)
