"""The messages of a session: those of its view, loaded from the store when they are needed, and all by id.

``SessionView`` is the part of ``Replay`` that reads messages::

    replay.items                  # what the model sees: [Item("m1", …), Item("d1", <the digest>), …]
    replay.original("m7")         # a message as it was added, also if the digest d1 replaced it in the view

``View`` says where in the log each message of the view is; ``Replay`` keeps it up to date. ``view_text``
writes the messages of a view as one text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from clew.budget import Region, region_of
from clew.compaction.plan import Digest
from clew.compaction.plan.render import rules_text
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION, KINDS, TOOL_COMPACTION, Ref, View, load_messages, named_messages
from clew.log.protocol import Ctx, ReadsPositions, Store
from clew.message import Cite, Item, Message, Origin, Role, message_number
from clew.message.text import ellipsize, escape_tags
from clew.session.history import Compaction, read_compaction
from clew.tokens import Tally, TokenCounter

REMEMBERED = 256
"""How many messages outside of the view are kept after they were looked up; chosen by hand."""
RESULT_CHARS = 600
"""Most characters of a tool call or result that ``view_text`` still shows."""


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


class SessionView:
    """The messages of one session, in its store."""

    def __init__(self, store: Store, ctx: Ctx, counter: TokenCounter) -> None:
        self.store = store
        self.ctx = ctx
        self.counter = counter
        self.show(View())

    def show(self, view: View) -> None:
        """Forget all messages that were loaded; they are loaded again for this view."""
        self.view = view
        self._loaded: ViewMessages | None = None if view.entries else ViewMessages(self.counter)
        """The messages of the view; None until they are needed again after the view changed."""
        self._originals: OrderedDict[str, Message] = OrderedDict()
        """Messages outside of the view that were looked up."""

    def count_with(self, counter: TokenCounter) -> None:
        """Count with another counter from now on."""
        self.counter, self._loaded = counter, None

    # What the model sees ---------------------------------------------------------------------------------

    @property
    def items(self) -> list[Item]:
        """Return the messages of the view with their ids."""
        return self._view_messages.items

    @property
    def refs(self) -> dict[str, Ref]:
        """Return the positions in the log of the messages of the view."""
        return self._view_messages.refs

    @property
    def weights(self) -> dict[Region, Tally]:
        """Return the token tally of the view by region."""
        return self._view_messages.weights

    @property
    def tokens(self) -> int:
        """Return the tokens of the view."""
        return sum(map(self.counter.tokens, self.weights.values()))

    @property
    def _view_messages(self) -> ViewMessages:
        if self._loaded is None:
            self._loaded = ViewMessages(self.counter)
            stored = load_messages(self.store, self.ctx, self.view.entries)
            for name, visible in named_messages(self.view, stored):
                self._loaded.add(Item(name, visible.message), visible.ref)
        return self._loaded

    @property
    def shown_digest(self) -> tuple[str, Digest] | None:
        """Return the digest in the view, and the id of its message."""
        steps = () if self.view.off else reversed(self.view.steps)
        digest = next(filter(None, (self.compaction(step.seq).digest for step in steps)), None)
        return (digest.id, digest) if digest else None

    # Any message by its id -------------------------------------------------------------------------------

    def original(self, name: str) -> Message | None:
        """Return any message of the session as it was added; None if there is no such id."""
        ref = self._ref(name)
        if ref is None:
            return None
        if self._loaded is not None and self._loaded.refs.get(name) == ref:
            return self._loaded.by_id[name]  # the view shows it unchanged
        if name not in self._originals:
            stored = next(self.store.read(self.ctx, ref.seq - 1, ref.seq), None)
            if stored is None:
                raise StoreDamaged(f"event {ref.seq}, which holds {name}, is missing")
            kind = KINDS[stored.event.kind]
            self._originals[name] = kind.messages(kind.current(stored).event.body)[ref.nth]
            while len(self._originals) > REMEMBERED:
                self._originals.popitem(last=False)
        return self._originals[name]

    def quote(self, cite: Cite) -> str:
        """Return the cited words, stripped; empty if there is no such message or part."""
        message = self.original(cite.message)
        known = message is not None and cite.part < len(message.parts)
        return cite.quote(message).strip() if message and known else ""

    def finder(self, likely: Iterable[str]) -> Callable[[str], Message | None]:
        """Return ``original``; from a store on a server, ``likely`` messages are read together before."""
        if not isinstance(self.store, ReadsPositions):
            return self.original
        refs = {self._ref(name): name for name in likely if name.startswith("m")}
        unread = sorted(ref for ref, name in refs.items() if ref and self.refs.get(name) != ref)
        loaded = load_messages(self.store, self.ctx, unread)
        found = {refs[visible.ref]: visible.message for visible in loaded}
        return lambda name: found.get(name) or self.original(name)

    def _ref(self, name: str) -> Ref | None:
        """Return the position of a message in the log; ``c1`` is the first summary of its tool."""
        if name.startswith("c"):
            return self._summaries().get(name)
        number = message_number(name)
        return self.view.whole[number - 1] if 0 < number <= len(self.view.whole) else None

    def _summaries(self) -> dict[str, Ref]:
        """Return where the summaries of the session's own tool are, by name."""
        stored = self.store.read(self.ctx, until=self.view.seq, kinds=[TOOL_COMPACTION.name])
        return {
            str(TOOL_COMPACTION.name_of(event, nth)): Ref(event.seq, nth)
            for event in stored
            for nth in range(len(TOOL_COMPACTION.messages(event.event.body)))
        }

    def originals(self, names: Iterable[str]) -> Iterator[Item]:
        """Yield messages as they were added, in the order given."""
        for name in names:
            message = self.original(name)
            if message is not None:
                yield Item(name, message)

    def seen(self) -> Iterator[Item]:
        """Yield all messages as they were added, summaries of the session's own tool, and digests in view."""
        whole = self.view.whole
        names = (f"m{number}" for number in range(1, len(whole) + 1))
        for name, visible in zip(names, load_messages(self.store, self.ctx, whole), strict=True):
            yield Item(name, visible.message)
        summaries = self._summaries()
        yield from self.originals(summaries)
        yield from (item for item in self.items if item.id[:1] != "m" and item.id not in summaries)

    # Compactions -----------------------------------------------------------------------------------------

    def compaction(self, seq: int) -> Compaction:
        """Return the compaction recorded at this position."""
        stored = next(self.store.read(self.ctx, seq - 1, seq), None)
        if stored is None or stored.event.kind != COMPACTION.name:
            raise NotFound(f"event {seq} of {self.ctx.session!r} is not a compaction", "see `clew trace`")
        compaction = read_compaction(KINDS[COMPACTION.name].current(stored))
        if compaction.digest:
            return compaction
        upto = self.store.read(self.ctx, until=seq, kinds=[COMPACTION.name])
        return replace(compaction, number=sum(1 for _ in upto))

    def in_force(self) -> list[Compaction]:
        """Return the compactions that shape the view, oldest first."""
        return [self.compaction(step.seq) for step in self.view.steps]


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
