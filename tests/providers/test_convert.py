"""What a conversion does with what the target has no place for."""

import operator
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.message import Media, Message, Role, Text, Thinking, ToolCall, ToolResult, text_message
from clew.providers import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    RESPONSES,
    WIRES,
    CheckScope,
    ConversionLoss,
    ConversionLossKind,
    ConversionOptions,
    convert,
)
from clew.providers.conversion.targets import Namer

PNG = "iVBORw0KGgo="


def asked(*ids, name="f"):
    return Message(Role.ASSISTANT, tuple(ToolCall(i, name, {}) for i in ids))


def answers(*ids, **more):
    return Message(Role.TOOL, tuple(ToolResult(i, (Text(f"ok {i}"),), **more) for i in ids))


def kinds(converted):
    return [loss.kind for loss in converted.losses]


# Where answers stand ----------------------------------------------------------------------------------

BATCH = [asked("a", "b"), answers("b"), answers("a"), text_message(Role.USER, "go on")]


def test_anthropic_gets_all_answers_of_a_batch_first_in_the_next_user_message():
    assert convert(BATCH, ANTHROPIC).items[1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "ok b"},
            {"type": "tool_result", "tool_use_id": "a", "content": "ok a"},
            {"type": "text", "text": "go on"},
        ],
    }


def test_chat_gets_one_tool_message_each_right_after_the_calls():
    assert convert(BATCH, OPENAI).items[1:] == [
        {"role": "tool", "tool_call_id": "b", "content": "ok b"},
        {"role": "tool", "tool_call_id": "a", "content": "ok a"},
        {"role": "user", "content": "go on"},
    ]


def test_responses_gets_one_item_each():
    assert [item.get("type", item.get("role")) for item in convert(BATCH, RESPONSES).items] == [
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
    ]


def test_gemini_gets_all_responses_in_one_content_with_their_names():
    [_, content] = convert(BATCH, GEMINI).items
    assert content["parts"] == [
        {"functionResponse": {"id": "b", "name": "f", "response": {"output": "ok b"}}},
        {"functionResponse": {"id": "a", "name": "f", "response": {"output": "ok a"}}},
        {"text": "go on"},
    ]


def test_items_of_one_reply_become_one_message():
    items = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "look"}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
    ]
    converted = convert(RESPONSES.parse(items), ANTHROPIC)
    assert [[block["type"] for block in item["content"]] for item in converted.items] == [
        ["text", "tool_use", "tool_use"],
        ["tool_result", "tool_result"],
    ]


def test_an_answer_that_came_late_moves_to_its_call_and_the_move_is_told():
    converted = convert([asked("a"), text_message(Role.USER, "wait"), asked("b"), answers("b", "a")], OPENAI)
    assert [item["role"] for item in converted.items] == ["assistant", "tool", "user", "assistant", "tool"]
    assert converted.losses == (
        ConversionLoss(
            3, 1, ConversionLossKind.MOVED, "the result came later and was moved next to its call"
        ),
    )


def test_words_after_a_call_go_before_it_for_anthropic():
    said_last = Message(Role.ASSISTANT, (ToolCall("a", "f", {}), Text("looking")))
    [item, _] = convert([said_last, answers("a")], ANTHROPIC).items
    assert [block["type"] for block in item["content"]] == ["text", "tool_use"]


# What nothing answers ----------------------------------------------------------------------------------


def test_a_dangling_call_is_told_and_answered_with_a_note():
    converted = convert([asked("a")], ANTHROPIC)
    assert converted.items[1]["content"][0]["tool_use_id"] == "a"
    assert converted.losses == (ConversionLoss(0, 0, ConversionLossKind.DANGLING, "this call has no result"),)


def test_without_repair_a_dangling_call_and_an_orphan_stay():
    converted = convert([asked("a"), answers("z")], OPENAI, ConversionOptions(repair=False))
    assert [item["role"] for item in converted.items] == ["assistant", "tool"]
    assert kinds(converted) == [ConversionLossKind.DANGLING, ConversionLossKind.ORPHAN]


