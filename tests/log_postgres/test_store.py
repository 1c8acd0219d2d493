"""The PostgreSQL store passes the suite of every store, equals its twin in memory, and reports failures."""

import io
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import zstandard
from hypothesis import settings
from hypothesis.stateful import initialize, rule

from clew.errors import InputError, StoreDamaged, StoreError, StoreTooNew, StoreUnreachable
from clew.log import export_session, new_event
from clew.log.protocol import Ctx, Head
from clew.log.store import MemoryStore
from clew.log.store import postgres as store_module
from clew.log.store.conformance import CASES
from clew.log.store.postgres import PostgresStore
from clew.log.store.postgres.connection import describe
from clew.session import Session
from tests.log_store.test_twins import Twins
from tests.postgres import new_schema, the_server

CTX = Ctx(workspace="north", session="main")
LONG = "an output that is stored apart\n" * 200


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_postgres_store_conforms(case, open_store):
    case(open_store)


class PostgresTwins(Twins):
    """The same laws as for SQLite: no caller can distinguish the store from the one in memory."""

    @initialize()
    def open(self):
        self.schema = new_schema()
        self.sqlite, self.memory = PostgresStore(the_server().address, schema=self.schema), MemoryStore()

    def teardown(self):
        self.sqlite.close()

    @rule()
    def reopen(self):
        self.sqlite.close()
        self.sqlite = PostgresStore(the_server().address, schema=self.schema)

    @rule()
    def audit(self):
        """SQLite files only."""


TestPostgresTwins = pytest.mark.slow(PostgresTwins.TestCase)
TestPostgresTwins.settings = settings(max_examples=6, stateful_step_count=20, deadline=None)


def rows(place, statement, workspace="north", **values):
    """Run a statement as the application's role would, bypassing the store."""
    with psycopg.connect(place.address) as connection:
        connection.execute(f"SET search_path = {place.schema}")
        connection.execute("SELECT set_config('clew.workspace', %s, false)", [workspace])
        return connection.execute(statement, values).fetchall()


# Workspaces --------------------------------------------------------------------------------------------


def test_a_query_without_a_condition_sees_one_workspace_only(place, open_store):
    store = open_store()
    for workspace in ("north", "south"):
        store.append(Ctx(workspace=workspace, session="main"), [new_event("note", {"text": LONG})], None)
        store.save_snapshot(Ctx(workspace=workspace, session="main"), Head(1, "x"), {})
    assert store.isolated
    for table in ("session", "event", "blob", "blob_use", "snapshot"):
        assert rows(place, f"SELECT workspace FROM {table}") == [("north",)]
        assert rows(place, f"SELECT workspace FROM {table}", workspace="") == []


def test_a_row_for_another_workspace_cannot_be_written(place, open_store):
    open_store().append(CTX, [new_event("note", {})], None)
    change = "UPDATE session SET workspace = 'south' RETURNING key"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        rows(place, change)
    assert rows(place, "UPDATE session SET seq = 9 RETURNING key", workspace="south") == []


def test_a_superuser_is_reported_as_not_isolated(place):
    with PostgresStore(the_server().admin, schema=place.schema) as store:
        assert not store.isolated


@pytest.mark.parametrize("table", ["event", "blob"])
@pytest.mark.parametrize("change", ["UPDATE {} SET digest = 'x'", "DELETE FROM {}"])
def test_events_and_blobs_cannot_be_changed(place, open_store, table, change):
    open_store().append(CTX, [new_event("note", {"text": LONG})], None)
    with pytest.raises(psycopg.Error, match="append-only"):
        rows(place, change.format(table))


# Forgetting --------------------------------------------------------------------------------------------


def everything(place, workspace="north"):
    tables = ("session", "event", "blob", "blob_use", "snapshot")
    return {table: rows(place, f"SELECT count(*) FROM {table}", workspace)[0][0] for table in tables}


def test_a_forgotten_session_leaves_nothing_and_others_stay_whole(place, open_store):
    store = open_store()
    other = Ctx(workspace="north", session="other")
    store.append(CTX, [new_event("note", {"text": LONG}), new_event("note", {"text": LONG + "mine"})], None)
    head = store.append(other, [new_event("note", {"text": LONG})], None)
    store.save_snapshot(CTX, store.head(CTX), {"view": 1})
    assert store.forget("north", "main") == (1, 2, 1, 0, 0)
    assert store.head(CTX).seq == 0
    assert everything(place) == {"session": 1, "event": 1, "blob": 1, "blob_use": 1, "snapshot": 0}
    assert [one.event.body for one in store.read(other)] == [{"text": LONG}]
    assert store.head(other) == head


