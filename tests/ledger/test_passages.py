"""What of a message is looked through."""

from __future__ import annotations

from clew.ledger.values import ERROR_LINES, HEAD, TAIL, WHOLE, MessagePassage, Voice, passages
from clew.message import Message, Origin, Role, Text, Thinking, ToolCall, ToolResult, Trust, text_message
from tests.ledger.sessions import user


def test_each_speaker_has_a_voice():
    mixed = Message(Role.USER, (Text("mine", trust=Trust.USER), Text("its", trust=Trust.SEMI_TRUSTED)))
    thought = Message(Role.ASSISTANT, (Thinking("hm"), Text("so", trust=Trust.ASSISTANT)))
    heard = [
        *passages(mixed),
        *passages(thought),
        *passages(text_message(Role.SYSTEM, "be kind")),
        *passages(user("a reminder", origin=Origin.INJECTED)),
        *passages(Message(Role.TOOL, (ToolResult("1", (Text("out"),)),))),
    ]
    assert [(passage.voice, passage.text) for passage in heard] == [
        (Voice.USER, "mine"),
        (Voice.MACHINE, "its"),
        (Voice.ASSISTANT, "hm"),
        (Voice.ASSISTANT, "so"),
        (Voice.SYSTEM, "be kind"),
        (Voice.MACHINE, "a reminder"),
        (Voice.RESULT, "out"),
    ]


def test_each_string_of_a_calls_arguments_is_read():
    call = ToolCall("1", "Write", {"path": "a.py", "content": "x = 1\ny = 2"})
    assert list(passages(Message(Role.ASSISTANT, (call,)))) == [
        MessagePassage(Voice.CALL, 0, "a.py"),
        MessagePassage(Voice.CALL, 0, "x = 1\ny = 2"),
    ]


def test_a_long_argument_is_a_body():
    call = ToolCall("1", "Write", {"content": "x" * 301})
    assert [passage.voice for passage in passages(Message(Role.ASSISTANT, (call,)))] == [Voice.BODY]


def test_arguments_that_are_no_json_are_read_as_they_are():
    call = ToolCall("1", "apply_patch", "*** Begin Patch")
    assert list(passages(Message(Role.ASSISTANT, (call,)))) == [
        MessagePassage(Voice.CALL, 0, "*** Begin Patch")
    ]


def test_of_a_huge_output_head_tail_and_error_lines_are_read():
    noise = "nothing to see here\n" * 200_000
    text = noise + "E0308 error: mismatched types\n" + noise
    found = list(passages(Message(Role.TOOL, (ToolResult("1", (Text(text),)),))))
    assert len(text) > WHOLE
    assert [len(passage.text) for passage in found] == [HEAD, 29, TAIL]
    assert found[1] == MessagePassage(Voice.RESULT, 0, "E0308 error: mismatched types")


def test_of_many_error_lines_only_some_are_read():
    text = "error: again\n" * 40_000
    assert len(list(passages(Message(Role.TOOL, (ToolResult("1", (Text(text),)),))))) == ERROR_LINES + 2


def test_an_error_in_an_endless_line_is_read_with_its_surroundings():
    text = "x" * 300_000 + " error: bad " + "y" * 300_000
    _, middle, _ = passages(Message(Role.TOOL, (ToolResult("1", (Text(text),)),)))
    assert len(middle.text) == 1000
    assert "error: bad" in middle.text


def test_a_line_break_far_from_the_limit_does_not_shorten_what_is_read():
    text = "header\n" + "x" * (2 * WHOLE) + "\n"
    first, *_, last = passages(Message(Role.TOOL, (ToolResult("1", (Text(text),)),)))
    assert (len(first.text), len(last.text)) == (HEAD, TAIL)
