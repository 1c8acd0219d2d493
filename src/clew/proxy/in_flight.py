"""Compact ordinary requests on their way to the upstream, if asked to (``--compact``, ``x-clew: on``).

Of a body with 200 messages the upstream gets the system prompt, a digest and the last 30 messages; all other
fields stay as they are.

A conversation is recognised by its credentials, the client's session id, the model and its first message,
without cache marks. Its compacted beginning stays the same in every request until the window fills up again,
so that the prompt cache keeps working. A body that the API would refuse is never sent.

One conversation at a time is compacted: threads share the interpreter, and 64 compactions at once made
requests wait for up to a minute. A new conversation that waited ``MOST_WAIT`` for its turn and still fits is
sent as it is. A known one does not wait: its last compacted beginning is sent with the new messages after it,
and is compacted further only if that does not fit (``LATE``). A later request is compacted instead.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from operator import is_
from typing import Any

from clew.budget import DEFAULT, Limit, Policy
from clew.errors import BudgetExceeded, ContextTooLong
from clew.message import JsonObject
from clew.providers import wire_named
from clew.providers.api import error_for_response
from clew.proxy.answers import thread_refusal
from clew.proxy.conversations import entry_hash
from clew.proxy.reactor import Reaction
from clew.proxy.relay import HttpRequest
from clew.proxy.requests import LIST_KEYS, STORED, conversation_key, session_id
from clew.proxy.stats import Stats
from clew.proxy.thinking import running_loop, thinking_in, without_thinking
from clew.session import Compactor, CompactResult
from clew.tokens import counter_for, model_named

CONVERSATIONS = 64
"""Conversations whose last compaction is kept; chosen by hand, see also the next limit."""
KEPT_BYTES = 64 << 20
"""Size of the newest requests of all kept conversations; the least recently used are dropped beyond it.

