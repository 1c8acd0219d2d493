"""What each format's entries mean: the neutral parts they are read as."""

import pytest

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Media,
    Message,
    Origin,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    pair,
    text_message,
)
from clew.providers import ANTHROPIC, GEMINI, OPENAI, RESPONSES

USER, ASSISTANT, TOOL = Role.USER, Role.ASSISTANT, Role.TOOL


def reply(*parts, origin=Origin.SPOKEN):
    return Message(ASSISTANT, parts, origin)


def words(text, trust=Trust.ASSISTANT):
    return Text(text, trust=trust)


def call(call_id, name, arguments, server_side=False):
    return ToolCall(call_id, name, arguments, server_side, trust=Trust.ASSISTANT)


def thinking(text, signature=None, redacted=False, item_id=None):
    return Thinking(text, signature, redacted, item_id, trust=Trust.ASSISTANT)


def result(call_id, *parts, **more):
    return ToolResult(call_id, parts, **more)


def block(kind, **fields):
    return {"type": kind, **fields}


def said_by(role, *blocks):
    return {"role": role, "content": list(blocks)}


CASES = {
    "anthropic": [
        ({"role": "user", "content": "hi"}, text_message(USER, "hi")),
        ({"role": "user", "content": ""}, Message(USER, ())),
        (
            said_by(
                "assistant",
                block("thinking", thinking="hm", signature="s"),
                block("redacted_thinking", data="d"),
            ),
            reply(thinking("hm", "s"), thinking("", "d", redacted=True)),
        ),
        (
            said_by("assistant", block("tool_use", id="t", name="f", input={"a": 1})),
            reply(call("t", "f", {"a": 1})),
        ),
        (
            said_by("user", block("tool_result", tool_use_id="t", content="no", is_error=True)),
            Message(TOOL, (result("t", Text("no"), is_error=True),)),
        ),
        (
            said_by("user", block("tool_result", tool_use_id="t"), block("text", text="go on")),
            Message(USER, (result("t"), words("go on", Trust.USER))),
        ),
        (
            said_by("assistant", block("compaction", content="so far")),
            reply(Compacted("compaction", "so far")),
        ),
        (
            said_by("user", block("image", source=block("url", url="https://a"))),
            Message(USER, (Media("image", url="https://a", trust=Trust.USER),)),
        ),
        (
            said_by(
                "assistant", block("mcp_tool_result", tool_use_id="t", content=[block("text", text="a")])
            ),
            reply(result("t", Text("a"), server_side=True)),
        ),
        (said_by("user", block("novel")), Message(USER, (Unknown("novel", trust=Trust.USER),))),
    ],
    "openai": [
        ({"role": "developer", "content": "be brief"}, text_message(Role.DEVELOPER, "be brief")),
        ({"role": "assistant", "content": None, "refusal": "No."}, reply(words("No."))),
        (
            {
                "role": "assistant",
                "content": "hi",
                "tool_calls": [block("function", id="c", function={"name": "f", "arguments": "{"})],
            },
            reply(words("hi"), call("c", "f", "{")),
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [block("custom", id="c", custom={"name": "f", "input": "x"})],
            },
            reply(call("c", "f", "x")),
        ),
        (
            {"role": "assistant", "content": "hi", "reasoning_content": "hm"},
            reply(thinking("hm"), words("hi")),
        ),
        (
            {"role": "assistant", "reasoning_details": [{"data": "d"}], "content": None},
            reply(thinking("", "d", redacted=True)),
        ),
        ({"role": "tool", "tool_call_id": "c", "content": "ok"}, Message(TOOL, (result("c", Text("ok")),))),
        (
            said_by("user", block("image_url", image_url={"url": "data:image/png;base64,aGk="})),
            Message(USER, (Media("image", "image/png", "aGk=", trust=Trust.USER),)),
        ),
        (
            said_by("user", block("input_audio", input_audio={"data": "aGk=", "format": "mp3"})),
            Message(USER, (Media("audio", "audio/mpeg", "aGk=", trust=Trust.USER),)),
        ),
        (
            said_by(
                "user", block("file", file={"file_data": "data:application/pdf;base64,aGk=", "filename": "a"})
            ),
            Message(USER, (Media("document", "application/pdf", "aGk=", title="a", trust=Trust.USER),)),
        ),
    ],
    "responses": [
        ("hi", text_message(USER, "hi")),
        ({"role": "user", "content": "hi"}, text_message(USER, "hi")),
        (
            said_by("assistant", block("output_text", text="hi"), block("refusal", refusal="No.")),
            reply(words("hi"), words("No.")),
        ),
        (block("function_call", call_id="c", name="f", arguments="{}"), reply(call("c", "f", "{}"))),
        (block("custom_tool_call", call_id="c", name="f", input="x"), reply(call("c", "f", "x"))),
        (
            block("shell_call", call_id="c", action={"commands": ["ls"]}),
            reply(call("c", "shell", {"commands": ["ls"]})),
        ),
        (
            block("shell_call_output", call_id="c", output=[{"stdout": "a", "stderr": "b"}]),
            Message(TOOL, (result("c", Text("a\nb")),)),
        ),
        (block("function_call_output", call_id="c", output="ok"), Message(TOOL, (result("c", Text("ok")),))),
        (
            block("apply_patch_call_output", call_id="c", status="failed", output="no"),
            Message(TOOL, (result("c", Text("no"), is_error=True),)),
        ),
        (
            block(
                "computer_call_output",
                call_id="c",
                output=block("computer_screenshot", image_url="https://a"),
            ),
            Message(TOOL, (result("c", Media("image", url="https://a")),)),
        ),
        (
            block("reasoning", id="r", summary=[block("summary_text", text="hm")], encrypted_content="e"),
            reply(thinking("hm", "e", item_id="r")),
        ),
        (block("reasoning", id="r", summary=[]), reply(thinking("", redacted=True, item_id="r"))),
        (
            block("compaction", id="c", encrypted_content="e"),
            reply(Compacted("compaction", encrypted="e"), origin=Origin.SUMMARY),
        ),
        (
            block("mcp_approval_request", id="a", name="f", arguments="{}"),
            reply(ApprovalRequest("a", "f", "{}", trust=Trust.ASSISTANT)),
        ),
        (
            block("mcp_approval_response", approval_request_id="a", approve=False, reason="no"),
            Message(TOOL, (ApprovalAnswer("a", False, "no", trust=Trust.USER),)),
        ),
        (
            block("mcp_call", id="m", name="f", arguments="{}", output=None, error="bad"),
            reply(call("m", "f", "{}", True), result("m", is_error=True, name="f", server_side=True)),
        ),
        (
            block("file_search_call", id="s", queries=["a"]),
            reply(
                call("s", "file_search", {"queries": ["a"]}, True),
                result("s", name="file_search", server_side=True),
            ),
        ),
        (block("item_reference", id="i"), reply(Unknown("item_reference"))),
        (block("novel_call", call_id="c", arguments="{}"), reply(call("c", "novel", "{}"))),
    ],
    "gemini": [
        ({"parts": [{"text": "hi"}]}, text_message(USER, "hi")),
        (
            {
                "role": "model",
                "parts": [{"text": "hm", "thought": True, "thoughtSignature": "s"}, {"text": "hi"}],
            },
            reply(thinking("hm", "s"), words("hi")),
        ),
        (
            {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]},
            reply(call("c", "f", {"a": 1})),
        ),
        (
            {
                "role": "user",
                "parts": [{"function_response": {"id": "c", "name": "f", "response": {"error": "no"}}}],
            },
            Message(TOOL, (result("c", Text("no"), is_error=True, name="f"),)),
        ),
        (
            {
                "role": "function",
                "parts": [{"functionResponse": {"name": "f", "response": {"a": 1, "b": "é"}}}],
            },
            Message(TOOL, (result("gemini:f", Text('{"a": 1, "b": "é"}'), name="f"),)),
        ),
        (
            {"role": "user", "parts": [{"file_data": {"file_uri": "gs://a", "mime_type": "video/mp4"}}]},
            Message(USER, (Media("video", "video/mp4", url="gs://a", trust=Trust.USER),)),
        ),
        (
            {
                "role": "model",
                "parts": [
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                ],
            },
            reply(
                call("gemini:code_execution", "code_execution", {"language": "PYTHON", "code": "1"}, True),
                result("gemini:code_execution", Text("1\n"), name="code_execution", server_side=True),
            ),
        ),
    ],
}
WIRE = {"anthropic": ANTHROPIC, "openai": OPENAI, "responses": RESPONSES, "gemini": GEMINI}


