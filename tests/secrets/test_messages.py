"""Masking in messages of every wire format."""

from __future__ import annotations

import json
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest

from clew.message import (
    Json,
    JsonObject,
    Media,
    Message,
    Part,
    Role,
    Thinking,
    ToolCall,
    Unknown,
    text_message,
)
from clew.message.codec import message_from_json, message_to_json
from clew.providers import WIRES
from clew.secrets import MessageSecret, find_in_message, mask, mask_json, mask_message
from clew.secrets.find import key_file, mask_of
from tests.conftest import real_data
from tests.secrets.corpus import Sample, samples

KEY = b"k" * 32
PLANTED = [sample for sample in samples(3) if "\n" not in sample.text]
TOKEN = next(sample.text for sample in PLANTED if sample.rule == "github-token")
MASK = mask(TOKEN, KEY).text


def _anthropic(text: str) -> list[Json]:
    call: JsonObject = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "run",
        "input": {"command": text, "n": 1},
    }
    result: JsonObject = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": text}],
    }
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}, call]},
        {"role": "user", "content": [result]},
    ]


def _openai(text: str) -> list[Json]:
    arguments = json.dumps({"command": text})
    call: JsonObject = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": arguments}}
    return [
        {"role": "user", "content": [{"type": "text", "text": text}]},
        {"role": "assistant", "content": None, "reasoning_content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]


def _responses(text: str) -> list[Json]:
    arguments = json.dumps({"command": text})
    return [
        {"role": "user", "content": [{"type": "input_text", "text": text}]},
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": arguments},
        {"type": "function_call_output", "call_id": "c1", "output": text},
    ]


def _gemini(text: str) -> list[Json]:
    return [
        {"role": "user", "parts": [{"text": text}]},
        {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {"command": text}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"output": text}}}]},
    ]


HISTORIES = {"anthropic": _anthropic, "openai": _openai, "responses": _responses, "gemini": _gemini}


@pytest.mark.parametrize("wire", WIRES)
def test_no_secret_survives_in_any_place_of_a_history(wire: str) -> None:
    assert [sample for sample in PLANTED if _survives(sample, wire)] == []


def _survives(sample: Sample, wire: str) -> bool:
    messages = WIRES[wire].parse(HISTORIES[wire](f"run {sample.text} now"))
    masked = [mask_message(message, KEY) for message in messages]
    kept = json.dumps([message_to_json(message) for message in masked], ensure_ascii=False)
    sent = json.dumps(WIRES[wire].render(masked), ensure_ascii=False)
    written = json.dumps(sample.secret, ensure_ascii=False)[1:-1]
    twice = json.dumps(written)[1:-1]  # arguments are JSON inside JSON
    return any(form in text for text in (kept, sent) for form in (sample.secret, written, twice))


@pytest.mark.parametrize("wire", WIRES)
def test_what_goes_out_is_what_a_masked_history_would_have_been(wire: str) -> None:
    masked = [mask_message(message, KEY) for message in WIRES[wire].parse(HISTORIES[wire](f"use {TOKEN}"))]
    assert WIRES[wire].render(masked) == HISTORIES[wire](f"use {MASK}")


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_without_secrets_is_the_very_same(wire: str) -> None:
    for message in WIRES[wire].parse(HISTORIES[wire]("nothing to see")):
        assert mask_message(message, KEY) is message


@pytest.mark.parametrize("wire", WIRES)
def test_a_masked_message_comes_back_from_the_log_as_it_was(wire: str) -> None:
    for message in WIRES[wire].parse(HISTORIES[wire](f"use {TOKEN}")):
        masked = mask_message(message, KEY)
        back = message_from_json(message_to_json(masked))
        assert WIRES[wire].render([back]) == WIRES[wire].render([masked])


def test_arguments_that_were_json_are_json_without_the_secret() -> None:
    for sample in PLANTED:
        call = ToolCall("c1", "run", json.dumps({"command": f"run {sample.text}\n", "then": "x"}))
        (masked,) = mask_message(Message(Role.ASSISTANT, (call,)), KEY).calls
        assert masked.input is not None, sample
        assert sample.secret not in str(masked.input["command"])
        assert masked.input["then"] == "x", sample


def test_the_name_of_a_field_makes_a_secret_of_its_value() -> None:
    call = ToolCall(
        "c1", "login", {"user": "ada", "password": "tr0ub4dor&3", "api_key": sha256(b"x").hexdigest()}
    )
    (masked,) = mask_message(Message(Role.ASSISTANT, (call,)), KEY).calls
    assert masked.input is not None
    assert masked.input["user"] == "ada"
    assert str(masked.input["password"]).startswith("[secret:password-assignment:")
    assert str(masked.input["api_key"]).startswith("[secret:secret-assignment:")


