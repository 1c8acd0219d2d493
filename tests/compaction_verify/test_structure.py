"""What a plan may not touch, it does not touch; spans are what they say; what goes out is valid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.compaction.plan import Condense, Digest, Drop, Operation, Shrink
from clew.compaction.plan.digest import checksum
from clew.compaction.plan.plan import apply
from clew.compaction.verify import Report, verify
from clew.message import Item, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Trust, text_message
from clew.providers import ANTHROPIC, WIRES, Wire
from tests.compaction_verify.scene import (
    COVERED,
    EVIDENCE,
    HONEST,
    VIEW,
    GivenTask,
    digest,
    plan_of,
    planned,
    told,
)

BARE = replace(EVIDENCE, pins=(), loops=())
CODE = VIEW[3].message
SHORT = "class Invoice:\n    total: int = 1250\n[… 123 lines]"


def judged(*operations: Operation, evidence: GivenTask = BARE) -> Report:
    return verify(planned(*operations), evidence)


def over(first: int, last: int, **changes: object) -> Condense:
    """Return the honest digest's claims over other messages of the view."""
    span = VIEW[first - 1 : last]
    names = tuple(item.id for item in span)
    made = replace(digest(*HONEST, pins=()), covers=names, checksum=checksum(span), **changes)
    return Condense(names, made)


def refusals(report: Report) -> set[str]:
    return {one.what for one in report.findings if one.check == "structure"}


def result(text: str, trust: Trust = Trust.UNTRUSTED) -> Message:
    old = CODE.parts[0]
    assert isinstance(old, ToolResult)
    return replace(CODE, parts=(replace(old, parts=(Text(text, trust=trust),), trust=trust),))


def test_a_plan_for_another_view_is_refused_not_raised():
    report = judged(Drop(("m77",), "not there"))
    assert [(one.check, one.level.value, one.what) for one in report.findings] == [
        ("structure", "refuse", "no message m77 in the view")
    ]


@pytest.mark.parametrize(
    "operation",
    [over(1, 9), Drop(("m1",), "old"), Shrink("m1", text_message(Role.SYSTEM, "Be careful."), "long")],
    ids=["condensed", "dropped", "shortened"],
)
def test_the_system_prompt_is_not_touched(operation: Operation):
    assert "the system prompt would be changed" in refusals(judged(operation))


@pytest.mark.parametrize(("first", "last"), [(2, 3), (4, 9), (2, 7)])
def test_a_call_is_not_parted_from_its_result(first: int, last: int):
    assert refusals(judged(over(first, last))) == {"a call would be separated from its result"}


def test_the_last_message_is_not_condensed():
    assert refusals(judged(over(2, 11))) == {"one of the most recent messages would be removed"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("covers", COVERED[:-1]),
        ("covers", COVERED[::-1]),
        ("checksum", "sha256:00"),
        ("level", 1),
        ("folds", ("d0",)),
    ],
)
def test_a_digest_says_exactly_what_it_stands_for(field: str, value: object):
    report = verify(plan_of(replace(digest(*HONEST), **{field: value})), EVIDENCE)
    assert f"the digest's {field} does not match the messages it replaces" in refusals(report)


def test_a_source_that_was_exchanged_since_is_noticed():
    plan = plan_of(digest(*HONEST))
    changed = [Item(item.id, result("other code\n" * 300)) if item.id == "m4" else item for item in VIEW]
    report = verify(plan, replace(EVIDENCE, view=changed))
    assert refusals(report) == {"the digest's checksum does not match the messages it replaces"}


def test_a_digest_that_folds_another_says_so_and_answers_for_its_messages():
    first = digest(*HONEST)
    view = apply(plan_of(first), VIEW)
    new = [item for item in view if item.id == "m10"]
    second = Digest(
        "d2",
        1,
        (*COVERED, "m10"),
        checksum(new, first.checksum),
        tuple(one._replace(id=f"d2.{i}") for i, one in enumerate(first.claims[:-2])),
        first.pins,
        folds=("d1",),
    )
    evidence = replace(EVIDENCE, view=view, shown=("d1", first))
    assert verify(planned(Condense(("d1", "m10"), second)), evidence).accepted
    assert "the digest's folds does not match the messages it replaces" in refusals(
        verify(planned(Condense(("d1", "m10"), replace(second, folds=()))), evidence)
    )


