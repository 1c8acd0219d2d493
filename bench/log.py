"""How fast the log takes and gives events, and what a session of a million messages costs.

    uv run python bench/log.py [--messages 1000000]
    uv run --with openai-agents python bench/log.py      with the peer

The floor is what any durable log in SQLite must do: one insert of the same bytes into a plain table, with the
same pragmas, in the same run. The peer is the session store of openai-agents, which keeps no hashes. Rounds
alternate between the writers, and medians are by wall clock: waiting for the disk is the point. What is
about memory runs in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import platform
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias

from clew.log import Ref, canonical, fold, load_messages, message_event, message_to_json, new_event
from clew.log.protocol import Ctx, Event
from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.log.store.sqlite import unpack
from clew.message import Message, Role, text_message

RESULTS = Path(__file__).parent / "results" / "log.md"
ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("CLEW_TEST_DATA", ROOT.parent / "shared" / "data")) / "transcripts"
CTX = Ctx(workspace="bench", session="bench")
ROUNDS = 5
MARK = re.compile(rb"\x02([^\x03]+)\x03")
BLOBS = "SELECT digest, checksum, content FROM blob"
WORDS = "the quick brown fox jumps over the lazy dog and looks at the log of what it has done so far "


def message(n: int, size: int) -> Message:
    return text_message(
        Role.USER if n % 2 else Role.ASSISTANT, f"{n} {WORDS * (size // len(WORDS) + 1)}"[:size]
    )


# Writing ---------------------------------------------------------------------------------------------

Writer: TypeAlias = Callable[[Path, Sequence[Sequence[Message]]], "Took"]


class Took(NamedTuple):
    """How long something took."""

    wall_s: float
    cpu_s: float


class Clock:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    def read(self) -> Took:
        """Return how long it has run."""
        return Took(time.perf_counter() - self._started[0], time.process_time() - self._started[1])


def write_plain(path: Path, batches: Sequence[Sequence[Message]]) -> Took:
    """Insert the same bytes into a table of two columns."""
    rows = [[(json.dumps(message_to_json(one)).encode(),) for one in batch] for batch in batches]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, body BLOB)")
        clock = Clock()
        for batch in rows:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO event (body) VALUES (?)", batch)
            database.execute("COMMIT")
        return clock.read()


def write_clew(path: Path, batches: Sequence[Sequence[Message]]) -> Took:
    """Append messages: made into events, hashed, chained, compared and swapped."""
    with SqliteStore(path) as store:
        head = store.head(CTX)
        clock = Clock()
        for batch in batches:
            head = store.append(CTX, [message_event(one) for one in batch], head)
        return clock.read()


def write_openai_agents(path: Path, batches: Sequence[Sequence[Message]]) -> Took:
    from agents import SQLiteSession  # type: ignore[import-not-found]

    async def write() -> Took:
        session = SQLiteSession("bench", path)
        items = [[{"role": one.role.value, "content": one.text} for one in batch] for batch in batches]
        clock = Clock()
        for batch in items:
            await session.add_items(batch)
        elapsed = clock.read()
        session.close()
        return elapsed

    return asyncio.run(write())


# Reading ---------------------------------------------------------------------------------------------

Reader: TypeAlias = Callable[[Path], int]


def read_plain(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return sum(
            1 for (body,) in database.execute("SELECT body FROM event ORDER BY seq") if json.loads(body)
        )


def read_clew(path: Path) -> int:
    with SqliteStore(path) as store:
        return sum(1 for _ in store.read(CTX))


def read_clew_messages(path: Path) -> int:
    with SqliteStore(path) as store:
        return sum(1 for _ in load_messages(store, CTX, fold(store.read(CTX)).entries))


def read_openai_agents(path: Path) -> int:
    from agents import SQLiteSession

    session = SQLiteSession("bench", path)
    items = asyncio.run(session.get_items())
    session.close()
    return len(items)


# Tables ----------------------------------------------------------------------------------------------

WRITERS: dict[str, tuple[Writer, str]] = {
    "floor: plain insert": (write_plain, "plain.db"),
    "clew": (write_clew, "clew.db"),
    "openai-agents SQLiteSession": (write_openai_agents, "agents.db"),
}
READERS: dict[str, tuple[Reader, str]] = {
    "floor: select and json.loads": (read_plain, "plain.db"),
    "clew, events, bodies verified": (read_clew, "clew.db"),
    "clew, folded, messages loaded": (read_clew_messages, "clew.db"),
    "openai-agents SQLiteSession": (read_openai_agents, "agents.db"),
}


def present(name: str) -> bool:
    return not name.startswith("openai-agents") or importlib.util.find_spec("agents") is not None


def rates(folder: Path, single: int, batches: int) -> Iterator[str]:
    """Yield the tables of append and read rates."""
    yield "| append 1 kB messages | one by one, /s | of the floor | by 100, /s | of the floor | CPU µs each |"
    yield "|---|---|---|---|---|---|"
    rounds: dict[tuple[str, str], list[Took]] = {}
    for round_ in range(ROUNDS):
        for name, (write, file) in WRITERS.items():
            if present(name):
                one = [[message(n, 1_000)] for n in range(single)]
                hundred = [[message(n, 1_000) for n in range(100)] for _ in range(batches)]
                rounds.setdefault((name, "one"), []).append(write(folder / f"{round_}-one-{file}", one))
                rounds.setdefault((name, "hundred"), []).append(write(folder / file, hundred))
    floor = next(iter(WRITERS))
    for name in WRITERS:
        if not present(name):
            yield f"| {name} | not installed | | | | |"
            continue
        cells = []
        for mode, count in (("one", single), ("hundred", batches * 100)):
            took, least = (statistics.median(t.wall_s for t in rounds[one, mode]) for one in (name, floor))
            cells.append(f"{count / took:,.0f} | {least / took:.2f}")
        cpu_s = statistics.median(took.cpu_s for took in rounds[name, "hundred"])
        yield f"| {name} | {' | '.join(cells)} | {cpu_s / batches / 100 * 1e6:.0f} |"
    yield ""
    yield "| read all | /s | of the floor |"
    yield "|---|---|---|"
    least = 0.0
    for name, (read, file) in READERS.items():
        if not present(name):
            yield f"| {name} | not installed | |"
            continue
        took = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            count = read(folder / file)
            took.append((time.perf_counter() - started) / count)
        least = least or statistics.median(took)
        yield f"| {name} | {1 / statistics.median(took):,.0f} | {least / statistics.median(took):.2f} |"


def write_million(path: Path, messages: int) -> float:
    """Write a long session: 200-byte messages, and one other event in a thousand."""
    with SqliteStore(path) as store:
        started = time.perf_counter()
        head = store.head(CTX)
        for start in range(0, messages, 1_000):
            events: list[Event] = [message_event(message(n, 200)) for n in range(start, start + 1_000)]
            events.append(new_event("note", {"at": start}))
            head = store.append(CTX, events, head)
        return time.perf_counter() - started


def head_of(store: SqliteStore) -> str:
    return f"{store.head(CTX).seq:,} events"


def last_hundred(store: SqliteStore) -> str:
    last = store.head(CTX).seq
    refs = [Ref(stored.seq) for stored in store.read(CTX, last - 110, kinds=["message"])]
    return f"{len(list(load_messages(store, CTX, refs[-100:])))} messages"


def notes(store: SqliteStore) -> str:
    return f"{sum(1 for _ in store.read(CTX, kinds=['note'])):,} events"


def one_more(store: SqliteStore) -> str:
    return f"event {store.append(CTX, [message_event(message(0, 200))], store.head(CTX)).seq:,}"


def fold_all(store: SqliteStore) -> str:
    return f"{len(fold(store.read(CTX)).entries):,} in the view"


def messages_all(store: SqliteStore) -> str:
    return f"{len(list(load_messages(store, CTX, fold(store.read(CTX)).entries))):,} messages held"


def audit_all(store: SqliteStore) -> str:
    report = audit(store.path)
    return f"{'sound' if report.sound else 'NOT SOUND'}"


TASKS: dict[str, Callable[[SqliteStore], str]] = {
    "open, read the head": head_of,
    "the last 100 messages": last_hundred,
    "all events that are no messages": notes,
    "append one more": one_more,
    "read and fold everything": fold_all,
    "hold every message in memory": messages_all,
    "audit everything": audit_all,
}


def run_task(name: str, path: Path) -> None:
    started = time.perf_counter()
    with SqliteStore(path) as store:
        outcome = TASKS[name](store)
        seconds = time.perf_counter() - started
    print(json.dumps([seconds, peak_mb(), outcome]))


def peak_mb() -> float:
    """Return this process's largest memory; getrusage would count its parent's as well."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def million(folder: Path, messages: int) -> Iterator[str]:
    """Yield the table of what a long session costs, each task in a process of its own."""
    path = folder / "million.db"
    seconds = write_million(path, messages)
    size = sum(file.stat().st_size for file in folder.glob("million.db*"))
    yield (
        f"A session of {messages:,} messages of 200 bytes: written in {seconds:.0f} s "
        f"({messages / seconds:,.0f}/s, 1,000 at a time), {size / messages:,.0f} bytes each on disk."
    )
    yield ""
    yield "| a new process opens it and does | seconds | peak MB | outcome |"
    yield "|---|---|---|---|"
    for name in TASKS:
        command = [sys.executable, __file__, "--task", name, "--file", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        took, peak, outcome = json.loads(done.stdout.splitlines()[-1])
        yield f"| {name} | {took:.3f} | {peak:.0f} | {outcome} |"


def dedup(folder: Path) -> Iterator[str]:
    """Yield what real sessions weigh in the store."""
    sets = [
        name
        for name in ("claude-code-entire-cli", "codex-session-bridge", "mini-swe-agent")
        if (DATA / name).is_dir()
    ]
    if not sets:
        yield "The real sessions are not on this machine; set CLEW_TEST_DATA to their folder."
        return
    yield "| real sessions | messages | as JSON, MB | long texts in it | each once | compressed | the file |"
    yield "|---|---|---|---|---|---|---|"
    for name in sets:
        path = folder / f"{name}.db"
        count, size = write_real(path, name)
        weights = " | ".join(f"{part / 1e6:.1f}" for part in (size, *weigh(path), path.stat().st_size))
        yield f"| {name} | {count:,} | {weights} |"


def write_real(path: Path, name: str) -> tuple[int, int]:
    """Put a set of real sessions into a store; return how many messages, and their size as JSON."""
    from clew.transcripts import load as load_transcripts
    from clew.transcripts import open_source

    count = size = 0
    with SqliteStore(path) as store:
        for file in sorted(file for file in (DATA / name).rglob("*.zst") if file.is_file()):
            for session in load_transcripts(open_source(file)):
                events = [message_event(entry.message) for entry in session.entries]
                size += sum(len(canonical(event.body)) for event in events)
                count += len(events)
                store.append(Ctx(workspace=name, session=f"{file.name} {session.id}"), events, None)
    return count, size


def weigh(path: Path) -> tuple[int, int, int]:
    """Return the bytes of long texts in a store: as often as they are held, each once, and as stored."""
    with closing(sqlite3.connect(path)) as database:
        blobs = {name: unpack(name, *rest) for name, *rest in database.execute(BLOBS)}
        bodies = [body for (body,) in database.execute("SELECT body FROM event")]
        (stored,) = database.execute("SELECT sum(length(content)) FROM blob").fetchone()
    wholes = [blobs[body[1:-1].decode()] for body in bodies if body.startswith(b"\x02")]
    held = [name.decode() for text in (*bodies, *wholes) for name in MARK.findall(text)]
    return sum(len(blobs[name]) for name in held), sum(map(len, blobs.values())), stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--single", type=int, default=400, help="messages of a round, one at a time")
    parser.add_argument("--batches", type=int, default=40, help="batches of 100 of a round")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        run_task(args.task, args.file)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [
            "# The log",
            "",
            f"`uv run --with openai-agents python bench/log.py --messages {args.messages}`, Python "
            f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.1f} at the start.",
            "",
            *rates(folder, args.single, args.batches),
            "",
            *million(folder, args.messages),
            "",
            *dedup(folder),
        ]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
