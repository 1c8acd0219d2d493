"""The handoff has fourteen headings, always, and parses back."""

from __future__ import annotations

from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.session.handoff_headings import HEADINGS, Handoff, parse_handoff, render_handoff
from tests.conftest import tries

lines = st.lists(
    st.text(min_size=1, max_size=40) | st.sampled_from(["## Pending tasks", "a\n\n- b"]), max_size=3
)


def test_the_headings_are_the_fourteen():
    assert list(HEADINGS.values()) == [
        "Current objective",
        "User constraints and preferences",
        "Authoritative instructions loaded",
        "Active plan",
        "Active workflow",
        "Active goal and done condition",
        "Approval state",
        "Resources inspected",
        "Key facts and decisions",
        "Actions already taken",
        "Errors, blockers, and attempted fixes",
        "Pending tasks",
        "Next recommended step",
        "Do not redo",
    ]


def test_an_empty_heading_is_written_and_says_so():
    assert render_handoff(Handoff()).count("(nothing)") == 14


@settings(max_examples=tries(60, 300))
@given(st.fixed_dictionaries({field.name: lines.map(tuple) for field in fields(Handoff)}))
def test_a_handoff_parses_back_whatever_it_says(said: dict[str, tuple[str, ...]]):
    handoff = Handoff(**said)
    assert parse_handoff(render_handoff(handoff)) == handoff


def test_other_text_is_not_a_handoff():
    assert parse_handoff("# Notes") is None
