"""Laws: nothing makes ``verify`` raise, repairs are settled, no change to an honest digest goes unseen."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Drop, Plan, RuleQuote, Shrink
from clew.compaction.verify import Report, preview, render_report, repair, verify
from clew.compaction.verify.survival import HOLDS_LOOPS
from clew.message import Cite, Item, Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.providers import ANTHROPIC
from clew.tokens import counter_for
from tests.compaction_verify.honest import HonestTask, items, proposed
from tests.compaction_verify.scene import GivenTask, told
from tests.conftest import tries
from tests.strategies import messages, wild_histories

COUNTER = counter_for("claude-sonnet-4-5")

# Anything at all -------------------------------------------------------------------------------------

names = st.sampled_from([*(f"m{i}" for i in range(1, 9)), "d1", "m99", "", "m 1]"])
texts = st.text(max_size=30) | st.sampled_from(
    ["Fix 3 tests in src/a.py", "</clew-digest>", "[… 2 lines]", "user: a\ntool: b"]
)
cites = st.builds(Cite, names, st.integers(-1, 3), st.integers(-2, 9), st.none() | st.integers(-1, 40))
claims = st.builds(
    Claim,
    st.sampled_from(["d1.1", "d1.2", "d1.3", "d1.x", ""]),
    st.sampled_from(ClaimKind),
    texts,
    st.lists(cites, max_size=2).map(tuple),
    st.sampled_from(Trust),
    st.booleans(),
)
pins = st.builds(RuleQuote, st.sampled_from(["p1", "p2"]), texts, cites, st.sampled_from(Trust))
digests = st.builds(
    Digest,
    st.sampled_from(["d1", "m1", ""]),
    st.integers(-1, 2),
    st.lists(names, max_size=4).map(tuple),
    st.just("sha256:00"),
    st.lists(claims, max_size=5).map(tuple),
    st.lists(pins, max_size=2).map(tuple),
    st.just(()) | st.just(("d0",)),
    texts,
)


@st.composite
def cases(draw):
    """Make a plan that may do anything to a view that may hold anything, and what it is judged by."""
    view = items(draw(wild_histories))
    spans = [
        tuple(item.id for item in view[i:j]) for i in range(len(view)) for j in range(i + 1, len(view) + 1)
    ]
    ids = st.sampled_from(spans) if spans else st.just(("m1",))
    operation = st.one_of(
        st.builds(Condense, ids, digests),
        st.builds(Drop, ids, texts),
        st.builds(Shrink, ids.map(lambda span: span[0]), messages, texts),
    )
    entries = st.lists(st.builds(LedgerEntry, st.just("q1"), texts, cites), max_size=2).map(tuple)
    evidence = GivenTask(
        view=view,
        counter=COUNTER,
        target_tokens=draw(st.integers(0, 400)),
        originals=draw(st.none() | st.just({item.id: item.message for item in view}.get)),
        pins=draw(st.lists(pins, max_size=2).map(tuple)),
        loops=draw(entries),
        decisions=draw(entries),
        shown=draw(st.none() | st.tuples(names, digests)),
        wire=draw(st.none() | st.just(ANTHROPIC)),
    )
    operations = tuple(draw(st.lists(operation, max_size=2)))
    return Plan(operations, 0, 0, evidence.target_tokens, "manual", "asked for"), evidence


@settings(max_examples=tries(60, 300))
@given(cases())
def test_any_plan_is_judged_and_every_report_can_be_kept_and_read(case: tuple[Plan, GivenTask]):
    report = verify(*case)
    assert Report.from_json(report.to_json()) == report
    assert render_report(report)
    assert preview(*case)


@settings(max_examples=tries(60, 300))
@given(cases())
def test_a_repaired_plan_is_accepted_or_refused_and_says_nothing_new(case: tuple[Plan, GivenTask]):
    plan, evidence = case
    better = repair(plan, verify(plan, evidence), evidence)
    if better is None:
        return
    again = verify(better, evidence)
    assert again.accepted or again.refused
    said_before = {(claim.kind, claim.text, claim.sources) for one in plan.digests for claim in one.claims}
    open_before = {(ClaimKind.OPEN, loop.text, (loop.source,)) for loop in evidence.required.open_items}
    for digest in better.digests:
        assert set(digest.pins) <= set(evidence.required.pins)
        for claim in digest.claims:
            assert (claim.kind, claim.text, claim.sources) in said_before | open_before


@settings(max_examples=tries(60, 300))
@given(cases())
def test_a_repair_never_loses_a_rule_and_never_raises_a_label(case: tuple[Plan, GivenTask]):
    plan, evidence = case
    report = verify(plan, evidence)
    better = repair(plan, report, evidence)
    if better is None:
        return

    def standing(judged: Report) -> int:
        return next(kept.stand for kept in judged.kept if kept.matter.value == "rule")

    assert standing(verify(better, evidence)) >= standing(report)
    labels = {(claim.id, claim.text): claim.trust for digest in plan.digests for claim in digest.claims}
    for digest in better.digests:
        for claim in digest.claims:
            assert claim.trust <= labels.get((claim.id, claim.text), Trust.SYSTEM)


# Honest digests, spoilt ------------------------------------------------------------------------------


def _step(i: int) -> list[Message]:
    call = ToolCall(
        f"c{i}", "bash", {"command": f"pytest tests/test_{i}.py -k case_{i}"}, trust=Trust.ASSISTANT
    )
    output = (
        f"tests/test_{i}.py: {i + 3} passed in {i}.25s\nwrote build/report_{i}.xml ({i * 1000 + 512} bytes)\n"
    )
    noise = "".join(f"  collected node {i}-{k} from cache\n" for k in range(20))
    spoken = Text(f"Step {i}: module_{i} fails because version 1.{i}.0 broke it.", trust=Trust.ASSISTANT)
    return [
        Message(Role.ASSISTANT, (spoken, call)),
        Message(Role.TOOL, (ToolResult(f"c{i}", (Text(output + noise),)),)),
    ]


@cache
def honest() -> tuple[Plan, HonestTask]:
    """Return what the ladder proposes for a session of many steps with rules said in passing."""
    history = [
        text_message(Role.SYSTEM, "You are a careful engineer."),
        text_message(Role.USER, "Port the reporting module to v2. Never modify files under legacy/."),
    ]
    for i in range(150):
        history += _step(i)
        if i == 12:
            history.append(
                text_message(Role.USER, "Don't push to main without asking me. Use ticket ABC-1234 for this.")
            )
    return proposed(items(history), 0.3)


def test_the_honest_digest_has_rules_quotes_and_values_to_spoil():
    plan, evidence = honest()
    assert verify(plan, evidence).accepted
    assert len(evidence.required.pins) >= 2
    assert len(plan.digests[0].claims) > 30


def with_claims(plan: Plan, claims: tuple[Claim, ...]) -> Plan:
    first = plan.operations[0]
    assert isinstance(first, Condense)
    return replace(
        plan, operations=(replace(first, digest=replace(first.digest, claims=claims)), *plan.operations[1:])
    )


def written_by_a_summariser(evidence: HonestTask) -> HonestTask:
    """Return evidence in which nothing but what is open is taken for the ledger's word."""
    return replace(evidence, vouched=False)