@pytest.mark.parametrize(
    ("name", "item", "message"), [(name, *case) for name, cases in CASES.items() for case in cases], ids=str
)
def test_an_entry_is_read_as_what_it_means(name, item, message):
    assert WIRE[name].parse_item(item) == message


def test_calls_without_ids_pair_in_order():
    calls = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"n": n}}} for n in (1, 2)]}
    answers = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "f", "response": {"n": n}}} for n in (1, 2)],
    }
    pairing = pair(GEMINI.parse([calls, answers]))
    assert pairing.answers == {(1, 0): (0, 0), (1, 1): (0, 1)}


def test_a_legacy_function_call_pairs_with_its_answer():
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    pairing = pair(OPENAI.parse([asked, {"role": "function", "name": "f", "content": "ok"}]))
    assert (pairing.answers, pairing.dangling, pairing.orphans) == ({(1, 0): (0, 0)}, [], [])


@pytest.mark.parametrize("parts", ["not a list", 7, {"text": "one part"}])
def test_gemini_parts_of_another_shape_are_carried(parts):
    item = {"role": "user", "parts": parts}
    assert GEMINI.render_items(GEMINI.parse_item(item)) == [item]


@pytest.mark.parametrize("value", [{}, {"role": "system"}, {"parts": []}, [1], "Be brief."])
def test_a_system_field_of_gemini_renders_as_itself(value):
    assert GEMINI.render_system([GEMINI.parse_system(value)]) is value


def test_a_system_field_of_gemini_is_read_if_it_is_a_content():
    assert GEMINI.parse_system({"parts": [{"text": "Be brief."}]}).text == "Be brief."
    assert isinstance(GEMINI.parse_system([1]).parts[0], Unknown)
