"""Long texts apart from their events."""

import json
import os
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import StoreDamaged
from clew.log import canonical, digest
from clew.log.store.sqlite import SEPARATE_FROM, attach, detach, is_apart, marks, pack, unpack
from tests.log.generated import bodies, json_values

LONG = "long " * SEPARATE_FROM
grown = st.dictionaries(
    st.sampled_from(["a", "b", LONG]),
    json_values
    | st.builds(lambda text, times: text * times, st.text(min_size=1), st.integers(1, 2 * SEPARATE_FROM)),
)


@given(bodies | grown)
def test_what_was_taken_apart_comes_together_byte_for_byte(body):
    text = canonical(body)
    short, blobs = detach(text)
    assert attach(short, blobs.__getitem__) == text
    assert len(short) <= SEPARATE_FROM
    assert all(digest(content) == name for name, content in blobs.items())


def test_long_strings_leave_and_the_rest_stays():
    short, blobs = detach(canonical({"id": 1, "text": LONG, "same": [LONG]}))
    mark = f"\x02{digest(json.dumps(LONG).encode())}\x03"
    assert short.decode() == f'{{"id":1,"text":{mark},"same":[{mark}]}}'
    assert list(blobs.values()) == [json.dumps(LONG).encode()]


def test_the_same_text_in_different_bodies_is_the_same_blob():
    assert detach(canonical({"id": 1, "text": LONG}))[1] == detach(canonical({"id": 2, "text": LONG}))[1]


def test_a_body_that_is_long_by_many_short_strings_lies_apart_whole():
    body = canonical({str(n): n for n in range(SEPARATE_FROM)})
    short, blobs = detach(body)
    assert re.fullmatch(b"\x02sha256:[0-9a-f]{64}\x03", short)
    assert list(blobs.values()) == [body]
    assert is_apart(short)
    assert marks(short) == list(blobs)
    part, blobs = detach(canonical({"id": 1, "text": LONG}))
    assert not is_apart(part)
    assert marks(part) == list(blobs)


def test_a_string_of_escapes_alone_costs_no_more_memory_than_it_is_long():
    body = canonical({"text": "\n" * 500_000})
    tracemalloc.start()
    detach(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(body)


def test_what_compresses_is_compressed_and_what_does_not_is_not():
    words, noise = b'"' + b"again " * 1_000 + b'"', b'"' + os.urandom(5_000) + b'"'
    for content, smaller in ((words, True), (noise, False)):
        checksum, stored = pack(content)
        assert (len(stored) < len(content)) is smaller
        assert unpack(digest(content), checksum, stored) == content


@pytest.mark.parametrize("place", range(0, 60, 3))
@pytest.mark.parametrize("bit", [1, 16, 128])
def test_no_flipped_bit_of_a_blob_goes_unnoticed(place, bit):
    content = b'"' + b"some words that come again and again, " * 100 + b'"'
    checksum, stored = pack(content)
    flipped = bytearray(stored)
    flipped[place % len(stored)] ^= bit
    with pytest.raises(StoreDamaged, match="checksum"):
        unpack(digest(content), checksum, bytes(flipped))


def test_a_whole_blob_of_another_name_is_noticed():
    with pytest.raises(StoreDamaged, match="its content is sha256:"):
        unpack(digest(b"this"), *pack(b"that"))
