"""What the ledger has to say, as claims: with the labels of their sources, and nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.compaction.asked import Asked
from clew.compaction.ledger_claims import is_restated, mandatory_content
from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import topic_by_wording
from clew.compaction.plan.render import render_digest
from clew.compaction.propose import propose
from clew.compaction.propose.findings import current_findings
from clew.compaction.quote_claims import shorten_claim
from clew.compaction.task import CompactionTask, Keep
from clew.message import Cite, Message, Origin, Role, Trust, text_message
from clew.message.text import once
from tests.compaction_propose.sessions import COUNTER, MADE, Living, items, read, spoken, step


def test_a_failing_test_is_believed_like_the_tool_that_named_it():
    output = "FAILED tests/test_a.py::test_one - ValueError\n1 failed in 0.1s"
    view = items([*step("c", "bash", {"command": "pytest"}, output, error=True)])
    loops = [claim for claim in mandatory_content(read(view), view).claims if claim.kind is ClaimKind.OPEN]
    assert [(claim.text, claim.trust) for claim in loops] == [
        ("test: tests/test_a.py::test_one", Trust.UNTRUSTED)
    ]


def test_a_request_that_is_the_goal_is_said_once():
    view = items([text_message(Role.USER, "Port the reports to v2.")])
    assert [claim.kind for claim in mandatory_content(read(view), view).claims] == [ClaimKind.GOAL]


def test_a_request_that_says_more_than_the_goal_is_said_too():
    first, more = "Port the reports to v2.", "Port the reports to v2. The logo is in art/logo.svg."
    view = items([text_message(Role.USER, first), spoken("I will."), text_message(Role.USER, more)])
    claims = mandatory_content(read(view), view).claims
    assert [claim.text for claim in claims][:2] == [first, f"request: {more}"]


def test_the_last_test_run_is_told_though_its_message_stays():
    ran = step("c", "bash", {"command": "pytest -q"}, "12 passed in 2.31s")
    view = items([text_message(Role.USER, "Run the tests."), *ran])
    claims = mandatory_content(read(view), view[:1]).claims
    assert "last test run: pytest -q: 12 passed, 0 failed" in [claim.text for claim in claims]


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("pnpm test", "  20 passing (3s)\n  2 failing\n", "20 passing, 2 failing"),
        ("bun test", " 3 pass\n 0 fail\n", "3 pass, 0 fail"),
        ("bin/test core", "= tests finished: 8 passed, 2 exceptions, in 1 s =\n", "8 passed, 2 failed"),
    ],
)
def test_a_run_is_told_in_the_words_of_its_runner(command: str, output: str, told: str):
    view = items([text_message(Role.USER, "go"), *step("c1", "bash", {"command": command}, output)])
    claims = mandatory_content(read(view), view).claims
    assert f"last test run: {command}: {told}" in [claim.text for claim in claims]


def told(kind: ClaimKind, *messages: Message) -> list[str]:
    view = items([text_message(Role.USER, "Build it."), *messages])
    return [claim.text for claim in mandatory_content(read(view), view).claims if claim.kind is kind]


FAILED = step("f1", "bash", {"command": "make all"}, "error: no rule to make it\nexit code: 2", error=True)
PATCHED = step("e1", "Edit", {"file_path": "a.py", "old_string": "x"}, "The file a.py has been updated.")
LOOKED = [part for n in range(5) for part in step(f"l{n}", "Read", {"file_path": f"b{n}.py"}, "x")]


@pytest.mark.parametrize(
    ("later", "state"),
    [
        ([], " Not fixed."),
        (PATCHED, " Edited since, not run again."),
        (LOOKED, " Not tried again."),
    ],
)
def test_a_failure_is_told_with_what_became_of_it(later: list[Message], state: str):
    (text,) = told(ClaimKind.ERROR, *FAILED, *later)
    assert text.startswith("make all: ")
    assert text.endswith(state)
    assert topic_by_wording(ClaimKind.ERROR, text) is Topic.FAILURE


def test_a_failing_test_says_if_files_were_edited_since_it_failed():
    output = "FAILED tests/test_a.py::test_one - ValueError\n1 failed in 0.1s"
    ran = step("t1", "bash", {"command": "pytest"}, output, error=True)
    again = step("t2", "bash", {"command": "pytest"}, output, error=True)
    assert told(ClaimKind.OPEN, *ran, *LOOKED) == ["test: tests/test_a.py::test_one"]
    edited = "test: tests/test_a.py::test_one (edited since, not run again)"
    assert told(ClaimKind.OPEN, *ran, *PATCHED) == [edited]
    assert told(ClaimKind.OPEN, *ran, *PATCHED, *again) == ["test: tests/test_a.py::test_one"]


LISTED = step("p1", "TodoWrite", {"todos": [{"content": "Run the tests", "status": "pending"}]}, "ok")


@pytest.mark.parametrize(
    ("later", "state"),
    [
        ([], "pending"),
        ([*PATCHED, *LOOKED], "pending"),
        ([*LOOKED, *PATCHED, *LOOKED], "pending as of m2"),
        (
            [*LOOKED, *PATCHED, *LOOKED, *step("r", "bash", {"command": "pytest"}, "3 passed in 1s")],
            "as of m2, not updated since",
        ),
        (
            [*LOOKED, *step("r", "bash", {"command": "pytest"}, "3 passed in 1s"), *PATCHED, *LOOKED],
            "pending as of m2",
        ),
        (
            [*LOOKED, *step("g", "bash", {"command": "git commit -m x"}, "[main 1] x"), *LOOKED],
            "as of m2, not updated since",
        ),
    ],
)
def test_an_old_list_of_tasks_says_how_old_it_is(later: list[Message], state: str):
    assert told(ClaimKind.OPEN, *LISTED, *later) == [f"todo: Run the tests ({state})"]


def request_in(*messages: Message) -> str:
    view = items([text_message(Role.USER, "Push it."), spoken("It is pushed."), *messages])
    task = CompactionTask(view=view, counter=COUNTER, target_tokens=100, ledger=read(view))
    return task.request.text if task.request else ""


def test_a_command_is_the_request_in_progress_while_the_agent_works_on_it():
    command = text_message(Role.USER, "/review")
    assert request_in(command) == "Push it."
    assert request_in(command, *FAILED) == "/review"
    assert request_in(command, *FAILED, spoken("I reviewed it: it is fine.")) == "Push it."


def test_a_command_does_not_answer_the_report_before_it():
    view = items(
        [
            text_message(Role.USER, "Push it."),
            spoken("It is pushed."),
            text_message(Role.USER, "/review"),
            *FAILED,
        ]
    )
    assert (
        CompactionTask(view=view, counter=COUNTER, target_tokens=100, ledger=read(view)).asked.answered
        is None
    )


OPTIONS = "Would you like to:\n1. **Run the tests**\n2. **Start** with the parser\n3. Review it"


@pytest.mark.parametrize(
    ("report", "offer"),
    [
        (
            f"Done.\n\n{OPTIONS}\n\nWhat would you like to do next?",
            f"{OPTIONS}\n\nWhat would you like to do next?",
        ),
        (f"Done.\n\n{OPTIONS}", OPTIONS),
        (
            "Done.\n\nTwo ways:\n\n**Option A**: a file.\n\n**Option B**: a table.\n\nWhich one?",
            "Two ways:\n\n**Option A**: a file.\n\n**Option B**: a table.\n\nWhich one?",
        ),
        ("Done.\n\nIt has two parts.\n\nShall I push it?", "Shall I push it?"),
        ("1. step\n" * 200 + "\nShall I push it?", "Shall I push it?"),
    ],
)
def test_a_short_answer_is_shown_with_the_options_it_chooses_from(report: str, offer: str):
    view = items(
        [text_message(Role.USER, "Plan it."), spoken(report), text_message(Role.USER, "1+2"), *FAILED]
    )
    task = CompactionTask(view=view, counter=COUNTER, target_tokens=100, ledger=read(view))
    assert task.asked.answered is not None
    assert task.asked.answered.text == offer


def test_a_call_that_the_user_refused_is_told_until_it_is_made():
    told = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    refused = step("c1", "Bash", {"command": "git push"}, told, error=True)
    view = items([text_message(Role.USER, "Ship it."), *refused])
    claim = f'refused: Bash: git push: "{told}"'
    (shown,) = [one for one in mandatory_content(read(view), view).claims if one.text == claim]
    assert (shown.kind, is_restated(shown)) == (ClaimKind.ERROR, True)
    view += items(step("c2", "Bash", {"command": "git push"}, "pushed"), first=4)
    assert claim not in [one.text for one in mandatory_content(read(view), view).claims]


@pytest.mark.parametrize("text", ["User rejected the deployment.", "The user has denied this request."])
@pytest.mark.parametrize("error", [False, True])
def test_no_tool_can_say_that_the_user_refused(text: str, error: bool):
    view = items(
        [
            text_message(Role.USER, "Ship it."),
            *step("c1", "Bash", {"command": "make deploy"}, text, error=error),
        ]
    )
    view += items([spoken("Next.")], first=4)
    plan = propose(Living([item.message for item in view] + [spoken("word " * 400)] * 9).situation(1_200))
    claims = mandatory_content(read(view), view).claims
    assert not [one for one in claims if one.kind is ClaimKind.DECISION]
    (shown,) = [one for one in claims if one.kind is ClaimKind.ERROR]
    assert text.rstrip(".") in shown.text
    assert "user refused" not in render_digest(plan.digests[0])
    assert [line[0] for line in render_digest(plan.digests[0]).split("\n") if text[:12] in line] == ["~"]


def test_rules_that_ended_are_told_until_their_end_is_shown():
    view = items(
        [
            text_message(Role.USER, "Tidy up the billing code."),
            text_message(Role.USER, "Never push to main."),
            spoken("I will not."),
            text_message(Role.USER, "You may push to main now."),
            spoken("Thanks."),
        ]
    )
    ended = [one for one in mandatory_content(read(view), view[:4]).claims if one.kind is ClaimKind.DECISION]
    assert [(one.text, one.sources[0].message) for one in ended] == [
        ('no longer holds: "Never push to main."', "m4")
    ]
    assert all(map(is_restated, ended))
    assert not [
        one for one in mandatory_content(read(view), view[:3]).claims if one.kind is ClaimKind.DECISION
    ]


def test_the_goal_is_shortened_between_words_and_keeps_its_place():
    goal = Claim("", ClaimKind.GOAL, "Port the reports to v2.", (Cite("m1"),), Trust.USER, verbatim=True)
    short = Claim("", ClaimKind.GOAL, "Port the…", (Cite("m1"),), Trust.USER)
    assert (shorten_claim(goal, 13), shorten_claim(goal, 40)) == (short, goal)


def test_many_files_are_told_a_few_at_a_time():
    steps = (step(f"c{n}", "Write", {"file_path": f"a{n}.py", "content": "x"}, "ok") for n in range(25))
    view = items([text_message(Role.USER, "Go."), *(message for pair in steps for message in pair)])
    files = [
        claim.text for claim in mandatory_content(read(view), view).claims if claim.kind is ClaimKind.ARTIFACT
    ]
    assert files == [
        "created: " + ", ".join(f"a{n}.py" for n in numbers)
        for numbers in (range(10), range(10, 20), range(20, 25))
    ]


def test_what_a_digest_covers_leaves_with_it():
    living = Living(
        [text_message(Role.USER, "Port it."), spoken("I chose Decimal over float because of the rounding.")]
    )
    living.add(spoken(f"Step {n} is done and wrote out_{n}.txt.") for n in range(80))
    living.compact(600)
    assert living.shown is not None
    digest = [item for item in living.view if item.id == living.shown[0]]
    decided = [one.kind for one in mandatory_content(living.ledger, digest, living.shown).claims]
    assert ClaimKind.DECISION in decided
    assert ClaimKind.DECISION not in [one.kind for one in mandatory_content(living.ledger, digest).claims]


@pytest.mark.parametrize("seen", [("Edit",), ("Edit", "Read"), ("Read", "Edit", "Read")])
def test_a_file_that_was_changed_is_told_as_changed_whoever_reads_it_later(seen: tuple[str, ...]):
    arguments = {"file_path": "/a/x.py", "old_string": "a", "new_string": "b"}
    messages = [text_message(Role.USER, "Fix it.")]
    for n, tool in enumerate(seen):
        messages += step(f"c{n}", tool, arguments if tool == "Edit" else {"file_path": "/a/x.py"}, "done")
    view = items(messages)
    told = [
        claim.text for claim in mandatory_content(read(view), view).claims if claim.kind is ClaimKind.ARTIFACT
    ]
    assert told == ["modified: /a/x.py"]


def test_the_folder_that_files_share_is_said_once_and_each_keeps_one_of_its_own():
    names = ("/repo/app/src/a.py", "/repo/app/src/b.py", "/repo/app/src/deep/c.py")
    steps = (
        step(f"c{n}", "Write", {"file_path": name, "content": "x"}, "ok") for n, name in enumerate(names)
    )
    view = items([text_message(Role.USER, "Go."), *(message for pair in steps for message in pair)])
    claims = [
        claim for claim in mandatory_content(read(view), view).claims if claim.kind is ClaimKind.ARTIFACT
    ]
    assert [claim.text for claim in claims] == ["created in /repo/app/: src/a.py, src/b.py, src/deep/c.py"]
    assert all(map(is_restated, claims))
    assert {claim.topic for claim in claims} == {Topic.FILES_CHANGED}


def test_of_a_long_command_its_first_line_is_told():
    command = "python - <<'EOF'\nprint(1)\nEOF"
    view = items([text_message(Role.USER, "Go."), *step("c", "bash", {"command": command}, "1")])
    ran = [
        claim.text for claim in mandatory_content(read(view), view).claims if claim.kind is ClaimKind.ARTIFACT
    ]
    assert ran == ["ran: python - <<'EOF'…"]


def test_the_commands_that_ran_last_and_the_files_read_most_are_listed():
    commands = ["make lint", *(f"make part{n}" for n in range(8)), "make lint"]
    steps = [step(f"c{n}", "bash", {"command": command}, "ok") for n, command in enumerate(commands)]
    reads = ["often.py", "once.py", "often.py", "often.py"]
    steps += [step(f"r{n}", "Read", {"file_path": f"/w/{name}"}, "x = 1") for n, name in enumerate(reads)]
    view = items([text_message(Role.USER, "Go."), *(message for pair in steps for message in pair)])
    told = [one.text for one in mandatory_content(read(view), view).claims if one.kind is ClaimKind.ARTIFACT]
    ran = [f"ran: make part{n}" for n in range(4, 8)]
    assert told == ["ran: make lint", "read: /w/often.py", "read: /w/once.py", *ran]


def test_commands_that_every_session_runs_are_not_listed():
    commands = [
        "git log --oneline -5",
        "cd /w && ls | head",
        "git add a.py && git commit -m 'x'",
        "cd /w && make all",
    ]
    steps = [step(f"c{n}", "bash", {"command": command}, "ok") for n, command in enumerate(commands)]
    view = items([text_message(Role.USER, "Go."), *(message for pair in steps for message in pair)])
    told = [one.text for one in mandatory_content(read(view), view).claims if one.topic is Topic.COMMAND]
    assert told == ["ran: cd /w && make all"]


def test_a_goal_that_is_too_long_is_told_by_how_it_begins_and_says_that_it_is_cut():
    request = f"Port the reports to v2. {'Mind the totals. ' * 60}Then tell me."
    view = items([text_message(Role.USER, request)])
    (goal,) = [one for one in mandatory_content(read(view), view).claims if one.kind is ClaimKind.GOAL]
    begun, mark, left = goal.text.partition("[… ")
    assert request.startswith(begun)
    assert goal.sources[0].quote(view[0].message) == begun
    assert (mark, left, goal.verbatim) == ("[… ", f"{len(request) - len(begun)} characters]", False)


def test_a_request_that_only_stands_in_the_words_of_the_goal_is_told_as_well():
    view = items([text_message(Role.USER, "Fix pull request 187 today."), text_message(Role.USER, "187")])
    claims = [claim.text for claim in mandatory_content(read(view), view).claims]
    assert claims == ["Fix pull request 187 today.", "request: 187"]


def test_a_file_that_was_created_and_deleted_is_not_listed_as_changed():
    messages = [
        text_message(Role.USER, "Try it."),
        *step("c1", "Write", {"file_path": "/w/try.py", "content": "x = 1"}, "File created: /w/try.py"),
        *step("c2", "Write", {"file_path": "/w/app.py", "content": "y = 1"}, "File created: /w/app.py"),
        *step("c3", "bash", {"command": "rm /w/try.py"}, ""),
    ]
    ledger = read(items(messages))
    claims = mandatory_content(ledger, []).claims
    assert [one.text for one in claims if one.topic is Topic.FILES_CHANGED] == ["created: /w/app.py"]


def test_a_command_that_failed_is_not_listed_as_if_it_had_only_run():
    view = items(
        [
            text_message(Role.USER, "Fix it."),
            *step("c1", "Bash", {"command": "make lint"}, "Error: the table of rules is empty", error=True),
            *step("c2", "Bash", {"command": "make docs"}, "ok"),
        ]
    )
    told = {claim.text for claim in mandatory_content(read(view), view).claims}
    assert {"ran: make lint (failed)", "ran: make docs"} <= told


@pytest.mark.parametrize(
    ("output", "is_told"),
    [
        ("bash: -c: line 1: syntax error near unexpected token `('", False),
        ("error: cannot find module 'left-pad' in node_modules", True),
    ],
)
def test_a_command_that_the_shell_could_not_read_is_no_failure_of_the_work(output: str, is_told: bool):
    failed = step("c1", "Bash", {"command": "sed -i 's/(/[/ a.py"}, output, error=True)
    view = items([text_message(Role.USER, "Fix it."), *failed])
    claims = mandatory_content(read(view), view).claims
    assert any(one.kind is ClaimKind.ERROR for one in claims) is is_told


def test_a_task_that_keeps_other_messages_knows_what_a_new_one_would_find():
    asked = text_message(Role.USER, "Port the reports to v2. Never push to main.")
    living = Living([asked, spoken("We use sqlite because it needs no server.")])
    living.go_on(MADE)
    task = living.situation(2_000)
    derived = [name for name, value in vars(CompactionTask).items() if isinstance(value, once)]
    for name in derived:
        getattr(task, name)
    sizes = [7] * len(task.view)
    twin, new = task.with_keep(Keep(3), sizes), replace(task, keep=Keep(3), sizes=sizes)
    assert (twin.keep, twin.tokens) == (Keep(3), 7 * len(task.view))
    assert len(derived) > 8
    assert {name: getattr(twin, name) for name in derived} == {name: getattr(new, name) for name in derived}
    of_user = [name for name, value in vars(Asked).items() if isinstance(value, once)]
    assert [getattr(twin.asked, name) for name in of_user] == [getattr(new.asked, name) for name in of_user]
    assert twin.mandatory(task.view[:2]) == new.mandatory(task.view[:2])
    assert twin.mandatory(()).claims != twin.mandatory(task.view).claims


def test_of_many_files_read_the_sources_are_named_and_the_rest_is_counted():
    looked = (
        [f"src/part_{n}.py" for n in range(14)] + [f"tests/part_{n}.test.ts" for n in range(9)] + [".nvmrc"]
    )
    messages = [
        one for n, path in enumerate(looked) for one in step(f"c{n}", "Read", {"file_path": path}, "x")
    ]
    first, last = told(ClaimKind.ARTIFACT, *messages)
    assert "test.ts" not in first + last
    assert ".nvmrc" not in first + last
    assert last.endswith(" and 12 more")


def test_a_command_that_only_waits_longer_is_named_once_and_the_output_of_a_run_is_no_work():
    lines = ["sleep 5 && gh api pages", "sleep 20 && gh api pages", "python serve.py > /tmp/httpd.log"]
    messages = [one for n, line in enumerate(lines) for one in step(f"c{n}", "bash", {"command": line}, "ok")]
    assert told(ClaimKind.ARTIFACT, *messages) == [
        "ran: sleep 20 && gh api pages",
        "ran: python serve.py > /tmp/httpd.log",
    ]


def test_a_fault_found_in_a_turn_that_was_reported_done_is_no_finding():
    fault = "**`main`** is 25 commits behind `origin/main`, with no commits of its own."
    fact = "**`main`** must never be rebased, because each release is tagged there like `v1.2`."
    view = items(
        [
            text_message(Role.USER, "Bring main up to date."),
            spoken(f"{fault}"),
            spoken(f"{fact}"),
            *step("c1", "bash", {"command": "git merge"}, "ok"),
            spoken("Done: both branches are up to date."),
            text_message(Role.USER, "Now look at the charts, please."),
            spoken("I look at them."),
        ]
    )
    found = current_findings(
        read(view).turns, {item.id for item in view}, {item.id: item.message for item in view}.get
    )
    assert [claim.text for claim in found] == [fact]


def test_the_working_folder_is_told_once_its_message_has_left_the_view():
    said = text_message(Role.USER, "The current working directory is '~/app'.", Origin.INJECTED)
    view = items([said, text_message(Role.USER, "Fix README.md.")])
    (claim,) = [one for one in mandatory_content(read(view), view).claims if one.topic is Topic.FOLDER]
    assert (claim.text, claim.trust) == ("working directory: ~/app", Trust.UNTRUSTED)
    assert topic_by_wording(claim.kind, claim.text) is Topic.FOLDER
    assert not [one for one in mandatory_content(read(view), view[1:]).claims if one.topic is Topic.FOLDER]


def test_a_list_of_links_at_the_end_of_a_report_is_no_offer():
    links = "**Repository:** https://example.org/a\n**Site:** https://example.org/b"
    said = [spoken(f"Done.\n\n{links}"), text_message(Role.USER, "Check the facts.")]
    view = items([text_message(Role.USER, "Publish it."), *said])
    assert (
        CompactionTask(view=view, counter=COUNTER, target_tokens=100, ledger=read(view)).asked.answered
        is None
    )
