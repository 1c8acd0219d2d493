"""The ladder goes rung by rung, gentlest first, and says what each of them did."""

from __future__ import annotations

import pytest

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import ClaimKind, Condense, Freed, Plan, RuleQuote, Rung, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.propose import propose
from clew.compaction.task import Keep
from clew.compaction.verify import Level, verify
from clew.errors import BudgetExceeded, PinsDoNotFit
from clew.message import (
    Cite,
    Item,
    Media,
    Message,
    Origin,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    text_message,
)
from tests.compaction_propose.sessions import LONG, Living, items, situation, spoken, step, tokens_of

PIN = RuleQuote("p1", "never modify files under legacy/", Cite("m2"), Trust.USER)


OUTPUT = "".join(f"line {n} of output with src/app/main.py and value_one\n" for n in range(30))


def turns(count: int, output: str = OUTPUT) -> list[Item]:
    """Make a session: a system prompt, then turns of a request, a call, its result and an answer."""
    messages = [text_message(Role.SYSTEM, "Be brief.")]
    for n in range(count):
        messages += [
            text_message(Role.USER, f"request {n}: look at src/app/module_{n}.py"),
            *step(f"c{n}", "run", {"cmd": f"make module_{n}"}, f"{n}\n{output}"),
            spoken(f"module_{n}.py defines handler_{n}."),
        ]
    return items(messages)


def condensed(plan: Plan) -> Condense:
    return next(op for op in plan.operations if isinstance(op, Condense))


def test_a_view_that_fits_is_left_alone():
    view = turns(3)
    plan = propose(situation(view, 100_000))
    assert plan == Plan((), tokens_of(view), tokens_of(view), 100_000, "manual", "asked for")


def test_pruning_comes_first_and_is_enough_where_it_is_enough():
    view = items([item.message for item in [*turns(20), *turns(20)[1:]]])
    plan = propose(situation(view, int(tokens_of(view) * 0.8)))
    assert plan.fits
    assert {type(op) for op in plan.operations} == {Shrink}


def test_a_recent_giant_is_spilled_before_anything_old_is_condensed():
    giant = step("g", "run", {"cmd": "cat dump"}, "word " * 30_000)
    old = (text_message(Role.USER, f"Tell me about part {n}.\n{LONG}") for n in range(5))
    view = items([*old, *giant])
    plan = propose(situation(view, 20_000))
    assert [(op.id, op.rung) for op in plan.operations if isinstance(op, Shrink)] == [
        (view[-1].id, Rung.PRUNE)
    ]
    assert len(plan.operations) == 1
    assert plan.fits


def test_old_messages_are_condensed_and_recent_ones_stay():
    view = turns(30)
    op = condensed(plan := propose(situation(view, 2_500)))
    assert plan.fits
    assert op.ids == op.digest.covers
    assert op.ids[0] == "m2"
    assert [item.id for item in apply(plan, view)[-4:]] == [item.id for item in view[-4:]]
    assert apply(plan, view)[-1:] == view[-1:]


def test_every_rung_says_what_it_freed():
    view = turns(12)
    plan = propose(situation(view, 1_200))
    count = tokens_of(apply(plan, view)[1:2])
    smaller = [op for op in plan.operations if isinstance(op, Shrink)]
    covered = [item for item in view if item.id in condensed(plan).ids]
    shrunk = sum(tokens_of([item]) for item in view if item.id in {op.id for op in smaller})
    assert plan.freed == (
        Freed(Rung.PRUNE, len(smaller), shrunk - tokens_of(Item(op.id, op.message) for op in smaller)),
        Freed(Rung.SUMMARISE, 1, tokens_of(covered) - count),
    )


def test_what_people_said_is_in_the_digest_word_for_word():
    view = turns(60)
    op = condensed(propose(situation(view, 4_000)))
    digest = op.digest
    goal = next(claim for claim in digest.claims if claim.kind is ClaimKind.GOAL)
    words = [claim.text for claim in digest.claims if claim.kind is ClaimKind.USER]
    assert goal.text == "request 59: look at src/app/module_59.py"  # the first was reported done long ago
    left = [item.message.text for item in view if item.id in op.ids and item.message.role is Role.USER]
    assert len(words) > 5
    assert words == [text for text in left if text in words]
    assert words[0] == "request 0: look at src/app/module_0.py"
    assert goal.text not in words


