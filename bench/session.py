"""What one more message costs, and opening a session, as the session grows: it must not depend on its length.

    uv run python bench/session.py
    uv run python bench/session.py --sizes 1000 10000 100000 --turns 200

Sessions are made up as in ``compact_pass.py``. ``add + view`` appends one message and asks for what the model
should see; ``fit`` measures the window and puts a budget on record. ``kept compact`` compacts whenever the
window asks for it, as a host would; ``never compacted`` lets the view grow, so that copying it is part of the
cost. Medians over the turns, by wall clock.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from compact_pass import session as made_up

from clew.log.store import SqliteStore
from clew.message import Item
from clew.session import Session

RESULTS = Path(__file__).parent / "results" / "session.md"
WINDOW = 60_000
BATCH = 500


def grown(store: SqliteStore, items: Sequence[Item], compacts: bool) -> Session:
    """Return a session that holds all of these."""
    session = Session.open("main", store, window=WINDOW)
    for start in range(0, len(items), BATCH):
        session.add(*(item.message for item in items[start : start + BATCH]))
        if compacts:
            session.fit(auto=True)
    return session


def medians(session: Session, items: Sequence[Item]) -> tuple[float, float]:
    """Return the seconds of adding and viewing, and of measuring the window."""
    adds, fits = [], []
    for item in items:
        adds.append(timed(lambda item=item: (session.add(item.message), session.view())))
        fits.append(timed(session.fit))
    return statistics.median(adds), statistics.median(fits)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rows(sizes: Sequence[int], turns: int, folder: Path) -> list[str]:
    lines = []
    for compacts in (True, False):
        for size in sizes:
            items = made_up("short", size + turns, seed=1)
            with SqliteStore(folder / f"{compacts}-{size}.db") as store:
                session = grown(store, items[:size], compacts)
                add, fit = medians(session, items[size:])
                opened = timed(lambda store=store: Session.open("main", store, window=WINDOW).view())
                shown = len(session.view())
            kind = "kept compact" if compacts else "never compacted"
            lines.append(
                f"| {kind} | {size:,} | {shown:,} | {add * 1e3:.2f} | {fit * 1e3:.2f} | {opened:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--turns", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = rows(args.sizes, args.turns, Path(folder))
    RESULTS.write_text(
        f"""# One more message

`uv run python bench/session.py --sizes {" ".join(map(str, args.sizes))} --turns {args.turns}`, Python \
{platform.python_version()}, {platform.machine()}, SQLite in the temporary folder, synced on each append.

| session | messages | shown | add + view, ms | fit, ms | open, s |
|---|---|---|---|---|---|
{chr(10).join(table)}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
