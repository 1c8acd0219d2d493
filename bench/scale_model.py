"""The sizing model of docs/scale.md: fitted on half of some real sessions, checked on the other half.

    uv run python bench/scale_model.py FOLDER [--sessions 40] [--workers 4] [--write]

FOLDER holds session files of any tool (default: the shipped example). Every session runs turn by turn
through clew on PostgreSQL: two messages, then the next request with automatic compaction; at its end it is
indexed. The first half runs in one process, and a linear model of the messages and of the text of a session
is fitted to what each of them cost. The second half runs in several processes at once; the model predicts
its costs, which are compared with what was measured. Every process first runs one session that is not
counted: loading code and the server's first plans are paid once per process, not once per session, and are
reported apart. Costs are CPU time, transactions and bytes; other work on the machine changes CPU time little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from clew.errors import ClewError
from clew.log.store.postgres import PostgresStore
from clew.session import Session
from clew.testing.postgres import PostgresServer
from clew.transcripts import load

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results" / "scale_model.md"
WINDOW = 200_000
FEWEST, MOST = 6, 3_000
"""Messages of a session that takes part: shorter ones are fixtures, longer ones would take the whole run."""
COSTS = ("worker CPU, s", "server CPU, s", "transactions", "write-ahead log, kB")


def sessions(folder: Path, wanted: int) -> list[tuple[str, int]]:
    """Return sessions as (file, number in it), in an order that has nothing to do with their contents."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "SOURCE.txt"]
    found: list[tuple[str, int]] = []
    for path in sorted(files, key=lambda path: sha256(str(path.relative_to(folder)).encode()).digest()):
        with suppress(ClewError):
            for number, one in enumerate(load(path)):
                if FEWEST <= len(one.full()) <= MOST:
                    found.append((str(path), number))
        if len(found) >= wanted:
            break
    return found[:wanted]


def play(store: PostgresStore, path: str, number: int) -> dict[str, float]:
    """Run a session through clew; return its size and what it cost this process."""
    messages = load(Path(path))[number].full()
    cpu, turns = time.process_time(), 0
    name = f"{sha256(path.encode()).hexdigest()[:12]}-{number}-{os.getpid()}"
    with Session.open(name, store, window=WINDOW) as session:
        for at in range(0, len(messages), 2):
            session.add(*messages[at : at + 2])
            session.request(auto=True)
            turns += 1
        session.memory.catch_up()
    text = sum(len(message.text) for message in messages)
    return {"messages": len(messages), "text": text, "turns": turns, "cpu": time.process_time() - cpu}


# What the server did -------------------------------------------------------------------------------------


class Meter:
    """Reads what a server has done so far."""

    def __init__(self, server: PostgresServer) -> None:
        self._address = server.address
        self._process = server._process.pid if server._process else 0

    def read(self) -> dict[str, float]:
        """Return CPU seconds, transactions, bytes of write-ahead log and bytes on disk."""
        import psycopg

        query = b"""SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_database_size(current_database()),
            (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())"""
        with psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(b"SELECT pg_stat_clear_snapshot()")
            wal, disk, commits = connection.execute(query).fetchone() or (0, 0, 0)
        return {"wal": float(wal), "disk": float(disk), "commits": float(commits), "cpu": self._cpu()}

    def _cpu(self) -> float:
        """Return the CPU time of the server: of its living processes and of those that ended."""
        total = sum(map(int, _stat(self._process)[13:17]))
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                fields = _stat(int(path.name))
                total += sum(map(int, fields[13:15])) if int(fields[3]) == self._process else 0
        return total / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    text = Path(f"/proc/{process}/stat").read_text()
    head, _, rest = text.rpartition(")")
    return [head, "", *rest.split()]


# Fit and check -------------------------------------------------------------------------------------------


def measure_one(meter: Meter, work: Callable[[], dict[str, float]]) -> dict[str, float]:
    before = meter.read()
    done = work()
    time.sleep(0.6)  # the server reports its statistics with a delay
    after = meter.read()
    return {**done, **{f"server {name}": after[name] - before[name] for name in after}}


def columns(done: Sequence[dict[str, float]]) -> np.ndarray:
    """Return a row of costs for each session."""
    names = ("cpu", "server cpu", "server commits", "server wal")
    return np.array([[one[name] for name in names] for one in done]) / [1, 1, 1, 1000]


def fit(done: Sequence[dict[str, float]]) -> np.ndarray:
    """Return what a message and what 1,000 characters of text cost, both at least 0."""
    sizes = np.array([[one["messages"], one["text"] / 1000] for one in done])
    fitted = []
    for cost in columns(done).T:
        both = np.linalg.lstsq(sizes, cost, rcond=None)[0]
        if both.min() < 0:  # one of the two explains nothing
            alone = [np.linalg.lstsq(sizes[:, [n]], cost, rcond=None)[0][0] for n in (0, 1)]
            wrong = [np.square(sizes[:, n] * alone[n] - cost).sum() for n in (0, 1)]
            both = np.array([alone[0], 0.0]) if wrong[0] <= wrong[1] else np.array([0.0, alone[1]])
        fitted.append(both)
    return np.array(fitted)


