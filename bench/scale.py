"""What a turn, an opening and a compaction cost on PostgreSQL, on SQLite and with LangGraph's checkpointer.

    W="--with langgraph --with langgraph-checkpoint-postgres"
    uv run $W python bench/scale.py --write           latencies with 1, 4 and 16 workers (10 minutes)
    uv run $W python bench/scale.py --growth --write  bytes a turn as a session grows to 10,000 messages

Messages are those of a real agent's run (examples/sphinx-9229.traj.json.zst), repeated with a number in each
text so that none is stored once for many. A worker is a process with a session of its own. A turn appends two
messages and assembles the next request; LangGraph's graph does the same: a message in, the whole list read, a
message out. The server waits for its disk (fsync on); TMPDIR chooses the disk. Bytes are the server's
write-ahead log, or what the process wrote for SQLite.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count, cycle, islice, pairwise
from pathlib import Path
from typing import Any

from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.postgres import PostgresStore
from clew.log.store.sqlite import session_seal
from clew.service.sessions import SessionCache
from clew.session import Session
from clew.testing.postgres import PostgresServer
from clew.transcripts import load, open_source

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"
RESULTS = ROOT / "bench" / "results"
SYSTEMS = ("postgres", "sqlite", "langgraph")
PHASES = ("turns", "cold", "warm", "compactions")
SIZES = (100, 1_000, 10_000)
WORKERS = (1, 4, 16)
WINDOW = 200_000
BATCH = 500
Times = dict[str, list[float]]


def example() -> list[dict[str, Any]]:
    """Return plain messages of the example, as a chat API takes them."""
    (session,) = load(open_source(str(EXAMPLE)))
    texts = [(entry.message.role.value, entry.message.text) for entry in session.entries]
    return [
        {"role": role if role in ("user", "assistant") else "user", "content": text}
        for role, text in texts
        if text
    ]


def messages(start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield messages without end, none like another."""
    for n, one in zip(count(start), cycle(example())):
        yield {**one, "content": f"[{n}] {one['content']}"}


# The sessions that are measured ------------------------------------------------------------------------


def build(template: SqliteStore, size: int) -> None:
    """Make a session of this size once, as an agent would: compacted whenever that is due."""
    session = Session.open(f"s{size}", template, window=WINDOW)
    there = len(session._replay.view.whole)
    for at in range(there, size, BATCH):
        session.add(*islice(messages(at), min(BATCH, size - at)))
        session.fit(auto=True)
    session._replay.save()


_COPY = """
INSERT INTO session (workspace, id, seal, seq, hash)
SELECT {to}, id, {seal}, seq, hash FROM session WHERE {source};
INSERT INTO event ({owner} session, seq, id, kind, version, time, digest, hash, body)
SELECT {owner_value} {key}, seq, id, kind, version, time, digest, hash, body FROM event WHERE session = {old};
INSERT INTO blob (workspace, digest, checksum, content)
SELECT {to}, digest, checksum, content FROM blob WHERE workspace = {origin};
INSERT INTO snapshot ({owner} session, seq, hash, digest, checksum, content)
SELECT {owner_value} {key}, seq, hash, digest, checksum, content FROM snapshot WHERE session = {old};
"""
_COPY_USES = """
INSERT INTO blob_use (workspace, digest, session)
SELECT {to}, digest, {key} FROM blob_use WHERE session = {old};
"""


