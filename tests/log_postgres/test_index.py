"""What only the index on PostgreSQL does: isolation by its views, forgetting, pgvector."""

import random
import re
import threading

import psycopg
import pytest

from clew import Session, text_message
from clew.log.protocol import Ctx
from clew.log.store.database import statements
from clew.log.store.postgres import PostgresStore
from clew.memory import Memory
from clew.memory.index import ANYTHING, Filters, Wanted
from clew.memory.index.postgres import PostgresIndex
from clew.memory.indexing import catch_up
from clew.memory.terms import analyse
from clew.message import Role
from tests.log_postgres.test_store import rows
from tests.log_store.test_index import entry, put, refs, words
from tests.postgres import new_schema, the_server

TABLES = ("index_workspace", "index_session", "entry", "entry_vector", "index_word")


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def index(store):
    return PostgresIndex(store.connections, "north", "m")


def talked(store, name="main", workspace="north", text="The kiln of {} listens on port 8123."):
    session = Session.open(name, store, workspace=workspace)
    session.add(text_message(Role.USER, text.format(name)), text_message(Role.ASSISTANT, "Noted."))
    memory = Memory(store, session.ctx)
    memory.catch_up()
    return session


def test_statements_touch_the_views_only():
    text = "\n".join(statements("postgres.sql", "clew.memory.index").values())
    text += "\n".join(statements("statements.sql", "clew.log.store.postgres").values())
    assert not re.search(r"entry_rows|entry_vector_rows", text)


def test_a_query_without_a_condition_sees_one_workspace_of_the_index(place, store):
    for workspace in ("north", "south"):
        talked(store, workspace=workspace)
    for table in TABLES:
        assert set(rows(place, f"SELECT workspace FROM {table}")) == {("north",)}
        assert rows(place, f"SELECT workspace FROM {table}", workspace="") == []


def test_an_entry_for_another_workspace_cannot_be_written(place, store):
    talked(store)
    with pytest.raises(psycopg.errors.WithCheckOptionViolation):
        rows(place, "UPDATE entry SET workspace = 'south' RETURNING key")
    assert rows(place, "DELETE FROM entry RETURNING key", workspace="south") == []


def test_words_are_looked_up_in_the_index_of_the_server(place, index):
    put(index, *(entry(f"ship number{n}", n) for n in range(400)))
    with psycopg.connect(place.address, autocommit=True) as owner:
        owner.execute(f"SET search_path = {place.schema}")
        owner.execute("SET clew.workspace = 'north'")
        owner.execute("SET enable_seqscan = off")
        owner.execute("VACUUM ANALYZE entry_rows")
        query = "SELECT key FROM entry WHERE lexemes @@ $$'1:number7'$$::tsquery"
        plan = owner.execute(f"EXPLAIN {query}").fetchall()
    assert "entry_lexemes" in str(plan)


# Forgetting --------------------------------------------------------------------------------------------


def test_a_forgotten_session_is_found_by_no_search_and_others_are(place, store):
    talked(store, "first", text="The kiln of {} is called Gudrun.")
    talked(store, "second")
    gone = store.forget("north", "first")
    assert (gone.sessions, gone.entries, gone.remaining) == (1, 2, 0)
    memory = Memory(store, Ctx(workspace="north", session="new"))
    assert {hit.entry.session for hit in memory.search("kiln")} == {"second"}
    assert memory.search("Gudrun") == []
    left = {word for (word,) in rows(place, "SELECT term FROM index_word")}
    assert "gudrun" not in left
    assert "kiln" in left
    assert rows(place, "SELECT entries FROM index_workspace") == [(2,)]
    assert rows(place, "SELECT count(*) FROM entry_vector") == [(2,)]


