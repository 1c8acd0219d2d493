"""The story of a digest: quotes in whole sentences, the same however often a session was compacted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.last_edits import EDIT_LINES, LONGEST_EDIT, last_edits
from clew.compaction.propose.report_quotes import (
    LONGEST_QUOTE,
    MOST_RUNS,
    RUN,
    announces,
    note_spans,
    quoted_spans,
)
from clew.compaction.propose.story import LEVELS, LONG_AGO, LONG_ASK, OLDEST_NOTE, Story
from clew.log.store import MemoryStore
from clew.message import Message, Role, Trust, text_message
from clew.session import Session
from tests.compaction_propose.sessions import items, read, spoken, step
from tests.session.talk import answer, call

SENTENCES = (
    "I fixed the parser in `parse.py`.",
    "All 12 tests pass now.",
    "Great!",
    "The cause was a loop that ended early because the last line had no newline.",
    "Shall I also update the docs?",
    "## What changed",
    "It is committed as 1a2b3c4 on branch fix/parser.",
    "Nothing else was touched.",
)
CODE = "```python\nsecret = inside_the_fence()\n```"
reports = st.lists(
    st.tuples(st.sampled_from((*SENTENCES, CODE)), st.sampled_from((" ", "\n", "\n\n"))),
    min_size=1,
    max_size=14,
).map(lambda pairs: "".join(map("".join, _apart(pairs))))


def _apart(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put code blocks and headings on lines of their own."""
    found: list[tuple[str, str]] = []
    for text, gap in pairs:
        alone = text.startswith(("```", "#"))
        if alone and found:
            found[-1] = (found[-1][0], "\n")
        found.append((text, "\n" if alone else gap))
    return found


# Quotes of a report -----------------------------------------------------------------------------------


