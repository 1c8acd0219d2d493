"""Replace call ids and tool names that a target refuses.

A valid name is kept. The replacement of an invalid name depends only on that name, so a growing history
always gets the same names; two different names never become the same.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from clew.message import Message, Pairing, ToolCall
from clew.message.atoms import Place
from clew.providers.crossing.targets import Target
from clew.providers.wire import derived_id

_MARK_LENGTH = 9


@dataclass(slots=True)
class Namer:
    """Assigns valid, distinct names."""

    accepted: re.Pattern[str]
    longest: int
    _given: dict[tuple[str, int], str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def name(self, wanted: str, use: int = 0) -> str:
        """Return the name for the ``use``-th thing with the name ``wanted``."""
        known = self._given.get((wanted, use))
        if known is not None:
            return known
        name = wanted if use == 0 and self.accepted.fullmatch(wanted) else self._made(wanted, use, 0)
        tries = 0
        while name in self._taken:
            tries += 1
            name = self._made(wanted, use, tries)
        self._given[wanted, use] = name
        self._taken.add(name)
        return name

    def _made(self, wanted: str, use: int, tries: int) -> str:
        seed = f"{use}.{tries}:{wanted}".encode("utf-8", "surrogatepass")
        mark = hashlib.sha256(seed).hexdigest()[: _MARK_LENGTH - 1]
        stem = re.sub(r"[^a-zA-Z0-9_-]", "_", wanted)[: self.longest - _MARK_LENGTH]
        name = f"{stem}_{mark}"
        return name if self.accepted.fullmatch(name) else f"t{name}"[: self.longest]


@dataclass(frozen=True, slots=True)
class CallNames:
    """The id and the tool name in the target, for each call and each paired result."""

    ids: dict[Place, str]
    tools: dict[Place, str]


def name_calls(messages: Sequence[Message], pairing: Pairing, target: Target) -> CallNames:
    """Assign ids and tool names to the calls of client tools and their results.

    Models reuse ids, so each call gets a unique id, and its result the same one.
    """
    ids, tools = Namer(target.call_id, target.longest_id), Namer(target.tool_name, target.longest_name)
    names = CallNames({}, {})
    uses: Counter[str] = Counter()
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            if not isinstance(part, ToolCall) or part.server_side:
                continue
            place, wanted = Place(i, j), part.call_id
            names.tools[place] = tools.name(part.name)
            if wanted == derived_id(target.wire.name, part.name):
                names.ids[place] = wanted  # read without an id, and written without one
            else:
                names.ids[place] = ids.name(wanted, uses[wanted])
                uses[wanted] += 1
    for result, call in pairing.answers.items():
        if call in names.ids:
            names.ids[result], names.tools[result] = names.ids[call], names.tools[call]
    return names
