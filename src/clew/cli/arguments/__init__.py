"""Arguments and help texts of all commands. Imports no other package of clew, so that ``--help`` is fast.

A command is a function that declares its arguments; its docstring is the help text. Values defined in other
packages (names of formats, kinds, labels) are repeated here, and a test compares them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

WIRES = ("anthropic", "gemini", "openai", "responses")


def flag(parser: argparse._ActionsContainer, name: str, text: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(name, action="store_true", help=text)


def option(
    parser: argparse._ActionsContainer,
    name: str,
    metavar: str,
    text: str,
    read: Callable[[str], object] = str,
    default: object = None,
) -> None:
    """Declare an option with a value; ``read`` makes a value of the word that was typed."""
    parser.add_argument(name, metavar=metavar, type=read, default=default, help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json``."""
    flag(parser, "--json", "print JSON")


def add_to(parser: argparse.ArgumentParser, text: str, *more: str, required: bool = False) -> None:
    """Declare ``--to``, the API whose message format is meant."""
    names = f"{text}: {', '.join(WIRES)}"
    parser.add_argument("--to", *more, choices=WIRES, metavar="API", required=required, help=names)


def add_input(parser: argparse.ArgumentParser) -> None:
    """Declare the session that most commands read."""
    parser.add_argument(
        "file", metavar="FILE", help="a session file, - for standard input, or an id from `clew sessions`"
    )
    add_format(parser, "its format")


def add_file(parser: argparse.ArgumentParser, *, optional: bool = True) -> None:
    """Declare a session by its id or file."""
    text = "an id from `clew sessions`, or a file"
    parser.add_argument("file", metavar="SESSION", nargs="?" if optional else None, help=text)
    add_format(parser)


def add_format(parser: argparse.ArgumentParser, text: str = "the file's format") -> None:
    """Declare ``--format`` and ``--session``: how to read a file, and what of it."""
    option(parser, "--format", "NAME", f"{text}, if it is detected wrongly")
    option(parser, "--session", "ID", "which session, if the file holds several")


def add_session(parser: argparse.ArgumentParser, *, or_export: bool) -> None:
    """Declare a session of clew's log."""
    more = ", or a file that clew exported" if or_export else " (see `clew sessions`)"
    parser.add_argument("file", metavar="SESSION", help=f"a session of clew's log{more}")
    parser.set_defaults(format=None, session=None)


def add_limit(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    """Declare ``--limit``."""
    text = f"at most N {what} (default: {default})"
    option(parser, "--limit", "N", text, positive, default)


def positive(text: str) -> int:
    """Read a number of at least 1."""
    number = int(text) if re.fullmatch(r"\s*[+-]?[\d_]{1,18}\s*", text) else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def share(text: str) -> float:
    """Read a share between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return number
