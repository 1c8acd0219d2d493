"""Classify a document by topic, with rules over its front matter, path and title (``topics.toml``)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clew.request.knowledge.front import Front

REFERENCE = "reference"
"""The topic of a document that fits no other."""
_SAYS = ("type", "kind", "category")
"""Front matter fields that can name a topic."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A purpose that documents have, and the rules that recognize it."""

    name: str
    title: str
    says: frozenset[str]
    paths: re.Pattern[str]
    titles: re.Pattern[str]


@cache
def topics() -> tuple[Topic, ...]:
    """Return the topics; the first that matches a document wins."""
    written = tomllib.loads(files("clew.request.knowledge").joinpath("topics.toml").read_text("utf-8"))
    return tuple(
        Topic(
            one["name"],
            one["title"],
            frozenset(one["says"]),
            re.compile("|".join(map(_path_pattern, one["paths"]))),
            re.compile(one["titles"]),
        )
        for one in written["topic"]
    )


def topic_of(path: str, front: Front, title: str) -> str:
    """Return the name of a document's topic."""
    said = {front.get(key, "").lower() for key in _SAYS}
    for fits in (
        lambda topic: not said.isdisjoint(topic.says),
        lambda topic: topic.paths.fullmatch(path) is not None,
        lambda topic: topic.titles.search(title) is not None,
    ):
        found = next(filter(fits, topics()), None)
        if found:
            return found.name
    return REFERENCE


def title_of(name: str) -> str:
    """Return a topic's title for lists."""
    return next((topic.title for topic in topics() if topic.name == name), name)


def _path_pattern(glob: str) -> str:
    """Translate a glob to a regular expression: ``**/`` is any number of folders, ``*`` excludes slashes."""
    parts = re.split(r"(\*\*/|\*\*|\*)", glob)
    written = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(written.get(part) or re.escape(part) for part in parts)
