"""Classify each line of a message: prose, list item, heading, blank, or foreign.

Foreign lines are not the speaker's words: code, logs, diffs, quotes, tables, settings, tagged blocks, and
what follows "Bob says:". The text is read once; ``sentences.py`` joins and splits the lines that remain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from clew.message.text import lazy_pattern
from clew.rules.words import words


class LineKind(Enum):
    """What a line is."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    BLANK = "blank"
    FOREIGN = "foreign"
    """Code, logs, diffs, quotes, tables, tagged blocks: not the speaker's words."""


class Line(NamedTuple):
    """One line: ``text[start:end]`` is its content without marker, indent and line break."""

    kind: LineKind
    start: int
    end: int
    indent: int = 0


_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+\Z")
_WORDS = frozenset((LineKind.PROSE, LineKind.ITEM))

# Layout

_FENCE = lazy_pattern(r" {0,12}(`{3,}(?=[^`]*$)|~{3,})")
"""The first line of a code block: three backticks, perhaps indented."""
_HEADING = lazy_pattern(r" {0,3}(#{1,6})\s+(.*?)[\s#]*$")
""""## Rules"."""
_UPPER_HEADING = lazy_pattern(
    r"[^\w\n]{0,4}(?!.*\b(?:NEVER|ALWAYS|DON'T|MUST|STOP|PLEASE|ONLY|YOU|I)\b(?!.*\)))"
    r"(?!(?:DO|NO|NOT)\b)([A-Z][A-Z0-9 &/()—–-]{3,60}):?\s*$"
)
"""A line in capitals that is a title, not a shouted order: "GLOBAL RULES", "STEP 3 — TYPES"."""
_BOLD_HEADING = lazy_pattern(r"\s*(?:[-*+]\s+(?=.*:\W*$))?(\*\*|__)([^*_]{2,60}?):?\1:?\s*$")
"""A bold line: "**Rules:**"."""
_ITEM = lazy_pattern(
    r"(\s*)(?:[-*+•‣–—·]|\(?\d{1,3}[.)、．]|\(?[a-zA-Z][.)])(?:\s+\[[ xX]\])?(?:\s+|(?<=[、．]))(?=\S)"
)
"""The marker of a list item: "- ", "3) ", "- [x] "."""

# Text that tools add, and reported speech

