"""Which texts need reading at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
