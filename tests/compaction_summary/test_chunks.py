"""Portions hold all of a span between them, none larger than its room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.propose.summary.transcript import (
    LEAST_ROOM,
    MARK_TOKENS,
    SHORTEST_PIECE,
    Piece,
    Portion,
    portions,
)
from tests.compaction_summary.scene import COUNTER

count = COUNTER.count_text
texts = st.text(max_size=200) | st.integers(0, 4_000).map(lambda n: "some words\n" * n)


def pieces(said: Iterable[str]) -> list[Piece]:
    return [Piece(f"m{i}", f"m{i}", "tool", text) for i, text in enumerate(said)]


def whole(made: Sequence[Portion]) -> list[tuple[str, str]]:
    """Return the messages that portions hold between them, put together again."""
    flat = [piece for portion in made for piece in portion.pieces]
    return [(name, "".join(one.text for one in group)) for name, group in groupby(flat, lambda one: one.name)]


@given(st.lists(texts, max_size=8), st.integers(-5, 5_000))
def test_all_is_read_whatever_the_sizes_of_messages_and_rooms(said: list[str], room: int):
    made = portions(pieces(said), room, count)
    assert whole(made) == [(f"m{i}", text) for i, text in enumerate(said)]
    for portion in made:
        assert portion.tokens == sum(count(one.text) + MARK_TOKENS for one in portion.pieces)
        assert portion.tokens <= max(room, LEAST_ROOM)


@given(st.lists(texts, min_size=1, max_size=8))
def test_halves_hold_what_the_portion_held(said: list[str]):
    (portion,) = portions(pieces(said), 10**9, count)
    halves = portion.halves(count)
    assert bool(halves) == (len(said) > 1 or len(said[0]) >= 2 * SHORTEST_PIECE)
    if halves:
        assert whole(halves) == whole([portion])
        assert [(one.begins, one.ends, one.halvings) for one in halves] == [
            (True, False, 1),
            (False, True, 1),
        ]


def test_messages_are_kept_whole_where_they_can_be():
    made = portions(pieces(["word " * 60] * 5), 250, count)
    assert [[one.name for one in portion.pieces] for portion in made] == [["m0", "m1"], ["m2", "m3"], ["m4"]]
    assert [(one.begins, one.ends) for one in made] == [(True, False), (False, False), (False, True)]


def test_a_message_larger_than_a_portion_is_cut_at_a_line_and_says_so():
    made = portions(pieces(["a line of the log\n" * 60]), 200, count)
    cut = [portion.pieces[0] for portion in made]
    assert [one.mark for one in cut] == [
        "[m0 tool, to be continued]",
        *["[m0 tool, continued, to be continued]"] * (len(cut) - 2),
        "[m0 tool, continued]",
    ]
    assert all(one.text.endswith("log\n") for one in cut)
