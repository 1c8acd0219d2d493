"""What the output of a failed run says about each failure: the message, both values, and where it is.

``failure_blocks(text)`` yields the lines of one failure after another, as offsets, so that an excerpt shows
them together: an assertion without its values does not say what is wrong. Of a stack trace only the frames in
the project's own files belong to it. In the output of mocha these are four lines of twelve::

    AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    + '04-04 12:00'
    - '04-04 09:00'
    at Context.<anonymous> (out/test/sessions.test.js:152:16)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from clew.compaction.propose.lines import Span, line_end, lines_backwards, lines_of
from clew.message.text import lazy_pattern

SEARCHED = 200_000
"""Characters that are searched for failures, as for the terms of the current work."""
LONGEST_BLOCK, MOST_SHOWN = 40, 14
"""Lines behind the message of a failure that may belong to it, and how many are shown at most: values that
take more are a file or a page, of which the first lines say what it is. Chosen by hand."""
MOST_PLACES = 2
"""Lines with places in the project's own files that are shown of one failure: the test, and what it called;
or the statement and its place."""
ABOVE = 1_000
"""Characters above a message that are searched for the statement that failed."""
MOST_BLOCKS = 40
"""Failures of one output that are looked at; an excerpt has room for few of them."""
_MESSAGE = lazy_pattern(
    r"^[ \t]*+(?:"
    r"(?:[\w.$]+[.:])?(?:Assertion(?:Failed)?Error|ComparisonFailure|AssertionFailure)\b.*"
    r"|(?:Error: )?expect\(.*"
    r"|E {2,}(?!\+|-|[?]|  ).+"
    r"|thread '.*' (?:\(\d+\) )?panicked at .*"
    r"|[\w./-]+\.go:\d+:(?:[ ]*|.*\b(?:got|want|wanted|not|no|never|[Ee]xpected"
    r"|[Uu]nexpected|[Ss]hould|[Cc]annot|[Ee]rr(?:or)?|[Ff]ail(?:ed|ure)?|[Mm]ismatch|[Ii]nvalid"
    r"|[Mm]issing)\b.*)|Error Trace:.*"
    r")$",
    re.MULTILINE,
)
"""The line with which the report of a failed test begins, in the output of node, mocha, jest, vitest, pytest,
JUnit, cargo and go test. In Go, what a test logs looks the same but for its words."""
_GOES_ON = lazy_pattern(r"[ \t]*+(?:E {2,}|Error Trace:)")
"""A line of the same report, though another one may begin with it."""
_VALUE = lazy_pattern(
    r"[ \t]*+(?:"
    r"[+-](?![+-]{2})[ \t]*\S.*|[+-]$"
    r"|E {2,}\S.*|>[ \t]+\S.*"
    r"|(?:Expected|Received|expected|actual|Actual|Error|left|right|got|want|have|Messages?|Diff|Difference"
    r"|where|but was|to be|to equal)\b[^:]{0,40}(?::|<).*"
    r"|assertion .*failed.*"
    r"|\S.{0,200}[ \t](?:!==?|!=)[ \t]\S.*"
    r")$"
)
"""A line with a value, or a part of one."""
_LEGEND = lazy_pattern(r"[ \t]*+[+-] (?:expected|actual) [+-] (?:expected|actual)[ \t]*$")
"""What the marks of added and removed lines mean; a second one follows if the same values are shown twice."""
_FRAME = lazy_pattern(
    r"[ \t]*+(?:at |❯ |--> |[\w./@\\-]+:\d+: ).*"
    r"|[ \t]*+File \".*\", line \d+.*|[ \t]*+[\w./@\\-]+:\d+(?::\d+)?:?[ \t]*$"
)
"""A place in the code: a frame of a stack trace, or a line that only names a file and a line in it."""
_STATEMENT = lazy_pattern(r">[ \t]{2,}\S")
"""The statement that failed, as pytest marks it."""
_PYTHON_FRAME = lazy_pattern(r"[ \t]*+File \".*\", line \d+")
_LIBRARY = lazy_pattern(
    r".*(?:\bnode:|\bnode_modules\b|site-packages|/lib/python\d|/rustc/|/usr/lib/|\(internal/"
    r"|\bat (?:java|javax|jdk|sun|org\.junit|org\.opentest4j|org\.hamcrest|org\.assertj|org\.gradle"
    r"|org\.apache\.maven)\.)"
)
"""A frame in a library or in the test runner."""
_NEXT = lazy_pattern(
    r"[ \t]*+(?:\d+\)[ \t]\S.*|[●✕✖✗×✓✔√][ \t].*|(?:not )?ok \d+.*|(?:--- |=== )?(?:FAIL|PASS|RUN)\b.*"
    r"|_{3,}.*_{3,}|={4,}.*|⎯{4,}.*|---- .* ----|\d+ (?:passing|failing|passed|failed)\b.*)$"
)
"""A line with which the next test or the summary begins."""


def failure_blocks(text: str) -> Iterator[list[Span]]:
    """Yield the lines that tell of each failure: its message, its values, its places in the code."""
    done = -1
    for found in islice(_MESSAGE.finditer(text, 0, SEARCHED), MOST_BLOCKS):
        if found.start() > done:
            block, done = _block(text, (found.start(), line_end(text, found.start())))
            yield block


def _block(text: str, message: Span) -> tuple[list[Span], int]:
    """Return the lines that tell of a failure, and where it ends."""
    values, places = [message], _above(text, message)
    legends = 0
    end = message[1]
    for line in islice(lines_of(text, message[1] + 1), LONGEST_BLOCK):
        if _NEXT.match(text, *line) or (_MESSAGE.match(text, *line) and not _GOES_ON.match(text, *line)):
            break
        end = line[1]
        legends += _LEGEND.match(text, *line) is not None
        if _FRAME.match(text, *line):
            if not _LIBRARY.match(text, *line):
                places.append(line)
        elif legends <= 1 and _VALUE.match(text, *line):
            values.append(line)
    return [*values[:MOST_SHOWN], *places[:MOST_PLACES]], end


def _above(text: str, message: Span) -> list[Span]:
    """Return the statement that failed and its place if they are above the message, as in Python."""
    first = max(0, message[0] - ABOVE)
    statement: Span | None = None
    for start, end in islice(lines_backwards(text[first : message[0]]), 1, None):
        line = first + start, first + end
        if _STATEMENT.match(text, *line):
            return [line]
        if not text.startswith(" ", line[0]):
            break
        if _PYTHON_FRAME.match(text, *line) and not _LIBRARY.match(text, *line):
            return [line, statement] if statement else [line]
        statement = line
    return []
