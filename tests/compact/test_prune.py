"""Pruning shows less of what something later repeats, replaces or outdates, and says where to look."""

from __future__ import annotations

from clew.compact.prune import prune, shorten
from clew.message import Item, JsonObject, Message, Role, Text, ToolCall, ToolResult, said
from clew.plan import Shrink
from clew.tokens import TokenCounter, counter_for

LONG = "\n".join(f"line {n} of the file, with some words" for n in range(60))


def counter() -> TokenCounter:
    return counter_for("gpt-4o")


def history(*steps: tuple[str, JsonObject, str]) -> list[Item]:
    """Build a session of one call and one result a step."""
    items = [Item("m1", said(Role.USER, "go"))]
    for n, (tool, arguments, output) in enumerate(steps):
        call = Message(Role.ASSISTANT, (ToolCall(f"c{n}", tool, arguments),))
        result = Message(Role.TOOL, (ToolResult(f"c{n}", (Text(output),)),))
        items += [Item(f"m{len(items) + 1}", call), Item(f"m{len(items) + 2}", result)]
    return items


def shown(shrinks: list[Shrink]) -> dict[str, str]:
    return {
        shrink.id: part.text if isinstance(part, ToolResult) else part.input_text
        for shrink in shrinks
        for part in shrink.message.parts
        if isinstance(part, ToolResult | ToolCall)
    }


def pruned(view: list[Item], excess: int = 10**9) -> dict[str, str]:
    return shown(prune(view, len(view), counter(), excess))


def test_an_output_repeated_later_to_the_letter_points_there():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG))
    assert pruned(view) == {"m3": "[the same output as in m5]"}


def test_the_answer_to_a_call_made_again_is_outdated():
    view = history(("grep", {"q": "x", "d": 1}, LONG), ("grep", {"d": 1, "q": "x"}, LONG + "!"))
    assert pruned(view) == {"m3": "[outdated: the same call was made again in m5]"}


def test_a_read_is_outdated_once_the_file_is_read_whole_again_or_changed():
    again = history(
        ("Read", {"file_path": "a.py"}, LONG), ("Read", {"file_path": "a.py", "x": 1}, LONG + "!")
    )
    assert pruned(again) == {"m3": "[outdated: a.py was read again in m5]"}
    changed = history(("Read", {"file_path": "a.py"}, LONG), ("Edit", {"file_path": "a.py"}, "ok"))
    assert pruned(changed) == {"m3": "[outdated: a.py was changed in m5]"}


def test_a_partial_read_outdates_nothing():
    view = history(("Read", {"path": "a.py"}, LONG), ("Read", {"path": "a.py", "offset": 9}, LONG + "!"))
    assert pruned(view) == {}


def test_only_the_last_plan_keeps_its_list():
    todo = [{"content": f"task {n} with enough words to matter", "status": "open"} for n in range(12)]
    view = history(("TodoWrite", {"todos": todo}, "ok"), ("TodoWrite", {"todos": todo[1:]}, "ok"))
    assert pruned(view) == {"m2": '{"outdated": "replaced by the plan in m4"}'}


def test_it_stops_as_soon_as_enough_is_freed():
    view = history(*[("run", {"cmd": str(n)}, LONG) for n in range(5)])
    assert len(pruned(view)) == 4
    assert len(pruned(view, excess=100)) == 1


def test_nothing_at_or_after_the_protected_tail_is_touched():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG))
    assert prune(view, 2, counter(), 10**9) == []


def test_what_frees_little_is_left_alone():
    assert pruned(history(("run", {"cmd": "a"}, "ok"), ("run", {"cmd": "b"}, "ok"))) == {}


def test_a_giant_is_shown_in_excerpt_even_as_the_newest_message():
    view = history(("run", {"cmd": "a"}, "word " * 50_000 + "\nERROR: at the end"))
    (shrink,) = shorten(view, counter(), 1_000)
    assert shrink.id == "m3"
    assert counter().count(shrink.message) < 1_300
    assert "the whole of it is kept as m3" in shown([shrink])["m3"]
    assert "ERROR: at the end" in shown([shrink])["m3"]
