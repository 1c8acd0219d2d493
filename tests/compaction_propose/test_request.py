"""The request in progress, edits shown by their changes, and the index of exact values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.render import render_digest
from clew.compaction.propose import digest_content
from clew.compaction.propose.digest_builder import _without_parts
from clew.compaction.propose.digest_input import _repeats
from clew.compaction.propose.excerpt import both_ends
from clew.compaction.propose.request_text import request_excerpt
from clew.compaction.propose.shrink import _changed_only
from clew.compaction.task import CompactionTask
from clew.ledger.turns import Turn
from clew.message import Cite, Message, Origin, Role, Trust, text_message
from tests.compaction_propose.sessions import COUNTER, Living, items, read, spoken, step

PLAN = "Implement this plan:\n" + "\n".join(f"{n}. Change module_{n} as agreed." for n in range(60))


LONG = f"also go through it. {'And on. ' * 200}"


def work(count: int) -> list[Message]:
    return [
        message
        for n in range(count)
        for message in (spoken(f"Now step_{n}."), *step(f"c{n}", "run", {"cmd": f"make {n}"}, "ok\n" * 80))
    ]


def digest_of(messages: list[Message], tokens: int) -> Digest:
    (digest,) = Living(messages).compact(tokens).digests
    return digest


def test_a_plan_that_leaves_the_view_is_quoted_whole_if_it_fits_its_share():
    digest = digest_of([text_message(Role.USER, PLAN), *work(120)], 4_000)
    (goal,) = (one for one in digest.claims if one.kind is ClaimKind.GOAL)
    assert (goal.text, goal.verbatim) == (PLAN, True)


def test_a_later_request_comes_first_and_is_not_listed_as_open_again():
    asked = "Rename the flag to --quiet.\nKeep the old name as an alias."
    messages = [text_message(Role.USER, "Fix the parser."), *work(30), spoken("I looked at all of it.")]
    digest = digest_of([*messages, text_message(Role.USER, asked), *work(90)], 3_000)
    assert (digest.claims[0].kind, digest.claims[0].text) == (ClaimKind.NEXT, asked)
    assert [one.text for one in digest.claims if asked in one.text] == [asked]
    first, second = "- user: Rename the flag to --quiet.", "  Keep the old name as an alias."
    shown = render_digest(digest)
    assert f"Now:\n[m93]\n{first}\n{second}\n" in shown
    assert "Goal:" not in shown  # that was reported on, and is part of the story
    assert "- user: Fix the parser." in shown


def test_a_request_in_view_is_named_in_a_line():
    digest = digest_of(
        [text_message(Role.USER, "Fix the parser."), *work(60), text_message(Role.USER, LONG)], 3_000
    )
    (now,) = (one for one in digest.claims if one.kind is ClaimKind.NEXT)
    assert now.text.startswith("also go through it. And on.")
    assert now.text.endswith("…")
    assert len(now.text) < 260


def test_a_cleared_conversation_has_the_goal_that_follows():
    messages = [text_message(Role.USER, "Draw the chart as bars."), *work(20), spoken("Done.")]
    cleared = [text_message(Role.USER, "/clear"), text_message(Role.USER, "Count the lines per tag.")]
    digest = digest_of([*messages, *cleared, *work(80)], 3_000)
    assert [one.text for one in digest.claims if one.kind is ClaimKind.GOAL] == ["Count the lines per tag."]


@given(st.lists(st.text("ab \n", max_size=60), min_size=1, max_size=40), st.integers(60, 900))
def test_both_ends_are_whole_lines_in_order(lines: list[str], most: int):
    text = "\n".join(lines)
    shown = both_ends(text, most)
    if len(text) <= most:
        assert shown == text
    elif shown is not None:
        head, gap, tail = shown.partition("[… ")
        assert text.startswith(head)
        assert not gap or text.endswith(tail.partition("]\n")[2])


ISSUE = """<issue>
The importer drops the last row.
```python
first = 1
second = 2
other = 2
another = 2
third = "a long line of an example, as reports have them"
fourth = "another long line of it, which says little more"
```
</issue>

