"""The validators agree with real APIs: what was accepted passes, what was refused is refused by its rule."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.providers.anthropic.rules import RULES as ANTHROPIC
from clew.providers.gemini.rules import RULES as GEMINI
from clew.providers.openai_chat.rules import RULES as OPENAI
from clew.providers.openai_responses.rules import RULES as RESPONSES
from clew.providers.rules import CheckReport, check_body
from tests.providers.recorded import Exchange, exchanges

RULES = {"anthropic": ANTHROPIC, "openai": OPENAI, "responses": RESPONSES, "gemini": GEMINI}

REFUSED = {
    "anthropic-messages__rejects-malformed-assistant-tool-order-without-patch.json": "A3",
    "test_anthropic__test_anthropic_explicit_effort_xhigh_unsupported_model_errors.yaml": "A19",
    "test_deepseek_responses__test_deepseek_responses_rejects_interleaved_function_calls.yaml": "P5",
    "test_openai__test_openai_o1_mini_system_role[developer].yaml": "O5",
    "test_openai__test_openai_o1_mini_system_role[system].yaml": "O5",
    "test_openai_responses__test_openai_responses_model_http_error.yaml": "P6",
    "test_openai_responses__test_openai_responses_thinking_with_modified_history.yaml": "P1",
}

ABOUT_THE_ANSWER = {
    # The request is sound; Groq refuses what its model answered (tool_use_failed).
    "test_groq__test_tool_use_failed_error.yaml.zst",
    "test_groq__test_tool_use_failed_error_with_text.yaml.zst",
}


def checked(one: Exchange) -> CheckReport:
    return check_body(RULES[one.wire], one.body, scope=one.scope)


def test_every_recorded_refusal_is_accounted_for():
    assert {one.file for one in exchanges() if not one.accepted} == REFUSED.keys() | ABOUT_THE_ANSWER


def test_every_accepted_request_passes():
    refused = {
        one.file: checked(one).rule_ids for one in exchanges() if one.accepted and checked(one).refused
    }
    assert refused == {}


@pytest.mark.parametrize("file", REFUSED)
def test_a_refused_request_is_refused_by_its_rule_alone(file):
    [refused] = [one for one in exchanges() if one.file == file and not one.accepted]
    assert checked(refused).rule_ids == (REFUSED[file],)


def test_the_recordings_speak_all_four_formats():
    counts = Counter(one.wire for one in exchanges() if one.accepted)
    assert min(counts[wire] for wire in RULES) >= 30


def test_a_place_is_named_as_the_api_names_it():
    [refused] = [one for one in exchanges() if one.file.startswith("anthropic-messages__rejects")]
    [finding] = [violation.finding for violation in checked(refused).violations if violation.rule.id == "A3"]
    assert (finding.where, finding.api_where) == ("messages.0.content.1", "messages.1.content.1")
    assert "messages.1: `tool_use` ids were found" in refused.error


def test_a_reasoning_item_is_refused_only_while_it_has_an_id_and_its_follower_has_none():
    file = "test_openai_responses__test_openai_responses_thinking_with_modified_history.yaml"
    outcomes = [(one.accepted, checked(one).rule_ids) for one in exchanges() if one.file == file]
    assert outcomes == [(True, ()), (False, ("P1",)), (True, ())]
