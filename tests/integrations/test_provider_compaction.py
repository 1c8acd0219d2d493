"""A provider's own compaction: carried as it is, instructed, checked, complemented; and its rules."""

import pytest

import clew
from clew.integrations.provider_compaction import add_missing, instructions, missing_from
from tests.session.test_continued import RULE, exchange, loop

BLOCK = {"type": "compaction", "content": "The billing code is being tidied.", "signature": "sig"}


def behind(block, turns=25):
    messages = [{"role": "assistant", "content": [block]}, {"role": "user", "content": "Go on."}]
    for n in range(turns):
        messages += exchange(n, 60)
    return messages


def test_a_block_stays_first_and_is_the_very_same_object():
    given = behind(BLOCK)
    done = clew.compact(given, 12_000)
    assert done.changed
    assert done.messages[0] is given[0]
    assert "kept as m" in str(done.messages) or "<clew-digest" in str(done.messages[1])
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": done.messages}
    assert not clew.check(body, "anthropic").refused


def test_an_item_of_openais_stays_behind_the_messages_it_came_with():
    items = [
        {"role": "user", "content": "Tidy up."},
        {"type": "compaction", "id": "c", "encrypted_content": "x" * 400},
    ]
    for n in range(25):
        items.append({"type": "function_call", "call_id": f"t{n}", "name": "read", "arguments": "{}"})
        items.append(
            {
                "type": "function_call_output",
                "call_id": f"t{n}",
                "output": exchange(n, 60)[1]["content"][0]["content"],
            }
        )
    done = clew.compact(items, 12_000, wire="responses")
    assert done.changed
    assert done.messages[:2] == items[:2]
    assert done.messages[1] is items[1]


def test_what_a_summary_lost_is_put_behind_it_and_the_block_is_not_touched():
    fitted = clew.compact(loop(5), 200_000)
    assert RULE in instructions(fitted)
    assert RULE in missing_from(BLOCK["content"], fitted)
    assert RULE not in missing_from("They said: never  modify files\nunder legacy/.", fitted)
    messages = behind(BLOCK, 1)
    whole = add_missing(messages, fitted)
    assert whole[0] is messages[0]
    assert RULE in whole[1]["content"]
    assert add_missing(loop(2), fitted) == loop(2)


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("rule", "messages", "fields"),
    [
        ("A15b", [{"role": "assistant", "content": [BLOCK, BLOCK]}, USER], {}),
        ("A15b", [USER, {"role": "assistant", "content": [BLOCK]}, USER], {}),
        ("A32", [{"role": "assistant", "content": [{**BLOCK, "signature": ""}]}, USER], {}),
        ("A22", [USER], {"compaction": {"type": "summarize"}, "context_management": {"edits": []}, "x": 1}),
        ("A34", [USER, {"role": "assistant", "content": "yes"}], {"compaction": {"type": "summarize"}}),
        (
            "A35",
            [USER],
            {"context_management": {"edits": [{"type": "compact_20260112", "trigger": {"value": 9}}]}},
        ),
    ],
)
def test_what_the_api_refuses_of_its_own_compaction(rule, messages, fields):
    if rule == "A22":
        fields = {**fields, "context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, **fields}
    assert rule in clew.check(body, "anthropic").rule_ids


def test_a_block_in_its_place_breaks_none_of_the_rules():
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": behind(BLOCK, 2)}
    assert not clew.check(body, "anthropic").refused