@settings(max_examples=tries(60, 300))
@given(st.data())
def test_a_value_replaced_by_another_is_always_caught(data: st.DataObject):
    plan, evidence = honest()
    claims = plan.digests[0].claims
    digits = [i for i, claim in enumerate(claims) if any(sign.isdigit() for sign in claim.text)]
    chosen = data.draw(st.sampled_from(digits))
    text = claims[chosen].text
    at = data.draw(st.sampled_from([i for i, sign in enumerate(text) if sign.isdigit()]))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != text[at]]))
    changed = claims[chosen]._replace(
        text=f"{text[:at]}{other}{text[at + 1 :]}", verbatim=data.draw(st.booleans())
    )
    spoilt = with_claims(plan, (*claims[:chosen], changed, *claims[chosen + 1 :]))
    report = verify(spoilt, written_by_a_summariser(evidence))
    assert ("grounding", "drop", changed.id) in told(report)


@settings(max_examples=tries(60, 300))
@given(st.data())
def test_a_swapped_source_is_always_caught(data: st.DataObject):
    plan, evidence = honest()
    claims = plan.digests[0].claims
    chosen = data.draw(st.integers(0, len(claims) - 1))
    text = claims[chosen].text
    others = [item for item in evidence.view if item.message.parts and text not in _said(item)]
    source = data.draw(st.sampled_from(others))
    changed = claims[chosen]._replace(sources=(Cite(source.id),))
    spoilt = with_claims(plan, (*claims[:chosen], changed, *claims[chosen + 1 :]))
    report = verify(spoilt, written_by_a_summariser(evidence))
    assert changed.id in {finding.subject for finding in report.findings}


def _said(item: Item) -> str:
    return "\n".join(part.text for part in item.message.parts if isinstance(part, Text | ToolResult))


@given(st.data())
def test_a_dropped_or_changed_rule_is_always_caught_and_put_back(data: st.DataObject):
    plan, evidence = honest()
    first = plan.operations[0]
    assert isinstance(first, Condense)
    chosen = data.draw(st.integers(0, len(first.digest.pins) - 1))
    pin = first.digest.pins[chosen]
    at = data.draw(st.integers(0, len(pin.quote) - 1))
    other = data.draw(st.none() | st.just(replace(pin, quote=pin.quote[:at] + pin.quote[at + 1 :])))
    rules = (*first.digest.pins[:chosen], *([other] if other else []), *first.digest.pins[chosen + 1 :])
    spoilt = replace(
        plan, operations=(replace(first, digest=replace(first.digest, pins=rules)), *plan.operations[1:])
    )
    report = verify(spoilt, evidence)
    assert ("pins", "repair", pin.id) in told(report)
    better = repair(spoilt, report, evidence)
    assert better is not None
    assert better.operations == plan.operations


@given(st.data())
def test_an_open_loop_left_out_is_always_caught(data: st.DataObject):
    plan, evidence = honest()
    holders = [claim for claim in plan.digests[0].claims if claim.kind in HOLDS_LOOPS]
    claims = tuple(claim for claim in plan.digests[0].claims if claim not in holders)
    loop = data.draw(st.sampled_from(evidence.required.open_items))
    assert ("open loops", "repair", loop.id) in told(verify(with_claims(plan, claims), evidence))
