"""Values as JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from clew.message import Cite
from clew.rules.codec import copy_tracker, from_json, to_json
from clew.rules.rule import Rule


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    colour: Colour = Colour.RED
    place: Cite | None = None
    more: tuple[Cite, ...] = ()


@dataclass(slots=True)
class Tree:
    leaves: dict[str, Leaf] = field(default_factory=dict)
    log: list[Leaf] = field(default_factory=list)
    count: int = 0
    size: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.size = len(self.leaves)


@dataclass(slots=True)
class Wood:
    tree: Tree = field(default_factory=Tree)


WOOD = Wood(Tree({"a": Leaf("a", place=Cite("m", 1, 2, 3))}, [Leaf("b", more=(Cite("n"),))], 4))


def test_defaults_and_what_is_worked_out_are_not_written():
    assert to_json(WOOD) == {
        "tree": {
            "leaves": [["a", {"name": "a", "place": ["m", 1, 2, 3]}]],
            "log": [{"name": "b", "more": [["n", 0, 0, None]]}],
            "count": 4,
        }
    }


def test_what_was_written_comes_back():
    assert from_json(Wood, to_json(WOOD)) == WOOD


def test_a_copy_is_independent_down_to_the_innermost_keeper():
    copy = copy_tracker(WOOD)
    copy.tree.leaves["z"] = Leaf("z")
    copy.tree.log.append(Leaf("z"))
    assert copy != WOOD
    assert copy_tracker(WOOD) == WOOD


def test_a_renamed_field_is_written_and_read_by_its_stored_name():
    rule = Rule("never push", None, end_is_certain=False)
    written = to_json(rule)
    assert written == {"quote": "never push", "source": None, "certain": False}
    assert from_json(Rule, written) == rule
