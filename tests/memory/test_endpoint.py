"""Vectors from a server."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from clew import Session, SqliteStore
from clew.errors import ModelBusy, ModelFailed, ModelRefused
from clew.memory import EndpointEmbedder, Memory


@contextmanager
def serving(status, answer):
    """Serve one answer to every request; yield the address and the requests' bodies."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer(asked[-1][1]) if status == 200 else {}).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/", asked
        finally:
            server.shutdown()
            thread.join()


def vectors(body):
    rows = [{"index": n, "embedding": [3.0, -4.0]} for n in range(len(body["input"]))]
    return {"data": rows[::-1]}


def test_vectors_come_back_of_unit_length_one_for_each_text():
    with serving(200, vectors) as (address, asked):
        found = EndpointEmbedder(address, "m").embed(["a"] * 100)
    assert found == [bytes([76, 256 - 102])] * 100
    assert [(path, body["model"], len(body["input"])) for path, body in asked] == [
        ("/v1/embeddings", "m", 96),
        ("/v1/embeddings", "m", 4),
    ]


@pytest.mark.parametrize(("status", "error"), [(429, ModelBusy), (400, ModelRefused), (503, ModelFailed)])
def test_a_refusal_is_one_of_our_errors(status, error):
    with serving(status, vectors) as (address, _), pytest.raises(error, match=f"HTTP {status}"):
        EndpointEmbedder(address, "m").embed(["a"])


@pytest.mark.parametrize("answer", [{}, {"data": []}, {"data": [{"index": 0, "embedding": "no"}]}, []])
def test_an_answer_without_vectors_is_a_failure(answer):
    with serving(200, lambda _: answer) as (address, _), pytest.raises(ModelFailed, match="embeddings"):
        EndpointEmbedder(address, "m").embed(["a"])


def test_an_answer_that_breaks_off_is_a_failure():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"{")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(ModelFailed):
            EndpointEmbedder(f"http://127.0.0.1:{server.server_port}", "m").embed(["a"])
        thread.join()


def test_the_key_is_never_shown():
    assert "secret" not in repr(EndpointEmbedder("http://localhost", "m", "secret"))


def test_a_memory_opened_with_an_endpoint_embeds_messages_and_questions_there(tmp_path):
    with serving(200, vectors) as (address, asked), SqliteStore(tmp_path / "clew.db") as store:
        session = Session.open("s", store)
        session.add({"role": "user", "content": "The kiln is at 1,200 degrees."})
        memory = Memory(store, session.ctx, embedder=EndpointEmbedder(address, "m"))
        hits = memory.search("how hot is the oven")
        memory.close()
        session.close()
    assert [hit.entry.ref for hit in hits] == ["m1"]
    assert hits[0].why.meaning is not None
    texts = [text for _, body in asked for text in body["input"]]
    assert texts == ["The kiln is at 1,200 degrees.", "how hot is the oven"]
