"""Shorten the recent messages of a view until they fit a number of tokens.

``TailFitter.fit(stop, room)`` takes the messages from the index ``stop`` on and returns ``Shrink`` operations
and the tokens that the messages then have. It first divides the room among the messages (``allotment.py``:
new ones stay whole, old ones fade); if excerpts come out larger or smaller than estimated, it tries again.
If even that is too large, it cuts the largest parts down to one common size. ``cut_search.py`` asks it for
several places to cut, so what was computed once is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from clew.compaction.plan import Rung, Shrink
from clew.compaction.propose.allotment import Allotment, Need, allotments, part_levels
from clew.compaction.propose.protected_places import context_for
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shrink import ShrinkCollector, excerpted, has_smaller, shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.tail import (
    MOST_VERBATIM,
    RESULT_TOKENS,
    WHOLE_UNREAD_SHARE,
    agent_tokens,
    water_level,
)
from clew.compaction.propose.thinking import has_thinking, remove_thinking
from clew.message import Cite, Origin, Part, Place, Text, ToolResult, words

LOWER_LEVELS = 5
"""How often the level is lowered by a quarter before everything is shown in its smallest form."""
FEWER_TRIES, LEAST_STEP = 5, 0.95
"""How often recent messages are given less because excerpts exceed their estimates, and by what factor at
least; both chosen by hand."""
WELL_FILLED, MORE_TRIES = 0.95, 3
"""Share of the room from which it counts as used, and how often more is tried; chosen by hand."""
LEAST_CUT = 75
"""Tokens, about 300 characters, that cutting a text of a person or the agent has to save: the note on what is
left out takes room, too, and half an instruction misleads."""
WANTED_SHARE = 0.7
"""Share of an excerpt for the passages that the work names; the rest says where they are. Chosen by hand."""
Span: TypeAlias = tuple[int, int]
"""Indices into a view: first, and one past the last."""
Smaller: TypeAlias = tuple[list[Shrink], int]
"""Shrinks of recent messages, and the tokens of these messages with them."""


class TailFitter:
    """Tries out smaller forms of a scene's recent messages, remembering the smallest."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._of_agent = agent_tokens(scene.tail_room)
        self._contexts: dict[bool, ShrinkContext] = {}
        self._least: dict[tuple[Span, bool], Smaller] = {}
        self._made: dict[tuple[int, tuple[int, ...], bool], list[Shrink]] = {}
        """Smaller forms by index, tokens given to the parts, and whether places in them are protected."""
        self._needs: dict[int, dict[Place, Need]] = {}
        """Parts that the next steps need, by the index from which messages are kept."""
        self._too_small: dict[tuple[int, bool], int] = {}
        """Rooms in which the messages from an index on do not fit even faded."""

    def fit(self, stop: int, room: int, *, protect: bool) -> Smaller:
        """Fade messages until they fit; return shrinks and tokens, or the smallest forms if none fit."""
        scene = self.scene
        if scene.tokens(stop) <= room:
            return [], scene.tokens(stop)
        wanted, before = room, scene.tokens(stop)
        for _ in range(FEWER_TRIES if room > self._too_small.get((stop, protect), 0) else 0):
            given = self._given(stop, wanted)
            found = self._faded(stop, given, protect) if given is not None else ([], before)
            if found[1] <= room:
                return self._filled(stop, room, protect, found)
            if found[1] == before:  # no smaller form is left
                break
            wanted, before = int(wanted * min(LEAST_STEP, room / found[1])), found[1]
        self._too_small[stop, protect] = max(room, self._too_small.get((stop, protect), 0))
        for first, share in ((scene.verbatim, MOST_VERBATIM), (scene.unread, WHOLE_UNREAD_SHARE)):
            if stop < first < len(scene.view) and scene.tokens(first) <= room * share:
                found = self._levelled((stop, first), room, protect)
                if found[1] <= room:
                    return found
        return self._levelled((stop, len(scene.view)), room, protect)

    def _filled(self, stop: int, room: int, protect: bool, found: Smaller) -> Smaller:
        """Use the room that excerpts smaller than their estimates left."""
        asked, wanted = room, room * room // max(1, found[1])
        for _ in range(MORE_TRIES):
            if found[1] >= room * WELL_FILLED or not found[0]:
                break
            given = self._given(stop, wanted)
            more = self._faded(stop, given, protect) if given is not None else found
            if more[1] > room:
                wanted = (asked + wanted) // 2
            elif more[1] > found[1]:
                found, asked = more, wanted
                wanted = wanted * room // max(1, found[1])
            else:
                break
        return found

    def _given(self, stop: int, room: int) -> Allotment | None:
        """Divide a room among the messages from an index on."""
        scene = self.scene
        unread, verbatim = max(0, scene.unread - stop), max(0, scene.verbatim - stop)
        return allotments(scene.whole[stop:], scene.faded[stop:], room, unread, verbatim, self._needed(stop))

    def _needed(self, stop: int) -> dict[Place, Need]:
        """Return what the parts that the next steps need lose when they fade, counted from an index on."""
        if stop not in self._needs:
            scene, count = self.scene, self.scene.task.counter.count_part
            found = self._needs[stop] = {}
            for (index, number), weight in scene.needs.items():
                if index >= stop:
                    part = scene.view[index].message.parts[number]
                    lost = count(part) - self._least_of(part)
                    if lost > 0:
                        found[Place(index - stop, number)] = Need(lost, weight)
        return self._needs[stop]

    def _least_of(self, part: Part) -> int:
        """Return about how many tokens of a part stay in any case."""
        return RESULT_TOKENS if isinstance(part, ToolResult) else self._of_agent

    def _faded(self, stop: int, given: Allotment, protect: bool) -> Smaller:
        """Shrink each recent message to the tokens it is given."""
        scene, context = self.scene, self._context(protect)
        shrinks: list[Shrink] = []
        more: dict[int, dict[int, int]] = {}
        for place, tokens in given.parts.items():
            part = scene.view[place.message + stop].message.parts[place.part]
            more.setdefault(place.message + stop, {})[place.part] = tokens + self._least_of(part)
        for i, tokens in enumerate(given.messages, start=stop):
            if tokens < scene.whole[i]:
                levels = part_levels(scene.view[i].message, tokens, context.counter.count_part, more.get(i))
                key = i, tuple(levels), protect
                if key not in self._made:
                    self._made[key] = _shortened(self._with_wanted(context, i, levels), i, levels)
                shrinks += self._made[key]
        shrinks = self._without_past_thinking(stop, shrinks)
        return shrinks, scene.tokens_with(shrinks, stop)

    def _with_wanted(self, context: ShrinkContext, index: int, levels: Sequence[int]) -> ShrinkContext:
        """Protect the passages of a message's results that the work names, as far as they fit."""
        name = context.view[index].id
        cites = list(context.protected.get(name, ()))
        known = len(cites)
        for number, level in enumerate(levels):
            place = Place(index, number)
            part = context.shown_part(place)
            if not isinstance(part, ToolResult) or context.is_pruned(place):
                continue
            text = words(context.original_part(place))
            room = int(level * len(text) / max(1, context.counter.count_part(part)) * WANTED_SHARE)
            for start, last in self.scene.wanted_spans(place, text) if level > RESULT_TOKENS else ():
                end = last if last - start <= room else text.rfind("\n", start, start + room + 1)
                if end > start:
                    cites.append(Cite(name, number, start, end))
                    room -= end - start
        return (
            replace(context, protected={**context.protected, name: cites}) if len(cites) > known else context
        )

    def _without_past_thinking(self, stop: int, shrinks: list[Shrink]) -> list[Shrink]:
        """Add the removal of earlier turns' thinking to shrinks of the messages from an index on."""
        scene = self.scene
        spared = scene.opens_loop(stop)
        older = [scene.view[i] for i in range(stop, scene.thinking) if i != spared]
        if scene.drop_thinking or not any(has_thinking(item.message) for item in older):
            return shrinks
        past = {item.id for item in older}
        return [
            *remove_thinking(older, shrinks, of_earlier_turns=True),
            *(one for one in shrinks if one.id not in past),
        ]

    def _levelled(self, span: Span, room: int, protect: bool) -> Smaller:
        """Cut the largest parts of these messages down to one common size."""
        least = self._least.get((span, protect))
        if least and least[1] > room:
            return least
        sizes = self._sizes_in(span)
        everything = self.scene.tokens_with(self._without_past_thinking(span[0], []), span[0])
        level = water_level(sizes, max(0, room - (everything - sum(sizes))))
        found = self._at(span, level, protect)
        if found[1] <= room:
            return found
        least = self._least[span, protect] = self._at(span, 0, protect) if level else found
        for _ in range(LOWER_LEVELS if least[1] <= room else 0):
            level = level * 3 // 4
            found = self._at(span, level, protect)
            if found[1] <= room:
                return found
        return least

    def _sizes_in(self, span: Span) -> list[int]:
        """Return the tokens of every part that has a smaller form."""
        parts = (part for item in self.scene.view[slice(*span)] for part in item.message.parts)
        return [self.scene.task.counter.count_part(part) for part in parts if has_smaller(part)]

    def _at(self, span: Span, level: int, protect: bool) -> Smaller:
        shrinks = self._without_past_thinking(span[0], shorten(self._context(protect), range(*span), level))
        return shrinks, self.scene.tokens_with(shrinks, span[0])

    def _context(self, protect: bool) -> ShrinkContext:
        if protect not in self._contexts:
            self._contexts[protect] = context_for(self.scene, protect=protect)
        return self._contexts[protect]


def _shortened(context: ShrinkContext, index: int, levels: Sequence[int]) -> list[Shrink]:
    """Return how a message is shown if each part has so many tokens; prose of which little would go stays."""
    count, message = context.counter.count_part, context.view[index].message
    collector = ShrinkCollector(context)
    cuts_prose = False
    for number, (part, level) in enumerate(zip(message.parts, levels, strict=True)):
        tokens, is_text = count(part), isinstance(part, Text)
        if tokens > level + (LEAST_CUT if is_text else 0) and has_smaller(part):
            reason = f"{tokens:,} tokens are more than there is room for"
            collector.add(Place(index, number), excerpted(context, Place(index, number), level), reason)
            cuts_prose |= is_text and message.origin is Origin.SPOKEN
    # What a tool or a harness wrote is pruned; of what people and the agent said, the rest is cut off.
    return collector.shrinks(Rung.TRUNCATE if cuts_prose else Rung.PRUNE)
