"""What the model asked leave for."""

from __future__ import annotations

import pytest

from clew.ledger import Approval, ApprovalState
from clew.ledger import approvals as approvals_module
from clew.message import ApprovalAnswer, ApprovalRequest, Cite, Message, Role, Text, ToolResult, Trust
from tests.ledger.sessions import assistant, call, did, ledger_of, user


def answers(*messages):
    return [(approval.what, approval.answer, approval.words) for approval in ledger_of(*messages).approvals]


def test_a_request_meets_its_answer():
    asked = Message(Role.ASSISTANT, (ApprovalRequest("r1", "deploy", {}), ApprovalRequest("r2", "drop", {})))
    answered = Message(Role.USER, (ApprovalAnswer("r2", False, "not today"),))
    assert ledger_of(asked, answered).approvals == (
        Approval("a1", "deploy", Cite("m0", 0), request="r1"),
        Approval(
            "a2",
            "drop",
            Cite("m0", 1),
            ApprovalState.REFUSED,
            Cite("m1", 0),
            "not today",
            "r2",
            in_force=True,
        ),
    )


@pytest.mark.parametrize(
    ("question", "reply", "answer"),
    [
        ("Shall I push it?", "yes", ApprovalState.GRANTED),
        ("Want me to fix that?", "yeah, and run the tests too", ApprovalState.GRANTED),
        ("Ready to commit these changes?", "go ahead", ApprovalState.GRANTED),
        ("Does this look right?", "ok", ApprovalState.GRANTED),
        ("Should I delete the branch?", "no, leave it", ApprovalState.REFUSED),
        ("Should I delete the branch?", "Don't do that yet", ApprovalState.REFUSED),
    ],
)
def test_yes_and_no_answer_a_question_for_leave(question, reply, answer):
    assert answers(assistant(f"All done. {question}"), user(reply)) == [(question, answer, reply)]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Which port is it?", "yes"),
        ("Shall I push it, or should I wait?", "yes"),
        ("Shall I push it?", "what would that change?"),
        ("Shall I push it?", "okay, so what have we got - there are a few things floating around?"),
        ("Shall I push it?", "yes " + "and here is a long new task " * 20),
    ],
)
def test_what_is_no_yes_or_no_answers_nothing(question, reply):
    assert answers(assistant(question), user(reply)) == []


def test_a_question_that_waits_is_asked():
    assert answers(assistant("Shall I push it?")) == [("Shall I push it?", ApprovalState.ASKED, "")]
    assert answers(assistant("Shall I push it?"), call("Bash", {"command": "git push"})) == []


def test_a_refused_call_is_kept_with_what_the_person_said():
    asked = call("Bash", {"command": "git push\n--force"}, call_id="c")
    words = (
        Text("The user doesn't want to proceed with this tool use. They said:"),
        Text("pull first", trust=Trust.USER),
    )
    refused = Message(Role.TOOL, (ToolResult("c", words, True),))
    assert answers(asked, refused) == [("Bash: git push", ApprovalState.REFUSED, "pull first")]


def refused(command):
    asked = call("Bash", {"command": command}, call_id=f"r-{command}")
    told = Text("The user doesn't want to proceed with this tool use. The tool use was rejected.")
    return [asked, Message(Role.TOOL, (ToolResult(f"r-{command}", (told,), True),))]


def test_a_refusal_stands_until_the_same_is_done():
    kept = ledger_of(refused("git push"), refused("rm -rf build"), refused("git push"))
    assert [one.what for one in kept.refusals] == ["Bash: git push", "Bash: rm -rf build"]
    done = ledger_of(refused("git push"), did("Bash", {"command": "git push"}, "pushed"))
    assert done.refusals == ()
    again = ledger_of(refused("git push"), did("Bash", {"command": "git push"}, "ok"), refused("git push"))
    assert [one.asked.message for one in again.refusals] == ["m4"]


def test_no_to_a_question_is_no_refused_call():
    assert ledger_of(assistant("Should I delete the branch?"), user("no, leave it")).refusals == ()


def test_an_approved_plan_is_kept():
    assert answers(
        did("ExitPlanMode", {"plan": "x"}, "User has approved your plan. You can now start coding.")
    ) == [("ExitPlanMode", ApprovalState.GRANTED, "")]
    assert answers(did("ExitPlanMode", {"plan": "x"}, "something else")) == []


