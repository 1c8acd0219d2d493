"""The write-ahead log is moved into the database, and only while nobody else can write."""

import os
import shutil
import sqlite3
from contextlib import closing

from clew.log import new_event
from clew.ports import Ctx
from clew.store.audit import audit
from clew.store.checkpoint import LIMIT_BYTES
from tests.store.conftest import connection_of

CTX = Ctx(workspace="north", session="main")


def noise(size=100_000):
    return new_event("note", {"noise": os.urandom(size // 2).hex()})


def log_bytes(path):
    return path.with_name("clew.db-wal").stat().st_size


def statements_of(store, act):
    """Return what the store's own connection is told to do meanwhile."""
    told = []
    connection_of(store).set_trace_callback(told.append)
    act()
    connection_of(store).set_trace_callback(None)
    return told


def test_sqlite_never_checkpoints_by_itself(open_sqlite):
    assert connection_of(open_sqlite()).execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def test_the_log_does_not_grow_with_what_is_written(path, open_sqlite):
    first, second = open_sqlite(), open_sqlite()
    largest = 0
    for _ in range(100):
        first.append(CTX, [noise()], None)
        second.append(CTX, [noise()], None)
        largest = max(largest, log_bytes(path))
    assert path.stat().st_size > 2 * LIMIT_BYTES
    assert LIMIT_BYTES < largest < 1.25 * LIMIT_BYTES


def test_a_checkpoint_holds_the_write_lock(path, open_sqlite):
    store = open_sqlite()
    told = statements_of(store, lambda: [store.append(CTX, [noise()], None) for _ in range(100)])
    checkpoints = [
        told[n : n + 2] for n in range(len(told)) if told[n : n + 2] == ["BEGIN IMMEDIATE", "ROLLBACK"]
    ]
    assert checkpoints
    assert told.count("ROLLBACK") == len(checkpoints)


def test_a_moved_log_is_not_needed_any_more(path, open_sqlite, tmp_path):
    store = open_sqlite()
    while log_bytes(path) <= LIMIT_BYTES:
        store.append(CTX, [noise()], None)
    shutil.copy(path, tmp_path / "alone.db")
    report = audit(tmp_path / "alone.db")
    assert report.flaws == ()
    assert report.sessions[0].head == store.head(CTX)


def test_a_reader_that_holds_on_delays_it_and_harms_nothing(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [noise()], None)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchone()
        told = statements_of(store, lambda: [store.append(CTX, [noise()], None) for _ in range(100)])
        assert log_bytes(path) > 1.5 * LIMIT_BYTES
        assert 0 < told.count("ROLLBACK") < 10  # not at every append
    for _ in range(40):
        store.append(CTX, [noise()], None)
    assert log_bytes(path) <= LIMIT_BYTES
    assert audit(path).flaws == ()


def test_an_append_does_not_fail_because_a_checkpoint_does(path, open_sqlite):
    store = open_sqlite()

    def no_second_beginning(action, operation, *_):
        hindered = (
            action == sqlite3.SQLITE_TRANSACTION and operation == "BEGIN" and log_bytes(path) > LIMIT_BYTES
        )
        return sqlite3.SQLITE_DENY if hindered else sqlite3.SQLITE_OK

    store.append(CTX, [noise()], None)
    connection_of(store).set_authorizer(no_second_beginning)
    while log_bytes(path) <= LIMIT_BYTES:
        head = store.append(CTX, [noise()], None)
    assert store.head(CTX) == head
