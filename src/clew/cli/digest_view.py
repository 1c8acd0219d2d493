"""Print a digest in a terminal: the whole text, wrapped, with headings highlighted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap

from rich.text import Text as Styled

from clew.cli.text import printable
from clew.compaction.plan import Digest
from clew.compaction.plan.render import HEADINGS, NOTE, PINS_HEADING, TAG, render_digest

NARROWEST = 40
INDENT = "  "
_HEADINGS = {PINS_HEADING, *HEADINGS.values()}
_CARRIAGE_RETURN = re.compile(r"\r {0,2}(?=\n|$)")
_SOURCE = re.compile(r"\[[^\]\s]+(?:, [a-z-]+)?\]")


def digest_text(digest: Digest) -> str:
    """Return the text of a digest, safe to print, with Windows line ends removed."""
    return printable(_CARRIAGE_RETURN.sub("", render_digest(digest)))


def digest_lines(digest: Digest, width: int) -> Iterator[Styled]:
    """Yield every line of a digest, wrapped at words."""
    for line in digest_text(digest).split("\n"):
        if line in _HEADINGS:
            yield Styled(line, style="bold")
        elif line == NOTE or line.startswith((f"<{TAG}", f"</{TAG}")) or _SOURCE.fullmatch(line):
            yield from (Styled(piece, style="dim") for piece in _wrapped(line, width))
        else:
            yield from map(Styled, _wrapped(line, width))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)] or (INDENT if line[:2] in ("- ", "~ ") else "")
    return wrap(
        line,
        max(NARROWEST, width),
        subsequent_indent=indent[: width // 2],
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [line]
