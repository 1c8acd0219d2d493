"""What is told of the last checks and test runs: in their own words, and only if it is about the work."""

from __future__ import annotations

import pytest

from clew.compaction.ledger_claims import mandatory_content
from clew.ledger.checks import verdict_of
from clew.message import Role, text_message
from tests.compaction_propose.sessions import items, read, step


@pytest.mark.parametrize(
    ("command", "output", "verdict"),
    [
        (
            "npm run check",
            "src/a.ts:1:2 lint/noVar\n\nFound 3 errors.\n",
            ("npm run check", "Found 3 errors."),
        ),
        ("cd web && npx eslint .", "✖ 12 problems (8 errors, 4 warnings)\n", ("npx eslint .", None)),
        ("mypy src", "Success: no issues found in 7 source files\n", ("mypy src", None)),
        ("ruff check . | tail -3", "All checks passed!\n", ("ruff check .", None)),
        (
            "cargo clippy",
            "error: could not compile `app` (lib) due to 2 previous errors\n",
            ("cargo clippy", None),
        ),
    ],
)
def test_a_check_is_told_by_the_line_that_sums_it_up(
    command: str, output: str, verdict: tuple[str, str | None]
):
    line = verdict[1] or output.strip()
    assert verdict_of(command, output) == (verdict[0], line)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat lint.log", "Found 3 errors.\n"),
        ("grep -rn check src", "3 errors were found\n"),
        ("ls", "Found 3 errors.\n"),
        ("npm run lint", "running 2 errors later on\n"),
    ],
)
def test_what_shows_something_and_what_sums_up_nothing_is_no_check(command: str, output: str):
    assert verdict_of(command, output) is None


def test_a_digest_tells_the_last_check_and_no_earlier_one():
    first = step("c1", "bash", {"command": "npm run lint"}, "Found 3 errors.")
    later = step("c2", "bash", {"command": "npm run lint"}, "Found 1 error.")
    view = items([text_message(Role.USER, "Mend it."), *first, *later])
    told = [
        one.text
        for one in mandatory_content(read(view), view[:1]).claims
        if one.text.startswith("last check")
    ]
    assert told == ["last check: npm run lint: Found 1 error."]


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("npm run lint | tail -5", "$ biome check --error-on-warnings\nChecked 2 files.", "no errors shown"),
        ("cat lint.log", "nothing", "Found 3 errors."),
    ],
)
def test_a_check_that_runs_again_without_errors_and_without_a_summary_is_clean(
    command: str, output: str, told: str
):
    first = step("c1", "bash", {"command": "npm run lint"}, "Found 3 errors.")
    view = items(
        [text_message(Role.USER, "Mend it."), *first, *step("c2", "bash", {"command": command}, output)]
    )
    (last,) = [one for one in mandatory_content(read(view), view[:1]).claims if "last check" in one.text]
    assert last.text == f"last check: npm run lint: {told}"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npm run lint:fix", "Checked 2 files. Fixed 2 files."),
        ("npm run lint", "a.ts:1:1 error: no"),
        ("npm run lint; npm test", "ok 1 - adds\n# pass 1\n# fail 0"),
    ],
)
def test_a_check_that_may_have_changed_since_is_not_told(command: str, output: str):
    assert _told("npm run lint", "Found 3 errors.", command, output) == []


def test_a_check_that_was_not_clear_for_a_while_is_told_again():
    fixed = [
        *step("c1", "bash", {"command": "npm run lint"}, "Found 3 errors."),
        *step("c2", "bash", {"command": "npm run lint:fix"}, "Fixed 2 files."),
        *step("c3", "bash", {"command": "npm run lint"}, "Checked 2 files."),
    ]
    view = items([text_message(Role.USER, "Mend it."), *fixed])
    claims = mandatory_content(read(view), view[:1]).claims
    assert "last check: npm run lint: no errors shown" in [one.text for one in claims]


def test_the_worst_of_several_verdicts_counts():
    output = "Checked 611 files in 713ms. No fixes applied.\nFound 29 errors.\nFound 1 warning.\n"
    assert verdict_of("npm run check", output) == ("npm run check", "Found 29 errors.")
    both = verdict_of("ruff check . && mypy src", "All checks passed!\nFound 2 errors in 1 file\n")
    assert both == ("ruff check . && mypy src", "Found 2 errors in 1 file")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("npm run lint", ["last check: npm run lint: failed with exit code 2"]),
        ("npm run lint && npm run build", []),
    ],
)
def test_an_exit_code_says_more_than_a_verdict(command: str, told: list[str]):
    output = "Exit code: 2\nAll checks passed!\nconfiguration is invalid"
    assert _told("npm run lint", "All checks passed!", command, output) == told


def test_a_check_that_passes_before_the_tests_of_its_line_replaces_the_last():
    together = "mise run fmt && mise run lint && mise run test"
    output = "0 issues.\nok  \tpkg/a\t0.2s\nok  \tpkg/failover\t0.1s\n"
    told = _told("mise run fmt && mise run lint", "1 issues:\n* unused: 1", together, output)
    assert told == ["last check: mise run fmt && mise run lint: no errors shown"]


