"""Reads the tables of this room: words, weights and cues are data that people can read and change."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table of this room by its path without the ending; it is read once."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def words(section: str, key: str) -> frozenset[str]:
    """Return a set of words of ``words.toml``."""
    return frozenset(table("words")[section][key].split())
