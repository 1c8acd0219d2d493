"""An excerpt keeps how a text begins, how it ends, what went wrong in between, and what must stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.propose.excerpt import ExcerptSource, excerpt
from clew.compaction.propose.lines import LONGEST_LINE, cut_line
from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from tests.compaction_propose.sessions import COUNTER, history

NUMBERS = [f"line {n}" for n in range(1000)]


def test_a_short_text_is_left_as_it_is():
    assert excerpt("a\nb", 100) == "a\nb"


def test_head_tail_and_errors_are_kept_and_the_rest_is_counted():
    lines = [*NUMBERS[:500], "ERROR: disk full", *NUMBERS[501:]]
    shown = excerpt("\n".join(lines), 200).split("\n")
    assert shown[0] == "line 0"
    assert shown[-1] == "line 999"
    assert "ERROR: disk full" in shown
    assert sum(1 for line in shown if line.startswith("[… ")) == 2


def test_the_one_error_in_a_long_log_is_shown_in_the_smallest_excerpt():
    log = [f"INFO step {number} ok" for number in range(300)]
    log[150] = "ERROR disk full on /dev/sda1"
    assert "ERROR disk full on /dev/sda1" in excerpt("\n".join(log), 80)


def test_passages_about_the_current_work_are_shown_with_the_lines_around_them():
    lines = [*NUMBERS[:500], "def check_can_rewind():", *NUMBERS[501:]]
    source = ExcerptSource("\n".join(lines), about={"check_can_rewind": 1, "line": 1})
    assert "line 498\nline 499\ndef check_can_rewind():\nline 501\nline 502" in source.excerpt(300)


@pytest.mark.parametrize(
    ("first", "last"), [("", "[exit code: 1]"), ("<returncode>2</returncode>", ""), ("", "Found 4 errors.")]
)
def test_of_a_run_that_failed_what_went_wrong_comes_before_the_current_work(first: str, last: str):
    frames = [f"  {n} | it('calls on_change', () => render(Selector{n % 9}))" for n in range(80)]
    lines = [
        first,
        *NUMBERS[:90],
        "  × The variable props is undeclared.",
        "  48 | {...props}",
        *frames,
        last,
    ]
    shown = ExcerptSource("\n".join(lines), about={f"Selector{n}": 1 for n in range(9)}).excerpt(700)
    assert "  × The variable props is undeclared.\n  48 | {...props}" in shown


def test_a_term_on_every_line_points_to_no_passage():
    text = "\n".join(NUMBERS)
    assert ExcerptSource(text, about={"line": 1}).excerpt(300) == excerpt(text, 300)


def test_in_code_that_always_mentions_errors_the_word_says_little():
    code = "\n".join(f"if err{n} != nil {{ return fmt.Errorf(value_{n}) }}" for n in range(400))
    shown = excerpt(code, 400)
    assert shown.count("[… ") == 1  # both ends, nothing picked from between


def test_one_line_left_out_is_one_line():
    assert excerpt(f"aaaa\n{'b' * 160}\ncccc", 12) == "aaaa\n[… 1 line]\ncccc"


def test_a_gap_that_a_note_would_hardly_shorten_is_shown():
    assert excerpt("aaaa\nbbbbbbbb\ncccc", 12) == "aaaa\nbbbbbbbb\ncccc"
    assert excerpt(f"aaaa\n{'b' * 119}\ncccc", 12).endswith("\ncccc")


def test_of_prose_less_than_a_few_sentences_is_never_cut():
    said = (
        "The user does not want to proceed with this tool use, so it was rejected. Stop what you are doing. "
    )
    assert cut_line(said * 2, 60) == said * 2
    shown = cut_line(said * 9, 200)
    assert shown.startswith(f"{said.strip()}[… ")
    assert shown.endswith(f"]{said}")
    code = "".join(f"f({n});" for n in range(60))
    assert "characters]" in cut_line(code, 60)


def test_words_for_errors_in_source_code_do_not_choose_its_lines():
    code = "\n".join(f"def step_{n}():\n    return None\n    # ..." for n in range(200))
    code += "\n    raise ValueError('undefined error')\n" + "\n".join(f"x_{n} = {n}" for n in range(100))
    assert "undefined error" not in excerpt(code, 400)
    assert "undefined error" in excerpt(code.replace("def ", "did "), 400)


@pytest.mark.parametrize(
    "verdict",
    [
        "all 29 tests passed",
        "All tests passed.",
        "Tests Passed: 41, Failed: 0",
        "FAIL\tsrc/app 0.3s",
        "3 failed, 2 passed",
    ],
)
def test_the_verdict_of_a_run_is_shown_however_small_the_excerpt(verdict: str):
    lines = "\n".join(f"compiled module {n} of the whole application" for n in range(300))
    more = "\n".join(f"wrote report {n} of the whole application" for n in range(20))
    assert verdict in excerpt(f"{lines}\n{verdict}\n{more}", 160)


def test_one_endless_line_is_cut_in_its_middle():
    shown = excerpt("x" * 1_000_000, 500)
    assert len(shown) < 1_000
    assert "[… 999,600 characters]" in shown


def test_lines_are_cut_as_short_as_asked():
    assert excerpt("x" * 1_000_000, 50, longest_line=40) == f"{'x' * 20}[… 999,960 characters]{'x' * 20}"


def test_what_is_held_is_shown_wherever_it_stands():
    text = "\n".join(NUMBERS)
    start = text.index("line 500")
    assert "\nline 500\nline 501\n" in excerpt(text, 100, [(start, start + 12)])
    long = "x" * 500 + "hold this" + "y" * 500
    assert "characters]hold this[… " in excerpt(long, 100, [(500, 509)], longest_line=40)


@given(st.text(max_size=3000), st.integers(1, 600))
def test_an_excerpt_is_never_much_longer_than_asked(text: str, most: int):
    shown = excerpt(text, most)
    gaps = shown.count("[… ") * 40
    assert len(shown) <= max(most, 3 * LONGEST_LINE) + gaps or shown == text


@given(st.text(st.sampled_from("ab\n"), max_size=400), st.integers(1, 60), st.data())
def test_everything_held_stands_in_the_excerpt(text: str, most: int, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert text[start:end] in excerpt(text, most, [(start, end)])


def test_the_end_of_a_long_line_does_not_begin_right_after_a_negation():
    for width in range(LONGEST_LINE // 2 - 30, LONGEST_LINE // 2):
        line = f"{'a' * 900} do not delete {'y' * width}"
        shown = excerpt(line, LONGEST_LINE).rpartition("characters]")[2]
        assert not shown.startswith("delete")


WRONG = ["ERROR", "it Failed", "not found", "Cannot open", "✗", "E   1 == 2"]
FINE = [f"step {n} İ of the  build went well" for n in range(2_000)]


@given(st.integers(100, 1_900), st.sampled_from(WRONG), st.integers(0, LONGEST_LINE - 30))
def test_a_line_that_says_early_on_what_went_wrong_is_shown_wherever_it_stands(
    at: int, wrong: str, late: int
):
    line = f"{'-' * late} {wrong} {at}"
    assert line in excerpt("\n".join([*FINE[:at], line, *FINE[at:]]), 3_000).split("\n")


def test_a_line_that_says_so_only_far_behind_is_one_of_many():
    line = f"{'-' * LONGEST_LINE} ERROR"
    assert line[:9] not in excerpt("\n".join([*FINE[:500], line, *FINE[500:]]), 3_000)


@given(st.text(st.sampled_from("ab\n"), max_size=2000), st.integers(1, 900), st.data())
def test_the_fullest_excerpt_holds_what_is_held_and_is_not_much_longer_than_asked(
    text: str, most: int, data: st.DataObject
):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert text[start:end] in ExcerptSource(text).fullest(most, [(start, end)])
    shown = ExcerptSource(text).fullest(most)
    assert len(shown) <= max(most, 3 * LONGEST_LINE) + shown.count("[… ") * 40


def test_the_verdict_of_a_run_is_shown_even_in_a_tiny_excerpt():
    text = "\n".join((*NUMBERS[:300], "\x1b[32m Tests  5 passed\x1b[39m (5)", *NUMBERS[300:310]))
    assert "5 passed" in excerpt(text, 90)


def _code(definitions: int, lines: int) -> str:
    steps = []
    for n in range(definitions):
        body = "\n".join(f"    total = total + {n} * {line}" for line in range(lines))
        steps.append(f"# Adds {n}.\ndef step_{n}(\n    total,\n    rate_{n},\n):\n{body}\n    return total\n")
    return "\n".join(steps)


def test_of_a_source_file_whole_functions_are_shown_and_the_names_of_others():
    steps = [f"# Adds{step.rstrip()}" for step in _code(12, 6).split("# Adds")[1:]]
    source = ExcerptSource(_code(12, 6), {"rate_7": 1, "rate_9": 1}, is_outlined=True)
    assert source.excerpt(700) == (
        "[… 91 lines: step_0, step_1, step_2, step_3, step_4, step_5, step_6]\n"
        f"{steps[7]}\n"
        "[… 14 lines: step_8]\n"
        f"{steps[9]}\n"
        "[… 27 lines: step_10, step_11]"
    )


def test_of_a_function_that_does_not_fit_the_signature_with_its_comment_is_shown():
    text = _code(3, 60).replace("total + 1 * 30\n", "total + discount\n")
    shown = ExcerptSource(text, {"discount": 1}).excerpt(1_000)
    assert "# Adds 1.\ndef step_1(\n    total,\n    rate_1,\n):\n" in shown
    assert "    total = total + 1 * 29\n    total = total + discount\n    total = total + 1 * 31\n" in shown
    assert shown.count("[… ") <= 3


def test_of_a_report_the_types_that_it_quotes_are_shown_whole():
    fields = "\n".join(f"    Field{n} string" for n in range(6))
    types = "\n\n".join(
        f"### Type {n}\n\n```go\ntype Event{n} struct {{\n{fields}\n}}\n```" for n in range(3)
    )
    prose = "\n\n".join(
        f"The library does step {n} of many steps, as its documentation says." for n in range(90)
    )
    shown = ExcerptSource(f"# Report\n\n## Types\n\n{types}\n\n## Steps\n\n{prose}").excerpt(1_500)
    assert all(f"type Event{n} struct {{\n{fields}\n}}\n```" in shown for n in range(3))


def _diff_of(files: int) -> str:
    hunks = "\n".join(f"@@ -{n},4 +{n},4 @@\n context {n}\n-old_{n}\n+new_{n}\n context" for n in range(6))
    return "\n".join(
        f"diff --git a/src/f{n}.py b/src/f{n}.py\nindex 1..2 100644\n{hunks.replace('new_', f'new_{n}_')}"
        for n in range(files)
    )


def test_of_a_diff_the_files_and_whole_hunks_are_shown_related_ones_first():
    shown = ExcerptSource(f"On branch main\n{_diff_of(12)}", about={"new_7_3": 1}).excerpt(1_000)
    assert shown.startswith("On branch main\n")
    assert [f"b/src/f{n}.py" in shown for n in range(12)] == [True] * 12
    assert "@@ -3,4 +3,4 @@\n context 3\n-old_3\n+new_7_3\n context" in shown
    assert all(line.count("old") == line.count("-old") for line in shown.split("\n"))
    assert shown.count("-old_") == shown.count("+new_")  # no hunk is cut


def _changed_file(path: str, functions: int, lines: int) -> str:
    hunks = []
    for n in range(functions):
        body = "\n".join(f"+    total = total + {line}" for line in range(lines))
        changed = f"-old_{n} = 1\n+def step_{n}(total):\n{body}\n+    return total"
        hunks.append(f"@@ -{9 * n},3 +{9 * n},9 @@\n before\n{changed}\n after")
    return f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n" + "\n".join(hunks)


def test_of_a_diff_source_files_come_first_and_what_is_left_out_is_counted_for_each_file():
    paths = ("pnpm-lock.yaml", "src/rates.py", "tests/test_rates.py")
    diff = "\n".join(_changed_file(path, 2, 9) for path in paths)
    shown = ExcerptSource(diff, {"step_1": 1}, is_outlined=True).excerpt(1_000)
    lock, source, tests = shown.split("diff --git ")[1:]
    assert lock.endswith("[… 33 lines: 2 hunks, +22 −2, step_0, step_1]\n")
    assert source.count("@@ -") == source.count("+    return total\n after") == 2
    assert tests.endswith("[… 33 lines: 2 hunks, +22 −2, step_0, step_1]")


def test_of_a_large_hunk_whole_functions_are_shown_and_the_others_named():
    added = "\n".join(f"+def step_{n}():\n" + "+    work()\n" * 20 + "+" for n in range(20))
    diff = f"diff --git a/a.py b/a.py\n@@ -1,2 +1,400 @@ def first():\n     return 1\n \n{added}\n"
    shown = ExcerptSource(f"{diff}@@ -9 +409 @@\n-x\n+y", {"step_7": 1}, is_outlined=True).excerpt(900)
    assert "\n+def step_7():\n" + "+    work()\n" * 20 in shown
    assert "+154 −0, step_0, step_1, step_2, step_3, step_4, step_5, step_6]" in shown


def test_of_a_diff_what_only_imports_names_comes_last():
    imports = "@@ -1,2 +1,9 @@\n import a\n" + "".join(f"+import module_{n}\n" for n in range(20))
    work = "@@ -40,2 +60,9 @@\n def work():\n" + "".join(f"+    step({n})\n" for n in range(30))
    source = ExcerptSource(
        f"diff --git a/a.py b/a.py\n{imports}{work} end", {f"module_{n}": 1 for n in range(9)}
    )
    shown = source.excerpt(700)
    assert "+    step(29)\n end" in shown
    assert "+import module_19" not in shown


def test_a_diff_inside_the_output_of_a_test_run_does_not_hide_its_verdict():
    log = "\n".join(f"test_{n} passed" for n in range(200))
    assert "1 failed, 200 passed" in excerpt(f"{log}\n{_diff_of(3)}\n1 failed, 200 passed", 300)


@given(st.text(st.sampled_from("ab@-+ \n"), max_size=600), st.integers(1, 400))
def test_a_damaged_diff_is_excerpted_within_its_room(text: str, most: int):
    text = f"diff --git a b\n@@ -1 +1 @@\n{text}"
    shown = excerpt(text, most)
    assert shown == text or len(shown) <= most + 60 + 40 * shown.count("[… ")


def test_an_endless_line_is_shown_around_the_term_that_is_looked_for():
    line = f"src/app.js:1:{'x=1;' * 5_000}function viewCommit(a){{return open(a)}}{'y=2;' * 5_000}"
    shown = ExcerptSource(f"{line}\nend", about={"view": 1, "viewCommit": 1}).excerpt(2_000)
    assert shown.startswith("src/app.js:1:")
    assert "function viewCommit(a){return open(a)}" in shown
    assert len(shown) < 2_000


def test_what_the_request_names_is_shown_before_what_is_only_mentioned():
    lines = list(NUMBERS)
    for n in range(20):
        lines[30 * n + 15] = f"call mentioned_{n}()"
    lines[700] = "if (!flags.deployEnabled) {"
    about = {f"mentioned_{n}": 1.0 for n in range(20)} | {"deployEnabled": 3.0}
    shown = ExcerptSource("\n".join(lines), about=about).excerpt(400)
    assert "line 698\nline 699\nif (!flags.deployEnabled) {\nline 701\nline 702\nline 703" in shown


def test_of_a_failed_run_the_cause_is_shown_even_if_most_lines_mention_failures():
    noise = [f"✗ case {n} failed with an error" for n in range(60)]
    text = "\n".join([*noise[:30], "TypeError: load is not a function", *noise[30:], "[exit code: 1]"])
    assert "TypeError: load is not a function" in excerpt(text, 300)


def test_of_a_diff_changed_lines_come_before_the_lines_around_them():
    around = "\n".join(f" unchanged line number {n}" for n in range(20))
    hunks = "\n".join(f"@@ -{n},40 +{n},40 @@\n{around}\n-old_{n}\n+new_{n}\n{around}" for n in range(6))
    shown = ExcerptSource(f"diff --git a/f.py b/f.py\n{hunks}").excerpt(600)
    assert all(f"-old_{n}\n+new_{n}" in shown for n in range(6))


def test_of_a_file_that_a_diff_deletes_only_its_name_is_shown():
    gone = "\n".join(f"-line {n}" for n in range(200))
    diff = (
        f"diff --git a/old.py b/old.py\ndeleted file mode 100644\n@@ -1,200 +0,0 @@\n{gone}\n"
        "diff --git a/f.py b/f.py\n@@ -1,2 +1,2 @@\n def load():\n-    return 1\n+    return 2\n"
    )
    shown = ExcerptSource(diff).excerpt(400)
    assert "diff --git a/old.py b/old.py\ndeleted file mode 100644\n" in shown
    assert "-    return 1\n+    return 2" in shown
    assert "-line 0" not in shown


def test_a_line_is_not_cut_for_a_few_characters():
    path = "M  /home/someone/code/nimbus/packages/worker/src/lib/workspace-deployment-runner.test-data.ts"
    shown = excerpt("\n".join([path, *NUMBERS]), 100, longest_line=60)
    assert shown.startswith(f"{path}\n")


# Small excerpts ---------------------------------------------------------------------------------------


def test_a_small_excerpt_of_a_command_shows_the_id_it_returned():
    output = "\n".join(["", "> shop@1.0 cli /home/someone/shop", "Preflight passed", *NUMBERS[:30]])
    shown = excerpt(f"{output}\nReview queued: rev_el4c71a8\n\ndone", 80)
    assert shown.splitlines() == [
        "Preflight passed",
        "[… 30 lines]",
        "Review queued: rev_el4c71a8",
        "",
        "done",
    ]


def test_a_small_excerpt_of_code_shows_a_definition_and_no_word_for_an_error():
    code = [f'{n}→    raise ValueError("invalid rate {n}")' for n in range(40, 60)]
    text = "\n".join(["38→    }", "39→", *code, "60→func parseRate(text string) (Rate, error) {", *code])
    assert excerpt(text, 80) == "[… 22 lines]\n60→func parseRate(text string) (Rate, error) {\n[… 20 lines]"


def test_a_small_excerpt_of_a_failed_run_shows_what_went_wrong():
    text = "\n".join(["collecting", *NUMBERS, "error: unknown option --fast", *NUMBERS, "exit code: 2"])
    assert "error: unknown option --fast" in excerpt(text, 80)
    assert "collecting" not in excerpt(text, 80)


def test_lines_that_a_harness_puts_around_an_output_are_not_what_is_shown_of_it():
    text = "\n".join(["Exit code: 0", "Wall time: 0.1 seconds", "Output:", *NUMBERS, "", "</output>"])
    assert excerpt(text, 80).startswith("line 0\n")
    assert excerpt(text, 400).endswith("line 999")


def test_if_no_line_says_anything_the_first_is_shown():
    assert excerpt("\n".join(["---"] * 200), 40).startswith("---\n")


def test_a_long_file_in_a_line_or_two_is_shown_by_what_it_defines_and_where():
    code = "\n".join(
        (
            "     1→import type {",
            "     2→\ttype Rate,",
            "     3→} from './rates';",
            *(f"{n:6}→\tconst step{n} = () => {{}};" for n in range(4, 8)),
            "     8→\tconst rows = (await load()) as Row[];",
            "     9\ttype (",
            "    40→export async function total(rows: Row[]) {",
            "    41→# no heading",
            "    90→class Invoice extends Base {",
            *(f"{n:6}→\t\trow += {n};" for n in range(91, 120)),
        )
    )
    assert ExcerptSource(code).outline(40) == "4 step4, 5 step5, 40 total, 90 Invoice and 2 more"
    plan = "# Plan\n\n## Rates\n\nRead them.\n\n```py\ndef rate(): ...\ndef more(): ...\n```\n\n## Checks\n"
    assert ExcerptSource(plan).outline(80) == "Plan, Rates, Checks"
    assert ExcerptSource(f"{code}\n1 failed").outline(80) == ""
    assert ExcerptSource("one line\n" * 40).outline(80) == ""


def test_the_faded_result_of_a_read_names_what_the_file_defines():
    code = "\n".join(f"def step_{n}():\n    return {n} + other(step_{n - 1})\n" for n in range(40))
    (shrink,) = shorten(ShrinkContext(history(("Read", {"file_path": "a.py"}, code)), COUNTER), [2], 24)
    (result,) = shrink.message.results
    assert result.text == (
        "[119 lines, kept as m3: step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, "
        "step_9 and 30 more]"
    )


def test_a_hit_that_is_cut_keeps_its_path_and_line_number():
    place = "libs/agno/agno/vectordb/pgvector/pgvector_with_a_long_name.py:533:"
    shown = cut_line(f"{place}    {'embeddings, ' * 40}end", 90)
    assert shown.startswith(place)
    assert shown.endswith("end")


def test_of_what_a_harness_puts_before_an_output_nothing_is_left_over():
    body = "\n".join(f"   {n}\tvalue_{n} = compute({n})" for n in range(300, 340))
    text = f"Chunk ID: 98d7f1\nWall time: 0.08 seconds\nOriginal token count: 739\nOutput:\n{body}"
    for room in (120, 300, 700):
        shown = ExcerptSource(text).excerpt(room)
        assert "Original token count" not in shown
        assert "Output:" not in shown


def test_of_the_output_of_go_test_a_package_with_a_result_is_shown():
    text = "".join(f"?   \tpkg/part{n}\t[no test files]\n" for n in range(20)) + "ok  \tpkg/core\t0.412s\n"
    assert "ok  \tpkg/core\t0.412s" in excerpt(text, 60)
    assert "no test files" not in excerpt(text, 60)


# As later messages use it -----------------------------------------------------------------------------


def _shown_of_first(*steps: tuple[str, dict[str, str], str], tokens: int) -> str:
    view = history(*steps)
    (shrink,) = shorten(ShrinkContext(view, COUNTER), [2], tokens)
    (result,) = shrink.message.results
    return result.text


def test_of_many_packages_whose_tests_passed_the_counts_are_shown():
    passed = [f"ok  \tgithub.com/acme/shop/rates{n}\t0.{n}s" for n in range(20)]
    output = "\n".join(["?   \tgithub.com/acme/shop/cmd\t[no test files]", *passed])
    shown = _shown_of_first(("Bash", {"command": "go test ./..."}, output), tokens=24)
    assert shown == "[21 lines, kept as m3: 20 ok, 1 no test files]"
    failed = f"{output}\nFAIL\tgithub.com/acme/shop/carts\t0.1s"
    assert "FAIL\tgithub.com/acme/shop/carts" in _shown_of_first(
        ("Bash", {"command": "go test ./..."}, failed), tokens=24
    )


def test_of_a_search_the_hits_in_files_that_are_opened_next_are_shown():
    hits = "\n".join(f"src/module_{n}/rates_{n}.py:{n}:    raise RateError({n})" for n in range(60))
    search, read = (
        ("Grep", {"pattern": "RateError"}, hits),
        ("Read", {"file_path": "src/module_41/rates_41.py"}, "x"),
    )
    assert "src/module_41/rates_41.py:41:" in _shown_of_first(search, read, tokens=24)
    assert "src/module_41/" not in _shown_of_first(search, tokens=24)


def test_line_numbers_leave_an_outline_if_the_file_is_changed_later():
    code = "\n".join(
        f"{3 * n + 1:>5}→def step_{n}():\n{3 * n + 2:>5}→    return {n} * {n}\n{3 * n + 3:>5}→"
        for n in range(90)
    )
    read = ("Read", {"file_path": "/shop/rates.py"}, code)
    edit = (
        "Edit",
        {"file_path": "/shop/rates.py", "old_string": "return 1 * 1", "new_string": "return 1"},
        "ok",
    )
    other = (
        "Edit",
        {"file_path": "/shop/carts.py", "old_string": "return 1 * 1", "new_string": "return 1"},
        "ok",
    )
    assert "m3: 1 step_0, 4 step_1, " in _shown_of_first(read, other, tokens=24)
    assert "m3: step_0, step_1, " in _shown_of_first(read, edit, tokens=24)
    assert "lines, kept as m3: step_" in _shown_of_first(read, edit, tokens=300)


def test_both_sides_of_a_merge_conflict_are_shown():
    def filler(name: str) -> list[str]:
        return [
            line for n in range(40) for line in (f"def {name}_{n}(day):", f"    return table[{n}][day]", "")
        ]

    conflict = ["<<<<<<< HEAD", "def total(day, phase):", "=======", "def total(day, steps):", ">>>>>>> main"]
    lines = [*filler("rate"), *conflict, "    return 0", "", *filler("cart")]
    code = "\n".join(f"{n:>5}→{line}" for n, line in enumerate(lines, start=1))
    shown = _shown_of_first(("Read", {"file_path": "/shop/rates.py"}, code), tokens=200)
    assert all(line in shown for line in conflict)
