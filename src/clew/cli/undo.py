"""``clew undo``: undo compactions of a session in clew's log."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import takewhile

from clew.cli.stored import own_log
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.message import Item, JsonObject
from clew.session import Compaction


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Undo, and print what is restored and what it costs."""
    with own_log(args.file) as log, log.open() as session:
        before = session.view()
        undone = session.undo(max(1, len(session.trace())) if args.all else args.compactions)
        after, left = session.view(), [one.name for one in session.trace()]

        def tokens(items: Sequence[Item]) -> int:
            return sum(session.counter.count(item.message) for item in items)

        sizes = {
            "before": tokens(before),
            "after": tokens(after),
            "sent_anew": tokens(_changed(before, after)),
        }
    if args.json:
        told = {"session": log.name, "undone": [_to_json(one) for one in undone], "in_force": left}
        term.write(json.dumps({**told, "tokens": sizes}, ensure_ascii=False))
        return 0
    for one in undone:
        when = one.time[:16].replace("T", " ")
        why = one_line(one.plan.reason, 80)
        term.write(printable(f"undone: {one.name}, the compaction of {when}, {why}"))
    term.write(f"still in force: {', '.join(left)}" if left else "every message is in view, unchanged")
    term.write(
        f"{sizes['before']:,} → {sizes['after']:,} tokens, {len(before):,} → {count(len(after), 'message')}; "
        f"{sizes['sent_anew']:,} tokens of the next request miss the provider's cache"
    )
    return 0


def _changed(before: Sequence[Item], after: Sequence[Item]) -> Sequence[Item]:
    """Return the view from the first message that differs, which the prompt cache cannot have."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    return after[same:]


def _to_json(compaction: Compaction) -> JsonObject:
    return {
        "name": compaction.name,
        "event": compaction.seq,
        "time": compaction.time,
        "digest": compaction.digest.id if compaction.digest else None,
        "tokens_before": compaction.plan.tokens_before,
        "tokens_after": compaction.plan.tokens_after,
    }
