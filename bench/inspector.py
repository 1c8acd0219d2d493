"""How long the inspector's server takes for a page, as sessions grow: it must not depend on their length.

    uv run python bench/inspector.py
    uv run python bench/inspector.py --sizes 1000 10000

Sessions are short messages written straight into a log, with a budget on record for every tenth. ``first``
is the first page that a server is ever asked for: it reads where everything stands. ``page`` is any other,
the median of pages all over the session. ``search`` looks for a word that is not there until its time is up.
``map`` is what the model sees now, of which the last 4,000 messages are drawn; the first time, and again.
Each is told twice, as ``process / wall``: the time of the process alone, which leaves out what else runs on
the machine but waiting for the disk as well, and the time that passed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from clew.inspector import context, transcript
from clew.inspector.session_pool import SessionPool
from clew.log import TOKEN_BUDGET, message_event, new_event
from clew.log.protocol import Ctx, Event
from clew.log.store import SqliteStore
from clew.message import Role, text_message

RESULTS = Path(__file__).parent / "results" / "inspector.md"
CTX = Ctx(workspace="local", session="long")
BATCH = 2_000
PAGES = 50
SLICE = {"region": "history", "asked": 9_000, "given": 9_000, "cut": 0, "why": "messages"}
BUDGET = {"slices": [SLICE]}


def events(first: int, last: int) -> list[Event]:
    made = []
    for number in range(first, last + 1):
        role = Role.USER if number % 2 else Role.ASSISTANT
        words = f"message {number}: look at src/module_{number % 97}.py, line {number}"
        made.append(message_event(text_message(role, words)))
        if not number % 10:
            made.append(new_event(TOKEN_BUDGET.name, BUDGET))
    return made


def grow(store: SqliteStore, messages: int) -> None:
    head = store.head(CTX)
    for first in range(1, messages + 1, BATCH):
        head = store.append(CTX, events(first, min(messages, first + BATCH - 1)), head)


class Took(NamedTuple):
    """Milliseconds of an answer: of the process alone, and as they passed."""

    process: float
    wall: float

    def __str__(self) -> str:
        return f"{self.process:.1f} / {self.wall:.1f}"


def timed(work: Callable[[], object]) -> Took:
    """Time an answer, written as JSON as the server would."""
    process, wall = time.process_time(), time.perf_counter()
    json.dumps(work())
    return Took((time.process_time() - process) * 1e3, (time.perf_counter() - wall) * 1e3)


def over(took: Sequence[Took], pick: Callable[[Sequence[float]], float]) -> Took:
    """Pick one number of many for each clock."""
    return Took(pick([one.process for one in took]), pick([one.wall for one in took]))


def row(messages: int, folder: Path) -> str:
    with SqliteStore(folder / f"{messages}.db") as store:
        grow(store, messages)
        pool = SessionPool(store)
        places = random.Random(1).sample(range(1, messages - 40), PAGES)

        def page(first: int) -> object:
            with pool.open("long") as handle:
                return transcript.page(handle, first, 40)

        first = timed(lambda: page(1))
        pages = [timed(lambda place=place: page(place)) for place in places]
        with pool.open("long") as handle:
            search = timed(lambda: transcript.search(handle, "not there", 0))
            map_, again = (timed(lambda: context.context_map(handle, None)) for _ in range(2))
    told = (first, over(pages, statistics.median), over(pages, max), search, map_, again)
    return f"| {messages:,} | {' | '.join(map(str, told))} |"


def rows(sizes: Sequence[int]) -> list[str]:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            lines.append(row(size, Path(folder)))
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    args = parser.parse_args()
    before = os.getloadavg()[0]
    table = rows(args.sizes)
    command = f"uv run python bench/inspector.py --sizes {' '.join(map(str, args.sizes))}"
    RESULTS.write_text(
        f"""# Server time of a page

`{command}`, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores,
load {before:.1f} before and {os.getloadavg()[0]:.1f} after. Milliseconds, JSON included, as
process / wall: the time of the process alone, without waiting for the disk or for other programs, and the
time that passed. Pages of 40 messages, a budget on record for every tenth message. One run.

| messages | first page | page, median | page, worst | search, one go | map, first | map, again |
|---|---|---|---|---|---|---|
{chr(10).join(table)}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
