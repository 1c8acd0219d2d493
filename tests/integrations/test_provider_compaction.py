"""A provider's own compaction: carried as it is, instructed, checked, complemented; and its rules."""

import json

import pytest

import clew
from clew.errors import InputError, ModelBusy
from clew.integrations.provider_compaction import (
    ProviderCompaction,
    add_missing,
    instructions,
    missing_from,
    thinking_in,
    unsupported_in,
)
from clew.providers import WIRES
from clew.providers.api import error_for_response
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


THOUGHT = [
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]},
    {"role": "user", "content": "Go on."},
]


def test_a_summary_is_checked_against_the_messages_it_replaces():
    fitted = clew.compact(loop(5), 200_000)
    text = "The rates of src/never_seen.py were read; 4,711 tests passed."
    assert {"src/never_seen.py", "4,711"} <= set(unsupported_in(text, fitted))
    assert not unsupported_in(RULE, fitted)


def test_a_compaction_is_recorded_with_what_it_replaces_and_a_digest_of_our_own():
    fitted = clew.compact(loop(25), 200_000)
    record = ProviderCompaction.of(fitted, [BLOCK])
    assert record.covers == tuple(f"m{n}" for n in range(1, len(fitted.originals) + 1))
    assert RULE in record.missing
    assert record.digest.startswith("<clew-digest")
    assert RULE in record.digest
    assert ProviderCompaction.from_json(json.loads(json.dumps(record.to_json()))) == record
    later = exchange(99, 2)
    sent = record.messages(later)
    assert sent[0]["content"][0] is BLOCK
    assert RULE in sent[1]["content"]
    assert all(old is new for old, new in zip(later, sent[-len(later) :], strict=True))
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": sent}
    assert not clew.check(body, "anthropic").refused


def test_what_is_added_does_not_come_before_thinking_that_is_bound_to_its_prefix():
    fitted = clew.compact(loop(5), 200_000)
    assert thinking_in(THOUGHT) == 1
    sent = ProviderCompaction.of(fitted, [BLOCK]).messages(THOUGHT)
    assert sent[1:3] == THOUGHT
    assert RULE in sent[-1]["content"]
    assert RULE in add_missing([*behind(BLOCK, 0), *THOUGHT], fitted)[-1]["content"]


def test_an_opaque_item_has_our_digest_beside_it_and_can_be_replaced_by_it():
    items = [{"role": "user", "content": f"Tidy up the billing code. {RULE}"}]
    for n in range(25):
        items.append({"type": "function_call", "call_id": f"t{n}", "name": "read", "arguments": "{}"})
        text = exchange(n, 60)[1]["content"][0]["content"]
        items.append({"type": "function_call_output", "call_id": f"t{n}", "output": text})
    fitted = clew.compact(items, 400_000, wire="responses")
    item = {"type": "compaction", "id": "c", "encrypted_content": "x" * 400}
    record = ProviderCompaction.of(fitted, [items[0], item])
    assert RULE in record.missing  # it cannot be read, so everything is said again
    later = [{"role": "user", "content": "And now?"}]
    sent = record.messages(later)
    assert sent[1] is item
    assert RULE in sent[2]["content"]
    ours = record.without_block(later)
    assert "compaction" not in {one.get("type") for one in ours}
    assert RULE in ours[0]["content"]
    for messages in (sent, ours):
        assert not clew.check({"model": "gpt-5", "input": messages}, "responses").refused


def test_a_failed_compaction_is_not_taken_for_one():
    fitted = clew.compact(loop(5), 200_000)
    for output in ([{**BLOCK, "content": None}], [{"type": "text", "text": "no"}]):
        with pytest.raises(InputError, match="no compaction"):
            ProviderCompaction.of(fitted, output)


USER = {"role": "user", "content": "hi"}
REFERENCES = [{"type": "tool_reference", "tool_name": f"tool_{n}"} for n in range(101)]
FOUND = {"type": "tool_result", "tool_use_id": "t", "content": REFERENCES}


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
        ("A36", [{"role": "user", "content": [FOUND]}], {"compaction": {"type": "summarize"}}),
        ("A37", [{"role": "assistant", "content": [{**BLOCK, "content": None}]}, USER], {}),
    ],
)
def test_what_the_api_refuses_of_its_own_compaction(rule, messages, fields):
    if rule == "A22":
        fields = {**fields, "context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, **fields}
    assert rule in {one.rule.id for one in clew.check(body, "anthropic").violations}


def test_a_block_in_its_place_breaks_none_of_the_rules():
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": behind(BLOCK, 2)}
    assert not clew.check(body, "anthropic").refused


def test_every_error_code_of_anthropics_compaction_has_its_rule():
    classes = pytest.importorskip("anthropic._error_classes")
    pairs = [key for table in vars(classes).values() if isinstance(table, dict) for key in table]
    codes = {key[1] for key in pairs if isinstance(key, tuple) and str(key[1]).startswith("compaction_")}
    sources = " ".join(rule.source for rule in WIRES["anthropic"].rules)
    assert len(codes) >= 9
    assert not [code for code in codes if code not in sources]


def test_an_unavailable_compaction_is_to_be_asked_for_again():
    details = {"error_code": "compaction_unavailable"}
    body = {"error": {"type": "overloaded_error", "message": "try again", "details": details}}
    assert isinstance(error_for_response(529, {}, body), ModelBusy)
