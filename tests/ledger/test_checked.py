"""The last verdict of a linter, a type checker or the like is known, in its own words."""

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
