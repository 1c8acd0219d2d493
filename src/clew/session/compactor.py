"""``clew.Compactor``: calls ``clew.compact`` and keeps the last result of every conversation.

Conversations are identified by a key, or without one by how their lists begin. The least recently used ones
are dropped first; a dropped conversation that returns is compacted from its beginning.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeAlias, Unpack, overload

from clew.errors import InputError
from clew.message import JsonObject
from clew.providers.marked_entries import common_prefix
from clew.session.compact_list import compact
from clew.session.conversation import known_entries
from clew.session.result import CompactOptions, CompactResult
from clew.session.summariser import Summariser, as_model

MessageList: TypeAlias = Iterable[Any] | Mapping[str, Any]
"""A provider's message list, or a whole request body."""
CONVERSATIONS = 256
"""How many are kept at most, chosen by hand: each holds its messages and what was parsed from them."""


@dataclass(slots=True)
class _Slot:
    """The last result of one conversation; calls for the same one wait for each other."""

    result: CompactResult | None = None
    lock: RLock = field(default_factory=RLock)


class Compactor:
    """Makes message lists fit a window and remembers each conversation between calls; thread-safe.

    ::

        compactor = clew.Compactor(window=200_000)
        reply = client.messages.create(messages=compactor.fit(messages).messages, ...)

    A server with many conversations gives each a key: ``compactor.fit("conversation-7", messages)``.
    """

    def __init__(
        self,
        window: int | None = None,
        *,
        summariser: Summariser | None = None,
        conversations: int = CONVERSATIONS,
        **options: Unpack[CompactOptions],
    ) -> None:
        """Set the defaults of every call; ``options`` are those of ``clew.compact``."""
        if conversations < 1:
            raise InputError(f"conversations is {conversations}", "use 1 or more")
        self._window, self._summariser, self._options = window, as_model(summariser), options
        self._most = conversations
        self._slots: OrderedDict[str | int, _Slot] = OrderedDict()
        self._lock = RLock()
        self._made = 0

    @overload
    def fit(self, messages: MessageList, /, **options: Unpack[CompactOptions]) -> CompactResult: ...

    @overload
    def fit(self, key: str, messages: MessageList, /, **options: Unpack[CompactOptions]) -> CompactResult: ...

    def fit(self, *args: Any, **options: Unpack[CompactOptions]) -> CompactResult:
        """Return a list that fits: ``fit(messages)``, or ``fit(key, messages)``; see ``clew.compact``.

        ``options`` override those of the compactor for this call.
        """
        return self._fit(args, options)

    def _fit(self, args: tuple[Any, ...], options: CompactOptions) -> CompactResult:
        key, messages = self._arguments(args)
        slot = self._slot_of_list(known_entries(messages)) if key is None else self._slot_of_key(key)
        with slot.lock:
            whole: CompactOptions = {**self._options, **options}
            slot.result = compact(
                messages, self._window, previous=slot.result, summariser=self._summariser, **whole
            )
            return slot.result

    @overload
    async def fit_async(
        self, messages: MessageList, /, **options: Unpack[CompactOptions]
    ) -> CompactResult: ...

    @overload
    async def fit_async(
        self, key: str, messages: MessageList, /, **options: Unpack[CompactOptions]
    ) -> CompactResult: ...

    async def fit_async(self, *args: Any, **options: Unpack[CompactOptions]) -> CompactResult:
        """Do the same in a thread, so that the event loop is not blocked."""
        import asyncio  # only if it is awaited: importing it loads the network modules

        *key, messages = args or (None,)
        copied = list(messages) if isinstance(messages, list) else messages  # may grow while this waits
        return await asyncio.to_thread(self._fit, (*key, copied) if args else (), options)

    def state(self, key: str = "") -> JsonObject | None:
        """Return the state of a conversation as JSON, for another process; None if there is none."""
        result = self.last(key)
        return result.to_json() if result else None

    def last(self, key: str = "") -> CompactResult | None:
        """Return the last result of a conversation; without a key, of the most recently used one."""
        with self._lock:
            slot = self._slots.get(key) or (next(reversed(self._slots.values()), None) if not key else None)
        return slot.result if slot else None

    def find(self, messages: MessageList) -> CompactResult | None:
        """Return the last result of the conversation that a list continues; None if there is none."""
        with self._lock:
            key = self._continued(known_entries(messages))
            return None if key is None else self._slots[key].result

    def restore(self, state: Mapping[str, Any], key: str = "") -> None:
        """Continue a conversation from what ``state`` returned in another process."""
        slot = self._slot_of_key(key)
        with slot.lock:
            slot.result = CompactResult.from_json({**state, "messages": []})

    def forget(self, key: str) -> None:
        """Drop a conversation."""
        with self._lock:
            self._slots.pop(key, None)

    def __len__(self) -> int:
        """Return the number of conversations kept."""
        return len(self._slots)

    @staticmethod
    def _arguments(args: tuple[Any, ...]) -> tuple[str | None, MessageList]:
        match args:
            case (str() as key, messages):
                return key, messages
            case (messages,):
                return None, messages
        raise InputError(
            "fit takes a list, or a key and a list", 'for example fit("conversation-7", messages)'
        )

    def _slot_of_key(self, key: str | int) -> _Slot:
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
            return slot

    def _slot_of_list(self, entries: list[Any]) -> _Slot:
        """Return the conversation that a list continues; a new one if none begins like it."""
        with self._lock:
            best = self._continued(entries)
            if best is None:
                self._made += 1
                best = self._made
            return self._slot_of_key(best)

    def _continued(self, entries: list[Any]) -> str | int | None:
        """Return the key of the conversation that a list continues, or of a restored one; None if none."""
        best, longest = None, 0
        for key, slot in reversed(self._slots.items()):
            shared = _shared_entries(slot.result, entries)
            if shared > longest:
                best, longest = key, shared
        if best is None and "" in self._slots and self._slots[""].result is not None:
            restored = self._slots[""].result.saved is not None
            best = "" if restored else None
        return best


def _shared_entries(result: CompactResult | None, entries: list[Any]) -> int:
    """Return how many entries of a list are in a result; 0 if it is another conversation.

    Different conversations may share the system prompt and the first request, so a list continues a result
    only if it holds more than half of its entries.
    """
    conversation = result.conversation if result else None
    if conversation is None or not entries:
        return 0
    whole = common_prefix(entries, conversation.record.entries, conversation.entries)
    shown = common_prefix(entries, conversation.view.shown, conversation.slots)
    if whole * 2 > conversation.entries or shown * 2 > conversation.slots:
        return max(whole, shown)
    return 0