def copies(system: str, place: str, admin: str, template: str, size: int, names: list[str]) -> None:
    """Copy a session with its snapshot into workspaces: its hashes do not depend on the workspace."""
    origin, name = Ctx(workspace=f"template-{size}", session=f"s{size}"), f"s{size}"
    with SqliteStore(template) as source, open_target(system, place) as target:
        local = Ctx(workspace="local", session=name)
        if not target.head(origin).seq:
            events = [stored.event for stored in source.read(local)]
            for at in range(0, len(events), BATCH):
                target.append(origin, events[at : at + BATCH], None)
            target.save_snapshot(origin, *(source.load_snapshot(local) or ()))
    for workspace in names:
        values = {"to": f"'{workspace}'", "origin": f"'{origin.workspace}'"}
        values["seal"] = f"'{session_seal(Ctx(workspace=workspace, session=name))}'"
        values["source"] = f"workspace = {values['origin']} AND id = '{name}'"
        values["old"] = f"(SELECT key FROM session WHERE {values['source']})"
        values["key"] = f"(SELECT key FROM session WHERE workspace = '{workspace}' AND id = '{name}')"
        if system == "sqlite":
            with closing(sqlite3.connect(place)) as connection:
                connection.executescript(_COPY.format(owner="", owner_value="", **values))
        else:
            import psycopg

            script = _COPY + _COPY_USES
            owned = {"owner": "workspace,", "owner_value": f"'{workspace}',"}
            with psycopg.connect(admin) as connection:
                connection.execute("SET search_path = clew")
                connection.execute(script.format(**owned, **values).encode())


def open_target(system: str, place: str) -> Any:
    return SqliteStore(place) if system == "sqlite" else PostgresStore(place, pool=2)


# One worker: a process that runs phases as it is told ----------------------------------------------------