def test_a_forgotten_workspace_leaves_nothing_and_another_stays(place, open_store):
    store = open_store()
    for workspace in ("north", "south"):
        for session in ("a", "b"):
            store.append(Ctx(workspace=workspace, session=session), [new_event("note", {"text": LONG})], None)
    assert store.forget("north") == (2, 2, 1, 0, 0)
    assert set(everything(place).values()) == {0}
    assert len(list(store.sessions("south"))) == 2


def test_retention_deletes_what_has_not_changed_since(open_store):
    store = open_store()
    store.append(CTX, [new_event("note", {})], None)
    now = datetime.now(UTC)
    assert store.forget("north", unchanged_since=now - timedelta(hours=1)).sessions == 0
    assert store.forget("north", unchanged_since=now + timedelta(hours=1)).sessions == 1


TABLES = (
    *("session", "event", "blob", "blob_use", "snapshot"),
    *("index_session", "entry_rows", "entry_vector_rows", "index_word"),
)


def talk_of(store, name, person, text):
    """Make a session with long texts, a snapshot and an index with vectors."""
    session = Session.open(name, store, workspace="north")
    session.add({"role": "user", "content": text + LONG}, about={"person": person})
    session.memory.search("output")
    session._replay.save()
    session.close()


@pytest.mark.parametrize(
    "which", [{"session": "ada-1"}, {"person": "ada"}, {}], ids=["session", "person", "workspace"]
)
def test_what_is_forgotten_is_in_no_table_and_the_rest_stays(place, open_store, which):
    store = open_store()
    talk_of(store, "ada-1", "ada", "My number is 555-0101.")
    talk_of(store, "ada-2", "ada" if which.get("person") else "bob", "The colour is vermilion.")
    talk_of(store, "bob-1", "bob", "The harbour is Rotterdam.")
    kept = {} if not which else {"bob-1": "rotterdam"}
    gone = ["555-0101"] + (["vermilion"] if "session" not in which else []) + ([] if which else ["rotterdam"])
    assert all(words in dump(place) for words in [*gone, *kept.values()])  # the dump can find them
    assert store.forget("north", **which).remaining == 0
    left = dump(place)
    assert [words for words in gone if words in left] == []
    assert [words for words in kept.values() if words not in left] == []
    assert bool(rows(place, "SELECT 1 FROM entry_vector_rows")) is bool(kept)


def dump(place):
    """Return all that the tables hold, in lower case: texts unpacked, bytes as text."""
    found = []
    for table in TABLES:
        for row in rows(place, f"SELECT * FROM {table}"):
            cells = [readable(cell) for cell in row]
            found.append(" ".join(cells))
    return "\n".join(found).lower()


def readable(cell):
    if not isinstance(cell, bytes | memoryview):
        return str(cell)
    content = bytes(cell)
    if content.startswith(zstandard.FRAME_HEADER):
        content = zstandard.ZstdDecompressor().decompress(content)
    return content.decode("utf-8", "replace")


def test_a_person_who_is_named_later_does_not_take_over_a_session(open_store):
    store = open_store()
    for person in ("ada", "bob"):
        store.append(CTX, [new_event("about", {"person": person})], None)
    assert store.forget("north", person="bob").sessions == 0
    assert store.forget("north", person="ada").sessions == 1


def test_forgetting_what_does_not_exist_deletes_nothing(open_store):
    assert open_store().forget("north", "nothing") == (0, 0, 0, 0, 0)


# Snapshots, migrations, errors --------------------------------------------------------------------------


def test_an_older_snapshot_does_not_replace_a_newer_one(open_store):
    store = open_store()
    assert store.load_snapshot(CTX) is None
    head = store.append(CTX, [new_event("note", {}), new_event("note", {})], None)
    store.save_snapshot(CTX, head, {"n": 2})
    store.save_snapshot(CTX, Head(1, "sha256:0"), {"n": 1})
    assert store.load_snapshot(CTX) == (head, {"n": 2})