def test_arguments_may_be_nested_deeper_than_calls_can_go() -> None:
    deep: Json = {"token": TOKEN}
    for _ in range(5_000):
        deep = {"a": [deep]}
    (masked,) = mask_message(Message(Role.ASSISTANT, (ToolCall("c1", "run", {"deep": deep}),)), KEY).calls
    found: Json = masked.arguments["deep"] if isinstance(masked.arguments, dict) else None
    while isinstance(found, dict) and isinstance(inner := found.get("a"), list):
        found = inner[0]
    assert found == {"token": MASK}


def test_signed_thinking_is_left_and_reported() -> None:
    block: JsonObject = {"type": "thinking", "thinking": f"it is {TOKEN}", "signature": "c2lnbmVk"}
    message = WIRES["anthropic"].parse_item(
        {"role": "assistant", "content": [block, {"type": "text", "text": TOKEN}]}
    )
    masked = mask_message(message, KEY)
    assert WIRES["anthropic"].render([masked]) == [
        {"role": "assistant", "content": [block, {"type": "text", "text": MASK}]}
    ]
    assert find_in_message(message, KEY) == [
        MessageSecret(0, "thinking", "github-token", MASK, sealed=True),
        MessageSecret(1, "text", "github-token", MASK),
    ]
    assert find_in_message(masked, KEY) == [MessageSecret(0, "thinking", "github-token", MASK, sealed=True)]


def test_thinking_that_nobody_signed_is_masked() -> None:
    masked = mask_message(Message(Role.ASSISTANT, (Thinking(f"so {TOKEN}"),)), KEY)
    assert masked == Message(Role.ASSISTANT, (Thinking(f"so {MASK}"),))


def test_images_are_not_looked_into() -> None:
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": f"{TOKEN}"}
    message = WIRES["anthropic"].parse_item(
        {"role": "user", "content": [{"type": "image", "source": source}]}
    )
    assert mask_message(message, KEY) is message


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mask.key"
    key = key_file(path)
    assert key_file(path) == key
    assert len(key) == 32
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["mask.key"]


def test_a_key_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "mask.key"
    path.write_bytes(b"half")
    assert len(key_file(path)) == 32


def test_threads_that_make_the_key_at_once_use_the_same_one(tmp_path: Path) -> None:
    for round_ in range(40):
        path = tmp_path / str(round_) / "mask.key"
        begin = Barrier(4)

        def make(path: Path = path, begin: Barrier = begin) -> bytes:
            begin.wait()
            return key_file(path)

        with ThreadPoolExecutor(4) as pool:
            keys = {one.result() for one in [pool.submit(make) for _ in range(4)]}
        assert keys == {path.read_bytes()}
        assert [file.name for file in path.parent.iterdir()] == ["mask.key"]


def test_recorded_requests_hold_nothing_that_looks_like_a_secret() -> None:
    """They were scrubbed before they were kept, so whatever is found here is a mistake of a rule's."""
    found = [
        (file.name, sighting.rule)
        for file in sorted(real_data("provider-exchanges").rglob("*.json"))[:400]
        for sighting in find_in_message(text_message(Role.USER, file.read_text("utf-8", "replace")), KEY)
    ]
    assert found == []


@pytest.mark.parametrize(
    "part",
    [
        ToolCall("c1", "run", {"signature": TOKEN}),
        ToolCall("c1", "run", {"encrypted_content": TOKEN, "signature": {"a": [TOKEN]}}),
        Media("image", url=f"https://x.test/a.png?token={TOKEN}"),
        Media("image", url="https://x.test/a.png", title=TOKEN),
        Media("document", media_type="text/plain", data=f"use {TOKEN}"),
        Unknown(TOKEN),
    ],
)
def test_no_name_and_no_kind_of_part_hides_a_secret(part: Part) -> None:
    message = Message(Role.ASSISTANT, (part,))
    assert TOKEN not in json.dumps(message_to_json(mask_message(message, KEY)))
    assert isinstance(part, Unknown) or [one.shown for one in find_in_message(message, KEY)] == [MASK]


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_a_sealing_name_inside_of_arguments_or_results_seals_nothing(wire: str) -> None:
    given: dict[str, list[Json]] = {
        "anthropic": [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t1", "name": "run", "input": {"signature": TOKEN}}
            ]},
        ],
        "gemini": [
            {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {"signature": TOKEN}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "run", "response": {"thoughtSignature": TOKEN}}}
            ]},
        ],
    }  # fmt: skip
    masked = [mask_message(one, KEY) for one in WIRES[wire].parse(given[wire])]
    assert json.dumps(WIRES[wire].render(masked)) == json.dumps(given[wire]).replace(TOKEN, MASK)