## Boundaries
- Never modify the tests.

## Useful Command Examples
### Edit a file
```bash
sed -i 's/a/b/' file
```

## Submission
Run exactly `submit` when you are done."""


def test_a_long_request_loses_its_examples_before_its_task():
    padded = f"{ISSUE}\n{'It matters to us. ' * 100}"
    shown = request_excerpt(padded, 9_000)
    assert shown is not None
    assert "sed -i" not in shown
    assert "## Useful Command Examples\n[… 5 lines]\n" in shown
    for kept in ("fourth = ", "Never modify the tests.", "Run exactly `submit`"):
        assert kept in shown
    assert request_excerpt(ISSUE, 9_000) == ISSUE


def test_with_less_room_code_is_shortened_before_the_words_around_it():
    shown = request_excerpt(ISSUE, len(ISSUE) - 130)
    assert shown is not None
    assert "another = 2\n[… 2 lines]\n```" in shown
    assert "sed -i" not in shown
    assert "Run exactly `submit`" in shown
    assert "The importer drops" in shown


def test_a_task_in_a_tag_gets_more_room_than_the_instructions_around_it():
    report, more = "It drops a row of the table.\n" * 40, "You may use any tool of the shell.\n" * 40
    tagged = request_excerpt(f"<issue>\n{report}</issue>\n{more}", 1_000)
    plain = request_excerpt(f"{report}\n{more}", 1_000)
    assert tagged is not None
    assert plain is not None
    assert tagged.count("drops") > plain.count("drops") > 10
    assert tagged.endswith("any tool of the shell.\n")


def test_an_example_that_the_user_describes_is_no_section():
    text = "\n".join(("Fix the example app.", "Its output has an example of a bug:", *("row " * 60,) * 10))
    assert request_excerpt(text, 9_000) == text


@given(st.lists(st.text("ab# \n", max_size=60), min_size=1, max_size=40), st.integers(60, 900))
def test_a_shortened_request_consists_of_whole_lines_in_order(lines: list[str], most: int):
    text = "\n".join(lines)
    shown = request_excerpt(text, most)
    if len(text) <= most:
        assert shown == text
    elif shown is not None:
        rest = iter(text.split("\n"))
        kept = [line for line in shown.split("\n") if not line.startswith("[… ")]
        assert all(any(line == other for other in rest) for line in kept)


def test_a_title_and_a_closing_line_alone_are_not_both_ends_of_a_request():
    background = "The queue was moved to another group, and nobody wrote down why. " * 40
    asked = f"Fix the typo in README.\n\n{background}\n\n{background}\n\nTake your time."
    assert both_ends(asked, 1_600) is None
    (goal,) = (
        one
        for one in digest_of([text_message(Role.USER, asked), *work_alone(90)], 3_000).claims
        if one.kind is ClaimKind.GOAL
    )
    assert goal.text.startswith(f"Fix the typo in README.\n\n{background[:300]}")


WRAPPED = (
    "# Context\n\nYou are an agent of this tool.\n\n"
    + "\n".join(f"{n}. Do only what page {n} says, and commit it with the prefix TOOL." for n in range(20))
    + "\n\n# User Request\n\nStart phase 01."
)


def test_instructions_that_a_tool_wrote_around_the_request_are_shown_with_it():
    digest = digest_of([text_message(Role.USER, WRAPPED), *work_alone(90)], 6_000)
    (goal,) = (one for one in digest.claims if one.kind is ClaimKind.GOAL)
    assert (goal.text, goal.verbatim, goal.trust) == (WRAPPED, True, Trust.USER)
    assert not digest.pins


def test_instructions_around_the_latest_request_replace_those_around_the_goal():
    later = WRAPPED.replace("Start phase 01.", "Then rename the flag to --quiet.")
    talk = [text_message(Role.USER, WRAPPED), *work_alone(4), text_message(Role.USER, later)]
    digest = digest_of([*talk, *work_alone(90)], 9_000)
    assert [one.text for one in digest.claims if one.kind is ClaimKind.NEXT] == [later]
    assert [one.text for one in digest.claims if one.kind is ClaimKind.GOAL] == ["Start phase 01."]


LINES = st.lists(st.sampled_from(("a = 1", "b = 2", "c = 3", "return a")), max_size=30)


@given(LINES, LINES, LINES, LINES)
def test_a_shortened_edit_shows_every_changed_line(
    head: list[str], old: list[str], new: list[str], tail: list[str]
):
    before, after = "\n".join([*head, *old, *tail]), "\n".join([*head, *new, *tail])
    shown = _changed_only({"path": "a.py", "old_string": before, "new_string": after}, 20)
    assert shown["path"] == "a.py"
    if before != after:
        assert shown["old_string"] != shown["new_string"]
    for whole, key in ((before, "old_string"), (after, "new_string")):
        kept = [line for line in str(shown[key]).split("\n") if not line.startswith("[… ")]
        assert "\n".join(kept) in whole


def test_a_request_that_only_agrees_is_shown_with_the_offer_it_answers():
    offer = "If you want, I can also export the markdown without that section."
    before = [text_message(Role.USER, "Hide the section."), *work(10), spoken(f"Hidden.\n\n{offer}")]
    digest = digest_of([*before, text_message(Role.USER, "yeah do that for both"), *work_alone(90)], 3_000)
    now = [one.text for one in digest.claims if one.kind is ClaimKind.NEXT]
    assert now[:2] == ["yeah do that for both", offer]


def work_alone(count: int) -> list[Message]:
    return [one for n in range(count) for one in step(f"c{n}", "run", {"cmd": f"make {n}"}, f"{n} ok\n" * 80)]


def test_the_beginning_of_a_request_in_view_is_not_listed_as_open_again():
    digest = digest_of([text_message(Role.USER, "Fix it."), *work(60), text_message(Role.USER, LONG)], 3_000)
    assert len([one for one in digest.claims if "also go through it." in one.text]) == 1


def agreed_after(*messages: Message) -> Digest:
    offer = "Shall I sort the steps by their index and attach results by type?"
    reported = spoken(f"I listed the open points.\n\n{offer}")
    digest = digest_of([*messages, reported, text_message(Role.USER, "yup!"), *work_alone(90)], 3_000)
    assert [one.text for one in digest.claims if one.kind is ClaimKind.NEXT][:2] == ["yup!", offer]
    return digest


def test_an_agreement_is_shown_with_the_offer_it_accepts():
    fix = [text_message(Role.USER, "Fix the parser."), *work(10)]
    assert [one.text for one in agreed_after(*fix).claims if one.kind is ClaimKind.GOAL] == [
        "Fix the parser."
    ]


def test_an_agreement_that_was_answered_is_over_when_the_agent_is_told_something_else():
    offer = "Shall I sort the steps?"
    talk = [text_message(Role.USER, "Fix it."), *work(10), spoken(f"Fixed.\n\n{offer}")]
    talk += [text_message(Role.USER, "yup!"), *work(3), spoken("The steps are sorted.")]
    command = replace(text_message(Role.USER, "Review all changes."), origin=Origin.INJECTED)
    digest = digest_of([*talk, command, *work_alone(90)], 3_000)
    assert "yup!" not in [one.text for one in digest.claims if one.kind is ClaimKind.NEXT]


def test_a_goal_before_the_offer_that_was_accepted_is_past():
    fix = [text_message(Role.USER, "Fix the parser."), *work(10), spoken("I fixed the parser.")]
    digest = agreed_after(*fix, text_message(Role.USER, "Which points are open in the reader?"), *work(3))
    assert not [one for one in digest.claims if one.kind is ClaimKind.GOAL and "parser" in one.text]


def test_a_longer_beginning_of_the_request_in_view_repeats_it():
    asked = "Tests fail on the server:\n" + "\n".join(f"--- FAIL: TestStatus_{n} (0.00s)" for n in range(40))
    cites = (Cite("m9"),)
    item = Claim("", ClaimKind.OPEN, f"request: {asked[:500]}", cites, Trust.USER)
    now = Claim("", ClaimKind.NEXT, f"{asked[:240]}…", cites, Trust.USER)
    assert _repeats(item, now, asked)
    assert not _repeats(item._replace(text="request: Tests fail on my laptop too."), now, asked)


def test_a_long_plan_is_quoted_beyond_what_the_ledger_keeps_of_it():
    plan = "Implement this plan:\n\n" + "\n\n".join(f"{n}. Change module_{n} as agreed." for n in range(120))
    asked = "Make the flag of the second step optional."
    digest = digest_of(
        [text_message(Role.USER, plan), *work(3), text_message(Role.USER, asked), *work_alone(90)], 9_000
    )
    assert [one.text for one in digest.claims if one.kind is ClaimKind.GOAL] == [plan]


def test_a_plan_stays_whole_although_a_later_request_is_in_progress():
    asked = "Make the flag of the second step optional, and say so in its help."
    digest = digest_of(
        [text_message(Role.USER, PLAN), *work(3), text_message(Role.USER, asked), *work_alone(90)], 9_000
    )
    assert [one.text for one in digest.claims if one.kind is ClaimKind.GOAL] == [PLAN]


def test_the_reason_of_a_refused_call_is_not_the_request_in_progress():
    refused = step(
        "r", "Bash", {"command": "git checkout -b x"}, "we are on a branch, double check", error=True
    )
    view = items([text_message(Role.USER, PLAN), *refused])
    ledger = read(view)
    ledger.turns.all.append(Turn(Cite("m3"), asks=True))
    request = CompactionTask(view=view, counter=COUNTER, target_tokens=100, ledger=ledger).request
    assert request is not None
    assert request.text == PLAN


def test_a_result_is_excerpted_around_the_names_at_the_end_of_a_long_plan():
    steps = "\n".join(f"{n}. Describe the meaning of column number {n} in the manual." for n in range(1, 120))
    plan = f"Implement this plan:\n{steps}\n120. Start at 1 in `write_entries`."
    code = [f"def part_{n}():\n    return {n}\n" for n in range(900)]
    code.insert(450, "def write_entries(summary):\n    index = 0  # where it starts\n")
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": plan},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "\n".join(code)}],
        },
        {"role": "assistant", "content": "I have read it."},
        {"role": "user", "content": "Go on."},
    ]
    done = clew.compact(messages, window=200_000, target_tokens=4_000)
    assert "index = 0  # where it starts" in str(done.messages)


def test_a_decision_that_the_quoted_request_contains_is_not_listed_again():
    cites = (Cite("m1"),)
    asked = Claim(
        "", ClaimKind.USER, "Build a context. Keep it simple. No login.", cites, Trust.USER, verbatim=True
    )
    inside = Claim("", ClaimKind.DECISION, "Keep it simple.", cites, Trust.USER, verbatim=True)
    later = inside._replace(sources=(Cite("m9"),))
    assert _without_parts([asked, inside, later]) == [asked, later]


def test_a_file_whose_text_is_quoted_is_not_shown_by_its_edit_as_well():
    edit = Claim("", ClaimKind.ARTIFACT, "/w/src/a.py\n+ x = 1", (Cite("m1"),), Trust.UNTRUSTED)
    assert digest_content._is_of(edit, {"src/a.py"})
    assert not digest_content._is_of(edit, {"c/a.py", "lib/src/a.py"})
