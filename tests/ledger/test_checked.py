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
        ("npm run lint:fix", "Checked 2 files. Fixed 2 files.", "Found 3 errors."),
        ("npm run lint", "a.ts:1:1 error: no", "Found 3 errors."),
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
