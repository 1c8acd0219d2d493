"""Whatever fails, requests arrive and responses are what the upstream sent; the log stays whole."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clew.log.store import SqliteStore
from clew.proxy.reactor import RequestReactor
from clew.proxy.stats import Stats
from clew.session import Session
from clew.settings import store_path
from clew.testing import ScriptedServer
from tests.proxy.test_answers import RULE, TASK, body, summary, work
from tests.proxy.test_pass_through import Raw, home, proxy_to  # noqa: F401  # a fixture

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'event: message_start\ndata: {"type": "message_start"}\n\n'
LONG = [TASK, *work(0, 250)]
"""About 600 kB, so that it is logged in the background."""


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(status: bytes, data: bytes, *headers: bytes) -> bytes:
    head = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(data), *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + data


REFUSAL = b'{"error": {"message": "max_tokens is missing"}}'
REFUSED = b"HTTP/1.1 400 Bad Request\r\n"
CHUNKED = REFUSED + b"Transfer-Encoding: chunked\r\n\r\n"
FAULTS = {
    "slow": (SSE, chunk(EVENT[:5]), chunk(EVENT[5:9]), chunk(EVENT[9:]), b"0\r\n\r\n"),
    "cut in an event": (SSE, chunk(EVENT), chunk(EVENT[:11])),
    "cut in a chunk": (SSE, chunk(EVENT), b"40\r\nhalf"),
    "cut before the headers end": (b"HTTP/1.1 200 OK\r\nContent-Ty",),
    "429": (whole(b"429 Too Many Requests", b'{"error": "busy"}', b"Retry-After: 7"),),
    "500": (whole(b"500 Internal Server Error", b"<html>oops</html>"),),
    "too long": (whole(b"400 Bad Request", b'{"error": {"message": "prompt is too long: 9 > 8 maximum"}}'),),
    "refused in chunks": (CHUNKED, chunk(REFUSAL[:7]), chunk(REFUSAL[7:]), b"0\r\n\r\n"),
    "refused without a length": (REFUSED + b"\r\n" + REFUSAL,),
    "refused in gzip": (whole(b"400 Bad Request", gzip.compress(REFUSAL), b"Content-Encoding: gzip"),),
    "refusal cut off": (whole(b"400 Bad Request", REFUSAL)[:-9],),
    "refusal cut between chunks": (CHUNKED, chunk(REFUSAL)),
    "refusal cut in a chunk": (CHUNKED, chunk(REFUSAL[:7])[:-4]),
    "malformed events": (SSE, chunk(b"data: {not json\n\xff\xfe\x00\n\nevent\n:::\n\n"), b"0\r\n\r\n"),
    "an empty answer": (whole(b"200 OK", b""),),
    "no length": (b"HTTP/1.1 200 OK\r\n\r\n" + EVENT,),
}


def received(url: str, raw: bytes) -> tuple[int, bytes, bool]:
    """Return status, body and whether the response was complete; a proxy answers 502 for none at all."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("POST", "/v1/messages", raw, {"x-claude-code-session-id": "s1"})
        response = connection.getresponse()
    except (http.client.HTTPException, ConnectionError):
        return 502, b"", False
    data, complete = b"", True
    try:
        while piece := response.read1(65_536):
            data += piece
    except (http.client.HTTPException, ConnectionError, ValueError):
        complete = False
    connection.close()
    return response.status, data, complete


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_gets_what_the_upstream_sent(fault, compact):
    raw = body([TASK, *work(0, 3)], stream=True)
    stats = Stats()
    with (
        Raw(*FAULTS[fault], pause=0.02) as upstream,
        proxy_to(upstream.url, RequestReactor(stats, compact=compact)).running() as proxy,
    ):
        direct, through = received(upstream.url, raw), received(proxy.url, raw)
    assert through[0] == direct[0]
    if direct[0] != 502:
        assert through == direct
    assert stats["failed_open"] == 0
    assert all(one.endswith(raw) for one in upstream.received)  # one request each, with the client's bytes
    assert len(upstream.received) == 2


@contextmanager
def started(upstream: str, *options: str, file_limit_kb: int | None = None) -> Iterator[tuple[str, int]]:
    """Run ``clew proxy`` as a process; return its address and process id."""
    limit = f"ulimit -f {file_limit_kb}; " if file_limit_kb else ""
    words = f'{limit}exec "{sys.executable}" -m clew proxy --anthropic {upstream} --openai {upstream}'
    words = " ".join((words, *options))
    process = subprocess.Popen(
        ["bash", "-c", words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "CLEW_HOME": str(store_path().parent)},
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def health(url: str) -> dict[str, int]:
    with_host = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    with_host.request("GET", "/clew/health")
    counts: dict[str, int] = json.loads(with_host.getresponse().read())["counts"]
    with_host.close()
    return counts


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system with room for 200 kB, which holds clew's files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here (it needs root)")
    monkeypatch.setenv("CLEW_HOME", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_on_a_full_disk_every_request_goes_upstream(small_disk):
    disk_fills(None)
    assert os.statvfs(small_disk).f_bavail < 20  # pages: it did fill up


def test_at_the_largest_file_size_every_request_goes_upstream():
    disk_fills(200)


def disk_fills(file_limit_kb: int | None) -> None:
    with (
        ScriptedServer.always("from upstream", strict=False) as server,
        started(server.url, file_limit_kb=file_limit_kb) as (url, _),
    ):
        for end in (len(LONG) - 2, len(LONG)):
            assert b"from upstream" in received(url, body(LONG[:end]))[1]
        got = received(url, summary(LONG))
        assert (got[0], got[2]) == (200, True)
        assert b"from upstream" in got[1]
        assert b"from upstream" in received(url, body(LONG))[1]
        assert health(url)["failed_open"] == 1
        assert len(server.requests) == 4
        assert server.requests[2].raw == summary(LONG)


@pytest.mark.slow
def test_a_killed_proxy_leaves_a_log_that_the_next_one_continues():
    waits = itertools.cycle((0.0, 0.05, 0.2, 0.5))
    with ScriptedServer.always("from upstream", strict=False) as server:
        for end in range(301, len(LONG) + 1, 40):
            with started(server.url) as (url, pid):
                received(url, body(LONG[:end]))
                time.sleep(next(waits))  # killed before, while or after it logs the conversation
                os.kill(pid, 9)
        with started(server.url) as (url, _):
            status, data, complete = received(url, summary(LONG))
            assert (status, complete) == (200, True)
            assert RULE in json.loads(data)["content"][0]["text"]
            assert health(url)["answered"] == 1
    name = json.loads(data)["content"][0]["text"].rsplit("(clew session ", 1)[1].split(",")[0]
    with SqliteStore(Path(store_path())) as store:
        logged = [one for one in Session.open(name, store).events() if one.event.kind == "message"]
    assert len(logged) == len(LONG) + 1  # nothing twice, nothing missing
