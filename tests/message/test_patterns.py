"""Patterns are compiled when they are first used, and every one of them can be."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew.ledger
import clew.rules
from clew.message.text import AnyCasePattern, _LazyPattern, lazy_pattern


def test_a_pattern_works_like_a_compiled_one():
    pattern = lazy_pattern(r"(a+)b", re.IGNORECASE)
    assert pattern.pattern == "(a+)b"
    assert pattern.fullmatch("AAb")[1] == "AA"
    assert pattern.sub("-", "aab ab") == "- -"
    assert pattern.flags & re.IGNORECASE


def test_an_error_shows_when_the_pattern_is_used():
    with pytest.raises(re.error):
        lazy_pattern("(").search("")


@pytest.mark.parametrize("package", [clew.ledger, clew.rules])
def test_every_pattern_compiles(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    patterns = [one for one in gc.get_objects() if type(one) is _LazyPattern]
    assert len(patterns) > 100
    for one in patterns:
        assert re.compile(one.pattern, one._flags)


def test_importing_the_ledger_compiles_none_of_its_patterns():
    code = """
import gc
import clew.ledger
from clew.message.text import _LazyPattern
patterns = [one for one in gc.get_objects() if type(one) is _LazyPattern]
print(len(patterns) > 100, [one.pattern for one in patterns if "search" in vars(one)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


@given(st.text(alphabet="aAbBkKsSſK \n", max_size=30))
def test_a_pattern_for_any_case_finds_the_same_places_as_a_compiled_one(text):
    pattern = r"^\w?a(?:b|sk)+\b|k.s"
    quick, slow = AnyCasePattern(pattern, re.MULTILINE), re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    assert [one.span() for one in quick.finditer(text)] == [one.span() for one in slow.finditer(text)]
    found, expected = quick.search(text, 1, 20), slow.search(text, 1, 20)
    assert (found and found.span()) == (expected and expected.span())


def test_every_pattern_for_any_case_is_written_in_lower_case():
    patterns = [one for one in gc.get_objects() if type(one) is AnyCasePattern]
    assert len(patterns) >= 8
    for one in patterns:
        parsed = str(re._parser.parse(one.pattern, one._lower._flags))
        letters = [chr(int(code)) for code in re.findall(r"LITERAL, (\d+)", parsed)]
        assert not [letter for letter in letters if letter != letter.lower()]
