"""A line of a document gives an order or does not, in each language that has a table."""

from __future__ import annotations

import pytest

from clew.rules.orders import gives_order


@pytest.mark.parametrize(
    "line",
    [
        "- NEVER push de code",
        "**Do NOT** invoke any implementation skill until the user has approved the design.",
        "  12: 3. Always use `--paginate` for comment fetching",
        "- We need to do this FIRST so we have the commit shas",
        "You must run the checks.",
        "- Niemals direkt auf main pushen",
        "Du darfst nicht pushen.",
        "Ne jamais pousser sur main",
        "Nunca hagas push a main",
        "不要修改测试",
    ],
)
def test_what_forbids_or_requires_is_an_order(line: str):
    assert gives_order(line, strict=True)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "## Overview",
        "const x = 1;",
        "  return not x",
        "The function returns the value.",
        "| a | b |",
    ],
)
def test_what_only_describes_is_none(line: str):
    assert not gives_order(line)


def test_how_something_is_to_be_done_is_no_strict_order():
    assert gives_order("Avoid long lines in messages.")
    assert not gives_order("Avoid long lines in messages.", strict=True)
