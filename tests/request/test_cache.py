"""Where marks stand, and why a cache missed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from clew.message import Item, Message, Origin, Role, Text, Thinking, Usage, text_message
from clew.providers.formats import WIRES as FORMATS
from clew.request import Marks, Parts, assemble
from clew.request.assembled import add_cache_marks, in_blocks
from clew.request.prompt_cache import CacheConditions, Call, Miss, cause_of_miss, layout_of
from tests.conftest import tries
from tests.request.scene import COUNTER, FENCE, TOOLS, items, passing, request_points, standing
from tests.session.sessions import sessions
from tests.session.talk import answer, call

MARK = {"type": "ephemeral"}
ALWAYS = Marks(minimum_tokens=0)


def asked(view, turn=0, marks=ALWAYS, **fields):
    pieces = [*standing(), *passing(turn)]
    return assemble(Parts(view=view, pieces=pieces, tools=TOOLS, fence=FENCE), COUNTER).body(
        "anthropic", {"model": "m", "max_tokens": 10, **fields}, marks
    )


def digest(name):
    text = f'<clew-digest id="{name}" level="0" covers="m1" author="clew">\nx\n</clew-digest>'
    return Item(name, Message(Role.USER, (Text(text),), Origin.SUMMARY))


def marks_of(body):
    """Return the places of all marks: -1 for the system prompt."""
    spots = [(-1, i) for i, block in enumerate(body["system"]) if "cache_control" in block]
    for m, message in enumerate(body["messages"]):
        spots += [(m, i) for i, block in enumerate(message["content"]) if "cache_control" in block]
    return spots


TALK = [
    digest("d1"),
    *items(
        [text_message(Role.USER, "a"), call(1, "look", what="x"), answer(1, "y"), call(2, "look", what="z")]
    ),
    *[Item("m5", answer(2, "w"))],
]


def test_marks_stand_behind_prompt_digest_last_request_and_what_is_sent_again():
    body = asked(TALK)
    assert marks_of(body) == [(-1, 2), (0, 0), (2, 0), (4, 0)]
    assert body["messages"][4]["content"][-1]["text"].startswith("<clew-context>")


def test_the_mark_of_one_request_is_a_mark_of_the_next_however_long_the_turn():
    before = marks_of(asked(TALK))
    many = [answer(n, "y") for n in range(10, 40)]
    calls = Message(Role.ASSISTANT, tuple(call(n, "look", what="x").parts[0] for n in range(10, 40)))
    after = marks_of(asked([*TALK, *items([calls, *many])]))
    assert before[-1] in after
    assert after[-1] == (6, 29)


@given(messages=sessions(least=1, most=3))
@settings(max_examples=tries(20, 30))
def test_there_are_four_marks_at_the_most_and_never_one_in_the_volatile_end(messages):
    for turn, shown in enumerate(request_points(messages)):
        body = asked(items(shown), turn)
        spots = marks_of(body)
        assert 0 < len(spots) <= 4
        assert "cache_control" not in body["messages"][-1]["content"][-1]
        assert not FORMATS["anthropic"].check(body).refused


def test_what_is_shorter_than_the_provider_s_minimum_is_not_marked():
    assert marks_of(asked(TALK, marks=Marks(minimum_tokens=100_000))) == []
    assert marks_of(asked(TALK, marks=Marks(minimum_tokens=None))) == []


def test_thinking_is_never_marked_and_a_mark_can_live_an_hour():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [thought]}]}
    done = add_cache_marks(body, Marks(minimum_tokens=0, life="1h"))
    assert done["messages"][1]["content"] == [thought]
    assert done["messages"][0]["content"][0]["cache_control"] == {**MARK, "ttl": "1h"}
    assert isinstance(FORMATS["anthropic"].parse_item(body["messages"][1]).parts[0], Thinking)


def test_an_empty_system_prompt_becomes_no_block():
    body = {"system": "", "messages": [{"role": "user", "content": "a"}]}
    assert add_cache_marks(body, Marks(minimum_tokens=0))["system"] == ""
    assert not FORMATS["anthropic"].check(in_blocks({**body, "model": "m", "max_tokens": 1})).refused


def test_the_last_of_several_digests_in_one_message_is_marked():
    blocks = [{"type": "text", "text": text} for text in ("<clew-digest 1>", "<clew-digest 2>", "a", "b")]
    talk = [{"role": "user", "content": blocks}, {"role": "user", "content": "c"}]
    done = add_cache_marks({"system": "s", "messages": talk}, Marks(minimum_tokens=0))
    assert marks_of(done) == [(-1, 0), (0, 1), (1, 0)]


def test_an_end_that_is_a_message_of_its_own_is_not_marked():
    body = asked([*TALK, Item("m6", text_message(Role.ASSISTANT, "So"))])
    assert marks_of(body)[-1] == (5, 0)


# Why it missed -------------------------------------------------------------------------------------------


def layout(view=TALK, turn=0, **fields):
    return layout_of(asked(view, turn, **fields), "anthropic", end_blocks=1)


LONGER = [*TALK, *items([text_message(Role.ASSISTANT, "b"), text_message(Role.USER, "c")])]
BEFORE = layout()
SHARED = len(TOOLS) + 3  # tools, and the blocks of the system prompt


@pytest.mark.parametrize(
    ("after", "miss", "block"),
    [
        (layout(LONGER, 1), Miss.NONE, None),
        (layout(LONGER, 1, model="other"), Miss.MODEL, 1),
        (layout(LONGER, 1, tool_choice={"type": "none"}), Miss.SETTINGS, None),
        (layout([digest("d2"), *LONGER[1:]], 1), Miss.COMPACTION, SHARED + 1),
        (layout(LONGER[1:], 1), Miss.UNDO, SHARED + 1),
        (layout([*TALK[:1], *items([text_message(Role.USER, "other")])], 1), Miss.PREFIX, SHARED + 2),
    ],
)
def test_the_cause_of_a_miss_is_named_with_its_block(after, miss, block):
    cause = cause_of_miss(BEFORE, after)
    assert (cause.miss, cause.block) == (miss, block)


def test_a_compaction_and_an_undo_are_named_by_their_digest():
    newer = layout([digest("d3"), *TALK[1:]])
    assert cause_of_miss(BEFORE, newer).why == f"the prefix changed at block {SHARED + 1} by compaction d3"
    assert cause_of_miss(newer, BEFORE).why == f"the prefix changed at block {SHARED + 1} by the undo of d3"
    assert cause_of_miss(newer, layout(TALK[1:])).why.endswith("by the undo of d3")


def test_a_change_of_tools_or_prompt_is_told_from_one_of_the_history():
    body = asked(TALK)
    tools = layout_of({**body, "tools": []}, "anthropic", 1)
    prompt = layout_of({**body, "system": body["system"][:2]}, "anthropic", 1)
    assert cause_of_miss(BEFORE, tools).miss is Miss.TOOLS
    assert cause_of_miss(BEFORE, prompt).miss is Miss.SYSTEM
    assert cause_of_miss(prompt, BEFORE).miss is Miss.SYSTEM


def test_a_mark_inside_a_tool_result_is_no_change():
    def result(**mark):
        inner = [{"type": "text", "text": "ok", **mark}, "odd"]
        block = {"type": "tool_result", "tool_use_id": "a", "content": inner}
        return layout_of({"messages": [{"role": "user", "content": [block]}]}, "anthropic")

    assert result().chain == result(cache_control={"type": "ephemeral"}).chain


def test_another_format_is_not_called_another_model():
    cause = cause_of_miss(BEFORE, replace(BEFORE, wire="openai"))
    assert (cause.miss, cause.why) == (Miss.MODEL, "the format changed from anthropic to openai")


def test_age_and_size_are_looked_at_when_nothing_changed():
    after = layout(LONGER, 1)
    old = CacheConditions(seconds_since=301)
    small = CacheConditions(prefix_tokens=800, minimum_tokens=1_024)
    assert cause_of_miss(BEFORE, after, old).miss is Miss.EXPIRED
    assert cause_of_miss(BEFORE, after, small).miss is Miss.BELOW_MINIMUM
    assert cause_of_miss(None, after).miss is Miss.FIRST


def test_a_call_tells_what_its_cache_read_wrote_and_missed():
    life = CacheConditions()
    first = Call.after(None, BEFORE, Usage(5_000, 10, 0, 4_900), life)
    hit = Call.after(first, layout(LONGER, 1), Usage(5_200, 10, 4_900, 200), life)
    lost = Call.after(hit, layout([digest("d2"), *LONGER[1:]], 2), Usage(3_000, 10, 900, 2_000), life)
    silent = Call.after(first, layout(LONGER, 1), Usage(5_200, 10, 0, 0), life)
    assert [(one.missed_tokens, one.cause.miss) for one in (first, hit, lost, silent)] == [
        (0, Miss.FIRST),
        (0, Miss.NONE),
        (4_200, Miss.COMPACTION),
        (4_900, Miss.UNKNOWN),
    ]
    assert lost.to_json()["cache"] == {
        "read": 900,
        "written": 2_000,
        "missed": 4_200,
        "cause": "compaction",
        "why": f"the prefix changed at block {SHARED + 1} by compaction d2",
        "block": SHARED + 1,
    }


@pytest.mark.parametrize("wire", ["openai", "responses", "gemini"])
def test_other_wires_have_layouts_too(wire):
    bodies = [
        assemble(Parts(view=view, pieces=[*standing(), *passing(n)], fence=FENCE), COUNTER).body(wire, {})
        for n, view in enumerate((TALK, LONGER))
    ]
    first, second = (layout_of(body, wire, 1) for body in bodies)
    assert cause_of_miss(first, second).miss is Miss.NONE
    assert cause_of_miss(first, replace(second, model="x")).miss is Miss.MODEL
    assert ("system" in first.places, second.digests) == (True, ("d1",))
