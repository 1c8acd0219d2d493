"""The schema and its steps."""

import re
import sqlite3
from contextlib import closing

import pytest

from clew.errors import StoreDamaged, StoreTooNew
from clew.log.store import SqliteStore
from clew.log.store.database import Migration, migrate, migrations, statements

LAST = migrations()[-1].version
NEXT = Migration(
    LAST + 1,
    "shelf",
    "-- a; comment\nCREATE TABLE shelf (a TEXT DEFAULT ';');\n\nINSERT INTO shelf VALUES ('x');\n",
)
BROKEN = Migration(LAST + 2, "broken", "CREATE TABLE half (a);\nCREATE TABLE half (a);\n")


@pytest.fixture
def database():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def seen(database):
    return [(version, name) for version, name, _ in database.execute(statements()["migrations"])]


KNOWN = [(one.version, one.name) for one in migrations()]


def test_a_released_migration_never_changes():
    # Add the next line when a migration is released; never touch one that is there.
    assert [(m.version, m.name, m.checksum) for m in migrations()] == [
        (1, "log", "sha256:74c730e06839433541806072dbc184ee6bae220b367255c8e7772a8af60a6588"),
        (2, "index", "sha256:54459c1b6906a01285309201f140b425b4ff7cfab5edc92e1a6d38774545ac72"),
        (3, "snapshot", "sha256:5b34428475ca0a56e050682541c30e5da888ba33ecf854f88372fa2be8947ce6"),
        (4, "sources", "sha256:ce0300e755a4d3487bbb5b1aa3e3098999ea39303313bd859755fd0469d2ecf0"),
        (5, "pieces", "sha256:b4364db86b9172308c5b6214ae3183bc5bdfffcd565210b4d5dcbde794058195"),
    ]


def test_migrating_again_changes_nothing(database):
    migrate(database)
    once = database.execute(statements()["schema"]).fetchall()
    migrate(database)
    assert database.execute(statements()["schema"]).fetchall() == once
    assert seen(database) == KNOWN


def test_only_what_is_new_is_run(database):
    migrate(database)
    migrate(database, [*migrations(), NEXT])
    migrate(database, [*migrations(), NEXT])
    assert seen(database) == [*KNOWN, (LAST + 1, "shelf")]
    assert database.execute("SELECT a FROM shelf").fetchall() == [("x",)]


def test_a_migration_that_fails_leaves_nothing_of_itself_or_its_batch(database):
    migrate(database)
    before = database.execute(statements()["schema"]).fetchall()
    with pytest.raises(sqlite3.OperationalError, match="half already exists"):
        migrate(database, [*migrations(), NEXT, BROKEN])
    assert database.execute(statements()["schema"]).fetchall() == before
    assert seen(database) == KNOWN


def test_a_store_of_a_later_clew_is_refused_with_advice(database):
    migrate(database, [*migrations(), NEXT])
    with pytest.raises(StoreTooNew, match=rf"schema {LAST + 1}, this clew knows {LAST}: .*upgrade clew"):
        migrate(database)


def test_a_store_made_by_another_migration_of_that_number_is_refused(database):
    migrate(database, [*migrations(), NEXT])
    with pytest.raises(StoreDamaged, match=rf"migration {LAST + 1} \(shelf\)"):
        migrate(database, [*migrations(), Migration(LAST + 1, "shelf", "CREATE TABLE other (a);\n")])


def test_the_file_says_what_it_is(path):
    SqliteStore(path).close()
    assert path.read_bytes()[68:72] == b"clew"


@pytest.mark.parametrize("name", statements())
def test_every_statement_compiles(database, name):
    migrate(database)
    sql = statements()[name]
    named = dict.fromkeys(re.findall(r":(\w+)", sql))
    database.execute(f"EXPLAIN {sql}", named or [None] * sql.count("?"))
