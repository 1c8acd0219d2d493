"""``clew export``: write a session of clew's log to a file."""

from __future__ import annotations

import argparse
import os
import sys

from clew.cli.inputs import WORKSPACE, no_session, own_name, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import count
from clew.errors import InputError, NotFound
from clew.log import export_session, export_session_zstd
from clew.log.protocol import Ctx
from clew.settings import store_path

PRIVATE = 0o600
"""A session may hold private text: an export is readable by its owner only."""


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
