"""Lines that an edit took out are not told as they stand."""

import pytest

import clew
from clew.compaction.propose.story import Replaced
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, text_message

EDIT = {
    "file_path": "a.py",
    "old_string": "MAX_RETRIES = 5\nkeep = True",
    "new_string": "MAX_RETRIES = 7\nkeep = True",
}
PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-MAX_RETRIES = 5\n+MAX_RETRIES = 7\n keep = True\n"
    "*** End Patch"
)


def edited(arguments, is_error=False):
    call = Message(Role.ASSISTANT, (ToolCall("e", "edit", arguments),))
    result = Message(Role.TOOL, (ToolResult("e", (Text("done"),), is_error=is_error),))
    return [Item("m1", text_message(Role.USER, "MAX_RETRIES = 5")), Item("m2", call), Item("m3", result)]


@pytest.mark.parametrize(
    "arguments",
    [
        EDIT,
        {"edits": [{"oldText": "MAX_RETRIES = 5", "newText": "MAX_RETRIES = 7"}]},
        {"search": "MAX_RETRIES = 5", "replace": "MAX_RETRIES = 7"},
        {"patch": PATCH},
        {"command": ["apply_patch", PATCH]},
    ],
)
def test_a_line_that_an_edit_replaced_is_out_before_it_and_in_it(arguments):
    replaced = Replaced(edited(arguments))
    places = [replaced.holds("MAX_RETRIES = 5", place) for place in (-1, 0, 1, 2)]
    assert places == [True, True, True, False]
    assert not replaced.holds("MAX_RETRIES = 7", 0)
    assert not replaced.holds("keep = True", 0)


def test_an_argument_that_is_quoted_with_its_name_is_known_as_well():
    replaced = Replaced(edited({"old_string": 'name = "a"', "new_string": 'name = "b"'}))
    assert replaced.holds('"old_string": "name = \\"a\\""', 1)


@pytest.mark.parametrize(
    "shown",
    [
        "src/a.py:12:MAX_RETRIES = 5",
        "src/a.py-12-    MAX_RETRIES = 5",
        "   12→MAX_RETRIES = 5",
        "+    MAX_RETRIES = 5",
        "first = 1\nMAX_RETRIES = 5\nlast = 2",
        r"first = 1\n\tMAX_RETRIES = 5\n\tlast = 2",
    ],
)
def test_a_line_is_known_however_it_is_listed(shown):
    assert Replaced(edited(EDIT)).holds(shown, 0)
    assert not Replaced(edited(EDIT)).holds(shown.replace("5", "6"), 0)


def test_an_edit_that_failed_took_nothing_out():
    assert not Replaced(edited(EDIT, is_error=True)).holds("MAX_RETRIES = 5", 0)


def test_what_a_later_edit_puts_back_is_in_again():
    back = {"old_string": "MAX_RETRIES = 7", "new_string": "MAX_RETRIES = 5"}
    view = [*edited(EDIT), Item("m4", Message(Role.ASSISTANT, (ToolCall("f", "edit", back),)))]
    assert not Replaced(view).holds("MAX_RETRIES = 5", 0)


def filler(n):
    body = "\n".join(f"def fn_{n}_{i}(x, y={i * n}): return x" for i in range(25))
    yield {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": f"p/f{n}.py"}}
        ],
    }
    yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": body}]}


@pytest.mark.parametrize("target", [7_000, 10_000])
def test_a_digest_tells_the_new_value_and_what_a_person_corrected(target):
    messages = [
        {"role": "user", "content": "Port the client to v2. The retry limit is 5."},
        {"role": "assistant", "content": "Ok."},
        {"role": "user", "content": "Correction: the retry limit is 7, not 5."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "e", "name": "Edit", "input": EDIT}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "e", "content": "updated"}]},
        *(message for n in range(240) for message in filler(n)),
    ]
    digest = str(clew.compact(messages, target_tokens=target).messages[0])
    told = [words in digest for words in ("MAX_RETRIES = 7", "7, not 5", "MAX_RETRIES = 5")]
    assert told == [True, True, False]