class Workers:
    """Processes that have run a first session and wait for theirs."""

    def __init__(self, server: PostgresServer, first: tuple[str, int], count: int) -> None:
        command = [sys.executable, __file__, "--work", server.address]
        pipe = subprocess.PIPE
        self._started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
        self._tell([[first]] * count)
        self.starting = [float(one["process"]) for one in self._hear()]

    def run(self, some: Sequence[tuple[str, int]]) -> list[dict[str, float]]:
        """Share sessions among the workers; return what each session cost."""
        count = len(self._started)
        self._tell([some[n::count] for n in range(count)])
        return [cost for one in self._hear() for cost in one["sessions"]]

    def close(self) -> None:
        """End the workers."""
        for one in self._started:
            one.communicate()

    def _tell(self, work: Sequence[Sequence[tuple[str, int]]]) -> None:
        for one, some in zip(self._started, work, strict=True):
            assert one.stdin is not None
            one.stdin.write(json.dumps(some) + "\n")
            one.stdin.flush()

    def _hear(self) -> list[dict[str, Any]]:
        return [json.loads(one.stdout.readline()) for one in self._started if one.stdout is not None]


def simulate(args: argparse.Namespace) -> None:
    found = sessions(args.folder, args.sessions)
    (warm, *first), second = found[::2], found[1::2]
    with PostgresServer() as server:
        meter = Meter(server)
        with PostgresStore(server.address) as store:
            play(store, *warm)
            empty = meter.read()["disk"]
            fitted_on = [measure_one(meter, lambda one=one: play(store, *one)) for one in first]
        middle = meter.read()
        disk_per_wal = (middle["disk"] - empty) / sum(one["server wal"] for one in fitted_on)
        workers = Workers(server, warm, args.workers)
        time.sleep(0.6)
        checked: list[dict[str, float]] = []
        total = measure_one(meter, lambda: checked.extend(workers.run(second)) or {})
        workers.close()
    model = fit(fitted_on)
    sizes = np.array([[one["messages"], one["text"] / 1000] for one in checked])
    predicted = (model @ sizes.T).sum(axis=1)
    measured = [sum(one["cpu"] for one in checked), total["server cpu"], total["server commits"]]
    measured.append(total["server wal"] / 1000)
    lines = ["| | a message | 1,000 characters | predicted | measured | error |", "|" + "---|" * 6]
    for name, (message, text), guess, real in zip(COSTS, model, predicted, measured, strict=True):
        error = f"{guess / real - 1:+.0%}"
        lines.append(f"| {name} | {message:.4f} | {text:.4f} | {guess:,.1f} | {real:,.1f} | {error} |")
    guess, real = disk_per_wal * predicted[3] / 1000, total["server disk"] / 1e6
    lines.append(f"| disk, MB | | | {guess:,.1f} | {real:,.1f} | {guess / real - 1:+.0%} |")
    starting = f"Starting a worker process and its first session: {np.mean(workers.starting):.1f} s of CPU."
    everything = [*fitted_on, *checked]
    text = "\n".join(
        [
            *report(args, fitted_on, checked),
            *lines,
            "",
            starting,
            "",
            *sizing(everything, model, disk_per_wal),
        ]
    )
    print(text)
    if args.write:
        RESULTS.write_text(text + "\n", encoding="utf-8")


def report(args: argparse.Namespace, fitted_on: list[Any], checked: list[Any]) -> list[str]:
    turns = sum(one["turns"] for one in checked)
    lengths = sorted(one["messages"] for one in [*fitted_on, *checked])
    return [
        "# The sizing model, checked",
        "",
        f"Written by `bench/scale_model.py`: fitted on {len(fitted_on)} real sessions in one process, "
        f"checked on {len(checked)} others",
        f"({turns:,.0f} turns) in {args.workers} processes at once. Their lengths: {lengths[0]:.0f} to "
        f"{lengths[-1]:,.0f} messages, median {lengths[len(lengths) // 2]:,.0f}.",
        "Costs of a session = messages × *a message* + text × *1,000 characters*. Predicted and measured are "
        "for all checked sessions.",
        "",
    ]


def sizing(done: Sequence[dict[str, float]], model: np.ndarray, disk_per_wal: float) -> list[str]:
    """Return the table of docs/scale.md for sessions like these."""
    mean = np.array(
        [np.mean([one["messages"] for one in done]), np.mean([one["text"] for one in done]) / 1000]
    )
    turns = float(np.mean([one["turns"] for one in done]))
    worker, server, commits, wal = model @ mean
    lines = [
        f"A mean session ({mean[0]:.0f} messages, {mean[1]:.0f},000 characters, {turns:.0f} turns):",
        f"{worker:.2f} s of CPU in workers, {server:.2f} s in the server, {commits:.0f} transactions,",
        f"{wal / 1000:.2f} MB of write-ahead log, {disk_per_wal * wal / 1000:.2f} MB on disk.",
        "",
        "| sessions a day | turns/s, mean and 5× peak | worker cores at peak | server cores at peak "
        "| transactions/s at peak | write-ahead log/s, mean | disk a month |",
        "|" + "---|" * 7,
    ]
    for count in (1_000, 100_000, 10_000_000):
        rate = count / 86_400
        cells = [f"{count:,}", f"{rate * turns:,.1f} / {5 * rate * turns:,.0f}", f"{5 * rate * worker:,.1f}"]
        cells += [f"{5 * rate * server:,.1f}", f"{5 * rate * commits:,.0f}", f"{rate * wal / 1000:,.2f} MB"]
        cells.append(f"{count * 30 * disk_per_wal * wal / 1e6:,.1f} GB")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def work(address: str) -> None:
    """Run the sessions that come as lines of JSON; answer each line with what its sessions cost."""
    with PostgresStore(address, pool=2) as store:
        for line in sys.stdin:
            done = [play(store, path, number) for path, number in json.loads(line)]
            print(json.dumps({"sessions": done, "process": time.process_time()}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "examples")
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="write the table into bench/results")
    parser.add_argument("--work", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
    else:
        simulate(options)
