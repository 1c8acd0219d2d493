"""The nested blocks of a source file or document: functions, statements, sections, list items, code examples.

``Blocks(text, definitions)`` divides a text by its indentation, so any language will do. A block is a line
with the deeper lines behind it, the line that closes it, and the comment or decorator directly above::

    // Reads one rate.              one block of 7 lines, with two statements in it:
    function rate(                  it is the definition of both
      day: string
    ): number {
      const all = load();
      return all[day];
    }

Line numbers before a line do not count as indentation. In a document, a heading
holds its section, and a code example is one block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from clew.compaction.propose.lines import Span, lines_of

MOST_SIGNATURE = 16
"""Lines of a signature that are shown with a part of its body: a longer one is mostly a table."""
_NUMBER = r"(?:[ \t]*\d+(?:→|\t|: ?|\||-|\. ))?"
_LINE = re.compile(
    rf"^{_NUMBER}(?P<indent>[ \t]*)"
    r"(?:(?:<{7}|={7}|>{7}|\|{7}).*|#(?:if|ifdef|ifndef|else|elif|endif|define|undef|pragma)\b.*)?+"
    r"(?P<what>(?P<close>[)}\]]|\{$)"
    r"|(?P<ends>(?:end|fi|done|esac|else|elif|except|finally|catch|rescue)\b(?![\w.(]))"
    r"|(?P<heading>#{1,6})(?=[ \t]\S)|(?P<fence>```|~~~)"
    r"|(?P<above>//|/\*|\*/|\*[ \t]|--[ \t]|#|@\w|<!--)|\S)?",
    re.MULTILINE,
)
"""How deep a line is indented, and whether it closes a block, is a heading, or belongs to what comes next.
Marks of a merge conflict and directives of a preprocessor are at the margin wherever they are: like blank
lines, they do not count."""
_OPEN_END = (",", "(", "|", "[", "=", "&", "+", "->", "=>", "\\")
"""How a line of a signature ends that goes on in the next."""
_BODY = ("=> {", ") {", "do", "then")
"""How a line ends behind which a body begins, perhaps inside the arguments of a call."""
_HEADING = re.compile(rf"{_NUMBER}(?P<level>#{{1,6}})[ \t]\S")
_HEADING_DEPTH, _IN_FENCE = -10, 1_000
"""Depths of headings, less than any indentation, and of lines in a code example, more than any."""


class Block(NamedTuple):
    """Lines by their numbers in the text: first, and one past the last."""

    start: int
    end: int
    head: int
    """The line behind the comments and decorators above."""
    parent: int
    """The number of the block it is in; -1 for none."""


class _Line(NamedTuple):
    depth: int
    closes: bool
    """Whether it closes or goes on with the block before it at the same depth."""
    is_above: bool
    """Whether it is a comment or a decorator, which belongs to the line below."""


class Blocks:
    """A text divided into blocks, in the order of their first lines."""

    def __init__(self, text: str, definitions: Collection[Span] = ()) -> None:
        """Divide a text; ``definitions`` are its lines that define a name or are headings."""
        self.text = text
        self.lines = list(lines_of(text))
        self.is_document = is_document(text, definitions)
        self.of_line: list[int] = []
        """The number of the innermost block with each line; of blank lines that of the line before."""
        self.is_blank: list[bool] = []
        self._sections: set[int] = set()
        self.all = self._divided()
        starts = {start for start, _ in definitions}
        self.defines = [
            number in self._sections if self.is_document else self.lines[block.head][0] in starts
            for number, block in enumerate(self.all)
        ]
        """Whether each block defines a name, or in a document, is a section."""

    def _divided(self) -> list[Block]:
        found: list[list[int]] = []
        above: set[int] = set()  # numbers of blocks that are only comments so far
        opened: list[tuple[int, int]] = []  # numbers and depths
        last = -1
        for i, line in enumerate(self._kinds()):
            self.is_blank.append(line is None)
            if line is not None:
                while opened and opened[-1][1] > line.depth:
                    opened.pop()
                number, depth = opened[-1] if opened else (-1, line.depth - 1)
                joins = depth == line.depth and (line.closes or (number in above and last == i - 1))
                if not joins:
                    if depth == line.depth:
                        opened.pop()
                    number = len(found)
                    found.append([i, i + 1, i, opened[-1][0] if opened else -1])
                    opened.append((number, line.depth))
                    if line.depth < 0:
                        self._sections.add(number)
                if not line.closes:
                    found[number][2] = i
                    (above.add if line.is_above else above.discard)(number)
                for one, _ in opened:
                    found[one][1] = i + 1
                last = i
            self.of_line.append(opened[-1][0] if opened else -1)
        return [Block(*one) for one in found]

    def _kinds(self) -> Iterator[_Line | None]:
        """Yield what each line is; None for a blank one."""
        fence = -1
        for found in _LINE.finditer(self.text):
            indent, what, close, ends, heading, mark, above = found.groups()
            depth = len(indent.expandtabs(4)) if "\t" in indent else len(indent)
            if not what:
                yield None
            elif mark and self.is_document:
                yield _Line(depth if fence < 0 else fence, fence >= 0, is_above=False)
                fence = depth if fence < 0 else -1
            elif heading and fence < 0 and self.is_document:
                yield _Line(_HEADING_DEPTH + len(heading), closes=False, is_above=False)
            elif fence < 0 and self.is_document:
                yield _Line(depth, close is not None, is_above=False)
            else:
                inside = _IN_FENCE if fence >= 0 else 0
                yield _Line(depth + inside, bool(close or ends), bool(above or heading))

    def around(self, line: int) -> Iterator[int]:
        """Yield the blocks with a line, the innermost first."""
        number = self.of_line[line]
        while number >= 0:
            yield number
            number = self.all[number].parent

    def signature(self, number: int) -> range:
        """Return the first lines of a block, with the comment above: its name, arguments and result."""
        block = self.all[number]
        end = block.head + 1
        while end < min(block.end, block.head + MOST_SIGNATURE) and self._goes_on(block.head, end):
            end += 1
        return range(block.start, end)

    def _goes_on(self, head: int, end: int) -> bool:
        """Whether a signature goes on behind its lines so far: its arguments are not closed."""
        text = self.text[self.lines[head][0] : self.lines[end - 1][1]].rstrip()
        if text.endswith(_OPEN_END):
            return True
        return text.count("(") > text.count(")") and not text.endswith(_BODY)


def is_document(text: str, definitions: Collection[Span]) -> bool:
    """Whether a text has sections: in source files, lines that look like headings are rare, and comments."""
    levels = [len(found["level"]) for span in definitions if (found := _HEADING.match(text, *span))]
    return any(level > 1 for level in levels) and ("```" in text or 2 * len(levels) >= len(definitions))
