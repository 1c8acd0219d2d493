"""``clew progress``: print a session's progress log."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime

from clew.cli.inputs import WORKSPACE, own_store
from clew.cli.stored import ADVICE, a_log
from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.errors import NotFound
from clew.log.transfer import OWN
from clew.request.progress_log import as_text, checkpoint_to_json, checkpoints, next_checkpoint


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the progress log."""
    args.file = args.file or newest_session()
    with a_log(args) as log, log.open() as session:
        past = checkpoints(session.events())
        time = datetime.now(UTC).isoformat(timespec="seconds")
        now = next_checkpoint(session.ledger, past, time=time, why="now")
    told = [*past, now] if now else past
    if args.json:
        listed = [{"time": one.time, **checkpoint_to_json(one)} for one in told]
        term.write(json.dumps({"session": log.name, "checkpoints": listed}, ensure_ascii=False))
    elif not told:
        term.write(printable(f"{log.name}: no progress recorded yet"))
    else:
        term.write(printable("\n\n".join(as_text(one) for one in told)))
    return 0


def newest_session() -> str:
    """Return the name of the most recently changed session of clew's log."""
    with own_store() as store:
        found = store.sessions(WORKSPACE) if store else iter(())
        talks = (info for info in found if not info.session.startswith(OWN))
        newest = max(talks, key=lambda info: info.last_time, default=None)
    if newest is None:
        raise NotFound("clew's log has no sessions", ADVICE)
    return newest.session
