"""Canonical bytes, hashes and the chain of events."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given

from clew.errors import InputError, NotJson
from clew.log import (
    canonical,
    chain,
    digest,
    digest_of_fields,
    encode,
    iso_time,
    new_event,
    new_id,
    parse_body,
    root,
)
from clew.log.protocol import Ctx, Event, Head
from tests.log.generated import bodies


@given(bodies)
def test_a_body_is_read_back_as_it_was_written(body):
    assert repr(parse_body(canonical(body))) == repr(body)


@given(bodies)
def test_writing_what_was_read_gives_the_same_bytes(body):
    assert canonical(parse_body(canonical(body))) == canonical(body)


def test_whole_text_is_plain_utf_8():
    assert canonical({"a": "é漢😀", "b": [1, 1.0]}) == '{"a":"é漢😀","b":[1,1.0]}'.encode()


def test_a_number_that_json_lacks_keeps_the_spelling_of_python():
    written = b'{"x":[NaN,Infinity,-Infinity]}'
    assert canonical(parse_body(written)) == written


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


EVENT = Event("01", "message", 1, "2026-01-01T00:00:00.000Z", {"text": "hello"})
HEAD = Head(7, "sha256:seven")


def hash_after(head, event):
    return chain(head, [encode(event)])[0].hash


def test_the_hash_of_an_event_never_changes():
    # Written down once: if this changes, every store and every export in the world is damaged.
    assert chain(root("main"), [encode(EVENT)])[0].head == Head(
        1, "sha256:50502df47223dfa4dc0ee7f719714bc2ee725be9ef6b37f130918599d2b4d02c"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "02"},
        {"kind": "note"},
        {"version": 2},
        {"time": "2026-01-01T00:00:00.001Z"},
        {"body": {"text": "Hello"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_is_in_the_hash(change):
    assert hash_after(HEAD, replace(EVENT, **change)) != hash_after(HEAD, EVENT)


@pytest.mark.parametrize("head", [Head(8, "sha256:seven"), Head(7, "sha256:eight")])
def test_the_place_and_the_predecessor_are_in_the_hash(head):
    assert hash_after(head, EVENT) != hash_after(HEAD, EVENT)


def test_sessions_of_different_names_start_from_different_roots():
    assert root("main") != root("side")
    assert root("main").seq == root("side").seq == 0


def test_a_batch_chains_like_single_events():
    first, second = EVENT, replace(EVENT, id="02")
    (one,) = chain(HEAD, [encode(first)])
    (two,) = chain(one.head, [encode(second)])
    assert chain(HEAD, [encode(first), encode(second)]) == [one, two]


def test_ids_sort_by_the_time_they_were_made():
    ids = [new_id(ms) for ms in (0, 1, 999, 1_000, 1_763_000_000_000, 1_763_000_000_001, 2**47)]
    assert ids == sorted(ids)
    assert {len(id_) for id_ in ids} == {26}
    assert all(re.fullmatch("[0-9a-hjkmnp-tv-z]+", id_) for id_ in ids)


def test_ids_of_one_moment_differ():
    assert len({new_id(5) for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize(
    ("unix_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_763_180_160_123, "2025-11-15T04:16:00.123Z"),
        (2_147_483_648_000, "2038-01-19T03:14:08.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_written_in_utc_with_milliseconds(unix_ms, text):
    assert iso_time(unix_ms) == text


def test_an_event_made_now_has_the_time_of_its_id():
    event = new_event("note", {}, unix_ms=1_763_180_160_123)
    assert event.time == "2025-11-15T04:16:00.123Z"
    assert event.id[:10] == new_id(1_763_180_160_123)[:10]


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"kind": ""},
        {"time": ""},
        {"version": 0},
        {"version": 2**31},
        {"id": "a\nb"},
        {"kind": "\ud800"},
    ],
)
def test_an_event_that_names_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        replace(EVENT, **wrong)


@pytest.mark.parametrize(
    ("workspace", "session"), [("", "main"), ("north", ""), ("north", "a\x00b"), ("\ud800", "main")]
)
def test_a_context_that_names_nothing_is_refused(workspace, session):
    with pytest.raises(InputError):
        Ctx(workspace=workspace, session=session)


def test_a_context_has_no_defaults():
    with pytest.raises(TypeError):
        Ctx(session="main")
