"""Load on the proxy: conversations at once, CPU per request, memory at the start and at the end.

Run: ``uv run python bench/proxy.py --conversations 64 --requests 50 --messages 1000``. The upstream is a
second process that answers each request with a short event stream. CPU is that of the proxy's own threads.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import resource
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from clew.proxy.reactor import Compactions
from clew.proxy.relay import Upstream
from clew.proxy.server import Proxy, Routes
from clew.proxy.stats import Stats

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
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    pipe.send(f"http://127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


def clients(url: str, conversations: int, requests: int, body: bytes, pipe: Connection) -> None:
    wrong: list[int] = []

    def converse(n: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        for _ in range(requests):
            connection.request("POST", "/v1/messages", body, {"x-claude-code-session-id": f"s{n}"})
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


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("conversations", 64), ("requests", 50), ("messages", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    messages = [
        {"role": "assistant" if n % 2 else "user", "content": f"message {n}: " + "some words " * 40}
        for n in range(args.messages)
    ]
    body = json.dumps(
        {"model": "claude-sonnet-5", "max_tokens": 9, "stream": True, "messages": messages}
    ).encode()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=upstream, args=(theirs,), daemon=True)
    server.start()
    stats, to = Stats(), Upstream.of(ours.recv())
    with Proxy(Routes(to, to), Compactions(stats), stats).running() as proxy:
        for rounds in (1, args.requests - 1):
            begun = time.perf_counter()
            told = (proxy.url, args.conversations, rounds, body, theirs)
            talking = multiprocessing.Process(target=clients, args=told)
            talking.start()
            wrong = ours.recv()
            talking.join()
            seconds = time.perf_counter() - begun
            print(
                f"{args.conversations} × {rounds}: {seconds:.1f} s, {wrong} wrong, {resident_mib():.0f} MiB"
            )
        print(json.dumps({"body_kB": len(body) // 1_000, **stats.report()}))
    server.terminate()


if __name__ == "__main__":
    main()
