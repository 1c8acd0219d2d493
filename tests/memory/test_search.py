"""Finding again what was said."""

import pytest

from clew.errors import NotFound
from clew.log import message_event
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.memory import Query, StaticEmbedder, analyse, catch_up, embed_lacking, neighbours, passages, search
from clew.memory.index import EntryKind, Filters
from clew.memory.indexing import PIECE
from clew.memory.question import occurs_in
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew_evals.retrieval.benchmark import ask_all, fill, summary
from clew_evals.retrieval.datasets import datasets
from tests.conftest import real_data
from tests.memory.said import AT, together, turn

CTX = Ctx(workspace="north", session="main")


@pytest.fixture
def index(place):
    return place.index(StaticEmbedder.name)


def found(index, text, embedder=None, **query):
    hits = search(index, "north", Query(text=text, at=AT, **query), embedder)
    return [hit.entry.ref for hit in hits]


def keep(index, *texts, **fields):
    index.add("north", [analyse(turn(text, n, **fields)) for n, text in enumerate(texts)])


def test_other_forms_of_a_word_are_found(index):
    keep(index, "We bought a red bicycle.", "The weather is fine.")
    hit = search(index, "north", Query(text="Did we buy a bike?", at=AT))[0]
    assert (hit.entry.ref, hit.why.terms) == ("m0", ("bui", "bike"))


def test_an_exact_value_comes_first_however_often_its_words_stand_elsewhere(index):
    noise = [f"store sql py store sql py, look at store and sql and py, number {n}" for n in range(30)]
    keep(index, "It failed in src/store/sql.py:12", *noise)
    hit = search(
        index, "north", Query(text="what was wrong in src/store/sql.py:12 with store sql py", at=AT)
    )[0]
    assert (hit.entry.ref, hit.why.exact) == ("m0", ("src/store/sql.py:12",))


def test_a_value_that_stands_alone_comes_before_those_it_is_a_part_of(index):
    keep(index, "E1234 it was", *(f"E1234{n} again and again E1234{n}" for n in range(60)))
    assert found(index, "what about E1234?")[0] == "m0"


def test_a_value_is_found_however_often_its_words_stand_together_later(index):
    keep(index, "look in heat-map.v2", *(f"the heat map v2 number {n}" for n in range(200)))
    assert found(index, "where is heat-map.v2?")[0] == "m0"


def test_a_value_that_ends_in_one_letter_is_found_before_those_it_is_a_part_of(index):
    keep(index, "look in data.c", *(f"look in data.cpp and data c{n}" for n in range(60)))
    assert found(index, "where is data.c?")[0] == "m0"


def test_who_is_named_in_the_question_is_preferred(index):
    index.add(
        "north", [analyse(turn("I like tea a lot", n, speaker=name)) for n, name in enumerate(["Ann", "Bob"])]
    )
    assert found(index, "Does Bob like tea?")[0] == "m1"


def test_a_relative_date_is_counted_from_the_asking_and_from_the_telling(index):
    index.add(
        "north",
        [
            analyse(turn("Yesterday I ran the race.", 0, time="2023-05-26T10:00:00.000Z")),
            analyse(turn("I ran the race, fine.", 1, time="2023-01-02T10:00:00.000Z")),
        ],
    )
    hit = search(index, "north", Query(text="What did I run a week ago?", at=AT))[0]
    assert (hit.entry.ref, hit.why.date) == ("m0", True)


def test_what_says_the_same_again_waits_behind_what_says_something_else(index):
    keep(index, *["the ship sails at noon"] * 5, "a ship came late")
    assert "m5" in found(index, "ship", limit=3)


def test_a_neighbour_outside_the_filters_is_no_hit(index):
    keep(index, "tea?", role="user")
    index.add("north", [analyse(turn("tea and more tea", 1, role="assistant"))])
    assert found(index, "tea", filters=Filters(roles=("assistant",))) == ["m1"]


def test_the_neighbours_of_a_hit_are_given_in_order(index):
    keep(index, "one", "two", "needle", "four", "five")
    hit = search(index, "north", Query(text="needle", at=AT))[0]
    assert [entry.text for entry in neighbours(index, "north", hit, around=1)] == ["two", "needle", "four"]


