"""Inputs: paths, pipes and bytes; gzip and zstd by their content; damage is said, never raised."""

from __future__ import annotations

import gzip
import io

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, NotFound
from clew.transcripts.source import PipedSource, open_source

TEXT = b"".join(b'{"line": %d}\n' % i for i in range(5000))


def packed(data: bytes, how: str) -> bytes:
    return {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[how](data)


def all_of(source) -> bytes:
    return b"".join(source.chunks())


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_packed_data_is_recognised_by_its_first_bytes_not_by_its_name(how, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(packed(TEXT, how))
    assert all_of(open_source(path)) == TEXT


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_packed_pieces_one_after_another_are_read_as_one(how):
    source = open_source(packed(b"one\n", how) + packed(b"two\n", how))
    assert all_of(source) == b"one\ntwo\n"
    assert source.damage is None


def test_a_zstd_frame_without_data_may_open_the_file():
    assert all_of(open_source(b"\x50\x2a\x4d\x18\x04\0\0\0skip" + packed(TEXT, "zstd"))) == TEXT


def test_zeros_after_gzip_data_are_padding():
    source = open_source(gzip.compress(TEXT) + b"\0" * 600)
    assert all_of(source) == TEXT
    assert source.damage is None


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_packed_data_that_ends_early_gives_what_is_there_and_says_so(how):
    whole = packed(b"".join(b"%d " % (i * i) for i in range(50_000)), how)
    source = open_source(whole[: len(whole) // 2])
    assert b"".join(source.chunks()).startswith(b"0 1 4 9 ")
    assert source.damage == f"the file ends in the middle of its {how} data"


def test_damage_in_the_last_bits_of_gzip_data_is_reported(monkeypatch):
    # The invalid distance is found with the last byte, after output has been passed on.
    monkeypatch.setattr("clew.transcripts.source.GZIP_FEED_BYTES", 1)
    source = open_source(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03KL\x1cE")
    assert set(all_of(source)) == {ord("a")}
    assert source.damage is not None
    assert "the gzip data is damaged" in source.damage


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_damaged_packed_data_is_said(how):
    whole = bytearray(packed(bytes(range(256)) * 400, how))
    whole[len(whole) // 2 :] = b"\xff" * (len(whole) - len(whole) // 2)
    source = open_source(bytes(whole))
    all_of(source)
    assert source.damage is not None
    assert how in source.damage


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_a_decompression_bomb_comes_in_small_steps(how):
    bomb = packed(b"\0" * (200 << 20), how)
    assert len(bomb) < 300_000
    largest = max(len(chunk) for chunk in open_source(bomb).chunks())
    assert largest <= 64 << 20


def test_peeking_consumes_nothing_and_returns_what_there_is():
    source = open_source(gzip.compress(TEXT))
    assert source.peek(7) == TEXT[:7]
    assert source.peek(10**6) == TEXT
    assert source.peek(3) == TEXT[:3]
    assert all_of(source) == TEXT


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_piped_input_is_peeked_at_and_then_read_from_its_start(how):
    source = PipedSource("<stdin>", io.BytesIO(packed(TEXT, how)))
    assert source.peek(100) == TEXT[:100]
    assert all_of(source) == TEXT


def test_piped_input_that_was_not_kept_can_be_read_only_once():
    source = PipedSource("<stdin>", io.BytesIO(TEXT))
    all_of(source)
    with pytest.raises(InputError, match="<stdin> can be read only once"):
        all_of(source)


def test_piped_input_that_is_kept_can_be_read_again_and_again():
    source = PipedSource("<stdin>", io.BytesIO(packed(TEXT, "zstd")))
    source.peek(10)
    source.keep()
    assert [all_of(source.keep()) for _ in range(3)] == [TEXT] * 3
    assert source.peek(10) == TEXT[:10]


def test_a_plain_file_on_disk_is_given_as_it_is(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(TEXT)
    with open_source(path).on_disk() as given:
        assert given == path


def test_packed_data_on_disk_is_unpacked_into_a_copy_that_goes_away(tmp_path):
    path = tmp_path / "a.db.zst"
    path.write_bytes(packed(TEXT, "zstd"))
    with open_source(path).on_disk() as copy:
        assert copy.read_bytes() == TEXT
    assert not copy.exists()


def test_reading_in_one_piece_refuses_more_than_the_limit():
    assert open_source(TEXT).read(len(TEXT)) == TEXT
    with pytest.raises(InputError, match="too large to read in one piece"):
        open_source(TEXT).read(len(TEXT) - 1)


def test_a_missing_file_is_said_before_anything_is_read(tmp_path):
    with pytest.raises(NotFound, match="no file"):
        open_source(tmp_path / "nothing.jsonl")


def test_a_folder_is_a_source_without_bytes(tmp_path):
    source = open_source(tmp_path)
    assert source.is_directory
    assert source.peek(10) == b""


@given(pieces=st.lists(st.binary(max_size=300), max_size=6), how=st.sampled_from(["gzip", "zstd"]))
def test_any_bytes_packed_in_any_pieces_come_back(pieces, how):
    source = open_source(b"".join(packed(piece, how) for piece in pieces))
    assert all_of(source) == b"".join(pieces)
    assert source.damage is None