# Dropping and shrinking ------------------------------------------------------------------------------


def test_only_what_a_digest_stands_for_is_dropped():
    assert refusals(judged(Drop(("m5",), "old"))) == {"the message would be dropped"}


def test_what_a_digest_in_the_view_stands_for_may_be_dropped():
    shown = Item("d0", text_message(Role.USER, "the digest d0"))
    earlier = Digest("d0", 0, ("m5",), "sha256:00", ())
    evidence = replace(BARE, view=[VIEW[0], shown, *VIEW[1:]], shown=("d0", earlier))
    assert judged(Drop(("m5",), "condensed"), evidence=evidence).accepted


def test_what_the_log_does_not_have_is_not_dropped_or_shortened():
    evidence = replace(BARE, originals=lambda name: None)
    report = judged(Shrink("m4", result(SHORT), "long"), evidence=evidence)
    assert refusals(report) == {"the message would no longer be shown whole"}


def test_an_excerpt_with_its_omissions_marked_is_a_smaller_form():
    shown = f"[about 1,500 tokens, shown in excerpt; the whole of it is kept as m4]\n{SHORT}"
    assert judged(Shrink("m4", result(shown), "a large output")).accepted
    for within_a_line in (
        "cla [… 3 characters] Invoice:",
        "[… 27 characters] delete everything under legacy/",
    ):
        assert judged(Shrink("m4", result(within_a_line), "a large output")).accepted


def test_only_a_message_of_nothing_but_thinking_is_shown_no_more():
    assert refusals(judged(Shrink("m4", replace(CODE, parts=()), "long"))) == {
        "the smaller form is not the same message"
    }
    thought = Item("m4b", Message(Role.ASSISTANT, (Thinking("hm " * 200, trust=Trust.ASSISTANT),)))
    evidence = replace(BARE, view=[*BARE.view, thought], originals=None)
    gone = Shrink("m4b", replace(thought.message, parts=()), "thinking of an earlier turn")
    assert not refusals(judged(gone, evidence=evidence))


def test_a_smaller_form_may_lack_colours():
    coloured = {
        "m4": result("\x1b[31mclass\x1b[39m Invoice:\n" + "\x1b[2m    total: int = 1250\x1b[22m\n" * 90)
    }
    evidence = replace(BARE, originals=lambda name: coloured.get(name) or BARE.by_id[name])
    assert judged(Shrink("m4", result(SHORT), "long"), evidence=evidence).accepted


def test_an_outline_of_any_length_may_have_only_names_of_the_original():
    names = ", ".join(["1 Invoice", "total"] * 40)
    assert judged(Shrink("m4", result(f"[92 lines, kept as m4: {names} and 3 more]"), "long")).accepted
    (refused,) = refusals(judged(Shrink("m4", result(f"[92 lines, kept as m4: {names}, 7 Refund]"), "long")))
    assert refused.startswith('the smaller form adds "[92 lines, kept as m4: 1 Invoice, total')


@pytest.mark.parametrize(
    ("smaller", "what"),
    [
        (result("class Invoice:\n    total: int = 9999"), 'the smaller form adds "    total: int = 9999"'),
        (
            result("delete everything under legacy/"),
            'the smaller form adds "delete everything under legacy/"',
        ),
        (result(SHORT, Trust.USER), "the smaller form is labelled above the original"),
        (replace(result(SHORT), role=Role.USER), "the smaller form is not the same message"),
        (text_message(Role.TOOL, SHORT), "the smaller form is not the same message"),
        (replace(CODE, parts=()), "the smaller form is not the same message"),
    ],
    ids=["other words", "beginning lost", "label raised", "other role", "no result", "no parts"],
)
def test_a_smaller_form_says_nothing_new_and_stays_the_same_message(smaller: Message, what: str):
    assert refusals(judged(Shrink("m4", smaller, "long"))) == {what}


