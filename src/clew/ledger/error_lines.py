"""Find the lines of a failed output that say what went wrong.

``error_spans(output)`` returns the positions of at most three lines, such as ``TypeError: bad operand`` at
the end of a traceback. A line is a *cause* (it names the error: an exception, ``error: …``, ``file:3: …``),
a *sign* (it only says that something failed) or a warning. Causes are shown if there are any, else signs,
else warnings. ``failures`` quotes these lines.
"""

from __future__ import annotations

import re

from clew.message.text import blank_colours, lazy_pattern

MOST_LINES = 3
"""Error lines that are kept of one output: the first cause and the last two. Chosen by hand."""
_LONGEST_LINE = 300
"""Characters of an error line; a longer one is data around an error, chosen by hand."""
_LOOKED_AT = 60_000
"""Characters at each end of a failed output that are searched for error lines; chosen by hand."""


def error_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the lines of a failed output that name the cause: a few, in order."""
    text = blank_colours(text)
    pieces = [(0, min(len(text), _LOOKED_AT))]
    if len(text) > _LOOKED_AT:
        pieces.append((max(_LOOKED_AT, len(text) - _LOOKED_AT), len(text)))
    causes: list[tuple[int, int]] = []
    signs: list[tuple[int, int]] = []
    warnings: list[tuple[int, int]] = []
    explained = -1  # where the last line of an explanation ended
    for start, end in pieces:
        for match in _ERROR_LINE.finditer(text, start, end):
            if _FRAME.match(match[0]):
                continue
            if _ASSERTED.match(match[0]):
                is_detail, explained = match.start() == explained + 1, match.end()
                if is_detail:
                    continue
            kind = causes if match.lastgroup == "cause" else signs
            (warnings if _WARNING.match(match[0]) else kind).append(_bounds(text, *match.span()))
    # The last cause usually matters most (a traceback ends with it); the first shows where it began.
    best = causes or signs or warnings
    chosen = best if len(best) <= MOST_LINES else [best[0], *best[-(MOST_LINES - 1) :]]
    return list(dict.fromkeys(chosen)) or _first_line(text)


def _first_line(text: str) -> list[tuple[int, int]]:
    """Return the span of the first line with a word in it, after the tool's own header."""
    opening = _BEFORE_OUTPUT.match(text)
    word = _WORD.search(text, opening.end() if opening else 0) or _WORD.search(text)
    if word is None:
        return []
    end = text.find("\n", word.start())
    return [_bounds(text, text.rfind("\n", 0, word.start()) + 1, end if end >= 0 else len(text))]


def _bounds(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    end = min(end, start + _LONGEST_LINE)
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# What the patterns recognise ---------------------------------------------------------------------------

_ERROR_LINE = lazy_pattern(
    r"""^[ \t]*+(?:
      (?P<cause>
        (?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Failure)\b(?:[ :(].*)?
      | (?:E|error|Error|ERROR|fatal|FATAL|panic|PANIC|Caused\ by|error\[E\d+\])
        (?::|[ \t][ \t]|[ \t]TS\d+|!).*
      | npm\ (?:ERR!|error)\ (?!A\ complete\ log)\S.*
      | (?:<tool_use_error>|MCP\ error|apply_patch\ verification\ failed).*
      | (?!(?:\d{4}-\d\d-\d\dT)?\d\d:\d\d(?::\d\d)?\s)   # a time before an ordinary line of a log
        \S+:\d+(?::\d+)?:?[ \t]+[^\s].*
      | .{0,120}\b
        (?:command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|not\ found|does\ not\ exist
          |timed\ out|refused|unrecognized|undefined|cannot\ find|could\ not|unable\ to|is\ not\ defined
          |unexpected|invalid)
        \b.*
      )
    | (?P<sign>
        (?:FAILED|FAIL|---\ FAIL|not\ ok)\b.*
      | [✕✗×✖][ \t].*
      | .*\b(?:[Ee]rror|ERROR|[Ff]ailed|FAILED)\b.*
      )
    )$""",
    re.VERBOSE | re.MULTILINE,
)
"""A line that names a cause ("KeyError: 'id'", "app.py:3: bad name") or shows a sign ("FAILED a.py")."""
_FRAME = lazy_pattern(r"\s*(?:at |File \"|[✓✔√] )|.*\b(?:node_modules|site-packages)\b")
"""A line of a stack trace, or of a library: "at run (a.js:3)"; or a test that passed."""
_WARNING = lazy_pattern(r"(?!.*\b(?:[Ee]rror|ERROR)\b)[^'\"]{0,200}\b\w*(?:Warning|warning)\b")
"""A warning: it names a cause only if nothing else does."""
_ASSERTED = lazy_pattern(r"E[ \t]{2,}")
"""A line of pytest's explanation; the first of a block says what failed, the others give details."""
_WORD = lazy_pattern(r"[^\W\d_]{2,}")
"""A word of two letters or more."""
_BEFORE_OUTPUT = lazy_pattern(
    r"(?:\s*(?:Exit code:? -?\d+|Wall time: .*|Output:|<returncode>-?\d+</returncode>|<output>|Chunk ID: .*|"
    r"Process exited with code -?\d+|Original token count: \d+|\$ .*|> .*)(?:\n|$))+"
)
"""The lines that a tool puts before the output: "Exit code 1"."""
