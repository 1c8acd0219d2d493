"""Write a session of clew's log as one file that proves itself: every line's hash follows from the last.

examples:
  clew export codex:019a4c…                   print it
  clew export codex:019a4c… -o story.clew.zst
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from clew.cli.inputs import WORKSPACE, no_session, own_name, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import count
from clew.errors import InputError, NotFound
from clew.log import export_session, export_session_zstd
from clew.log.events import Ctx
from clew.settings import store_path

PRIVATE = 0o600
"""A session may hold what its reader should not: nobody but the owner reads an export until they say so."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("session", metavar="SESSION", help="the session's id (clew sessions lists them)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="where to; .zst compresses")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Write the session."""
    if not store_path().exists():
        raise NotFound(f"there is no session {args.session!r}: clew's log is empty", "clew import fills it")
    if args.output and args.output.exists() and not args.force:
        raise InputError(f"{args.output} is there already", "choose another name, or --force")
    with the_store() as store:
        name = own_name(store, args.session)
        if name is None:
            raise no_session(store, args.session)
        ctx = Ctx(workspace=WORKSPACE, session=name)
        if args.output is None:
            export_session(store, ctx, sys.stdout.buffer)
            return 0
        write = export_session_zstd if args.output.suffix == ".zst" else export_session
        part = args.output.with_name(f"{args.output.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as out:
            head = write(store, ctx, out)
        part.replace(args.output)  # a file of that name is always whole
    term.note(f"{args.output}: {count(head.seq, 'event')}, head {head.hash[:19]}…")
    return 0
