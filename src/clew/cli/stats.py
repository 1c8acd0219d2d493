"""``clew stats``: count the compactions of sessions, and what was recalled after them."""

from __future__ import annotations

import argparse
import json
from itertools import chain

from clew.chat.reports import stats_lines, stats_of
from clew.cli.inputs import WORKSPACE, own_store
from clew.cli.stored import own_log
from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.log.protocol import Ctx


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Count, and print."""
    if args.session:
        with own_log(args.session) as log:
            stats = stats_of(log.store.read(log.ctx))
    else:
        with own_store() as store:
            named = [one.session for one in store.sessions(WORKSPACE)] if store else []
            ctxs = [Ctx(workspace=WORKSPACE, session=name) for name in named]
            stats = stats_of(chain.from_iterable(store.read(ctx) for ctx in ctxs) if store else ())
    if args.json:
        term.write(json.dumps(stats.to_json()))
        return 0
    for line in stats_lines(stats):
        term.write(printable(line))
    return 0
