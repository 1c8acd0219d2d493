"""``clew config`` and ``clew secrets``: the settings in effect, and the secrets in a text."""

from __future__ import annotations

import argparse
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from clew.cli.inputs import open_input
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.message import Json
from clew.secrets import find
from clew.secrets.find import mask_of, own_key, rules
from clew.settings import KEYS, Threshold, load_settings

LARGEST = 1 << 30
"""Most bytes of a text that is searched."""


@dataclass(frozen=True, slots=True)
class PlacedSecret:
    """A secret and its place in the text."""

    line: int
    column: int
    rule: str
    mask: str
    """The text that would replace it."""
    characters: int
    """How long it is."""


def run_secrets(args: argparse.Namespace, term: Terminal) -> int:
    """List the secrets found."""
    rows = list(_find_secrets(open_input(args.file).read(LARGEST).decode("utf-8", "replace")))
    if args.json:
        term.write_json([asdict(row) for row in rows])
    elif not rows:
        term.say("No secrets found.")
    else:
        described = {rule.id: rule.description for rule in rules()}
        for row in rows:
            place = f"{row.line}:{row.column}"
            term.say(printable(f"{place:<12} {row.mask:<44} {described[row.rule]}"))
        term.note(f"{count(len(rows), 'secret')} would be masked")
    return 1 if rows else 0


def _find_secrets(text: str) -> Iterator[PlacedSecret]:
    secrets = find(text)
    starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")] if secrets else [0]
    for rule, start, end in secrets:
        line = bisect_right(starts, start)
        shown = mask_of(rule, text[start:end], own_key())
        yield PlacedSecret(line, start - starts[line - 1] + 1, rule, shown, end - start)


DEFAULT = "default"
"""The origin shown for a setting that no source gives."""


def run_config(args: argparse.Namespace, term: Terminal) -> int:
    """Print the settings in effect."""
    settings = load_settings()
    values = {name: getattr(settings.settings, name) for name in KEYS}
    origins = {name: settings.origins.get(name, DEFAULT) for name in KEYS}
    if args.json:
        output = {name: {"value": _json(value), "origin": origins[name]} for name, value in values.items()}
        term.write_json(output)
    else:
        width = max(len(_cell_text(value)) for value in values.values())
        for name, value in values.items():
            text = f"{name:<14} {_cell_text(value):<{width}}  {origins[name]}"
            term.say(printable(f"{text}  # {KEYS[name].means}" if origins[name] == DEFAULT else text))
    for warning in settings.warnings:
        term.note(printable(f"⚠ {warning}"))
    return 0


def _json(value: object) -> Json:
    """Return the value of a setting as JSON; a path or threshold as text."""
    if isinstance(value, Threshold | Path):
        return str(value)
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else None


def _cell_text(value: object) -> str:
    match _json(value):
        case None | "" | []:
            return "–"
        case bool(truth):
            return "yes" if truth else "no"
        case list(listed):
            return ", ".join(str(value) for value in listed)
        case int(number):
            return f"{number:,}"
        case other:
            return str(other)
