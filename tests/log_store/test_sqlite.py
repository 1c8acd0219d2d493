"""The SQLite store's own promises."""

import sqlite3
import stat
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from clew.errors import StoreBusy, StoreDamaged, StoreError, StoreUnwritable, UnsafeFileSystem
from clew.log import message_event, new_event
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.log.store.connection import begin, connect
from clew.log.store.sqlite import SEPARATE_FROM
from clew.message import Role, text_message
from tests.log_store.conftest import connection_of

CTX = Ctx(workspace="north", session="main")
SIDE = Ctx(workspace="north", session="side")
LONG = "an output that lies apart\n" * 200


def test_an_error_without_a_code_of_sqlite_is_raised_as_it_is():
    class Connection(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if statement == "BEGIN IMMEDIATE":
                raise sqlite3.OperationalError("raised by Python, without sqlite_errorcode")
            return super().execute(statement, *arguments)

    with (
        closing(sqlite3.connect(":memory:", factory=Connection)) as database,
        pytest.raises(sqlite3.OperationalError, match="raised by Python"),
    ):
        begin(database, 1.0)


def note(**body):
    return new_event("note", body)


def rows(path, sql):
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_files_are_for_their_owner_alone(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [note()], None)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"clew.db": 0o600, "clew.db-wal": 0o600, "clew.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_writes_are_durable_and_shared_and_a_file_is_not_trusted(open_sqlite):
    database = connection_of(open_sqlite())
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0}
    assert {name: database.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted


def test_places_beyond_what_sqlite_can_count_are_before_or_after_all(open_sqlite):
    store = open_sqlite()
    store.append(CTX, [note(), note()], None)
    assert [one.seq for one in store.read(CTX, -(2**70), 2**70)] == [1, 2]
    assert list(store.read(CTX, 2**70)) == []


def test_a_long_text_lies_in_the_file_once_however_often_it_comes(path, open_sqlite):
    store = open_sqlite()
    for n in range(20):
        store.append(CTX, [note(n=n, text=LONG, more={"again": LONG})], None)
        store.append(SIDE, [note(n=n, text=LONG)], None)
    assert rows(path, "SELECT count(*) FROM blob") == [(1,)]
    assert [stored.event.body for stored in store.read(SIDE)] == [{"n": n, "text": LONG} for n in range(20)]


def test_workspaces_share_no_blobs(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [note(text=LONG)], None)
    store.append(Ctx(workspace="south", session="main"), [note(text=LONG)], None)
    assert rows(path, "SELECT workspace FROM blob ORDER BY 1") == [("north",), ("south",)]


def test_short_bodies_lie_beside_their_events(path, open_sqlite):
    open_sqlite().append(CTX, [note(text="x" * (SEPARATE_FROM - 50))], None)
    assert rows(path, "SELECT count(*) FROM blob") == [(0,)]


def test_the_database_itself_refuses_to_change_the_log(path, open_sqlite):
    open_sqlite().append(CTX, [note(text=LONG)], None)
    for sql in (
        "UPDATE event SET kind = 'x'",
        "DELETE FROM event",
        "UPDATE blob SET content = 'x'",
        "DELETE FROM blob",
    ):
        with (
            closing(sqlite3.connect(path)) as database,
            pytest.raises(sqlite3.IntegrityError, match="append-only"),
        ):
            database.execute(sql)


def test_kinds_other_than_messages_are_read_without_passing_over_the_messages(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [message_event(text_message(Role.USER, "hello")), note()], None)
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    def steps_to_read_notes():
        nonlocal steps
        steps = 0
        assert [stored.event.kind for stored in store.read(CTX, kinds=["note"])] == ["note"]
        return steps

    connection_of(store).set_progress_handler(count, 1)
    few = steps_to_read_notes()
    store.append(
        CTX,
        [message_event(text_message(Role.USER, str(n))) for n in range(500)],
        None,
    )
    assert steps_to_read_notes() == few


def test_a_reader_does_not_hold_up_writers_or_the_log_behind_them(path, open_sqlite):
    store = open_sqlite()
    store.append(CTX, [note(n=n) for n in range(1_000)], None)
    reading = store.read(CTX)
    next(reading)
    open_sqlite().append(CTX, [note(n=1_000)], None)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
    assert len(list(reading)) == 999


def test_a_writer_that_waits_too_long_says_so(path, open_sqlite):
    store = open_sqlite(busy_s=0.05)
    store.append(CTX, [note(n=1)], None)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another process is writing; try again"):
            store.append(CTX, [note(n=2)], None)
        assert [stored.event.body for stored in store.read(CTX)] == [{"n": 1}]
    store.append(CTX, [note(n=2)], None)
    assert len(list(store.read(CTX))) == 2


def test_a_writer_waits_for_its_turn(path, open_sqlite):
    store = open_sqlite()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
    timer.start()
    assert store.append(CTX, [note()], None).seq == 1
    timer.join()
    other.close()


def test_many_may_open_a_new_store_at_once(path):
    failures = []

    def open_and_append(n):
        try:
            with SqliteStore(path, busy_s=120) as store:
                store.append(CTX, [note(n=n)], None)
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=open_and_append, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert audit(path).sessions[0].events == 12


def test_a_closed_store_says_so(open_sqlite):
    store = open_sqlite()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.head(CTX)


def test_a_file_that_is_no_database_is_called_damaged(path):
    path.parent.mkdir()
    path.write_text("dear diary, " * 1_000)
    with pytest.raises(StoreDamaged, match="not a database"):
        SqliteStore(path)


def test_a_schema_beyond_words_is_called_damaged(path):
    SqliteStore(path).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE migration", b"CREATE \xff\xfeBLE migration"))
    with pytest.raises(StoreDamaged):
        SqliteStore(path)


def test_a_disk_without_a_write_ahead_log_is_refused():
    with pytest.raises(UnsafeFileSystem, match="journal mode 'memory' only"):
        connect(Path(":memory:"), 1, exclusive=False)


def test_another_programs_database_is_left_alone(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE recipe (name)")
    with pytest.raises(StoreError, match="belongs to another program"):
        SqliteStore(path)
    assert rows(path, "SELECT name FROM sqlite_master") == [("recipe",)]


@pytest.mark.parametrize("place", ["a directory", "under a file"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "file").write_text("")
    path = tmp_path if place == "a directory" else tmp_path / "file" / "clew.db"
    with pytest.raises(StoreUnwritable, match=str(path)):
        SqliteStore(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE event SET body = '{\"n\":2}'", "wrong type"),
        ("UPDATE event SET body = CAST('{\"n\":2}' AS BLOB)", "its body is sha256:"),
        ("UPDATE event SET body = CAST('{' AS BLOB)", "cannot be read"),
        (
            "UPDATE event SET body = CAST(char(2) || 'sha256:' || hex(zeroblob(32)) || char(3) AS BLOB)",
            "is missing",
        ),
        ("UPDATE event SET kind = ''", "event kind '' is empty"),
        ("UPDATE event SET kind = CAST(x'ff' AS TEXT)", "UTF-8"),
        ("UPDATE event SET version = 'x'", "wrong type"),
        ("UPDATE session SET seq = 'x'", "its head is 'x'"),
    ],
)
def test_damage_met_on_the_way_is_an_error_with_advice(path, open_sqlite, change, said):
    store = open_sqlite()
    store.append(CTX, [note(n=1)], None)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TRIGGER event_is_never_changed")
        database.execute(change)
        database.commit()
    with pytest.raises(StoreDamaged, match=said):
        list(store.read(CTX))


def test_a_head_behind_its_events_is_no_reason_to_write_over_them(path, open_sqlite):
    store = open_sqlite()
    first = store.append(CTX, [note(n=1)], None)
    store.append(CTX, [note(n=2)], None)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE session SET seq = 1, hash = ?", (first.hash,))
        database.commit()
    with pytest.raises(StoreDamaged, match="behind its events"):
        store.append(CTX, [note(n=3)], None)


@pytest.mark.slow
def test_fifty_megabytes_in_one_body_come_back_and_lie_there_once(path):
    huge = "".join(f"{n} INFO request {n * 7} took {n % 97} ms\n" for n in range(1_500_000))
    message = text_message(Role.USER, huge)
    with SqliteStore(path) as store:
        for _ in range(3):
            store.append(CTX, [message_event(message)], None)
        texts = [stored.event.body["message"]["parts"][0]["text"] for stored in store.read(CTX)]
    assert len(huge) > 50_000_000
    assert texts == [huge] * 3
    assert rows(path, "SELECT count(*) FROM blob") == [(1,)]
    assert path.stat().st_size < len(huge) / 5
