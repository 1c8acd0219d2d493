"""What a session lays on its agent is read from the calls alone."""

from __future__ import annotations

from clew_evals.obligations import (
    Superseded,
    ToolExchange,
    changed_files,
    exchanges,
    failed_attempts,
    last_test_status,
    open_tasks,
    replaced_values,
)
from clew_evals.words import Survival
from tests.evals.sessions import call, items, result


def test_the_last_list_of_tasks_counts_and_ended_ones_do_not():
    first = call(1, "TodoWrite", todos=[{"content": "write the parser", "status": "pending"}])
    second = call(2, "TodoWrite", todos=[{"content": "ship", "status": "completed"}, {"content": "test it"}])
    made = call(3, "TaskCreate", subject="mend the build")
    done = exchanges(items(first, second, made, result(3, "Task #7 created")))
    assert open_tasks(done) == ["test it", "mend the build"]
    ended = exchanges(
        items(made, result(3, "Task #7 created"), call(4, "TaskUpdate", taskId="7", status="done"))
    )
    assert open_tasks(ended) == []


def test_files_are_those_that_calls_changed_and_did_not_fail_to():
    done = exchanges(
        items(
            call(1, "Edit", file_path="a/one.py"),
            call(2, "Read", file_path="a/two.py"),
            call(3, "Write", file_path="a/three.py"),
            result(3, "no such folder", is_error=True),
            call(4, "shell", command="apply_patch <<E\n*** Update File: a/four.py\nE"),
            call(5, "str_replace_editor", command="view", path="a/five.py"),
        )
    )
    assert changed_files(done) == ["a/one.py", "a/four.py"]


def test_failures_are_told_by_their_first_line_once():
    failed = "cannot open the database file for writing\nmore"
    done = exchanges(
        items(call(1, "x"), result(1, failed, is_error=True), call(2, "x"), result(2, failed, is_error=True))
    )
    assert failed_attempts(done) == ["cannot open the database file for writing"]


def ran(*outputs: str) -> list[ToolExchange]:
    """Make the runs of a command with these outputs."""
    told = ((call(n, "bash", command="make test"), result(n, text)) for n, text in enumerate(outputs))
    return exchanges(items(*(message for pair in told for message in pair)))


def test_of_the_last_test_run_what_failed_must_be_said():
    runs = ("3 failed, 9 passed", "1 failed, 11 passed")
    assert last_test_status(ran(*runs)) == ("1 failed",)
    assert last_test_status(ran("12 passed in 2s")) == ("12 passed",)
    assert last_test_status(ran("= tests finished: 8 passed, 1 failed, in 0.1 s =")) == ("1 failed",)


def test_what_only_sounds_like_a_test_run_is_none():
    read = exchanges(items(call(1, "Read", file_path="log.txt"), result(1, "3 failed, 9 passed")))
    assert last_test_status(read) == ()
    viewed = call(1, "str_replace_editor", command="view", path="log.txt")
    assert last_test_status(exchanges(items(viewed, result(1, "3 failed, 9 passed")))) == ()
    assert last_test_status(ran("[limiter] Task 2 failed: 101", "step 1 error = nil")) == ()


def test_an_edit_that_changes_one_word_of_a_line_supersedes_it():
    edit = call(1, "Edit", old_string="a\ntimeout = load(300)\n", new_string="a\ntimeout = load(450)\n")
    assert replaced_values(exchanges(items(edit))) == [Superseded(("timeout", "load"), "300", "450")]


def test_a_sentence_survives_where_its_words_stand_close_together():
    words = "never modify generated files under the vendor folder"
    assert Survival(f"- {words}.").share(words) == 1.0
    assert Survival("vendor folder files: generated, do not modify, never").share(words) > 0.8
    far_apart = " filler".join(["never modify generated", *[""] * 60, "vendor folder"])
    assert Survival(far_apart).share(words) < 0.8
