"""Cut points never split an atom, whatever models and harnesses do to a history."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Message,
    Origin,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    atoms,
    cut_points,
    pair,
    text_message,
    turns,
)
from clew.message.atoms import Place
from tests.conftest import tries

CASES = tries(300, 10_000)


def user(text: str = "go") -> Message:
    return text_message(Role.USER, text)


def calls(*ids: str, thinking: str | None = None) -> Message:
    thought = (Thinking("hm", thinking),) if thinking else ()
    return Message(Role.ASSISTANT, (*thought, *(ToolCall(i, "read", {}) for i in ids)))


def results(*ids: str) -> Message:
    return Message(Role.TOOL, tuple(ToolResult(i, (Text("ok"),)) for i in ids))


def answer(text: str = "done") -> Message:
    return text_message(Role.ASSISTANT, text)


def test_plain_talk_may_be_cut_anywhere():
    assert cut_points([user(), answer(), user(), answer()]) == [0, 1, 2, 3, 4]


def test_an_empty_history_has_one_cut_point():
    assert cut_points([]) == [0]
    assert atoms([]) == []


def test_a_call_keeps_all_its_parallel_results_in_one_message_or_many():
    merged = [user(), calls("a", "b", "c"), results("c", "a", "b"), answer()]
    split = [user(), calls("a", "b", "c"), results("b"), results("a"), results("c"), answer()]
    assert atoms(merged) == [(0, 1), (1, 3), (3, 4)]
    assert atoms(split) == [(0, 1), (1, 5), (5, 6)]


def test_a_message_between_a_call_and_its_result_belongs_to_the_atom():
    assert atoms([calls("a"), user("wait"), results("a"), answer()]) == [(0, 3), (3, 4)]


def test_a_call_that_nothing_answers_stands_alone():
    assert atoms([calls("a"), user("never mind"), answer()]) == [(0, 1), (1, 2), (2, 3)]


def test_an_id_used_twice_pairs_each_result_with_the_nearest_unanswered_call():
    history = [calls("x"), results("x"), calls("x"), results("x")]
    assert pair(history).answers == {Place(1, 0): Place(0, 0), Place(3, 0): Place(2, 0)}
    assert atoms(history) == [(0, 2), (2, 4)]


def test_calls_of_one_message_that_share_an_id_are_answered_in_order():
    history = [calls("x", "x"), results("x", "x")]
    assert pair(history).answers == {Place(1, 0): Place(0, 0), Place(1, 1): Place(0, 1)}


def test_a_result_without_a_call_is_an_orphan():
    assert pair([results("x"), calls("x")]).orphans == [Place(0, 0)]
    assert pair([results("x"), calls("x")]).dangling == [Place(1, 0)]


def test_a_reasoning_item_keeps_its_follower():
    reasoning = Message(Role.ASSISTANT, (Thinking("", "sealed", item_id="rs_1"),))
    assert atoms([user(), reasoning, calls("a"), results("a"), user()]) == [(0, 1), (1, 4), (4, 5)]
    assert atoms([user(), reasoning, answer(), user()]) == [(0, 1), (1, 3), (3, 4)]


def test_a_stored_reasoning_item_known_by_its_id_keeps_its_follower_too():
    stored = Message(Role.ASSISTANT, (Thinking("so", item_id="rs_1"),))
    assert atoms([user(), stored, answer(), user()]) == [(0, 1), (1, 3), (3, 4)]


def test_unsigned_thinking_binds_nothing():
    musing = Message(Role.ASSISTANT, (Thinking("let me see"),))
    assert cut_points([user(), musing, answer()]) == [0, 1, 2, 3]


def test_an_approval_keeps_its_answer():
    asked = Message(Role.ASSISTANT, (ApprovalRequest("p1", "delete", {}),))
    told = Message(Role.USER, (ApprovalAnswer("p1", approved=True),))
    assert atoms([asked, told, answer()]) == [(0, 2), (2, 3)]


def test_a_running_loop_is_not_parted_from_its_signed_thinking():
    running = [user(), calls("a", thinking="sig"), results("a"), calls("b"), results("b")]
    assert atoms(running) == [(0, 1), (1, 5)]


def test_steps_of_a_running_loop_that_open_with_thinking_may_be_parted():
    running = [user(), calls("a", thinking="s1"), results("a"), calls("b", thinking="s2"), results("b")]
    assert atoms(running) == [(0, 1), (1, 3), (3, 5)]


def test_a_loop_that_has_ended_may_be_cut_between_its_steps():
    ended = [user(), calls("a", thinking="sig"), results("a"), calls("b"), results("b"), answer(), user()]
    assert atoms(ended) == [(0, 1), (1, 3), (3, 5), (5, 6), (6, 7)]


def test_an_injected_user_message_does_not_end_a_running_loop():
    reminder = text_message(Role.USER, "reminder", Origin.INJECTED)
    running = [user(), calls("a", thinking="sig"), results("a"), reminder, calls("b"), results("b")]
    assert atoms(running) == [(0, 1), (1, 6)]


def test_turns_start_at_what_a_person_said():
    injected = replace(user(), origin=Origin.INJECTED)
    assert list(turns([user(), answer(), injected, answer(), user()])) == [(0, 4), (4, 5)]


# The law, on generated histories ---------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Histories with fan-outs up to 12 wide, results split, merged, shuffled, late, lost or doubled."""
    ids = st.sampled_from("abcdefgh") if draw(st.booleans()) else st.uuids().map(str)
    history: list[Message] = []
    late: list[str] = []
    for _ in range(draw(st.integers(0, 8))):
        step = draw(st.sampled_from(["user", "answer", "reason", "fan", "fan", "fan", "late", "orphan"]))
        if step == "user":
            history.append(user())
        elif step == "answer":
            history.append(answer())
        elif step == "reason":
            history.append(Message(Role.ASSISTANT, (Thinking("", "sealed"),)))
        elif step == "orphan":
            history.append(results(draw(ids)))
        elif step == "late" and late:
            history.append(results(late.pop()))
        else:
            fan = draw(st.lists(ids, min_size=1, max_size=12))
            history.append(calls(*fan, thinking=draw(st.sampled_from([None, "sig"]))))
            come = draw(st.permutations(fan))[: draw(st.integers(0, len(fan)))]
            late.extend(set(fan) - set(come))
            cuts = sorted(draw(st.sets(st.integers(0, len(come)), max_size=3)) | {0, len(come)})
            history.extend(results(*come[a:b]) for a, b in itertools.pairwise(cuts) if a < b)
    return history


