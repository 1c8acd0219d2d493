"""``clew secrets``: list the secrets in a text that clew would mask."""

from __future__ import annotations

import argparse
import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from clew.cli.inputs import open_input
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.secrets import find
from clew.secrets.find import rules
from clew.secrets.mask import mask_of, own_key

LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Row:
    """A secret and its place in the text."""

    line: int
    column: int
    rule: str
    mask: str
    """The text that would replace it."""
    characters: int
    """How long it is."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List the secrets found."""
    rows = list(_rows(open_input(args.file).read(LARGEST).decode("utf-8", "replace")))
    if args.json:
        term.write(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
    elif not rows:
        term.write("No secrets found.")
    else:
        described = {rule.id: rule.description for rule in rules()}
        for row in rows:
            place = f"{row.line}:{row.column}"
            term.write(printable(f"{place:<12} {row.mask:<44} {described[row.rule]}"))
        term.note(f"{count(len(rows), 'secret')} would be masked")
    return 1 if rows else 0


def _rows(text: str) -> Iterator[Row]:
    found = find(text)
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")] if found else [0]
    for rule, start, end in found:
        line = bisect_right(starts, start)
        shown = mask_of(rule, text[start:end], own_key())
        yield Row(line, start - starts[line - 1] + 1, rule, shown, end - start)
