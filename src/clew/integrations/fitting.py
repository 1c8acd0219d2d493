"""Shared by all integrations: fit a conversation's messages before a request, and never fail.

An error in clew never reaches the framework: the messages are sent unchanged, and the error is counted and
logged once per kind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

from clew.budget import DEFAULT, Policy
from clew.message import JsonObject, Message
from clew.session import Compactor, CompactResult, Session
from clew.session.compactor import MessageList
from clew.session.result import CompactOptions, without_natives
from clew.tokens import counter_for

log = logging.getLogger("clew.integrations")


class FittingOptions(TypedDict, total=False):
    """The three options of every integration."""

    window: int | None
    """The model's context window in tokens; None for that of the framework's model."""
    policy: Policy
    """When to compact and how far down."""
    session: Session | Callable[[str], Session] | None
    """A session of clew's log that records every message, or a function from key to session."""


def state_of(result: CompactResult) -> JsonObject:
    """Return what another process needs to continue after a result; the framework has the messages."""
    return {**result.to_json(), "messages": []}


class Fitting:
    """Fits the messages of many conversations, keeps their state, and logs them if asked to."""

    def __init__(
        self,
        window: int | None = None,
        policy: Policy = DEFAULT,
        session: Session | Callable[[str], Session] | None = None,
    ) -> None:
        self.compactor = Compactor(window, policy=policy)
        self.policy = policy
        self.session = session
        self.errors = 0
        self._reported: set[str] = set()
        self._logged: dict[str, int] = {}

    def fit(
        self,
        messages: MessageList,
        key: str | None = None,
        *,
        fixed: Iterable[object] = (),
        **options: Unpack[CompactOptions],
    ) -> CompactResult | None:
        """Return the messages to send, None if clew failed; ``fixed`` is what else is sent each time."""
        result = None
        with self.reporting():
            given = (messages,) if key is None else (key, messages)
            counter = counter_for(options.get("model") or "unknown")
            options["fixed_tokens"] = sum(counter.count_text(str(item)) for item in fixed)
            result = self.compactor.fit(*given, **options)
            originals = result.originals.items()
            with self.reporting("did not log the messages"):
                self.record([message for name, message in originals if name.startswith("m")], key or "")
        return result

    def to_send(self, result: CompactResult) -> list[Any]:
        """Return the list to send: the fitted one, followed by the rules that only its digest shows."""
        messages = result.messages
        with self.reporting():
            messages = result.with_rules()
        return messages

    async def fit_async(
        self,
        messages: MessageList,
        key: str | None = None,
        *,
        fixed: Iterable[object] = (),
        **options: Unpack[CompactOptions],
    ) -> CompactResult | None:
        """Do the same in a thread."""
        import asyncio  # imported here: asyncio loads the network modules

        messages = list(messages) if isinstance(messages, list) else messages  # may grow while this waits
        return await asyncio.to_thread(self.fit, messages, key, fixed=fixed, **options)

    @contextmanager
    def reporting(self, effect: str = "left the messages as they are") -> Iterator[None]:
        """Report an error instead of raising it: clew runs inside another program and never breaks it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # any error
            self.report(error, effect)

    def report(self, error: Exception, effect: str = "left the messages as they are") -> None:
        """Count an error, and log the first of its type with what clew did instead."""
        self.errors += 1
        text = f"{type(error).__name__}: {error}"
        if type(error).__name__ not in self._reported:
            self._reported.add(type(error).__name__)
            log.warning("clew %s: %s", effect, text)

    def state(self, key: str = "") -> JsonObject | None:
        """Return the state that another process needs to continue a conversation, as JSON."""
        return self.compactor.state(key)

    def restore(self, state: Mapping[str, Any] | None, key: str = "") -> None:
        """Continue from what ``state`` returned, unless this process has a newer state."""
        if state and self.compactor.last(key) is None:
            self.compactor.restore(state, key)

    def session_of(self, key: str) -> Session | None:
        """Return the session of clew's log that records a conversation, if there is one."""
        return self.session(key) if callable(self.session) else self.session

    def originals(self, key: str = "") -> tuple[Message, ...]:
        """Return every original message of a conversation that this process has seen, in order."""
        result = self.compactor.last(key)
        return tuple(result.originals.values()) if result else ()

    def record(self, messages: Sequence[Message], key: str = "") -> None:
        """Append to clew's log the messages of a conversation that it does not have yet."""
        session = self.session_of(key)
        if session is None:
            return
        # A session may hold the beginning of a conversation from an earlier process. One session for several
        # conversations holds none of those that come after the first.
        is_own = callable(self.session) or not self._logged
        known = self._logged.setdefault(key, len(session.ledger) if is_own else 0)
        session.add(*map(without_natives, messages[known:]))
        self._logged[key] = max(known, len(messages))
