"""What the ``force*.py`` files share: the answer they give, its reasons in words, and the patterns they read.

The patterns and cue sets are in ``data/force.toml``, each with an example:
``says("yet", "don't write code yet")`` is True.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from clew.rules.rule import Force
from clew.rules.words import table


class Judged(NamedTuple):
    """How far a sentence reaches, and why."""

    force: Force
    why: str


ASKED_FIRST = "it wants to be asked first"
BANNED = "it forbids an act of the agent"
COSTS = "it limits the costs"
EACH_ANSWER = "it is for every answer"
HOW_TO_WORK = "it says how to work"
INSTRUCTED = "it is part of the instructions for the agent"
LISTED = "it is listed as a rule"
NAMED_RULE = "it is called a rule"
LASTING_BAN = "it forbids an act on what outlasts this step"
NOT_NOW = "it forbids changes for now"
RESTRAINED = "it restrains the work"
RULED_OUT = "it rules something out"

INTRODUCES = Judged(Force.REQUEST, "it introduces something")
NOT_LASTING = Judged(Force.REQUEST, "nothing says that it lasts")
NOT_ALONE = Judged(Force.REQUEST, "it cannot be read alone")
PERMITS_SOMETHING = Judged(Force.DECISION, "it permits something")
OF_RESULT = Judged(Force.DECISION, "it says how the result should be")


def says(name: str, text: str) -> bool:
    """Return True if a sentence has words of the pattern with this name."""
    return pattern(name).search(text) is not None


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of ``force.toml``; there its lines are wrapped and begin with two spaces."""
    wrapped: str = table("force")["patterns"][name]
    return re.compile(re.sub(r"\n {2}", "", wrapped).removeprefix("  "), re.IGNORECASE)


@cache
def cue_set(name: str) -> frozenset[str]:
    """Return a set of cues of ``force.toml``."""
    return frozenset(table("force")["cues"][name].split())


def introduces(text: str) -> bool:
    """Return True if a sentence ends in a colon, perhaps in bold."""
    return text.rstrip("*_").endswith((":", "："))
