"""Bodies as bytes."""

import json

import pytest
from hypothesis import given

from clew.errors import InputError, NotJson
from clew.log import canonical, digest, digest_of_fields, parse_body
from tests.log.generated import bodies


@given(bodies)
def test_a_body_is_read_back_as_it_was_written(body):
    assert repr(parse_body(canonical(body))) == repr(body)


@given(bodies)
def test_writing_what_was_read_gives_the_same_bytes(body):
    assert canonical(parse_body(canonical(body))) == canonical(body)


def test_whole_text_is_plain_utf_8():
    assert canonical({"a": "é漢😀", "b": [1, 1.0]}) == '{"a":"é漢😀","b":[1,1.0]}'.encode()


def test_no_raw_control_character_is_ever_written():
    every = {"all": "".join(map(chr, range(0x20)))}
    assert all(byte >= 0x20 for byte in canonical(every))


@pytest.mark.parametrize("body", [{"a": b"bytes"}, {"a": {1, 2}}, {"a": object()}])
def test_what_is_not_json_is_refused(body):
    with pytest.raises(InputError, match="cannot be written as JSON"):
        canonical(body)


def test_a_body_nested_too_deep_is_refused_and_not_a_crash():
    body = {}
    for _ in range(100_000):
        body = {"in": body}
    with pytest.raises(InputError, match="cannot be written as JSON"):
        canonical(body)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'"text"', b'{"a":1}x', b"\xff"])
def test_bytes_that_are_no_object_are_refused(text):
    with pytest.raises(NotJson):
        parse_body(text)


def test_a_digest_names_its_algorithm():
    assert digest(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_lists_of_fields_that_join_to_the_same_text_have_different_hashes():
    assert (
        len(
            {
                digest_of_fields(*f)
                for f in (["ab", "c"], ["a", "bc"], ["abc"], ["a", "b", "c"], ["ab", "c", ""])
            }
        )
        == 5
    )


def test_the_hash_of_fields_can_be_derived_by_anybody():
    fields = ["clew", 1, "é"]
    assert digest_of_fields(*fields) == digest(json.dumps(fields, separators=(",", ":")).encode())
