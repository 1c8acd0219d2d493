"""What a turn costs on PostgreSQL, on SQLite and with LangGraph's PostgreSQL checkpointer, as sessions grow.

    nice uv run --with langgraph --with langgraph-checkpoint-postgres python bench/scale.py --write
    nice uv run python bench/scale.py --simulate        check the sizing model of docs/scale.md

Messages are those of a real agent's run (examples/sphinx-9229.traj.json.zst), repeated with a number in each
text so that none is stored once for many. A worker is a process with a session of its own; a turn appends a
call with its result and assembles the next request. The server waits for its disk (fsync on). Bytes are the
server's write-ahead log, or the growth of the SQLite files.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from clew.log.store import SqliteStore
from clew.log.store.postgres import PostgresStore
from clew.session import Session
from clew.testing.postgres import PostgresServer
from clew.transcripts import load, open_source

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"
RESULTS = ROOT / "bench" / "results" / "scale.md"
SYSTEMS = ("postgres", "sqlite", "langgraph")
WINDOW = 200_000


def example() -> list[dict[str, Any]]:
    """Return plain messages of the example, as a chat API takes them."""
    said = []
    (session,) = load(open_source(str(EXAMPLE)))
    for entry in session.entries:
        role = entry.message.role.value
        said.append(
            {"role": role if role in ("user", "assistant") else "user", "content": entry.message.text}
        )
    return [one for one in said if one["content"]]


def messages(count: int, tag: str) -> list[dict[str, Any]]:
    numbered = enumerate(islice(cycle(example()), count))
    return [{**one, "content": f"[{tag} {n}] {one['content']}"} for n, one in numbered]


# One worker --------------------------------------------------------------------------------------------


def clew_worker(store: Any, tag: str, size: int, turns: int) -> dict[str, list[float]]:
    session = Session.open(tag, store, window=WINDOW)
    said = messages(size, tag)
    for at in range(0, size, 500):
        session.add(*said[at : at + 500])
        session.fit(auto=True)
    times: dict[str, list[float]] = {"append": [], "request": [], "compaction": [], "open cold": []}
    before, cpu = written(store), time.process_time()
    for n, pair in enumerate(zip(*[iter(messages(2 * turns, f"{tag} turn"))] * 2, strict=True)):
        timed(times["append"], lambda pair=pair: session.add(*pair))
        timed(times["request"], lambda n=n: session.request().body("openai", {"model": f"m{n}"}))
    times["cpu"] = [(time.process_time() - cpu) / turns]
    bytes_written = (written(store) - before) / turns
    for _ in range(max(2, turns // 4)):
        gc.collect()
        timed(times["open cold"], lambda: Session.open(tag, store, window=WINDOW).view())
    times["open warm"] = []
    for _ in range(turns):
        timed(times["open warm"], session.view)
    timed(times["compaction"], lambda: session.compact(target_tokens=max(1_000, session.tokens // 2)))
    times["bytes"] = [bytes_written]
    return times


def langgraph_worker(address: str, tag: str, size: int, turns: int) -> dict[str, list[float]]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    with PostgresSaver.from_conn_string(address) as saver:
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [{"role": "assistant", "content": "ok"}]})
        builder.add_edge(START, "model")
        builder.add_edge("model", END)
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": tag}}
        graph.update_state(config, {"messages": messages(size, tag)})
        times: dict[str, list[float]] = {"append": [], "open cold": []}
        before, cpu = wal(address), time.process_time()
        for pair in zip(*[iter(messages(2 * turns, f"{tag} turn"))] * 2, strict=True):
            timed(times["append"], lambda pair=pair: graph.invoke({"messages": list(pair)}, config))
        times["cpu"] = [(time.process_time() - cpu) / turns]
        times["bytes"] = [(wal(address) - before) / turns]
        for _ in range(max(2, turns // 4)):
            timed(times["open cold"], lambda: graph.get_state(config).values["messages"])
    return times


def timed(times: list[float], work: Any) -> None:
    begun = time.perf_counter()
    work()
    times.append(time.perf_counter() - begun)


def wal(address: str) -> int:
    import psycopg

    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    return int(row[0]) if row else 0


def written(store: Any) -> int:
    if isinstance(store, PostgresStore):
        return wal(store.address)
    return sum(path.stat().st_size for path in store.path.parent.glob(f"{store.path.name}*"))


def worker(system: str, place: str, tag: str, size: int, turns: int) -> None:
    """Do the turns of one worker and print the times; waits for a line on standard input first."""
    print("ready", flush=True)
    sys.stdin.readline()
    if system == "langgraph":
        print(json.dumps(langgraph_worker(place, tag, size, turns)))
        return
    with SqliteStore(place) if system == "sqlite" else PostgresStore(place, pool=2) as store:
        print(json.dumps(clew_worker(store, tag, size, turns)))


# All workers -------------------------------------------------------------------------------------------


def run(system: str, place: str, size: int, workers: int, turns: int) -> dict[str, Any]:
    given = (system, place, str(size), str(turns))
    command = [sys.executable, __file__, "--worker", *given]
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([*command, f"{system}-{size}-{workers}-{n}"], stdin=pipe, stdout=pipe, text=True)
        for n in range(workers)
    ]
    for one in started:
        assert one.stdout is not None
        one.stdout.readline()
    outputs = []
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in started:
        out, _ = one.communicate()
        outputs.append(json.loads(out.splitlines()[-1]))
    merged: dict[str, list[float]] = {}
    for times in outputs:
        for name, some in times.items():
            merged.setdefault(name, []).extend(some)
    return {"system": system, "size": size, "workers": workers, "times": merged}


def cell(times: list[float] | None) -> str:
    if not times:
        return "–"
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"{statistics.median(ordered) * 1000:,.1f} / {p99 * 1000:,.1f}"


def table(results: list[dict[str, Any]]) -> str:
    head = "| messages | workers | system | append | request | compaction | open cold | opens/s "
    head += "| client CPU a turn | bytes a turn |"
    lines = [head, "|" + "---|" * 10]
    for one in results:
        times, workers = one["times"], one["workers"]
        cold = times.get("open cold") or [0.0]
        rate = workers / statistics.mean(cold) if cold[0] else 0
        # The server's write-ahead log is shared: with one worker it is this session's alone.
        size = f"{statistics.median(times['bytes']):,.0f}" if workers == 1 else "–"
        cells = [cell(times.get(name)) for name in ("append", "request", "compaction", "open cold")]
        cpu = f"{statistics.median(times['cpu']) * 1000:,.1f}"
        row = [f"{one['size']:,}", str(workers), one["system"], *cells, f"{rate:,.1f}", cpu, size]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def measure(args: argparse.Namespace) -> None:
    results = []
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        if "langgraph" in args.systems:
            from langgraph.checkpoint.postgres import PostgresSaver

            with PostgresSaver.from_conn_string(server.address) as saver:
                saver.setup()
        PostgresStore(server.address).close()
        for size in args.sizes:
            for workers in args.workers:
                turns = max(2, min(args.turns, 200_000 // (size * workers)))
                for system in args.systems:
                    place = str(Path(folder) / "clew.db") if system == "sqlite" else server.address
                    results.append(run(system, place, size, workers, turns))
                    print(table(results).splitlines()[-1], flush=True)
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        machine += server.version
    if args.write:
        text = f"# Cost of a turn as sessions grow\n\nWritten by `bench/scale.py` on {machine}.\n"
        text += "Milliseconds, p50 / p99. The machine is shared with other work: "
        text += f"load average {os.getloadavg()[1]:.0f}.\n\n{table(results)}\n"
        RESULTS.write_text(text, encoding="utf-8")


# The sizing model --------------------------------------------------------------------------------------


def database_size(store: PostgresStore) -> int:
    query = b"SELECT pg_database_size(current_database())"
    row = store.connections.run("local", lambda connection, _: connection.execute(query).fetchone())
    return int(row[0]) if row else 0


def simulate(sessions: int, seconds: float) -> None:
    """Run sessions of real length for some seconds against one server; compare with the model."""
    from clew.memory.index.postgres import PostgresIndex

    with PostgresServer() as server, PostgresStore(server.address) as store:
        begun, before, cpu = time.perf_counter(), wal(server.address), time.process_time()
        empty = database_size(store)
        turns = done = 0
        while done < sessions and time.perf_counter() - begun < seconds:
            session = Session.open(f"s{done}", store, window=WINDOW)
            said = messages(286, f"s{done}")
            for at in range(0, len(said), 2):
                session.add(*said[at : at + 2])
                session.request(auto=True)
                turns += 1
            session.memory.catch_up()
            done += 1
        took = time.perf_counter() - begun
        size = database_size(store) - empty
        stats, _ = PostgresIndex(store.connections).stats("local", [])
        print(f"{done} sessions, {turns} turns in {took:.1f} s: {turns / took:.0f} turns/s on one worker")
        print(f"CPU of the worker: {(time.process_time() - cpu) / turns * 1000:.2f} ms a turn")
        print(f"write-ahead log: {(wal(server.address) - before) / turns:,.0f} bytes a turn")
        print(f"database: {size / max(1, done):,.0f} bytes a session, {stats.entries} index entries")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 1_000, 10_000])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 4, 16])
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--worker", nargs=5, metavar=("SYSTEM", "PLACE", "SIZE", "TURNS", "TAG"))
    options = parser.parse_args()
    if options.worker:
        kind, where, size_, turns_, tag_ = options.worker
        worker(kind, where, tag_, int(size_), int(turns_))
    elif options.simulate:
        simulate(sessions=200, seconds=60.0)
    else:
        measure(options)