def test_repairing_one_call_leaves_all_other_messages_the_same_objects():
    items = [
        {"role": "user", "content": "hi", "x": 1},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}], "y": 2},
        {
            "role": "user",
            "content": [{"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    ]
    converted = convert(ANTHROPIC.parse(items), ANTHROPIC)
    assert all(map(operator.is_, converted.items, items))
    assert (len(converted.items), kinds(converted)) == (5, [ConversionLossKind.DANGLING])


def test_an_orphan_result_becomes_words_of_the_user():
    [item] = convert([answers("z")], ANTHROPIC).items
    assert item == {"role": "user", "content": "[result of a call that is not in this history]\nok z"}


def test_an_answer_of_the_provider_does_not_answer_a_call_of_the_callers():
    provider = Message(Role.ASSISTANT, (ToolResult("a", (Text("x"),), server_side=True),))
    assert ConversionLossKind.DANGLING in kinds(convert([asked("a"), provider], OPENAI))


# Ids and names -------------------------------------------------------------------------------------------


def test_text_nested_deeper_than_the_recursion_limit_is_converted():
    block = {"type": "new_kind", "text": "innermost"}
    for _ in range(5_000):
        block = {"type": "new_kind", "content": [block]}
    (message,) = ANTHROPIC.parse([{"role": "user", "content": [block]}])
    converted = convert([message], OPENAI)
    assert converted.items == [{"role": "user", "content": "innermost"}]


def test_an_id_used_twice_becomes_two_ids_and_each_answer_follows_its_call():
    history = [asked("a"), answers("a"), asked("a"), answers("a")]
    ids = re.findall(r"'(?:id|tool_use_id)': '([^']+)'", str(convert(history, ANTHROPIC).items))
    assert ids[0] == ids[1] == "a"
    assert ids[2] == ids[3] != "a"


@pytest.mark.parametrize(
    ("wire", "longest"),
    [(ANTHROPIC, 64), (OPENAI, 40), (RESPONSES, 64)],
    ids=["anthropic", "openai", "responses"],
)
def test_an_id_that_is_refused_is_replaced_in_call_and_answer(wire, longest):
    wanted = "functions.bash:0/" + "x" * 70
    ids = [
        part.call_id
        for m in wire.parse(convert([asked(wanted), answers(wanted)], wire).items)
        for part in m.parts
    ]
    assert ids[0] == ids[1]
    assert re.fullmatch(r"functions_bash_0_x*_[0-9a-f]{8}", ids[0])
    assert len(ids[0]) <= longest


@given(st.lists(st.text(max_size=6) | st.sampled_from(["a", "a b", "a_b"]), max_size=12))
def test_two_names_never_become_one_and_one_never_two(names):
    namer = Namer(re.compile(r"[a-z_]{1,12}"), 12)
    given_out = {name: namer.name(name) for name in names}
    assert len(set(given_out.values())) == len(given_out)
    assert {name: namer.name(name) for name in names} == given_out


def test_a_name_that_was_made_up_is_not_given_to_its_namesake():
    namer = Namer(re.compile(r"[a-z0-9_]{1,40}"), 40)
    made_up = namer.name("a b")
    assert namer.name(made_up) != made_up


def test_calls_without_ids_go_back_to_gemini_without_ids():
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
    ]
    assert (
        convert(GEMINI.parse([{"role": "user", "parts": [{"text": "hi"}]}, *contents]), GEMINI).items[1:]
        == contents
    )


def test_a_tool_name_that_is_refused_is_replaced_and_told():
    converted = convert([asked("a", name="my tool"), answers("a")], OPENAI)
    name = converted.items[0]["tool_calls"][0]["function"]["name"]
    assert re.fullmatch(r"my_tool_[0-9a-f]{8}", name)
    assert converted.losses == (
        ConversionLoss(0, 0, ConversionLossKind.RENAMED, f"the tool 'my tool' was renamed to {name!r}"),
    )


# Instructions ---------------------------------------------------------------------------------------------

BRIEF = text_message(Role.SYSTEM, "be brief")


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (ANTHROPIC, {"system": "be brief", "messages": [{"role": "user", "content": "hi"}]}),
        (
            OPENAI,
            {"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]},
        ),
        (RESPONSES, {"instructions": "be brief", "input": [{"role": "user", "content": "hi"}]}),
        (
            GEMINI,
            {
                "systemInstruction": {"parts": [{"text": "be brief"}]},
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            },
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_leading_system_prompt_goes_where_the_target_keeps_it(wire, body):
    assert convert([BRIEF, text_message(Role.USER, "hi")], wire).body == body


def test_a_system_prompt_of_several_blocks_keeps_them_in_the_list_of_responses():
    prompt = Message(Role.SYSTEM, (Text("a"), Text("b")))
    converted = convert([prompt, text_message(Role.USER, "hi")], RESPONSES)
    assert converted.system is None
    assert [block["text"] for block in converted.items[0]["content"]] == ["a", "b"]


def test_a_later_system_message_speaks_as_the_user_between_tags():
    converted = convert(
        [text_message(Role.USER, "hi"), text_message(Role.ASSISTANT, "hello"), BRIEF], ANTHROPIC
    )
    assert converted.items[2] == {"role": "user", "content": "<system>\nbe brief\n</system>"}
    assert kinds(converted) == [ConversionLossKind.ROLE]


def test_a_system_message_in_anthropics_own_list_stays_there():
    items = [
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "ok"},
    ]
    assert convert(ANTHROPIC.parse(items), ANTHROPIC).items == items


def test_a_developer_speaks_as_the_system_and_it_is_told():
    converted = convert([text_message(Role.DEVELOPER, "be brief"), text_message(Role.USER, "hi")], ANTHROPIC)
    assert (converted.system, kinds(converted)) == ("be brief", [ConversionLossKind.ROLE])


# What only its provider takes back ------------------------------------------------------------------------

THOUGHT = ANTHROPIC.parse_item(
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "hi"}],
    }
)


