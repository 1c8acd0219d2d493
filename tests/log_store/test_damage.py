"""Stores damaged on purpose, and what the audit says about them."""

import os
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clew.errors import NotFound, StoreTooNew, StoreUnwritable
from clew.log import KINDS, EventKind, message_event, new_event
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.audit import SessionAudit, audit
from clew.log.store.database import Migration, migrate, migrations
from clew.message import Role, text_message
from tests.conftest import tries

CTX = Ctx(workspace="north", session="main")
SIDE = Ctx(workspace="south", session="side")
LONG = "an output that lies apart\n" * 200
TABLES = {"migration": 1, "session": 2, "event": 10, "blob": 3}
DERIVED = ("index_", "entry", "snapshot")
"""What can be made again from the log; nobody takes it for the truth."""
COLUMNS = [
    *(("migration", column) for column in ("version", "name", "checksum")),
    *(("session", column) for column in ("key", "workspace", "id", "seal", "seq", "hash")),
    *(("event", c) for c in ("session", "seq", "id", "kind", "version", "time", "digest", "hash", "body")),
    *(("blob", column) for column in ("workspace", "digest", "checksum", "content")),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Make a small store that has everything: two sessions, shared and unshared blobs, unknown kinds."""
    path = tmp_path_factory.mktemp("whole") / "clew.db"
    with SqliteStore(path) as store:
        for n in range(3):
            store.append(
                CTX,
                [message_event(text_message(Role.USER, f"hello {n}")), new_event("dream", {"text": LONG})],
                None,
            )
            store.append(SIDE, [message_event(text_message(Role.USER, LONG))], None)
        store.append(SIDE, [new_event("dream", {str(n): n for n in range(500)})], None)
    return path


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copy(whole, tmp_path / "clew.db")
    return tmp_path / "clew.db"


def change(path, sql, *values):
    """Change rows behind the store's back: the triggers step aside for a moment."""
    with closing(sqlite3.connect(path)) as database:
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        changed = database.execute(sql, values).rowcount
        for _, trigger in triggers:
            database.execute(trigger)
        database.commit()
    assert changed
    return path


def content(path):
    """Return everything that a store holds."""
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = bytes
        rows = {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
        return rows, sorted(
            database.execute("SELECT type, name, sql FROM sqlite_master").fetchall(), key=repr
        )


def found(path):
    return [(flaw.session, flaw.seq, flaw.field) for flaw in audit(path).flaws]


def test_a_whole_store_is_sound(whole):
    report = audit(whole)
    assert report.flaws == ()
    assert report.sound
    assert report.blobs == 3
    with SqliteStore(whole) as store:
        assert report.sessions == (
            SessionAudit(CTX, store.head(CTX), 6, 3, {"dream": 3}),
            SessionAudit(SIDE, store.head(SIDE), 4, 3, {"dream": 1}),
        )


def test_an_audit_changes_nothing_and_leaves_nothing(copy):
    before = copy.read_bytes()
    audit(copy)
    assert [(file.name, file.read_bytes()) for file in copy.parent.iterdir()] == [("clew.db", before)]


def test_a_store_is_audited_while_others_write_to_it(path, open_sqlite):
    open_sqlite().append(CTX, [new_event("dream", {"text": LONG})], None)
    assert audit(path).sessions[0].events == 1


def test_a_store_that_is_written_to_meanwhile_is_audited_again(path, open_sqlite):
    with SqliteStore(path) as store:
        store.append(CTX, [new_event("dream", {})], None)
    interrupted = []

    def interrupt(_body):
        if not interrupted:
            interrupted.append(open_sqlite().append(CTX, [new_event("dream", {})], None))
        return ()

    assert audit(path, {"dream": EventKind("dream", lambda view, _: view, interrupt)}).sessions[0].events == 2


# One changed value ------------------------------------------------------------------------------------


def mutated(value):
    """Return strategies for what might stand in a value's place."""
    other = st.none() | st.integers(-3, 20) | st.text(max_size=3) | st.binary(max_size=3)
    if isinstance(value, int):
        return other | st.integers(0, 62).map(lambda bit: value ^ (1 << bit))
    raw = value.encode() if isinstance(value, str) else value

    def flipped(place, flip):
        bent = bytearray(raw)
        bent[place] ^= flip
        return bytes(bent).decode("utf-8", "ignore") if isinstance(value, str) else bytes(bent)

    return other | st.builds(flipped, st.integers(0, len(raw) - 1), st.integers(1, 255))


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=str)
@given(data=st.data())
@settings(
    max_examples=tries(10, 25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_changed_value_goes_unnoticed(whole, tmp_path, table, column, data):
    path = shutil.copy(whole, tmp_path / "clew.db")
    row = data.draw(st.integers(1, TABLES[table]))
    with closing(sqlite3.connect(path)) as database:
        (old,) = database.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
    try:
        change(path, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", data.draw(mutated(old)), row)
    except sqlite3.IntegrityError:
        assume(False)
    assume(content(path) != content(whole))
    assert not audit(path).sound


def test_the_columns_listed_here_are_all_there_are(whole):
    with closing(sqlite3.connect(whole)) as database:
        named = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in named if not name.startswith(DERIVED)]
        every = {
            (table, row[1]) for table in tables for row in database.execute(f"PRAGMA table_info({table})")
        }
    assert every == set(COLUMNS)


@pytest.mark.parametrize(
    ("sql", "flaws"),
    [
        (
            "UPDATE event SET time = 'never' WHERE session = 1 AND seq = 2",
            [("main", 2, "id, kind, version, time or digest")],
        ),
        ("UPDATE event SET hash = 'sha256:0' WHERE session = 1 AND seq = 2", [("main", 2, "hash")]),
        ("UPDATE event SET hash = 'sha256:0' WHERE session = 1 AND seq = 6", [("main", 6, "hash")]),
        ("UPDATE event SET digest = 'sha256:0' WHERE session = 1 AND seq = 3", [("main", 3, "digest")]),
        ("UPDATE event SET body = CAST('{}' AS BLOB) WHERE session = 1 AND seq = 3", [("main", 3, "body")]),
        ("UPDATE event SET body = 'text' WHERE session = 1 AND seq = 3", [("main", 3, "body")]),
        ("UPDATE event SET seq = 99 WHERE session = 2 AND seq = 4", [("side", 4, "seq")]),
        ("UPDATE event SET version = 'one' WHERE session = 2 AND seq = 1", [("side", 1, "row")]),
        (
            "UPDATE event SET session = 7 WHERE session = 2 AND seq = 3",
            [(None, None, "event row 9"), ("side", 3, "event")],
        ),
        ("DELETE FROM event WHERE session = 1 AND seq = 1", [("main", 1, "event")]),
        ("DELETE FROM event WHERE session = 1 AND seq = 6", [("main", None, "head seq")]),
        ("UPDATE session SET seq = 5 WHERE key = 1", [("main", None, "head seq")]),
        ("UPDATE session SET hash = 'sha256:0' WHERE key = 1", [("main", None, "head hash")]),
        ("UPDATE session SET seal = 'sha256:0' WHERE key = 1", [("main", None, "seal")]),
        ("UPDATE migration SET name = 'logs'", [(None, None, "migrations")]),
        ("UPDATE migration SET checksum = 'sha256:0'", [(None, None, "migrations")]),
    ],
)
def test_the_audit_names_what_was_changed(copy, sql, flaws):
    assert found(change(copy, sql)) == flaws


def test_a_session_moved_to_another_workspace_is_named_with_the_blobs_it_lost(copy):
    flaws = found(change(copy, "UPDATE session SET workspace = 'west' WHERE id = 'main'"))
    assert flaws[:4] == [
        ("main", None, "seal"),
        ("main", 2, "body"),
        ("main", 4, "body"),
        ("main", 6, "body"),
    ]


def test_a_damaged_blob_is_named_with_every_event_that_holds_it(copy):
    flaws = audit(change(copy, "UPDATE blob SET content = x'00' WHERE workspace = 'north'")).flaws
    assert [(flaw.workspace, flaw.seq) for flaw in flaws] == [
        ("north", None),
        *(("north", n) for n in (2, 4, 6)),
    ]
    assert flaws[0].field.startswith("blob sha256:")


def test_a_missing_blob_is_named_with_every_event_that_held_it(copy):
    flaws = audit(change(copy, "DELETE FROM blob WHERE workspace = 'north'")).flaws
    assert [flaw.seq for flaw in flaws] == [2, 4, 6]
    assert all("is missing" in flaw.found for flaw in flaws)


def test_a_blob_that_nothing_holds_is_named(copy):
    (flaw,) = audit(change(copy, "UPDATE blob SET workspace = 'west' WHERE workspace = 'north'")).flaws[-1:]
    assert (flaw.workspace, flaw.expected, flaw.found) == ("west", "an event that holds it", "none")


def test_rows_with_exchanged_contents_are_both_named(copy):
    with closing(sqlite3.connect(copy)) as database:
        bodies = dict(database.execute("SELECT seq, body FROM event WHERE session = 1").fetchall())
    for seq, other in ((1, 3), (3, 1)):
        change(copy, "UPDATE event SET body = ? WHERE session = 1 AND seq = ?", bodies[other], seq)
    assert found(copy) == [("main", 1, "body"), ("main", 3, "body")]


def test_a_body_that_cannot_be_folded_is_named(path, open_sqlite):
    open_sqlite().append(
        CTX, [new_event("message", {"text": "no message"}), new_event("message", {}, 9)], None
    )
    assert found(path) == [("main", 1, "fold"), ("main", 2, "fold")]


def test_kinds_that_the_caller_knows_are_folded_too(whole):
    note = replace(KINDS["message"], name="dream", messages=lambda body: ())
    report = audit(whole, {**KINDS, "dream": note})
    assert [(session.visible, dict(session.skipped)) for session in report.sessions] == [(6, {}), (4, {})]


def test_a_file_that_does_not_say_what_it_is_is_named(copy):
    with closing(sqlite3.connect(copy)) as database:
        database.execute("PRAGMA application_id = 7")
    assert found(copy) == [(None, None, "application id")]


def test_a_changed_schema_is_named(copy):
    with closing(sqlite3.connect(copy)) as database:
        database.execute("DROP INDEX event_other")
        database.execute("CREATE TABLE guest (a)")
    assert found(copy) == [(None, None, "index event_other"), (None, None, "table guest")]


def test_damage_behind_a_table_that_someone_added_is_named(copy):
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        database.execute("CREATE TABLE guest (a)")
        database.execute("UPDATE session SET seal = 'x' WHERE key = 1")
    assert [field for *_, field in found(copy)] == ["table guest", "seal"]


def test_the_statistics_of_sqlite_are_no_damage(copy):
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        database.execute("ANALYZE")
    assert found(copy) == []


# Damage below SQLite's feet ---------------------------------------------------------------------------


def flip(path, place, bits):
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ bits]))


