"""The person's request at the end of a tool's instructions is found by its heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.propose.request_text import request_excerpt
from clew.message import Role, text_message
from clew.rules.request_heading import request_span
from tests.ledger.sessions import ledger_of

TOOL = "# Context\n\nYou are an agent of this tool.\n\n" + "\n".join(
    f"- Rule {n} of the tool: format answers in Markdown, as page {n} says." for n in range(20)
)
REQUEST = "Start phase 01 and complete all of its tasks."


@pytest.mark.parametrize(
    "heading",
    [
        "# User Request",
        "## My request for Codex:",
        "USER REQUEST:",
        "**User request:**",
        "### The user's query",
        "Task:",
        "## Task",
    ],
)
def test_the_request_below_a_heading_is_what_the_person_said(heading: str):
    text = f"{TOOL}\n\n---\n\n{heading}\n\n{REQUEST}\n"
    start, end = request_span(text) or (0, 0)
    assert text[start:end] == REQUEST
    ledger = ledger_of(text_message(Role.USER, text))
    assert ledger.goal is not None
    assert (ledger.goal.quote, ledger.goal.source.start) == (REQUEST, start)
    assert [loop.text for loop in ledger.loops.open] == [REQUEST]


def test_a_request_in_a_tag_and_in_a_quoted_text_is_found():
    tagged = f"<data>{TOOL}</data>\n<user_query>\n{REQUEST}\n</user_query>\n"
    quoted = f'"{TOOL}\n\n# User Request\n\n{REQUEST}\n"'
    for text in (tagged, quoted):
        start, end = request_span(text) or (0, 0)
        assert text[start:end] == REQUEST


@pytest.mark.parametrize(
    "text",
    [
        f"# User Request\n\n{REQUEST}",
        f"{TOOL}\n\n# User Request\n\n{REQUEST}\n\n# Plan\n\n1. Read the file.",
        f"{TOOL}\n\n```\n# User Request\n{REQUEST}\n```\n",
        f"{TOOL}\n\n# User Request\n\n---\n",
        f"{TOOL}\n\n# User Requests and how to file them\n\n{REQUEST}",
        f"{TOOL.replace('You are an agent', 'Dora is a part')}\n\nTask:\n{REQUEST}",
        f"{TOOL}\n\nTask:\n{REQUEST * 60}",
    ],
    ids=["short", "section", "code", "empty", "title", "own-words", "long"],
)
def test_other_texts_are_not_divided(text: str):
    assert request_span(text) is None


def test_what_a_tool_wrote_around_a_request_is_cut_first():
    text = f"{TOOL}\n\n# User Request\n\n{REQUEST}\n"
    short = request_excerpt(text, 200) or ""
    assert REQUEST in short
    assert "Rule 1 " not in short


def test_orders_around_a_request_are_shown_before_what_only_describes():
    about = "\n".join(f"The tool has a page {n} with many buttons in several colours." for n in range(40))
    text = f"# Context\n\nYou are an agent.\n\n{about}\n\nNever push.\n\n# User Request\n\n{REQUEST}\n"
    shown = request_excerpt(text, 900) or ""
    assert "Never push." in shown
    assert REQUEST in shown
    assert "lines]" in shown
    assert "page 20 " not in shown


@given(st.text(alphabet='#ab \n`"<>_:', max_size=60), st.text(max_size=40))
def test_a_span_is_within_the_text_and_says_something(before: str, after: str):
    text = f"{before}{TOOL}\n{before}\n# User Request\n{after}"
    if span := request_span(text):
        assert len(TOOL) < span[0] < span[1] <= len(text)
        assert any(map(str.isalnum, text[slice(*span)]))
