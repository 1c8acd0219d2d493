"""``clew config``: print all settings and where they are set."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.message import Json
from clew.settings import KEYS, load_settings

DEFAULT = "default"
"""The origin shown for a setting that no source gives."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the settings in effect."""
    found = load_settings()
    rows = [
        (name, getattr(found.settings, name), found.origins.get(name, DEFAULT), key.means)
        for name, key in KEYS.items()
    ]
    if args.json:
        told = {name: {"value": _json(value), "origin": origin} for name, value, origin, _ in rows}
        term.write(json.dumps(told, ensure_ascii=False))
    else:
        width = max(len(_shown(value)) for _, value, _, _ in rows)
        for name, value, origin, means in rows:
            said = f"{name:<14} {_shown(value):<{width}}  {origin}"
            term.write(printable(f"{said}  # {means}" if origin == DEFAULT else said))
    for warning in found.warnings:
        term.note(printable(f"⚠ {warning}"))
    return 0


def _json(value: object) -> Json:
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else None


def _shown(value: object) -> str:
    match _json(value):
        case None | "" | []:
            return "–"
        case bool(truth):
            return "yes" if truth else "no"
        case list(listed):
            return ", ".join(str(one) for one in listed)
        case int(number):
            return f"{number:,}"
        case other:
            return str(other)
