"""Thoughts are kept as they are, and left out whole where nothing fits with them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pytest

import clew
from clew.compaction.plan import Plan, Rung, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.propose import propose
from clew.compaction.propose.thinking import remove_thinking, without_thinking
from clew.compaction.verify import verify
from clew.message import Item, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Trust, text_message
from clew.providers import RESPONSES, CheckScope
from tests.compaction_propose.sessions import Living, items, situation, spoken, step, tokens_of

THOUGHT = Thinking("Let me weigh this. " * 400, signature="sealed", trust=Trust.ASSISTANT)


def thoughtful(*parts: Part) -> Message:
    return Message(Role.ASSISTANT, (THOUGHT, *parts))


def loop(first: Message) -> list[Item]:
    """Make one request and a running loop of many steps, of which only the first may begin with a thought."""
    asked = text_message(Role.USER, "Port the reports in src/reports.py to the new store.")
    answer = Message(Role.TOOL, (ToolResult("c0", (Text("12 reports"),)),))
    steps = (
        message
        for n in range(1, 30)
        for message in step(f"c{n}", "run", {"cmd": f"make report_{n}"}, f"report_{n} is ported\n" * 20)
    )
    return items([asked, first, answer, *steps])


def shown(plan: Plan, view: Sequence[Item]) -> list[Part]:
    return [part for item in apply(plan, view) for part in item.message.parts]


CALL = ToolCall("c0", "run", {"cmd": "ls src/reports.py"}, trust=Trust.ASSISTANT)


def test_a_view_that_fits_with_its_thoughts_keeps_them():
    view = loop(thoughtful(CALL))
    plan = propose(situation(view, tokens_of(view) - 100))
    assert THOUGHT in shown(plan, view)


def test_a_thought_larger_than_the_room_is_left_out_whole():
    old = [spoken(f"Report {n} reads table_{n} of the old store.") for n in range(60)]
    view = items(
        [text_message(Role.USER, "Port it."), *old, thoughtful(Text("Done.", trust=Trust.ASSISTANT))]
    )
    plan = propose(situation(view, 700))
    assert plan.fits
    assert plan.operations[-1] == Shrink(
        view[-1].id, spoken("Done."), "there is no room for its thinking", Rung.TRUNCATE
    )


def test_without_its_thought_a_running_loop_is_cut_like_any_other_and_checked():
    living = Living([item.message for item in loop(thoughtful(CALL))])
    plan = propose(living.situation(1_000))
    assert plan.fits
    assert THOUGHT not in shown(plan, living.view)
    assert verify(plan, living.evidence(1_000)).accepted


def test_what_a_reasoning_item_led_to_goes_on_without_the_id_that_asks_for_it():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"}
    output = {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "x"}
    view = items(RESPONSES.parse([reasoning, call, output]))
    gone, called = remove_thinking(view, [])
    after = apply(Plan((gone, called), 9, 9, 9, "manual", "asked"), view)
    written = RESPONSES.render([item.message for item in after])
    assert written == [{key: call[key] for key in call if key != "id"}, output]
    assert "id" in call


def test_messages_of_nothing_but_thought_leave_the_view_and_no_notes():
    answered = [
        message for n in range(40) for message in step(f"c{n}", "run", {}, f"report_{n} is ported\n" * 20)
    ]
    thinking = [
        one
        for message in answered
        for one in ([Message(Role.ASSISTANT, (THOUGHT,))] if any(message.calls) else []) + [message]
    ]
    living = Living(
        [text_message(Role.USER, "Port them."), *thinking, spoken("Done."), text_message(Role.USER, "Go on.")]
    )
    plan = propose(living.situation(3_000))
    assert "thinking left out" not in " ".join(item.message.text for item in apply(plan, living.view))
    assert verify(plan, living.evidence(3_000)).accepted


def test_of_a_message_of_nothing_but_thought_before_the_user_nothing_is_left():
    view = items([Message(Role.ASSISTANT, (THOUGHT, THOUGHT)), text_message(Role.USER, "Go on.")])
    [gapped, _] = without_thinking(view)
    assert gapped.message.parts == (Thinking(""), Thinking(""))
    assert [one.message.parts for one in remove_thinking(view, [])] == [()]


SEALED = base64.b64encode(bytes(range(256)) * 400).decode()
THINKING = {"type": "thinking", "thinking": "hm", "signature": SEALED}
REDACTED = {"type": "redacted_thinking", "data": SEALED}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED}
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
ANSWER = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}]}
FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x = 1"}
TOO_LARGE = [
    [{"role": "assistant", "content": [THINKING, USE]}, ANSWER],
    [{"role": "assistant", "content": [THINKING]}],
    [{"role": "assistant", "content": [REDACTED]}, {"role": "user", "content": "Go on."}],
    [REASONING, FUNCTION, OUTPUT],
    [{key: REASONING[key] for key in REASONING if key != "id"}, FUNCTION, OUTPUT],
    [REASONING],
]


@pytest.mark.parametrize("last", TOO_LARGE)
def test_no_thought_is_so_large_that_a_list_cannot_be_compacted(last):
    asked = {"role": "user", "content": "Fix the parser. Never modify files under legacy/."}
    done = clew.compact([asked, *last], 8_000)
    assert done.tokens_after < 1_000 < done.tokens_before
    body = {done.wire.list_key: done.messages}
    assert not done.wire.check(body, scope=CheckScope.MESSAGES).refused


def test_a_gap_holds_the_place_of_a_thought():
    [item] = without_thinking(items([thoughtful(CALL)]))
    assert item.message.parts == (Thinking(""), CALL)


def test_what_is_shown_smaller_anyway_loses_its_thought_too():
    view = items([thoughtful(Text("word " * 99, trust=Trust.ASSISTANT)), text_message(Role.USER, "Go on.")])
    [gapped, _] = without_thinking(view)
    short = Message(Role.ASSISTANT, (gapped.message.parts[0], Text("[kept]", trust=Trust.ASSISTANT)))
    assert remove_thinking(view, [Shrink("m1", short, "large", Rung.TRUNCATE)]) == [
        Shrink("m1", spoken("[kept]"), "large", Rung.TRUNCATE)
    ]


def test_in_a_long_running_loop_the_first_and_the_last_steps_keep_their_thinking():
    messages = [text_message(Role.USER, "Port the reports.")]
    for n in range(40):
        call, result = step(f"c{n}", "run", {"cmd": f"make report_{n}"}, f"report_{n} is ported\n" * 20)
        thought = Thinking(f"Report {n} is next. " * 60, signature=f"s{n}", trust=Trust.ASSISTANT)
        messages += [Message(Role.ASSISTANT, (thought, *call.parts)), result]
    made = clew.compact(messages, window=100_000, target_tokens=6_000)
    steps = [message for message in made.messages if message.role is Role.ASSISTANT]
    thinks = [isinstance(message.parts[0], Thinking) for message in steps]
    assert thinks[0]  # a provider may refuse a running loop that does not begin with thinking
    assert thinks[-1]
    assert 2 < thinks.count(True) < len(thinks) // 2


def test_a_thought_that_takes_most_of_the_room_leaves_before_what_was_said():
    earlier = [
        message
        for n in range(30)
        for message in (
            text_message(Role.USER, f"What does report_{n} read?"),
            spoken(f"Report {n} reads table_{n} of the old store, and table_{n + 1} if it is empty."),
        )
    ]
    thought = Thinking("Lanes end where their last commit is. " * 800, signature="s", trust=Trust.ASSISTANT)
    calling, result = step("c1", "run", {"cmd": "make lanes"}, "3 lanes")
    view = [
        *earlier,
        text_message(Role.USER, "Why does lane 2 end twice?"),
        Message(Role.ASSISTANT, (thought, *calling.parts)),
        result,
    ]
    made = clew.compact(view, window=100_000, target_tokens=7_000)
    left = "\n".join(message.text for message in made.messages)
    assert not any(isinstance(part, Thinking) for message in made.messages for part in message.parts)
    assert all(f"reads table_{n} of" in left for n in range(30))


def test_thinking_of_earlier_turns_leaves_before_recent_messages_are_cut_to_one_size():
    messages = []
    for n in range(8):
        thought = Thinking(f"Report {n} is next. " * 10, signature=f"s{n}", trust=Trust.ASSISTANT)
        said = Text(f"Report {n} reads table_{n}. " * 10, trust=Trust.ASSISTANT)
        messages += [text_message(Role.USER, f"And report {n}?"), Message(Role.ASSISTANT, (thought, said))]
    messages.append(text_message(Role.USER, "Which of them read table_3? " + "It is row 17. " * 200))
    made = clew.compact(messages, window=100_000, target_tokens=700)
    assert any("reads table_7" in message.text for message in made.messages[1:])
    assert not any(isinstance(part, Thinking) for message in made.messages for part in message.parts)