def test_the_hook_of_a_commit_may_check():
    commit = "git add -A && git commit -m 'Fix lint'"
    told = _told("npm run lint", "All checks passed!", commit, "Found 4 errors.\nhusky - pre-commit failed")
    assert told == ["last check: git commit: Found 4 errors."]


def _told(command: str, output: str, again: str, shown: str) -> list[str]:
    """Return what is told of the last check after two command lines."""
    steps = [
        *step("c1", "bash", {"command": command}, output),
        *step("c2", "bash", {"command": again}, shown),
    ]
    view = items([text_message(Role.USER, "Mend it."), *steps])
    claims = mandatory_content(read(view), view[:1]).claims
    return [one.text for one in claims if one.text.startswith("last check")]


FAILS = "FAILED t/test_a.py::test_one - assert 1 == 2\n1 failed, 3 passed in 0.1s\nexit code: 1"
PASSES = "4 passed in 0.1s"


def _state(*commands: tuple[str, str]) -> list[str]:
    """Return the failing tests and the last test run, as a digest tells them."""
    steps = [
        message
        for n, (line, out) in enumerate(commands)
        for message in step(f"c{n}", "bash", {"command": line}, out)
    ]
    view = items([text_message(Role.USER, "Mend it."), *steps])
    claims = mandatory_content(read(view), view[:1]).claims
    return [one.text for one in claims if one.text.startswith(("last test run", "test: "))]


TEST = "test: t/test_a.py::test_one"
TOO = f"{TEST} (failed before the changes, too)"


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ([("git stash && pytest; git stash pop", FAILS)], []),
        ([("pytest", FAILS), ("git stash && pytest", FAILS)],
         [TOO, "last test run: pytest: 3 passed, 1 failed"]),
        ([("git stash", ""), ("pytest", FAILS), ("git stash pop", ""), ("pytest", FAILS)],
         [TOO, "last test run: pytest: 3 passed, 1 failed"]),
        ([("pytest", PASSES), ("git stash; pytest", FAILS)], ["last test run: pytest: 4 passed, 0 failed"]),
        ([("git stash list && pytest", FAILS)], [TEST, "last test run: pytest: 3 passed, 1 failed"]),
        ([("git stash", "No local changes to save"), ("pytest", FAILS)],
         [TEST, "last test run: pytest: 3 passed, 1 failed"]),
        ([("git -C repo --no-pager stash -u && pytest", FAILS)], []),
        ([("git stash; pytest", f"fatal: not a git repository\n{FAILS}")],
         [TEST, "last test run: pytest: 3 passed, 1 failed"]),
        ([("git stash", "error: could not write index\nexit code: 1"), ("pytest", FAILS)],
         [TEST, "last test run: pytest: 3 passed, 1 failed"]),
        ([("git stash", ""), ("git stash apply", ""), ("pytest", FAILS)],
         [TEST, "last test run: pytest: 3 passed, 1 failed"]),
    ],
)  # fmt: skip
def test_a_run_without_the_changes_says_nothing_about_the_work(commands, told: list[str]):
    assert _state(*commands) == told


@pytest.mark.parametrize(
    ("command", "output", "is_told"),
    [
        ("git commit -m x", "exit code: 1\n$ bun test src/\nbun test v1.3\nerror: Cannot find module", False),
        ("git commit -m x", "exit code: 1\nerror: nothing to commit", True),
        ("pytest -q", "ImportError: no module named app\nexit code: 4", False),
        ("npm run check", "error: bad\nexit code: 1", True),
        ("git commit -m x", "1 file changed", True),
    ],
)
def test_a_run_is_not_the_last_if_a_later_one_broke_off(command: str, output: str, is_told: bool):
    told = _state(("pytest", PASSES), (command, output))
    assert told == (["last test run: pytest: 4 passed, 0 failed"] if is_told else [])


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        ([("README.md", "x")], ""),
        ([(".agent/tmp/log.json", "x")], ""),
        ([("try_it.py", "x"), "python try_it.py"], ""),
        ([("try_it.py", "x")], " (edited after it: try_it.py)"),
        ([("src/app.py", "x"), "python src/app.py"], " (edited after it: app.py)"),
        ([("src/new.py", "x"), "rm src/new.py"], ""),
    ],
)
def test_only_sources_that_changed_make_a_result_outdated(edited, told: str):
    calls = [
        step(f"e{n}", "bash", {"command": one}, "")
        if isinstance(one, str)
        else step(f"e{n}", "Write", {"file_path": one[0], "content": one[1]}, f"File created: {one[0]}")
        for n, one in enumerate(edited)
    ]
    steps = [
        *step("c1", "bash", {"command": "pytest"}, PASSES),
        *(message for call in calls for message in call),
    ]
    view = items([text_message(Role.USER, "Mend it."), *steps])
    claims = mandatory_content(read(view), view[:1]).claims
    assert [one.text for one in claims if one.text.startswith("last test run")] == [
        f"last test run: pytest: 4 passed, 0 failed{told}"
    ]
