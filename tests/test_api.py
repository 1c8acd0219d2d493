"""The public API: its names, its reference page, its types, and what misuse raises."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.providers.model import Ask, Reply
from tests.session.test_continued import loop

ROOT = Path(__file__).parent.parent


def script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_page_is_up_to_date():
    """If this fails after an intended change: uv run python scripts/api_page.py, then read the diff."""
    assert script("api_page").PAGE.read_text(encoding="utf-8") == script("api_page").page()


def test_the_public_names_are_these():
    names = """
        ClewError CompactResult Compaction Compactor Digest Limit MemoryStore Message Model Plan
        Policy Report Role Rule Session SqliteStore Store Text Thinking TokenBudget ToolCall ToolResult
        Trust Usage __version__ check compact compact_async convert cut_points find_sessions load
        text_message wrap
    """
    assert clew.__all__ == names.split()


PACKAGES = ["budget", "log", "log.store", "memory.tools", "message", "providers", "secrets", "testing"]


@pytest.mark.parametrize("package", [*PACKAGES, "tokens", "transcripts"])
def test_every_name_that_a_package_exports_is_there(package):
    module = importlib.import_module(f"clew.{package}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.slow
def test_the_type_checker_accepts_correct_uses_and_finds_mistakes():
    cases = str(ROOT / "tests" / "typing" / "uses.py")
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", cases]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "Success: no issues found in 1 source file")


# Misuse ----------------------------------------------------------------------------------------------

MESSAGES = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"window": "200k"}, "window is '200k': pass a number of tokens"),
        ({"window": -1}, "window is -1: pass a number of tokens"),
        ({"window": 9_000, "target_tokens": True}, "target_tokens is True: pass a number of tokens"),
        ({"window": 9_000, "model": 5}, "model is 5: pass a string"),
        ({"window": 9_000, "policy": "early"}, "policy is 'early': pass a clew.Policy"),
        ({"window": 9_000, "previous": MESSAGES}, "pass the CompactResult that the last call returned"),
        ({"window": 9_000, "summariser": 5}, "summariser is an object of type int: pass a clew.Model"),
        ({"window": 9_000, "summariser": "gpt"}, "no model is named 'gpt'"),
        ({"window": 9_000, "summariser": str, "summarizer": str}, "pass one of them"),
        ({"window": 9_000, "wire": "soap"}, "use one of anthropic, openai, responses, gemini"),
    ],
)
def test_misuse_is_an_input_error_with_the_next_step(options, says):
    with pytest.raises(InputError) as error:
        clew.compact(MESSAGES, **options)
    assert says in str(error.value)


def test_neither_window_nor_model_is_a_warning():
    with pytest.warns(UserWarning, match="neither window nor model is given: clew assumes a window of"):
        clew.compact(MESSAGES)
    clew.compact(MESSAGES, model="claude-sonnet-4-5")
    clew.compact({"model": "claude-sonnet-4-5", "messages": MESSAGES})
    clew.compact(MESSAGES, target_tokens=100)


# Summarisers -----------------------------------------------------------------------------------------


class Recorder:
    """A function, and a model, that writes no usable summary and counts its calls."""

    name = "test/recorder"
    window_tokens = 50_000

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def function(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return "no"

    async def async_function(self, prompt: str) -> str:
        return self.function(prompt)

    def ask(self, ask: Ask) -> Reply:
        return Reply(clew.text_message(clew.Role.ASSISTANT, self.function(ask.instruction)))


@pytest.mark.parametrize("spelling", ["summariser", "summarizer"])
def test_a_summariser_may_be_a_function_or_a_model(spelling):
    recorder = Recorder()
    for given, author in ((recorder.function, "function/function"), (recorder, "test/recorder")):
        recorder.prompts.clear()
        result = clew.compact(loop(30), 6_000, **{spelling: given})
        assert recorder.prompts
        assert all("rate_" in prompt or len(prompt) > 200 for prompt in recorder.prompts)
        assert {one.author for one in result.attempts} == {author, "clew"}


def test_a_summariser_may_be_named():
    result = clew.compact(loop(30), 6_000, summariser="scripted")
    assert result.attempts[0].author.startswith("scripted")


def test_an_asynchronous_summariser_needs_the_asynchronous_call():
    recorder = Recorder()
    with pytest.raises(InputError, match="use compact_async"):
        clew.compact(loop(30), 6_000, summariser=recorder.async_function)
    for given in (recorder.async_function, recorder.function, recorder, "scripted"):
        result = asyncio.run(clew.compact_async(loop(30), 6_000, summariser=given))
        assert len(result.attempts) > 1 or result.attempts[0].author != "clew"


def test_a_function_that_returns_no_string_is_a_failed_attempt():
    result = clew.compact(loop(30), 6_000, summariser=lambda prompt: None)
    assert "returned NoneType, not a string" in result.attempts[0].misses[0]
    assert result.changed


def test_a_session_takes_the_same_summarisers():
    recorder = Recorder()
    with clew.Session.open("s", clew.MemoryStore(), window=6_000, summarizer=recorder.function) as session:
        session.add(*loop(30))
        assert session.compact(target_tokens=2_000).attempts[0].author == "function/function"
    with pytest.raises(InputError, match="pass one of them"):
        clew.Session.open("s", clew.MemoryStore(), summarizer=str, summariser=str)


# What is shown ---------------------------------------------------------------------------------------


def test_the_repr_of_a_result_says_what_happened():
    assert repr(clew.compact(MESSAGES, 9_000)).startswith("CompactResult(unchanged: ")
    shown = repr(clew.compact(loop(60), 6_000))
    assert shown.startswith("CompactResult(")
    assert " → " in shown
    assert shown.endswith("by clew)")