def test_signed_thinking_goes_back_to_its_provider_and_nowhere_else():
    assert convert([THOUGHT], ANTHROPIC).items == [THOUGHT.native.value]
    converted = convert([THOUGHT], OPENAI)
    assert converted.items == [{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}]
    assert kinds(converted) == [ConversionLossKind.THINKING]


def test_thinking_is_carried_as_words_on_request():
    [item] = convert([THOUGHT], OPENAI, ConversionOptions(thinking_as_text=True)).items
    assert item["content"][0]["text"] == "<thinking>\nhm\n</thinking>"


def test_a_message_of_nothing_but_foreign_thinking_is_left_out():
    converted = convert(
        [text_message(Role.USER, "hi"), Message(Role.ASSISTANT, (Thinking("hm", "s"),))], GEMINI
    )
    assert converted.items == [{"role": "user", "parts": [{"text": "hi"}]}]


@pytest.mark.parametrize(
    ("item", "words", "kind"),
    [
        (
            {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": "{}"},
            "[asks for approval to run f: {}]",
            ConversionLossKind.APPROVAL,
        ),
        (
            {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
            '[web_search: {"query": "q"}]',
            ConversionLossKind.SERVER_TOOL,
        ),
    ],
)
def test_what_another_provider_ran_or_asked_is_told_in_words(item, words, kind):
    converted = convert([RESPONSES.parse_item(item)], ANTHROPIC)
    assert converted.items == [{"role": "assistant", "content": words}]
    assert kind in kinds(converted)


def test_a_readable_compaction_is_carried_as_its_summary_and_a_sealed_one_is_told():
    readable = ANTHROPIC.parse_item(
        {"role": "assistant", "content": [{"type": "compaction", "content": "so far"}]}
    )
    sealed = RESPONSES.parse_item({"type": "compaction", "encrypted_content": "e"})
    converted = convert([readable, sealed], OPENAI)
    assert converted.items == [{"role": "assistant", "content": "[summary of what came before]\nso far"}]
    assert kinds(converted) == [ConversionLossKind.COMPACTION, ConversionLossKind.COMPACTION]


def test_an_unknown_block_is_carried_as_its_words():
    source = {"type": "text", "media_type": "text/plain", "data": "the text"}
    item = {"role": "user", "content": [{"type": "document", "source": source}, {"type": "novel"}]}
    converted = convert([ANTHROPIC.parse_item(item)], OPENAI)
    assert converted.items == [{"role": "user", "content": "the text"}]
    assert kinds(converted) == [ConversionLossKind.UNKNOWN, ConversionLossKind.UNKNOWN]


def test_fields_without_a_place_are_told():
    block = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}, "citations": []}
    converted = convert([ANTHROPIC.parse_item({"role": "user", "content": [block]})], OPENAI)
    assert converted.losses == (
        ConversionLoss(0, 0, ConversionLossKind.FIELDS, "no place for cache_control"),
    )


