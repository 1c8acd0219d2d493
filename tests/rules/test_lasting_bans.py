"""A ban on what outlasts the step is a rule, whatever its verb; a limit on the step is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.message import Role, text_message
from clew.rules import Kind, find

ROWS = [json.loads(line) for line in Path(__file__).with_name("bans.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("text", "lasts"), [(row["text"], row["lasts"]) for row in ROWS])
def test_a_ban_that_outlasts_the_step_is_a_rule(text: str, lasts: bool):
    assert bool(find(text_message(Role.USER, text))) is lasts


@pytest.mark.parametrize("text", ["never touch the prod db ok?", "You are not to contact the vendor."])
def test_it_is_a_prohibition(text: str):
    assert [rule.kind for rule in find(text_message(Role.USER, text))] == [Kind.PROHIBITION]


def test_in_a_long_prompt_it_may_be_about_the_product():
    prompt = "The importer reads the orders of a shop and writes them to a table. " * 8
    assert not find(text_message(Role.USER, f"{prompt}You must not email customers."))
