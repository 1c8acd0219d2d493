"""The commands on a PostgreSQL store: the store brings its own index, so they search what it holds."""

import argparse
import json

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")

from clew.cli.inspect import own_pool
from tests.cli.conftest import EXAMPLE
from tests.postgres import the_server


@pytest.fixture
def server(clew):
    """Run ``clew`` with its log on the server."""
    return lambda *args, **more: clew(*args, CLEW_STORE=the_server().address, **more)


@pytest.fixture
def name(server):
    done = server("import", str(EXAMPLE), "--json")
    return json.loads(done.stdout)["session"]


def test_recall_finds_what_was_imported_into_the_server(server, name, tmp_path):
    found = server("recall", "autodoc inherited members", "--all", "--json")
    assert found.returncode == 0, found.stderr
    assert {hit["session"] for hit in json.loads(found.stdout)} == {name}
    assert not list(tmp_path.rglob("*.db"))  # no SQLite file was made for the index


def test_sessions_and_export_read_the_server(server, name):
    listed = server("sessions", "--tool", "clew", "--json")
    assert any(row["session"] == name and "PostgreSQL" in row["path"] for row in json.loads(listed.stdout))
    assert server("export", name).returncode == 0


def test_chat_and_knowledge_use_the_index_of_the_server(server, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "ports.md").write_text("# Ports\n\nThe staging server listens on port 8123.\n")
    assert server("knowledge", "index", str(folder)).returncode == 0
    found = server("knowledge", "search", "staging port", "--json")
    assert "8123" in json.loads(found.stdout)[0]["text"]
    chat = server("chat", "--offline", stdin=b"hello\n/quit\n")
    assert chat.returncode == 0, chat.stderr
    assert not list(tmp_path.rglob("*.db"))


def test_the_page_shows_sessions_of_the_server(server, name, monkeypatch):
    monkeypatch.setenv("CLEW_STORE", the_server().address)
    with own_pool(argparse.Namespace(model="unknown", window=None)) as pool:
        assert name in {info.session for info in pool.store.sessions("local")}
        assert type(pool.index).__name__ == "PostgresIndex"
