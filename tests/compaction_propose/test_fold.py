"""Lines that repeat in a cycle are shown once with their number, and nothing else is lost by it."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import Plan
from clew.compaction.propose import propose
from clew.compaction.propose.fold import LONGEST_CYCLE, folded
from clew.compaction.propose.prune import prune_cycles
from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.task import CompactionTask
from clew.compaction.verify import verify
from clew.message import Item, Message, Origin, Role, Text, ToolResult
from tests.compaction_propose.sessions import COUNTER, history, situation, touched

FRAMES = [f'  File "power.py", line {n}, in _eval_is_prime_{n}' for n in range(6)]
NOTE = re.compile(r"\[the (?:(\d+) lines|line) above, ([\d,]+) times in all\]")


def unfolded(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        note = NOTE.fullmatch(line)
        if note is None:
            lines.append(line)
        else:
            lines += lines[-int(note[1] or 1) :] * (int(note[2].replace(",", "")) - 1)
    return "\n".join(lines)


def test_the_traceback_of_a_recursion_is_one_round_of_its_frames():
    lines = ["Traceback:", "  in main", *FRAMES * 321, *FRAMES[:2], "RecursionError: maximum depth"]
    shown, _ = folded("\n".join(lines))
    assert shown.split("\n") == [
        "Traceback:",
        "  in main",
        *FRAMES,
        "[the 6 lines above, 321 times in all]",
        *FRAMES[:2],
        "RecursionError: maximum depth",
    ]


def test_a_cycle_in_which_a_line_occurs_twice_is_found():
    cycle = ["retrying the connection to the server", "retrying the connection to the server", "refused"]
    shown, _ = folded("\n".join(["start", *cycle * 40, "end"]))
    assert shown.count("retrying") <= 4
    assert unfolded(shown) == "\n".join(["start", *cycle * 40, "end"])


@given(st.lists(st.tuples(st.lists(st.sampled_from(FRAMES), min_size=1), st.integers(1, 30)), max_size=6))
def test_a_folded_text_says_all_that_the_whole_does(cycles: list[tuple[list[str], int]]):
    text = "\n".join(line for cycle, rounds in cycles for line in cycle * rounds)
    shown, _ = folded(text)
    assert unfolded(shown) == text
    assert len(shown) <= len(text)


def test_few_short_repetitions_stay_as_they_are():
    text = "ok\nok\nok\ndone"
    assert folded(text) == (text, [])


def test_what_must_stay_readable_is_not_left_out_and_is_found_where_it_is_now():
    text = "\n".join([*FRAMES * 50, "KeyError: 'id'", *FRAMES * 50])
    at = text.index("KeyError")
    shown, ((start, end),) = folded(text, [(at, at + 14)])
    assert shown[start:end] == "KeyError: 'id'"
    later = text.index(FRAMES[2], 2_000)
    kept, ((start, end),) = folded(text, [(later, later + len(FRAMES[2]))])
    assert kept[start:end] == FRAMES[2]


def test_colour_codes_are_left_out():
    shown, _ = folded("\x1b[31m❯\x1b[39m rates.test.ts \x1b[2m(\x1b[22m4 tests\x1b[2m)\x1b[22m")
    assert shown == "❯ rates.test.ts (4 tests)"


def test_colours_that_alone_tell_what_a_diff_changes_stay():
    named = "\x1b[1mdiff --git a/f b/f\x1b[m\n\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m"
    header = f"{named}\n\x1b[36m@@ -1 +1 @@\x1b[m\n"
    by_word = f"{header}wait \x1b[31m30\x1b[m\x1b[32m60\x1b[m seconds"
    assert folded(by_word) == (by_word, [])
    by_line = f"{header}\x1b[31m-wait 30\x1b[m\n\x1b[32m+wait 60\x1b[m"
    assert folded(by_line)[0].endswith("@@ -1 +1 @@\n-wait 30\n+wait 60")


def test_folding_takes_linear_time():
    def seconds(lines: int) -> float:
        # The hardest case: every line has equal ones near it, and no cycle goes on.
        text = "\n".join(f"{(n * n) % 61}" for n in range(lines))
        start = time.process_time()
        folded(text)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(40_000) < 20 * max(seconds(8_000), 0.005)


def test_a_cycle_longer_than_is_looked_for_stays():
    lines = [f"step {n} of the log" for n in range(LONGEST_CYCLE + 1)]
    text = "\n".join(lines * 3)
    assert folded(text)[0] == text


def test_output_that_only_repeats_is_folded_instead_of_cut():
    text = "\n".join(["Traceback:", *FRAMES * 321, "RecursionError: maximum depth"])
    view = history(("run", {"cmd": "a"}, text))
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(3), 400)
    (part,) = shrink.message.parts
    assert isinstance(part, ToolResult)
    assert unfolded(part.text) == text


def test_output_that_a_harness_put_into_a_message_is_folded_too():
    text = "\n".join(FRAMES * 321)
    view = [Item("m1", Message(Role.USER, (Text(text),), origin=Origin.INJECTED))]
    (shrink,) = prune_cycles(ShrinkContext(view, COUNTER), 0, 1)
    assert unfolded(shrink.message.text) == text


def test_a_view_that_fits_once_it_is_folded_loses_nothing_else():
    log = "\n".join(FRAMES * 400)
    steps = [("read", {"path": f"f{n}.py"}, f"text of file {n}\n" * 3) for n in range(6)]
    view = history(*steps, ("run", {"cmd": "a"}, log))
    plan = propose(situation(view, target=1_500))
    assert touched(plan) == {view[-1].id}


def test_of_blocks_that_differ_in_some_lines_those_lines_stay():
    names, rule = ("hooks", "hero", "pattern", "cart", "login", "basket"), "-" * 31
    title = "# Unhandled error between tests"
    lines = [
        line
        for name in names
        for line in (f"src/{name}.test.ts:", "", title, rule, f"error: no module '{name}'", rule, "")
    ]
    shown, _ = folded("\n".join([*lines, " 6 fail"]))
    assert shown.split("\n")[:12] == [
        *lines[:9],
        "[the 7 lines above, 5 times in all; of the others what differs:]",
        "error: no module 'hero'",
        "src/pattern.test.ts:",
    ]
    assert shown.count(title) == 2  # the last block ends in another way
    for name in names:
        assert f"src/{name}.test.ts:" in shown
        assert f"error: no module '{name}'" in shown
    assert shown.endswith("\n 6 fail")


BLOCKS = [
    line
    for n in range(8)
    for line in (f"src/{n}.test.ts:", "# Unhandled error between tests", f"error: no module {n}", "-" * 31)
]


def test_lines_that_are_left_out_have_a_note_if_the_first_of_them_must_stay():
    text = "\n".join(["-" * 31, *BLOCKS])
    assert "in all; of the others what differs:]" in folded(text)[0]
    second = text.index("-" * 31, 31)
    for at in (second, text.index("# Unhandled", second)):
        shown, ((start, end),) = folded(text, [(at, at + 20)])
        assert shown[start:end] == text[at : at + 20]
        assert shown.count("in all; of the others what differs:]") == 1


def test_many_groups_of_similar_blocks_take_linear_time():
    def seconds(groups: int) -> float:
        block = [f"{line} {{0}}" if "src" not in line else line for line in BLOCKS]
        text = "\n".join("\n".join(block).format(n) for n in range(groups))
        start = time.process_time()
        folded(text)
        return time.process_time() - start

    seconds(10)
    assert seconds(1_600) < 16 * max(seconds(200), 0.005)


def test_rows_of_data_are_not_blocks():
    rows = "\n".join(f'{{\n  "name": "row {n}",\n  "type": "file",\n}},' for n in range(40))
    assert folded(rows)[0] == rows


def test_of_the_frames_of_a_spinner_the_first_and_the_last_stay():
    frames = [f"{'◒◐◓◑'[n % 4]}  Uploading the bundle{'.' * (n // 4)}" for n in range(20)]
    text = f"┌  build\n{''.join(frames)}◇  Done\n"
    shown, _ = folded(text)
    left_out = sum(map(len, frames[1:-1]))
    assert shown == f"┌  build\n{frames[0]}[… {left_out} characters]{frames[-1]}◇  Done\n"
    view = history(("Bash", {"command": "build"}, text), ("Bash", {"command": "ls"}, "a"))
    task = CompactionTask(view=view, counter=COUNTER, target_tokens=10_000)
    shrinks = tuple(prune_cycles(ShrinkContext(view, COUNTER), 0, len(view)))
    plan = Plan(shrinks, 1_000, 900, 10_000, "manual", "")
    assert shrinks
    assert not verify(plan, task).refused


def test_an_output_printed_twice_is_shown_once_though_its_error_must_stay():
    output = [
        *(f"checked file {n} of the project" for n in range(20)),
        "error: the script failed with code 1",
    ]
    text = "\n".join(["Exit code 1", *output, "", *output])
    errors = [found.span() for found in re.finditer("error: .*", text)]
    shown, spans = folded(text, errors)
    assert shown.split("\n") == ["Exit code 1", *output, "", "[the 22 lines above, 2 times in all]"]
    assert [shown[slice(*span)] for span in spans] == [output[-1]] * 2


def test_what_must_stay_from_the_end_of_a_round_to_the_next_keeps_the_rounds():
    text = "\n".join([*FRAMES * 30, "end"])
    at = text.rindex(FRAMES[0]) - 20
    shown, (span,) = folded(text, [(at, at + 40)])
    assert shown == text
    assert span == (at, at + 40)
