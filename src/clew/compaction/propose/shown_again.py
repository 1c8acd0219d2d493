"""Texts of which a later result that stays whole shows most: several patches, and then a diff of all of them.

The last results mostly stay whole; whether they do is known only of the plan, which is made again otherwise.
The lines that they show again make room for others::

    *** Update File: src/models.ts
    [… 38 lines, as in m204]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from clew.compaction.plan import Plan, Shrink
from clew.compaction.propose.outdated_lines import with_notes
from clew.compaction.propose.protected_places import context_for
from clew.compaction.propose.prune_calls import bare_lines
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shown_arguments import dumped, with_strings
from clew.compaction.propose.shrink import ShrinkCollector
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import (
    WORTH_A_POINTER,
    WORTH_TOKENS,
    Stub,
)
from clew.ledger.tool_actions import ActionKind, action_of
from clew.message import Item, Place, ToolCall, ToolResult
from clew.message.parts import json_strings

FEWEST_LINES, FEWEST_CHARACTERS = 4, 160
"""Lines in a row, and their characters, from which a note instead of them says where they are; by hand."""
FEWEST_TOKENS = 60
"""Tokens of a message from which it is compared with later ones: about those of a note and such lines."""
MOST_PLACES = 4
"""Places of a line that are tried as the beginning of a run: it bounds the cost of a compaction."""
UNREAD_SHARE, READ_SHARE = 0.4, 0.15
"""Share of the room up to which all unanswered results, and a last answered one, are expected to stay whole;
chosen by hand."""


class _Shown:
    """The lines of results that stay whole."""

    def __init__(self) -> None:
        self.texts: list[tuple[list[str], Place, str]] = []
        self._places: dict[str, list[tuple[int, int]]] = {}

    def add(self, place: Place, name: str, text: str) -> None:
        """Add a text of a message."""
        lines = bare_lines(text)
        number = len(self.texts)
        self.texts.append((lines, place, name))
        for i, line in enumerate(lines):
            if line and len(places := self._places.setdefault(line, [])) < MOST_PLACES:
                places.append((number, i))

    def without_shown(self, text: str, found: set[Place]) -> str:
        """Return a text with notes instead of the lines that a result shows; adds to ``found`` which ones."""
        if text.count("\n") < FEWEST_LINES - 1:
            return text
        bare = bare_lines(text)
        if len(self._places.keys() & set(bare)) < FEWEST_LINES // 2:
            return text
        why = [""] * len(bare)
        end = 0
        for i in [i for i, line in enumerate(bare) if line in self._places]:
            if i < end:
                continue
            size, number = self._longest_run(bare, i)
            if size >= FEWEST_LINES and sum(map(len, bare[i : i + size])) >= FEWEST_CHARACTERS:
                _, place, name = self.texts[number]
                found.add(place)
                why[i : i + size] = [f"as in {name}"] * size
                end = i + size
        return with_notes(text.split("\n"), why)

    def _longest_run(self, bare: Sequence[str], start: int) -> tuple[int, int]:
        """Return how many lines from an index on a result has in a row, and the number of the result."""
        best = (0, 0)
        for number, at in self._places.get(bare[start], ()):
            lines = self.texts[number][0]
            most = min(len(bare) - start, len(lines) - at)
            size = next((n for n in range(most) if bare[start + n] != lines[at + n]), most)
            best = max(best, (size, number))
        return best


Shown: TypeAlias = tuple[str, int]
"""A part of the view by its message and number."""


def shown_once(scene: Scene, last: int, cut_short: Collection[Shown]) -> tuple[Scene, set[Shown]]:
    """Leave out of recent messages what results and plans at the index ``last`` or later show again.

    Also returns these, which are expected to stay whole, unlike those in ``cut_short``.
    """
    found: set[Shown] = set()
    whole = {
        place
        for place in _expected_whole(scene, max(last, scene.floor))
        if _shown(scene, place) not in cut_short
    }
    if not whole:
        return scene, found
    context = context_for(scene, protect=True)
    collector = ShrinkCollector(context)
    stop = min(scene.unread, scene.verbatim)
    for stub, places in shown_again(context, whole, scene.stop):
        if stub.place.message < stop and collector.add(stub.place, stub.text, stub.reason, WORTH_TOKENS):
            found.update(_shown(scene, place) for place in places)
    return (scene.with_more_pruned(collector.shrinks()) if found else scene), found


def _shown(scene: Scene, place: Place) -> Shown:
    return scene.view[place.message].id, place.part


def whole_in(plan: Plan, view: Sequence[Item], parts: Collection[Shown]) -> set[Shown]:
    """Return those of the parts of a view that a plan shows as they are."""
    changed = {name: op for op in plan.operations for name in op.ids} if parts else {}
    messages = {item.id: item.message for item in view} if parts else {}

    def is_whole(name: str, number: int) -> bool:
        op = changed.get(name)
        return op is None or (isinstance(op, Shrink) and messages[name].parts[number] in op.message.parts)

    return {part for part in parts if is_whole(*part)}


def _expected_whole(scene: Scene, start: int) -> set[Place]:
    """Return long results, and plans presented to a person, that the view will mostly have room for.

    Of equal results, that is the last one: the others may lead to it.
    """
    unread = sum(scene.sizes[scene.unread :]) <= scene.room * UNREAD_SHARE
    last = {
        "\n".join(_strings(part)): Place(i, j)
        for i in range(start, len(scene.view))
        if (unread if i >= scene.unread else scene.sizes[i] <= scene.room * READ_SHARE)
        for j, part in enumerate(scene.view[i].message.parts)
        if isinstance(part, ToolResult | ToolCall)
        if len(part.text if isinstance(part, ToolResult) else part.input_text) >= WORTH_A_POINTER
        if isinstance(part, ToolResult) or action_of(part).kind is ActionKind.PROPOSE
    }
    return {*last.values()}


def shown_again(
    context: ShrinkContext, whole: Collection[Place], start: int = 0
) -> Iterator[tuple[Stub, set[Place]]]:
    """Find texts, from an index on, of which later ones that stay whole show lines; and these, too."""
    shown = _Shown()
    for i in range(len(context.view) - 1, start - 1, -1):
        if context.sizes and context.sizes[i] < FEWEST_TOKENS:
            continue
        name, message = context.view[i]
        for j, part in enumerate(message.parts):
            if not isinstance(part, ToolResult | ToolCall):
                continue
            place = Place(i, j)
            if place in whole:
                shown.add(place, name, "\n".join(_strings(part)))
            elif shown.texts:
                found: set[Place] = set()
                given = part.text if isinstance(part, ToolResult) else part.input or part.arguments
                shorter = with_strings(given, partial(shown.without_shown, found=found))
                if found:
                    yield Stub(place, dumped(shorter), "shown again by a later message"), found


def _strings(part: ToolResult | ToolCall) -> Sequence[str]:
    if isinstance(part, ToolResult):
        return (part.text,)
    return json_strings(part.input or part.arguments)
