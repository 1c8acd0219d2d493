"""Models by name, the keys they get, and what is imported for them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clew.errors import InputError, ModelRefused
from clew.message import Role, text_message
from clew.providers.clients import ModelName, open_async_model, open_model
from clew.providers.model import Ask
from clew.providers.remote import PATIENCE
from clew.testing import ScriptedServer
from tests.providers_clients.lines import Line, each_line

GO = Ask(instruction="go")


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("anthropic/claude-sonnet-4-5", ModelName("anthropic", "claude-sonnet-4-5")),
        ("openai/gpt-5", ModelName("openai", "gpt-5")),
        (
            "openai-chat/llama3@http://127.0.0.1:1/v1",
            ModelName("openai-chat", "llama3", "http://127.0.0.1:1/v1"),
        ),
        (
            "openai-chat/qwen/qwen3:8b@https://a.b/v1",
            ModelName("openai-chat", "qwen/qwen3:8b", "https://a.b/v1"),
        ),
        ("anthropic/claude-opus-4-1@20250805", ModelName("anthropic", "claude-opus-4-1@20250805")),
    ],
)
def test_a_name_is_an_api_a_model_and_perhaps_an_address(name: str, parsed: ModelName):
    assert ModelName.parse(name) == parsed


@pytest.mark.parametrize("name", ["", "gpt-5", "anthropic/", "mistral/large", "openai//x", "anthropic"])
def test_any_other_name_is_an_error_that_says_how_to_write_one(name: str):
    with pytest.raises(InputError, match="write anthropic/MODEL, openai/MODEL or openai-chat/MODEL"):
        open_model(name)


def test_a_model_shows_its_name_and_window_and_nothing_secret():
    model = open_model("anthropic/claude-haiku-4-5@http://me:pass@127.0.0.1:1", key="sk-secret-key")
    assert (model.name, model.window_tokens) == ("anthropic/claude-haiku-4-5", 200_000)
    assert "secret" not in repr(model)
    assert "pass" not in repr(model)


@pytest.mark.parametrize("opening", [open_model, open_async_model])
def test_the_window_of_a_model_nobody_knows_can_be_told(opening):
    model = opening("openai-chat/mine@http://127.0.0.1:1/v1", window_tokens=8_192)
    assert (model.name, model.window_tokens) == ("openai-chat/mine", 8_192)


@each_line
def test_a_providers_key_is_never_sent_to_another_address(line: Line, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-provider")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-provider")
    monkeypatch.setenv("CLEW_MODEL_KEY", "for-this-address")
    with ScriptedServer("ok") as server:
        model = open_model(line.name(server))
        model.ask(GO)
        model.close()
    headers = server.requests[0].headers
    assert "sk-of-the-provider" not in str(headers)
    assert "for-this-address" in (headers.get("x-api-key") or headers["authorization"])


@pytest.mark.parametrize("name", ["anthropic/claude-haiku-4-5", "openai/gpt-5", "openai-chat/gpt-4o"])
def test_without_any_key_a_model_refuses_and_says_which_one_it_wants(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelRefused, match="api_key"):
        open_model(name, patience=replace(PATIENCE, timeout_seconds=0.05)).ask(GO)


def test_the_scripted_model_quotes_what_it_is_shown():
    reply = open_model("scripted").ask(
        Ask(messages=(text_message(Role.USER, "Fix it."),), instruction="Summarise.")
    )
    assert reply.text == '{"claims": [{"kind": "goal", "text": "Fix it.", "sources": ["m1"]}]}'


# What is imported ------------------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_room_imports_no_sdk_and_opens_nothing():
    loaded = run(
        "import sys, clew.providers.clients; "
        "print(sorted({'anthropic', 'openai', 'httpx', 'httpx2', 'socket', 'asyncio'} & set(sys.modules)))"
    )
    assert loaded == "[]"


@pytest.mark.parametrize(("sdk", "name"), [("anthropic", "anthropic/x"), ("openai", "openai-chat/x")])
def test_a_missing_sdk_is_an_error_that_names_its_extra(sdk: str, name: str):
    told = run(
        f"import sys; sys.modules[{sdk!r}] = None\n"
        f"from clew.errors import MissingExtra\nfrom clew.providers.clients import open_model\n"
        f"try: open_model({name!r})\nexcept MissingExtra as error: print(error.detail)"
    )
    assert told.endswith(f"clew[{sdk}]")


def test_importing_the_package_loads_no_provider_and_one_format_no_other():
    room = "[m for m in sys.modules if m.startswith('clew.providers.')]"
    assert run(f"import sys, clew.providers; print({room})") == "[]"
    loaded = run(f"import sys; from clew.providers import WIRES; WIRES['anthropic']; print({room})")
    assert "clew.providers.anthropic" in loaded
    for other in ("openai_chat", "openai_responses", "gemini", "rules_turns", "conversion"):
        assert other not in loaded
