"""A search shows the piece that was looked for, with its place, and nothing that is in view anyway."""

import sqlite3
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.database import migrate, migrations
from clew.memory import Memory, Query, analyse, passages, search
from clew.memory.index import Entry
from clew.memory.index.matching import distance
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.indexing import LARGE, LARGE_PIECE, OVERLAP, PIECE
from clew.memory.question import understand
from clew.memory.scope import InView
from clew.memory.search import MatchInfo, SearchHit
from clew.memory.selection import is_echo
from clew.memory.terms import Trait, joined_terms, name_terms
from clew.message import Role, Trust, text_message
from clew.session import Session
from tests.memory.said import AT, together, turn

LOG = "\n".join(f"step {n}: the glaze of batch {n} was even and dry" for n in range(400))


@pytest.fixture
def index(place):
    return place.index()


def found(index, text, **fields):
    return [hit.entry for hit in search(index, "north", Query(text=text, at=AT, **fields))]


@given(st.text(alphabet="ab.,\n \\n{}", max_size=6_000))
def test_pieces_overlap_add_up_and_are_never_too_long(text):
    pieces = list(passages(turn(text)))
    assert together(pieces) == text
    assert all(len(piece.text) <= PIECE for piece in pieces)
    ends = [piece.start + len(piece.text) for piece in pieces]
    assert all(end - after.start <= OVERLAP for end, after in zip(ends, pieces[1:], strict=False))


