"""Recognise kinds of lines in a text: results of runs, errors, definitions, ids, lines without content.

Excerpts (``excerpt.py``) are made of such lines. Each function takes a text and yields lines as offsets
(start, end); patterns describe the output of common tools, harnesses and languages, and were written by hand
from real sessions. ``1 failed, 41 passed in 2.10s`` is a verdict, ``def rate(day):`` is structure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, dropwhile, islice

from clew.compaction.propose.lines import (
    Span,
    line_end,
    lines_of,
    lines_with,
)
from clew.message.text import LINE_NUMBER, AnyCasePattern

AROUND = 2
"""Lines shown before and after a line that names a term of the current work."""
BEHIND_ASKED = 6
"""More lines shown behind one that names what the user or a search of the agent asks for, if they fit."""
SEARCHED = 200_000
"""Characters of a text that are searched for terms; so a giant costs no more than a large one."""
COMMON_TERM, COMMON_SHARE = 8, 0.05
"""A term in more lines of a text than both of these (a number, a share) does not point to a passage in it."""
MOST_PASSAGES = 40
DEFINED = 2.0
"""How many times as much a term counts in the line that defines it; chosen by hand."""
USUAL_WORD_SHARE = 0.15
"""If more of the lines than this mention errors, the text is code or a log where that says little."""
FEWEST_HITS, HITS_WITHIN = 4, 4_000
"""Lines of a kind from which a text is a list of them, and the characters that are looked at; chosen by
hand."""
_HIT = re.compile(
    r"^(?:(?:[\w@.~-]*/|[A-Za-z]:\\)\S+?(?::|-\d+-|$)|[ \t]*Line \d+:|[\w-]+\.\w+:\d+:)",
    re.MULTILINE,
)
_STATUS = re.compile(
    r"^[ \t]*(?:(ok|pass(?:ed)?|skip(?:ped)?|[✓✔√])(?=[ \t:])|\?[ \t]+\S+[ \t]+\[(no test files)\])",
    re.MULTILINE | re.IGNORECASE,
)
"""The status of a test, a package or a check at the beginning of a line."""
_PASSED = re.compile(
    r"^(?:[ \t]*(?:[✓✔√]|(?:ok|pass(?:ed)?)[ \t:]|--- pass:)"
    r"|[^\n]{1,200}?[ \t](?<!\d[ \t])(?:passed|\.\.\. ok)\b)",
    re.MULTILINE,
)
"""A line about a test that passed, in lower case: if its name mentions errors, they are what it tests."""
SURROUNDINGS = 200
"""Characters around an output that are left out without a note if they say nothing; chosen by hand."""
_BLOCK = 16_384
"""Characters searched at a time, so that little is read beyond what there is room for."""
_ERROR_WORDS = (
    *("error", "fail", "exception", "traceback", "fatal", "panic", "warn", "assert", "denied", "not found"),
    *("undefined", "undeclared", "cannot", "invalid", "✗", "✘", "✖", "❌", "  × "),
    *("\ne  ", " e  ", "|e  "),  # the prefixes of pytest's failure lines
)
"""In lower case, searched one by one: one pattern for all of them takes many times as long."""
_LONGEST_VERDICT = 300
_VERDICT = re.compile(
    rf"^(?=.{{1,{_LONGEST_VERDICT}}}$).*?(?:\d (?:tests? |specs? )?"
    r"(?:passed|failed|passing|failing|pass|fail|errors?|problems?|warnings?)\b"
    r"|\b(?:passed|failed|failures)[:=] ?\d|\ball (?:\w+ )?(?:tests?|checks?) (?:have )?(?:passed|pass)\b"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?:? -?\d|\bBUILD (?:SUCCESS|FAIL)).*$"
    r"|^(?:FAIL[ \t]\S.*|PASS|FAIL|OK)$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line with the result of a test run, a check or a build..."""
