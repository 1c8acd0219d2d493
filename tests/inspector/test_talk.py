"""Chat in the page is the terminal's loop: what happens is told in order, asked for, and can be stopped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clew.errors import InputError
from clew.inspector.talk import Talks
from clew.message import JsonObject
from clew.session import Session
from tests.inspector.house import TOUR, Asking, House


def test_a_turn_is_told_from_the_words_to_the_reply_and_is_in_the_log(house: House):
    told = list(Talks(house.shelf).on(TOUR).say("What was the rule about legacy?", auto=False))
    kinds = [one["is"] for one in told]
    assert (kinds[0], kinds[-1]) == ("taken", "said")
    assert "delta" in kinds
    with house.shelf.book(TOUR) as book:
        assert book.places.messages == 126 + sum(one in ("taken", "said") for one in kinds) + kinds.count(
            "done"
        )


def test_two_turns_at_once_are_refused(house: House):
    talk = Talks(house.shelf).on(TOUR)
    talk.patience_seconds = 0
    first = talk.say("one", auto=False)
    next(first)
    with pytest.raises(InputError, match="a turn is under way"):
        talk.say("two", auto=False)
    assert list(first)
    assert list(talk.say("three", auto=False))


def test_a_turn_that_is_stopped_says_so(house: House):
    talk = Talks(house.shelf).on(TOUR)
    turn = talk.say("Tell me about the invoices.", auto=False)
    kinds = [next(turn)["is"], next(turn)["is"]]
    talk.stop()
    kinds += [one["is"] for one in turn]
    assert "stopped" in kinds


def test_commands_of_the_terminal_are_not_for_the_page(house: House):
    with pytest.raises(InputError, match="commands are for the terminal"):
        Talks(house.shelf).on(TOUR).say("/export /tmp/x", auto=False)


def wanted(turn: Iterator[JsonObject]) -> JsonObject:
    return next(one for one in turn if one["is"] == "wanted")


def test_what_a_tool_would_change_is_asked_for_and_each_answer_counts_once(house: House):
    talk = Talks(house.shelf, lambda _session: Asking()).on(TOUR)
    turn = talk.say("Set rules.", auto=False)
    first = wanted(turn)
    talk.answer(first["call_id"], "yes")
    with pytest.raises(InputError, match="this is not asked"):
        talk.answer(first["call_id"], "yes")
    second = wanted(turn)
    with pytest.raises(InputError, match="this is not asked"):
        talk.answer(first["call_id"], "yes")
    talk.answer(second["call_id"], "no")
    assert [one["is_error"] for one in turn if one["is"] == "done"] == [True]


def test_stopping_while_leave_is_asked_for_means_no(house: House):
    talk = Talks(house.shelf, lambda _session: Asking()).on(TOUR)
    turn = talk.say("Set rules.", auto=False)
    wanted(turn)
    talk.stop()
    rest = [one["is"] for one in turn]
    assert "stopped" in rest
    quotes = [pin.quote for pin in Session.open(TOUR, house.store).pins]
    assert "Rule 1." not in quotes


def test_words_that_nobody_listens_to_leave_the_session_free(house: House):
    talk = Talks(house.shelf).on(TOUR)
    talk.say("one", auto=False)
    assert list(talk.say("two", auto=False))[-1]["is"] == "said"
