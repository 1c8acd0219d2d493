"""Load the data tables of this package: word lists, and the weights of the cues."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from clew.rules.values import Kind, Strength


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table by its path without extension; loaded once."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def words(section: str, key: str) -> frozenset[str]:
    """Return a set of words from ``words.toml``."""
    return frozenset(table("words")[section][key].split())


@dataclass(frozen=True, slots=True)
class Cue:
    """One row of the table."""

    weight: float
    meaning: str
    kind: Kind | None = None
    strength: Strength = Strength.MUST


@dataclass(frozen=True, slots=True)
class Model:
    """A linear model: the bias plus the weights of the cues that fire, each counted once."""

    bias: float
    threshold: float
    cues: dict[str, Cue]

    def score(self, fired: Iterable[str]) -> float:
        """Return the score of a sentence in which these cues fire."""
        return math.fsum([self.bias, *(self.cues[cue].weight for cue in set(fired))])  # order-independent

    def is_rule(self, fired: Iterable[str]) -> bool:
        """Return True if a sentence in which these cues fire binds."""
        return self.score(fired) > self.threshold


def confidence(score: float) -> float:
    """Return a score as a number between 0 and 1."""
    return 1 / (1 + math.exp(-score))


@cache
def model() -> Model:
    """Return the shipped model; loaded once."""
    rows = table("model")
    cues = {
        name: Cue(
            row["weight"],
            row["meaning"],
            Kind(row["kind"]) if "kind" in row else None,
            Strength(row.get("strength", Strength.MUST)),
        )
        for name, row in rows["cues"].items()
    }
    return Model(rows["bias"], rows["threshold"], cues)