def test_a_smaller_form_that_is_larger_is_noted_and_refused_only_if_the_view_grows():
    longer = result("[the same output as in m99]\n" + "\n".join(["class Invoice:"] * 2_000))
    assert told(judged(Shrink("m4", longer, "long"))) == [
        ("size", "refuse", ""),
        ("structure", "note", "m4"),
    ]


# The wire --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES.values(), ids=lambda wire: wire.name)
def test_an_honest_plan_leaves_a_view_that_every_provider_takes(wire: Wire):
    assert verify(plan_of(digest(*HONEST)), replace(EVIDENCE, wire=wire)).accepted


def test_what_the_provider_refuses_before_and_after_is_noted():
    unanswered = Message(Role.ASSISTANT, (ToolCall("c9", "bash", {}, trust=Trust.ASSISTANT),))
    view = [*VIEW[:9], Item("m9b", unanswered), *VIEW[9:]]
    report = verify(plan_of(digest(*HONEST)), replace(EVIDENCE, view=view, wire=ANTHROPIC))
    assert [(one.check, one.level.value) for one in report.findings] == [("structure", "note")]


def test_what_the_provider_refuses_only_after_is_refused():
    report = judged(over(2, 3), evidence=replace(BARE, wire=ANTHROPIC))
    assert any("Anthropic Messages would reject the view by rule" in what for what in refusals(report))


THOUGHT = Thinking("Which of the two was it?", signature="sealed", trust=Trust.ASSISTANT)
DECIDED = Message(Role.ASSISTANT, (THOUGHT, *VIEW[10].message.parts))
THINKING = replace(BARE, view=[*VIEW[:10], Item("m11", DECIDED)], originals=None)


def test_a_thought_may_be_left_out_whole_and_never_changed():
    changed = replace(DECIDED, parts=(replace(THOUGHT, text="It was."), *DECIDED.parts[1:]))
    left_out = Shrink("m11", VIEW[10].message, "no room for its thought")
    assert refusals(judged(left_out, evidence=THINKING)) == set()
    assert refusals(judged(Shrink("m11", changed, "shorter"), evidence=THINKING)) == {
        "the smaller form is not the same message"
    }


def test_a_thought_holds_its_loop_together_only_where_one_is_shown():
    def step(n: int, *before: Part) -> list[Message]:
        call = ToolCall(f"t{n}", "run", {}, trust=Trust.ASSISTANT)
        result = ToolResult(f"t{n}", (Text("ok"),))
        return [Message(Role.ASSISTANT, (*before, call)), Message(Role.TOOL, (result,))]

    def refused(*last: Part) -> set[str]:
        steps = [*step(1, THOUGHT), *step(2), *step(3, *last)]
        view = [*VIEW[:2], *(Item(f"s{n}", message) for n, message in enumerate(steps, start=1))]
        evidence = replace(BARE, view=view, originals=None)
        return refusals(judged(Drop(("s1", "s2"), "old"), evidence=evidence))

    parted = "a call would be separated from its result"
    assert (parted in refused(THOUGHT), parted in refused()) == (True, False)


def test_a_message_whose_thinking_left_is_compared_with_its_original():
    lines = [f"Step {n} reads part {n} of the file." for n in range(60)]
    said, first, second = (
        Text("\n".join(shown), trust=Trust.ASSISTANT) for shown in (lines, lines[:30], lines[40:50])
    )
    view = [*VIEW[:9], Item("m10b", Message(Role.ASSISTANT, (first,))), *VIEW[9:]]
    originals = {item.id: item.message for item in VIEW} | {"m10b": Message(Role.ASSISTANT, (THOUGHT, said))}
    evidence = replace(BARE, view=view, originals=originals.get)
    shrink = Shrink("m10b", Message(Role.ASSISTANT, (second,)), "no room")
    assert refusals(judged(shrink, evidence=evidence)) == set()
    invented = replace(second, text="Step 99 deletes the file.")
    shrink = Shrink("m10b", Message(Role.ASSISTANT, (invented,)), "no room")
    assert refusals(judged(shrink, evidence=evidence)) == {
        'the smaller form adds "Step 99 deletes the file."'
    }
