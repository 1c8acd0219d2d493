"""A smaller form is made from what was said, is smaller, and leads back."""

from __future__ import annotations

from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.message import (
    Item,
    Message,
    Place,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    text_message,
)
from tests.compaction_propose.sessions import COUNTER, LONG, history


def test_a_giant_is_shown_in_excerpt_even_as_the_newest_message():
    view = history(("run", {"cmd": "a"}, "word " * 50_000 + "\nERROR: at the end"))
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(3), 1_000)
    (part,) = shrink.message.parts
    assert isinstance(part, ToolResult)
    assert shrink.id == "m3"
    assert COUNTER.count(shrink.message) < 1_100
    assert part.text.startswith("word word")
    assert ", kept as m3]" in part.text
    assert part.text.endswith("ERROR: at the end")


def test_a_message_is_never_shown_larger():
    view = [Item("m1", text_message(Role.USER, "a few words more than one"))]
    assert shorten(ShrinkContext(view, COUNTER), range(1), 1) == []


def test_long_arguments_are_shown_in_excerpt_and_short_ones_stay():
    call = ToolCall("c1", "Write", {"file_path": "a.py", "content": LONG}, trust=Trust.ASSISTANT)
    view = [Item("m1", Message(Role.ASSISTANT, (call,)))]
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(1), 80)
    (part,) = shrink.message.parts
    assert isinstance(part, ToolCall)
    assert isinstance(part.arguments, dict)
    assert part.arguments["file_path"] == "a.py"
    assert str(part.arguments["content"]).startswith("line 0 of the file")
    assert "lines, kept as m1]" in str(part.arguments["content"])


def test_arguments_that_were_text_stay_text():
    call = ToolCall("c1", "apply_patch", f"*** Begin Patch\n{LONG}", trust=Trust.ASSISTANT)
    view = [Item("m1", Message(Role.ASSISTANT, (call,)))]
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(1), 100)
    (part,) = shrink.message.parts
    assert isinstance(part, ToolCall)
    assert isinstance(part.arguments, str)
    assert part.arguments.startswith("*** Begin Patch")
    assert "kept as m1]" in part.arguments


def test_a_form_that_was_made_smaller_before_is_made_again_from_what_was_said():
    whole = history(("run", {"cmd": "a"}, "\n".join(f"{n} of many lines" for n in range(3_000))))
    said_first = {item.id: item.message for item in whole}
    (once,) = shorten(ShrinkContext(whole, COUNTER), range(3), 2_000)
    view = [*whole[:2], Item("m3", once.message)]
    (twice,) = shorten(ShrinkContext(view, COUNTER, said_first.get), range(3), 300)
    (straight,) = shorten(ShrinkContext(whole, COUNTER), range(3), 300)
    assert twice.message == straight.message


def test_words_beside_a_result_go_with_it_and_rise_no_higher():
    parts = (Text(LONG), Text("and the user said no", trust=Trust.USER))
    view = [Item("m1", Message(Role.TOOL, (ToolResult("c1", parts),)))]
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(1), 80)
    (part,) = shrink.message.parts
    assert isinstance(part, ToolResult)
    assert [inner.trust for inner in part.parts] == [Trust.UNTRUSTED]


def test_words_of_a_message_whose_thinking_left_are_held_where_they_are():
    call = ToolCall("c1", "Write", {"content": "keep these words"}, trust=Trust.ASSISTANT)
    shown = Message(Role.ASSISTANT, (Text("I write it.", trust=Trust.ASSISTANT), call))
    original = Message(Role.ASSISTANT, (Thinking("How?", trust=Trust.ASSISTANT), *shown.parts))
    context = ShrinkContext([Item("m1", shown)], COUNTER, {"m1": original}.get)
    context.protect(Place(0, 1), "keep these words")
    assert (len(context.protected_spans(Place(0, 0))), len(context.protected_spans(Place(0, 1)))) == (0, 1)
