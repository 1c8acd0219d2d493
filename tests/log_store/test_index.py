"""The search index, in SQLite and in PostgreSQL."""

import re
import sqlite3
from contextlib import closing

import pytest

from clew.errors import StoreError
from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.log.store.database import migrate, statements
from clew.memory.index import ANYTHING, Entry, EntryKind, Filters, Mark, Wanted
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.terms import analyse, terms
from clew.message import Trust
from tests.postgres import place

__all__ = ["place"]  # a fixture


@pytest.fixture
def index(place):
    return place.index("m")


def entry(text, n=0, **fields):
    own = {"ref": f"r{n}", "session": "main", "time": f"2026-01-0{n % 9 + 1}T00:00:00.000Z", "role": "user"}
    return Entry(**{**own, "trust": Trust.USER, "text": text, **fields})


def put(index, *entries, workspace="north"):
    index.add(workspace, [analyse(one) for one in entries])


def refs(index, wanted, filters=ANYTHING, workspace="north", limit=10):
    keys = index.find(workspace, wanted, filters, limit)
    at = {row.key: row.entry.ref for row in index.rows(workspace, keys)}
    return [at[key] for key in keys]


def words(*said):
    return Wanted(terms=tuple((term, 1.0) for word in said for term in terms(word)))


@pytest.mark.parametrize("name", statements("index.sql", "clew.memory.index"))
def test_every_statement_of_the_index_compiles(name):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        migrate(database)
        sql = statements("index.sql", "clew.memory.index")[name]
        database.execute(f"EXPLAIN {sql}", dict.fromkeys(re.findall(r":(\w+)", sql)))


def test_what_was_put_in_comes_out_as_it_was(index):
    one = entry("one text", files=("a.py", "b c.py"), speaker="Ann", kind=EntryKind.NOTE, start=7)
    one = one._replace(seq=12, sources=("m1", "m2"))
    put(index, one)
    (key,) = index.find("north", words("text"), ANYTHING, 10)
    (row,) = index.rows("north", [key])
    assert row.analysed == analyse(one)


def test_what_has_more_of_the_words_comes_first(index):
    put(index, entry("red", 0), entry("red ship", 1), entry("blue", 2))
    assert refs(index, words("red", "ship")) == ["r1", "r0"]


def test_of_two_that_match_alike_the_shorter_comes_first(index):
    put(index, entry("a ship " + "with so much else to say " * 20, 0), entry("a ship", 1))
    assert refs(index, words("ship")) == ["r1", "r0"]


def test_a_phrase_is_found_where_its_words_stand_together(index):
    put(index, entry("sql py and src", 0), entry("in src/sql.python", 1), entry("in src/sql.py", 2))
    assert refs(index, Wanted(phrase=("src", "sql", "py"))) == ["r2"]
    assert refs(index, Wanted(phrase=("src", "sql", "py"), last_is_prefix=True)) == ["r2", "r1"]


def test_a_workspace_sees_nothing_of_another(index):
    put(index, entry("secret"), workspace="south")
    put(index, entry("public"))
    (theirs,) = index.find("south", words("secret"), ANYTHING, 10)
    assert index.find("north", words("secret"), ANYTHING, 10) == []
    assert "secret" not in [row.entry.text for row in index.rows("north", [theirs], around=5)]
    assert index.stats("north", ["secret"])[0].having == {"secret": 0}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(sessions=("other",)), ["r1"]),
        (Filters(sessions=("nowhere",)), []),
        (Filters(kinds=(EntryKind.NOTE, EntryKind.DIGEST)), ["r2"]),
        (Filters(roles=("tool",)), ["r3"]),
        (Filters(files=("src/a b.py",)), ["r4"]),
        (Filters(trust=Trust.DEVELOPER), ["r5"]),
        (Filters(after="2026-01-07"), ["r6"]),
        (Filters(before="2026-01-02"), ["r0"]),
        (Filters(sessions=("other",), roles=("tool",)), []),
    ],
)
@pytest.mark.parametrize(
    "wanted", [words("ship"), Wanted(phrase=("ship",)), Wanted(vector=b"\x01" * 64)], ids=str
)
def test_every_filter_holds_for_every_way_to_look(index, filters, expected, wanted):
    changes = [
        {},
        {"session": "other"},
        {"kind": EntryKind.NOTE},
        {"role": "tool"},
        {"files": ("src/a b.py",)},
        {"trust": Trust.SYSTEM},
        {},
    ]
    put(index, *(entry("ship", n, **fields) for n, fields in enumerate(changes)))
    index.put("m", {key: b"\x01" * 64 for key, _ in index.lacking("m", 100)})
    assert refs(index, wanted, filters) == expected


