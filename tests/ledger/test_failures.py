"""What went wrong, what was tried, what came before it worked."""

from __future__ import annotations

import pytest

from clew.ledger import Failure
from clew.ledger import failures as failures_module
from clew.ledger.failures import telling_lines
from clew.message import Cite
from tests.ledger.sessions import did, ledger_of, ran


def test_a_failure_is_mended_by_the_same_command():
    ledger = ledger_of(
        ran("go build ./...", "a.go:3:2: undefined: foo", code=1),
        did("Edit", {"file_path": "/r/a.go"}, "The file /r/a.go has been updated."),
        ran("cd /r && go build ./... 2>&1 | tail -5", "ok"),
    )
    assert ledger.failures == (
        Failure(
            id="e1",
            tool="Bash",
            subject="go build ./...",
            lines=("a.go:3:2: undefined: foo",),
            sources=(Cite("m1", 0, 12, 36),),
            attempts=(Cite("m0"),),
            last_number=1,
            exit_code=1,
            changed=("/r/a.go",),
            mended_by=Cite("m4"),
        ),
    )


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        ("python -m pytest tests/a.py -q", ".venv/bin/pytest tests/a.py"),
        ("/usr/bin/python3 -m pytest tests/a.py", "uv run pytest -x tests/a.py"),
        ("rtk bun run test 2>&1", "bun run test"),
        ("mise run test:ci", "mise run fmt && mise run lint && mise run test:ci 2>&1"),
        ('git commit -m "one thing"', 'git add a.py && git commit -m "another thing"'),
        ("timeout 60 npx tsc --noEmit", "npx tsc --noEmit && ls"),
    ],
)
def test_a_failure_is_mended_by_the_same_command_however_it_is_started(failed, worked):
    ledger = ledger_of(ran(failed, "error: no", code=1), ran(worked, "fine"))
    assert [failure.is_mended for failure in ledger.failures] == [True]


@pytest.mark.parametrize(
    ("failed", "other"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ('pnpm test --grep "one thing"', 'pnpm test --grep "another thing"'),
        ("make all", "ls; make all; ls"),
        ("git commit -m x", "git push"),
    ],
)
def test_a_failure_is_not_mended_by_what_does_not_show_that_it_works(failed, other):
    ledger = ledger_of(ran(failed, "error: no", code=1), ran(other, "fine"))
    assert [failure.is_mended for failure in ledger.failures] == [False]


def test_failed_attempts_at_one_thing_are_counted_together():
    ledger = ledger_of(*(ran("make all", f"error: number {n}", code=2) for n in range(3)), ran("ls", ""))
    (failure,) = ledger.failures
    assert (failure.count, failure.lines, failure.is_mended) == (3, ("error: number 2",), False)
    assert failure.attempts == (Cite("m0"), Cite("m2"), Cite("m4"))


def test_an_edit_is_mended_by_an_edit_of_the_same_file():
    wrong = did(
        "Edit",
        {"file_path": "a.py"},
        "<tool_use_error>String to replace not found</tool_use_error>",
        error=True,
    )
    other = did("Edit", {"file_path": "b.py"}, "The file b.py has been updated.")
    right = did("Edit", {"file_path": "a.py"}, "The file a.py has been updated.")
    assert [failure.is_mended for failure in ledger_of(wrong, other).failures] == [False]
    assert [failure.is_mended for failure in ledger_of(wrong, other, right).failures] == [True]


def test_another_search_mends_nothing():
    wrong = did(
        "Grep", {"pattern": "a", "path": "/no"}, "<tool_use_error>Path does not exist: /no", error=True
    )
    assert [f.is_mended for f in ledger_of(wrong, did("Grep", {"pattern": "b"}, "x")).failures] == [False]


def test_an_unknown_tool_is_mended_by_its_next_success():
    wrong = did("find_user", {"zip": "1"}, "Error: user not found")
    assert [f.is_mended for f in ledger_of(wrong, did("find_user", {"zip": "2"}, "u_1")).failures] == [True]


def test_a_refusal_is_no_failure():
    refused = did(
        "Bash", {"command": "git push"}, "The user doesn't want to proceed with this tool use.", error=True
    )
    sibling = did(
        "Read", {"file_path": "a"}, "<tool_use_error>Sibling tool call errored</tool_use_error>", error=True
    )
    assert ledger_of(refused, sibling).failures == ()


TRACEBACK = """Exit code 1
running
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    main()
ValueError: bad value 7
"""


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (TRACEBACK, ["ValueError: bad value 7"]),
        ("Exit code 1\n$ tsc\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.\n", [
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
        ]),
        ("Exit code 101\n  Compiling x\nerror[E0308]: no match\n", ["error[E0308]: no match"]),
        ("zsh: command not found: foo", ["zsh: command not found: foo"]),
        ("Exit code 1\nsomething odd\nhappened", ["something odd"]),
        ("Exit code 3", ["Exit code 3"]),
        ("", []),
    ],
)  # fmt: skip
def test_the_lines_that_say_what_went_wrong_are_found(output, lines):
    assert [output[start:end] for start, end in telling_lines(output)] == lines


def test_of_many_telling_lines_the_first_and_the_last_are_kept():
    output = "".join(f"error: number {n}\n" for n in range(9))
    assert [output[start:end] for start, end in telling_lines(output)] == [
        "error: number 0",
        "error: number 7",
        "error: number 8",
    ]


def test_a_huge_failed_output_is_looked_at_from_both_ends():
    output = (
        "error: first\n"
        + "calm line\n" * 100_000
        + "error: middle\n"
        + "calm line\n" * 100_000
        + "error: last\n"
    )
    assert [output[start:end] for start, end in telling_lines(output)] == ["error: first", "error: last"]


def test_of_too_many_failures_the_oldest_are_let_go(monkeypatch):
    monkeypatch.setattr(failures_module, "MOST_OPEN", 2)
    monkeypatch.setattr(failures_module, "MOST_MENDED", 4)
    broken = [ran(f"tool{n} run", "error: no", code=1) for n in range(4)]
    assert [failure.subject for failure in ledger_of(*broken).failures] == ["tool2 run", "tool3 run"]
    mended = [step for n in range(9) for step in (ran(f"t{n}", "error: no", code=1), ran(f"t{n}", "ok"))]
    assert [failure.subject for failure in ledger_of(*mended).failures] == ["t5", "t6", "t7", "t8"]
