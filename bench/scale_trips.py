"""Round trips and statements of a turn, an opening and a compaction, and what they cost on a network.

    W="--with langgraph --with langgraph-checkpoint-postgres"
    uv run $W python bench/scale_trips.py [--delay 0.5] [--write]

A relay between client and server reads the protocol: a round trip is what the client sends after it has read
an answer, a statement is one that the server executes. With ``--delay`` it waits so many milliseconds before
it passes on each answer, as a network between two machines would. Sessions are those of bench/scale.py.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scale

SIZES = (100, 1_000, 10_000)
PORT = ".s.PGSQL.5432"
STATEMENTS = b"EQ"
"""Messages of the protocol that execute a statement: Execute and Query."""


class Relay:
    """Passes connections on to a server, and counts."""

    def __init__(self, server: Path, folder: Path, delay_s: float) -> None:
        self._server, self._delay_s = server / PORT, delay_s
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / PORT))
        self._listening.listen(64)
        self.trips = self.statements = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server))
            answered = threading.Event()
            for pump in (self._requests, self._answers):
                threading.Thread(target=pump, args=(client, server, answered), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        begun, rest = False, b""
        while piece := _receive(client):
            if answered.is_set():
                answered.clear()
                self.trips += 1
            if begun:
                rest = self._count(rest + piece)
            begun = True  # the first message has no type
            server.sendall(piece)
        _end(server)

    def _count(self, data: bytes) -> bytes:
        """Count the whole messages; return what is left of the last."""
        while len(data) >= 5 and len(data) > (length := int.from_bytes(data[1:5], "big")):
            self.statements += data[0] in STATEMENTS
            data = data[length + 1 :]
        return data

    def _answers(self, client: socket.socket, server: socket.socket, answered: threading.Event) -> None:
        while piece := _receive(server):
            if self._delay_s and not answered.is_set():
                time.sleep(self._delay_s)
            answered.set()
            client.sendall(piece)
        _end(client)


def _receive(one: socket.socket) -> bytes:
    try:
        return one.recv(1 << 16)
    except OSError:
        return b""


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def measure(relay: Relay, work: Callable[[dict[str, Any]], None], times: int) -> list[float]:
    """Return round trips and statements (means), milliseconds of CPU and on the clock (medians)."""
    work({})
    trips, statements, cpu, clock = relay.trips, relay.statements, [], []
    for _ in range(times):
        begun, used = time.perf_counter(), time.thread_time()
        work({})
        cpu.append(time.thread_time() - used)
        clock.append(time.perf_counter() - begun)
    counts = [(relay.trips - trips) / times, (relay.statements - statements) / times]
    return [*counts, statistics.median(cpu) * 1000, statistics.median(clock) * 1000]


def rows(system: str, worker: Any, relay: Relay, sizes: list[int]) -> list[str]:
    found = []
    for size in sizes:
        worker.prepare(size, f"trips-{size}")
        does = {
            "a turn": (worker.turn, 20),
            "opening, cold": (worker.cold, 5),
            "opening, warm": (worker.warm, 20),
        }
        if system == "clew":
            does["compaction and undo"] = (worker.compact, 3)
        for name, (work, times) in does.items():
            if system != "clew" and name == "opening, warm":
                continue
            trips, statements, cpu, clock = measure(relay, work, times)
            cells = [
                name,
                f"{size:,}",
                system,
                f"{trips:.1f}",
                f"{statements:.1f}",
                f"{cpu:,.1f}",
                f"{clock:,.1f}",
            ]
            found.append(f"| {' | '.join(cells)} |")
            print(found[-1], flush=True)
    return found


def main(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name, scale.started(args) as (server, _, template):
        relay = Relay(server.folder, Path(name), args.delay / 1000)
        for size in args.sizes:
            names = [f"trips-{size}"]
            scale.copies("postgres", server.address, scale.admin_of(server), template, size, names)
        address = server.address.replace(str(server.folder), name)
        workers = {"clew": lambda: scale.ClewWorker("postgres", address)}
        if "langgraph" in args.systems:
            workers["langgraph"] = lambda: scale.LangGraphWorker(address)
        lines = [line for system, make in workers.items() for line in rows(system, make(), relay, args.sizes)]
        about = scale.machine(server)
    title = "# Round trips and statements"
    notes = (
        f"Written by `bench/scale_trips.py --delay {args.delay:g}`: each answer of the server is delayed by\n"
        f"{args.delay:g} ms. CPU (of the client's thread) and clock in milliseconds, medians. LangGraph's\n"
        "turn reads the list and adds two messages; it writes from other threads, whose CPU is missing here."
    )
    head = "| | messages | system | round trips | statements | CPU | clock |\n|" + "---|" * 7
    text = "\n".join([title, "", about, "", notes, "", head, *lines])
    if args.write:
        (scale.RESULTS / "scale_trips.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.5, help="milliseconds added to each answer")
    parser.add_argument("--systems", nargs="+", default=("clew", "langgraph"), choices=("clew", "langgraph"))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--template", help="a file that keeps the sessions to copy between runs")
    parser.add_argument("--write", action="store_true", help="write the table into bench/results")
    main(parser.parse_args(namespace=argparse.Namespace(build=False)))