@given(reports, st.integers(20, 900))
def test_a_report_is_quoted_in_whole_sentences_in_order_and_within_its_limit(text: str, most: int):
    spans = quoted_spans(text, most)
    assert spans
    assert len(spans) <= max(MOST_RUNS, most // RUN)
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        last = end
    if len(text.strip()) <= most:
        assert spans == [(len(text) - len(text.lstrip()), len(text.rstrip()))]
        return
    quotes = [text[start:end] for start, end in spans]
    assert sum(len("".join(quote.split())) for quote in quotes) <= most
    assert not any("inside_the_fence" in quote for quote in quotes) or text.lstrip().startswith("```")
    says_little = ("Great!", "## What changed", "Shall I also update the docs?")
    if any(len(one) <= most for one in SENTENCES if one in text and one not in says_little):
        assert all(quote.startswith(SENTENCES) and quote.endswith(SENTENCES) for quote in quotes)


def test_a_short_report_is_quoted_whole_without_blanks_around_it():
    assert quoted_spans("\n  Done: all 12 tests pass.\n", 200) == [(3, 27)]


def test_courtesies_and_questions_give_way_to_what_was_done():
    text = (
        "Perfect! I fixed the parser in `parse.py`. Let me know what you think about all of this, will you? "
        "Shall I go on with the docs? All 12 tests pass now."
    )
    assert [text[a:b] for a, b in quoted_spans(text, 70)] == [
        "I fixed the parser in `parse.py`.",
        "All 12 tests pass now.",
    ]


def test_a_report_is_quoted_by_its_verdict_not_by_what_announces_it():
    text = (
        "Transcript restored. Here's the verdict.\n\n"
        "## Result: resume from the transcript does **not** work\n\n"
        "Let me look at the rest. It is read from `conversations.db` alone, whatever else there is.\n\n"
        "| `load()` | `resume.go:428` | decided because it fails now |\n\nSome more words on all of that."
    )
    assert [text[a:b] for a, b in quoted_spans(text, 160)] == [
        "Transcript restored. Here's the verdict.\n\n## Result: resume from the transcript does **not** work",
        "It is read from `conversations.db` alone, whatever else there is.",
    ]


def test_the_steps_that_a_report_announces_at_its_end_are_past():
    text = "Resume works with `--id`. Now the real experiment. Let me read the file."
    assert [text[a:b] for a, b in quoted_spans(text, 400)] == ["Resume works with `--id`."]
    offer = "Resume works with `--id`. Let me know if I should go on."
    assert [text[a:b] for text in [offer] for a, b in quoted_spans(text, 400)] == [offer]
    assert quoted_spans("Let me read the file.", 400) == [(0, 21)]


def test_a_list_is_quoted_from_its_beginning_with_the_line_that_introduces_it():
    shown = "The warning appears if:\n\n1. there is a session\n2. it has `12` checkpoints"
    text = (
        f"{shown}\n3. it was `fixed` before\n\nNothing else is needed for that; the rest is not worth much."
    )
    (low, high), *_ = quoted_spans(text, 80)
    assert text[low:high] == shown


def test_the_number_of_a_heading_and_a_lone_tag_are_not_sentences():
    text = f"<plan>\n### 3. Cleanup of sessions\nThe state is deleted. {'More of it. ' * 20}\n</plan>"
    said = [text[low:high] for low, high in quoted_spans(text, 120)]
    assert said
    assert not any(one.startswith(("Cleanup", "<plan>")) or one.endswith("</plan>") for one in said)


@pytest.mark.parametrize("line", ["The total was rounded twice. " * 5 + "\n", "total " * 30])
def test_a_very_long_report_becomes_several_quotes_that_are_all_of_it(line: str):
    report = "".join(f"{n} {line}" for n in range(40)).strip()
    view = items([text_message(Role.USER, "Why?"), text_message(Role.ASSISTANT, report)])
    story = Story(read(view).turns, {item.id for item in view}, {item.id: item.message for item in view}.get)
    _, *quotes = story.entries(LEVELS[0])[0]
    assert [len(quote.text) <= LONGEST_QUOTE for quote in quotes] == [True] * len(quotes)
    assert len(quotes) > 1
    assert "".join("".join(quote.text for quote in quotes).split()) == "".join(report.split())
    assert all(quote.sources[0].quote(view[1].message) == quote.text for quote in quotes)


@pytest.mark.parametrize(
    ("text", "is_step"),
    [
        ("Perfect! Let me check the help text:", True),
        ("Good. Now let me test it.", True),
        ("Rebasing on the new base:", True),
        ("Let me know which one you want.", False),
        ("I will put the wrappers into a file of their own.", False),
        ("All tests pass. Let me commit this.", False),
    ],
)
def test_a_text_that_only_announces_a_step_is_not_a_report(text: str, is_step: bool):
    assert announces(text) is is_step


def test_rows_of_a_table_come_with_its_head_and_the_head_with_a_row() -> None:
    text = (
        "I fixed the parser because it failed.\n\n| Case | Field |\n|---|---|\n"
        "| Deleted. Gone. | `deleted` |\n| Renamed | `renamed` |\n\nBottom line: not needed."
    )
    head = "\n\n| Case | Field |\n|---|---|\n| Deleted. Gone. | `deleted` |"
    for most, kept in ((70, ""), (132, head)):
        spans = [text[a:b] for a, b in quoted_spans(text, most)]
        assert spans == [f"I fixed the parser because it failed.{kept}", "Bottom line: not needed."]


def test_code_between_two_quoted_sentences_is_left_out():
    text = f"I fixed the parser in `parse.py`.\n{CODE}\nAll 12 tests pass now.\n{'More words. ' * 40}"
    quoted = [text[a:b] for a, b in quoted_spans(text, 60)]
    assert not any("inside_the_fence" in one for one in quoted)


def test_of_one_endless_sentence_the_first_words_are_quoted():
    text = "word " * 400
    ((start, end),) = quoted_spans(text, 100)
    assert (start, text[end]) == (0, " ")
    assert 90 <= end <= 100


@pytest.mark.parametrize("mark", [".", ")"])
def test_the_points_of_a_numbered_list_are_quoted_with_their_numbers(mark: str):
    points = [f"{n}{mark} Fixed the rounding of total_{n} in `part_{n}.py`." for n in range(1, 9)]
    text = "\n".join(["Here is what I did today, in the order of the plan that we made.", *points])
    quoted = [text[start:end] for start, end in quoted_spans(text, 400)]
    assert sum(one.count("Fixed the rounding") for one in quoted) >= 6


@given(st.text(max_size=400), st.integers(1, 300))
def test_any_text_has_quotes_inside_it(text: str, most: int):
    last = 0
    for start, end in quoted_spans(text, most):
        assert last <= start <= end <= len(text)
        last = end


# The turns that leave ---------------------------------------------------------------------------------


def _talk(turns: int):
    messages = []
    for n in range(turns):
        messages += [
            text_message(Role.USER, f"Look at part {n} of the billing code and tell me about it."),
            *step(f"c{n}", "run", {"cmd": f"cat part_{n}.py"}, f"total_{n} = {n}"),
            spoken(f"I fixed `part_{n}.py`. The cause was that total_{n} was rounded twice."),
        ]
    return items(messages)


def test_reports_of_turns_long_past_are_quoted_shorter_and_requests_whole():
    messages = []
    for n in range(20):
        parts = " ".join(
            f"Part {n} has the value {k} now, because the table of it says so." for k in range(20)
        )
        messages += [text_message(Role.USER, f"What is part {n}? {'Look well. ' * 30}"), spoken(parts)]
    view = items(messages)
    story = Story(read(view).turns, {item.id for item in view}, {item.id: item.message for item in view}.get)
    asks, reports = [], []
    for asked, *quotes in story.entries(2_200):
        asks.append(len(asked.text))
        reports.append(sum(len(quote.text) for quote in quotes))
    assert min(asks) > 300
    assert [max(reports[:4]) <= 280, max(reports[4:12]) <= 560, max(reports[12:16]) <= 1_100] == [True] * 3
    assert reports[3] < reports[4] < reports[12] < reports[19]


def test_only_what_left_the_view_is_quoted_and_each_quote_is_exact():
    view = _talk(6)
    ledger, by_id = read(view), {item.id: item.message for item in view}
    gone = {item.id for item in view[:12]}
    story = Story(ledger.turns, gone, by_id.get)
    for level in LEVELS:
        claims = [claim for entry in story.entries(level) for claim in entry]
        assert {claim.sources[0].message for claim in claims} <= gone
        assert [claim.kind for claim in claims] == [ClaimKind.USER, ClaimKind.REPORT] * 3
        for claim in claims:
            cite = claim.sources[0]
            assert by_id[cite.message].parts[cite.part].text[cite.start : cite.end] == claim.text
            assert claim.verbatim
    assert all(one.sources[0].message in gone for one in story.findings)


def test_findings_since_the_last_request_come_first():
    later = [
        text_message(Role.USER, "Now audit the exported file."),
        spoken("I found that 41 of the 120 blocks are not real calls."),
        *step("x", "run", {"cmd": "grep -c block out.md"}, "120"),
        spoken("Confirmed: the parser skips them."),
    ]
    view = [*_talk(3), *items(later, first=13)]
    story = Story(read(view).turns, {item.id for item in view}, {i.id: i.message for i in view}.get)
    sources = [claim.sources[0].number for claim in story.findings]
    assert sources[0] >= 13
    assert sources == sorted(sources, key=lambda number: number < 13)
    assert any(number < 13 for number in sources)


@pytest.mark.parametrize(
    ("answer", "rejects"),
    [
        ("NO! NO! Leave the output layer alone.", True),
        ("That's not what I asked for, look at the input.", True),
        ("I've reverted your last edits.", True),
        ("Stop!", True),
        ("stop", True),
        ("Stop that.", True),
        ("Stop, the output layer is fine.", True),
        ("Stop the dev server.", False),
        ("No problem, go on with the input.", False),
        ("Now look at the input.", False),
    ],
)
def test_findings_that_the_user_rejects_at_once_are_not_quoted(answer: str, rejects: bool):
    talk = [
        text_message(Role.USER, "Why are there duplicates in the file?"),
        spoken("The root cause is in `output.py`: the fix is to deduplicate there."),
        text_message(Role.USER, answer),
        spoken("Confirmed: `input.py` reads every block twice."),
    ]
    view = items(talk)
    story = Story(read(view).turns, {item.id for item in view}, {i.id: i.message for i in view}.get)
    quoted = {claim.sources[0].message for claim in story.findings}
    assert quoted == ({"m4"} if rejects else {"m2", "m4"})


def told_findings(*texts: str, edited: int = 0) -> list[str]:
    view = items([text_message(Role.USER, "Why is it slow?"), *map(spoken, texts)])
    find = {item.id: item.message for item in view}.get
    return [one.text for one in Story(read(view).turns, {i.id for i in view}, find, edited=edited).findings]


def test_a_fault_of_the_agents_own_work_is_over_after_the_next_edit():
    fault = "So my fix is INCORRECT because it leads to wrong results for `joins`."
    cause = "The root cause is that `joins` multiply the rows."
    assert set(told_findings(fault, cause)) == {fault, cause}
    assert told_findings(fault, cause, edited=9) == [cause]
    assert set(told_findings(fault, cause, edited=2)) == {fault, cause}


def test_a_fault_that_a_later_finding_calls_fixed_is_over_also_if_that_stays_in_the_view():
    fault, other = (
        "The root cause is that `load()` runs twice.",
        "The cause of the noise is a bug in `log()`.",
    )
    fixed = "Confirmed: `load()` is now fixed and runs once."
    assert set(told_findings(fault, other, fixed)) == {other, fixed}
    assert set(told_findings(fixed, fault)) == {fixed, fault}
    view = items([text_message(Role.USER, "Why is it slow?"), *map(spoken, (fault, fixed))])
    story = Story(read(view).turns, {"m2"}, {item.id: item.message for item in view}.get)
    assert story.findings == []


def test_what_the_agent_was_doing_at_that_moment_is_no_finding():
    doing = "Applying the last cleanup because `npm run check` failed, then I’ll rerun it."
    cause = "Removing the flag fixed it because `load()` reads it twice."
    assert told_findings(doing, cause) == [cause]


def test_a_finding_that_is_said_again_is_quoted_once():
    first = "The test `test_rate` was written to validate the old (incorrect) behaviour, so it must change."
    again = first.replace("written", "designed")
    assert told_findings(first, again) == [again]


def test_a_later_finding_that_corrects_an_earlier_one_replaces_it():
    first, other = "The root cause is that `load()` runs twice.", "The root cause of the noise is `log()`."
    correct = "It turns out that `load()` is cached by `memo()`."
    assert set(told_findings(first, other, correct)) == {other, correct}
    assert set(told_findings(correct, first)) == {correct, first}


def test_a_message_that_cannot_be_looked_up_is_left_out():
    view = _talk(2)
    story = Story(read(view).turns, {item.id for item in view}, lambda name: None)
    assert story.entries(LEVELS[0]) == []
    assert story.findings == []


# The agent's plan or status ----------------------------------------------------------------------------

PLAN = (
    "Status so far:\n- the parser drops the last line of `notes.txt`\n- tests: 11 of 12 pass\n\nNext:\n"
    + "".join(
        f"{n}. change step {n} of the loop in `parse_{n}.py` and run the tests again\n" for n in range(1, 6)
    )
)


def _working(after: int):
    more = [one for n in range(after) for one in step(f"c{n}", "run", {"cmd": f"cat {n}"}, str(n))]
    view = items([text_message(Role.USER, "Fix the parser."), spoken("Facts:\n" + PLAN), spoken(PLAN), *more])
    return Story(read(view).turns, {item.id for item in view}, {item.id: item.message for item in view}.get)


def test_the_latest_plan_is_quoted_with_the_list_just_before_it():
    claims = _working(after=2).notes(LEVELS[0])
    assert {claim.sources[0].message for claim in claims} == {"m2", "m3"}
    assert all(claim.kind is ClaimKind.NEXT and claim.verbatim for claim in claims)
    assert "5. change step 5" in claims[-1].text


def test_a_plan_made_long_ago_is_not_shown_as_the_current_one():
    assert _working(after=OLDEST_NOTE // 2 - 1).notes(LEVELS[0])
    assert not _working(after=OLDEST_NOTE).notes(LEVELS[0])


def test_a_step_that_a_note_announced_long_ago_is_not_shown_as_the_next_one():
    note = f"It is not used.\nI need to import it.\n{PLAN}"
    view = items([text_message(Role.USER, "Fix the parser."), spoken(note)])
    by_id = {item.id: item.message for item in view}
    for latest, shown in ((2 + LONG_AGO, True), (3 + LONG_AGO, False)):
        claims = Story(read(view).turns, set(by_id), by_id.get, latest=latest).notes(LEVELS[0])
        quoted = "\n".join(claim.text for claim in claims)
        assert "5. change step 5" in quoted
        assert ("I need to import it." in quoted) is shown


def test_a_new_request_ends_the_plan_of_the_last_one():
    view = items(
        [
            text_message(Role.USER, "Fix the parser."),
            spoken(PLAN),
            text_message(Role.USER, "Now write the docs."),
        ]
    )
    assert read(view[:2]).turns.notes
    assert not read(view).turns.notes


def test_lines_of_a_plan_that_the_goal_has_are_left_out():
    known = "- tests: 11 of 12 pass"
    quoted = "\n".join(PLAN[start:end] for start, end in note_spans(PLAN, 3_000, {known}))
    assert known not in quoted
    assert "drops the last line" in quoted


@given(st.text(alphabet="ab1.- \n`", max_size=400), st.integers(1, 300))
def test_a_note_is_quoted_in_order_and_within_its_limit(text: str, most: int):
    spans = note_spans(text, most)
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        last = end
    assert sum(len(line.strip()) for start, end in spans for line in text[start:end].split("\n")) <= max(
        most, sum(len(line.strip()) for line in text.split("\n")) if len(text) <= most else most
    )


# Edits ------------------------------------------------------------------------------------------------


def _edited(old: str, new: str):
    view = items(
        [
            text_message(Role.USER, "Fix it."),
            *step("c1", "Edit", {"file_path": "a.py", "old_string": old, "new_string": new}, "ok"),
        ]
    )
    by_id = {item.id: item.message for item in view}
    return list(last_edits(read(view).artifacts.changed, set(by_id), by_id.get)), view


def test_the_last_edit_of_a_file_is_shown_as_a_small_diff():
    (claim,), _ = _edited("def load():\n    pass", "def load():\n    return json.loads(text)\n    # done")
    assert claim.text == "a.py\n+ return json.loads(text)"
    assert (claim.kind, claim.trust) == (ClaimKind.ARTIFACT, Trust.UNTRUSTED)


def test_of_a_patch_of_several_files_each_shows_its_own_lines():
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n+first_value = 1\n*** Update File: src/b.py\n@@\n"
    )
    patch += "-old_value = 0\n+second_value = 2\n*** End Patch"
    view = items([text_message(Role.USER, "Go."), *step("c1", "apply_patch", {"patchText": patch}, "Done.")])
    by_id = {item.id: item.message for item in view}
    claims = last_edits(read(view).artifacts.changed, set(by_id), by_id.get)
    assert {claim.text for claim in claims} == {"src/a.py\n+ first_value = 1", "src/b.py\n+ second_value = 2"}


def test_a_long_edit_is_shown_by_its_first_lines():
    (claim,), _ = _edited("x = 1", "\n".join(f"value_{n} = {n} * {'9' * 300}" for n in range(9)))
    lines = claim.text.splitlines()
    assert len(lines) == 1 + EDIT_LINES
    assert all(len(line) <= LONGEST_EDIT + 2 for line in lines)


def test_an_edit_still_in_view_or_that_only_takes_out_is_not_repeated():
    claims, view = _edited("def load():\n    return json.loads(text)", "def load():")
    assert claims == []
    _, view = _edited("a = 1", "the_answer = forty_two()")
    changed = read(view).artifacts.changed
    assert list(last_edits(changed, set(), {item.id: item.message for item in view}.get)) == []


def test_the_edit_of_a_file_that_was_deleted_with_its_folder_is_not_shown():
    write = {"file_path": "try/a.py", "content": "def load_rates(text):\n    return json.loads(text)"}
    removed = step("c2", "bash", {"command": "rm -rf try"}, "")
    view = items([text_message(Role.USER, "Go."), *step("c1", "Write", write, "ok"), *removed])
    by_id = {item.id: item.message for item in view}
    assert list(last_edits(read(view[:3]).artifacts.changed, set(by_id), by_id.get)) != []
    assert list(last_edits(read(view).artifacts.changed, set(by_id), by_id.get)) == []


# Compacted twice ----------------------------------------------------------------------------------------


def _session(turns: range) -> list:
    return [
        message
        for n in turns
        for message in (
            text_message(Role.USER, f"Look at part {n} of the billing code, please."),
            call(n, "run", cmd=f"cat part_{n}.py"),
            answer(n, "\n".join(f"total_{n}_{i} = {n * i}" for i in range(60))),
            text_message(Role.ASSISTANT, f"I fixed `part_{n}.py`: total_{n} was rounded twice."),
        )
    ]


def _told(claims: tuple[Claim, ...], covers: set[str]) -> list[tuple[str, str]]:
    return [
        (claim.sources[0].message, claim.text)
        for claim in claims
        if claim.kind in (ClaimKind.USER, ClaimKind.REPORT) and claim.sources[0].message in covers
    ]


def test_the_story_of_a_second_compaction_is_that_of_one_at_once():
    twice, once = (Session.open(name, MemoryStore()) for name in ("twice", "once"))
    twice.add(*_session(range(40)))
    first = twice.compact(target_tokens=4_000)
    twice.add(*_session(range(40, 60)))
    second = twice.compact(target_tokens=6_000)
    once.add(*_session(range(60)))
    at_once = once.compact(target_tokens=6_000)
    assert first is not None
    assert second is not None
    assert at_once is not None
    assert None not in (first.digest, second.digest, at_once.digest)
    both = {*second.digest.covers} & {*at_once.digest.covers}
    assert both >= {*first.digest.covers}
    assert len(_told(at_once.digest.claims, both)) > 20
    assert _told(second.digest.claims, both) == _told(at_once.digest.claims, both)


def test_a_written_file_is_shown_by_what_it_defines():
    text = "\n".join(("import sys", "", *(f"print('line {n} of it')" for n in range(9)), "def load_all():"))
    messages = [*step("c1", "Write", {"file_path": "/w/a.py", "content": text}, "File created: /w/a.py")]
    view = items(messages)
    by_id = {item.id: item.message for item in view}
    (claim,) = last_edits(read(view).artifacts.changed, set(by_id), by_id.get)
    assert claim.text == "/w/a.py\n+ def load_all():"


def test_a_written_file_that_defines_nothing_is_only_named():
    style = "\n".join(f".box-{n} {{ color: red; }}" for n in range(9))
    view = items(step("c1", "Write", {"file_path": "/w/a.css", "content": style}, "File created: /w/a.css"))
    by_id = {item.id: item.message for item in view}
    assert list(last_edits(read(view).artifacts.changed, set(by_id), by_id.get)) == []


def test_a_past_request_with_a_pasted_log_gives_its_room_to_reports():
    log = "\n".join(f"2026-02-15 12:00:{n % 60:02} INFO step {n} of the worker is done" for n in range(90))
    view = items([text_message(Role.USER, f"Why does it hang?\n{log}"), spoken("It waits for a lock.")])
    by_id = {item.id: item.message for item in view}
    ((asked, report),) = Story(read(view).turns, set(by_id), by_id.get).entries(LEVELS[0])
    assert asked.text.startswith("Why does it hang?\n")
    assert len(asked.text) < 1.1 * LONG_ASK
    assert report.text == "It waits for a lock."


def test_the_line_under_the_head_of_a_table_is_no_sentence():
    rows = "\n".join(f"| rate_{n} | fixed in `rates.py` because table {n} was empty |" for n in range(20))
    text = f"All rates work now.\n\n| Name | What was done |\n|------|---------------|\n{rows}"
    assert all("---" not in text[start:end].split("\n") for start, end in quoted_spans(text, 300))
    assert "|------|---------------|" not in [text[start:end] for start, end in quoted_spans(text, 300)]


@pytest.mark.parametrize(
    "pointing", ["The problem is clear from the transcript.", "It's missing in `rates.py`, not in `a.py`."]
)
def test_a_finding_that_says_nothing_without_the_one_before_it_is_not_quoted(pointing: str):
    cause = "The root cause is that `load()` runs twice."
    assert told_findings(pointing, cause) == [cause]


# The list that a request points at --------------------------------------------------------------------

LIST = """# Phase 4

- [x] Set up the store
- [ ] Audit the parser:
  - Inspect `parser.py`
- [ ] Add a cache
- [ ] Write the docs
"""


def _working_through(*later: Message) -> Session:
    session = Session.open("s", MemoryStore(), window=50_000)
    session.add(text_message(Role.USER, "Process the first unchecked task of `docs/PHASE-4.md`."))
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(LIST.split("\n"), start=1))
    session.add(*step("r", "Read", {"file_path": "/p/docs/PHASE-4.md"}, numbered), *later)
    for n in range(40):
        session.add(spoken(f"Part {n} computes total_{n}. " * 12))
        session.add(*step(f"c{n}", "Bash", {"command": f"cat part_{n}.py"}, f"total_{n} = {n}\n" * 60))
    return session


