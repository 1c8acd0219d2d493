"""Values are told from words, and found again only as whole values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew_evals.words import SpottedValue, first_place, key_of, keys_in, spot


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("see https://example.org/a?b=c, then", "url", "https://example.org/a?b=c"),
        ("id 123e4567-e89b-12d3-a456-426614174000 here", "uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("edit src/app/main.py:12 now", "path", "src/app/main.py"),
        ("open main.py please", "file", "main.py"),
        ("commit 3f2a9bc fixed", "hash", "3f2a9bc"),
        ("needs v1.2.3-rc1 at least", "version", "v1.2.3-rc1"),
        ("closes #42 today", "issue", "#42"),
        ("set MAX_RETRY_COUNT first", "env", "MAX_RETRY_COUNT"),
        ("call parse_header_line again", "identifier", "parse_header_line"),
        ("call parseHeaderLine again", "identifier", "parseHeaderLine"),
        ("booking HAT170 was lost", "code", "HAT170"),
        ("took $1,234.50 in all", "number", "$1,234.50"),
        ("took 48213 bytes", "number", "48213"),
    ],
)
def test_each_kind_of_value_is_spotted(text: str, kind: str, value: str):
    start = text.index(value)
    assert spot(text) == [SpottedValue(kind, value, start, start + len(value))]


@pytest.mark.parametrize(
    "text", ["read/write access", "and/or", "in 2024", "about 10000 of them", "Hello World", "12:3456"]
)
def test_what_only_looks_like_a_value_is_none(text: str):
    assert spot(text) == []


def test_a_path_is_known_by_its_last_two_names():
    assert key_of("path", "/home/me/repo/src/app.py") == "src/app.py"
    assert key_of("path", "~/app.py") == "~/app.py"


@pytest.mark.parametrize(
    ("text", "kind", "key", "found"),
    [
        ("x limit_one y", "identifier", "limit_one", 2),
        ("x limit_one2 y", "identifier", "limit_one", -1),
        ("my_limit_one", "identifier", "limit_one", -1),
        ("12345", "number", "2345", -1),
        ("/a/src/app.py", "path", "src/app.py", 3),
        ("mysrc/app.py src/app.py", "path", "src/app.py", 13),
    ],
)
def test_a_key_is_found_only_where_it_stands_alone(text: str, kind: str, key: str, found: int):
    assert first_place(text, kind, key) == found


@given(st.text(alphabet="abcXYZ019_./-#:$ \n", max_size=200))
def test_spotted_values_stand_where_they_say_and_do_not_overlap(text: str):
    end = 0
    for one in spot(text):
        assert text[one.start : one.end] == one.value
        assert one.start >= end
        end = one.end
    assert keys_in(text) == {key_of(one.kind, one.value) for one in spot(text)}
