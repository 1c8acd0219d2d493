"""The table of models: how a name is found, and how the table is changed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.tokens import FAMILIES, UNKNOWN, model_named, models

WRITTEN = {
    "claude-opus-4-5": "claude-opus-4-5",
    "Claude-Opus-4-5": "claude-opus-4-5",
    "claude-opus-4-5-20251101": "claude-opus-4-5",
    "anthropic/claude-opus-4.5": "claude-opus-4-5",
    "openrouter/anthropic/claude-opus-4.5:beta": "claude-opus-4-5",
    "us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
    "anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
    "bedrock/eu.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
    "claude-opus-4-5@20251101": "claude-opus-4-5",
    "claude-opus-4-6[1m]": "claude-opus-4-6",
    "claude-3-5-sonnet-20241022": "claude-3-5-sonnet",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet",
    "claude-sonnet-4-20250514": "claude-sonnet-4",
    "gpt-5-2025-08-07": "gpt-5",
    "openai/gpt-5.1": "gpt-5.1",
    "gpt-4o-2024-08-06": "gpt-4o",
    "gpt-4-0613": "gpt-4",
    "gpt-4-1106-preview": "gpt-4-1106-preview",
    "models/gemini-2.5-flash": "gemini-2.5-flash",
    "google/gemini-3-pro-preview": "gemini-3-pro",
    "kimi-k2-0905-preview": "kimi-k2",
}
GUESSED = {
    "claude-opus-9": ("claude-4.7", 200_000),
    "claude-opus-4-6-fast": ("claude", 1_000_000),
    "gpt-9-nova": ("other", 400_000),
    "gpt-5.1-codex-max": ("o200k", 400_000),
    "gemini-9-ultra": ("gemini", 1_048_576),
    "vertex_ai/claude-next": ("claude-4.7", 200_000),
}


@pytest.mark.parametrize(("written", "id_"), WRITTEN.items())
def test_a_model_is_found_however_it_is_written(written: str, id_: str):
    found = model_named(written)
    assert (found.id, found.known) == (id_, True)


@pytest.mark.parametrize(("name", "guess"), GUESSED.items())
def test_an_unlisted_model_is_guessed_from_its_nearest_relative(name: str, guess: tuple[str, int]):
    found = model_named(name)
    assert (found.id, found.tokenizer, found.window_tokens, found.known) == (name, *guess, False)


@pytest.mark.parametrize("name", ["", "llama3.1:8b", "gptx", "claudette"])
def test_a_model_nobody_knows_gets_the_default(name: str):
    assert model_named(name) == replace(UNKNOWN, id=name)


@given(st.text())
def test_any_name_is_answered(name: str):
    assert model_named(name).window_tokens > 0


def test_every_model_is_whole():
    for name, model in models().items():
        assert (model.id, model.known) == (name, True)
        assert model.tokenizer in FAMILIES
        assert 0 < model.max_output_tokens <= model.window_tokens
        assert model.max_input_tokens is None or model.max_input_tokens < model.window_tokens
        assert 0 < model.cache_read <= 1 <= model.cache_write
        assert model.input_price is None or 0 < model.input_price < (model.output_price or 0)


def test_a_listed_model_has_a_price_unless_it_is_there_for_guessing():
    assert {name for name, model in models().items() if model.input_price is None} == {
        "claude",
        "gpt",
        "gemini",
    }


def test_the_room_for_input_is_the_window_less_the_reply_or_the_providers_limit():
    gpt, claude = model_named("gpt-5"), model_named("claude-opus-4-5")
    assert (gpt.input_room(8_000), gpt.input_room(200_000)) == (272_000, 200_000)
    assert (claude.input_room(8_000), claude.input_room(300_000)) == (192_000, 0)


def test_a_file_of_yours_adds_and_overrides(tmp_path: Path):
    mine = tmp_path / "models.toml"
    mine.write_text("""
        [models.claude-opus-5-5]
        window_tokens = 500_000
        [models."my/own"]
        like = "gpt-oss-20b"
        max_output_tokens = 9
        """)
    assert model_named("claude-opus-5-5", mine) == replace(
        model_named("claude-opus-5-5"), window_tokens=500_000
    )
    assert model_named("my/own", mine) == replace(
        model_named("gpt-oss-20b"), id="my/own", max_output_tokens=9
    )


def test_the_environment_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mine = tmp_path / "models.toml"
    mine.write_text('[models.tiny]\nwindow_tokens = 2048\nmax_output_tokens = 512\ntokenizer = "other"\n')
    monkeypatch.setenv("CLEW_MODELS", str(mine))
    assert model_named("tiny").window_tokens == 2048


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not toml", "is not a table of models"),
        ("[other]\n", "is not a table of models"),
        ("models = 3\n", "is not a table of models"),
        ("[models.x]\nwindow_tokens = 10\n", "is not a table of models"),
        ("[models.gpt-5]\nwindows = 10\n", "windows"),
        ('[models.gpt-5]\ntokenizer = "klingon"\n', "klingon"),
        ("[models.gpt-5]\nwindow_tokens = 0\n", "no window"),
        ('[models.x]\nlike = "nobody"\n', "like nobody"),
        ('[models.gpt-5]\nwindow_tokens = "big"\n', "is not a table of models"),
    ],
)
def test_a_broken_file_is_refused_and_says_why(tmp_path: Path, content: str, said: str):
    mine = tmp_path / "models.toml"
    mine.write_text(content)
    with pytest.raises(InputError, match=said):
        models(mine)


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="cannot read"):
        models(tmp_path / "nowhere.toml")


def test_a_name_longer_than_any_models_is_not_looked_at():
    name = "claude" + "-latest" * 200_000
    started = time.process_time()
    assert model_named(name) == replace(UNKNOWN, id=name)
    assert time.process_time() - started < 1
