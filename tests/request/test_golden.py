"""Sections, clauses and a whole request are what the golden files say; ``make.py`` writes them anew."""

import pytest

from clew.request.pieces import NAMES, clause, clauses_for
from clew.request.sections import SECTIONS, PiecePosition
from tests.request.golden.make import FILES, HERE


@pytest.mark.parametrize("name", FILES)
def test_the_golden_file_is_fresh(name):
    assert FILES[name]() == (HERE / name).read_text(encoding="utf-8")


def test_every_one_of_the_twelve_tiers_has_a_section():
    assert sorted({section.tier for section in SECTIONS}) == list(range(1, 13))


@pytest.mark.parametrize("name", NAMES)
def test_a_clause_is_static_text(name):
    assert not any(sign.isdigit() for sign in clause(name).replace("[m12], [d3.4], [w2]", ""))


def test_a_session_without_memory_and_compactions_needs_no_clauses():
    assert clauses_for(compacted=False, memory=False) == []
    assert [piece.source for piece in clauses_for(compacted=False, memory=True)] == [
        "clause uncertainty",
        "clause citing",
        "clause memory",
        "clause data",
    ]
    assert {piece.place for piece in clauses_for(compacted=True, memory=True)} == {PiecePosition.SYSTEM}