_VERDICT_WORDS = ("pass", "fail", "error", "problem", "warning", "exit", "build", "ok")
"""...and of these words, in lower case, each has at least one, unless it has letters beyond ASCII."""
FAILED = AnyCasePattern(
    r"(?<![\d.])[1-9]\d* (?:tests? |specs? )?(?:failed|failing|fail|errors?|problems?)\b"
    r"|\b(?:failed|failures)[:=] ?[1-9]"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?:? -?[1-9]|\breturncode\W{1,3}[1-9]|\bbuild fail|^fail\b"
)
"""A verdict that says that a run failed: then what went wrong comes first."""
_HEADER = r"(?:Chunk ID|Wall time|Original token count|Total output lines|Output):.*"
HEADER = re.compile(_HEADER)
"""A line that a harness puts before an output."""
SAYS_NOTHING = re.compile(
    rf"\s*(?:{LINE_NUMBER})?[\W_]*"
    r"|<[^<>\n]{0,200}>(?:(?:file|directory|0)</\w+>)?|<path>[^<>\n]+</path>"
    r"|(?:Exit code|Process exited with code):? 0|\((?:End of file|Showing lines) [^()\n]*\)"
    rf"|{_HEADER}|> [\w@].*|\?[ \t].*\[no test files\]"
    r"|(?:\[[\w:-]+\] )?\$ .*"
)
"""A line without a word, or one that a harness or a package manager puts around an output."""
LISTING = re.compile(
    rf"(?:<path>.*\n<type>file.*\n<content>)?\s*{LINE_NUMBER}"
    r"|(?:[ \t]*+\d++\. .*\n){1,12}?[ \t]*+\d++\. ?\n"
)
"""How the text of a file with line numbers begins; in the form of a list, one of the first lines is blank."""
NUMBERED_LINE = re.compile(rf"^\s*{LINE_NUMBER}")
"""The beginning of a line that quotes a file with line numbers."""
_COURTESY = re.compile(
    r"(?:Perfect|Great|Excellent|Good|Now|I now have|I have|Let me|Here(?: is|[’']s)|Based on)\b"
    r"[^\n]{0,160}[.!:]"
)
"""How another agent begins its report."""
ID = re.compile(
    r"https?://\S+/\S|(?<![\w/.])(?:#\d{1,6}\b|[A-Za-z]{2,8}_(?=\w*\d)[A-Za-z0-9]{6,}\b|\d{8,}\b"
    r"|(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}\b)"
)
"""A URL, the number of an issue or a run, or an id made of letters and digits."""
_STRUCTURE = (
    r"[ \t]*+(?:\d++[:\t→|.]?[ \t]*+)?(?:(?:export|default|public|private|protected|static|abstract|async|pub"
    r"|final|override)[ \t]++)*+"
    r"(?:(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace)[ \t]++"
    r"(?!(?:of|in|is|to|for|the|that|and|or|with|from|as|are|has|may|must|can|should)\b"
    r"|\w++(?:\([^)]*\))?[ \t]++(?:NOT|NULL|DEFAULT|PRIMARY|UNIQUE)\b)[\w(<]"
    r"|(?:const|let|var)[ \t]++\w++[ \t]*+=[ \t]*+(?:async[ \t]*+)?(?:function|\((?:[^()\n]*+$|.*=>))"
    r"|#{1,4}[ \t]++[*_`\"\[]*+\w|(?:describe|it|test)\().*$"
)
STRUCTURE = re.compile(_STRUCTURE, re.MULTILINE)
"""A line with a definition in a source file, or with a heading, also after a line number; no sentence, and no
column of a table in SQL..."""
STRUCTURE_AFTER_BREAK = re.compile(rf"\n{_STRUCTURE}", re.MULTILINE)
"""...and with the line break before it: what begins with a known character is found several times as fast."""


def lists_hits(text: str) -> bool:
    """Whether a text lists what a search found: lines with a path, or line numbers under paths."""
    hits = len(_HIT.findall(text, 0, HITS_WITHIN))
    return hits >= FEWEST_HITS and 2 * hits > text.count("\n", 0, HITS_WITHIN)


