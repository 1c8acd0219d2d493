"""The messages of a session's view, loaded from the log: their ids, log positions and token counts."""

from __future__ import annotations

from clew.budget import Region, region_of
from clew.compaction.plan.render import rules_text
from clew.log import Ref
from clew.message import Item, Message
from clew.tokens import Tally, TokenCounter


class ViewMessages:
    """The messages that the model sees, in order."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self.items: list[Item] = []
        self.refs: dict[str, Ref] = {}
        """The position in the log of each message, by its id."""
        self.by_id: dict[str, Message] = {}
        self.weights: dict[Region, Tally] = {}
        """The token tally by region. The rules quoted in a digest count as pinned, not as history."""

    def add(self, item: Item, ref: Ref) -> None:
        """Append a message."""
        self.items.append(item)
        self.refs[item.id] = ref
        self.by_id[item.id] = item.message
        region = region_of(item.message, at_start=self.weights.keys() <= {Region.SYSTEM})
        weight = self._counter.weigh(item.message)
        if rules := rules_text(item.message):
            pinned = self._counter.weigh_text(rules)
            self._add_weight(Region.PINNED, pinned)
            weight -= pinned
        self._add_weight(region, weight)

    def _add_weight(self, region: Region, weight: Tally) -> None:
        self.weights[region] = self.weights.get(region, Tally()) + weight