class ClewWorker:
    """A session of clew."""

    def __init__(self, system: str, place: str) -> None:
        self.store = open_target(system, place)

    def prepare(self, size: int, name: str) -> None:
        """Open the session."""
        self.ctx = Ctx(workspace=name, session=f"s{size}")
        self.cache = SessionCache(self.store, window=WINDOW)
        self.numbers = messages(10**6)
        self.turn({})  # imports, patterns, the first count of tokens

    def turn(self, times: Times) -> None:
        """Append two messages and assemble the next request."""
        pair = [next(self.numbers), next(self.numbers)]
        with self.cache.lend(self.ctx) as session:
            timed(times, "append", lambda: session.add(*pair))
            timed(times, "request", lambda: session.request().body("openai", {"model": "m"}))

    def cold(self, times: Times) -> None:
        """Open the session from the store, as a worker does that has never seen it; load the whole view."""
        options: Any = {"workspace": self.ctx.workspace, "window": WINDOW}
        timed(times, "cold", lambda: Session.open(self.ctx.session, self.store, **options).view())

    def warm(self, times: Times) -> None:
        """Look at the session that this process holds."""

        def look() -> None:
            with self.cache.lend(self.ctx) as session:
                session.view()

        timed(times, "warm", look)

    def compact(self, times: Times) -> None:
        """Compact the view to half, and undo that."""
        with self.cache.lend(self.ctx) as session:
            target = max(2_000, session.tokens // 2)
            timed(times, "compaction", lambda: session.compact(target_tokens=target))
            session.undo()


class LangGraphWorker:
    """A thread of LangGraph with a PostgreSQL checkpointer."""

    def __init__(self, place: str, durability: str = "async") -> None:
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.graph import END, START, MessagesState, StateGraph

        self.saver = PostgresSaver.from_conn_string(place)
        builder = StateGraph(MessagesState)
        self.numbers = messages(10**6)
        builder.add_node("model", lambda _state: {"messages": [next(self.numbers)]})
        builder.add_edge(START, "model")
        builder.add_edge("model", END)
        self.graph = builder.compile(checkpointer=self.saver.__enter__())
        self.durability = durability

    def prepare(self, size: int, name: str) -> None:
        """Make a thread of this size."""
        self.config: Any = {"configurable": {"thread_id": f"{name}-{size}"}}
        if not self.graph.get_state(self.config).values:
            self.graph.update_state(self.config, {"messages": list(islice(messages(), size))})

    def turn(self, times: Times) -> None:
        """Run the graph once: a message in, a message out."""
        given = {"messages": [next(self.numbers)]}
        timed(times, "append", lambda: self.graph.invoke(given, self.config, durability=self.durability))

    def cold(self, times: Times) -> None:
        """Read the thread's state."""
        timed(times, "cold", lambda: self.graph.get_state(self.config).values["messages"])

    def warm(self, times: Times) -> None:
        """Do nothing: the graph keeps no state, every opening reads the checkpoint."""

    compact = warm


def timed(times: Times, name: str, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    times.setdefault(name, []).append(time.perf_counter() - begun)


def work(system: str, place: str) -> None:
    """Run the phases that come as lines of JSON; answer each with its times."""
    worker: Any = LangGraphWorker(place) if system == "langgraph" else ClewWorker(system, place)
    does = dict(zip(PHASES, (worker.turn, worker.cold, worker.warm, worker.compact), strict=True))
    print("ready", flush=True)
    for line in sys.stdin:
        asked, times = json.loads(line), {}
        cpu, begun = time.process_time(), time.perf_counter()
        if asked["phase"] == "prepare":
            worker.prepare(asked["size"], asked["name"])
        else:
            rounds = 0
            while rounds < asked["least"] or (
                rounds < asked["most"] and time.perf_counter() - begun < asked["seconds"]
            ):
                does[asked["phase"]](times)
                rounds += 1
            times["rounds"], times["cpu"] = [rounds], [time.process_time() - cpu]
        print(json.dumps(times), flush=True)


# All workers -------------------------------------------------------------------------------------------


class Pool:
    """The workers of one system."""

    def __init__(self, system: str, place: str, size: int) -> None:
        command = [sys.executable, __file__, "--work", system, place]
        pipe = subprocess.PIPE
        self.workers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(size)]
        for one in self.workers:
            assert self._read(one) == "ready"

    def run(self, workers: int, asked: Callable[[int], dict[str, Any]]) -> tuple[Times, float]:
        """Let the first workers run a phase at the same time; return their times and how long it took."""
        begun = time.perf_counter()
        for n, one in enumerate(self.workers[:workers]):
            assert one.stdin is not None
            one.stdin.write(json.dumps(asked(n)) + "\n")
            one.stdin.flush()
        merged: Times = {}
        for one in self.workers[:workers]:
            for name, some in json.loads(self._read(one)).items():
                merged.setdefault(name, []).extend(some)
        return merged, time.perf_counter() - begun

    def close(self) -> None:
        """End the workers."""
        for one in self.workers:
            one.communicate()

    @staticmethod
    def _read(one: Any) -> str:
        line = one.stdout.readline().strip()
        if not line:
            raise SystemExit(f"a worker ended with {one.wait()}")
        return str(line)


def measure_cell(pool: Pool, size: int, workers: int, seconds: float) -> dict[str, Any]:
    pool.run(workers, lambda n: {"phase": "prepare", "size": size, "name": f"{size}-{workers}-{n}"})
    cell: dict[str, Any] = {}
    for phase in PHASES:
        long = phase == "turns"
        asked = {"phase": phase, "least": 3 if long else 1, "most": 400}
        asked["seconds"] = seconds if long else seconds / 2
        times, took = pool.run(workers, lambda _n, asked=asked: asked)
        rounds = sum(times["rounds"])
        cell[phase] = {"times": times, "rate": rounds / took, "cpu": sum(times["cpu"]) / rounds}
    return cell


def percentiles(times: list[float] | None) -> str:
    if not times:
        return "–"
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"{statistics.median(ordered) * 1000:,.1f} / {p99 * 1000:,.1f} ({len(ordered)})"


HEAD = (
    "| messages | workers | system | append | request | compaction | open cold | cold opens/s | warm opens/s "
)
HEAD += "| turns/s | CPU: turn, cold open, compaction |\n|" + "---|" * 11


def row(size: int, workers: int, system: str, cell: dict[str, Any]) -> str:
    turns, cold, warm = cell["turns"], cell["cold"], cell["warm"]
    cells = [f"{size:,}", str(workers), system]
    cells += [percentiles(turns["times"].get(name)) for name in ("append", "request")]
    cells.append(percentiles(cell["compactions"]["times"].get("compaction")))
    cells += [percentiles(cold["times"].get("cold")), f"{cold['rate']:,.1f}"]
    cells.append(f"{warm['rate']:,.0f}" if warm["times"].get("warm") else "–")
    cpu = [cell[phase]["cpu"] * 1000 for phase in ("turns", "cold", "compactions")]
    cells += [f"{turns['rate']:,.1f}", ", ".join(f"{one:,.1f}" for one in cpu if one > 0.01)]
    return f"| {' | '.join(cells)} |"


COST_NOTES = """
Written by `bench/scale.py`. Milliseconds, p50 / p99 (number of samples): with fewer than 100 samples p99
is the slowest. Workers run at the same time, each on a session of its own, for {seconds:g} s a cell;
rates are those of all workers together. *Append* of LangGraph is a whole turn (the list is read, two
messages are added); it has no compaction. *Open cold* loads the session and its whole view into a
process that does not hold it; *warm* looks at a session that the process holds, and reads what others
appended. SQLite's workers share one file. *CPU* is that of the client
process (means; a compaction with its undo); it hardly depends on other work, the times do.
"""


def measure(args: argparse.Namespace) -> None:
    lines = []
    with started(args) as (server, folder, template):
        for system in args.systems:
            place = str(folder / "clew.db") if system == "sqlite" else server.address
            pool = Pool(system, place, max(args.workers))
            for size in args.sizes:
                for workers in args.workers:
                    if system != "langgraph":
                        names = [f"{size}-{workers}-{n}" for n in range(workers)]
                        copies(
                            system, place, server.admin.replace("/postgres?", "/clew?"), template, size, names
                        )
                    lines.append(row(size, workers, system, measure_cell(pool, size, workers, args.seconds)))
                    print(lines[-1], flush=True)
            pool.close()
        about = machine(server)
    lines.sort(key=lambda line: [int(cell.replace(",", "")) for cell in line.split("|")[1:3]])
    about += "\n" + COST_NOTES.format(seconds=args.seconds)
    text = "\n".join(["# Cost of a turn as sessions grow", "", about, HEAD, *lines])
    if args.write:
        (RESULTS / "scale.md").write_text(text + "\n", encoding="utf-8")


# Bytes ---------------------------------------------------------------------------------------------------


def wal(address: str) -> int:
    import psycopg

    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    return int(row[0]) if row else 0


def written(system: str, address: str) -> int:
    if system != "sqlite":
        return wal(address)
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


def grow_clew(system: str, place: str, sizes: Sequence[int], sample: int) -> list[float]:
    """Return the bytes a turn at each size."""
    found = []
    for size in sizes:
        worker = ClewWorker(system, place)
        worker.prepare(size, f"grown-{size}")
        before = written(system, place)
        for _ in range(sample):
            worker.turn({})
        found.append((written(system, place) - before) / sample)
        print(system, size, f"{found[-1]:,.0f} bytes a turn", flush=True)
        worker.store.close()
    return found


def grow_langgraph(place: str, sizes: Sequence[int], sample: int, durability: str) -> list[float]:
    found, worker = [], LangGraphWorker(place, durability)
    for size in sizes:
        worker.prepare(size, f"grown-{durability}")
        before = wal(place)
        for _ in range(sample):
            worker.turn({})
        time.sleep(0.5)  # checkpoints are written in the background
        found.append((wal(place) - before) / sample)
        print("langgraph", durability, size, f"{found[-1]:,.0f} bytes a turn", flush=True)
    return found


TURNS = {"clew": 110, "LangGraph": 10}
"""Turns at each size: clew saves a snapshot every 100 or 200 events, which must be among them."""
BYTES_NOTES = """
Written by `bench/scale.py --growth`. A turn is two messages and the next request; bytes are the mean of 110
turns (LangGraph: 10) from each size on, clew's snapshots included. *Whole session* is the area under the
line. For PostgreSQL the write-ahead log, for SQLite what the process wrote (write-ahead log and checkpoints).
"""


def growth(args: argparse.Namespace) -> None:
    sizes, rows = list(args.sizes), []
    with started(args) as (server, folder, template):
        for system, place in (("postgres", server.address), ("sqlite", str(folder / "grown.db"))):
            for size in sizes:
                copies(system, place, admin_of(server), template, size, [f"grown-{size}"])
            rows.append((f"clew, {system}", grow_clew(system, place, sizes, TURNS["clew"])))
        for durability in ("async", "exit"):
            found = grow_langgraph(server.address, sizes, TURNS["LangGraph"], durability)
            rows.append((f"LangGraph, PostgreSQL, durability {durability}", found))
        about = machine(server) + "\n" + BYTES_NOTES
    head = "| | " + " | ".join(f"{size:,} messages" for size in sizes) + " | whole session |"
    lines = [head, "|" + "---|" * (len(sizes) + 2)]
    for name, found in rows:
        whole = f"{whole_of(sizes, found) / 1e6:,.0f} MB"
        lines.append(f"| {name} | {' | '.join(f'{one:,.0f}' for one in found)} | {whole} |")
    title = f"# Bytes written a turn, as a session grows to {sizes[-1]:,} messages"
    text = "\n".join([title, "", about, *lines])
    print(text)
    if args.write:
        (RESULTS / "scale_bytes.md").write_text(text + "\n", encoding="utf-8")


def admin_of(server: PostgresServer) -> str:
    return server.admin.replace("/postgres?", "/clew?")


def whole_of(marks: Sequence[int], found: Sequence[float]) -> float:
    """Return the bytes of a session whose bytes a turn grow in straight lines between the marks."""
    points = [(0, found[0]), *zip(marks, found, strict=True)]
    return sum((b - a) / 2 * (x + y) / 2 for (a, x), (b, y) in pairwise(points))


# Around it ---------------------------------------------------------------------------------------------


@contextmanager
def started(args: argparse.Namespace) -> Iterator[tuple[PostgresServer, Path, str]]:
    """Start a server; make the sessions that are copied, unless an earlier run left them in --template."""
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        template = args.template or str(Path(folder) / "template.db")
        with SqliteStore(template) as store:
            for size in args.sizes:
                build(store, size)
        if args.build:
            raise SystemExit(0)
        if "langgraph" in args.systems:
            from langgraph.checkpoint.postgres import PostgresSaver

            with PostgresSaver.from_conn_string(server.address) as saver:
                saver.setup()
        PostgresStore(server.address).close()
        yield server, Path(folder), template


def machine(server: PostgresServer) -> str:
    what = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {server.version}"
    )
    load = f"load average {os.getloadavg()[1]:.0f}, other work on the machine included"
    return f"{what}; {load}; flushing a page to the disk of the data took {flush_ms(server.folder):.2f} ms."


def flush_ms(folder: Path) -> float:
    """Return how long it takes to make 8 KiB durable, the median of 20."""
    times: Times = {}
    with (folder / "flush").open("wb", buffering=0) as file:
        for _ in range(20):
            file.write(bytes(8192))
            timed(times, "flush", lambda: os.fdatasync(file.fileno()))
    return statistics.median(times["flush"]) * 1000


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    parser.add_argument("--seconds", type=float, default=6.0, help="how long the turns of a cell run")
    parser.add_argument("--template", help="a file that keeps the sessions to copy between runs")
    parser.add_argument("--build", action="store_true", help="make --template and stop")
    parser.add_argument("--growth", action="store_true", help="measure bytes instead")
    parser.add_argument("--write", action="store_true", help="write the table into bench/results")
    parser.add_argument("--work", nargs=2, metavar=("SYSTEM", "PLACE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
    elif options.growth:
        growth(options)
    else:
        measure(options)
