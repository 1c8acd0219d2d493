"""What speaks for a candidate."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.features import FeatureExtractor, to_candidates
from clew.memory.index import Analysed, IndexRow, IndexStats
from clew.memory.question import understand
from clew.memory.terms import analyse
from tests.memory.said import turn

WORDS = st.lists(st.sampled_from(["kiln", "kil", "ln", "k", "oven"]), max_size=12)


@given(WORDS, WORDS)
def test_a_term_is_seen_at_each_place_where_it_is_a_word_of_its_own(asked, said):
    question = understand(" ".join(asked), date(2026, 1, 1))
    row = IndexRow(1, 0, Analysed(turn(" ".join(said)), " ".join(said), len(said), 0, ()))
    (seen,) = to_candidates(question, [row])
    places = {term: [n for n, word in enumerate(said) if word == term] for term in question.terms}
    assert seen.own_terms.at == {term: found for term, found in places.items() if found}


def test_what_was_read_for_the_question_before_is_not_read_again():
    question = understand("kiln", date(2026, 1, 1))
    row = IndexRow(1, 0, Analysed(turn("kiln"), "kiln", 1, 0, ()))
    (first,) = to_candidates(question, [row])
    (again,) = to_candidates(question, [row], {1: first.own_terms})
    assert again.own_terms is first.own_terms


def named_speakers(asked, *turns):
    """Return how much each speaker counts as named in a question."""
    question = understand(asked, date(2026, 1, 1))
    rows = [IndexRow(n, n, analyse(turn(text, n, speaker=name))) for n, (name, text) in enumerate(turns)]
    seen = to_candidates(question, rows)
    extractor = FeatureExtractor(question, IndexStats(len(rows), 5.0, {}), seen)
    return {one.row.entry.speaker: extractor.lexical(one).speaker for one in seen}


TALK = (("Fahim Khan", "Good morning, Muhammad, is the kiln hot?"), ("Muhhamed", "The kiln is hot."))


@pytest.mark.parametrize(
    ("asked", "khan", "muhhamed"),
    [
        ("Is the kiln of Muhhamed hot?", 0, 1),
        ("Is the kiln of Muhammad hot?", 0, 1),
        ("Is the kiln of Mohammed hot?", 0, 1),
        ("Is the kiln of Fahim Khan hot?", 1, 0),  # one speaker, although two words
        ("Do Faheem and Mohammed heat the kiln?", 0.5, 0.5),
        ("Is the kiln of Martha hot?", 0, 0),
    ],
)
def test_a_question_names_a_speaker_also_in_another_spelling(asked, khan, muhhamed):
    assert named_speakers(asked, *TALK) == {"Fahim Khan": khan, "Muhhamed": muhhamed}


def test_a_clock_that_was_never_set_is_on_no_day_that_is_asked_about():
    question = understand("was the kiln hot yesterday?", date(2026, 1, 1))
    entry = turn("The kiln is hot.")._replace(time="0001-01-01T00:00:00.000Z")
    (seen,) = to_candidates(question, [IndexRow(1, 1, analyse(entry))])
    assert FeatureExtractor(question, IndexStats(1, 5.0, {}), [seen]).lexical(seen).date_said == 0


def test_a_similar_name_that_the_speaker_uses_is_somebody_else():
    assert named_speakers("Where is the kiln of Anne?", ("Anna", "My sister Anne has a kiln.")) == {"Anna": 0}