def test_the_digest_quotes_the_unchecked_items_of_the_list_that_the_request_names_once():
    made = _working_through().compact(target_tokens=4_000)
    (claim,) = (one for one in made.digest.claims if "- [ ] Audit the parser:" in one.text)
    assert "\n- [ ] Audit the parser:\n  - Inspect `parser.py`\n- [ ] Add a cache" in claim.text
    assert claim.trust is Trust.UNTRUSTED


def test_an_item_that_was_checked_off_since_is_not_quoted():
    edit = {
        "file_path": "/p/docs/PHASE-4.md",
        "old_string": "- [ ] Audit the parser:",
        "new_string": "- [x] Audit the parser:",
    }
    made = _working_through(*step("e", "Edit", edit, "ok")).compact(target_tokens=4_000)
    texts = "\n".join(one.text for one in made.digest.claims)
    assert "- [ ] Audit the parser" not in texts
    assert "- [ ] Add a cache\n- [ ] Write the docs" in texts


# Files that exist no more -------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
def test_a_digest_that_names_a_file_deleted_since_says_so(named: bool):
    session = Session.open("s", MemoryStore())
    plan = f"I will put the wrappers into {'`/repo/app/wrappers.py`' if named else 'a file of their own'}."
    session.add(
        text_message(Role.USER, "Make the dispatch simpler."),
        text_message(Role.ASSISTANT, plan),
        text_message(Role.USER, "Good, do that please."),
        call(1, "Write", file_path="/repo/app/wrappers.py", content="import app\n"),
        answer(1, "File created successfully at: /repo/app/wrappers.py"),
        call(2, "Bash", command="rm /repo/app/wrappers.py"),
        answer(2, ""),
        *_session(range(60)),
    )
    done = session.compact(target_tokens=5_000)
    assert done is not None
    assert done.digest is not None
    said = [claim.text for claim in done.digest.claims]
    assert ("deleted: /repo/app/wrappers.py" in said) is named
