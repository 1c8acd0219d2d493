"""What went wrong, what was tried, what came before it worked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.ledger import Failure
from clew.ledger import failures as failures_module
from clew.ledger.error_lines import error_spans
from clew.message import Cite, Message, Role
from clew.message.text import without_colours
from tests.ledger.sessions import call, did, ledger_of, ran, result


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
            fixed_by=Cite("m4"),
        ),
    )


@pytest.mark.parametrize(
    "worked",
    ["& 'C:\\Program Files\\Git\\bin\\bash.exe' -lc \"./setup.sh | bash\"", "./setup.sh | bash"],
)
def test_a_command_line_in_another_shell_is_the_same_attempt(worked):
    ledger = ledger_of(
        ran('bash -lc "./setup.sh | bash"', "no such file: setup.sh", code=1), ran(worked, "ok")
    )
    assert [failure.is_fixed for failure in ledger.failures] == [True]


@pytest.mark.parametrize(
    ("failed", "worked"),
    [
        ("python -m pytest tests/a.py -q", ".venv/bin/pytest tests/a.py"),
        ("/usr/bin/python3 -m pytest tests/a.py", "uv run pytest -x tests/a.py"),
        ("rtk bun run test 2>&1", "bun run test"),
        ("mise run test:ci", "mise run fmt && mise run lint && mise run test:ci 2>&1"),
        ('git commit -m "one thing"', 'git add a.py && git commit -m "another thing"'),
        ("timeout 60 npx tsc --noEmit", "npx tsc --noEmit && ls"),
        ("timeout 60s mypy src", "mypy src"),
        ("uv run python -m mypy src", "mypy src"),
        ("timeout -k 5 1.5m uv run --no-sync python3 -m mypy src", "mypy src; echo done"),
        ("golangci-lint run ./...", "mise exec -- golangci-lint run --timeout=30m ./..."),
        ("bundle exec rspec spec/a_spec.rb", "rspec spec/a_spec.rb"),
    ],
)
def test_a_failure_is_mended_by_the_same_command_however_it_is_started(failed, worked):
    ledger = ledger_of(ran(failed, "error: no", code=1), ran(worked, "fine"))
    assert [failure.is_fixed for failure in ledger.failures] == [True]


@pytest.mark.parametrize(
    ("failed", "other"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ('pnpm test --grep "one thing"', 'pnpm test --grep "another thing"'),
        ("make all", "ls; make all; ls"),
        ("git commit -m x", "git push"),
        ("mypy src", "mypy src || true"),
        ("mypy src", "cat log || mypy src"),
        ("mypy src", "ls && mypy src || echo failed"),
    ],
)
def test_a_failure_is_not_mended_by_what_does_not_show_that_it_works(failed, other):
    ledger = ledger_of(ran(failed, "error: no", code=1), ran(other, "fine"))
    assert [failure.is_fixed for failure in ledger.failures] == [False]


@pytest.mark.parametrize(
    ("failed", "worked", "is_fixed"),
    [
        ("./scripts/verify.sh reviews/*.md", "./scripts/verify.sh", True),
        ("python fix.py --dry a.txt", "cd /r && python3 fix.py b.txt", True),
        ("node tools/gen.mjs src/a.json", "node tools/gen.mjs src/b.json && git status", True),
        ("python manage.py migrate", "python manage.py test", False),
        ("python fix.py a.txt", "python fix2.py a.txt", False),
        ("python fix.py a.txt", "cat fix.py", False),
        ("python fix.py a.txt", "python fix.py b.txt || true", False),
        ("pytest tests/a.py", "pytest tests/b.py", False),
    ],
)
def test_a_script_that_works_with_other_arguments_is_said_to(failed, worked, is_fixed):
    (failure,) = ledger_of(ran(failed, "error: no", code=1), ran(worked, "fine")).failures
    assert (failure.is_fixed, failure.otherwise) == (is_fixed, is_fixed)


def test_a_script_in_powershell_is_known_by_its_name_and_blamed_for_the_error_that_names_it():
    error = "MethodInvocationException: C:\\r\\scripts\\Verify.ps1:58\n<completed with exit code 1>"
    line = "$files = Get-ChildItem a\\*.md; .\\scripts\\Verify.ps1 @($files.FullName) 2>&1 | Select-Object"
    failed = did("powershell", {"command": line}, error, error=True)
    (failure,) = ledger_of(failed).failures
    assert failure.script == "Verify.ps1"
    worked = did(
        "powershell", {"command": ".\\scripts\\Verify.ps1 2>&1 | Select-Object -Last 2"}, "61 verified"
    )
    assert [one.is_fixed for one in ledger_of(failed, worked).failures] == [True]


def patch(*names):
    body = "\n".join(f"*** Update File: /r/{name}\n@@\n-a\n+b" for name in names)
    return {"patchText": f"*** Begin Patch\n{body}\n*** End Patch"}


def test_a_patch_of_several_files_is_fixed_when_the_last_of_them_is_changed():
    failed = did("apply_patch", patch("a.ts", "b.ts"), "apply_patch verification failed: no such lines")
    first, second, other = (did("apply_patch", patch(name), "Success.") for name in ("a.ts", "b.ts", "c.ts"))
    partly = ledger_of(failed, first, other).failures
    assert [(one.is_fixed, one.redone, one.files) for one in partly] == [(False, True, ("/r/b.ts",))]
    assert [one.is_fixed for one in ledger_of(failed, first, second).failures] == [True]
    assert [(one.is_fixed, one.redone) for one in ledger_of(failed, other).failures] == [(False, False)]


UNREAD = "<tool_use_error>File has not been read yet.</tool_use_error>"


def edit_to(new: str, result: str = ""):
    texts = {"file_path": "/r/a.go", "old_string": "old line", "new_string": new}
    return did("Edit", texts, result or "The file /r/a.go has been updated.", error=bool(result))


FIRST, SECOND, THIRD = (
    "if err := validation.CheckSession(options.Session); err != nil {",
    "agents = append(agents, readAgent(path))",
    "return fmt.Errorf(unknown, name)",
)


def test_of_several_failed_edits_of_a_file_each_must_be_made():
    failed = [edit_to(text, UNREAD) for text in (FIRST, SECOND, THIRD)]
    made = {text: edit_to(text) for text in (FIRST, SECOND, THIRD)}

    def state(*calls):
        (failure,) = ledger_of(*failed, *calls).failures
        return failure.count, failure.is_fixed, failure.redone, len(failure.aims)

    assert state(made[SECOND]) == (3, False, True, 2)
    assert state(*made.values()) == (3, True, True, 1)
    assert state(edit_to("package main")) == (3, False, False, 3)
    assert state(edit_to("if err := validation.CheckSession(options.ID); err != nil {")) == (
        3,
        False,
        True,
        2,
    )
    assert state(edit_to(SECOND, UNREAD), made[SECOND]) == (4, False, True, 2)
    assert state(did("Write", {"file_path": "/r/a.go", "content": f"{FIRST}{SECOND}{THIRD}"}, "ok"))[1]
    assert not state(ran(f"python3 - <<'E'\npatch('/r/a.go', '{SECOND}')\nE", "done"))[1]


def test_an_edit_that_fails_again_is_not_fixed_by_the_one_in_between():
    (failure,) = ledger_of(edit_to(FIRST, UNREAD), edit_to(FIRST), edit_to(FIRST, UNREAD)).failures
    assert (failure.is_fixed, failure.count) == (False, 1)


def test_a_command_that_fails_with_the_same_error_again_was_not_fixed():
    same, other = (ran("make all", f"error: {what}", code=2) for what in ("no rule", "no space"))
    works = ran("make all", "done")
    assert [one.is_fixed for one in ledger_of(same, works, same).failures] == [False]
    assert [one.is_fixed for one in ledger_of(same, works, other).failures] == [True, False]


def test_only_changes_since_the_last_failed_attempt_count():
    first, again = (ran("go build ./...", "a.go:3:2: undefined: foo", code=1) for _ in range(2))
    edit = did("Edit", {"file_path": "/r/a.go"}, "The file /r/a.go has been updated.")
    assert [one.changed for one in ledger_of(first, edit).failures] == [("/r/a.go",)]
    assert [one.changed for one in ledger_of(first, edit, again).failures] == [()]


def test_failed_attempts_at_one_thing_are_counted_together():
    ledger = ledger_of(*(ran("make all", f"error: number {n}", code=2) for n in range(3)), ran("ls", ""))
    (failure,) = ledger.failures
    assert (failure.count, failure.lines, failure.is_fixed) == (3, ("error: number 2",), False)
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
    assert [failure.is_fixed for failure in ledger_of(wrong, other).failures] == [False]
    assert [failure.is_fixed for failure in ledger_of(wrong, other, right).failures] == [True]


@pytest.mark.parametrize(("results", "is_fixed"), [(("ok", "failed"), False), (("failed", "ok"), True)])
def test_of_two_edits_in_one_message_the_later_decides(results, is_fixed):
    texts = {"ok": "The file a.py has been updated.", "failed": "<tool_use_error>String not found"}
    parts = [
        did("Edit", {"file_path": "a.py"}, texts[result], error=result == "failed") for result in results
    ]
    asked, answered = zip(*parts, strict=True)
    both = [replace(one[0], parts=one[0].parts + one[1].parts) for one in (asked, answered)]
    assert [failure.is_fixed for failure in ledger_of(both).failures] == [is_fixed]


@pytest.mark.parametrize(
    ("command", "is_fixed"),
    [
        ("python3 -c \"fix('src/a.py')\"", True),
        ("python3 - <<'E'\nopen('src/a.py', 'w').write(x)\nE", True),
        ("sed -n 1,9p src/a.py", False),
        ("python3 b.py", False),
        ("python3 src/a.py", False),
        ("pytest tests/test_a.py", False),
        ("python3 fix.py data.py a.pyi", False),
    ],
)
def test_an_edit_is_fixed_by_a_command_that_names_the_file_and_does_more_than_read(command, is_fixed):
    wrong = did("Edit", {"file_path": "/w/src/a.py"}, "<tool_use_error>String not found", error=True)
    (failure,) = ledger_of(wrong, ran(command, "Replacement successful")).failures
    assert failure.is_fixed is is_fixed


NOT_THERE = "<tool_use_error>Path does not exist: /no"


def test_another_search_mends_nothing():
    wrong = did("Grep", {"pattern": "a", "path": "/no"}, NOT_THERE, error=True)
    same = did("Grep", {"pattern": "a", "path": "/no"}, NOT_THERE, error=True)
    (failure,) = ledger_of(wrong, same, did("Grep", {"pattern": "b"}, "x")).failures
    assert (failure.subject, failure.is_fixed) == ("a /no", False)


@pytest.mark.parametrize(
    "looked",
    [
        did("Grep", {"pattern": "a", "path": "/no"}, NOT_THERE, error=True),
        did("Read", {"file_path": "a.py"}, "<tool_use_error>File does not exist.", error=True),
        ran("ls nowhere", "ls: nowhere: No such file or directory", code=1),
        ran("cd src && cat a.py | head", "cat: a.py: No such file or directory", code=1),
        ran("make release --dry-run", "error: no rule", code=2),
        ran("tool sub --help", "error: no such command", code=2),
    ],
)
def test_to_look_for_what_is_not_there_is_no_failure(looked):
    assert ledger_of(looked).failures == ()


def test_to_look_for_it_again_is_one():
    looked = ran("ls nowhere", "ls: nowhere: No such file or directory", code=1)
    assert [failure.count for failure in ledger_of(looked, ran("ls nowhere", "ls: no", code=1)).failures] == [
        2
    ]


def test_a_failure_that_says_nothing_counts_if_it_is_repeated():
    silent = did("Bash", {"command": "./run.sh"}, "", error=True)
    again = did("Bash", {"command": "./run.sh"}, "", error=True)
    assert ledger_of(silent).failures == ()
    assert [failure.count for failure in ledger_of(silent, again).failures] == [2]


@pytest.mark.parametrize(
    ("line", "output", "blamed"),
    [
        ("rm -f debug.log\npatch ../a.diff", "patch: ../a.diff: No such file", "patch ../a.diff"),
        ("rm -f a; make all", "oh no", "make all"),
        ("touch a && git push", "fatal: no remote", "git push"),
        ("npm ci && npm test", "oh no", "npm ci && npm test"),
        ("go build ./... 2>&1 | tail -5", "oh no", "go build ./... 2>&1 | tail -5"),
    ],
)
def test_of_a_chain_the_command_that_failed_is_blamed(line, output, blamed):
    assert [failure.subject for failure in ledger_of(ran(line, output, code=1)).failures] == [blamed]


def test_a_chain_is_mended_by_the_command_that_failed_in_it():
    broken = ran("rm -f a && make all 2>&1 | tail", "make: *** no rule", code=2)
    mended = [ran("rm -f a", ""), ran("cd x && make all | tail", "ok")]
    assert [failure.is_fixed for failure in ledger_of(broken, mended[0]).failures] == [False]
    assert [failure.is_fixed for failure in ledger_of(broken, *mended).failures] == [True]


def test_a_file_that_could_not_be_read_is_mended_by_whatever_reads_it():
    missing = [
        did("Read", {"file_path": "/r/a.py"}, "<tool_use_error>Too large.", error=True) for _ in range(2)
    ]
    assert [failure.is_fixed for failure in ledger_of(*missing, ran("cat a.py", "x = 1")).failures] == [True]
    assert [failure.is_fixed for failure in ledger_of(*missing, ran("cat b.py", "x = 1")).failures] == [False]


def test_an_unknown_tool_is_mended_by_its_next_success():
    wrong = did("find_user", {"zip": "1"}, "Error: user not found")
    assert [f.is_fixed for f in ledger_of(wrong, did("find_user", {"zip": "2"}, "u_1")).failures] == [True]


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


PYTEST = """F
>       assert nodes[10] == "tuple"
E       AssertionError: the target is not 'tuple': 'str'
E       assert 'str' == 'tuple'
E         - tuple
E         + str