def test_a_forgotten_workspace_leaves_no_row_of_its_index(place, store):
    for workspace in ("north", "south"):
        talked(store, workspace=workspace)
    assert store.forget("north").remaining == 0
    assert [rows(place, f"SELECT count(*) FROM {table}") for table in TABLES] == [[(0,)]] * len(TABLES)
    assert all(rows(place, f"SELECT count(*) FROM {table}", "south") != [(0,)] for table in TABLES)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_what_was_read_before_it_was_forgotten_is_not_indexed_afterwards(store, index, whole, again):
    """A process that reads a log for the index and is paused there brings nothing back."""
    ctx = Ctx(workspace="north", session="main")
    session = Session.open("main", store, workspace="north")
    session.add(text_message(Role.USER, "Her name is Gudrun."))

    class Slow:
        """Forgets the session while its log is read."""

        def __getattr__(self, name):
            return getattr(store, name)

        def read(self, *given, **named):
            found = list(store.read(*given, **named))
            store.forget("north", None if whole else "main")
            if again:
                Session.open("main", store, workspace="north").add(text_message(Role.USER, "Hello."))
            return iter(found)

    catch_up(Slow(), ctx, index)
    assert refs(index, words("Gudrun")) == []
    catch_up(store, ctx, index)
    assert refs(index, words("hello")) == (["m1"] if again else [])


def test_processes_that_index_one_session_at_once_index_it_once(store):
    session = Session.open("main", store, workspace="north")
    session.add(*(text_message(Role.USER, f"step {n} of the kiln") for n in range(60)))
    readers = [
        threading.Thread(
            target=lambda: Memory(store, session.ctx, PostgresIndex(store.connections)).catch_up()
        )
        for _ in range(4)
    ]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    index = PostgresIndex(store.connections, "north", "")
    stats, mark = index.stats("north", ["kiln"], "main")
    assert (stats.entries, stats.having["kiln"], mark.messages) == (60, 60, 60)


# Vectors -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_pgvector():
    """Return a schema on a database that has the extension."""
    server = the_server()
    with psycopg.connect(server.admin, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS with_vectors")
        admin.execute("CREATE DATABASE with_vectors OWNER clew")
    address = server.admin.replace("/postgres?", "/with_vectors?")
    with psycopg.connect(address, autocommit=True) as admin:
        try:
            admin.execute("CREATE EXTENSION vector")
        except psycopg.Error as cause:
            pytest.skip(f"no pgvector: {cause}")
    return server.address.replace("/clew?", "/with_vectors?")


def test_pgvector_finds_the_same_and_can_use_an_index_for_it(with_pgvector, index):
    schema = new_schema()
    chance = random.Random(5)
    vectors = [chance.randbytes(256) for _ in range(300)]
    with PostgresStore(with_pgvector, schema=schema) as store:
        other = PostgresIndex(store.connections, "north", "m")
        assert (index._pgvector, other._pgvector) == ("", "public")
        for one in (index, other):
            put(one, *(entry(f"text {n}", n, session=f"s{n % 3}") for n in range(300)))
            one.put("m", dict(zip([key for key, _ in one.lacking("m", 300)], vectors, strict=True)))
        for filters in (ANYTHING, Filters(sessions=("s1",))):
            wanted = Wanted(vector=vectors[7])
            assert refs(other, wanted, filters) == refs(index, wanted, filters)
        with psycopg.connect(with_pgvector, autocommit=True) as owner:
            owner.execute(
                f"CREATE INDEX ON {schema}.entry_vector_rows USING hnsw "
                "((signs::bit(256)) public.bit_hamming_ops) WHERE model = 'm'"
            )
        assert refs(other, Wanted(vector=vectors[7]))[0] == "r7"


def test_vectors_belong_to_the_workspace_that_the_index_was_opened_for(store, index):
    put(index, entry("one"), workspace="north")
    put(index, entry("two"), workspace="south")
    assert [text for _, text in index.lacking("m", 9)] == ["one"]
    assert index.progress("m") == (0, 1)


def test_texts_that_postgresql_cannot_hold_are_indexed_all_the_same(index):
    long = "x" * 900
    put(index, entry("a NUL \0 and a lone \ud800 surrogate", 0), entry(f"before {long} after", 1))
    assert refs(index, words("surrogate")) == ["r0"]
    assert refs(index, words(long)) == ["r1"]
    assert refs(index, Wanted(phrase=tuple(analyse(entry(f"before {long} after")).terms.split()))) == ["r1"]


def test_a_misspelled_word_is_found_by_the_words_of_the_workspace(store, index):
    put(index, entry("the archaeologist came", 0))
    stats, _ = index.stats("north", ["archeologist"], spelling=True)
    assert [near for near in stats.near.values() if near]
