"""Counting messages for a model: what counts, what is remembered, what is exact."""

from __future__ import annotations

import base64
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Media,
    Message,
    Native,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    text_message,
)
from clew.tokens import FAMILIES, Calibration, Tally, TokenCounter, counter_for
from clew.tokens.counter import UNKNOWN_MEDIA_TOKENS
from clew.tokens.images import UNKNOWN_IMAGE_TOKENS
from tests.strategies import wild_histories
from tests.tokens.test_images import png


class Letters:
    """A tokenizer with a token for each character, that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def letters() -> TokenCounter:
    return TokenCounter(FAMILIES["o200k"], Letters())


def test_a_turn_asks_the_tokenizer_only_for_what_is_new():
    twin = Letters()
    counter = TokenCounter(FAMILIES["o200k"], twin)
    history = [text_message(Role.USER, f"message {i} " * 20) for i in range(50)]
    counter.count_all(history)
    twin.asked.clear()
    counter.count_all([*history, text_message(Role.USER, "new")])
    assert twin.asked == ["new"]


def test_an_equal_text_in_another_object_is_remembered():
    twin = Letters()
    counter = TokenCounter(FAMILIES["o200k"], twin)
    words = ["step"] * 100
    assert counter.count_text(" ".join(words)) == counter.count_text(" ".join(words))
    assert len(twin.asked) == 1


@given(wild_histories)
def test_remembering_changes_no_number(history: list[Message]):
    counter = counter_for("claude-opus-5-5")
    first = [counter.count(message) for message in history]
    assert [counter.count(message) for message in history] == first
    assert [counter_for("claude-opus-5-5").count(message) for message in history] == first


@given(wild_histories)
def test_a_history_costs_what_its_messages_cost(history: list[Message]):
    counter = counter_for("gemini-3-pro")
    assert counter.count_all(history) == pytest.approx(sum(map(counter.count, history)), abs=len(history))


@given(wild_histories)
def test_a_message_costs_its_framing_and_its_parts(history: list[Message]):
    counter = letters()
    for message in history:
        assert counter.count(message) == pytest.approx(
            4 + sum(map(counter.count_part, message.parts)), abs=len(message.parts)
        )


@given(wild_histories, wild_histories)
def test_more_messages_never_cost_less(history: list[Message], more: list[Message]):
    counter = counter_for("claude-sonnet-4-6")
    assert counter.count_all([*history, *more]) >= counter.count_all(history) >= 0


PARTS: list[tuple[Part, int]] = [
    (Text("12345"), 5),
    (ToolCall("c", "grep", {"q": "x"}), 8 + 4 + len('{"q": "x"}')),
    (ToolCall("c", "grep", "{broken"), 8 + 4 + 7),
    (ToolResult("c", (Text("abc"), Text("de"))), 4 + 5),
    (Thinking("hmm", signature="s" * 100), 3),
    (Thinking("hmm", signature="s" * 1_250), 200),
    (Thinking("", signature="s" * 1_250, redacted=True), 200),
    (Compacted("summary", text="short"), 5),
    (Compacted("blob", encrypted="e" * 750), 100),
    (Media("image", "image/png", base64.b64encode(png()).decode()), 85 + 170 * 2),
    (Media("image", url="https://example.org/a.png"), UNKNOWN_IMAGE_TOKENS),
    (Media("image", "image/png", "AAAA"), UNKNOWN_IMAGE_TOKENS),
    (Media("document", "text/plain", "some words"), 10),
    (Media("document", "text/plain", base64.b64encode(b"some words").decode()), 10),
    (Media("document", "application/pdf", "A" * 4_000), 120),
    (Media("document", file_id="file-1"), UNKNOWN_MEDIA_TOKENS),
    (Media("audio", "audio/wav", "A" * 4_000), 6),
    (ApprovalRequest("a", "rm", {}), 4 + len('{"name": "rm", "arguments": {}}')),
    (ApprovalAnswer("a", True), 4 + len('{"approve": true, "reason": null}')),
    (Unknown("odd", native=Native("x", {"k": "é"})), 4 + len('{"k": "é"}')),
    (Unknown("odd"), 4 + 3),
]


@pytest.mark.parametrize(("part", "tokens"), PARTS, ids=lambda value: type(value).__name__)
def test_each_part_costs_what_it_says(part: Part, tokens: int):
    assert letters().count_part(part) == tokens


@pytest.mark.parametrize(
    ("model", "exact"), [("gpt-5.1", True), ("gpt-4", True), ("claude-opus-5-5", False), ("gpt-6-sol", False)]
)
def test_a_counter_says_whether_it_is_exact(model: str, exact: bool):
    assert counter_for(model).exact is exact


def test_an_exact_counter_counts_as_the_tokenizer_does():
    assert counter_for("gpt-5").count_text("hello world") == 2
    assert counter_for("gpt-5").count(text_message(Role.USER, "hello world")) == 6


def test_without_the_extra_a_model_is_estimated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    counter = counter_for("gpt-5")
    assert not counter.exact
    assert counter.count_text("hello world, how are you today?") == pytest.approx(8, abs=2)


def test_a_tokenizer_of_your_own_is_used():
    counter = counter_for("claude-opus-5-5", tokenizer=Letters())
    assert (counter.exact, counter.count_text("12345")) == (True, 5)


def test_models_of_a_family_learn_together_and_unknown_ones_alone():
    calibration = Calibration()
    report = Tally(words=1_000)
    for _ in range(3):  # a known model is corrected only if the reports agree
        counter_for("claude-opus-5-5", calibration=calibration).report_usage(report, 2_000)
    counter_for("some-model", calibration=calibration).report_usage(report, 1_300)
    assert sorted(calibration.learnt) == ["claude-4.7", "other/some-model"]
    taught = counter_for("claude-haiku-5-5", calibration=calibration)
    assert taught.tokens(report) > counter_for("claude-haiku-5-5").tokens(report)
    assert counter_for("another-model", calibration=calibration).tokens(report) == 1_000


@given(st.text(min_size=1))
def test_any_text_costs_something(text: str):
    assert min(counter_for(model).count_text(text) for model in ("gpt-5", "a-model-nobody-knows")) >= 1


def test_an_empty_history_costs_nothing():
    assert counter_for("gpt-5").count_all([]) == 0
