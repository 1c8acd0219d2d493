"""What speaks for a candidate."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from clew.memory.features import to_candidates
from clew.memory.index.protocol import Analysed, IndexRow
from clew.memory.question import understand
from tests.memory.said import turn

WORDS = st.lists(st.sampled_from(["kiln", "kil", "ln", "k", "oven"]), max_size=12)


@given(WORDS, WORDS)
def test_a_term_is_seen_at_each_place_where_it_is_a_word_of_its_own(asked, said):
    question = understand(" ".join(asked), date(2026, 1, 1))
    row = IndexRow(1, 0, Analysed(turn(" ".join(said)), " ".join(said), len(said), 0, ()))
    (seen,) = to_candidates(question, [row])
    places = {term: [n for n, word in enumerate(said) if word == term] for term in question.terms}
    assert seen.said.at == {term: found for term, found in places.items() if found}


def test_what_was_read_for_the_question_before_is_not_read_again():
    question = understand("kiln", date(2026, 1, 1))
    row = IndexRow(1, 0, Analysed(turn("kiln"), "kiln", 1, 0, ()))
    (first,) = to_candidates(question, [row])
    (again,) = to_candidates(question, [row], {1: first.said})
    assert again.said is first.said
