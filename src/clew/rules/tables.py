"""Load the data tables of this package: words, weights and cues."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table by its path without extension; loaded once."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def words(section: str, key: str) -> frozenset[str]:
    """Return a set of words from ``words.toml``."""
    return frozenset(table("words")[section][key].split())
