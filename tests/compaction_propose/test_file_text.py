"""The text of files that the work is about is quoted as it is now when the messages that showed it leave."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

import clew
from clew.compaction.plan import Topic
from clew.compaction.propose.current_text import current_texts
from clew.compaction.propose.file_text import FilePassage, claims, passages, repeats
from clew.compaction.propose.steps import Step, steps_of
from clew.compaction.propose.topics import Topics
from clew.compaction.propose.worklist import _is_same, work_left
from clew.message import Item, Message, Role, Trust, text_message
from tests.compaction_propose.sessions import items, spoken, step

RATES = "\n".join(
    f"def rate_{name}(day):\n    total = table_{name}[day]\n    return total * {n}\n"
    for n, name in enumerate(("monthly", "yearly", "weekly", "daily"), start=2)
)


def read(call: str, path: str, text: str) -> list[Message]:
    return step(call, "Read", {"file_path": path}, text)


def edit(call: str, path: str, old: str, new: str) -> list[Message]:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return step(call, "Edit", arguments, f"The file {path} has been updated.")


def now(messages: Sequence[Message], last: str = "Next is rates.py.") -> dict[str, list[str]]:
    """Return the current texts of files, as strings."""
    view = items([*messages, spoken(last)])
    found = current_texts(view, steps_of(view), Topics(view, ()))
    return {path: ["\n".join(line.text for line in text) for text in texts] for path, texts in found.items()}


def leaving(view: list[Item], gone: Collection[str], visible: Collection[str] = ()) -> list[FilePassage]:
    """Return the passages that leave the view with these messages."""
    topics = Topics(view, ())
    return passages(current_texts(view, steps_of(view), topics), gone, topics, visible)


def test_the_text_of_a_file_has_the_edits_made_since_it_was_read():
    edited = edit("c2", "src/rates.py", "    return total * 3", "    return total * 30\n    # per year")
    (text,) = now([*read("c1", "src/rates.py", RATES), *edited])["src/rates.py"]
    assert text == RATES.rstrip("\n").replace("return total * 3\n", "return total * 30\n    # per year\n")


def test_a_file_that_was_deleted_with_its_folder_has_no_text():
    known = read("c1", "tmp/try/rates.py", RATES)
    for command in ("rm -rf tmp/try", "rm -r tmp", "rm tmp/try/rates.py"):
        assert now([*known, *step("c2", "bash", {"command": command}, "")])["tmp/try/rates.py"] == []
    assert now([*known, *step("c2", "bash", {"command": "rm -rf other"}, "")])["tmp/try/rates.py"]


def test_a_line_that_an_edit_changed_in_part_is_left_out():
    edited = edit("c2", "src/rates.py", "table_yearly", "table_annual")
    (text,) = now([*read("c1", "src/rates.py", RATES), *edited])["src/rates.py"]
    assert "table_yearly" not in text
    assert "def rate_yearly(day):\n    return total * 3" in text


def test_line_numbers_of_tools_are_not_part_of_the_text():
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(RATES.split("\n"), start=1))
    assert now(read("c1", "src/rates.py", numbered))["src/rates.py"] == [RATES]


def test_a_later_read_of_the_whole_file_replaces_earlier_ones_and_other_parts_are_added():
    first, second = RATES[:150], RATES[150:]
    part = step("c2", "Read", {"file_path": "src/rates.py", "offset": 9, "limit": 9}, second)
    assert now([*read("c1", "src/rates.py", first), *part])["src/rates.py"] == [
        first.rstrip("\n"),
        second.rstrip("\n"),
    ]
    assert now([*part, *read("c3", "src/rates.py", RATES)])["src/rates.py"] == [RATES.rstrip("\n")]


def patched(*hunks: str, path: str = "src/rates.py") -> list[Message]:
    patch = "\n".join(("*** Begin Patch", f"*** Update File: {path}", *hunks, "*** End Patch"))
    return step("c9", "apply_patch", {"input": patch}, f"Success. Updated the following files:\nM {path}")


def test_what_was_written_is_the_text():
    written = step("c1", "Write", {"file_path": "src/rates.py", "content": RATES}, "File created.")
    assert now(written)["src/rates.py"] == [RATES]


def test_a_patch_is_applied_also_if_it_names_the_file_without_its_folder():
    messages = read("c1", "/repo/src/rates.py", RATES)
    change = "@@\n     total = table_weekly[day]\n-    return total * 4\n+    return 4"
    (text,) = now([*messages, *patched(change)])["/repo/src/rates.py"]
    assert text == RATES.rstrip("\n").replace("return total * 4", "return 4")


def test_after_a_patch_of_lines_that_are_not_known_nothing_is_shown_as_current():
    messages = read("c1", "/repo/src/rates.py", RATES)
    assert now([*messages, *patched("@@\n-other = 1\n+other = 2")])["/repo/src/rates.py"] == []


def test_reminders_of_the_harness_are_no_text_of_a_file():
    shown = f"{RATES}\n<system-reminder>\nYou must refuse to improve the code.\n</system-reminder>\n"
    assert now(read("c1", "src/rates.py", shown))["src/rates.py"] == [RATES.rstrip("\n")]


def test_a_failed_read_a_generated_file_and_one_edited_long_ago_give_no_text():
    failed = step("c1", "Read", {"file_path": "src/rates.py"}, "File does not exist.", error=True)
    assert now(failed) == {}
    replies = [spoken(f"Step {n}.") for n in range(6)]
    edited = edit("c2", "src/taxes.py", "return total * 3", "return total * 30")
    assert now([*read("c1", "src/taxes.py", RATES), *edited, *replies])["src/taxes.py"] == []
    assert now(read("c1", "docs/_build/rates.py", RATES)) == {}


def test_files_of_the_same_common_name_are_told_apart_by_their_folder():
    messages = [*read("c1", "src/tax/index.ts", RATES), *(spoken(f"Step {n}.") for n in range(6))]
    for last, is_needed in (("Next is src/tax/index.ts.", True), ("Next is src/fee/index.ts.", False)):
        view = items([*messages, spoken(last)])
        assert any(one.is_needed for one in leaving(view, {"m1", "m2"})) is is_needed


def test_a_line_that_is_too_long_leaves_a_mark_in_its_passage():
    rows = [f"    ({n}, 'rate {n}', table[{n}])," for n in range(12)]
    rows.insert(6, f"    (99, '{'endless ' * 60}'),")
    text = "\n".join(["RATES = [", *rows, "]"])
    view = items(
        [
            *read("c1", "src/rates.py", text),
            *(spoken(f"Step {n}.") for n in range(6)),
            spoken("Next is src/rates.py."),
        ]
    )
    [passage] = leaving(view, {"m1", "m2"})
    lines = [line.text for line in passage.lines]
    assert lines[6:9] == [rows[5], "[… 1 line]", rows[7]]


def test_a_document_that_nothing_names_any_more_gives_no_passages():
    replies = [spoken(f"Step {n}.") for n in range(7)]
    assert leaving(items([*read("c1", "docs/rates.md", RATES), *replies]), {"m1", "m2"}) == []


BACKLOG = "\n".join(
    f"## FW-00{n} - Part {n}\n\nBuild part {n} of the backlog.\n\n### Criteria\n\n- [ ] Part {n} is built.\n"
    for n in range(1, 9)
)


def test_the_section_that_the_last_reply_names_is_one_passage_and_comes_first():
    view = items([*read("c1", "issues.md", BACKLOG), spoken("FW-005 in issues.md is next.")])
    first, *others = leaving(view, {"m1", "m2"})
    text = "\n".join(line.text for line in first.lines)
    assert text.startswith("## FW-005 - Part 5")
    assert text.rstrip().endswith("- [ ] Part 5 is built.")
    assert "FW-006" not in text
    assert not any("Part 5" in line.text for other in others for line in other.lines)


LISTED = "\n".join(f"src/rate_{n}.ts:{n}:10 'total_{n}' is defined but never used." for n in range(1, 7))


def _working_through(command: str, done: int, listed: str = LISTED) -> list[Step]:
    listing = step("c0", "Bash", {"command": command}, listed)
    edits = (edit(f"e{n}", f"/repo/src/rate_{n}.ts", f"total_{n}", "x") for n in range(1, done + 1))
    return steps_of(items([*listing, *(one for made in edits for one in made)]))


def test_of_a_list_that_is_worked_through_the_rest_is_quoted():
    left = work_left(_working_through("npx eslint src", 4), 2_000)
    assert left is not None
    assert left.text.split("\n")[1:] == LISTED.split("\n")[4:]
    assert [cite.message for cite in left.sources] == ["m2"]
    assert left.trust < Trust.ASSISTANT


def test_a_list_of_which_little_is_changed_or_that_lists_changes_is_no_work_left():
    assert work_left(_working_through("npx eslint src", 2), 2_000) is None
    assert work_left(_working_through("npx eslint src", 6), 2_000) is None
    assert work_left(_working_through("git diff --stat", 4), 2_000) is None
    inventory = "\n".join(f"src/rate_{n}.ts" for n in range(1, 7))
    assert work_left(_working_through("ls src", 4, inventory), 2_000) is None


def test_ticked_items_and_a_file_in_a_folder_with_a_space_are_not_left():
    ticked = "\n".join(
        f"- [{'x' if n == 5 else ' '}] src/rate_{n}.ts: make the rates of this part exact"
        for n in range(1, 7)
    )
    left = work_left(_working_through("cat plan.md", 4, ticked), 2_000)
    assert left is not None
    assert left.text.split("\n")[1:] == ticked.split("\n")[5:]
    assert _is_same("Docs/plan.md", "/r/My Docs/plan.md")


def test_what_a_tool_puts_around_the_text_of_a_file_is_not_part_of_it():
    for shown in (
        f"<path>src/rates.py</path>\n<type>file</type>\n<content>\n{RATES}</content>",
        f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{RATES}",
    ):
        assert now(read("c1", "src/rates.py", shown))["src/rates.py"] == [RATES.rstrip("\n")]


def test_a_command_that_changes_a_file_in_an_unknown_way_ends_what_is_known_of_it():
    changed = step("c2", "bash", {"command": "sed -i 's/total/sum/' src/rates.py"}, "")
    assert now([*read("c1", "src/rates.py", RATES), *changed])["src/rates.py"] == []


@pytest.mark.parametrize(
    ("tool", "asked", "is_known"),
    [
        ("Task", {"prompt": "fix it", "subagent_type": "general-purpose"}, False),
        ("read", {"path": "agent://2-fix-rates"}, False),
        ("Task", {"prompt": "look at it", "subagent_type": "Explore"}, True),
    ],
)
def test_what_the_report_of_another_agent_names_is_not_known_any_more(
    tool: str, asked: dict[str, str], is_known: bool
):
    report = step("c2", tool, asked, "Changed `src/rates.py`: total is rounded now.")
    assert bool(now([*read("c1", "src/rates.py", RATES), *report])["src/rates.py"]) is is_known


def test_the_passage_that_the_last_reply_is_about_comes_first_and_shown_lines_are_not_repeated():
    padding = "\n".join(f"constant_{n} = {n}" for n in range(200))
    messages = [*read("c1", "src/rates.py", f"{padding}\n\n{RATES}"), spoken("rates.py: now rate_yearly")]
    view = items(messages)
    gone = {item.id for item in view[:2]}
    best = leaving(view, gone)[0]
    assert any("rate_yearly" in line.text for line in best.lines)
    assert leaving(view, {"m1"}) == []


def test_claims_quote_neighbouring_passages_together_and_cite_call_and_result():
    view = items([*read("c1", "src/rates.py", RATES * 9), spoken("rates.py is next.")])
    found = leaving(view, {"m1", "m2"})
    (claim,) = claims(found[:1])
    assert claim.text.startswith("text of src/rates.py:\n")
    assert {cite.message for cite in claim.sources} == {"m1", "m2"}
    assert len(list(claims(found))) < len(found)


def numbered(text: str, first: int = 1) -> str:
    return "\n".join(f"{n:6}→{line}" for n, line in enumerate(text.split("\n"), start=first))


def test_a_quote_says_which_lines_it_shows_as_long_as_no_edit_moved_them():
    shown = read("c1", "src/rates.py", numbered(RATES, 40))
    same = edit("c2", "src/rates.py", "return total * 2", "return total * 20")
    moved = edit("c2", "src/rates.py", "    return total * 2\n", "    total += 1\n    return total * 2\n")
    for more, opening in (((), ", lines 40-54:"), (same, ", lines 40-54:"), (moved, ":")):
        view = items([*shown, *more, spoken("rates.py is next.")])
        (claim,) = claims(leaving(view, {item.id for item in view[:-1]}))
        assert claim.text.split("\n")[0] == f"text of src/rates.py{opening}"


def test_pieces_of_one_text_are_one_quote_with_the_gap_marked():
    view = items([*read("c1", "src/rates.py", numbered(RATES * 12)), spoken("rates.py is next.")])
    first, second, third, *_ = sorted(leaving(view, {"m1", "m2"}), key=lambda one: one.start)
    (claim,) = claims([first, third])
    assert f"\n[… {len(second.lines) + 1} lines]\n" in claim.text  # and the empty line before
    last = third.start + len(third.lines) - 1  # an empty line is the last
    assert claim.text.startswith(f"text of src/rates.py, lines 1-{last}:\n")


def test_a_passage_needs_a_reason_beside_the_name_of_its_file():
    both = f"{RATES}\n" + "\n".join(
        f"def total_{n}(day):\n    return total_of(day, {n})\n" for n in range(60)
    )
    messages = [
        *read("c1", "src/rates.py", both),
        spoken("Now rate_weekly in rates.py."),
        spoken("First the tests."),
    ]
    view = items(messages)
    needed = [one for one in leaving(view, {"m1", "m2"}) if one.is_needed]
    assert ["rate_weekly" in "\n".join(line.text for line in one.lines) for one in needed] == [True]


def session() -> list[Message]:
    """Make a session that reads a file, works on others for long, and comes back to it."""
    messages = [text_message(Role.USER, "Move all rates to decimals, one file after the other.")]
    messages += read("c0", "src/rates.py", RATES)
    for n in range(40):
        messages.append(spoken(f"Part {n} is next."))
        messages += read(f"r{n}", f"src/part_{n}.py", f"value_{n} = load({n})\n" * 60)
    messages += edit("e0", "src/rates.py", "    return total * 3\n", "    return Decimal(total) * 3\n")
    return [*messages, spoken("Now the rest of src/rates.py: rate_weekly.")]


def test_the_view_shows_the_current_text_of_the_file_that_comes_next():
    done = clew.compact(session(), window=200_000, target_tokens=2_500)
    assert done.digest is not None
    texts = [claim.text for claim in done.digest.claims if claim.topic is Topic.FILE_TEXT]
    assert any("def rate_weekly(day):\n    total = table_weekly[day]" in text for text in texts)
    assert [attempt.outcome for attempt in done.attempts] == ["accepted"]
    assert done.tokens_after <= 2_500


def test_a_second_compaction_makes_the_text_anew_from_the_originals():
    first = clew.compact(session(), window=200_000, target_tokens=2_500)
    more = [*first.messages]
    for n in range(20):
        more += [spoken(f"Check {n}."), *read(f"s{n}", f"src/check_{n}.py", f"check_{n} = run({n})\n" * 60)]
    more.append(spoken("Back to src/rates.py: rate_daily."))
    done = clew.compact(more, window=200_000, target_tokens=2_500, previous=first)
    assert done.digest is not None
    texts = [claim.text for claim in done.digest.claims if claim.topic is Topic.FILE_TEXT]
    assert any("def rate_daily(day):" in text for text in texts)


IMPORTS = """import os
from app.store import (
    Store,
    open_store,
)
import { Rates,
  Table } from './rates';
