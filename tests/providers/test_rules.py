"""What all rules have in common, whatever their format."""

from __future__ import annotations

import runpy
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.providers import WIRES
from clew.providers.rules import (
    ApiRule,
    CheckScope,
    RuleBook,
    RuleFinding,
    RuleLevel,
    Unverified,
    check_body,
    once_per_check,
)
from tests.conftest import ROOT, tries
from tests.strategies import ITEMS, json_objects, json_values, mangled

ALL = [rule for wire in WIRES.values() for rule in wire.rules]
rules = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
wires = pytest.mark.parametrize("name", WIRES)
PAGE = ROOT / "docs" / "reference" / "rules.md"


def rule(rule_id="X1", **fields):
    given = {"name": "n", "level": RuleLevel.REFUSE, "source": "s", "advice": "a", **fields}
    return ApiRule(rule_id, find=lambda body: [RuleFinding("here", "is wrong")], **given)


@rules
def test_a_rule_says_what_it_asks_where_it_is_known_from_and_what_to_do(rule):
    assert all(len(words) > 10 for words in (rule.name, rule.source))
    assert rule.advice
    assert not rule.advice.endswith(".")


@rules
def test_a_rule_has_an_entry_in_the_reference(rule):
    assert f"\n### {rule.id}: {rule.name}\n" in PAGE.read_text(encoding="utf-8")


def test_the_reference_page_is_fresh():
    script = runpy.run_path(str(ROOT / "scripts" / "rules_page.py"))
    assert PAGE.read_text(encoding="utf-8") == script["page"]()


def test_every_id_is_used_once():
    assert [rule_id for rule_id, count in Counter(rule.id for rule in ALL).items() if count > 1] == []


def test_the_rules_of_the_reference_are_all_here():
    wanted = {f"A{n}" for n in range(1, 20)} | {f"O{n}" for n in range(1, 7)} | {f"P{n}" for n in range(1, 7)}
    assert wanted | {"G1", "G2"} <= {rule.id for rule in ALL}


@wires
@given(data=st.data())
@settings(max_examples=tries(30, 150))
def test_a_check_never_raises_whatever_the_body(name, data):
    wire = WIRES[name]
    entries = st.lists(mangled(ITEMS[name]) | json_values, max_size=4)
    body = {**data.draw(json_objects), wire.list_key: data.draw(entries | json_values)}
    for key in ("system", "tools", "model", "thinking", "output_config", "context_management", "temperature"):
        if data.draw(st.booleans()):
            body[key] = data.draw(json_values)
    wire.check(body, Unverified.REFUSE)


@wires
@given(data=st.data())
def test_an_entry_that_is_not_an_object_is_found_by_the_shape_rule(name, data):
    wire = WIRES[name]
    body = {wire.list_key: [data.draw(st.integers() | st.text() | st.none())]}
    [violation] = wire.check(body, scope=CheckScope.MESSAGES).violations
    assert violation.rule is wire.rules[0]
    assert violation.finding == RuleFinding(f"{wire.list_key}.0", "must be an object")


@wires
def test_a_bare_list_is_not_asked_for_the_rest_of_a_request(name):
    said = (
        {"role": "user", "parts": [{"text": "hi"}]} if name == "gemini" else {"role": "user", "content": "hi"}
    )
    assert WIRES[name].check({WIRES[name].list_key: [said]}, scope=CheckScope.MESSAGES).violations == ()


@wires
def test_an_empty_list_may_be_filled_later(name):
    assert WIRES[name].check({WIRES[name].list_key: []}, scope=CheckScope.MESSAGES).violations == ()


def test_a_whole_request_is_asked_for_its_required_fields():
    report = WIRES["anthropic"].check({"messages": [{"role": "user", "content": "hi"}]})
    assert [violation.finding.where for violation in report.violations] == ["model", "max_tokens"]


def test_a_report_names_each_refusing_rule_once_and_no_warning():
    report = check_body([rule("X1"), rule("X1"), rule("X2", level=RuleLevel.WARN)], {})
    assert (report.refused, report.rule_ids, len(report.violations)) == (True, ("X1",), 3)


@pytest.mark.parametrize(
    ("unverified", "levels"),
    [(Unverified.OFF, []), (Unverified.WARN, [RuleLevel.WARN]), (Unverified.REFUSE, [RuleLevel.REFUSE])],
)
def test_unverified_rules_count_as_you_ask(unverified, levels):
    report = check_body([rule(verified=False)], {}, unverified)
    assert [violation.level for violation in report.violations] == levels


def test_a_violation_reads_as_one_line_to_act_on():
    [plain] = check_body([rule()], {}).violations
    assert str(plain) == "X1 here: is wrong (a)"


def test_a_violation_tells_the_api_s_own_name_for_the_place():
    told = ApiRule(
        "X1", "n", RuleLevel.REFUSE, "s", "a", lambda body: [RuleFinding("here", "is wrong", "there")]
    )
    assert str(check_body([told], {}).violations[0]) == "X1 here [the API says there]: is wrong (a)"


def test_rules_are_sorted_as_people_count():
    book = RuleBook([rule("A10"), rule("A2b")])
    book.add("A2: a name", "a source", "advice")(lambda body: ())
    assert [r.id for r in book] == ["A2", "A2b", "A10"]
    assert (book[0].name, book[0].source, book[0].advice) == ("a name", "a source", "advice")


def test_a_view_is_worked_out_once_in_a_check_and_anew_in_the_next():
    seen = []

    @once_per_check
    def view(body):
        seen.append(body["n"])
        return body["n"]

    looking = [
        ApiRule("X1", "n", RuleLevel.WARN, "s", "a", lambda body: [RuleFinding("n", str(view(body)))])
    ] * 3
    body = {"n": 1}
    check_body(looking, body)
    body["n"] = 2
    assert [v.finding.problem for v in check_body(looking, body).violations] == ["2", "2", "2"]
    assert seen == [1, 2]


class Held:
    """What an SDK hands out."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, exclude_unset):
        return self.fields


def test_objects_of_an_sdk_are_judged_as_they_would_be_sent():
    question = {"role": "user", "content": "look"}
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]}
    for block in (call, Held(**call)):
        messages = [question, {"role": "assistant", "content": [block]}, answer]
        assert WIRES["anthropic"].check({"messages": messages}, scope=CheckScope.MESSAGES).violations == ()
        cut = WIRES["anthropic"].check({"messages": messages[1:]}, scope=CheckScope.MESSAGES)
        assert cut == WIRES["anthropic"].check(
            {"messages": [{"role": "assistant", "content": [call]}, answer]}, scope=CheckScope.MESSAGES
        )


def test_a_message_object_of_an_sdk_is_judged_as_it_would_be_sent():
    listed = [{"role": "user", "content": "hi"}, Held(role="assistant", content="hello")]
    assert WIRES["openai"].check({"messages": listed}, scope=CheckScope.MESSAGES).violations == ()