def test_prunings_that_are_not_enough_are_kept_and_reach_into_recent_messages():
    same = "the whole configuration, one line after another\n" * 40
    messages = [message for n in range(20) for message in step(f"c{n}", "get", {"of": n}, f"{n}\n{LONG}")]
    messages[20:20] = step("a", "get", {"of": "x"}, same)
    messages[-10:-10] = step("b", "list", {"of": "y"}, same)
    view = items([text_message(Role.USER, "Look at all of it."), *messages])
    plan = propose(situation(view, tokens_of(view) // 2))
    stub = next(op for op in plan.operations if isinstance(op, Shrink) and op.id == "m23")
    assert stub.reason == "repeated in m35"
    assert stub.message.parts[0].text == "[the same output as further down, in m35]"
    assert plan.fits


def test_what_people_decided_stays_in_a_small_digest_before_names_and_story():
    said = (
        "Let's use SQLite instead of Postgres.",
        "We will go with option 2.",
        "Let's not merge the PR yet.",
    )
    messages = [text_message(Role.USER, "Port the importer.")]
    for n in range(60):
        path = {"file_path": f"src/importer/part_{n}.py", "content": LONG}
        messages += step(f"c{n}", "Write", path, "File created.")
        messages += [text_message(Role.ASSISTANT, f"Part {n} of the importer is written. " * 6)]
        messages += [text_message(Role.USER, said[n // 10] if n in (0, 10, 20) else f"Go on with {n}.")]
    view = items(messages)
    for target in (1_500, 3_000, 6_000):
        digest = condensed(propose(situation(view, target))).digest
        assert {claim.text for claim in digest.claims if claim.kind is ClaimKind.DECISION} >= {*said}


def test_text_of_a_harness_is_pruned_like_tool_output_and_not_cut_off():
    skill = "\n".join(f"{n}. Always look at chapter {n} of the manual before you write." for n in range(300))
    messages = [text_message(Role.USER, "Port it."), text_message(Role.USER, skill, Origin.INJECTED)]
    messages += [message for n in range(8) for message in step(f"c{n}", "get", {"of": n}, f"{n} is there")]
    view = items(messages)
    plan = propose(situation(view, tokens_of(view) // 3))
    assert plan.digests == ()
    assert {op.rung for op in plan.operations} == {Rung.PRUNE}


def test_the_last_messages_and_those_kept_verbatim_are_not_pruned():
    same = "the whole configuration, one line after another\n" * 40
    messages = [message for n in range(12) for message in step(f"c{n}", "get", {"of": n}, f"{n}\n{LONG}")]
    messages += [*step("a", "get", {"of": "x"}, same), *step("b", "list", {"of": "y"}, same)]
    view = items([text_message(Role.USER, "Look at all of it."), *messages])
    plan = propose(situation(view, tokens_of(view) // 4))
    assert plan.operations
    assert "m27" not in [
        op.id for op in plan.operations if isinstance(op, Shrink) and "repeated" in op.reason
    ]


def test_every_claim_quotes_its_source():
    view = turns(60)
    by_id = {item.id: item.message for item in view}
    digest = condensed(propose(situation(view, 4_000, MandatoryContent()))).digest
    for claim in digest.claims:
        said = [cite.quote(by_id[cite.message]) for cite in claim.sources]
        assert [claim.text] == said


def test_rules_are_always_there_and_fail_loudly_where_they_do_not_fit():
    digest = condensed(propose(situation(turns(30), 2_000, MandatoryContent((PIN,))))).digest
    assert digest.pins == (PIN,)
    many = tuple(RuleQuote(f"p{n}", f"rule {n}: " + "never " * 50, Cite("m2"), Trust.USER) for n in range(60))
    with pytest.raises(PinsDoNotFit, match="or ask for more tokens"):
        propose(situation(turns(30), 2_000, MandatoryContent(many)))
    with pytest.raises(PinsDoNotFit, match="or use a model with a larger window"):
        propose(situation(turns(30), 2_000, MandatoryContent(many), trigger="pressure"))


def test_open_work_is_told_by_how_it_begins_where_rules_leave_no_room_for_all_of_it():
    rules = "".join(f"Never touch the folder legacy_{n} of the store. " for n in range(30))
    asked = f"Port these: {', '.join(f'the report of table_{n}' for n in range(60))}."
    living = Living(
        [
            text_message(Role.USER, rules),
            text_message(Role.USER, asked),
            *(one for n in range(20) for one in step(f"c{n}", "read", {"path": f"src/f{n}.ts"}, LONG)),
        ]
    )
    least = propose(living.situation(2_000))
    plan = propose(living.situation(740))
    assert [pin.quote for pin in condensed(plan).digest.pins] == [
        pin.quote for pin in condensed(least).digest.pins
    ]
    assert plan.fits
    assert any(claim.text.endswith("…") for claim in condensed(plan).digest.claims)
    assert verify(plan, living.evidence(620)).accepted


def test_a_system_prompt_that_alone_is_too_large_is_said_to_be():
    view = items([text_message(Role.SYSTEM, "word " * 3_000), text_message(Role.USER, "go")])
    with pytest.raises(BudgetExceeded, match=r"the system prompt alone .* or shorten the system prompt"):
        propose(situation(view, 1_000))
    with pytest.raises(BudgetExceeded, match=r"the system prompt alone .* a larger window"):
        propose(situation(view, 1_000, trigger="pressure"))


@pytest.mark.parametrize(
    "prompt", [[], [text_message(Role.SYSTEM, "Be brief.")]], ids=["no prompt", "a prompt"]
)
def test_who_asks_for_nothing_is_told_that_no_message_fits_in_it(prompt: list[Message]):
    view = items([*prompt, text_message(Role.USER, "go")])
    with pytest.raises(BudgetExceeded) as refused:
        propose(situation(view, tokens_of(view[:-1])))
    assert str(refused.value) == "no message fits in 0 tokens: nothing was changed; ask for more tokens"


def test_where_no_room_is_left_and_there_is_no_prompt_none_is_blamed():
    with pytest.raises(BudgetExceeded, match="leaves no room for messages: nothing was sent"):
        propose(situation(turns(1)[1:], -5, trigger="pressure"))


@pytest.mark.parametrize(
    ("trigger", "advice"),
    [
        ("manual", "nothing was changed; ask for more tokens"),
        (
            "pressure",
            "nothing was sent; make the last messages smaller, make fewer calls at once, "
            "or use a model with a larger window",
        ),
    ],
)
def test_recent_messages_that_are_too_large_are_what_is_to_be_made_smaller(trigger: str, advice: str):
    pictures = Message(Role.USER, tuple(Media("image", url=f"https://x/{n}.png") for n in range(9)))
    view = items([pictures])
    with pytest.raises(BudgetExceeded) as refused:
        propose(situation(view, 1_000, trigger=trigger))
    told = f"the most recent messages take {tokens_of(view):,} tokens even in excerpt"
    assert str(refused.value) == f"{told}: more than the 1,000 that there is room for: {advice}"


def test_where_rules_take_most_of_the_room_it_is_they_that_should_be_fewer():
    picture = Item("m999", Message(Role.USER, (Media("image", url="https://x/1.png"),)))
    rules = tuple(
        RuleQuote(f"p{n}", f"rule {n}: " + "never " * 40, Cite("m2"), Trust.USER) for n in range(30)
    )
    with pytest.raises(BudgetExceeded, match=r"and rules and open work .*: no pin is dropped silently"):
        propose(situation([*turns(30), picture], 3_000, MandatoryContent(rules), trigger="pressure"))


def test_a_large_system_prompt_takes_nothing_from_the_shares_of_the_rest():
    view = [Item("m1", text_message(Role.SYSTEM, "word " * 9_000)), *turns(30)[1:]]
    small = turns(30)
    more = tokens_of(view[:1]) - tokens_of(small[:1])
    wide, narrow = propose(situation(view, 2_000 + more)), propose(situation(small, 2_000))
    assert wide.operations == narrow.operations


@pytest.mark.parametrize("size", [9_000, 300_000])
def test_one_message_larger_than_the_window_still_fits(size: int):
    giant = Item("m9", text_message(Role.USER, "word " * size))
    assert propose(situation([*turns(1), giant], 5_000)).fits


def test_many_results_at_once_still_fit():
    calls = tuple(ToolCall(f"x{n}", "run", {}, trust=Trust.ASSISTANT) for n in range(12))
    results = tuple(ToolResult(f"x{n}", (Text("out put " * 9_000),)) for n in range(12))
    view = [*turns(1), Item("m8", Message(Role.ASSISTANT, calls)), Item("m9", Message(Role.TOOL, results))]
    assert propose(situation(view, 3_000)).fits


def test_a_twentieth_holds_eight_huge_recent_messages():
    huge = [text_message(Role.USER, f"paste {n}: " + f"value_{n} and more words\n" * 2_000) for n in range(8)]
    view = items([*(item.message for item in turns(40)), *huge])
    target = tokens_of(view) // 20
    plan = propose(situation(view, target))
    assert plan.fits
    after = {item.id: item.message.text for item in apply(plan, view)}
    assert all(f"paste {n}: " in after[item.id] for n, item in enumerate(view[-8:]))


def test_a_huge_call_among_the_recent_messages_still_fits():
    body = "\n".join(f"written line {n}" for n in range(5_000))
    view = items(
        [*(item.message for item in turns(3)), *step("w", "Write", {"path": "a.py", "content": body}, "ok")]
    )
    assert propose(situation(view, 2_000)).fits


def test_keeping_none_still_keeps_the_last_atom():
    view = turns(10)
    plan = propose(situation(view, 1_500, keep=Keep(0, tokens=0)))
    assert apply(plan, view)[-1] == view[-1]


# Where no digest can speak for what is left out ------------------------------------------------------


def test_rules_and_open_questions_in_one_giant_message_stay_readable():
    filler = "\n".join(f"row {n} of the dump" for n in range(600))
    rule, question = "Never delete the table orders_2024.", "Which row is wrong?"
    text = "\n".join(["Look at this.", "some words\n" * 40 + rule, filler, question, filler])
    living = Living([text_message(Role.SYSTEM, "Be brief."), text_message(Role.USER, text)])
    plan = propose(living.situation(2_000))
    report = verify(plan, living.evidence(2_000))
    shown = apply(plan, living.view)[-1].message.text
    assert plan.fits
    assert rule in shown
    assert question in shown
    assert [finding for finding in report.findings if finding.level is not Level.NOTE] == []


def test_a_digest_is_not_made_where_it_would_be_larger_than_what_it_stands_for():
    view = items([text_message(Role.USER, "Look."), *step("c", "run", {"cmd": "cat x"}, LONG * 40)])
    plan = propose(situation(view, 800))
    assert plan.fits
    assert [op.id for op in plan.operations if isinstance(op, Shrink)] == ["m3"]
    assert plan.digests == ()


# Again -----------------------------------------------------------------------------------------------


def test_a_second_compaction_folds_the_first():
    living = Living(item.message for item in turns(30))
    first = living.compact(2_500).digests[0]
    living.add(item.message for item in turns(50)[121:])
    plan = living.compact(2_500)
    (second,) = plan.digests
    assert condensed(plan).rung is Rung.FOLD
    assert (second.level, second.folds) == (1, ("d1",))
    assert second.covers[: len(first.covers)] == first.covers
    assert any(claim.sources[0].message in first.covers for claim in second.claims)


def test_a_digest_alone_is_not_folded_into_another_of_its_size():
    living = Living(item.message for item in turns(30))
    living.compact(900)
    before = living.shown
    living.add(step("x", "run", {"cmd": "cat dump"}, LONG * 12))
    plan = living.compact(1_800)
    assert plan.fits
    assert plan.digests == ()
    assert living.shown == before


def test_a_digest_alone_is_folded_only_into_a_smaller_one():
    living = Living(item.message for item in turns(90))
    living.compact(8_000)
    before = tokens_of(living.view[1:2])
    plan = living.compact(1_500)
    assert plan.fits
    assert tokens_of(living.view[1:2]) < before


def test_what_the_ledger_says_of_turns_that_left_earlier_is_said_again():
    decided = spoken("I chose Decimal over float because the rounding was off by a cent in every invoice.")
    start = [item.message for item in turns(2)]
    living = Living([*start, decided, *(item.message for item in turns(30)[1:])])
    first = living.compact(4_000).digests[0]
    living.add(item.message for item in turns(50)[121:])
    second = living.compact(4_000).digests[0]
    for digest in (first, second):
        assert any(
            "Decimal over float" in one.text for one in digest.claims if one.kind is ClaimKind.DECISION
        )


def test_the_newest_run_that_failed_shows_its_assertion_however_much_follows():
    noise = [f"  ✓ case {n} of the suite" for n in range(200)]
    wrong = ["AssertionError: expected 3 to equal 4", "  at rates.test.ts:9"]
    output = "\n".join([*noise, *wrong, *noise, "1 failed"])
    failed = step("t", "bash", {"command": "npm test"}, f"{output}\n[exit code: 1]")
    more = [
        message
        for n in range(30)
        for message in step(f"c{n}", "read", {"path": f"src/f{n}.ts"}, f"text {n}\n{LONG}")
    ]
    view = items([text_message(Role.USER, "Fix the rates."), *failed, *more])
    shown = apply(propose(situation(view, 4_500)), view)
    outputs = [result.text for item in shown for result in item.message.results]
    assert any(wrong[0] in text for text in outputs)