def test_a_damaged_snapshot_is_ignored(place, open_store):
    store = open_store()
    head = store.append(CTX, [new_event("note", {})], None)
    store.save_snapshot(CTX, head, {"n": 2})
    rows(place, "UPDATE snapshot SET content = 'x' RETURNING 1")
    assert store.load_snapshot(CTX) is None


def test_a_damaged_body_is_reported(place, open_store):
    store = open_store()
    store.append(CTX, [new_event("note", {"n": 1})], None)
    with psycopg.connect(the_server().admin.replace("/postgres?", "/clew?")) as connection:
        connection.execute("SET session_replication_role = replica")  # triggers off
        connection.execute(f"UPDATE {place.schema}.event SET body = '{{\"n\":2}}'")
    with pytest.raises(StoreDamaged, match="event 1"):
        list(store.read(CTX))


def test_a_schema_of_a_later_version_is_refused(place, open_store):
    open_store().close()
    rows(place, "INSERT INTO migration VALUES (99, 'later', 'x') RETURNING 1")
    with pytest.raises(StoreTooNew):
        open_store()


def test_a_changed_migration_is_refused(place, open_store):
    open_store().close()
    rows(place, "UPDATE migration SET checksum = 'x' RETURNING 1")
    with pytest.raises(StoreDamaged, match="migration 1"):
        open_store()


def test_a_server_that_does_not_answer_is_reported_without_the_password():
    with pytest.raises(StoreUnreachable) as raised:
        PostgresStore("postgresql://ada:secret@/shop?host=/nonexistent", busy_s=0.1)
    assert "shop" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("wrong", ["postgresql://[", "nonsense"])
def test_an_address_that_is_none_is_refused(wrong):
    with pytest.raises(InputError):
        describe(wrong)


def test_a_schema_name_cannot_carry_sql(place):
    with pytest.raises(InputError):
        PostgresStore(place.address, schema="x; DROP TABLE event")


def test_a_closed_store_says_so(open_store):
    store = open_store()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.head(CTX)


def counted(store, monkeypatch):
    """Count the round trips to the server: reads take one each, other transactions begin with one."""
    made = []
    for name in ("fetch", "run_after"):
        work = getattr(store.connections, name)
        monkeypatch.setattr(
            store.connections, name, lambda *given, work=work, name=name: made.append(name) or work(*given)
        )
    return made


def test_reading_costs_a_fixed_number_of_round_trips(open_store, monkeypatch):
    store = open_store()
    apart = {"texts": [f"{LONG}{n}" for n in range(60)]}  # so many marks that the whole body is stored apart
    store.append(CTX, [new_event("note", {"text": LONG + str(n)}) for n in range(200)], None)
    store.append(CTX, [new_event("note", apart)], None)
    made = counted(store, monkeypatch)
    assert len(list(store.read(CTX))) == 201
    assert len(made) == 3  # events with the head, their texts, the texts inside of a text
    made.clear()
    assert [one.seq for one in store.read_at(CTX, [180, 3, 77, 999, 3])] == [3, 77, 180]
    assert len(made) == 2
    made.clear()
    store.append(CTX, [new_event("note", {})], None)
    assert made == ["run_after"]


def test_large_texts_are_read_one_at_a_time(open_store, monkeypatch):
    monkeypatch.setattr(store_module, "BLOBS_AT_ONCE", 100)
    store = open_store()
    bodies = [{"text": f"{n}{LONG}", "more": [f"{LONG}{n}{m}" for m in range(60)]} for n in range(3)]
    store.append(CTX, [new_event("note", body) for body in bodies], None)
    assert [one.event.body for one in store.read(CTX)] == bodies


def test_a_read_leaves_no_workspace_behind_on_its_connection(open_store):
    store = open_store(pool=1)
    store.append(CTX, [new_event("note", {})], None)
    assert list(store.read(CTX))
    with store.connections._open_pool().connection() as connection:
        row = connection.execute("SELECT current_setting('clew.workspace', true)").fetchone()
    assert row[0] in (None, "")


def test_a_session_moves_between_sqlite_and_postgres(open_store, tmp_path):
    from clew.log import import_session
    from clew.log.store import SqliteStore

    store = open_store()
    store.append(CTX, [new_event("note", {"text": LONG})], None)
    file = io.BytesIO()
    export_session(store, CTX, file)
    with SqliteStore(tmp_path / "clew.db") as sqlite:
        assert import_session(sqlite, "north", file).head == store.head(CTX)
        assert list(sqlite.read(CTX)) == list(store.read(CTX))
