"""Every operation may fail; then nothing has happened."""

import errno
import itertools
import os
import sqlite3
from contextlib import suppress

import pytest

from clew.errors import DiskFailed, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreUnwritable
from clew.log import new_event
from clew.log.protocol import Ctx
from clew.log.store.audit import audit
from clew.log.store.connection import translate_errors
from tests.log_store.conftest import connection_of

CTX = Ctx(workspace="north", session="main")
LONG = "an output that lies apart\n" * 200


def batch():
    return [new_event("note", {"n": n, "text": LONG + str(n)}) for n in range(3)]


def test_an_append_that_fails_at_any_step_writes_all_or_nothing(path, open_sqlite):
    store, onlooker = open_sqlite(), open_sqlite()
    store.append(CTX, batch(), None)
    before, new = list(onlooker.read(CTX)), batch()
    for step in itertools.count(0, 3):
        left = iter(range(step))
        # From some step on everything fails, the rollback too.
        connection_of(store).set_progress_handler(lambda left=left: next(left, None) is None, 1)
        with suppress(StoreError):
            store.append(CTX, new, None)
        connection_of(store).set_progress_handler(None, 0)
        if (found := list(onlooker.read(CTX))) != before:
            break
        assert store.head(CTX) == before[-1].head
    assert step > 100
    assert [stored.event for stored in found[3:]] == new
    assert audit(path).flaws == ()


def test_a_full_disk_is_said_and_what_was_there_stays_readable(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, batch(), None)
    (pages,) = connection_of(store).execute("PRAGMA page_count").fetchone()
    connection_of(store).execute(f"PRAGMA max_page_count = {pages + 1}")
    big = [new_event("note", {"n": n, "text": str(n) * 1_500}) for n in range(30)]
    with pytest.raises(StoreFull, match="free some space and try again"):
        store.append(CTX, big, None)
    assert len(list(store.read(CTX))) == 3
    connection_of(store).execute("PRAGMA max_page_count = 1000000")
    store.append(CTX, big, None)
    assert len(list(store.read(CTX))) == 33
    assert audit(path).flaws == ()


def test_a_store_that_may_only_be_read_is_said(open_sqlite):
    store = open_sqlite()
    store.append(CTX, batch(), None)
    connection_of(store).execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnwritable, match="check the owner of the file"):
        store.append(CTX, batch(), None)
    assert len(list(store.read(CTX))) == 3


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusy),
        (sqlite3.SQLITE_LOCKED, StoreBusy),
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_IOERR, DiskFailed),
        (sqlite3.SQLITE_IOERR_FSYNC, DiskFailed),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreUnwritable),
        (sqlite3.SQLITE_CANTOPEN, StoreUnwritable),
        (sqlite3.SQLITE_CORRUPT, StoreDamaged),
        (sqlite3.SQLITE_NOTADB, StoreDamaged),
        (sqlite3.SQLITE_TOOBIG, StoreError),
    ],
)
def test_what_sqlite_reports_becomes_an_error_of_ours(tmp_path, code, error):
    report = sqlite3.OperationalError("as SQLite says it")
    report.sqlite_errorcode = code
    with (
        pytest.raises(StoreError, match=f"{tmp_path}: as SQLite says it: ") as caught,
        translate_errors(tmp_path),
    ):
        raise report
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("number", "error"),
    [(errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull), (errno.EACCES, StoreUnwritable)],
)
def test_what_the_system_reports_becomes_an_error_of_ours(tmp_path, number, error):
    with pytest.raises(error, match=os.strerror(number)), translate_errors(tmp_path):
        raise OSError(number, os.strerror(number))