def unnoticed_flips(whole, path, chance, times):
    """Flip one bit of the file at a time; return those that changed its content and were not noticed."""
    expected, size = content(whole), whole.stat().st_size
    unnoticed = []
    for _ in range(times):
        place, bits = chance.randrange(size), 1 << chance.randrange(8)
        shutil.copy(whole, path)
        flip(path, place, bits)
        if audit(path).sound and content(path) != expected:
            unnoticed.append((place, bits))
    return unnoticed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_of_the_file_goes_unnoticed(whole, tmp_path, seed):
    assert unnoticed_flips(whole, tmp_path / "clew.db", random.Random(seed), tries(150, 400)) == []


def test_a_file_cut_short_is_named_and_the_rest_is_read(whole, copy):
    size = whole.stat().st_size
    for pages in range(1, size // 4096):
        shutil.copy(whole, copy)
        os.truncate(copy, size - pages * 4096)
        assert not audit(copy).sound


def test_what_lies_before_a_lost_page_is_still_read(path, tmp_path):
    with SqliteStore(path) as store:
        store.append(CTX, [new_event("dream", {"n": n, "text": "x" * 500}) for n in range(500)], None)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    report = audit(path)
    assert not report.sound
    assert 300 < report.sessions[0].events < 500


def test_lost_pages_of_long_texts_are_named(path):
    with SqliteStore(path) as store:
        for n in range(60):
            store.append(CTX, [new_event("dream", {"noise": random.Random(n).randbytes(3_000).hex()})], None)
    damaged = bytearray(path.read_bytes())
    for page in range(40, len(damaged) // 4096 - 5):
        damaged[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(damaged)
    fields = [field for _, _, field in found(path)]
    assert any(field.startswith("blob row") for field in fields)
    assert "body" in fields


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\x00", b"dear diary, " * 1_000])
def test_a_file_that_is_no_store_is_called_so(tmp_path, data):
    path = tmp_path / "clew.db"
    path.write_bytes(data)
    report = audit(path)
    assert not report.sound
    assert report.sessions == ()


def test_where_nothing_is_nothing_is_audited(tmp_path):
    with pytest.raises(NotFound, match="no store at"):
        audit(tmp_path / "clew.db")
    assert list(tmp_path.iterdir()) == []


def test_a_store_left_open_where_nothing_may_be_written_is_not_called_damaged(path, open_sqlite, tmp_path):
    open_sqlite().append(
        Ctx(workspace="w", session="s"), [message_event(text_message(Role.USER, "hi"))], None
    )
    left = tmp_path / "left.db"
    for side in ("", "-wal"):
        shutil.copy(f"{path}{side}", f"{left}{side}")
    Path(f"{left}-shm").symlink_to(tmp_path / "nowhere" / "shm")  # as if it could not be made
    with pytest.raises(StoreUnwritable, match="audit the copy"):
        audit(left)


def test_a_store_of_a_later_clew_is_not_called_damaged(copy):
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        migrate(
            database, [*migrations(), Migration(len(migrations()) + 1, "shelf", "CREATE TABLE shelf (a);\n")]
        )
    with pytest.raises(StoreTooNew, match="upgrade clew"):
        audit(copy)


# Power cuts -------------------------------------------------------------------------------------------


def torn(data, chance):
    """Return a write-ahead log as a power cut may leave it."""
    cut = chance.randrange(len(data) + 1)
    rest = len(data) - cut
    return data[:cut] + chance.choice([b"", b"\0" * rest, chance.randbytes(rest)])


@pytest.mark.parametrize("seed", range(60))
def test_a_torn_write_ahead_log_leaves_a_sound_beginning(tmp_path, seed):
    chance = random.Random(seed)
    live, after = tmp_path / "live.db", tmp_path / "after.db"
    with SqliteStore(live) as store:
        for n in range(12):
            store.append(
                CTX, [new_event("dream", {"n": n, "text": LONG[: n * 300]}), new_event("dream", {})], None
            )
        shutil.copy(live, after)
        (tmp_path / "after.db-wal").write_bytes(torn((tmp_path / "live.db-wal").read_bytes(), chance))
        events = list(store.read(CTX))
    with SqliteStore(after) as store:
        survivors = list(store.read(CTX))
        assert survivors == events[: len(survivors)]
        assert len(survivors) % 2 == 0
        store.append(CTX, [new_event("dream", {})], store.head(CTX))
    assert audit(after).flaws == ()


@pytest.mark.parametrize("last", [40, 9_000_000_000_000_000_000])
def test_an_audit_ends_wherever_a_block_of_the_file_is_zeros(tmp_path, last):
    path = tmp_path / "clew.db"
    with SqliteStore(path) as store:
        for n in range(40):
            said = text_message(Role.USER, f"{n} " + "word " * (n % 7 * 20))
            store.append(CTX, [message_event(said)], None)
    change(path, "UPDATE event SET rowid = ? WHERE rowid = 40", last)
    data = path.read_bytes()
    led_back = 0
    for start in range(4_096, len(data) - 4_096, 4_096):  # the ends of two pages that lie beside each other
        damaged = bytearray(data)
        damaged[start + 2_048 : start + 6_144] = bytes(4_096)
        path.write_bytes(damaged)
        flaws = audit(path).flaws
        led_back += any("its rows are out of order" in flaw.found for flaw in flaws)
    assert led_back > 2  # without a guard, these are read without end
