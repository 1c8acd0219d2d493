"""What stays verbatim begins at a legal cut and is as much as there is room for."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.tail import MOST_VERBATIM, last_cuts, tail_room, tail_start, water_level
from clew.compaction.task import CompactionTask, Keep
from clew.message import Message, Role, Thinking, Trust, cut_points, fixed_prefix, text_message, words
from tests.compaction_propose.sessions import COUNTER, items, kinds, read, session, step
from tests.strategies import wild_histories


def test_the_tail_begins_at_a_legal_cut():
    view = items(session(["ask", "read", "parallel", "talk", "run"] * 4))
    sizes = [100] * len(view)
    legal = cut_points([item.message for item in view])
    for room, keep in itertools.product((500, 2_000, 10_000), (0, 3, 8)):
        assert tail_start(view, sizes, room, Keep(keep), 1) in legal


def test_as_many_as_wanted_are_kept_where_excerpts_of_them_fit():
    view = items(session(["ask"] * 30))
    sizes = [5_000] * len(view)
    assert len(view) - tail_start(view, sizes, 10_000, Keep(10), 1) == 10
    assert len(view) - tail_start(view, sizes, 300, Keep(10), 1) == 5  # 60 tokens of each say enough
    assert len(view) - tail_start(view, sizes, 10_000, Keep(), 1) == 2  # unless asked for, more of each


def test_the_tail_never_reaches_before_its_floor():
    view = items(session(["ask"] * 5))
    assert tail_start(view, [1] * len(view), 10_000, Keep(), 4) == 4


@given(kinds, st.integers(0, 9), st.integers(0, 4_000))
def test_the_last_cuts_are_those_of_the_whole_history(steps: list[str], messages: int, tokens: int):
    view = items(session(steps))
    sizes = [COUNTER.count(item.message) for item in view]
    found = last_cuts(view, sizes, 1, messages=messages, tokens=tokens)
    legal = [point for point in cut_points([item.message for item in view]) if 1 <= point < len(view)]
    assert found == [point for point in legal if point >= found[0]]
    assert found == legal or (sum(sizes[found[0] :]) > tokens and len(view) - found[0] > messages)


@given(wild_histories, st.integers(0, 60))
def test_so_are_they_in_any_history(messages: list[Message], tokens: int):
    view = items(messages)
    floor = fixed_prefix(view)
    sizes = [COUNTER.count(item.message) for item in view]
    found = last_cuts(view, sizes, floor, messages=0, tokens=tokens)
    legal = [point for point in cut_points(messages) if floor <= point < len(view)]
    assert found == [point for point in legal if found and point >= found[0]]


@given(st.lists(st.integers(0, 10_000), max_size=20), st.integers(0, 50_000))
def test_vessels_filled_to_the_level_hold_no_more_than_the_room(sizes: list[int], room: int):
    level = water_level(sizes, room)
    assert sum(min(size, level) for size in sizes) <= max(room, 0) or not sizes
    if sum(sizes) <= room:
        assert level == max(sizes, default=0)


def _steps(seed: int) -> list[str]:
    draw = random.Random(seed)
    sizes = [draw.choice((20, 80, 400)) for _ in range(120)]
    return [
        f"step {i}: " + " ".join(f"word{draw.randrange(99)}" for _ in range(n)) for i, n in enumerate(sizes)
    ]


def _kept_verbatim(messages: list[Message], wanted: int) -> int:
    """Return the tokens of the last messages that a compaction leaves unchanged."""
    talk = clew.Session.open("s", clew.MemoryStore(), window=60_000, policy=clew.Policy(keep_tokens=wanted))
    talk.add(*messages)
    before = dict(talk.view())
    talk.compact(target_tokens=12_000)
    kept = itertools.takewhile(lambda item: before.get(item.id) == item.message, reversed(talk.view()))
    return sum(talk.counter.count(item.message) for item in kept)


@pytest.mark.parametrize("wanted", [500, 2_000, 4_000])
@pytest.mark.parametrize("seed", range(3))
def test_at_least_so_many_last_tokens_stay_verbatim_as_asked(seed, wanted):
    roles = (Role.USER, Role.ASSISTANT)
    messages = [text_message(roles[i % 2], text) for i, text in enumerate(_steps(seed))]
    assert _kept_verbatim(messages, wanted) >= wanted


def test_as_many_tokens_as_asked_fit_the_room_for_recent_messages_to_the_last_one():
    for wanted in range(9_000, 9_100):
        assert int(tail_room(20_000, Keep(tokens=wanted, for_text=20_000)) * MOST_VERBATIM) >= wanted


@pytest.mark.parametrize("wanted", [500, 4_000])
def test_thinking_of_earlier_turns_stays_verbatim_too_if_asked(wanted):
    messages: list[Message] = []
    for i, text in enumerate(_steps(7)):
        call, result = step(f"c{i}", "run", {"cmd": f"step {i}"}, text)
        thought = Thinking(f"Is step {i} next?", trust=Trust.ASSISTANT)
        call = replace(call, parts=(thought, *call.parts))
        messages += [text_message(Role.USER, f"Go on with step {i}."), call, result]
    assert _kept_verbatim(messages, wanted) >= wanted


def test_messages_of_the_agent_in_a_row_keep_their_thinking_together():
    messages = [text_message(Role.USER, "Go."), *[text_message(Role.ASSISTANT, "word " * 60)] * 3]
    view = items([*messages, text_message(Role.USER, "Go on."), text_message(Role.ASSISTANT, "Done.")])
    task = CompactionTask(
        view=view, counter=COUNTER, target_tokens=400, ledger=read(view), keep=Keep(1, tokens=80)
    )
    scene = Scene(task)
    assert (scene.verbatim, scene.thinking) == (3, 1)


def running_loop(plan: str, count: int) -> list[Message]:
    """Return one request and a loop of calls, of which only the first and one of the last have thinking."""
    messages = [text_message(Role.USER, plan)]
    for n in range(count):
        text = "\n".join(f"value_{n}_{k} = compute({k})" for k in range(30))
        call, result = step(f"c{n}", "Write", {"file_path": f"m{n}.py", "content": text}, "done")
        if n in (0, count - 3):
            thought = Thinking("Next.", signature="x" * 40, trust=Trust.ASSISTANT)
            call = replace(call, parts=(thought, *call.parts))
        messages += [call, result]
    return messages


def test_a_long_running_loop_that_cannot_be_cut_fades_further_instead_of_leaving():
    messages = running_loop("Write the modules.", 60)
    made = clew.compact(messages, window=100_000, target_tokens=8_000)
    assert len(made.messages) > 100
    assert 6_000 < made.tokens_after <= 8_000
    assert made.messages[-1] == messages[-1]


def test_more_stays_of_the_request_in_progress_than_of_other_faded_messages():
    plan = "Write the modules:\n" + "\n".join(f"- module {n} as we agreed on Monday" for n in range(150))
    made = clew.compact(running_loop(plan, 60), window=100_000, target_tokens=9_000)
    shown = words(made.messages[0].parts[0])
    assert shown.startswith("Write the modules:\n- module 0 as")
    assert shown.endswith("- module 149 as we agreed on Monday")
    assert 100 < shown.count("as we agreed") <= 150
    assert shown.count("[…") <= 1


def test_in_a_small_room_most_of_a_recent_file_stays_rather_than_older_steps():
    goal = "Test the selector.\n" + "\n".join(f"- the case {n}, as agreed" for n in range(60))
    code = "\n".join(f"    expect(screen.get('field {n}')).toBe({n * n})" for n in range(32))
    messages = [text_message(Role.USER, goal)]
    for n in range(12):
        output = "\n".join(f"src/part{n}/{k}.ts: export interface Params" for k in range(30))
        messages += step(f"a{n}", "bash", {"command": f"grep -rn 'interface {n}' src"}, output)
    messages += step("w", "bash", {"command": f"cat > a.test.ts <<'END'\n{code}\nEND"}, "(no output)")
    messages += step("r", "bash", {"command": "npm test"}, "FAIL a.test.ts\n" + "a frame\n" * 200)
    made = clew.compact(messages, window=100_000, target_tokens=2_200)
    shown = next(call for message in made.messages for call in message.calls if call.call_id == "w")
    assert str(shown.arguments["command"]).count("expect(") > 20


def test_a_result_that_shows_what_its_call_wrote_is_not_shown_twice_even_if_it_is_the_last():
    code = "\n".join(f"value_{n} = compute({n})" for n in range(120))
    numbered = "\n".join(f"{n + 1:6}→{line}" for n, line in enumerate(code.split("\n")))
    messages = [
        text_message(Role.USER, "Write the module."),
        *step("r", "Bash", {"command": "ls"}, "x\n" * 9_000),
    ]
    messages += step("w", "Write", {"file_path": "a.py", "content": code}, f"a.py was updated:\n{numbered}")
    made = clew.compact(messages, window=100_000, target_tokens=6_000)
    assert words(made.messages[-1].parts[0]).startswith("a.py was updated:\n[… 120 lines that repeat")


@pytest.mark.parametrize("steps", [10, 60])
def test_the_reply_that_ends_a_turn_stays_whole_if_it_fits(steps):
    talk = clew.Session.open("s", clew.MemoryStore(), window=16_000)
    plan = "\n".join(f"{i}. " + text[:120] for i, text in enumerate(_steps(5)[:steps], start=1))
    for i, text in enumerate(_steps(6)[:60]):
        talk.add(*step(f"c{i}", "run", {"cmd": f"step {i}"}, text))
    talk.add(text_message(Role.ASSISTANT, f"Here is the plan.\n{plan}\nShall I begin?"))
    talk.compact(target_tokens=3_500)
    assert talk.view()[-1].message.text.count("\n") == steps + 1
