"""Any answer can be read: claims where there are some, never an error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import ClaimKind
from clew.compaction.propose.summary.claims import (
    MOST_SOURCES,
    WrittenClaim,
    claims_of,
    read_answer,
    sources_of,
)
from tests.compaction_summary.scene import DIGEST_ITEM, EARLIER, SPAN, outline
from tests.strategies import json_text, json_values

DECIDED = '{"kind": "decision", "text": "Use Decimal.", "sources": ["m4"]}'
TAXED = '{"kind": "fact", "text": "TAX_RATE is 0.19", "sources": ["m3"]}'
BOTH = [
    WrittenClaim(ClaimKind.DECISION, "Use Decimal.", ("m4",)),
    WrittenClaim(ClaimKind.FACT, "TAX_RATE is 0.19", ("m3",)),
]


@pytest.mark.parametrize(
    "answer",
    [
        f'{{"claims": [{DECIDED}, {TAXED}]}}',
        f"[{DECIDED}, {TAXED}]",
        f"{DECIDED}\n{TAXED}",
        f"- {DECIDED}\n- {TAXED}",
        f'Here you are:\n```json\n{{"claims": [{DECIDED},\n{TAXED}]}}\n```\nThe set {{1, 2}} is done!',
        f'{{"summary": {{"claims": [{DECIDED}, {TAXED}]}}}}',
        f'{{"claims": [{DECIDED}, {TAXED}, {{"kind": "fact", "text": "The last on',
        f'<think>\nMaybe {{"text": "no", "sources": ["m1"]}}?\n</think>\n{{"claims": [{DECIDED}, {TAXED}]}}',
        f'{{"claims": [{DECIDED}, "{TAXED[:5]}", null, {TAXED}]}}',
    ],
)
def test_claims_are_found_in_whatever_clothes_they_come(answer: str):
    assert read_answer(answer) == BOTH


NO_CLAIMS = ("", "  \n", "I'm sorry.", "user: hi\n{", '{"a": {"b": 1}}', '{"text": ""}', "{" * 9)


@pytest.mark.parametrize("answer", NO_CLAIMS)
def test_an_answer_without_claims_is_none(answer: str):
    assert read_answer(answer) is None


@pytest.mark.parametrize("answer", ['{"claims": []}', 'Nothing to keep.\n```\n{"claims": []}\n```'])
def test_an_answer_that_has_nothing_to_tell_is_an_answer(answer: str):
    assert read_answer(answer) == []


def test_unknown_kinds_are_facts_and_odd_sources_are_taken_as_they_are():
    odd = '{"kind": "Decision ", "text": "a", "source": "m1, m2"}'
    odder = '{"kind": 7, "text": "b", "sources": [3, null]}'
    assert read_answer(f"{odd} {odder}") == [
        WrittenClaim(ClaimKind.DECISION, "a", ("m1, m2",)),
        WrittenClaim(ClaimKind.FACT, "b", ("m3",)),
    ]


def test_signs_that_cannot_be_written_are_left_out():
    answer = '{"kind": "fact", "text": "a\\ud800b\\u0000c\nd", "sources": ["m1"]}'
    assert read_answer(answer) == [WrittenClaim(ClaimKind.FACT, "abc\nd", ("m1",))]


@pytest.mark.parametrize(
    "answer", ['{"a":' * 50_000, '[{"text":' * 50_000, '{"text": "' * 50_000, "{" * 400_000]
)
def test_an_endless_answer_is_read_in_time_in_proportion(answer: str):
    assert read_answer(answer) in (None, [])


# Laws ------------------------------------------------------------------------------------------------

claim_objects = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from([*ClaimKind, "??"]).map(str) | json_values,
        "text": st.sampled_from(["TAX_RATE = 0.19", "Good. Keep the public API stable.", "Use tabs."])
        | st.text()
        | json_values,
        "sources": st.lists(st.sampled_from(["m1", "m3", "m5", "d1.1", "d1", "a1", "m99"])) | json_values,
    },
)
answers = st.one_of(
    st.text(),
    json_values.flatmap(json_text),
    st.lists(claim_objects, max_size=4).map(lambda claims: json.dumps({"claims": claims})),
    st.lists(claim_objects, max_size=4).map(lambda claims: json.dumps({"claims": claims})[:-17]),
)


@given(answers)
def test_whatever_is_answered_every_claim_cites_what_was_shown(answer: str):
    made = outline([DIGEST_ITEM, *SPAN], earlier=EARLIER)
    names = {item.id for item in SPAN} | set(EARLIER.covers)
    for claim in claims_of(read_answer(answer) or (), sources_of(made)):
        assert claim.text.strip()
        assert claim.sources
        assert {cite.message for cite in claim.sources} <= names
        assert len({cite.message for cite in claim.sources}) <= MOST_SOURCES