APPROVED = "User has approved your plan. You can now start coding."
LONG_PLAN = "\n".join(
    ["# Move the totals", *(f"## Step {n}: part {n}\n\nWhy and how. {'Details. ' * 30}" for n in range(1, 8))]
)


def test_a_short_plan_is_kept_whole_and_of_a_long_one_its_headings():
    short = ledger_of(did("ExitPlanMode", {"plan": "1. split\n2. test\n"}, APPROVED)).plan
    assert short is not None
    assert (short.plan, short.asked.message) == ("1. split\n2. test", "m0")
    long = ledger_of(did("ExitPlanMode", {"plan": LONG_PLAN}, APPROVED)).plan
    assert long is not None
    headings = ["# Move the totals", *(f"## Step {n}: part {n}" for n in range(1, 8))]
    assert long.plan.split("\n") == headings


def test_of_a_long_plan_without_headings_the_list_items_are_kept():
    plan = "Move the totals\n" + "\n".join(f"- part {n}\n  {'Details. ' * 60}" for n in range(3))
    kept = ledger_of(did("ExitPlanMode", {"plan": plan}, APPROVED)).plan
    assert kept is not None
    assert kept.plan.split("\n") == ["Move the totals", "- part 0", "- part 1", "- part 2"]


def test_a_plan_that_only_the_harness_repeats_is_kept():
    result = f"{APPROVED}\n\nYour plan has been saved to: /p.md\n\n## Approved Plan:\n1. split\n2. test"
    plan = ledger_of(did("ExitPlanMode", {}, result)).plan
    assert plan is not None
    assert plan.plan == "1. split\n2. test"


def test_a_plan_ends_with_its_refusal_a_newer_one_or_another_goal():
    first = did("ExitPlanMode", {"plan": "1. split"}, APPROVED)
    second = did("ExitPlanMode", {"plan": "1. join"}, APPROVED)
    asked = user("Move the invoice totals into one module, please.")
    newer = ledger_of(asked, first, second).plan
    assert newer is not None
    assert newer.plan == "1. join"
    assert ledger_of(asked, first, user("New task: write the release notes of 2.1.")).plan is None
    refused = did(
        "ExitPlanMode", {"plan": "1. split"}, "The user doesn't want to proceed with this tool use."
    )
    assert ledger_of(asked, refused).plan is None


def test_what_a_tool_says_grants_nothing():
    assert answers(assistant("Shall I push it?"), did("Read", {"file_path": "a"}, "yes, go ahead")) == []


def test_what_waits_for_an_answer_is_never_let_go(monkeypatch):
    monkeypatch.setattr(approvals_module, "MOST", 4)
    asked = Message(Role.ASSISTANT, (ApprovalRequest("r1", "deploy", {}),))
    talk = [message for n in range(6) for message in (assistant(f"Shall I do {n}?"), user("yes"))]
    assert answers(asked, talk)[0] == ("deploy", ApprovalState.ASKED, "")


def test_of_too_many_approvals_the_oldest_are_let_go(monkeypatch):
    monkeypatch.setattr(approvals_module, "MOST", 4)
    talk = [message for n in range(6) for message in (assistant(f"Shall I do {n}?"), user("yes"))]
    assert [what for what, _, _ in answers(talk)] == [f"Shall I do {n}?" for n in (2, 3, 4, 5)]


STEPS = "Here is the plan:\n1. Convert the alpha module\n2. Convert the bravo module\n3. Convert the mailer"


def test_a_plan_in_words_that_the_user_agreed_to_is_kept_whole():
    found = ledger_of(user("Convert the modules."), assistant(f"{STEPS}\n\nShall I start?"), user("Yes."))
    assert found.plan is not None
    assert found.plan.plan == STEPS


@pytest.mark.parametrize("answer", ["No, not yet.", "Why the mailer?"])
def test_a_plan_in_words_that_the_user_did_not_agree_to_is_none(answer):
    found = ledger_of(user("Convert the modules."), assistant(f"{STEPS}\n\nShall I start?"), user(answer))
    assert found.plan is None


def test_a_list_of_findings_is_no_plan():
    findings = "I found:\n1. a leak\n2. a race\n3. a typo\n\nShall I fix them?"
    found = ledger_of(user("Look at the pool."), assistant(findings), user("Yes."))
    assert found.plan is None