@pytest.mark.parametrize("text", ["", "?!", '"" AND (', "NEAR(a b)", "the of", "a" * 5_000, "\ud800"])
def test_any_question_is_answered(index, text):
    keep(index, "a word", "another one")
    assert set(found(index, text)) <= {"m0", "m1"}


def test_what_has_no_word_in_common_is_found_by_its_meaning(index):
    texts = ["My physician was on holiday.", "The train left at nine.", "Paint the fence green."]
    keep(index, *texts)
    embedder = StaticEmbedder()
    list(embed_lacking(index, embedder))
    assert found(index, "doctor", embedder)[0] == "m0"
    assert "m0" not in found(index, "doctor")


def test_embedding_goes_on_where_it_was_stopped(index):
    keep(index, *[f"text {n}" for n in range(10)])
    steps = embed_lacking(index, StaticEmbedder(), batch=4)
    assert [next(steps), next(steps)] == [(0, 10), (4, 10)]
    steps.close()
    assert list(embed_lacking(index, StaticEmbedder(), batch=4)) == [(4, 10), (8, 10), (10, 10)]


def test_vectors_of_another_model_are_made_anew(index):
    keep(index, "text")
    index.put("old", {key: b"\x01" for key, _ in index.lacking("old", 10)})
    assert list(embed_lacking(index, StaticEmbedder())) == [(0, 1), (1, 1)]
    assert index.progress("old") == (0, 1)


def test_a_log_is_indexed_as_far_as_it_is_new(index):
    store = MemoryStore()
    call = ToolCall("c1", "read", {"file_path": "web/prices.md"}, trust=Trust.ASSISTANT)
    result = ToolResult("c1", (Text("basic costs 19 EUR"),))
    events = [
        message_event(text_message(Role.USER, "Update the price list.")),
        message_event(Message(Role.ASSISTANT, (call,))),
        message_event(Message(Role.TOOL, (result,))),
    ]
    store.append(CTX, events[:2], None)
    assert catch_up(store, CTX, index) == 2
    store.append(CTX, events[2:], None)
    assert [catch_up(store, CTX, index), catch_up(store, CTX, index)] == [1, 0]
    assert found(index, "what costs 19 EUR?")[0] == "m3"
    assert set(found(index, "prices", filters=Filters(files=("web/prices.md",)))) == {"m2", "m3"}
    assert "m3" not in found(index, "EUR", filters=Filters(trust=Trust.ASSISTANT))


def test_a_long_text_is_several_entries_that_add_up_to_it():
    whole = turn("\n".join(f"line {n} of a long output" for n in range(2_000)), kind=EntryKind.ARTIFACT)
    pieces = list(passages(whole))
    assert together(pieces) == whole.text
    assert [whole.text[p.start : p.start + 20] for p in pieces] == [p.text[:20] for p in pieces]
    assert max(len(piece.text) for piece in pieces) <= PIECE


def test_a_folder_without_benchmarks_is_an_error_that_says_so(tmp_path):
    with pytest.raises(NotFound, match=r"neither locomo10\.json nor longmemeval_oracle\.json"):
        datasets(tmp_path)


@pytest.mark.slow
def test_turns_of_a_conversation_that_was_not_tuned_on_are_found_without_a_model(index):
    pool = next(p for p in datasets(real_data("locomo"))["locomo"] if p.name == "conv-44")
    fill(index, pool)
    figures = summary(list(ask_all(index, pool)))
    assert figures["questions"] == 123
    assert figures["turn_r10"] >= 64


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("E12 it was", True),
        ("E123", False),
        ("nE12", False),
        (r'{"new": "a\nE12"}', True),
        (r'{"new": "a\\nE12"}', False),
        (r'{"new": "a\u0009E12"}', True),
        (r'{"new": "a\x09E12"}', False),
    ],
)
def test_a_value_stands_as_a_word_also_behind_an_escape_of_jsons(text, stands):
    assert occurs_in("E12", text) is stands
