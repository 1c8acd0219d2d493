"""Which texts need reading at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.ledger import unfinished
from clew.ledger.kinds import VALUE_CHUNKS, WORD, classify, may_hold_values
from clew.rules.prefilter import Chunks, is_silent, may_matter

WORDS = st.sampled_from(
    [
        "never",
        "don't",
        "push",
        "src/a.py",
        "the",
        "Mot",
        "ne",
        "12 ms",
        "only",
        "you",
        "x=1",
        "ENOENT",
        "あなた",
        "—",
    ]
)
TEXTS = st.lists(WORDS).map(" ".join)


def test_a_mark_is_set_by_words_and_by_judges_and_by_nothing_else():
    chunks = Chunks()
    wet, loud = chunks.mark_words(["rain", "snow"]), chunks.mark_by(str.isupper)
    assert [chunks[one] for one in ("Rain,", "brain", "SNOW")] == [wet, 0, wet | loud]


def test_chunks_are_judged_once():
    asked: list[str] = []
    chunks = Chunks()
    chunks.mark_by(lambda chunk: bool(asked.append(chunk)))
    assert (chunks["a"], chunks["a"], asked) == (0, 0, ["a"])


@given(TEXTS)
def test_a_text_without_the_mark_of_values_holds_none(text):
    values = [word for word in WORD.findall(text) if classify(word) is not None]
    assert may_hold_values(text) >= bool(values)
    assert may_hold_values(text) == any(VALUE_CHUNKS[chunk] for chunk in text.split())


@given(TEXTS)
def test_a_text_of_chunks_that_cannot_matter_is_silent(text):
    assert any(map(may_matter, text.split())) or is_silent(text)


UNDONE = """
I haven't has not have’t didn't did not yet started begun done finished complete implemented ported in place
got to start manage to is isn't are not still outstanding remains missing working on it in progress this is
nothing has been was can't cannot be half-way halfway through partially only three so far 5 to go of the
remain needs left remaining tasks next, I'll I will do the rest others blocked couldn’t unable able HALF
seven twelve 3/4 files are added half of them out what's missing to-do todo undone unimplemented open
failing failed crash broken unresolved we ran had stop continues does work yet src/a.py
""".split()  # noqa: SIM905


@given(st.lists(st.sampled_from(UNDONE), max_size=12).map(" ".join))
def test_a_clause_without_signs_says_nothing_of_undone_work(clause):
    has_sign = any(sign in clause.lower() for sign in unfinished._SIGNS)
    listed = unfinished._LIST_OF_LEFT.search(f"{clause}:")
    assert has_sign or not (unfinished._NOT_DONE.search(clause) or unfinished._FAILS.search(clause) or listed)
    counted = unfinished._PART_OF.search(clause) or unfinished._HALF.search(clause)
    assert unfinished._counts(clause.lower()) or not counted


def test_a_count_of_what_is_done_is_read_in_each_of_its_forms():
    for clause in ("Ported 3 of 5 files", "Added 3/5 files", "Ported half of them", "I haven't started"):
        assert unfinished.divided(f"{clause}.").not_done == f"{clause}."
    assert not unfinished.divided("I ported all files in src/app.").not_done
