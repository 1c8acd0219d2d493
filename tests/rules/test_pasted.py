"""Text that a person pastes makes no rule, whatever announces it; the person's own words beside it do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.message import Role, text_message
from clew.rules import find
from clew.rules.pasted import printed_spans

ROWS = [json.loads(line) for line in Path(__file__).with_name("pasted.jsonl").read_text("utf-8").splitlines()]


def pinned(text: str) -> list[str]:
    return [rule.quote for rule in find(text_message(Role.USER, text))]


@pytest.mark.parametrize("text", [row["text"] for row in ROWS if "rule" not in row])
def test_a_pasted_text_makes_no_rule(text: str):
    assert pinned(text) == []


@pytest.mark.parametrize(("text", "rule"), [(row["text"], row["rule"]) for row in ROWS if "rule" in row])
def test_the_own_words_beside_a_text_make_rules(text: str, rule: str):
    assert any(rule in quote for quote in pinned(text))


@pytest.mark.parametrize("end", ["", "\n"])
def test_three_lines_of_output_are_a_paste_with_and_without_a_last_line_break(end: str):
    text = f"[INFO] a\n[INFO] b\n[INFO] c{end}"
    assert printed_spans(text) == [(0, len(text.rstrip()))]
    assert printed_spans(f"[INFO] a\n[INFO] b{end}") == []


def test_words_below_a_signed_mail_are_the_users_own():
    mail = "got this mail:\n\nHi all,\n\nalways deploy on Fridays.\n\nBest,\nRob"
    assert pinned(f"{mail}\n\nNever push to main.") == ["Never push to main."]
