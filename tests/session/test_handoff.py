"""What a handoff says of a session's turns and findings."""

from __future__ import annotations

import pytest

import clew
from clew.message import Message, Origin, Role, Text
from clew.session.handoff import sections_of
from clew.session.handoff_headings import handoff_headings
from tests.ledger.sessions import assistant, call, did, items, ledger_of, ran, user


def sections(*messages: Message | list[Message]):
    return sections_of(items(*messages), ledger_of(*messages), 4_000, len)


def test_the_story_pairs_requests_with_reports_and_findings_are_whole_sentences():
    found = sections(
        user("Fix the parser."),
        assistant("Let me look. The root cause is that `load()` reads config.toml twice."),
        ran("pytest", "12 passed"),
        assistant("Fixed. It was slow because nothing was cached in loader.py at all."),
        user("Now write the docs."),
        assistant("The docs are in docs/parser.md."),
    )
    assert [(line.text, line.sources) for line in found.story] == [
        (
            "asked: “Fix the parser.” → Fixed. It was slow because nothing was cached in loader.py at all.",
            ("m0", "m4"),
        )
    ]
    assert [(line.text, line.sources) for line in found.findings] == [
        ("The root cause is that `load()` reads config.toml twice.", ("m1",))
    ]  # the other one is in the story


def test_a_wording_that_comes_again_is_listed_once():
    same = "The root cause is that `load()` reads config.toml twice."
    found = sections(user("Fix it."), assistant(same), assistant(same), assistant("Done."))
    assert [line.text for line in found.findings] == [same]


def test_a_task_that_the_harness_gave_is_the_request_if_nobody_spoke():
    task = Message(
        Role.USER, (Text("Implement the plan: move the parser into a module of its own."),), Origin.INJECTED
    )
    found = sections(task, assistant("I moved the parser."), call("Bash", {"command": "pytest"}))
    assert found.now[0].text.startswith("Task, given by the tool: “Implement the plan")
    assert found.next_step[0].text == "Continue where the agent was interrupted: I moved the parser."


def headings(*messages: Message | list[Message]):
    return handoff_headings(sections(*messages), items(*messages), ledger_of(*messages))


def test_done_when_quotes_the_user_and_no_comment_of_code_question_or_description():
    found = headings(
        user(
            "Speed up the importer.\n\n```python\nwait()  # loop until the queue is empty\n```\n"
            "# make sure the cache is warm\nThe hook runs until the end of the turn?\n"
            "All tests must still pass."
        ),
        assistant("I will."),
    )
    said = [line for line in found.active_goal_and_done_condition if line.startswith("Done when")]
    assert len(said) == 1
    assert "All tests must still pass." in said[0]


@pytest.mark.parametrize(
    ("said", "is_condition"),
    [
        ("It works until the file is closed, then it fails.", False),
        ("All tests fail since yesterday.", False),
        ("The export should work, but it does not.", False),
        ("Keep going until the build is green.", True),
        ("All the tests pass at the end.", True),
        ("Make sure that it no longer crashes.", True),
    ],
)
def test_done_when_quotes_no_report_of_what_goes_wrong(said: str, is_condition: bool):
    found = headings(user(f"Fix the export. {said}"), assistant("I will."))
    lines = [line for line in found.active_goal_and_done_condition if line.startswith("Done when")]
    assert bool(lines) is is_condition


def test_a_part_that_is_still_open_is_pending_and_the_next_step():
    found = headings(
        user("Fix the header and translate docs/faq.md into Spanish."), assistant("The header is fixed.")
    )
    (pending,) = found.pending_tasks
    assert "translate docs/faq.md into Spanish." in pending
    assert found.next_recommended_step[0].startswith("Do what is still open: “and translate docs/faq.md")
    (redo,) = (line for line in found.do_not_redo if "Fix the header" in line)
    assert redo.startswith("reported on in part (the rest is open): ")


def test_a_plan_that_the_user_gave_is_the_active_plan():
    found = headings(
        user("Implement the following plan:\n\n# Plan\n1. Add the column.\n2. Fill it.\n"),
        assistant("I start with the column."),
    )
    (plan,) = found.active_plan
    assert plan.startswith("given by the user: Plan 1. Add the column. 2. Fill it.")
    assert "[m0]" in plan


def test_a_plan_from_before_the_last_request_that_was_reported_on_is_not_the_next_step():
    rows = [{"content": "Inspect the rendering paths", "status": "in_progress"}]
    found = headings(
        user("Group the tool calls."),
        *did("TodoWrite", {"todos": rows}),
        assistant("The tool calls are grouped."),
        user("Rename the panel to Details."),
        assistant("The panel is renamed."),
    )
    assert found.next_recommended_step[0].startswith("Nothing is open")
    going_on = headings(user("Group the calls."), *did("TodoWrite", {"todos": rows}), user("go on"))
    assert going_on.next_recommended_step[0].startswith("Inspect the rendering paths")


def test_what_the_last_report_left_is_the_next_step():
    words = " ".join(f"I read part {n} of the code and noted how its pieces fit together." for n in range(8))
    said = "I could not get the export to work on Windows."
    found = headings(user("Port the export to Windows."), assistant(f"{words} {said}"))
    assert found.next_recommended_step[0].startswith(f"Do what the last report left: “{said}”")


def test_a_rule_is_not_quoted_as_the_end_of_the_work():
    found = headings(user("Add the flag. Always make sure that you never push. Make sure the docs build."))
    done = [line for line in found.active_goal_and_done_condition if line.startswith("Done when")]
    assert [line.startswith("Done when: “Make sure the docs build.”") for line in done] == [True]


@pytest.mark.parametrize(
    "method",
    [
        "For test cases, ensure a data-driven approach is being used.",
        "Make sure you review it carefully first.",
        "I think we should work on 1, 2 and 4.",
        "The requirements or acceptance criteria.",
        "This would ensure that the bug does not come back.",
        "The second session tries to start (should succeed now).",
    ],
)
def test_a_rule_of_method_or_a_description_is_not_quoted_as_the_end_of_the_work(method):
    found = headings(user(f"Add the flag. {method} Make sure the docs build."))
    done = [line for line in found.active_goal_and_done_condition if line.startswith("Done when")]
    assert [line.startswith("Done when: “Make sure the docs build.”") for line in done] == [True]


def test_thanks_are_no_next_step_and_an_open_request_counts_as_open():
    session = clew.Session.open("s", clew.MemoryStore())
    session.add({"role": "user", "content": "Cancel my flights under reservation SI5UKW."})
    page = session.handoff()
    assert any(
        "assumed done when nothing is open (1 now)" in line for line in page.active_goal_and_done_condition
    )
    session.add({"role": "assistant", "content": "Your reservation SI5UKW is cancelled."})
    session.add({"role": "user", "content": "Great, thank you for your help!"})
    page = session.handoff()
    assert not any("thank you" in line for line in (*page.next_recommended_step, *page.pending_tasks))
    assert any("(0 now)" in line for line in page.active_goal_and_done_condition)
