"""A list that is known from an earlier call: with moved marks, cut back, branched, in another process."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.providers.marked_entries import marks_in
from clew.session.conversation import ListRecord

RULE = "Never modify files under legacy/."
MARK = {"type": "ephemeral"}


def exchange(n, lines=20):
    call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/part_{n}.py"}}
    output = "\n".join(f"rate_{n}_{i} = table[{i}] * {n + i}" for i in range(lines))
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def loop(turns, lines=20):
    messages = [{"role": "user", "content": f"Tidy up the billing code. {RULE}"}]
    for n in range(turns):
        messages += exchange(n, lines)
    return messages


def marked(messages, count=2):
    """Return a copy with the last messages marked, as Claude Code sends it: texts become blocks."""
    sent = copy.deepcopy(messages)
    for one in sent[-count:]:
        if isinstance(one["content"], str):
            one["content"] = [{"type": "text", "text": one["content"]}]
        one["content"][-1]["cache_control"] = MARK
    return sent


def head_of(result):
    return [one for one in result.messages if "<clew-digest" in str(one)]


def drive(turns=40, window=6_000, **keep):
    """Return the heads, results and lists of a loop whose marks move on every request."""
    fitted, seen = None, []
    for n in range(1, turns):
        sent = marked(loop(n))
        fitted = clew.compact(sent, window, previous=fitted, **keep)
        seen.append((sent, fitted))
    return seen


def test_moving_cache_marks_make_no_new_compactions():
    plain_heads, fitted = [], None
    for n in range(1, 70):
        fitted = clew.compact(loop(n), 6_000, previous=fitted)
        plain_heads.append(str(head_of(fitted)))
    heads = [str(head_of(result)) for _, result in drive(70)]
    assert len(set(plain_heads)) > 2
    assert heads == plain_heads


def test_marks_go_out_as_many_as_came_in_and_where_they_were():
    for sent, result in drive():
        before = [mark for one in sent for mark in marks_in(one)]
        after = [mark for one in result.messages for mark in marks_in(one)]
        assert after == before
        assert result.messages[-1] is sent[-1]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 1, "messages": result.messages}
        assert not clew.check(body["messages"], "anthropic").refused


def test_a_mark_on_what_was_condensed_goes_to_the_digest():
    messages = marked(loop(40)[:11], 1) + loop(40)[11:]
    first = clew.compact(messages, 6_000)
    assert first.changed
    assert [bool(marks_in(one)) for one in first.messages].index(True) == 0
    again = clew.compact(loop(41), 6_000, previous=first)
    assert again.messages[0] == {"role": "user", "content": first.messages[0]["content"][0]["text"]}
    assert not any(map(marks_in, again.messages))


def test_a_text_that_becomes_a_block_in_place_to_be_marked_is_the_same_text():
    messages = loop(3)
    first = clew.compact(messages, 200_000)
    messages[0]["content"] = [{"type": "text", "text": messages[0]["content"], "cache_control": MARK}]
    again = clew.compact([*messages, *exchange(3)], 200_000, previous=first)
    assert again.items[0].message is first.items[0].message


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=4), st.lists(st.integers(0, 30), max_size=4))
def test_marks_anywhere_change_nothing_but_the_marks(here, there):
    def at(places):
        sent = copy.deepcopy(MESSAGES)
        for place in places:
            entry = sent[place % len(sent)]
            if isinstance(entry["content"], str):
                entry["content"] = [{"type": "text", "text": entry["content"]}]
            entry["content"][-1]["cache_control"] = MARK
        return sent

    first = clew.compact(at(here), previous=None, target_tokens=4_000)
    again = clew.compact(at(there), 200_000, previous=first)
    assert not again.changed
    assert str(again.digest) == str(first.digest)
    count = sum(len(marks_in(one)) for one in at(there))
    assert sum(len(marks_in(one)) for one in again.messages) == min(count, len(again.messages))


MESSAGES = loop(15)


@pytest.mark.parametrize("keeps_all", [True, False], ids=["whole list", "compacted list"])
def test_a_list_that_was_cut_back_keeps_its_head(keeps_all):
    """A user edits the last request, or a harness tries again."""
    messages = loop(30)
    first = clew.compact(messages, 6_000)
    held = messages if keeps_all else first.messages
    more = [*held[:-2], {"role": "user", "content": "Do something else. Never push to main."}]
    again = clew.compact(more, 6_000, previous=first)
    assert again.digest is first.digest
    assert again.messages[:-1] == first.messages[:-2]
    assert [pin.quote for pin in again.ledger.pins.active] == [RULE, "Never push to main."]


def test_two_branches_from_one_result_do_not_see_each_other():
    first = clew.compact(loop(10), 200_000)
    ask = [{"role": "user", "content": "Never use tabs."}], [{"role": "user", "content": "Never use spaces."}]
    left, right = (clew.compact([*loop(10), *one], 200_000, previous=first) for one in ask)
    assert [pin.quote for pin in left.ledger.pins.active] == [RULE, "Never use tabs."]
    assert [pin.quote for pin in right.ledger.pins.active] == [RULE, "Never use spaces."]
    assert [pin.quote for pin in first.ledger.pins.active] == [RULE]
    assert len(first.items) == 21
    assert left.messages[-1] is ask[0][0]


def test_the_same_call_again_gives_the_same():
    first = clew.compact(loop(20), 6_000)
    once = clew.compact(loop(34), 6_000, previous=first)
    twice = clew.compact(loop(34), 6_000, previous=first)
    assert once.messages == twice.messages


def test_another_list_starts_from_nothing():
    first = clew.compact(loop(30), 6_000)
    other = clew.compact([{"role": "user", "content": "Hello. Never use tabs."}], 6_000, previous=first)
    assert [pin.quote for pin in other.ledger.pins.active] == ["Never use tabs."]
    assert other.digest is None


def test_a_system_prompt_that_changes_keeps_the_head():
    def body(n, system):
        return {"model": "claude-sonnet-4-5", "system": system, "messages": loop(n)}

    first = clew.compact(body(30, "You code. It is Monday."), 6_000)
    again = clew.compact(body(31, "You code. It is Tuesday."), 6_000, previous=first)
    assert first.changed
    assert again.digest is first.digest
    assert again.items[0].message.text == "You code. It is Tuesday."


def test_a_format_that_was_in_doubt_is_decided_by_later_entries():
    first = clew.compact([{"role": "user", "content": "Read a.py."}], 200_000)
    again = clew.compact([{"role": "user", "content": "Read a.py."}, *exchange(0)], 200_000, previous=first)
    assert again.wire.name == "anthropic"
    assert again.items[-1].message.role is clew.Role.TOOL


# Cost ------------------------------------------------------------------------------------------------


def cpu(work):
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def test_a_call_with_a_known_beginning_costs_what_is_new():
    """Well below 10 ms at 1,000 messages, whether the objects are the same or copies with other marks."""
    messages = loop(500, lines=20)
    fitted = clew.compact(messages, 2_000_000)
    spent = []
    for n in range(500, 506):
        messages += exchange(n, 20)
        fitted = clew.compact(messages, 2_000_000, previous=fitted)
        spent.append(cpu(partial(clew.compact, marked(messages), 2_000_000, previous=fitted)))
    assert min(spent) < 0.010


def test_an_idle_call_does_not_grow_with_the_list():
    spent = {}
    for turns in (50, 6_000):
        messages = loop(turns, lines=1)
        fitted = clew.compact(messages, 6_000_000)
        best = 9.0
        for n in range(turns, turns + 8):
            messages += exchange(n, 1)
            begin = time.thread_time()
            fitted = clew.compact(messages, 6_000_000, previous=fitted)
            best = min(best, time.thread_time() - begin)
        spent[turns] = best
    assert spent[6_000] < 2 * spent[50] + 0.001, spent


def test_nothing_known_is_read_again(monkeypatch):
    messages = loop(200)
    first = clew.compact(messages, 2_000_000)
    read = []
    extend = ListRecord.extend
    monkeypatch.setattr(
        ListRecord, "extend", lambda self, entries, *a: read.extend(entries) or extend(self, entries, *a)
    )
    clew.compact([*marked(messages), *exchange(200)], 2_000_000, previous=first)
    assert len(read) == 2


# Other processes -------------------------------------------------------------------------------------

GO_ON = """
import json, sys, clew
saved, messages = json.load(sys.stdin)
previous = clew.CompactResult.from_json(saved)
result = clew.compact(messages, 6_000, previous=previous)
print(json.dumps([result.messages, [pin.quote for pin in result.pins], result.digest.id, result.changed]))
"""


def test_another_process_goes_on_with_the_same_head():
    first = clew.compact(loop(30), 6_000)
    given = json.dumps([first.to_json(), marked(loop(31))])
    done = subprocess.run(
        [sys.executable, "-c", GO_ON], input=given, capture_output=True, text=True, check=True
    )
    messages, pins, digest, changed = json.loads(done.stdout)
    here = clew.compact(marked(loop(31)), 6_000, previous=first)
    assert (messages, pins, digest, changed) == (here.messages, [RULE], "d1", False)


def test_a_result_that_was_read_back_compacts_on_like_the_one_that_was_not():
    first = clew.compact(loop(30), 6_000)
    back = pickle.loads(pickle.dumps(first))
    assert back.messages == first.messages
    for turns in (40, 60):
        here = clew.compact(loop(turns), 6_000, previous=first)
        there = clew.compact(loop(turns), 6_000, previous=back)
        assert there.messages == here.messages
        first, back = here, clew.CompactResult.from_json(json.loads(json.dumps(there.to_json())))


def test_a_result_that_was_read_back_can_be_saved_again():
    first = clew.compact(loop(30), 6_000)
    saved = first.to_json()
    for back in (clew.CompactResult.from_json(saved), pickle.loads(pickle.dumps(first))):
        assert back.to_json() == saved
        assert saved["messages"]
        assert repr(back).startswith(f"CompactResult(saved: {first.tokens_before:,} → ")


def test_what_was_saved_for_another_list_is_left_alone():
    first = clew.compact(loop(30), 6_000)
    back = clew.CompactResult.from_json(first.to_json())
    other = clew.compact([{"role": "user", "content": "Hello."}], 6_000, previous=back)
    assert other.messages == [{"role": "user", "content": "Hello."}]
    with pytest.raises(clew.ClewError, match="to_json"):
        clew.CompactResult.from_json({"messages": []})


# Async -----------------------------------------------------------------------------------------------


def test_compact_async_does_not_block_the_event_loop():
    async def main():
        ticks = []

        async def ticking():
            while True:
                ticks.append(time.perf_counter())
                await asyncio.sleep(0.001)

        ticker = asyncio.create_task(ticking())
        await asyncio.sleep(0.01)
        result = await clew.compact_async(loop(150, lines=60), 60_000)
        ticker.cancel()
        assert result.changed
        return len(ticks)

    begin = time.perf_counter()
    ticks = asyncio.run(main())
    assert ticks > (time.perf_counter() - begin) / 0.05


# Misuse, and good moments ----------------------------------------------------------------------------


def test_a_loop_that_forgets_the_last_result_is_warned():
    clew.compact(loop(33, 60), 24_000)
    with pytest.warns(UserWarning, match="previous="):
        clew.compact(loop(34, 60), 24_000)


def test_a_list_that_is_compacted_twice_as_it_is_warns_of_nothing():
    for _ in range(2):
        clew.compact(loop(35, 60), 24_000)


def test_between_two_tasks_is_a_better_moment_than_the_middle_of_the_next():
    """At 75 % of the window; in the middle of a task nothing happens before 85 %."""
    answered = [{"role": "assistant", "content": "The billing code is tidy."}]
    asked = [{"role": "user", "content": "Now write the tests for the exports."}]
    sizes = [clew.compact(loop(n), 10**6).tokens_before for n in (20, 21)]
    window = round(sizes[0] / 0.79 / 0.8)
    middle = clew.compact(loop(20), window)
    between = clew.compact([*loop(20), *answered, *asked], window)
    assert (middle.changed, between.changed) == (False, True)
    assert between.plan.trigger == "milestone"
    assert between.messages[-1] is asked[0]
