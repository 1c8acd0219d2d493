"""Pruning shows less of what something later repeats, replaces or outdates, and says where to look."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clew.compaction.plan import Shrink
from clew.compaction.propose.prune import prune, prune_repeated
from clew.compaction.propose.shrink import ShrinkCollector, excerpted, shorten, with_true_pointers
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.message import Cite, Item, JsonObject, Place, Role, ToolCall, ToolResult, text_message
from tests.compaction_propose.sessions import COUNTER, LONG, history


def shown(shrinks: list[Shrink]) -> dict[str, str]:
    return {
        shrink.id: part.text if isinstance(part, ToolResult) else part.input_text
        for shrink in shrinks
        for part in shrink.message.parts
        if isinstance(part, ToolResult | ToolCall)
    }


def pruned(view: list[Item], excess: int = 10**9) -> dict[str, str]:
    return shown(prune(ShrinkContext(view, COUNTER), len(view), excess))


def recent(view: list[Item]) -> dict[str, str]:
    return shown(prune_repeated(ShrinkContext(view, COUNTER), 0, len(view)))


def test_an_output_repeated_later_to_the_letter_points_there():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG))
    assert pruned(view) == {"m3": "[the same output as further down, in m5]"}


def test_an_output_that_a_later_one_holds_but_for_a_few_lines_keeps_those():
    other = LONG.replace("line 7 of", "line 7 and last of")
    view = history(("run", {"cmd": "a"}, other), ("run", {"cmd": "b"}, f"{LONG}\nand more"))
    note = "[all but these lines are in the output in m5; kept as m3]"
    assert pruned(view) == {"m3": f"{note}\nline 7 and last of the file, with some words"}


def test_the_answer_to_a_call_made_again_is_outdated():
    view = history(("grep", {"q": "x", "d": 1}, LONG), ("grep", {"d": 1, "q": "x"}, LONG + "!"))
    assert pruned(view) == {"m3": "[outdated: the same call was made again in m5; kept as m3]"}


def test_the_answer_to_a_call_that_failed_or_returned_less_later_is_not_outdated():
    fetch, good = {"url": "https://example.org/a"}, ("WebFetch", {"url": "https://example.org/a"}, LONG)
    refused = history(good, ("WebFetch", fetch, LONG.replace("line", "503 at byte")))
    refused[-1] = replace_result(refused[-1], is_error=True)
    assert pruned(refused) == {}
    assert pruned(history(good, ("WebFetch", fetch, LONG[: len(LONG) // 3]))) == {}
    assert pruned(history(good, ("WebFetch", fetch, ""))) == {}
    between = history(good, ("WebFetch", fetch, f"{LONG}!"), ("WebFetch", fetch, ""))
    assert pruned(between) == {"m3": "[outdated: the same call was made again in m5; kept as m3]"}
    edit = ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}, "edited")
    search = {"pattern": "<<<<<<<"}
    solved = history(("Grep", search, LONG), edit, ("Grep", search, "No matches found"))
    assert pruned(solved) == {"m3": "[outdated: the same call was made again in m7; kept as m3]"}


def replace_result(item: Item, *, is_error: bool) -> Item:
    (result,) = item.message.results
    return Item(item.id, replace(item.message, parts=(replace(result, is_error=is_error),)))


def test_a_part_of_a_file_is_not_outdated_by_a_read_that_a_tool_cut_before_it():
    lines = "\n".join(f"{n:6}→line {n} of a long file" for n in range(1, 60))
    later = "\n".join(f"{n:6}→line {n} of a long file" for n in range(500, 560))
    path = {"file_path": "a.py"}
    assert pruned(history(("Read", {**path, "offset": 500}, later), ("Read", path, lines))) == {}
    again = history(("Read", {**path, "offset": 2}, lines[200:]), ("Read", path, lines))
    assert pruned(again) == {"m3": "[outdated: a.py was read again in m5; kept as m3]"}


def test_what_is_outdated_does_not_point_to_the_same_output_further_down():
    run = {"command": "cat a.log"}
    view = history(("bash", run, LONG), ("bash", run, LONG), ("bash", run, f"{LONG}!"))
    note = "[outdated: the same call was made again in m7; kept as "
    assert pruned(view) == {"m3": f"{note}m3]", "m5": f"{note}m5]"}


def test_a_pointer_says_if_the_same_output_is_shown_in_part_or_outdated():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG), ("run", {"cmd": "c"}, "ok"))
    context = ShrinkContext(view, COUNTER)
    repeated = prune_repeated(context, 0, len(view))
    assert shown(with_true_pointers(repeated, view)) == {"m3": "[the same output as further down, in m5]"}
    for most_tokens, note in (
        (250, "[same output as m5, shown in part there]"),
        (40, "[same output as m5; kept as m3]"),
    ):
        smaller = [*repeated, *shorten(context, [4], most_tokens)]
        assert shown(with_true_pointers(smaller, view))["m3"] == note
    collector = ShrinkCollector(context)
    collector.add(Place(4, 0), "[… 26 lines, as in m9]", "shown again by a later message")
    elsewhere = with_true_pointers([*repeated, *collector.shrinks()], view)
    assert shown(elsewhere)["m3"] == "[… 26 lines, as in m9]"
    collector = ShrinkCollector(context)
    collector.add(Place(4, 0), "[outdated: a.py was read again in m7; kept as m5]", "read again in m7")
    outdated = with_true_pointers([*repeated, *collector.shrinks()], view)
    assert shown(outdated)["m3"] == "[outdated: a.py was read again in m7; kept as m3]"


def test_a_run_before_a_change_is_not_outdated_by_one_after_it_with_another_outcome():
    run = {"command": "python check.py"}
    edit = ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}, "edited")
    before, after = ("bash", run, f"{LONG}\nwrong"), ("bash", run, f"{LONG}\nright")
    assert "m3" in pruned(history(before, after))
    assert not pruned(history(before, edit, after)).get("m3", "").startswith("[outdated")
    assert "m3" in pruned(history(before, edit, before))


def test_the_same_step_of_a_tool_that_clew_does_not_know_may_show_something_else():
    pages = history(("page_down", {}, LONG), ("page_down", {}, LONG.replace("line", "row")))
    assert "m3" not in pruned(pages)
    edits = history(("Edit", {"text": ""}, f"failed\n{LONG}"), ("Edit", {"text": ""}, f"done\n{LONG}!"))
    assert not pruned(edits).get("m3", "").startswith("[outdated: the same call")


def test_a_read_is_outdated_once_the_file_is_read_whole_again_or_changed():
    again = history(
        ("Read", {"file_path": "a.py"}, LONG), ("Read", {"file_path": "a.py", "x": 1}, "new\n" * 9)
    )
    assert pruned(again) == {"m3": "[outdated: a.py was read again in m5; kept as m3]"}
    changed = history(("Read", {"file_path": "./a.py"}, LONG), ("Edit", {"file_path": "a.py"}, "ok"))
    assert pruned(changed) == {"m3": "[outdated: a.py was changed in m5; kept as m3]"}


def test_a_recent_result_that_shows_what_its_call_wrote_keeps_only_its_own_lines():
    text = "\n".join(f"value_{n} = {n} * compute(value_{n})" for n in range(30))
    numbered = "\n".join(f"{n + 1:6}→{line}" for n, line in enumerate(text.split("\n")))
    echo = f"The file a.py has been updated.\n{numbered}\nError [3:1] compute is not defined"
    view = history(("Write", {"file_path": "a.py", "content": text}, echo), ("run", {"cmd": "b"}, "ok"))
    assert recent(view) == {
        "m3": "The file a.py has been updated.\nError [3:1] compute is not defined\n"
        "[… 30 lines that repeat the change, kept as m3]"
    }


def test_a_result_repeats_a_change_only_if_the_call_shows_it():
    told = "The file a.py has been updated. Here's the result of running `cat -n` on a snippet:"
    listing = "\n".join(f"{n:6}→value_{n} = {n} * compute(value_{n})" for n in range(10, 30))
    lost = history(("Edit", {}, f"{told}\n{listing}"), ("run", {"cmd": "b"}, "ok"))
    assert recent(lost) == {}
    change = {"file_path": "a.py", "old_string": "x", "new_string": "value_20 = 20 * compute(value_20)"}
    shown = history(("Edit", change, f"{told}\n{listing}"), ("run", {"cmd": "b"}, "ok"))
    assert recent(shown)["m3"] == (
        "The file a.py has been updated.\n[… 20 lines: the change and what is around it, kept as m3]"
    )


@pytest.mark.parametrize(
    ("tool", "given", "told", "short"),
    [
        (
            "Edit",
            {"file_path": "/app/a.py"},
            "The file /app/a.py has been updated successfully.",
            "[updated]",
        ),
        ("Write", {"file_path": "/app/a.py"}, "File created successfully at: /app/a.py", "[created]"),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"},
            "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM src/a.py",
            "[updated]",
        ),
        (
            "TodoWrite",
            {"todos": [{"content": "Port it", "status": "pending"}]},
            "Todos have been modified successfully. Please proceed with the current tasks if applicable",
            "[updated]",
        ),
        (
            "todowrite",
            {"todos": [{"content": "Port"}]},
            '[{"content": "Port"}] the todos, updated',
            "[updated]",
        ),
        ("Edit", {"file_path": "a.py"}, "The file a.py has been updated. Warning: x is not defined.", None),
        ("Edit", {"file_path": "a.py"}, "The file other.py has been updated by the formatter, too.", None),
        ("Edit", {}, "The file /app/a.py has been updated successfully.", "[updated: /app/a.py]"),
        ("Edit", {}, "The file /app/a.py has been updated. Warning: x is not defined.", None),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: /w/My Docs/a.md\n@@\n-x\n+y\n*** End Patch"},
            json.dumps(
                {
                    "output": "Success. Updated the following files:\nM My Docs/a.md\n",
                    "metadata": {"exit_code": 0},
                }
            ),
            "[updated]",
        ),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"},
            "Success. Updated the following files:\nM a.py\nM other.py",
            None,
        ),
        ("Read", {"file_path": "a.py"}, "The file a.py has been updated successfully.", None),
    ],
)
def test_a_result_that_only_says_that_it_worked_is_a_word(
    tool: str, given: JsonObject, told: str, short: str | None
):
    view = history((tool, given, told), ("run", {"cmd": "b"}, "ok"))
    assert recent(view) == ({"m3": short} if short else {})


def test_results_of_calls_without_arguments_name_the_same_file_once():
    told = "The file /app/pages/rates.py has been updated successfully."
    other = "The file /app/pages/days.py has been updated successfully."
    view = history(*(("Edit", {}, text) for text in (told, told, other, told)), RUN)
    assert list(recent(view).values()) == [
        "[updated: /app/pages/rates.py]",
        "[updated]",
        "[updated: /app/pages/days.py]",
        "[updated: /app/pages/rates.py]",
    ]


def test_calls_that_do_not_say_what_they_ask_for_are_not_the_same_call():
    for name, given in (
        ("Glob", {}),
        ("Bash", {"description": "Run the tests"}),
        ("Grep", {"text": "path `./src`"}),
        ("Bash", {"text": "Run the tests"}),
    ):
        assert (
            pruned(history((name, given, LONG), (name, given, f"{LONG}!"))).get("m3", "")[:9] != "[outdated"
        )
    run = {"text": "Run the tests\n\n`make test`"}
    note = "[outdated: the same call was made again in m5; kept as m3]"
    assert pruned(history(("Bash", run, LONG), ("Bash", run, f"{LONG}!"))) == {"m3": note}


@pytest.mark.parametrize("second", [100, 20], ids=["other lines", "half of them"])
def test_reads_that_look_alike_but_show_other_lines_are_not_outdated(second: int):
    starts = (1, second)
    parts = ["\n".join(f"{n:4}→line {n} of the file" for n in range(start, start + 40)) for start in starts]
    view = history(*(("Read", {"file_path": "a.py", "limit": "?"}, part) for part in parts))
    assert pruned(view) == {}


def test_a_failed_edit_stays_until_most_of_it_was_made():
    draft = "\n".join(f"handler_{n} = register(handler_{n})" for n in range(30))
    failed = (
        "Edit",
        {"file_path": "a.py", "old_string": "x", "new_string": draft},
        "<tool_use_error>String to",
    )
    imports = ("Edit", {"file_path": "a.py", "old_string": "y", "new_string": "import register"}, "ok")
    made = ("Edit", {"file_path": "a.py", "old_string": "z", "new_string": f"{draft}\n# end"}, "ok")
    assert "m2" not in recent(history(failed, imports))
    assert "[failed, done in m6; kept as m2]" in recent(history(failed, imports, made))["m2"]


def test_a_prompt_that_a_later_call_repeats_is_shown_once():
    prompt = "Review the changes. " * 60
    calls = [("task", {"prompt": prompt, "description": f"review {n}"}, f"answer {n}") for n in range(3)]
    shorter = recent(history(*calls))
    assert list(shorter) == ["m2", "m4"]
    assert json.loads(shorter["m4"])["prompt"].endswith("[… as in m6]")
    assert json.loads(shorter["m4"])["description"] == "review 1"


def test_what_the_shell_reads_and_changes_counts_as_well():
    view = history(("bash", {"command": "cat a.py"}, LONG), ("bash", {"command": "sed -i s/x/y/ a.py"}, ""))
    assert pruned(view) == {"m3": "[outdated: a.py was changed in m5; kept as m3]"}


def test_an_edit_that_failed_outdates_nothing():
    failed = ("Edit", {"file_path": "a.py"}, "<tool_use_error>String to replace not found</tool_use_error>")
    assert pruned(history(("Read", {"file_path": "a.py"}, LONG), failed)) == {}


def test_a_partial_read_outdates_nothing():
    view = history(("Read", {"path": "a.py"}, LONG), ("Read", {"path": "a.py", "offset": 9}, "other\n" * 9))
    assert pruned(view) == {}


def test_only_the_last_plan_keeps_its_list():
    todo = [{"content": f"task {n} with enough words to matter", "status": "open"} for n in range(12)]
    view = history(("TodoWrite", {"todos": todo}, "ok"), ("TodoWrite", {"todos": todo[1:]}, "ok"))
    note = "[… replaced by the plan in m4; kept as m2]"
    assert json.loads(pruned(view)["m2"]) == {"todos": [{"content": note, "status": "open"}]}


def test_an_answer_that_only_says_it_was_done_keeps_its_first_line():
    view = history(("Edit", {"file_path": "a.py"}, f"The file a.py has been updated.\n{LONG}"))
    assert pruned(view) == {"m3": "The file a.py has been updated.\n[the rest is kept as m3]"}


def test_a_log_is_shown_in_excerpt_with_its_errors():
    lines = [f"2026-01-02 10:00:{n % 60:02d} INFO worker {n} is waiting" for n in range(200)]
    lines[90] = "2026-01-02 10:00:30 ERROR worker 90 died"
    (text,) = pruned(history(("run", {"cmd": "tail app.log"}, "\n".join(lines)))).values()
    assert ", kept as m3]" in text
    assert lines[90] in text
    assert COUNTER.count_text(text) < 450


def test_a_large_output_is_shown_in_excerpt():
    (text,) = pruned(history(("run", {"cmd": "a"}, "word " * 9_000 + "\nERROR: at the end"))).values()
    assert text.startswith("word word")
    assert ", kept as m3]" in text
    assert text.endswith("ERROR: at the end")
    assert COUNTER.count_text(text) < 1_100


def test_the_oldest_goes_first_and_it_stops_as_soon_as_enough_is_freed():
    view = history(*[("run", {"cmd": str(n)}, LONG) for n in range(5)])
    assert list(pruned(view)) == ["m3", "m5", "m7", "m9"]
    assert list(pruned(view, excess=100)) == ["m3"]


def test_nothing_at_or_after_the_protected_tail_is_touched():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG))
    assert prune(ShrinkContext(view, COUNTER), 2, 10**9) == []


def test_what_frees_little_is_left_alone():
    assert pruned(history(("run", {"cmd": "a"}, "ok"), ("run", {"cmd": "b"}, "ok"))) == {}


def test_what_must_stay_readable_is_left_or_shown():
    output = "\n".join(f"{n} things were counted here" for n in range(2_000))
    start = output.index("1000 things")
    view = history(
        ("run", {"cmd": "a"}, output),
        ("Read", {"file_path": "a.py"}, LONG),
        ("Edit", {"file_path": "a.py"}, ""),
    )
    held = {"m3": [Cite("m3", 0, start, start + 24)], "m5": [Cite("m5", 0, 0, 6)]}
    left = shown(prune(ShrinkContext(view, COUNTER, protected=held), len(view), 10**9))
    assert list(left) == ["m3"]
    assert "1000 things were counted" in left["m3"]


def test_a_part_that_another_refers_to_stays_readable_itself():
    only = "test_rounding_of_negative_amounts"
    first = f"{LONG}\nFAILED {only}\n{LONG}"
    again = "\n".join(f"passed in run {n}" for n in range(40))
    view = history(("run", {"cmd": "a"}, first), ("run", {"cmd": "b"}, first), ("run", {"cmd": "b"}, again))
    context = ShrinkContext(
        view, COUNTER, protected={"m3": [Cite("m3", 0, (at := first.index(only)), at + len(only))]}
    )
    left = shown(prune(context, len(view), 10**9))
    assert left == {"m3": "[the same output as further down, in m5]"}  # m5 is outdated, but m3 refers to it
    (excerpt,) = shown(shorten(context, [4], 40)).values()
    assert only in excerpt


def test_a_part_that_is_already_smaller_does_not_speak_for_another():
    view = history(("run", {"cmd": "a"}, LONG), ("run", {"cmd": "b"}, LONG))
    taken = ShrinkCollector(ShrinkContext(view, COUNTER, protected={"m3": [Cite("m3", 0, 0, 40)]}))
    assert taken.add(Place(4, 0), "[outdated]", "asked again")
    assert not taken.add(Place(2, 0), "[as in m5]", "repeated", instead=Place(4, 0))


def test_an_edit_that_failed_and_was_made_later_is_shown_by_its_file():
    edit = {"file_path": "/w/a.py", "old_string": "x = 1\n" * 60, "new_string": "y = 2\n" * 60}
    wrong = ("Edit", edit, "<tool_use_error>String to replace not found in file.</tool_use_error>")
    right = ("Edit", {**edit, "old_string": "x = 1"}, "The file /w/a.py has been updated.")
    note = "[failed, done in m4; kept as m2]"
    shorter = json.loads(pruned(history(wrong, right))["m2"])
    assert shorter == {"file_path": "/w/a.py", "old_string": note, "new_string": "[…]"}
    assert "m2" not in pruned(history(wrong, ("Read", {"file_path": "/w/a.py"}, "x = 1")))


def test_a_failed_patch_of_several_files_and_its_error_are_a_line_each_once_all_of_it_was_made():
    lines = {name: [f"+{name} row {n}" for n in range(30)] for name in ("a.py", "b.py")}

    def patch(*names: str) -> str:
        each = ("\n".join([f"*** Update File: {name}", "@@", *lines[name]]) for name in names)
        return "\n".join(["*** Begin Patch", *each, "*** End Patch"])

    error = "apply_patch verification failed: Failed to find expected lines in a.py:\n" + "\n".join(BODY)
    view = history(
        ("apply_patch", {"patchText": patch("a.py", "b.py")}, error),
        ("apply_patch", {"patchText": patch("a.py")}, "Success. Updated a.py"),
        ("apply_patch", {"patchText": patch("b.py")}, "Success. Updated b.py"),
    )
    view[2] = replace_result(view[2], is_error=True)
    assert "m2" not in recent(view[:5])  # half of it is not enough if the rest was not tried again
    shorter = recent(view)
    assert json.loads(shorter["m2"])["patchText"].split("\n") == [
        "*** Begin Patch",
        "*** Update File: a.py",
        "[failed, done in m4 and later; kept as m2]",
        "*** End Patch",
    ]
    assert shorter["m3"] == f"{error.partition(chr(10))[0]}\n[done in m4 and later; kept as m3]"


def test_an_outdated_test_run_keeps_its_verdict():
    run = ("bash", {"command": "pytest"})
    view = history((*run, f"{LONG}\n3 failed, 5 passed"), (*run, f"{LONG}\n8 passed"))
    assert pruned(view)["m3"].startswith("3 failed, 5 passed\n[outdated: the same call")


def test_numbered_listings_of_other_lines_are_not_outdated_even_if_the_call_names_no_range():
    listing = ["\n".join(f"{start + n}\tvalue_{start + n}" for n in range(30)) for start in (100, 900)]
    same = {"text": "the log of the run"}
    view = history(("Show", same, listing[0]), ("Show", same, listing[1]), ("run", {"cmd": "b"}, "ok"))
    assert recent(view) == {}


def test_a_written_file_is_outdated_once_it_is_written_or_read_whole_again():
    first, second = LONG, LONG.replace("line", "row")
    write = {"file_path": "a.py", "content": first}
    again = history(("Write", write, "ok"), ("Write", {**write, "content": second}, "ok"))
    note = "[outdated: overwritten in m4; kept as m2]"
    assert json.loads(pruned(again)["m2"]) == {"file_path": "a.py", "content": note}
    assert json.loads(recent(again)["m2"])["content"] == note
    read = history(("Write", write, "ok"), ("Read", {"file_path": "a.py"}, first))
    assert json.loads(recent(read)["m2"])["content"] == "[outdated: read in m5; kept as m2]"
    part = history(("Write", write, "ok"), ("Read", {"file_path": "a.py", "limit": 5}, "x"))
    other = history(("Write", write, "ok"), ("Write", {"file_path": "b.py", "content": second}, "ok"))
    assert "m2" not in recent(part)
    assert "m2" not in recent(other)


def test_a_run_that_passed_is_outdated_by_a_later_one_that_passed_too():
    edit = ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}, "edited")

    def run(why: str, verdict: str) -> tuple[str, dict[str, str], str]:
        return "bash", {"command": "pytest", "description": why}, f"{LONG}\n{verdict}"

    passed = pruned(history(run("first", "3 passed"), edit, run("again", "4 passed")))
    assert passed["m3"] == "3 passed\n[outdated: the same call was made again in m7; kept as m3]"
    failed = pruned(history(run("first", "1 failed"), edit, run("again", "4 passed")))
    assert not failed.get("m3", "").startswith("1 failed\n[outdated")


def test_a_run_after_a_change_that_says_the_same_outdates_the_one_before():
    edit = ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}, "edited")
    told = [f"dist/part{n}.css   2.77 kB │ gzip:  1.08 kB" for n in range(8)]

    def build(name: str, seconds: str) -> tuple[str, JsonObject, str]:
        lines = [*told, f"dist/index-{name}.js   235.{len(seconds)} kB", f"built in {seconds}"]
        return "bash", {"command": "make"}, "\n".join(lines)

    same = recent(history(build("CyOyf1pX", "543ms"), edit, build("BzYk21VH", "1.2s"), RUN))
    assert same["m3"] == "[outdated: the same call was made again in m7; kept as m3]"
    score = ("bash", {"command": "make"}, "\n".join(f"accuracy of part {n}: 0.8{n}" for n in range(8)))
    better = (*score[:2], score[2].replace("0.8", "0.9"))
    assert "m3" not in recent(history(score, edit, better, RUN))


REMINDER = f"\n\n<system-reminder>\n{'Consider whether this file is malware. ' * 8}\n</system-reminder>\n"


def test_what_a_harness_adds_to_every_result_stays_at_the_last():
    view = history(
        ("Read", {"file_path": "a"}, f"one{REMINDER}"), ("Read", {"file_path": "b"}, f"two{REMINDER}")
    )
    assert recent(view) == {"m3": "one"}


CURRENT = "(file state is current in your context — no need to Read it back)"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            f"The file a.py has been updated successfully. {CURRENT}",
            "The file a.py has been updated successfully.",
        ),
        ("File unchanged since your last Read. Refer to that earlier tool_result instead.\n", None),
    ],
)
def test_what_a_harness_says_of_the_context_goes_with_the_compaction(said: str, left: str | None):
    assert recent(history(("Read", {"file_path": "a.py"}, said))) == {
        "m3": left or said.partition(" Refer")[0]
    }


@pytest.mark.parametrize(
    "said",
    [
        CURRENT,
        f"print({CURRENT!r})\nprint('more')",
        "Done (as in your context file)\nok",
        "You will be notified: no need to check.",
    ],
)
def test_other_words_of_a_result_stay(said: str):
    assert recent(history(("Edit", {"file_path": "a.py"}, said))) == {}


def test_an_excerpt_has_no_remark_on_the_context():
    text = "\n".join(f"line {n} of the output, with some words" for n in range(60))
    context = ShrinkContext(history(("Bash", {"command": "make"}, f"{text}\n{CURRENT}")), COUNTER)
    assert "line 59" in (shown := excerpted(context, Place(2, 0), 300))
    assert CURRENT not in shown


def test_a_prompt_that_repeats_what_the_agent_was_asked_points_there():
    prompt = "Review all changes of this branch. " * 40
    view = history(("task", {"prompt": prompt}, "fine"))
    view[0] = Item("m1", text_message(Role.USER, prompt))
    assert json.loads(recent(view)["m2"])["prompt"].endswith(" [… as in m1]")


# Edits ------------------------------------------------------------------------------------------------

BODY = [f"    line {n} of the function, with some words" for n in range(20)]
RUN = ("run", {"cmd": "b"}, "ok")


def edit(old: list[str], new: list[str]) -> tuple[str, dict[str, str], str]:
    return "Edit", {"file_path": "a.py", "old_string": "\n".join(old), "new_string": "\n".join(new)}, "edited"


def test_an_edit_shows_lines_that_stay_once_and_those_that_go():
    done = edit([*BODY, "    return 1"], [*BODY, "    return 2"])
    assert recent(history(done)) == {}  # the last call
    shown_edit = json.loads(recent(history(done, RUN))["m2"])
    assert shown_edit["old_string"] == "[… 20 lines, as in new_string]\n    return 1"
    assert shown_edit["new_string"] == done[1]["new_string"]


def test_an_edit_that_failed_is_shown_whole():
    call = edit([*BODY, "    return 1"], [*BODY, "    return 2"])
    failed = history((call[0], call[1], "Error: old_string not found"), RUN)
    failed[2] = Item("m3", replace(failed[2].message, parts=(ToolResult("c0", (), is_error=True),)))
    assert recent(failed) == {}


def test_of_the_many_lines_that_an_edit_or_a_patch_removed_the_first_or_none_stays():
    rows = [line.replace("line", "row") for line in BODY]
    changed = edit(BODY, rows)
    shorter = json.loads(recent(history(changed, RUN))["m2"])
    assert shorter["old_string"] == f"{BODY[0]}\n[… 19 lines, replaced; kept as m2]"
    assert shorter["new_string"] == changed[1]["new_string"]
    lines = ["*** Begin Patch", "*** Update File: a.py", "@@", *(f"-{line}" for line in BODY), "+x"]
    patch = ("apply_patch", {"input": "\n".join([*lines, "*** End Patch"])}, "Success. Updated a.py")
    assert json.loads(recent(history(patch, RUN))["m2"])["input"].split("\n")[2:5] == [
        "@@",
        "[… 20 lines, removed; kept as m2]",
        "+x",
    ]


def write(body: list[str], told: str = "The file a.py has been updated.") -> tuple[str, JsonObject, str]:
    return "Write", {"file_path": "a.py", "content": "\n".join(body)}, told


def add(body: list[str]) -> tuple[str, JsonObject, str]:
    lines = ["*** Begin Patch", "*** Add File: a.py", *(f"+{line}" for line in body), "*** End Patch"]
    return "apply_patch", {"input": "\n".join(lines)}, "Success. Updated a.py"


def here(body: list[str]) -> tuple[str, JsonObject, str]:
    text = "\n".join(["cat > a.py <<'EOF'", *body, "EOF", "python a.py"])
    return "bash", {"command": text}, ""


def test_what_a_later_edit_replaced_is_left_out_wherever_it_was_written():
    later = edit(BODY[2:18], ["    one line"])
    note = "[… 16 lines, changed; kept as m2]"
    for earlier, key, sign in (
        (write(BODY), "content", ""),
        (edit(["x"], BODY), "new_string", ""),
        (add(BODY), "input", "+"),
        (here(BODY), "command", ""),
    ):
        shorter = json.loads(recent(history(earlier, later))["m2"])[key].split("\n")
        at = shorter.index(note)
        assert [line.removeprefix(sign) for line in (shorter[at - 1], shorter[at + 1])] == [BODY[1], BODY[18]]


def test_every_form_of_a_file_that_is_written_anew_is_one_line():
    note = "outdated: overwritten in m4"
    for later in (write(["x"] * 9), add(["x"] * 9), here(["x"] * 9)):
        for earlier in (write(BODY), add(BODY), here(BODY), edit(["x"], BODY)):
            shorter = recent(history(earlier, later, RUN))["m2"]
            assert note in shorter
            assert BODY[7] not in shorter
        read = recent(history(("Read", {"file_path": "a.py", "limit": 20}, "\n".join(BODY)), later, RUN))
        assert read["m3"] == "[outdated: a.py was overwritten in m4; kept as m3]"
    appended = here(BODY)
    appended[1]["command"] = str(appended[1]["command"]).replace(">", ">>", 1)
    assert "m2" not in recent(history(write(BODY), appended, RUN))
    more = write(["x"] * 9)
    assert "m2" not in recent(history(write(BODY), (more[0], {**more[1], "append": True}, more[2]), RUN))


def test_a_file_that_was_read_and_then_written_anew_is_shown_by_the_last_text():
    read = ("Read", {"file_path": "a.py"}, "\n".join(BODY))
    shorter = recent(history(write(BODY), read, write(["x"] * 9), RUN))
    assert "outdated: overwritten in m6" in shorter["m2"]
    assert shorter["m5"] == "[outdated: a.py was overwritten in m6; kept as m5]"


def test_a_cell_of_a_notebook_that_is_written_anew_is_one_line():
    def cell(name: str, body: list[str], mode: str = "replace") -> tuple[str, JsonObject, str]:
        given = {
            "notebook_path": "a.ipynb",
            "cell_id": name,
            "new_source": "\n".join(body),
            "edit_mode": mode,
        }
        return "NotebookEdit", dict(given), "Updated cell"

    shorter = recent(history(cell("c1", BODY), cell("c2", BODY), cell("c1", BODY[::-1]), RUN))
    assert list(shorter) == ["m2"]
    assert json.loads(shorter["m2"])["new_source"] == "[outdated: overwritten in m6; kept as m2]"
    assert recent(history(cell("c1", BODY), cell("c1", BODY, "insert"), RUN)) == {}


def test_a_page_that_names_the_file_only_in_the_result_counts_as_well():
    page = ("Write", {"text": "\n".join(BODY)}, "File created successfully at: /w/plan.md")
    again = (
        "Write",
        {"text": "\n".join(BODY[::-1])},
        "The file /w/plan.md has been overwritten successfully.",
    )
    assert json.loads(recent(history(page, again))["m2"]) == {
        "text": "[outdated: overwritten in m4; kept as m2]"
    }


def test_a_read_leaves_out_the_lines_that_a_later_edit_replaces():
    numbered = "\n".join(f"{n}→{line}" for n, line in enumerate([*BODY, "", *BODY[:3], "    end"], start=1))
    view = history(
        ("Read", {"file_path": "a.py"}, numbered),
        edit(BODY[2:18], ["    one line"]),
    )
    lines = recent(view)["m3"].split("\n")
    assert lines[:4] == [
        f"1→{BODY[0]}",
        f"2→{BODY[1]}",
        "[… 16 lines, changed; kept as m3]",
        f"19→{BODY[18]}",
    ]
    assert lines[-1] == "25→    end"


def test_a_read_after_the_edit_or_of_another_file_stays_whole():
    read = ("Read", {"file_path": "a.py"}, "\n".join(BODY))
    assert "m5" not in recent(history(edit(BODY, ["x"]), read))
    other = ("Read", {"file_path": "b.py"}, "\n".join(BODY))
    assert "m3" not in recent(history(other, edit(BODY, ["x"])))


def test_lines_that_a_patch_replaces_are_left_out_of_an_earlier_read():
    patch = "\n".join(
        ["*** Begin Patch", "*** Update File: a.py", "@@", *(f"-{line}" for line in BODY), "+x"]
    )
    view = history(
        ("Read", {"file_path": "a.py"}, "\n".join(["# head", *BODY, "# tail"])),
        ("apply_patch", {"input": f"{patch}\n*** End Patch"}, "Success. Updated a.py"),
    )
    assert recent(view)["m3"] == "# head\n[… 20 lines, changed; kept as m3]\n# tail"
