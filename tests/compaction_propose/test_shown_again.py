"""What the last results show again is left out of messages before them, if these results stay whole."""

from __future__ import annotations

from dataclasses import replace

from clew.compaction.plan import Shrink
from clew.compaction.propose import propose
from clew.compaction.propose.shown_again import shown_again, whole_in
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.task import CompactionTask
from clew.message import Item, JsonObject, Place
from tests.compaction_propose.sessions import COUNTER, LONG, history

NEW = [f"    const row{n} = compute(rows[{n}], options.rate);" for n in range(12)]


def patch(lines: list[str], path: str = "src/a.ts") -> tuple[str, JsonObject, str]:
    text = ["*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch"]
    return "apply_patch", {"input": "\n".join(text)}, f"Success. Updated {path}"


def diff(lines: list[str]) -> tuple[str, JsonObject, str]:
    head = ["diff --git a/src/a.ts b/src/a.ts", "--- a/src/a.ts", "+++ b/src/a.ts", "@@ -1,3 +1,15 @@"]
    return "Bash", {"command": "git diff"}, "\n".join([*head, *lines])


def stubs(view: list[Item], *whole: Place) -> dict[str, str]:
    context = ShrinkContext(view, COUNTER)
    return {view[one.place.message].id: one.text for one, _ in shown_again(context, whole)}


def test_a_patch_leaves_out_lines_that_a_later_diff_shows():
    added = [f"+{line}" for line in NEW]
    view = history(patch([" first", *added, " last"]), diff([" first", *added, " other"]))
    note = "[… 13 lines, as in m5]"
    assert list(stubs(view, Place(4, 0))) == ["m2"]
    assert f"@@\\n{note}\\n last" in stubs(view, Place(4, 0))["m2"]
    assert stubs(view) == {}  # the diff is not expected to stay whole


def test_an_edit_leaves_out_what_the_plan_presented_after_it_shows():
    text = "\n".join(["# Plan", *NEW])
    edit = ("Edit", {"file_path": "/p/plan.md", "old_string": "# Plan", "new_string": text}, "updated")
    view = history(edit, ("ExitPlanMode", {"plan": f"{text}\n\nDone."}, "approved"))
    assert '"new_string": "[… 13 lines, as in m4]"' in stubs(view, Place(3, 0))["m2"]


def test_few_or_short_lines_in_common_stay():
    added = [f"+{line}" for line in NEW]
    assert stubs(history(patch(added[:3]), diff(added)), Place(4, 0)) == {}
    assert stubs(history(patch(["+}"] * 9 + [*LONG[:400]]), diff(["+}"] * 9)), Place(4, 0)) == {}


def test_a_plan_leaves_lines_out_only_if_the_result_with_them_stays_whole():
    added = [f"+{line}" for line in NEW]
    logs = [("Bash", {"command": f"make {n}"}, LONG.replace("line", f"row {n}")) for n in range(40)]
    view = history(
        *logs, patch(added), *[("Bash", {"command": f"ls {n}"}, "a.ts") for n in range(4)], diff(added)
    )
    task = CompactionTask(view=view, counter=COUNTER, target_tokens=4_000)
    plan = propose(task)
    smaller = {op.id: op.message for op in plan.operations if isinstance(op, Shrink)}
    (call,) = smaller["m82"].calls
    assert "as in m93]" in call.input_text
    assert "m93" not in smaller
    assert whole_in(plan, view, {("m93", 0)})
    cut = Shrink("m93", replace(view[-1].message, parts=()), "too large")
    assert not whole_in(replace(plan, operations=(*plan.operations, cut)), view, {("m93", 0)})


def test_of_equal_results_among_the_last_the_earlier_leads_to_the_later():
    logs = [("Bash", {"command": f"make {n}"}, LONG.replace("line", f"row {n}")) for n in range(40)]
    found = "\n".join([*NEW, "(Results are truncated.)"])
    other = ("Bash", {"command": "ls"}, "a.ts")
    view = history(*logs, ("Glob", {"pattern": "*"}, found), other, ("Glob", {"pattern": "**"}, found))
    plan = propose(CompactionTask(view=view, counter=COUNTER, target_tokens=6_000))
    smaller = {op.id: op.message for op in plan.operations if isinstance(op, Shrink)}
    assert [one.text for one in smaller["m83"].results] == ["[… 13 lines, as in m87]"]
    assert "m87" not in smaller