_OPEN_TAG = lazy_pattern(r"\s*<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
"""A tag at the start of a line: "<file path=…>"."""
_TAG_WITHIN = lazy_pattern(
    r"<([a-z]+[-_][\w-]*|files?|documents?|attachments?|context|output|results?|page|e?mail|logs?)(?:\s[^<>]*)?>"
)
"""Tags that tools put around text they add to a person's words, anywhere in a line."""
_SAYS = lazy_pattern(
    r"""(?:
      \b(?!(?:i|we|which|that|this|it)\b)[\w.'’`"/)-]+\s+(?:(?:just|also|always|still|then|now|even|once)\s+)?
        (?:says?|said|writes|wrote|replied|answered|responded|complains|complained|prints|printed|reads|claims
          |claimed|commented|suggests|suggested|recommends|recommended|warns|warned|told\s+(?:me|us))\b[^:\n]{0,60}
    | \bhere(?:['’]s|\s+is|\s+are)\b[^:\n]{0,40}
        \b(?:logs?|output|errors?|trace|traceback|e?mails?|reviews?|comments?|thread|transcript|article)\b
        [^:\n]{0,40}
    | \b(?:comments?|reviews?|messages?|e?mails?|notes?|reply|feedback|letter)\s+(?:from|by)\b[^:\n]{0,60}
    ):\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line that introduces the words of another person or of a program: "Bob says:", "here is the log:"."""

# Logs, diffs, settings

_LOG = lazy_pattern(
    r"""\s*(?:
      \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d\b | \[\d\d/\d\d/\d\d
    | \[?(?:ERROR|FATAL|INFO|DEBUG|TRACE|WARN)\b[\]:| ]
    | Traceback\ \(most | File\ "[^"]+",\ line | at\ [\w.$<>]+\s?\(
    | (?:Uncaught\ |Unhandled\ )?[\w.]*(?:Error|Exception):\s | [\w.]+Warning:\s
    | \d{4}-[A-Z][a-z]{2}-\d\d\ \d\d:\d\d | [VDIWEF]/[\w.]+\s*\(\s*\d+\): | npm\ (?:warn|notice|error|info)\b
    | \.{1,2}/\S+\s*$ | \[(?:Warning|Error|Info|Message|Debug)\s*:\s
    | [\w.-]+:\ \[(?:warn|error|notice|emerg|crit|info)\]
    | (?:[A-Za-z]:)?[^\s:]*[\w)][:(]\d+[:,]\d+\)?:?\s | (?:error|warning)\ [A-Z]{2,5}\d{3,5}:\s
    | (?:\$|%|❯|➜|>>>|\.\.\.|PS\ [A-Z]:\\[^>]*>)\s\S | [\w.-]+@[\w.-]+[ :][^#$%]{0,80}[$#%]\s
    | [⏺⎿│└├┌╭╰✓✗✔✘─━═╔╚║▌●⏵⨯]
    | (?:npm|yarn|error|warning|fatal|panic|hint|remote|PASS|FAIL|ok)(?:\ (?:ERR!|WARN)|:\s|\[|\s{2,})
    )""",
    re.VERBOSE,
)
"""How lines of logs, traces, shells and linters begin: "[12:01:07 …", "npm ERR!", "$ make"."""
_DIFF_HEAD = lazy_pattern(r"(?:diff --git |Index: |@@ -|--- [ab]/|\+\+\+ [ab]/)")
"""The first line of a diff..."""
_DIFF_BODY = lazy_pattern(r"[-+ @\\]|index |new file|deleted file|similarity |rename ")
"""...and the lines that continue it."""
_KEY_ONLY = lazy_pattern(r"(?:- )?[a-z_][\w./-]*:(?: *[|>][-+]?)?\s*$")
"""A key of YAML settings above its values: "steps:"."""
_KEY = lazy_pattern(r"(?:- )?[\"']?[A-Za-z_$][\w./${}-]*[\"']?:(?:\s|$)|#|- [\"']?[\w./@*$:{}-]+[\"']?\s*$")
"""A key with its value, or an entry of a list of values: "name: ci", "- main"."""
_FEWEST_KEYS = 2
"""Keys below another key that make it a settings block; people write "notes:" above a list too."""

# Code and prose

_PLAIN_PROSE = lazy_pattern(r"(?!diff )(?:I|[A-Z]?[a-z]+),?(?: [\w'/.,!?-]+)+\n?", re.ASCII)
"""Most lines: words with plain punctuation. They are prose..."""
_MAY_BE_CODE = lazy_pattern(r"import|WARN")
"""...unless they have one of these: "from x import y". The other checks are skipped."""
_CODE_START = lazy_pattern(
    r"\s*(?:(?:def|class|async def|import|from|const|let|var|function|func|public|private|static|return"
    r"|package)\s+[\w{*.(]+.*(?:[={(;]|:$|\bimport\b)|#include|@\w+\(|//|/\*|<\?|</"
    r"|(?:if|for|while)\s*\(.*\)\s*\{"
    r"|[\w.\]\[\"']+\s*[+*/-]?=\s*\S+\s*$|[a-z-]+:\s?[^\s;]+(?:\s[^\s;]+){0,3};\s*$)"
)
"""How lines of code begin: "def f(", "const x = ", "#include", "x = 1", "color: red;"."""
_CODE_END = lazy_pattern(r"(?:[{;}]|\)\s*[{;,]|=>|\],?|\*/)\s*$")
"""How lines of code end: "{", ");", "*/"."""
_CODE_MARK = lazy_pattern(r"[(){}=<>\[\]]")
"""A character without which a line that ends like code is prose."""
_SYMBOL = lazy_pattern(r"[^\w\s.,'\"!?:;()/`*-]")
"""A character that is rare in prose; a line with many is code or data."""
_SYMBOL_SHARE = 0.2
_WORDS_OF_PROSE = 8
"""Spaces from which on a line is prose, although it ends like code; both chosen by hand."""
_MASKED = lazy_pattern(r"\[secret:[\w:-]+\]")
"""A secret that clew has masked."""

Ends = Callable[[str], bool]
"""Whether a line is the last of its foreign block."""


def lines(text: str, *, tags_are_speech: bool = False) -> Iterator[Line]:
    """Yield every line with its kind; with ``tags_are_speech`` (system prompts) tagged blocks are words."""
    found = _classified(text, tags_are_speech=tags_are_speech)
    return found if tags_are_speech or ":\n" not in text else _without_reported(text, found)


def _without_reported(text: str, found: Iterator[Line]) -> Iterator[Line]:
    """Yield lines, marking reported speech as foreign: from "Bob says:" to a blank line or fence.

    ``announced``: a line ended in "says:", so what follows is reported. ``begun``: its first line was seen;
    from then on a blank line ends it. ``fenced``: it began with a code block or quote and ends with that.
    """
    announced = begun = fenced = False
    for line in found:
        if announced and not begun:
            fenced = line.kind is LineKind.FOREIGN
        if announced and fenced and begun and line.kind is not LineKind.FOREIGN:
            announced = False
        if announced and line.kind is not LineKind.BLANK:
            begun = True
            yield Line(LineKind.FOREIGN, line.start, line.end)
            continue
        yield line
        announced = announced and not begun
        if line.kind in _WORDS and text[line.end - 1] == ":" and _SAYS.search(text, line.start, line.end):
            announced, begun = True, False


def _classified(text: str, *, tags_are_speech: bool) -> Iterator[Line]:
    """Yield every line with its kind, in one pass over the text.

    The state between lines: ``ends`` recognises the last line of the foreign block that is open, if one is;
    ``in_diff`` is True inside a diff; ``unclosed`` holds tags known to be never closed. The first two cases
    of the loop are shortcuts: lines of pasted settings, and plain prose outside of any block.
    """
    unclosed: set[str] = set()
    ends: Ends | None = None
    in_diff = False
    settings = Spans(_settings(text) if ":\n" in text else iter(()))
    for match in _LINE.finditer(text):
        start, end = match.span()
        raw = match.group()
        if ends is None and settings.hold(start):
            yield Line(LineKind.FOREIGN, start, end)
            continue
        if ends is None and not in_diff and _PLAIN_PROSE.fullmatch(raw) and not _MAY_BE_CODE.search(raw):
            yield Line(LineKind.PROSE, start, start + len(raw.rstrip()))
            continue
        foreign = Line(LineKind.FOREIGN, start, end)
        tag = None if tags_are_speech else _foreign_tag(raw)
        if ends is not None:
            ends = None if ends(raw) else ends
            yield foreign
        elif not raw.strip():
            in_diff = False
            yield Line(LineKind.BLANK, start, end)
        elif tag is not None and tag in raw:
            yield foreign  # opened and closed on one line
        elif ends := _fence(raw) or _end_of_tagged_block(text, raw, end, tag, unclosed):
            yield foreign
        else:
            in_diff = bool((in_diff and _DIFF_BODY.match(raw)) or _DIFF_HEAD.match(raw))
            yield foreign if in_diff else _single_line(raw, start)


def _settings(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of settings in YAML form, such as a pasted workflow."""
    start, base, keys, end = -1, 0, 0, 0
    for match in _LINE.finditer(text):
        raw = match.group()
        content = raw.lstrip(" ")
        indent = len(raw) - len(content)
        if not content.strip():
            continue
        deeper = start >= 0 and indent > base
        if deeper or (start >= 0 and indent == base and _KEY.match(content)):
            keys += deeper and _KEY.match(content) is not None
            end = match.end()
            continue
        if start >= 0 and keys >= _FEWEST_KEYS:
            yield start, end
        start, base, keys, end = (match.start() if _KEY_ONLY.match(content) else -1), indent, 0, match.end()
    if start >= 0 and keys >= _FEWEST_KEYS:
        yield start, end


class Spans:
    """Sorted spans, queried in ascending order."""

    def __init__(self, spans: Iterator[tuple[int, int]]) -> None:
        self._spans = spans
        self._start, self._end = next(spans, (-1, -1))

    def hold(self, at: int) -> bool:
        """Return True if this position is in one of them."""
        while 0 <= self._end <= at:
            self._start, self._end = next(self._spans, (-1, -1))
        return self._start <= at < self._end


def _fence(raw: str) -> Ends | None:
    """Return the end condition of the code block that a line opens, None if it opens none."""
    opened = _FENCE.match(raw)
    if opened is None:
        return None
    fence = opened[1]
    depth = 1

    def ends(line: str) -> bool:
        nonlocal depth
        said = line.strip()
        if said.startswith(fence):  # a pasted page may have nested fences, which name their language
            depth += 1 if said.strip(fence[0]) else -1
        return depth == 0

    return ends


def _foreign_tag(raw: str) -> str | None:
    """Return the closing tag of a line's opening tag, unless people put it around their own words."""
    tag = _OPEN_TAG.match(raw) or (_TAG_WITHIN.search(raw) if "<" in raw else None)
    if tag is None or tag[1].lower() in words("layout", "own_tags") or raw.rstrip().endswith("/>"):
        return None
    return f"</{tag[1]}"


def _end_of_tagged_block(text: str, raw: str, end: int, tag: str | None, unclosed: set[str]) -> Ends | None:
    """Return the end condition of a tagged block; tags that are never closed are remembered."""
    if tag is None:
        return None
    if tag in unclosed or text.find(tag, end) < 0:
        unclosed.add(tag)
        return _end_of_unclosed_tag(raw)
    return lambda line: tag in line


def _end_of_unclosed_tag(raw: str) -> Ends | None:
    """Return the end condition of a tag that is never closed; "<Provider> is broken" opens nothing.

    A tool's tag reaches to the end of the text; another tag, alone on its line, to the next blank line.
    """
    if _TAG_WITHIN.match(raw.lstrip()):
        return lambda line: False
    return (lambda line: not line.strip()) if _OPEN_TAG.fullmatch(raw.rstrip()) else None


def _single_line(raw: str, start: int) -> Line:
    """Return a line that is in no block, judged by itself."""
    if "#" in raw and (heading := _HEADING.match(raw)):
        return Line(LineKind.HEADING, start + heading.start(2), start + heading.end(2))
    if raw.isupper() and (heading := _UPPER_HEADING.match(raw)):
        return Line(LineKind.HEADING, start + heading.start(1), start + heading.end(1))
    if ("**" in raw or "__" in raw) and (heading := _BOLD_HEADING.match(raw)):
        return Line(LineKind.HEADING, start + heading.start(2), start + heading.end(2))
    end = start + len(raw.rstrip())
    if raw.lstrip().startswith((">", "|")) or _LOG.match(raw):
        return Line(LineKind.FOREIGN, start, end)
    item = _ITEM.match(raw)
    begin = item.end() if item else len(raw) - len(raw.lstrip())
    if _is_code(raw[begin:]):
        return Line(LineKind.FOREIGN, start, end)
    kind = LineKind.ITEM if item else LineKind.PROSE
    return Line(kind, start + begin, end, indent=len(item[1]) if item else begin)


def _is_code(content: str) -> bool:
    """Return True for code and data, judging by start, end and share of symbols."""
    if not content.isascii():
        return False
    if "[secret:" in content:
        content = _MASKED.sub("secret", content)  # a rule beside a masked password is prose
    if _CODE_START.match(content):
        return True
    if len(_SYMBOL.findall(content)) > _SYMBOL_SHARE * len(content):
        return True
    return bool(
        _CODE_END.search(content) and _CODE_MARK.search(content) and content.count(" ") < _WORDS_OF_PROSE
    )