def naive_pairs(history: Sequence[Message]) -> set[tuple[int, int]]:
    """Pair by searching backwards from every result: slow, and plainly what the rule says."""
    taken: set[Place] = set()
    pairs = set()
    for i, message in enumerate(history):
        for part in message.parts:
            if not isinstance(part, ToolResult):
                continue
            for k in range(i, -1, -1):
                free = [
                    Place(k, j)
                    for j, call in enumerate(history[k].parts)
                    if isinstance(call, ToolCall)
                    and call.call_id == part.call_id
                    and Place(k, j) not in taken
                ]
                if free:
                    taken.add(free[0])
                    pairs.add((k, i))
                    break
    return pairs


@settings(max_examples=CASES)
@given(histories())
def test_no_cut_point_parts_a_result_from_its_call(history: list[Message]):
    points = cut_points(history)
    assert points[0] == 0
    assert points[-1] == len(history)
    assert points == sorted(set(points))
    for call, result in naive_pairs(history):
        assert not any(call < point <= result for point in points)


@settings(max_examples=tries(150, 2_000))
@given(histories())
def test_every_boundary_that_parts_nothing_is_a_cut_point(history: list[Message]):
    """Cuts are not only safe but as many as can be, where no signed thinking is about."""
    plain = [replace(m, parts=tuple(p for p in m.parts if not isinstance(p, Thinking))) for m in history]
    pairs = naive_pairs(plain)
    free = [p for p in range(len(plain) + 1) if not any(call < p <= result for call, result in pairs)]
    assert cut_points(plain) == free


@settings(max_examples=tries(150, 2_000))
@given(histories())
def test_the_pairing_is_what_a_plain_search_would_find(history: list[Message]):
    found = {(call.message, result.message) for result, call in pair(history).answers.items()}
    assert found == naive_pairs(history)


@settings(max_examples=tries(100, 500))
@given(histories())
def test_atoms_cover_every_message_once_and_in_order(history: list[Message]):
    covered = [i for start, stop in atoms(history) for i in range(start, stop)]
    assert covered == list(range(len(history)))


@settings(max_examples=tries(100, 500))
@given(histories())
def test_what_stands_before_a_cut_pairs_as_it_did_in_the_whole(history: list[Message]):
    """A prefix up to a cut point is itself whole: cutting changes no pair inside it."""
    whole = pair(history).answers
    for point in cut_points(history):
        kept = {result: call for result, call in whole.items() if result.message < point}
        assert pair(history[:point]).answers == kept


def test_a_hundred_thousand_messages_are_paired_in_one_pass():
    """Quadratic work would not come back: 50,000 open calls of one id, then their results."""
    n = 50_000
    history = [calls("x") for _ in range(n)] + [results("x") for _ in range(n)]
    assert atoms(history) == [(0, 2 * n)]
