"""Plain dialogues in the shapes that data sets have."""

from __future__ import annotations

import pytest

from clew_evals.readers.dialogue import read, sniff
from tests.transcripts.telling import document, lines_source, tell

PAIRS = [{"user": "a", "sys": "b"}, {"user": "c", "sys": ""}]
SHARED = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}]
SAID = ["#0 user: a", "#1 assistant: b", "#2 user: c"]


@pytest.mark.parametrize(
    "turns", [PAIRS, SHARED, [{"user prompt": "a", "assistant answer": "b"}, {"prompt": "c"}]]
)
def test_turns_are_read_wherever_they_stand(turns):
    shapes = [
        (document(turns), ["session"]),
        (document({"conversation": turns}), ["session"]),
        (document([{"id": 7, "whole_conv": turns}, turns]), ["7", "session#1"]),
        (lines_source({"conv": turns, "id": "x"}, turns), ["x", "session#2"]),
    ]
    for source, names in shapes:
        assert sniff(source)
        assert tell(read(source)) == [line for name in names for line in (f"start {name}", *SAID)]


def test_what_is_no_dialogue_is_not_taken_for_one():
    for source in (document({"a": 1}), document([1, 2]), lines_source({"query": "x"}, {"query": "y"})):
        assert not sniff(source)


def test_lines_and_turns_that_say_nothing_are_told():
    assert tell(read(lines_source({"conv": [*PAIRS, {"note": 1}]}, {"query": "x"}))) == [
        "start session#1",
        *SAID,
        "problem at 1: turn 2 has no words",
        "problem at 2: no dialogue in it",
    ]
