"""Patterns are compiled when they are first used, and every one of them can be."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import subprocess
import sys

import pytest

import clew.ledger
import clew.rules
from clew.message.patterns import _LazyPattern, lazy_pattern


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
from clew.message.patterns import _LazyPattern
patterns = [one for one in gc.get_objects() if type(one) is _LazyPattern]
print(len(patterns) > 100, [one.pattern for one in patterns if "search" in vars(one)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