A conversation takes 1.8 times its request; 64 of 200,000 tokens take about 50 MiB of requests.
"""
HARDER = 0.4
"""Share of the window to compact to after the upstream refused a request as too long."""
MOST_WAIT = 1.0
"""Seconds that a request waits for its turn if it can also go on without a compaction."""
SAMPLE, SAMPLES, MARGIN = 4_096, 8, 1.1
"""Bytes per sample of a request, how many, and the margin of the estimate; all of 460 kB would take 14 ms."""
_WHOLE, _NONE = Limit(share=1.0), Limit(tokens=0)
LATE = replace(
    DEFAULT,
    compact_at=_WHOLE,  # not before the usable window is full
    boundary_from=_WHOLE,  # a milestone or a pause can wait for a later request
    summary_call=_NONE,  # no model is asked for a summary here
    next_result_most=_NONE,  # the next tool result comes with a later request, which may be compacted then
)
"""The policy of a known conversation that does not wait for its turn: compact only what does not fit."""
_FIXED = ("tools", "instructions")


class InFlight:
    """Fits requests into the model's window, and keeps the state of the newest conversations."""

    def __init__(self, stats: Stats, window: int | None = None, *, drop_thinking: bool = False) -> None:
        self.stats, self._window, self._drop_thinking = stats, window, drop_thinking
        self._compactor = Compactor(window, conversations=CONVERSATIONS)
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """The bytes of the newest request of each conversation, the least recently used first."""
        self._stale: dict[str, set[int]] = {}
        """The thinking from before each conversation's last compaction, by its hashes."""
        self._compacting = threading.Lock()
        """Held while a conversation is compacted: one at a time."""
        self._lock = threading.Lock()
        """Protects the state of the conversations."""

    def fit_request(self, http: HttpRequest, raw: bytes, wire: str, *, preview: bool) -> Reaction | None:
        """Return the request with a shorter conversation; None if it stays as it is."""
        body = json.loads(raw)
        entries = body.get(LIST_KEYS[wire]) if isinstance(body, dict) else None
        if not isinstance(entries, list) or not entries or any(body.get(name) for name in STORED):
            return None
        if refusal := thread_refusal(body):
            return refusal
        key = _key(http, body, entries)
        if preview:
            return self._preview(key, body, wire, entries)
        if (last := self._compactor.last(key)) and last.conversation:
            known = last.conversation.record.entries
            entries[: len(known)] = map(_shared, entries, tuple(known))
        self._make_room(key, len(raw))
        try:
            fitted = self._fit_in_turn(key, body, wire, raw)
        except BudgetExceeded:
            fitted = None
        retry = self._harder(key, body, wire)
        if fitted is None or fitted.messages == entries:
            return Reaction(label="passed", retry=retry)
        shorter, dropped = self._body(key, body, wire, fitted)
        label = f"compacted; {fitted.tokens_before} to {fitted.tokens_after} tokens"
        label += f"; {dropped} thinking blocks dropped" if dropped else ""
        if fitted.changed:
            self.stats.count("compacted")
            with self.stats.conversation(conversation_key(http, raw)) as stats:
                stats.add_compaction(fitted.tokens_before, fitted.tokens_after, answered=False)
        return Reaction(body=shorter, label=label, shortened=True, rewritten=fitted.changed, retry=retry)

    def _preview(self, key: str, body: JsonObject, wire: str, entries: list[Any]) -> Reaction:
        """Return a label that says what ``on`` would do, from a copy of the conversation's state."""
        copy = Compactor(self._window)
        if state := self._compactor.state(key):
            copy.restore(state, key)
        try:
            with self._compacting:
                fitted = self._fit(key, body, wire, compactor=copy)
        except BudgetExceeded:
            return Reaction(label="preview; unchanged")
        sizes = f"{fitted.tokens_before} to {fitted.tokens_after} tokens"
        return Reaction(label=f"preview; {'unchanged' if fitted.messages == entries else sizes}")

    def _fit_in_turn(self, key: str, body: JsonObject, wire: str, raw: bytes) -> CompactResult | None:
        """Fit a request when it is its turn; None if it is sent as it is, because its turn is too far off."""
        is_known = self._compactor.last(key) is not None  # then only its new messages have to be parsed
        if not self._compacting.acquire(timeout=0.0 if is_known else MOST_WAIT):
            if is_known:
                return self._fit(key, body, wire, policy=LATE)
            if self._fits_whole(body, raw):
                self.stats.count("deferred")
                return None
            self._compacting.acquire()
        try:
            return self._fit(key, body, wire)
        finally:
            self._compacting.release()

    def _make_room(self, key: str, size: int) -> None:
        """Drop the conversations that were not used for longest, until the rest fits ``KEPT_BYTES``."""
        with self._lock:
            self._sizes[key] = size
            self._sizes.move_to_end(key)
            while len(self._sizes) > CONVERSATIONS or (
                len(self._sizes) > 1 and sum(self._sizes.values()) > KEPT_BYTES
            ):
                dropped, _ = self._sizes.popitem(last=False)
                self._compactor.forget(dropped)
                self._stale.pop(dropped, None)

    def _body(self, key: str, body: JsonObject, wire: str, result: CompactResult) -> tuple[bytes, int]:
        """Return the new body, and how many thinking blocks it leaves out.

        With ``drop_thinking`` that is the thinking from before the newest compaction: providers may bind it
        to the beginning of the conversation. If the API wants the running tool loop to begin with thinking,
        the loop keeps its own.
        """
        if not self._drop_thinking:
            return _with_rules(body, wire, result.messages, result), 0
        entries: Any = body[LIST_KEYS[wire]]
        stale = self._stale.get(key)
        if result.changed or stale is None:
            stale = set(thinking_in(entries))
            shorter = without_thinking(result.messages, stale)
            if not _violations(body, wire, shorter) <= _violations(body, wire, result.messages):
                stale -= set(thinking_in(running_loop(entries)))
            with self._lock:
                if key in self._sizes:  # another thread may have dropped the conversation meanwhile
                    self._stale[key] = stale
        shorter = without_thinking(result.messages, stale)
        dropped = len(thinking_in(result.messages)) - len(thinking_in(shorter))
        return _with_rules(body, wire, shorter, result), dropped

    def _fits_whole(self, body: JsonObject, raw: bytes) -> bool:
        """Estimate from samples whether the client's own request fits the model's window.

        If the estimate is wrong, the provider refuses the request, and it is compacted and sent once more.
        """
        model = model_named(str(body.get("model") or "unknown"))
        # --window may be smaller than the model's, to save tokens, or larger, if clew's table is out of date:
        # the provider takes what fits the larger one.
        window = max(model.window_tokens, self._window or 0) if model.known else self._window or 0
        reply = body.get("max_tokens") or body.get("max_output_tokens") or 0
        sample = b"".join(
            raw[at : at + SAMPLE] for at in range(0, len(raw), max(SAMPLE, len(raw) // SAMPLES))
        )
        share = counter_for(model).count_text(sample.decode("utf-8", "replace")) / max(1, len(sample))
        return len(raw) * share * MARGIN + (reply if isinstance(reply, int) else 0) <= window

    def _fit(
        self,
        key: str,
        body: JsonObject,
        wire: str,
        target: int | None = None,
        policy: Policy = DEFAULT,
        compactor: Compactor | None = None,
    ) -> CompactResult:
        model = str(body.get("model") or "unknown")
        counter = counter_for(model)
        fixed = sum(counter.count_text(json.dumps(body[name])) for name in _FIXED if body.get(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (compactor or self._compactor).fit(
                key, body, model=model, fixed_tokens=fixed, wire=wire, target_tokens=target, policy=policy
            )

    def _harder(self, key: str, body: JsonObject, wire: str) -> Callable[[int, bytes], bytes | None]:
        """Return a function that compacts once more if the upstream refused the request as too long."""

        def retry(status: int, refusal: bytes) -> bytes | None:
            try:
                error = error_for_response(status, {}, json.loads(refusal))
                if not isinstance(error, ContextTooLong):
                    return None
                window = error.limit or self._window or model_named(str(body.get("model"))).window_tokens
                result = self._fit(key, body, wire, int(window * HARDER))
                self.stats.count("retried")
                return self._body(key, body, wire, result)[0] if result.changed else None
            except Exception:  # noqa: BLE001  # fail open: the upstream's own error goes to the client
                self.stats.count("failed_open")
                return None

        return retry


def _key(http: HttpRequest, body: JsonObject, entries: list[Any]) -> str:
    """Return the key of a request's conversation; without a client's id, the system prompt is part of it."""
    credentials, session = http.header("authorization") + http.header("x-api-key"), session_id(http, body)
    system = "" if session else entry_hash(body.get("system") or body.get("instructions"))
    parts = (credentials, session, str(body.get("model")), system, entry_hash(entries[0]))
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _shared(new: object, known: object) -> object:
    """Return a value made of the known one's parts where they are equal, so that a text is held only once.

    Every request holds the whole conversation; clients move cache marks, and the texts stay the same. For a
    mark, a content that is one text becomes a list with one block.
    """
    if isinstance(known, str) and isinstance(new, list):
        known = [{"text": known}]
    elif isinstance(known, list) and isinstance(new, str):
        texts = (block.get("text") for block in known if isinstance(block, dict))
        return next((text for text in texts if text == new), new)
    if isinstance(new, dict) and isinstance(known, dict):
        fields = {name: _shared(value, known.get(name)) for name, value in new.items()}
        same = new.keys() == known.keys() and all(fields[name] is known[name] for name in fields)
        return known if same else fields
    if isinstance(new, list) and isinstance(known, list):
        parts = [*map(_shared, new, known), *new[len(known) :]]
        return known if len(new) == len(known) and all(map(is_, parts, known)) else parts
    return known if type(new) is type(known) and new == known else new  # True == 1, but they differ in JSON


def _violations(body: JsonObject, wire: str, messages: list[Any]) -> set[str]:
    """Return the rules of the API that a list breaks, also those that are not certain."""
    report = wire_named(wire).check({**body, LIST_KEYS[wire]: messages})
    return {violation.rule.id for violation in report.violations}


def _with_rules(body: JsonObject, wire: str, messages: list[Any], result: CompactResult) -> bytes:
    """Return the new body, with the rules that only the digest shows at its end if the API takes them."""
    try:
        return _checked_body(body, wire, [*messages, *result.with_rules()[len(result.messages) :]])
    except Exception:  # noqa: BLE001  # fail open: the compacted list without them
        return _checked_body(body, wire, messages)


def _checked_body(body: JsonObject, wire: str, messages: list[Any]) -> bytes:
    """Return the new body; raise an error if the API would refuse it, and did not refuse the original."""
    new = {**body, LIST_KEYS[wire]: messages}
    rules = wire_named(wire)
    refused = rules.check(new)
    if refused.refused and not rules.check(body).refused:
        raise ValueError(f"the compacted request would be refused: {refused.violations[0]}")
    text = json.dumps(new, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
