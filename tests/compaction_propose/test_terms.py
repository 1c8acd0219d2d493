"""What the work is about: what the request names and the agent searches for counts more than mentions."""

from __future__ import annotations

import pytest

from clew.compaction.propose.terms import MENTIONED, REQUESTED, SEARCHED_FOR, terms_of
from clew.message import JsonObject, Role, text_message
from tests.compaction_propose.sessions import items, spoken, step


def test_a_request_names_identifiers_and_compounds_as_code_writes_them():
    terms = terms_of([], 0, "Harden the stale-timeout and deployEnabled=false paths", "")
    for name in ("deployEnabled", "stale-timeout", "stale_timeout", "staleTimeout"):
        assert terms[name] == REQUESTED
    assert "paths" not in terms


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": r"cancel_requested|\bretry_scheduled\b", "path": "src"}),
        ("bash", {"command": r"cd src && rg -n 'cancel_requested\|retry_scheduled' lib | head"}),
        (
            "shell",
            {"command": ["bash", "-lc", "grep -rn --include='*.ts' 'cancel_requested|retry_scheduled' ."]},
        ),
    ],
)
def test_what_the_agent_searches_for_counts(tool: str, arguments: JsonObject):
    view = items([text_message(Role.USER, "go"), *step("c", tool, arguments, "src/a.ts:1: x")])
    # Many messages later it still counts, unlike names that were only mentioned.
    view += items([spoken(f"Step {n} of somethingElse{n}.") for n in range(20)], first=4)
    terms = terms_of(view, 0, "", "")
    assert terms["cancel_requested"] == terms["retry_scheduled"] == SEARCHED_FOR
    assert terms["somethingElse19"] == MENTIONED
    assert "somethingElse1" not in terms


def test_searches_of_earlier_turns_do_not_count():
    view = items([*step("c", "grep", {"pattern": "cancel_requested"}, "none"), text_message(Role.USER, "go")])
    assert "cancel_requested" not in terms_of([*view, *items([spoken("ok")] * 10, 4)], 2, "", "")
