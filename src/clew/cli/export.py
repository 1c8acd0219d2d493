"""Write a session of clew's log to one file that can be verified: each line's hash covers the previous one.

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
from clew.log.protocol import Ctx
from clew.settings import store_path

PRIVATE = 0o600
"""A session may hold private text: an export is readable by its owner only."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("session", metavar="SESSION", help="the session's id (clew sessions lists them)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file to write; .zst compresses (default: standard output)",
    )


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Write the session."""
    if not store_path().exists():
        raise NotFound(
            f"there is no session {args.session!r}: clew's log is empty", "`clew import FILE` adds a session"
        )
    if args.output and args.output.exists() and not args.force:
        raise InputError(f"{args.output} already exists", "choose another name, or use --force")
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
        part.replace(args.output)  # atomic: a file of that name is always complete
    term.note(f"{args.output}: {count(head.seq, 'event')}, head {head.hash[:19]}…")
    return 0