def test_a_field_whose_value_is_zero_is_told():
    item = {"role": "user", "content": [{"type": "text", "text": "hi", "rank": 0, "off": False}]}
    converted = convert([ANTHROPIC.parse_item(item)], OPENAI)
    assert converted.losses == (ConversionLoss(0, 0, ConversionLossKind.FIELDS, "no place for rank"),)


def test_fields_inside_what_a_block_is_made_of_are_told():
    image = {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}}
    converted = convert([OPENAI.parse_item({"role": "user", "content": [image]})], ANTHROPIC)
    assert converted.losses == (
        ConversionLoss(0, 0, ConversionLossKind.FIELDS, "no place for image_url.detail"),
    )


def test_fields_of_what_stands_in_a_result_are_told():
    inner = {"type": "text", "text": "r", "cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [inner]}
    items = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [result]},
    ]
    converted = convert([ANTHROPIC.parse_item(item) for item in items], OPENAI)
    assert converted.losses == (
        ConversionLoss(1, 0, ConversionLossKind.FIELDS, "no place for cache_control"),
    )


def test_an_image_of_an_orphan_result_in_the_assistants_mouth_is_a_note():
    picture = Media("image", "image/png", data=PNG)
    parts = (ToolResult("a", (picture,)), ToolCall("b", "f", {}))
    converted = convert(
        [text_message(Role.USER, "q"), Message(Role.ASSISTANT, parts), answers("b")], RESPONSES
    )
    assert not RESPONSES.check(converted.body, scope=CheckScope.MESSAGES).refused
    assert ConversionLossKind.MEDIA in kinds(converted)


def test_thousands_of_empty_messages_are_converted_in_linear_time():
    empty = [Message(Role.ASSISTANT if n % 2 else Role.USER, ()) for n in range(20_000)]
    started = time.process_time()
    assert convert(empty, ANTHROPIC).items == []
    assert time.process_time() - started < 5


def test_the_name_of_a_speaker_is_told():
    converted = convert([OPENAI.parse_item({"role": "user", "name": "ann", "content": "hi"})], ANTHROPIC)
    assert converted.losses == (ConversionLoss(0, None, ConversionLossKind.FIELDS, "no place for name"),)


def test_the_transcript_stands_for_what_an_assistant_spoke():
    spoken = {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "hello"}}
    assert convert([OPENAI.parse_item(spoken)], ANTHROPIC).items == [
        {"role": "assistant", "content": "hello"}
    ]


# Failures, arguments, blanks ----------------------------------------------------------------------


@pytest.mark.parametrize("abroad", [OPENAI, RESPONSES], ids=["openai", "responses"])
@pytest.mark.parametrize("parts", [(), (Text("no such file"),), (Media("image", "image/png", PNG),)], ids=len)
def test_a_failure_is_said_in_words_and_is_a_flag_again_at_home(abroad, parts):
    failed = [
        asked("a"),
        Message(Role.TOOL, (ToolResult("a", parts, True),)),
    ]
    there = convert(failed, abroad)
    assert "[tool error]" in str(there.items[1])
    assert ConversionLossKind.ERROR_FLAG in kinds(there)
    [_, home] = convert(abroad.parse(there.items), ANTHROPIC).items
    assert home["content"][0]["is_error"] is True
    assert "[tool error]" not in str(home)


def test_gemini_says_a_failure_as_an_error():
    [_, content] = convert([asked("a"), answers("a", is_error=True)], GEMINI).items
    assert content["parts"][0]["functionResponse"]["response"] == {"error": "ok a"}


def test_a_tool_of_plain_text_stays_one_between_openais_formats():
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "free text"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
    ]
    chat = convert(RESPONSES.parse(items), OPENAI)
    [call] = chat.items[0]["tool_calls"]
    assert call == {"type": "custom", "custom": {"name": "f", "input": "free text"}, "id": "c"}
    assert convert(OPENAI.parse(chat.items), RESPONSES).items == items