tests/test_domain.py:118:
  <template>:386: DeprecationWarning: 'soft_unicode' has been renamed to 'soft_str'.
lib/utils.py:44: PendingDeprecationWarning: the old name goes
1 failed, 3 passed, 12 warnings in 0.9s
"""


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (TRACEBACK, ["ValueError: bad value 7"]),
        ("Exit code 1\n$ tsc\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.\n", [
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
        ]),
        (PYTEST, ["E       AssertionError: the target is not 'tuple': 'str'"]),
        ("a.c:1:4: warning: unused x\na.c:9:1: error: expected ';'\n", ["a.c:9:1: error: expected ';'"]),
        ("a.c:1:4: warning: unused variable\nstopped\n", ["a.c:1:4: warning: unused variable"]),
        ("Exit code 101\n  Compiling x\nerror[E0308]: no match\n", ["error[E0308]: no match"]),
        ("zsh: command not found: foo", ["zsh: command not found: foo"]),
        ("Exit code 1\nsomething odd\nhappened", ["something odd"]),
        ("Button\n  ✕ renders a button (3 ms)\n  ✓ closes (1 ms)\n", ["✕ renders a button (3 ms)"]),
        ("npm ERR! code E404\nnpm ERR! 404 Not Found - GET x\nnpm ERR! A complete log of this run: y\n", [
            "npm ERR! code E404", "npm ERR! 404 Not Found - GET x",
        ]),
        ("npm error code E404\nthe build failed\n", ["npm error code E404"]),
        ("10:15:32 INFO starting\n2024-01-01T10:15:32 INFO x\nTests failed\n", ["Tests failed"]),
        ("  3:14  error  'x' is assigned a value\n", ["3:14  error  'x' is assigned a value"]),
        ("Exit code 3", ["Exit code 3"]),
        ("fatal\n\nAll is well here\nerror: x\n", ["error: x"]),
        ("✗\nall fine below\nthe run failed\n", ["the run failed"]),
        ("", []),
    ],
)  # fmt: skip
def test_the_lines_that_say_what_went_wrong_are_found(output, lines):
    assert [output[start:end] for start, end in error_spans(output)] == lines


def test_of_many_telling_lines_the_first_and_the_last_are_kept():
    output = "".join(f"error: number {n}\n" for n in range(9))
    assert [output[start:end] for start, end in error_spans(output)] == [
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
    assert [output[start:end] for start, end in error_spans(output)] == ["error: first", "error: last"]


def test_the_lines_that_say_what_went_wrong_are_found_in_coloured_output():
    output = "\x1b[2m calm\x1b[22m\n\x1b[31m\x1b[1mTypeError\x1b[22m: load is not a function\x1b[39m\n"
    ((start, end),) = error_spans(output)
    assert without_colours(output[start:end]) == "TypeError: load is not a function"


def test_of_too_many_failures_the_oldest_are_let_go(monkeypatch):
    monkeypatch.setattr(failures_module, "MOST_OPEN", 2)
    monkeypatch.setattr(failures_module, "MOST_FIXED", 4)
    broken = [ran(f"tool{n} run", "error: no", code=1) for n in range(4)]
    assert [failure.subject for failure in ledger_of(*broken).failures] == ["tool2 run", "tool3 run"]
    mended = [step for n in range(9) for step in (ran(f"t{n}", "error: no", code=1), ran(f"t{n}", "ok"))]
    assert [failure.subject for failure in ledger_of(*mended).failures] == ["t5", "t6", "t7", "t8"]


def test_an_edit_is_fixed_by_the_call_that_changed_the_file():
    failed = did("Edit", {"file_path": "/r/a.py"}, "String to replace not found in file.", error=True)
    calls = [
        call("Write", {"file_path": "/r/b.py"}, call_id="w1"),
        call("MultiEdit", {"file_path": "/r/a.py"}, call_id="w2"),
        call("Bash", {"command": "ls"}, call_id="w3"),
    ]
    both = Message(Role.ASSISTANT, tuple(part for one in calls for part in one.parts))
    results = [
        result("w1", "File created successfully at: /r/b.py"),
        result("w2", "The file /r/a.py has been updated."),
        result("w3", "a.py b.py"),
    ]
    answers = Message(Role.TOOL, tuple(part for one in results for part in one.parts))
    (failure,) = ledger_of(failed, both, answers).failures
    assert failure.fixed_by == Cite("m2", 1)