def test_an_entry_that_is_put_in_again_is_replaced_where_it_stood(index):
    put(index, entry("one", 0), entry("two", 1), entry("three", 2))
    put(index, entry("new", 1))
    assert refs(index, words("two")) == []
    (key,) = index.find("north", words("new"), ANYTHING, 10)
    around = sorted(index.rows("north", [key], around=1), key=lambda row: row.place)
    assert [row.entry.text for row in around] == ["one", "new", "three"]
    assert index.stats("north", [])[0].entries == 3


def test_what_is_forgotten_is_found_by_no_word_and_no_vector(index):
    put(index, entry("one", 0), entry("two", 1))
    index.put("m", {key: b"\x01" * 64 for key, _ in index.lacking("m", 100)})
    index.find("north", Wanted(vector=b"\x01" * 64), ANYTHING, 10)
    index.forget("north", "main", ["r0"])
    assert refs(index, words("one", "two")) == ["r1"]
    assert refs(index, Wanted(vector=b"\x01" * 64)) == ["r1"]
    assert index.progress("m") == (1, 1)


def test_a_batch_is_put_in_whole_or_not_at_all(index):
    broken = analyse(entry("two", 1))._replace(traits=2**70)
    with pytest.raises((OverflowError, StoreError)):
        index.add("north", [analyse(entry("one", 0)), broken], {"main": Mark(2, 2)})
    assert index.stats("north", ["one"], "main") == (index.stats("north", [])[0], Mark())


def test_how_far_a_log_was_read_is_kept_with_what_was_read(index):
    index.add("north", [analyse(entry("one"))], {"main": Mark(7, 5), "other": Mark(1, 0)})
    assert [index.stats("north", [], name)[1] for name in ("main", "other", "none")] == [
        Mark(7, 5),
        Mark(1, 0),
        Mark(),
    ]


def test_what_is_called_so_is_found_in_the_sessions_asked_for_in_the_order_it_came(index):
    put(index, entry("a", 1, start=9), entry("b", 1), entry("c", 1, session="other"), entry("d", 2))
    called = Wanted(refs=("r1",))
    keys = index.find("north", called, Filters(sessions=("main",)), 10)
    assert [row.entry.text for row in sorted(index.rows("north", keys), key=lambda row: row.key)] == [
        "a",
        "b",
    ]
    assert index.find("north", called, Filters(sessions=("nowhere",)), 10) == []
    assert index.find("south", called, Filters(sessions=("main",)), 10) == []


def test_with_a_digest_go_its_lines_and_nothing_that_is_merely_called_alike(index):
    line = {"kind": EntryKind.DIGEST}
    names = ["d1.1", "d1.20", "d1", "d10.1", "d2.1"]
    put(index, *(entry("ship", n, ref=name, **line) for n, name in enumerate(names)))
    put(index, entry("ship", 8, ref="d1.md", kind=EntryKind.DOCUMENT))
    index.forget("north", "main", ["d1"])
    assert sorted(refs(index, words("ship"))) == ["d1.md", "d10.1", "d2.1"]


def test_an_entry_that_becomes_another_kind_takes_a_place_among_its_like(index):
    put(index, entry("one", 0), entry("two", 1, kind=EntryKind.ARTIFACT))
    put(index, entry("two", 0, kind=EntryKind.ARTIFACT))
    assert refs(index, words("two")) == ["r0", "r1"]


def test_near_vectors_are_found_as_they_come_in(index):
    plus, minus = b"\x7f" * 128, b"\x81" * 128
    put(index, entry("one", 0), entry("two", 1))
    index.put("m", dict(zip([key for key, _ in index.lacking("m", 9)], [plus, minus], strict=True)))
    assert refs(index, Wanted(vector=minus)) == ["r1", "r0"]
    put(index, entry("three", 2))
    index.put("m", {key: b"\x81" * 127 + b"\x7f" for key, _ in index.lacking("m", 9)})
    assert refs(index, Wanted(vector=minus)) == ["r1", "r2", "r0"]


def test_what_lacks_a_vector_is_told_whatever_workspace_it_came_into_and_whatever_model_came_between(path):
    index = SqliteIndex(path, model="m")
    put(index, entry("one"), workspace="north")
    put(index, entry("two"), workspace="south")

    def embed(model):
        found = index.lacking(model, 9)
        index.put(model, {key: b"\x01" * 64 for key, _ in found})
        return [text for _, text in found]

    assert [embed("m"), embed("m")] == [["one", "two"], []]
    put(index, entry("three", 1), workspace="north")
    assert [embed("m"), embed("m")] == [["three"], []]
    assert [sorted(embed("other")), embed("other")] == [["one", "three", "two"], []]
    assert sorted(embed("m")) == ["one", "three", "two"]
    index.close()


def test_the_index_lies_in_the_file_of_the_log_and_the_audit_is_content(path):
    with SqliteStore(path), SqliteIndex(path) as index:
        put(index, entry("one"))
    assert audit(path).flaws == ()