def test_an_empty_list_of_parts_becomes_empty_text_for_chat():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    items = [
        {"role": "assistant", "content": [], "tool_calls": [call], "x": 1},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    assert convert(OPENAI.parse(items), OPENAI).items == [{**items[0], "content": ""}, items[1]]


def test_arguments_that_are_no_object_go_whole_under_input():
    broken = Message(Role.ASSISTANT, (ToolCall("a", "f", '{"x": '),))
    converted = convert([broken, answers("a")], ANTHROPIC)
    assert converted.items[0]["content"][0]["input"] == {"input": '{"x": '}
    assert kinds(converted) == [ConversionLossKind.ARGUMENTS]


def test_blank_words_and_a_trailing_space_are_left_out_for_anthropic():
    history = [Message(Role.USER, (Text("hi"), Text(" "), Text(""))), text_message(Role.ASSISTANT, "so ")]
    converted = convert(history, ANTHROPIC)
    assert converted.items == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "so"}]
    assert kinds(converted) == [ConversionLossKind.BLANK, ConversionLossKind.BLANK]


def test_neighbours_of_one_speaker_become_one_message_where_the_target_wants_it():
    history = [text_message(Role.USER, "a"), text_message(Role.USER, "b")]
    assert len(convert(history, ANTHROPIC).items) == len(convert(history, GEMINI).items) == 1
    assert len(convert(history, OPENAI).items) == len(convert(history, RESPONSES).items) == 2


# Media -----------------------------------------------------------------------------------------------------

IMAGE = Media("image", "image/png", PNG)
SHOWN = [
    asked("a"),
    Message(Role.TOOL, (ToolResult("a", (Text("see"), IMAGE)),)),
    text_message(Role.ASSISTANT, "nice"),
]


def test_an_image_in_a_result_stays_inside_where_it_can():
    [_, user, _] = convert(SHOWN, ANTHROPIC).items
    assert [block["type"] for block in user["content"][0]["content"]] == ["text", "image"]
    assert [block["type"] for block in convert(SHOWN, RESPONSES).items[1]["output"]] == [
        "input_text",
        "input_image",
    ]


def test_an_image_in_a_result_moves_to_a_user_message_for_chat():
    converted = convert(SHOWN, OPENAI)
    assert [item["role"] for item in converted.items] == ["assistant", "tool", "user", "assistant"]
    assert converted.items[2]["content"] == [
        {"type": "text", "text": "[from the result of a]"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]
    assert kinds(converted) == [ConversionLossKind.MOVED]


def test_an_image_in_a_result_stands_beside_it_for_gemini():
    [_, user, _] = convert(SHOWN, GEMINI).items
    assert [next(iter(part)) for part in user["parts"]] == ["functionResponse", "text", "inlineData"]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    "media",
    [
        Media("audio", "audio/flac", "aGk="),
        Media("document", file_id="file-1"),
        Media("video", url="https://example.org/a.mp4"),
    ],
    ids=lambda media: media.kind,
)
def test_media_that_a_target_does_not_take_leave_a_note(name, media):
    converted = convert([Message(Role.USER, (media,))], WIRES[name])
    [message] = WIRES[name].parse(converted.items)
    if ConversionLossKind.MEDIA in kinds(converted):
        assert message.parts[0].text.startswith(f"[{media.media_type or media.kind}: ")
    else:
        assert (message.parts[0].data, message.parts[0].url) == (media.data, media.url)


def test_the_type_of_an_image_is_known_by_its_first_bytes():
    [item] = convert([Message(Role.USER, (Media("image", data=PNG),))], ANTHROPIC).items
    assert item["content"][0]["source"]["media_type"] == "image/png"


def test_a_loss_reads_as_one_line():
    assert (
        str(ConversionLoss(3, 1, ConversionLossKind.THINKING, "why")) == "messages[3] part 1: thinking: why"
    )
    assert str(ConversionLoss(3, None, ConversionLossKind.FIELDS, "why")) == "messages[3]: fields: why"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "image_generation_call", "id": "i", "result": "AAAA", "revised_prompt": "a cat"},
        {"type": "file_search_call", "id": "i", "queries": ["a"], "results": [{"type": "text", "text": "b"}]},
        {"type": "code_interpreter_call", "id": "i", "code": "1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "shell_call_output", "call_id": "i", "output": [{"stdout": "a", "stderr": "b"}]},
    ],
    ids=lambda item: item["type"],
)
def test_no_field_that_a_part_represents_is_reported_as_lost(item):
    assert ConversionLossKind.FIELDS not in kinds(convert([RESPONSES.parse_item(item)], ANTHROPIC))
