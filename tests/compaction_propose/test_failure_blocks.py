"""An excerpt of a failed run shows of each failure the message, both values, and where it is."""

from __future__ import annotations

import pytest

from clew.compaction.propose.excerpt import excerpt
from clew.compaction.propose.failure_blocks import failure_blocks
from clew.compaction.propose.line_kinds import find_error_lines

MOCHA = """\
  1) Sessions
       shows the time of a session:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
+ actual - expected

+ '04-04 12:00'
- '04-04 09:00'
         ^

      + expected - actual

      -04-04 12:00
      +04-04 09:00

  \tat Context.<anonymous> (out/test/sessions.test.js:152:16)
  \tat process.processImmediate (node:internal/timers:484:21)
"""
NODE = """\
✖ doubles (1.2ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

  3 !== 7

      at TestContext.<anonymous> (file:///x/rates.test.js:5:10)
      at Test.runInAsyncScope (node:async_hooks:203:9)
✔ halves (0.1ms)
"""
JEST = """\
  ● rate › doubles

    expect(received).toBe(expected) // Object.is equality

    Expected: 7
    Received: 3

      10 | test('doubles', () => {
      11 |   const day = 3;
    > 12 |   expect(rate(day)).toBe(7);
         |                     ^

      at Object.toBe (src/rate.test.js:12:21)
      at new Promise (node_modules/jest-circus/build/x.js:3:1)

  ● rate › halves
"""
VITEST = """\
 FAIL  src/a.test.ts > rate > doubles
AssertionError: expected 3 to be 7 // Object.is equality

- Expected
+ Received

- 7
+ 3

 ❯ src/a.test.ts:12:20
     10|   it("doubles", () => {
     11|     const day = 3;
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯
"""
PYTEST = """\
____________ test_rate ____________

    def test_rate():
        day = 3
>       assert rate(day) == 7
E       assert 3 == 7
E        +  where 3 = rate(3)

tests/test_rates.py:12: AssertionError
=========== short test summary info ===========
"""
UNITTEST = """\
FAIL: test_rate (tests.T)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/x/tests.py", line 5, in test_rate
    self.assertEqual(rate(3), 7)
  File "/opt/lib/python3.9/unittest/case.py", line 830, in _baseAssertEqual
    raise self.failureException(msg)
AssertionError: 3 != 7
"""
GO = """\
--- FAIL: TestRate (0.00s)
    hooks.go:196: the output of a hook
    rates_test.go:13: Rate(4) is not what is wanted:
        got: 4
        want: 9
=== RUN   TestOther
"""
TESTIFY = """\
--- FAIL: TestRate (0.00s)
    rates_test.go:12:
        \tError Trace:\t/x/rates_test.go:12
        \tError:      \tNot equal:
        \t            \texpected: 7
        \t            \tactual  : 3
        \tTest:       \tTestRate
"""
CARGO = """\
---- tests::rate stdout ----

thread 'tests::rate' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 3
 right: 7
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
JUNIT = """\
org.opentest4j.AssertionFailedError: expected: <7> but was: <3>
\tat org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
\tat com.acme.RatesTest.doubles(RatesTest.java:12)
\tat java.base/java.lang.reflect.Method.invoke(Method.java:568)
"""
FORMS = {
    "mocha": (MOCHA, ("+ '04-04 12:00'", "- '04-04 09:00'", "sessions.test.js:152:16")),
    "node:test": (NODE, ("3 !== 7", "rates.test.js:5:10")),
    "jest": (JEST, ("Expected: 7", "Received: 3", "> 12 |", "src/rate.test.js:12:21")),
    "vitest": (VITEST, ("expected 3 to be 7", "- 7", "+ 3", "src/a.test.ts:12:20")),
    "pytest": (PYTEST, (">       assert rate(day) == 7", "E       assert 3 == 7", "tests/test_rates.py:12")),
    "unittest": (UNITTEST, ("AssertionError: 3 != 7", 'File "/x/tests.py", line 5')),
    "go test": (GO, ("rates_test.go:13: Rate(4)", "got: 4", "want: 9")),
    "testify": (TESTIFY, ("expected: 7", "actual  : 3", "/x/rates_test.go:12")),
    "cargo": (CARGO, ("src/lib.rs:12:9", "left: 3", "right: 7")),
    "JUnit": (JUNIT, ("expected: <7> but was: <3>", "RatesTest.java:12")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_is_its_message_with_both_values_and_its_place(form: str):
    text, said = FORMS[form]
    (block,) = failure_blocks(f"{text}\n")
    shown = "\n".join(text[slice(*line)] for line in block)
    assert [one for one in said if one not in shown] == []


@pytest.mark.parametrize("form", FORMS)
def test_frames_of_libraries_do_not_belong_to_a_failure(form: str):
    text, _ = FORMS[form]
    shown = "\n".join(text[slice(*line)] for block in failure_blocks(text) for line in block)
    assert not any(
        one in shown for one in ("node:", "node_modules", "/lib/python", "hooks.go", "org.junit", "java.base")
    )


@pytest.mark.parametrize("form", FORMS)
def test_of_a_failed_run_failures_come_before_tests_that_passed(form: str):
    text, said = FORMS[form]
    passed = "\n".join(f"    ✔ keeps load errors of session {n} in the tree" for n in range(60))
    run = f"Exit code: 1\n\n{passed}\n{text}\n{passed}\n  120 passing (3s)\n  1 failing\n"
    shown = excerpt(run, 1_200)
    assert [one for one in said if one not in shown] == []
    assert shown.count("✔") <= 12
    assert len(shown) <= 1_500


def test_each_failure_has_both_values_or_is_left_out():
    run = (
        "Exit code: 1\n"
        + "\n".join(MOCHA.replace("04-04", f"{n:02}-04") for n in range(30))
        + "\n  30 failing"
    )
    shown = excerpt(run, 2_000)
    actual = {line[3:5] for line in shown.split("\n") if line.startswith("+ '")}
    expected = {line[3:5] for line in shown.split("\n") if line.startswith("- '")}
    assert len(actual) >= 3
    assert actual == expected


@pytest.mark.parametrize(
    "line",
    [
        "  ✔ keeps load errors",
        "tests/a.py::test_errors PASSED [ 3%]",
        "test parses_errors ... ok",
        "ok a/errors",
    ],
)
def test_a_test_that_passed_is_no_error_whatever_its_name_says(line: str):
    run = "\n".join([*(f"step {n}" for n in range(20)), line, *(f"step {n}" for n in range(20))])
    assert list(find_error_lines(run)) == []
    (summary,) = find_error_lines(f"{run}\n1 failed, 41 passed")
    assert summary[1] == len(run) + len("\n1 failed, 41 passed")