def status_counts(text: str) -> str:
    """Return how many lines of a list begin with which status, if most do and none failed: "24 ok"."""
    counts = Counter((found[1] or found[2]).strip() for found in _STATUS.finditer(text))
    if sum(counts.values()) < FEWEST_HITS or 2 * sum(counts.values()) <= text.count("\n"):
        return ""
    return ", ".join(f"{count:,} {status}" for status, count in counts.most_common())


def informative_lines(text: str, lines: Iterator[Span]) -> Iterator[Span]:
    """Yield lines from the first one on that says something; if none does, only the first."""
    first = next(lines)
    found = dropwhile(
        lambda line: SAYS_NOTHING.fullmatch(text, *line) or _COURTESY.fullmatch(text, *line),
        chain([first], lines),
    )
    yield next(found, first)
    yield from found


def says_nothing(text: str, start: int, end: int) -> bool:
    """Whether no line between two offsets says anything, and there are few of them."""
    return end - start <= SURROUNDINGS and all(map(SAYS_NOTHING.fullmatch, text[start:end].split("\n")))


def is_verdict(text: str, start: int, end: int) -> bool:
    """Whether a line states the result of a run; most lines are ruled out without the slow pattern."""
    line = text[start : min(end, start + _LONGEST_VERDICT)]
    if line.isascii() and not any(map(line.lower().__contains__, _VERDICT_WORDS)):
        return False
    return _VERDICT.match(text, start, end) is not None and not SAYS_NOTHING.fullmatch(text, start, end)


def find_error_lines(text: str) -> Iterator[Span]:
    """Yield the lines that mention an error early on. Takes linear time."""
    start = 0
    while start < len(text):
        end = line_end(text, start + _BLOCK)
        # In lower case one letter may become two, which would shift all offsets after it.
        block = "\n" + text[start:end].replace("İ", "i").lower()
        found = {line for word in _ERROR_WORDS if word in block for line in lines_with(block, word)}
        if found and _PASSED.search(block):
            found = {line for line in found if not _PASSED.match(block, *line)}
        if len(found) > max(5, block.count("\n") * USUAL_WORD_SHARE):
            found = set()
        yield from ((start + first - 1, start + last - 1) for first, last in sorted(found))
        start = end + 1


def lines_about(
    text: str, about: Mapping[str, float], definitions: Collection[Span] = ()
) -> tuple[list[Span], set[Span]]:
    """Return the lines that name terms, best first, and those of them that were asked for.

    Rare terms count more than common ones, and a term in a definition twice as much as where it is used.
    """
    common = max(COMMON_TERM, int(text.count("\n") * COMMON_SHARE))
    weights: dict[Span, float] = {}
    asked: set[Span] = set()
    for term, weight in about.items():
        if term not in text:
            continue
        lines = list(islice(lines_with(text, term), common + 1))
        if len(lines) <= common:
            asked.update(lines if weight > 1 else ())
            for line in lines:
                weights[line] = weights.get(line, 0.0) + weight / len(lines)
    for line in definitions:
        if line in weights:
            weights[line] *= DEFINED
    return sorted(weights, key=lambda line: (-weights[line], line))[:MOST_PASSAGES], asked


def passages_about(text: str, about: Mapping[str, float]) -> Iterator[list[Span]]:
    """Yield passages around the lines that name terms, best first."""
    best, asked = lines_about(text, about)
    for line in best:
        passage = [line]
        for _ in range(AROUND):
            if (start := passage[0][0]) > 0:
                passage.insert(0, (text.rfind("\n", 0, start - 1) + 1, start - 1))
            if (end := passage[-1][1]) < len(text):
                passage.append((end + 1, line_end(text, end + 1)))
        if line in asked:
            yield [*passage, *islice(lines_of(text, passage[-1][1] + 1), BEHIND_ASKED)]
        yield passage
