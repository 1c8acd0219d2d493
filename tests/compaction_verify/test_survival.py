"""Whether a view still says what was said: word for word, in a call's arguments, or by an excerpt."""

from __future__ import annotations

import pytest

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.verify.context import CUT, LEAST_BEGINNING
from clew.compaction.verify.survival import ENOUGH_OF_A_LOOP, _holds_cut, is_visible
from clew.message import Cite, Message, Role, ToolCall, text_message

QUOTE = 'rename "total" to "sum"'
LONG = "".join(f"step {n}, " for n in range(400))


def test_words_are_visible_as_they_were_said_and_inside_the_arguments_of_a_call():
    assert is_visible(text_message(Role.USER, f"Please {QUOTE} now."), Cite("m1", 0), QUOTE)
    call = Message(Role.ASSISTANT, (ToolCall("c1", "todo", {"task": QUOTE}),))
    assert is_visible(call, Cite("m1", 0), QUOTE)


@pytest.mark.parametrize("part", [-1, 1])
def test_words_of_a_part_that_is_not_there_are_not_visible(part: int):
    assert not is_visible(text_message(Role.USER, QUOTE), Cite("m1", part), QUOTE)
    assert not is_visible(None, Cite("m1", 0), QUOTE)


def test_a_long_task_is_held_by_its_beginning():
    loop = LedgerEntry("t1", LONG, Cite("m1"))
    assert _holds_cut(LONG[:LEAST_BEGINNING] + CUT, loop)
    assert not _holds_cut(LONG[: LEAST_BEGINNING - 1] + CUT, loop)
    assert _holds_cut(LONG[:ENOUGH_OF_A_LOOP], loop)
    assert not _holds_cut(LONG[: ENOUGH_OF_A_LOOP - 1], loop)


def test_a_short_task_is_not_held_by_less_than_itself():
    for length in (LEAST_BEGINNING, ENOUGH_OF_A_LOOP):
        loop = LedgerEntry("t1", LONG[:length], Cite("m1"))
        assert not _holds_cut(f"other words{CUT}", loop)
