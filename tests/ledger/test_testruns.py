"""What the output of test runners tells."""

from __future__ import annotations

import pytest

from clew.ledger.testruns import FailedTest, Run, run_of

RUNS = {
    "pytest": (
        "uv run pytest tests -q",
        "F.\n=== short test summary info ===\nFAILED tests/test_a.py::test_x[a b] - assert 1 == 2\n"
        "ERROR tests/test_b.py\n=== 1 failed, 1 passed, 1 error in 0.12s ===\n",
        {"tests/test_a.py::test_x[a b]", "tests/test_b.py"},
    ),
    "pytest, verbose": (
        "pytest -v",
        "tests/test_a.py::test_x FAILED [ 50%]\ntests/test_a.py::test_y PASSED [100%]\n"
        "1 failed, 1 passed in 0.1s\n",
        {"tests/test_a.py::test_x"},
    ),
    "unittest": (
        "python -m unittest",
        "======\nFAIL: test_x (tests.test_a.TestA)\n------\nAssertionError\n\n"
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)\n",
        {"test_x (tests.test_a.TestA)"},
    ),
    "go": (
        "go test ./...",
        "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub (0.00s)\nFAIL\n"
        "FAIL\texample.org/pkg\t0.1s\nok  \texample.org/b\t0.2s\n",
        {"TestX", "TestX/sub"},
    ),
    "go, not built": (
        "go test ./...",
        "FAIL\texample.org/pkg [build failed]\nok  \tx/b\t0.2s\n",
        {"example.org/pkg"},
    ),
    "cargo": (
        "cargo test",
        "test a::works ... ok\ntest a::breaks ... FAILED\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored\n",
        {"a::breaks"},
    ),
    "vitest": (
        "pnpm vitest run",
        " ✓ src/b.test.ts (2 tests) 3ms\n FAIL  src/a.test.ts > adds > two numbers\n\n"
        " Test Files  1 failed | 1 passed (2)\n",
        {"src/a.test.ts > adds > two numbers"},
    ),
    "jest": (
        "npx jest",
        "FAIL src/a.test.js\n  ● adds › two numbers\n\n"
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 passed, 3 total\n",
        {"src/a.test.js", "adds › two numbers"},
    ),
    "bun": ("bun test", "(pass) a > b [0.1ms]\n(fail) a > c [1.20ms]\n\n 1 pass\n 1 fail\n", {"a > c"}),
    "mocha": (
        "npx mocha",
        "  Suite\n    ✔ works\n    1) breaks\n\n  1 passing (5ms)\n  1 failing\n\n"
        "  1) Suite\n       breaks:\n     Error: no\n",
        {"breaks"},
    ),
    "sympy": (
        "bin/test",
        "core/tests/test_a.py[2] .F   [FAIL]\n____ core/tests/test_a.py:test_sum ____\nAssertionError\n\n"
        "= tests finished: 1 passed, 1 failed, 2 expected to fail, in 0.09 seconds =\nDO *NOT* COMMIT!\n",
        {"core/tests/test_a.py:test_sum"},
    ),
    "node": ("node --test", "✔ a (1.2ms)\n✖ b (0.3ms)\nℹ tests 2\nℹ fail 1\n", {"b"}),
    "tap": ("node --test", "ok 1 - a\nnot ok 2 - b\n# pass 1\n# fail 1\n", {"b"}),
    "with colours": (
        "cargo test",
        "test a::b ... \x1b[31mFAILED\x1b[0m\ntest result: FAILED. 0 passed\n",
        {"a::b"},
    ),
}


@pytest.mark.parametrize(("command", "output", "failed"), RUNS.values(), ids=RUNS)
def test_failed_tests_are_named_where_the_output_names_them(command, output, failed):
    run = run_of(command, output)
    assert run is not None
    assert {test.name for test in run.failed} == failed
    assert all(output[test.start : test.end] == test.name for test in run.failed)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat test.log", "FAILED tests/test_a.py::test_x\n1 failed in 0.1s"),
        ("git log", "--- FAIL: TestX\nFAIL\tpkg\t0.1s"),
        ("pytest", "command not found"),
        ("pytest", "FAILED tests/test_a.py::test_x - cut off before the"),
    ],
)
def test_what_ran_no_tests_to_the_end_tells_nothing(command, output):
    assert run_of(command, output) is None


def test_a_run_knows_what_it_selected():
    run = run_of(
        "cd x && go test -run TestX ./pkg/a 2>&1 | tail -5", "--- FAIL: TestX (0.1s)\nFAIL\tp\t0.1s\n"
    )
    assert run == Run(
        "go",
        (FailedTest("TestX", 10, 15),),
        frozenset(),
        "cd x && go test -run TestX ./pkg/a",
        frozenset({"./pkg/a"}),
        filters=frozenset({"TestX"}),
    )


@pytest.mark.parametrize(
    ("command", "selects"),
    [
        ("go test ./...", set()),
        ("mise run test:ci", set()),
        ("npm test -- --grep x", set()),
        ("python -m pytest tests/test_a.py::test_x -q", {"tests/test_a.py::test_x"}),
        ("./tests/runtests.py forms_tests", {"./tests/runtests.py", "forms_tests"}),
    ],
)
def test_tasks_and_runners_are_no_selection(command, selects):
    run = run_of(command, "ok  \tp\t0.1s\n1 passed in 0.1s\n")
    assert run is not None
    assert run.selects == selects


def test_tests_that_the_hook_of_a_commit_runs_are_a_run():
    message = "git add a.ts && git commit -m \"$(cat <<'EOF'\nRun the tests\nEOF\n)\""
    output = "$ bun test src/\n(fail) adds [1.14ms]\n\n 1315 pass\n 6 fail\n 4 errors\nhusky - failed\n"
    run = run_of(message, output)
    assert run is not None
    assert (run.command, [test.name for test in run.failed]) == ("git commit", ["adds"])
    assert not run.covers("other", frozenset()), "a hook may run some of the tests"


@pytest.mark.parametrize("output", ["[main 1a2b3c4] ok\n 2 files changed", "ok \tmain 1a2b3c4\n", ""])
def test_a_commit_without_tests_is_no_run(output: str):
    assert run_of("git commit -m 'pytest passes'", output) is None
