"""What a turn of a chat costs as its session grows: from turn 10 to turn 10,000 it must stay the same.

    uv run python bench/chat.py
    uv run python bench/chat.py --turns 2000

One chat on disk with an index, the offline model and automatic compaction, as ``clew chat --offline --auto``
has it. Every turn is taken, measured, assembled, answered and put on record; one in ten reads a file, one in
twenty asks for something that left the view. By processor time, since other work on the machine must not
count. ``compacting turns`` are those in which a compaction took place; ``all`` has them in it.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from clew.chat import Chat, TurnFailed, ViewCompacted, open_chat
from clew.log.store import SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.session import Session

RESULTS = Path(__file__).parent / "results" / "chat.md"
WINDOW = 16_000
FACT = (
    "Part {0} is {0}7 mm wide and {0}3 mm high, as Anna told Bert when they met in the old hall. Its drawing "
    "is number {0}9 on sheet {0}, its colour is code {0}1, and batch {0}5 holds the spare ones."
)


class Took(NamedTuple):
    """One turn."""

    seconds: float
    compacted: bool


def line(number: int) -> str:
    """Return what is said in a turn."""
    if number % 20 == 19:
        return f"How wide is part {number // 3}?"
    return "read app.cfg: what is the port?" if number % 10 == 4 else FACT.format(number)


def talk(chat: Chat, turns: int) -> list[Took]:
    """Talk for so many turns; a turn that fails is a bug."""
    took = []
    for number in range(turns):
        started = time.process_time()
        happened = list(chat.turn(line(number)))
        took.append(
            Took(time.process_time() - started, any(isinstance(one, ViewCompacted) for one in happened))
        )
        failed = [one for one in happened if isinstance(one, TurnFailed)]
        if failed:
            raise SystemExit(f"turn {number}: {failed[0].error}")
    return took


def rows(took: Sequence[Took], spans: Sequence[tuple[int, int]]) -> list[str]:
    lines = []
    for start, stop in spans:
        span = took[start:stop]
        plain = sorted(one.seconds * 1e3 for one in span if not one.compacted)
        compacting = [one.seconds * 1e3 for one in span if one.compacted]
        mean = statistics.mean(one.seconds * 1e3 for one in span)
        slow = plain[int(len(plain) * 0.95)]
        made = f"{statistics.median(compacting):,.1f} ms ({len(compacting)})" if compacting else "-"
        usual = f"{statistics.median(plain):,.1f} ms"
        lines.append(f"| {start:,}–{stop:,} | {usual} | {slow:,.1f} ms | {made} | {mean:,.1f} ms |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=10_000)
    args = parser.parse_args()
    spans = [
        (10, 110),
        *((n - 100, n) for n in (500, 1_000, 2_000, 5_000, 10_000, 20_000) if n <= args.turns),
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        root.mkdir()
        (root / "app.cfg").write_text("host = localhost\nport = 8123\n")
        path = Path(folder) / "clew.db"
        with SqliteStore(path) as store, SqliteIndex(path) as index:
            session = Session.open("bench", store, window=WINDOW)
            chat = open_chat(session, root=root, index=index, auto=True)
            took = talk(chat, args.turns)
            size = path.stat().st_size
            events = store.head(session.ctx).seq
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    lines = [
        f"`uv run python bench/chat.py --turns {args.turns}`",
        "",
        f"{machine}, a window of {WINDOW:,} tokens; processor time.",
        "",
        "| turns | median turn | 95th percentile | compacting turns | all, mean |",
        "|---|---|---|---|---|",
        *rows(took, spans),
        "",
        f"{sum(one.compacted for one in took):,} compactions in {args.turns:,} turns; {events:,} events, "
        f"{size / 1e6:,.0f} MB on disk.",
    ]
    text = "\n".join(["# A turn of a chat", "", *lines, ""])
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
