"""The write-ahead log is moved into the database, and only while nobody else can write."""

import os
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise

from clew.log import new_event
from clew.log.protocol import Ctx
from clew.log.store.audit import audit
from clew.log.store.connection import LIMIT_BYTES
from tests.log_store.conftest import connection_of

CTX = Ctx(workspace="north", session="main")


def noise(size=100_000):
    return new_event("note", {"noise": os.urandom(size // 2).hex()})


def log_bytes(path):
    return path.with_name("clew.db-wal").stat().st_size


def moments_of_growth(path, store, act):
    """Return between which statements the database itself grew: that is when the log was moved into it."""
    told = []
    connection = connection_of(store)
    connection.set_trace_callback(lambda sql: told.append((sql.split()[0], path.stat().st_size)))
    act()
    connection.set_trace_callback(None)
    return [(before, after) for (before, small), (after, big) in pairwise(told) if small != big]


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


def test_a_checkpoint_runs_between_taking_the_write_lock_and_writing(path, open_sqlite):
    store = open_sqlite()
    moments = moments_of_growth(path, store, lambda: [store.append(CTX, [noise()], None) for _ in range(200)])
    assert len(moments) > 1
    assert set(moments) == {("PRAGMA", "ROLLBACK")}  # begun, told how long to wait, not yet given back


def test_a_moved_log_is_not_needed_any_more(path, open_sqlite, tmp_path):
    store = open_sqlite()
    while log_bytes(path) <= LIMIT_BYTES:
        head = store.append(CTX, [noise()], None)
    store.append(CTX, [new_event("note", {})], head)
    shutil.copy(path, tmp_path / "alone.db")
    report = audit(tmp_path / "alone.db")
    assert report.flaws == ()
    assert report.sessions[0].head == head  # all but what was appended since


def test_a_reader_that_holds_on_delays_it_and_harms_nothing(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [noise()], None)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchone()
        moments = moments_of_growth(
            path, store, lambda: [store.append(CTX, [noise()], None) for _ in range(100)]
        )
        assert len(moments) < 5  # not at every append
        assert log_bytes(path) > 1.5 * LIMIT_BYTES
    for _ in range(40):
        store.append(CTX, [noise()], None)
    assert log_bytes(path) <= LIMIT_BYTES
    assert audit(path).flaws == ()


def test_an_append_does_not_fail_because_a_checkpoint_does(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [noise()], None)
    path.rename(path.with_name("elsewhere"))
    while log_bytes(path) <= 1.5 * LIMIT_BYTES:
        head = store.append(CTX, [noise()], None)
    assert not path.exists()
    path.with_name("elsewhere").rename(path)
    assert store.append(CTX, [noise()], head).seq == head.seq + 1
    assert audit(path).flaws == ()
