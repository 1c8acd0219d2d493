"""What an agent needs to go on: each figure is full for a view that gives it, low for one that misleads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.message import Item, Message, Origin, Role, Text
from clew_evals.finished_work import deleted_files, overruled_sentences
from clew_evals.layout import sections_of
from clew_evals.obligations import exchanges
from clew_evals.policies import POLICIES
from clew_evals.policies.fit import as_summary
from clew_evals.score import Score, score_of
from clew_evals.sessions import Cut
from clew_evals.turns import EvalTurn, goals_of, reports_of, turns_of
from tests.evals.sessions import FILLER, agent, call, cut, needs, result, user

FIRST = "Add a retry to the upload worker and cover it with a test."
REPORT = "Added the retry with a backoff of two seconds. All tests pass and the change is committed."
HIDE = "Let's make the start command hidden."
REMOVE = "Thinking again: let's remove the start command instead."
GOAL = "Now make the nightly export write compressed parquet files."
BEFORE = [
    user(FIRST),
    call(1, "Edit", file_path="src/app/upload.py", old_string="a = 1", new_string="a = 2"),
    result(1, "done"),
    agent(REPORT),
    user(HIDE),
    call(2, "Edit", file_path="src/app/cli.py", old_string="b = 1", new_string="b = 2"),
    result(2, "done"),
    agent("The command is hidden now; it is changed in the parser."),
    user(REMOVE),
    call(3, "Bash", command="rm src/app/start.py"),
    result(3, FILLER),
    agent("Removed the start command with its file and its flags."),
    user(GOAL),
    call(4, "TodoWrite", todos=[{"content": "find the writer of the nightly export", "status": "completed"}]),
    result(4, "noted"),
    call(5, "Read", file_path="src/app/export.py"),
    result(5, "the writer class of the export is CsvSink and lives in sinks\n" + FILLER),
    agent("The export uses a sink that has no compression."),
    user("yes, go ahead"),
    call(6, "Bash", command="make check-export"),
    result(6, "2 failed"),
]
AFTER = [
    agent("I will give the CsvSink writer class of the export a compression option."),
    call(7, "Edit", file_path="src/app/export.py", old_string="CsvSink", new_string="ParquetSink"),
    result(7, "done"),
    call(8, "Bash", command="cd src && make check-export 2>&1"),
    result(8, "ok"),
]


@pytest.fixture(scope="module")
def given() -> Cut:
    return cut(BEFORE, AFTER)


def scored(given: Cut, *lines: str, kept: tuple[Message, ...] = ()) -> Score:
    newest = tuple(Item(f"k{n}", message) for n, message in enumerate(kept))
    return score_of(given, (*as_summary("\n".join(lines)), *newest), 0.0)


def test_the_first_calls_ask_for_files_symbols_commands_and_reasons_of_the_history(given: Cut):
    first, second = needs(given).next_calls
    assert {target.key for target in first.targets} == {"app/export.py", "CsvSink"}
    assert {target.key for target in second.targets} == {"make check-export"}
    assert "compression" in first.reason
    assert second.reason == ""


def test_what_the_next_calls_are_about_is_in_view_or_not(given: Cut):
    told = "the writer class of the export is CsvSink in src/app/export.py; no compression option"
    whole = scored(given, told, "ran: make  check-export")
    assert (whole.next_target, whole.next_reason, whole.next_action) == (1, 1, 1)
    assert scored(given, "some writer, CsvSink2, my/export.py, make check").next_target == 0


def test_the_goal_is_the_request_that_a_go_ahead_continues(given: Cut):
    assert needs(given).settled.goals[0] == GOAL
    assert scored(given, "Now:", f"- [m13] {GOAL}").goal == 1
    assert scored(given, "## Goal", FIRST).goal == 0
    assert scored(given, "nothing said", kept=(user(GOAL),)).goal == 1
    assert scored(given, f"User: {FIRST}", f"User: {GOAL}").goal == 1
    assert scored(given, f"User: {GOAL}", f"User: {FIRST}").goal == 0
    assert scored(given, "First request: please,", GOAL, "Agent said: no").goal == 1
    assert scored(given, "User: please,", "Agent said: no", GOAL).goal == 0
    assert scored(given, "Files:", GOAL).goal == 0  # named somewhere is not stated as the goal


def test_a_cut_before_a_new_request_asks_for_no_goal():
    assert scored(cut(BEFORE, [user("Something else entirely, please."), *AFTER]), "Now:", GOAL).goal is None


def test_a_finished_request_listed_as_open_is_redo(given: Cut):
    assert scored(given, "Still open:", f"- request: {FIRST}").redo == 1
    assert scored(given, f"Goal: {FIRST}").redo == 1  # and nothing says what the goal really is
    assert scored(given, f"Goal: {FIRST}", f"Reported: {REPORT}").redo == 0
    assert scored(given, "Still open:", f"- {GOAL}").redo == 0
    assert scored(given, "Still open:", f"- {FIRST} (done)").redo == 0
    assert scored(given, "Story:", f"- asked: {FIRST}", f"- asked: {GOAL}").redo == 0
    assert scored(given, "first the request", kept=(user(FIRST),)).redo == 1


def test_a_completed_task_of_the_plan_listed_as_open_is_redo(given: Cut):
    assert scored(given, "To do:", "- find the writer of the nightly export").redo_finished == 1
    assert scored(given, "To do:", "- [x] find the writer of the nightly export").redo_finished == 0


def test_an_overruled_decision_listed_as_valid_is_redo(given: Cut):
    assert needs(given).settled.overruled == (HIDE,)
    assert scored(given, "Decided:", f"- {HIDE}").redo_overruled == 1
    assert scored(given, "Decided:", f"- {HIDE} (overruled)").redo_overruled == 0
    assert scored(given, "Story:", f"- {HIDE}").redo_overruled == 0


@pytest.mark.parametrize("later", ["Don't forget the start command.", HIDE, "Actually, fix the tests."])
def test_a_reminder_a_repetition_and_another_subject_overrule_nothing(later: str):
    turns = [EvalTurn(HIDE, "done", ended=True), EvalTurn(later, "", ended=False)]
    assert list(overruled_sentences(turns)) == []


def test_a_deleted_file_named_as_if_it_existed_is_redo(given: Cut):
    assert needs(given).settled.deleted == ("src/app/start.py",)
    assert scored(given, "modified: src/app/start.py").redo_deleted == 1
    assert scored(given, "modified: src/app/start.py", "deleted: src/app/start.py").redo_deleted == 0
    assert scored(given, "modified: src/app/cli.py").redo_deleted == 0


@pytest.mark.parametrize(
    ("later", "is_gone"),
    [
        ("make all", True),
        ("rm src/start.py && git add src/start.py", True),
        ("cat > src/start.py <<'EOF'\nrun()\nEOF", False),
        ("echo 'run()' >> src/start.py", False),
        ("git checkout -- src/start.py", False),
        ("rm -f src/start.py; make start; cat src/start.py", False),
        ("cat notes > src/restart.py", True),
    ],
)
def test_a_file_that_a_shell_command_makes_again_is_not_deleted(later: str, is_gone: bool):
    messages = [
        call(1, "Bash", command="rm src/start.py"),
        result(1, ""),
        call(2, "Bash", command=later),
        result(2, ""),
    ]
    done = exchanges([Item(f"m{n}", message) for n, message in enumerate(messages)])
    assert deleted_files(done[1:] if "rm" in later else done) == (["src/start.py"] if is_gone else [])


def test_a_deleted_file_is_not_another_of_the_same_name(given: Cut):
    assert scored(given, "modified: other/src/app/start.py").redo_deleted == 1  # perhaps the same, from above
    settled = replace(needs(given).settled, deleted=("packages/app/src/start.py",))
    other = replace(given, needs=replace(needs(given), settled=settled))
    assert scored(other, "modified: packages/web/src/start.py").redo_deleted == 0
    assert scored(other, "modified: /home/me/packages/app/src/start.py").redo_deleted == 1
    assert scored(other, "modified: src/start.py").redo_deleted == 1


@pytest.mark.parametrize("command", ["nl -ba a.py", "git push", 'git commit -m "$(cat', "rm -rf _build"])
def test_everyday_commands_are_no_targets_and_those_of_a_project_are(command: str):
    before = [*BEFORE, call(9, "Bash", command=f"{command}; mise run lint"), result(9, "ok")]
    after = [call(10, "Bash", command=f"{command} && mise run lint"), result(10, "ok")]
    (first,) = needs(cut(before, after)).next_calls
    assert [target.key for target in first.targets if target.kind == "command"] == ["mise run lint"]


@pytest.mark.parametrize(
    ("last", "is_asked"),
    [
        ("Now let me verify the root command of the parser.", False),
        ("Then let's rename the two flags of the exporter.", False),
        ("I'll rename the two flags of the exporter.", True),
        ("Checking the export of the nightly run:", False),
        ("Let me know which format the nightly export needs.", True),
        ("The exporter now writes two files a night.", True),
    ],
)
def test_a_step_that_is_only_announced_is_no_part_of_a_report(last: str, is_asked: bool):
    first = "The parser has a flag for the nightly export."
    (report,) = reports_of([EvalTurn(GOAL, f"{first} {last}", ended=True)])
    assert report == ([first, last] if is_asked else [first])
    assert reports_of([EvalTurn(GOAL, last, ended=True)]) == ([[last]] if is_asked else [])


def test_reports_count_by_their_whole_sentences_and_only_where_they_fit(given: Cut):
    roomy = given.budgeted(0.9)
    first, second = REPORT.split(". ")
    assert scored(roomy, f"- **{first}.**", f"- {second}").reports == pytest.approx(1 / 4)
    assert scored(roomy, REPORT[: len(REPORT) // 3]).reports == 0
    assert scored(given.budgeted(0.01), REPORT).reports is None


def test_a_view_is_taken_apart_by_what_its_lines_are(given: Cut):
    lines = ("Now:", GOAL, REPORT, "~ the writer class of the export is CsvSink", "CsvSink, app/export.py")
    wrote = scored(given, *lines)
    shares = (wrote.user_words, wrote.agent_prose, wrote.tool_lines, wrote.bare_values)
    assert all(share is not None and share > 0 for share in shares)
    assert wrote.verbatim == 0
    same = score_of(given, given.items[-3:], 0.0)
    assert same.verbatim is not None
    assert same.verbatim > 0.9


@pytest.mark.parametrize("form", ["{}:", "## {}", "**{}**", "# {}:"])
def test_titles_are_found_in_any_form_and_quoted_headings_are_not_titles(form: str):
    quoted = "**Rules**" if form[0] == "#" else "# Rules"
    lines = (form.format("Now"), "- a", quoted, "It said this: no.", form.format("Open work"), "- b")
    found = [(section.title, section.lines) for section in sections_of("\n".join(lines))]
    assert found == [("Now", ("- a", quoted, "It said this: no.")), ("Open work", ("- b",))]


def test_a_title_may_have_its_text_beside_it():
    found = [(section.title, section.lines) for section in sections_of("Goal: d\nIt said this: no.\nOpen: e")]
    assert found == [("Goal", ("d", "It said this: no.")), ("Open", ("e",))]


def test_a_history_of_go_aheads_alone_has_no_goal():
    passages = cut([user("continue"), agent("I did.")], AFTER).readable.passages
    assert goals_of(turns_of(passages)) == ()


def test_a_plan_that_the_harness_puts_in_is_the_goal_and_short_requests_lean_on_it():
    text = "Implement the following plan:\n\n# Compress the nightly export"
    plan = Message(Role.USER, (Text(text),), Origin.INJECTED)
    before = [
        plan,
        agent("I begin with the sinks of the export."),
        user("not all of it at once"),
        *BEFORE[-2:],
    ]
    given = cut(before, AFTER)
    assert needs(given).settled.goals == ("not all of it at once", text)
    assert score_of(given, given.items, 0.0).goal == 1
    assert scored(given, f"Goal: {text}").goal == 1


def test_a_request_in_a_frame_is_stated_by_what_its_heading_announces():
    frame = "You are a helpful agent of the search team, and your manager is waiting."
    framed = f"{frame}\n---\nTask:\n{GOAL}\nGood luck."
    given = cut([user(framed), *BEFORE[-2:]], AFTER)
    assert scored(given, "Now:", f"{GOAL} Good luck.").goal == 1
    assert scored(given, "Now:", FIRST).goal == 0


def test_the_whole_history_and_the_oracle_miss_nothing(given: Cut):
    roomy = given.budgeted(0.9)
    for policy in ("whole", "oracle"):
        score = score_of(roomy, POLICIES[policy].compact(roomy), 0.0)
        assert (score.goal, score.next_action, score.redo, score.reports) == (1, 1, 0, 1)
