"""What commands read: a session of a file, or of clew's own log."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from clew.cli.text import one_line
from clew.errors import NotFound
from clew.transcripts import Transcript, load, open_source

WORKSPACE = "local"
"""The one workspace of the command line; hosts with several tenants name their own."""
SHOWN = 8


def add_input(parser: argparse.ArgumentParser) -> None:
    """Declare the session file that most commands read."""
    parser.add_argument("file", metavar="FILE", help="a session file or folder; - for standard input")
    parser.add_argument(
        "--format", metavar="NAME", help="its format, if clew guesses wrong (see clew formats)"
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """Declare which of a file's sessions is meant."""
    parser.add_argument("--session", metavar="ID", help="which session, where the file holds several")


def the_session(args: argparse.Namespace) -> Transcript:
    """Read the one session that is meant."""
    return pick(load(open_source(args.file), args.format), args.session, args.file)


def pick(sessions: Sequence[Transcript], wanted: str | None, name: str) -> Transcript:
    """Return the session of that id, or the only one."""
    if wanted is None and len(sessions) == 1:
        return sessions[0]
    for session in sessions:
        if session.id == wanted:
            return session
    if not sessions:
        raise NotFound(f"there is no session in {name}")
    ids = ", ".join(one_line(session.id, 60) for session in sessions[:SHOWN])
    more = f" and {len(sessions) - SHOWN} more" if len(sessions) > SHOWN else ""
    asked = f"no session {wanted!r} in {name}" if wanted else f"{name} holds {len(sessions)} sessions"
    raise NotFound(f"{asked}; name one with --session: {ids}{more}")