def test_what_a_provider_sealed_in_its_own_block_stays() -> None:
    part: JsonObject = {"functionCall": {"name": "run", "args": {}}, "thoughtSignature": TOKEN}
    message = WIRES["gemini"].parse_item({"role": "model", "parts": [part]})
    assert mask_message(message, KEY) is message


def test_the_bytes_of_an_image_are_not_looked_into_and_its_address_is() -> None:
    inline = f"data:image/png;base64,{TOKEN}"
    for url, there in ((inline, True), (f"https://x.test/?token={TOKEN}", False)):
        block: JsonObject = {"type": "image_url", "image_url": {"url": url}}
        message = WIRES["openai"].parse_item({"role": "user", "content": [block]})
        assert (TOKEN in json.dumps(message_to_json(mask_message(message, KEY)))) is there


def test_an_object_is_masked_however_deep_and_comes_back_itself_without_secrets() -> None:
    body: JsonObject = {"what": f"use {TOKEN}", "n": 1, "list": [{"signature": TOKEN, "ok": True}]}
    assert mask_json(body, KEY) == {"what": f"use {MASK}", "n": 1, "list": [{"signature": MASK, "ok": True}]}
    plain: JsonObject = {"what": "nothing", "list": [1, None]}
    assert mask_json(plain, KEY) is plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passphrase", "correct horse battery staple"),
        ("gpg_passphrase", "Purple Monkey Dishwasher"),
        ("mnemonic", "zoo yard year able about above absent absorb abuse access acid acoustic"),
        ("seedPhrase", "zoo yard year able about above absent absorb abuse access acid acoustic"),
    ],
)
def test_words_in_a_field_for_a_passphrase_are_masked(name, value):
    assert re.fullmatch(
        r"\[secret:(passphrase-assignment|seed-phrase):....\]", mask_json({name: value})[name]
    )
    assert mask_json({"title": value}) == {"title": value}


def test_a_secret_that_is_the_name_of_a_field_is_masked_and_found() -> None:
    call = ToolCall("c1", "put", {"owners": {TOKEN: "alice", "bob": TOKEN}})
    message = Message(Role.ASSISTANT, (call,))
    (masked,) = mask_message(message, KEY).calls
    assert masked.input == {"owners": {MASK: "alice", "bob": MASK}}
    assert [found.rule for found in find_in_message(message, KEY)] == ["github-token"]


def test_two_names_with_the_same_mask_stay_two_fields() -> None:
    tokens = (f"ghp_{sha256(str(number).encode()).hexdigest()[:36]}" for number in count())
    other = next(token for token in tokens if mask_of("github-token", token, KEY) == MASK)
    assert mask_json({TOKEN: 1, other: 2}, KEY) == {MASK: 1, f"{MASK} (2)": 2}


P = "Xk29#pLq7w"  # made up


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "DB_PASSWORD", "value": P}]},
        {"headers": [{"name": "X-Api-Key", "value": "8f3a9c2e7b1d4f60a5c8"}]},
        {"user": "ada", "pass": P},
        {"passwords": ["a", P]},
        {"element": "Password field", "ref": "e12", "text": P},
        {"selector": "#password", "value": P},
        {"command": ["mysql", "--password", P]},
        {"command": ["mysql", "-uroot", f"-p{P}"]},
        {"command": ["sshpass", "-p", P, "ssh", "h"]},
    ],
)
def test_what_stands_beside_a_value_makes_a_secret_of_it(value: JsonObject) -> None:
    masked = repr(mask_json(value, KEY))
    assert P not in masked
    assert "8f3a9c2e7b1d4f60a5c8" not in masked
    call = ToolCall("c1", "run", value)
    assert find_in_message(Message(Role.ASSISTANT, (call,)), KEY)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "DB_HOST", "value": "db-2.corp"},
        {"name": "PASSWORD_MIN_LENGTH", "value": "12"},
        {"suite": "login", "pass": "test_login_2"},
        {"command": ["git", "log", "-p", "src/app2.py"]},
        {"tokens": ["alpha1", "beta2"]},
        {"element": "Password field", "text": "required"},
    ],
)
def test_a_value_beside_something_else_stays(value: JsonObject) -> None:
    assert mask_json(value, KEY) is value
