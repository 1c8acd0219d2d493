"""The memory of what was counted: it gives back what was computed, and stays small."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from clew.tokens.counter import SHORT, TextCache, key_of

LONG = "x" * (SHORT + 1)


@given(st.lists(st.text(max_size=3)), st.integers(1, 8))
def test_it_answers_like_the_function_and_holds_no_more_than_its_size(texts: list[str], size: int):
    cache: TextCache[int] = TextCache(size)
    assert [cache.get(text, len) for text in texts] == [len(text) for text in texts]
    assert len(cache) <= max(2, size)


def test_what_is_asked_for_again_and_again_is_computed_once():
    asked: Counter[str] = Counter()
    cache: TextCache[int] = TextCache(8)

    def compute(text: str) -> int:
        asked[text] += 1
        return len(text)

    for i in range(100):
        cache.get("kept", compute)
        cache.get(str(i), compute)
    assert asked["kept"] == 1


def test_a_long_text_is_not_kept_alive():
    assert key_of(LONG) == (hash(LONG), len(LONG))
    assert key_of("short") == "short"
