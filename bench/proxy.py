"""Load on the proxy, and what the answer to a compaction request costs.

    uv run python bench/proxy.py --conversations 64 --requests 50 --messages 1000 [--compact] [--think 5]
                                 [--slowest 20]
    uv run python bench/proxy.py --answer ../shared/data/transcripts/claude-code-entire-cli

Load: CPU per request and memory at the start and at the end; the upstream is a second process that answers
each request with a short event stream. Each conversation grows by two messages per request. ``cpu_ms`` is
that of the threads that serve requests. ``--slowest`` prints the requests that waited longest before they
were forwarded: if the process got little CPU meanwhile, the machine was busy with other work.
``--answer``: real sessions of 200,000 tokens are sent request by request, then Claude Code's summary request.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import multiprocessing
import os
import random
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import clew
from clew.message import Role
from clew.providers import wire_named
from clew.proxy.reactor import Reaction, RequestReactor
from clew.proxy.relay import HttpRequest, Upstream
from clew.proxy.server import Proxy, Routes
from clew.proxy.stats import Stats
from clew.session.result import without_natives
from clew.tokens import counter_for

TOKENS = 200_000
ASKS = "Your task is to create a detailed summary of the conversation so far."
EVENTS = b'event: ping\ndata: {"type": "ping"}\n\n' * 40


class Answering(BaseHTTPRequestHandler):
    """Reads the request and streams some events."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(EVENTS)))
        self.end_headers()
        self.wfile.write(EVENTS)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def upstream(pipe: Connection) -> None:
    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Answering)
    pipe.send(f"http://127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


def body_of(n: int, messages: int) -> bytes:
    """Return a request of a conversation; its beginning is the same in all its requests."""
    listed = [
        {"role": "assistant" if i % 2 else "user", "content": f"{n}, message {i}: " + "some words " * 40}
        for i in range(messages)
    ]
    fixed = {"model": "claude-sonnet-5", "max_tokens": 9, "stream": True}
    return json.dumps({**fixed, "messages": listed}).encode()


def clients(url: str, conversations: int, sizes: list[int], think: float, pipe: Connection) -> None:
    wrong: list[int] = []

    def converse(n: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        for messages in sizes:
            raw = body_of(n, messages)
            time.sleep(think * random.random() * 2)
            connection.request("POST", "/v1/messages", raw, {"x-claude-code-session-id": f"s{n}"})
            if connection.getresponse().read() != EVENTS:
                wrong.append(n)
        connection.close()

    threads = [threading.Thread(target=converse, args=(n,)) for n in range(conversations)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    pipe.send(len(wrong))


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


class TimedProxy(Proxy):
    """Records for each request: seconds, its thread's CPU, the process's CPU meanwhile, what was done."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.times: list[tuple[float, float, float, str]] = []

    def reaction(self, exchange: HttpRequest) -> Reaction:
        """Time a reaction."""
        begun = time.perf_counter(), time.thread_time(), time.process_time()
        made = super().reaction(exchange)
        ended = time.perf_counter(), time.thread_time(), time.process_time()
        wall, own, process = (end - start for end, start in zip(ended, begun, strict=True))
        self.times.append((wall, own, process, made.label))
        return made


def load(args: argparse.Namespace) -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=upstream, args=(theirs,), daemon=True)
    server.start()
    stats, to = Stats(), Upstream.of(ours.recv())
    react = RequestReactor(stats, compact=args.compact, window=args.window)
    react.warm_up()
    timed = TimedProxy(Routes(to, to), react, stats)
    with timed.running() as proxy:
        half = args.requests // 2
        for rounds in (range(1), range(1, half), range(half, args.requests)):
            begun, cpu = time.perf_counter(), time.process_time()
            sizes = [args.messages - 2 * (args.requests - place) + 1 for place in rounds]
            given = (proxy.url, args.conversations, sizes, args.think, theirs)
            talking = multiprocessing.Process(target=clients, args=given)
            talking.start()
            wrong = ours.recv()
            talking.join()
            seconds, used = time.perf_counter() - begun, time.process_time() - cpu
            print(
                f"{args.conversations} × {len(rounds)}: {seconds:.1f} s, {used:.1f} s CPU, {wrong} wrong, "
                f"{resident_mib():.0f} MiB",
                flush=True,
            )
        cpu = time.process_time()
        react.settle(600)
        used = time.process_time() - cpu
        print(f"after the background thread is done: {used:.1f} s CPU, {resident_mib():.0f} MiB")
        print(json.dumps(stats.report() | {"conversations": None}))
        for wall, own, process, label in sorted(timed.times, reverse=True)[: args.slowest]:
            print(f"{wall:6.2f} s, own CPU {own:.2f} s, CPU of the process {process:.2f} s, {label}")
    react.close()
    server.terminate()


def sessions(folder: Path) -> Iterator[tuple[str, list[object]]]:
    """Yield real conversations of 150,000 to 200,000 tokens, as lists of Anthropic's format."""
    counter, wire = counter_for("claude-sonnet-5"), wire_named("anthropic")
    for path in sorted(folder.glob("*.zst"), key=lambda one: -one.stat().st_size):
        taken, tokens = [], 0
        for message in clew.load(path)[0].full():
            tokens += counter.count(message)
            if tokens > TOKENS:
                break
            taken += [] if message.role is Role.SYSTEM else [without_natives(message)]
        if tokens > TOKENS:
            yield path.name, list(wire.render(taken))


def answer(folder: Path, number: int) -> None:
    """Print the CPU of the answer for real sessions: after their requests passed, and without any before."""
    print("| session | messages | kB | requests before | their CPU, p50 / p99 ms | background s | answer s |")
    print("|---|---|---|---|---|---|---|")
    for name, entries in itertools.islice(sessions(folder), number):
        for follows in (True, False):
            react = RequestReactor(Stats())
            react.warm_up()
            begun, spent = time.process_time(), [0.0]
            for end in range(1, len(entries) + 1 if follows else 1):
                cpu = time.thread_time()
                react(_exchange(entries[:end], f"{name} {follows}"))
                spent.append((time.thread_time() - cpu) * 1e3)
            react.settle(600)
            background = time.process_time() - begun - sum(spent) / 1e3
            asked = _exchange([*entries, {"role": "user", "content": ASKS}], f"{name} {follows}")
            begun = time.process_time()
            assert react(asked).label.startswith("answered")
            cpu, spent = time.process_time() - begun, sorted(spent)
            react.close()
            p50, p99 = (spent[int(len(spent) * share)] for share in (0.5, 0.99))
            size = len(asked.body) // 1000 if isinstance(asked.body, bytes) else 0
            print(
                f"| {name[:8]} | {len(entries)} | {size} | {len(spent) - 1} | {p50:.1f} / {p99:.1f} | "
                f"{background:.2f} | {cpu:.2f} |",
                flush=True,
            )


def _exchange(entries: list[object], session: str) -> HttpRequest:
    body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 20_000, "messages": entries}).encode()
    return HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", session)], body)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("conversations", 64), ("requests", 50), ("messages", 1_000), ("sessions", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--compact", action="store_true")
    parser.add_argument("--window", type=int)
    parser.add_argument("--think", type=float, default=0.0, help="mean seconds of a client between requests")
    parser.add_argument("--slowest", type=int, default=0, help="print so many of the slowest requests")
    parser.add_argument("--answer", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ["CLEW_HOME"] = home
        if args.answer:
            answer(args.answer, args.sessions)
        else:
            load(args)


if __name__ == "__main__":
    main()