def test_a_huge_text_has_larger_pieces():
    pieces = list(passages(turn("word " * (LARGE // 5 + 1_000))))
    assert PIECE < max(len(piece.text) for piece in pieces) <= LARGE_PIECE


def test_the_piece_that_matches_is_the_hit_with_its_place(index):
    text = LOG.replace("batch 250", "batch 250 (serial kiln-77-Q)")
    index.add("north", [analyse(piece) for piece in passages(turn(text))])
    first = found(index, "serial of batch 250")[0]
    assert "kiln-77-Q" in first.text
    assert text[first.start : first.start + len(first.text)] == first.text


def test_pieces_that_adjoin_are_one_hit(index):
    text = "alpha beta " * 60 + "\n" + "alpha beta gamma " * 40
    index.add("north", [analyse(piece) for piece in passages(turn(text))])
    (hit,) = found(index, "alpha beta gamma")
    assert hit.text == text


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("alphaSession", "alpha session"),
        ("alpha_session", "alphaSession"),
        ("HTTPServerError", "http server error"),
        ("max-retry-count", "maxRetryCount"),
        ("isUserValid", "is user valid"),
        ("src/billing/rateTable.py", "billing rate table"),
        ("config.retry_limit", "retry limit"),
    ],
)
def test_a_name_is_found_by_its_parts_and_in_any_spelling(index, written, asked):
    noise = [turn(f"note {n}: nothing else was said about it", n) for n in range(1, 9)]
    index.add("north", [analyse(one) for one in (*noise, turn(f"It is set in {written} today.", 9))])
    assert found(index, asked)[0].ref == "m9"


@pytest.mark.parametrize("asked", ["alpahSession", "alphaSesion", "where is alphaSessoin", "retyr_count"])
def test_a_slip_of_the_keyboard_in_a_name_is_forgiven(index, asked):
    talk = (turn("alphaSession and retry_count are set here", 1), turn("it is all set", 2))
    index.add("north", [analyse(one) for one in talk])
    assert found(index, asked)[0].ref == "m1"


def test_a_word_that_is_there_is_not_corrected(index):
    index.add("north", [analyse(turn("the planet", 1)), analyse(turn("the planer", 2))])
    assert found(index, "planer")[0].ref == "m2"


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_the_distance_is_symmetric_and_zero_for_the_same(one, other):
    assert distance(one, other, 9) == distance(other, one, 9)
    assert (distance(one, other, 9) == 0) == (one == other)
    assert distance(one, other, 1) == min(2, distance(one, other, 9))


def test_a_name_brings_its_parts_and_the_whole():
    assert name_terms("an alphaSession, MAX_rows") == [
        "alpha",
        "session",
        "alphasession",
        "max",
        "row",
        "maxrows",
    ]
    assert joined_terms(["a", "b", "c"]) == ["ab", "bc", "abc"]


@pytest.mark.parametrize("repeated", ["x", "X", "1", "xX", "x_", "x-", "@", "+", "@x", "_", "x/", "x."])
def test_long_runs_without_spaces_are_read_in_linear_time(repeated):
    text = repeated * (40_000 // len(repeated))
    begin = time.process_time()
    name_terms(text)
    understand(text, date(2026, 1, 1))
    assert time.process_time() - begin < 2  # quadratic patterns took more than ten seconds


@pytest.mark.parametrize("repeated", [" ", "\t\n", "?", ") ", "*", "]", "[image:", '"', "中", "1-1-", "May "])
def test_long_runs_of_marks_and_spaces_are_indexed_in_linear_time(repeated):
    text = f"x {repeated * (8_000 // len(repeated))}x"
    entry = Entry(ref="m1", session="s", time=AT, role="user", trust=Trust.USER, text=text)
    begin = time.process_time()
    analyse(entry)
    is_echo(frozenset(), SearchHit(entry, 1, 1.0, MatchInfo()))
    assert time.process_time() - begin < 0.5  # 8,000 spaces took minutes


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Is it late?", True),
        ('"Is it late?" [image: a clock?] ', True),
        ("*(Is it late?)*\n", True),
        ("Is it late? Yes.", False),
        ("[image: late?]", False),
        ("Late [image: a] )?", True),
        ("", False),
    ],
)
def test_what_follows_a_question_does_not_hide_it(text, asks):
    entry = Entry(ref="m1", session="s", time=AT, role="user", trust=Trust.USER, text=text)
    assert bool(analyse(entry).traits & Trait.ASKS) is asks


# What is in view -------------------------------------------------------------------------------------


def compacted(store):
    session = Session.open("main", store, workspace="north", window=8_000)
    session.add(text_message(Role.USER, "The port of the kiln is 8443."))
    session.add(
        *(text_message(Role.ASSISTANT, f"Step {n} of the kiln. " + "It went well. " * 60) for n in range(30))
    )
    session.add(text_message(Role.USER, "The kiln in Bergen closes at noon."))
    session.compact(target_tokens=1_500)
    return session


def test_a_search_leaves_out_what_the_view_shows_and_lists_it(tmp_path):
    path = tmp_path / "clew.db"
    with SqliteStore(path) as store, SqliteIndex(path) as index:
        session = compacted(store)
        memory = Memory(store, session.ctx, index, numbered=session)
        in_view = {item.id: item.message.text for item in session.view()}
        hits, seen = memory.find("the kiln in Bergen", in_view=InView("main", session.view()))
        assert hits
        assert not [hit for hit in hits if hit.entry.text in in_view.get(hit.entry.ref, "")]
        assert seen[0].ref == "m32"
        answer = memory.toolbox(session).run("recall_search", {"query": "the kiln in Bergen"}).text
        assert answer.startswith("In view already, not repeated here: ")


def test_what_is_only_in_view_is_shown_all_the_same(tmp_path):
    path = tmp_path / "clew.db"
    with SqliteStore(path) as store, SqliteIndex(path) as index:
        session = Session.open("main", store, workspace="north")
        session.add(text_message(Role.USER, "The port of the kiln is 8443."))
        memory = Memory(store, session.ctx, index, numbered=session)
        answer = memory.toolbox(session).run("recall_search", {"query": "port of the kiln"}).text
        assert "all in view already" in answer
        assert "8443" in answer


# An index of an earlier clew ---------------------------------------------------------------------------


def test_an_old_index_is_made_again_from_the_log_and_keeps_its_documents(tmp_path):
    path = tmp_path / "clew.db"
    old = sqlite3.connect(path, isolation_level=None)
    migrate(old, [one for one in migrations() if one.version <= 4])
    old.execute("INSERT INTO index_workspace (key, name, entries, words) VALUES (1, 'north', 2, 9)")
    old.execute("INSERT INTO index_session (key, workspace, id, upto, messages) VALUES (1, 1, 'main', 7, 7)")
    old.execute("INSERT INTO index_session (key, workspace, id, upto, messages) VALUES (2, 1, 'docs', 3, 1)")
    entry = (
        "INSERT INTO entry VALUES (?, ?, ?, 0, ?, 0, '2026-01-01T00:00:00Z', 'user', '', 3, '[]', 1, "
        "'[]', 4, 0, '', ?, 'tt', ?)"
    )
    there = ((16, 1, "turn", "m1", "an old passage"), (32, 2, "document", "a.md", "kiln"))
    for number, session, kind, ref, text in there:
        key = (1 << 40) + number
        old.execute(entry, (key, session, kind, ref, text, text))
        old.execute("INSERT INTO entry_text (rowid, terms, scope) VALUES (?, ?, 'tt')", (key, text))
    old.close()
    with SqliteStore(path) as store, SqliteIndex(path) as index:
        session = Session.open("main", store, workspace="north")
        session.add(text_message(Role.USER, "The kiln is at 1240 degrees."))
        assert found(index, "passage") == []
        assert [entry.ref for entry in found(index, "kiln")] == ["a.md"]
        stats, mark = index.stats("north", ["kiln"], "docs")
        assert (stats.entries, stats.having["kiln"], mark.seq) == (1, 1, 3)
        memory = Memory(store, Ctx(workspace="north", session="main"), index)
        assert {hit.entry.ref for hit in memory.search("kiln")} == {"m1", "a.md"}