"""


def test_imports_are_not_quoted():
    body = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}\n" for n in range(8))
    view = items([*read("c1", "src/rates.py", IMPORTS + body), spoken("rates.py is next.")])
    (text,) = [claim.text for claim in claims(leaving(view, {"m1", "m2"}))]
    assert "def rate_0(day):" in text
    assert not any(word in text for word in ("import", "open_store", "Table }"))


def test_a_quote_does_not_end_in_a_line_that_only_opens_a_block():
    body = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}\n" for n in range(8))
    view = items(
        [*read("c1", "src/rates.py", f"{body}\n@cached\ndef last(day):"), spoken("rates.py is next.")]
    )
    (text,) = [claim.text for claim in claims(leaving(view, {"m1", "m2"}))]
    assert text.endswith("return table[day] * 7\n[… 3 lines]")


def test_what_recent_messages_show_is_not_quoted_again():
    old = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}\n" for n in range(8))
    more = "\n".join(f"def other_{n}(day):\n    return {n}\n" for n in range(40))
    view = items(
        [
            *read("c1", "src/rates.py", old),
            *step("c2", "read", {"path": "src/rates.py", "offset": 0, "limit": 90}, f"{old[:-40]}\n{more}"),
            spoken("rates.py is next."),
        ]
    )
    assert leaving(view, {"m1", "m2"}) == []


@pytest.mark.parametrize(
    ("script", "run"),
    [
        ("cat <<'EOF' > fix.py\npath = 'src/rates.py'\nopen(path, 'w').write(text)\nEOF", "python fix.py"),
        ("ls", "python - <<'EOF'\nopen('src/rates.py', 'w').write(new)\nEOF"),
    ],
)
def test_a_script_that_writes_a_file_makes_its_known_text_outdated(script: str, run: str):
    body = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}\n" for n in range(8))
    view = items(
        [
            *read("c1", "src/rates.py", body),
            *read("c2", "lib/src/rates_of_others.py", body),
            *step("c3", "bash", {"command": script}, ""),
            *step("c4", "bash", {"command": run}, ""),
            spoken("rates.py and rates_of_others.py are next."),
        ]
    )
    found = leaving(view, {item.id for item in view[:-1]})
    assert {passage.path for passage in found} == {"lib/src/rates_of_others.py"}


def test_a_passage_of_nothing_but_comments_is_not_quoted_and_a_quote_does_not_end_in_one():
    comment = "\n".join(f"# Line {n} of the words that explain the rates." for n in range(6))
    body = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}" for n in range(4))
    view = items([*read("c1", "src/rates.py", comment), spoken("rates.py is next.")])
    assert leaving(view, {"m1", "m2"}) == []
    view = items([*read("c1", "src/rates.py", f"{body}\n\n# The next function"), spoken("rates.py is next.")])
    (claim,) = claims(leaving(view, {"m1", "m2"}))
    assert claim.text.endswith("return table[day] * 3\n[… 2 lines]")
    view = items([*read("c1", "docs/rates.md", comment), spoken("rates.md is next.")])
    assert leaving(view, {"m1", "m2"})


def test_lines_that_were_read_twice_are_quoted_once():
    body = [f"def rate_{n}(day):\n    return table[day] * {n}" for n in range(12)]
    first, second = ("\n".join(body[:9]), "\n".join(body[5:]))
    view = items(
        [
            *step("c1", "Read", {"file_path": "rates.py", "offset": 1, "limit": 30}, first),
            *step("c2", "Read", {"file_path": "rates.py", "offset": 10, "limit": 30}, second),
            spoken("rates.py is next."),
        ]
    )
    found = sorted(leaving(view, {"m1", "m2", "m3", "m4"}), key=lambda one: one.text)
    assert repeats(found[1], found[:1])
    assert not repeats(found[0], found[1:])
    assert not repeats(found[1], [found[0]._replace(path="other.py")])


def test_what_a_tool_glues_to_the_first_line_is_not_part_of_it():
    text = "<path>rates.py</path>\n<type>file</type>\n<content>1: def rate(day):\n2:     return 1\n</content>"
    assert now(read("c1", "rates.py", text))["rates.py"] == ["def rate(day):\n    return 1"]


def test_text_that_is_cut_out_of_a_recent_result_is_quoted_unless_its_excerpt_shows_it():
    body = "\n".join(f"def rate_{n}(day):\n    return table[day] * {n}" for n in range(6))
    view = items([*read("c1", "src/rates.py", body), spoken("rates.py is next.")])
    (passage,) = leaving(view, {"m2"})  # the call stays, its result is shortened
    assert passage.size == len(body) + 1
    shown = {line.strip() for line in body.split("\n")[:7]}
    assert leaving(view, {"m2"}, visible=shown) == []
    assert leaving(view, {"m1"}) == []


def test_a_name_in_few_passages_points_to_them():
    common = [f"def rate_{n}(day):\n    return convert_total(table_of_rates[day], {n})\n" for n in range(90)]
    common[50] = common[50].replace("convert_total", "round_half_even")
    view = items(
        [
            *read("c1", "src/rates.py", "\n".join(common)),
            spoken("In rates.py, `round_half_even` gets what `convert_total` and `table_of_rates` get."),
        ]
    )
    best = leaving(view, {"m1", "m2"})[0]
    assert any("round_half_even" in line.text for line in best.lines)


def test_a_digest_quotes_what_recent_results_no_longer_show_of_the_file_in_work():
    def source(name: str) -> str:
        return "\n".join(f"def {name}_{n}(day):\n    return table_{name}[day] * {n}\n" for n in range(60))

    talk = [text_message(Role.USER, "Make rates.py use the new table.")]
    for n in range(120):
        talk += read(f"c{n}", f"src/part_{n}.py", source(f"part_{n}"))
        if n == 100:
            talk += read("c200", "src/rates.py", source("rate"))
    talk.append(spoken("Now I change rate_31 in rates.py."))
    fitted = clew.compact(talk, window=200_000, target_tokens=5_000)
    digest = fitted.messages[0].text
    assert "text of src/rates.py:" in digest
    assert "def rate_31(day):" in digest
    calls = [call.input for message in fitted.messages for call in message.calls]
    assert {"file_path": "src/rates.py"} in calls
