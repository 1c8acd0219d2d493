"""When to compact: each trigger with its reason, and when to stop instead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import (
    DEFAULT,
    EARLY,
    FRESH,
    Asker,
    Breaker,
    Calm,
    Compact,
    CompactionRequested,
    Fill,
    Limit,
    Milestone,
    Pause,
    Paused,
    Phase,
    PhaseChanged,
    Policy,
    Region,
    ResultArrived,
    Resumed,
    Signal,
    State,
    Stop,
    Trigger,
    Warn,
    Window,
    allot,
    judge,
    levels_for,
)

WINDOW = Window(200_000, 8_000)  # 192,000 usable: compacts at 163,200 down to 115,200
OPEN = State(breaker=Breaker(3, 165_000, "timeout"))


def full(used: int, fixed: int = 0) -> Fill:
    return Fill(WINDOW, used, fixed)


@pytest.mark.parametrize(
    ("used", "verdict"),
    [
        (0, Calm("0 of 192,000 usable tokens are in use (0%), and nothing of it can be compacted")),
        (143_999, Calm("143,999 of 192,000 usable tokens are in use (75%)")),
        (
            144_000,
            Warn("144,000 of 192,000 usable tokens are in use (75%); compacts from 163,200: 85% of 192,000"),
        ),
        (
            163_200,
            Compact(
                Trigger.PRESSURE,
                "163,200 of 192,000 usable tokens are in use (85%); the limit is 163,200: 85% of 192,000",
                57_600,
            ),
        ),
        (
            184_001,
            Compact(
                Trigger.PRESSURE,
                "184,001 of 192,000 usable tokens are in use (96%); not even a summary call fits",
                57_600,
            ),
        ),
    ],
)
def test_pressure_compacts_at_85_percent_down_to_30(used: int, verdict: object):
    assert judge(full(used)) == verdict


@pytest.mark.parametrize(
    ("policy", "mark", "target"),
    [
        (EARLY, 144_000, 57_600),
        (Policy(compact_at=Limit(tokens=100_000), down_to=Limit(tokens=40_000)), 100_000, 40_000),
        (Policy(compact_at=Limit(share=0.85, tokens=150_000)), 150_000, 57_600),
        (Policy(compact_at=Limit(tokens=100_000)), 100_000, 57_600),
        # 30 % of the window is more than the mark, so the default's proportion is kept.
        (Policy(compact_at=Limit(tokens=50_000)), 50_000, 17_647),
    ],
    ids=["preset at 75 %", "absolute counts", "whichever first", "absolute above, share below", "both below"],
)
def test_the_marks_can_be_set(policy: Policy, mark: int, target: int):
    assert not isinstance(judge(full(mark - 1), policy), Compact)
    verdict = judge(full(mark), policy)
    assert isinstance(verdict, Compact)
    assert verdict.target_tokens == target


def test_a_session_of_large_results_is_warned_and_compacted_sooner():
    state = FRESH.saw_result(40_000)
    assert isinstance(judge(full(129_599), state=state), Calm)
    assert isinstance(judge(full(129_600), state=state), Warn)
    assert judge(full(144_000), state=state) == Compact(
        Trigger.PRESSURE,
        "144,000 of 192,000 usable tokens are in use (75%); the limit is 144,000: "
        "leaves 40,000 for the next tool result and 8,000 for a summary",
        50_823,
    )


MOMENTS: list[tuple[Signal, Trigger, str]] = [
    (Milestone("tests pass"), Trigger.MILESTONE, "milestone reached: tests pass"),
    (
        PhaseChanged(Phase.PLANNING, Phase.EXECUTION),
        Trigger.PHASE,
        "the work moves from planning to execution",
    ),
    (
        PhaseChanged(Phase.VERIFICATION, Phase.INTEGRATION),
        Trigger.PHASE,
        "the work moves from verification to integration",
    ),
    (Paused(Pause.APPROVAL), Trigger.PAUSE, "the work pauses for an approval"),
    (Paused(Pause.HAND_OFF), Trigger.PAUSE, "the work pauses for a hand-off"),
    (Resumed(7_500), Trigger.RESUMED, "the work resumes after 2 h 05 min"),
    (CompactionRequested(Asker.AGENT), Trigger.AGENT, "the agent asked for it"),
    (CompactionRequested(Asker.USER), Trigger.MANUAL, "the user asked for it"),
]
UNASKED = [moment for moment in MOMENTS if moment[1] is not Trigger.MANUAL]


@pytest.mark.parametrize(("signal", "trigger", "why"), MOMENTS)
def test_at_a_good_moment_the_view_is_halved(signal: Signal, trigger: Trigger, why: str):
    assert judge(full(100_000), signals=[signal]) == Compact(trigger, why, 50_000)


@pytest.mark.parametrize(("signal", "_trigger", "why"), UNASKED)
def test_a_good_moment_in_a_nearly_empty_window_is_let_pass(signal: Signal, _trigger: Trigger, why: str):
    assert judge(full(76_799), signals=[signal]) == Calm(
        f"{why}, but 76,799 of 192,000 usable tokens are in use (40%): too little to gain below 76,800"
    )


@pytest.mark.parametrize(("signal", "_trigger", "why"), UNASKED)
def test_a_good_moment_right_after_a_compaction_is_let_pass(signal: Signal, _trigger: Trigger, why: str):
    verdict = judge(full(120_000), signals=[signal], state=State(after_tokens=115_200))
    assert verdict == Calm(f"{why}, but the last compaction left 115,200 and the next waits until 163,200")


@pytest.mark.parametrize(("used", "target"), [(1_000, 500), (100_000, 50_000), (180_000, 57_600)])
def test_a_user_who_asks_is_obeyed_at_any_time(used: int, target: int):
    verdict = judge(full(used), signals=[CompactionRequested(Asker.USER)], state=State(after_tokens=used))
    assert verdict == Compact(Trigger.MANUAL, "the user asked for it", target)


def test_the_view_is_halved_or_brought_to_where_pressure_would_bring_it():
    policy = Policy(down_to=Limit(share=0.2))
    assert judge(full(100_000), policy, [CompactionRequested(Asker.USER)]) == Compact(
        Trigger.MANUAL, "the user asked for it", 38_400
    )


def test_a_target_leaves_a_fifth_of_what_can_be_compacted():
    verdict = judge(full(163_200, fixed=143_200))
    assert isinstance(verdict, Compact)
    assert verdict.target_tokens == 143_200 + 4_000


def test_a_held_compaction_says_until_when():
    assert judge(full(165_000), state=State(after_tokens=150_000)) == Warn(
        "165,000 of 192,000 usable tokens are in use (86%), but the last compaction left 150,000 "
        "and the next waits until 184,000"
    )


def test_one_oversized_result_is_shrunk_at_once():
    assert judge(full(60_000), signals=[ResultArrived(45_000, "grep")]) == Compact(
        Trigger.OVERSIZED, "one result of grep has 45,000 tokens, more than 25,000", 40_000
    )


@pytest.mark.parametrize(
    ("signal", "why"),
    [
        (ResultArrived(25_000), "100,000 of 192,000 usable tokens are in use (52%)"),
        (Resumed(3_599), "the work resumes after 1 h 00 min: not long"),
        (Resumed(120), "the work resumes after 2 min: not long"),
        (
            PhaseChanged(Phase.EXECUTION, Phase.EXECUTION),
            "the work moves from execution to execution: no change",
        ),
    ],
)
def test_what_is_no_reason_says_so(signal: Signal, why: str):
    assert judge(full(100_000), signals=[signal]) == Calm(why)


@pytest.mark.parametrize(
    ("used", "signals", "trigger"),
    [
        (170_000, [Milestone("m"), ResultArrived(50_000), CompactionRequested(Asker.USER)], Trigger.MANUAL),
        (170_000, [Milestone("m"), ResultArrived(50_000)], Trigger.PRESSURE),
        (100_000, [Milestone("m"), ResultArrived(50_000)], Trigger.OVERSIZED),
        (100_000, [ResultArrived(50), Milestone("m")], Trigger.MILESTONE),
    ],
)
def test_the_users_wish_comes_first_then_pressure_then_a_giant_then_the_rest(
    used: int, signals: list[Signal], trigger: Trigger
):
    verdict = judge(full(used), signals=signals)
    assert isinstance(verdict, Compact)
    assert verdict.trigger is trigger


def test_pressure_and_a_user_who_asks_must_be_obeyed_the_rest_must_pay():
    must = {trigger for trigger in Trigger if Compact(trigger, "", 0).must}
    assert must == {Trigger.PRESSURE, Trigger.MANUAL}


def test_no_compaction_begins_inside_another():
    inside = FRESH.begin("compactor", at_unix_s=1_000)
    crowded = replace(full(190_000), at_unix_s=1_599)
    assert judge(crowded, signals=[CompactionRequested(Asker.USER)], state=inside) == Calm(
        "a compaction is already running"
    )
    after_a_crash = judge(replace(crowded, at_unix_s=1_600), state=inside)
    assert isinstance(after_a_crash, Compact)


def test_after_repeated_failure_it_stops_and_asks():
    assert judge(full(166_000), state=OPEN) == Stop(
        "166,000 of 192,000 usable tokens are in use (86%); compaction failed 3 times in a row "
        "(last: timeout); give a narrower task, or a larger budget: "
        "a model with a larger window, fewer tools, fewer pins",
        fits=True,
    )


@pytest.mark.parametrize(("used", "fits"), [(192_000, True), (192_001, False)])
def test_what_does_not_fit_and_cannot_be_compacted_is_not_to_be_sent(used: int, fits: bool):
    stuck = State(breaker=Breaker(3, 190_000, "timeout"))
    verdict = judge(full(used), state=stuck)
    assert isinstance(verdict, Stop)
    assert verdict.fits is fits


@pytest.mark.parametrize(
    ("used", "signals"),
    [(182_000, []), (166_000, [CompactionRequested(Asker.USER)])],
    ids=["growth", "asked"],
)
def test_growth_or_a_wish_gives_one_more_try(used: int, signals: list[Signal]):
    verdict = judge(full(used), signals=signals, state=OPEN)
    assert isinstance(verdict, Compact)
    assert verdict.why.endswith("; one more try after 3 failures")


def test_a_good_moment_after_repeated_failure_is_only_a_warning():
    verdict = judge(full(100_000), signals=[Milestone("done")], state=OPEN)
    assert isinstance(verdict, Warn)
    assert verdict.why.startswith("milestone reached: done, but compaction failed 3 times in a row")


def test_too_much_that_cannot_be_compacted_stops_with_the_way_out():
    verdict = judge(full(200_000, fixed=192_000))
    assert isinstance(verdict, Stop)
    assert "has 192,000 tokens of 192,000" in verdict.why
    assert "a model with a larger window" in verdict.why


@pytest.mark.parametrize("fixed", [163_200, 180_000, 190_000])
def test_the_reserves_give_way_before_compaction_does(fixed: int):
    verdict = judge(full(192_000, fixed=fixed))
    assert isinstance(verdict, Compact)
    levels = levels_for(full(192_000, fixed=fixed), DEFAULT, FRESH.results)
    assert fixed < levels.target < levels.compact_at < levels.full_at < 192_000
    assert levels.band > 0


@given(
    st.integers(0, 163_000),
    st.integers(0, 300_000),
    st.sampled_from([ResultArrived(90_000), *(moment[0] for moment in MOMENTS)]),
)
def test_a_target_is_less_than_there_is_and_can_be_reached(fixed: int, history: int, signal: Signal):
    verdict = judge(full(fixed + history, fixed), signals=[signal])
    if isinstance(verdict, Compact):
        assert fixed <= verdict.target_tokens < fixed + history


@given(st.integers(0, 190_000), st.integers(0, 10_000))
def test_more_in_the_window_is_never_judged_less_urgent(used: int, more: int):
    urgency = {Calm: 0, Warn: 1, Compact: 2}
    assert urgency[type(judge(full(used)))] <= urgency[type(judge(full(used + more)))]


def test_a_fill_counts_the_history_uncut_and_what_compaction_leaves_alone():
    asks = {
        Region.SYSTEM: 3_000,
        Region.TOOLS: 5_000,
        Region.PINNED: 1_000,
        Region.MEMORY: 900,
        Region.HISTORY: 60_000,
        Region.TOOL_OUTPUTS: 150_000,
    }
    assert Fill.of(allot(200_000, asks), at_unix_s=7.0) == Fill(WINDOW, 219_500, 9_500, 7.0)
