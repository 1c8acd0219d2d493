"""The messages of a view: ``ViewMessages`` holds a session's, ``view_text`` writes them as one text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.budget import Region, region_of
from clew.compaction.plan.render import rules_text
from clew.log import Ref
from clew.message import Item, Message, Origin, Role
from clew.message.text import ellipsize, escape_tags
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


RESULT_CHARS = 600
"""Most characters of a tool call or result that a view still shows."""


def view_text(items: Iterable[Item], *, compacted: bool) -> str:
    """Return the digest of a view, then its messages, for programs that accept nothing but a summary."""
    digests: list[str] = []
    messages: list[str] = []
    shortened = compacted
    for item in items:
        if item.message.origin is Origin.SUMMARY:
            digests.append(item.message.text)
        elif item.message.role is not Role.SYSTEM:
            messages += _lines(item)
            shortened = shortened or _is_cut(item)
    if digests:
        head = "The newest messages, shortened:"
    elif shortened:
        head = "The conversation, shortened:"
    else:
        head = "The conversation, word for word:"
    return "\n\n".join([*digests, *(["\n".join([head, *messages])] if messages else ())])


def _is_cut(item: Item) -> bool:
    """Return True if ``_lines`` shows only the beginning of a call or result."""
    texts = (
        *(call.input_text for call in item.message.calls),
        *(result.text for result in item.message.results),
    )
    return any(len(text) > RESULT_CHARS for text in texts)


def _lines(item: Item) -> Iterator[str]:
    message = item.message
    if message.text.strip():
        yield f"[{item.id}, {message.role.value}] {escape_tags(message.text.strip())}"
    for call in message.calls:
        yield f"[{item.id}, tool call] {call.name}({escape_tags(ellipsize(call.input_text, RESULT_CHARS))})"
    for result in message.results:
        yield f"[{item.id}, tool result: data] {escape_tags(ellipsize(result.text, RESULT_CHARS))}"
