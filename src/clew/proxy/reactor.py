"""Decide what clew does with a request: answer a compaction, open sealed digests, compact, or nothing.

``RequestReactor`` is called with each request and returns a ``Reaction``, which ``server.py`` carries out.
For a client's "summarise this conversation" that is an answer with clew's digest; for an ordinary request it
is ``PASS``, or a shorter body if ``--compact`` or ``x-clew: on`` asks for one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from clew.proxy.relay import HttpRequest
from clew.proxy.requests import (
    STORED,
    CompactionRequest,
    RequestKind,
    compaction_request,
    conversation_key,
    decoded,
    lacks_model,
    requested_mode,
    wire_of,
)
from clew.proxy.sealed import holds_sealed
from clew.proxy.stats import Stats

if TYPE_CHECKING:
    from clew.proxy.digests import DigestWriter
    from clew.proxy.follow import Follower
    from clew.proxy.in_flight import InFlight


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole HTTP response."""

    status: int
    body: bytes
    kind: str = "application/json"


@dataclass(frozen=True, slots=True)
class Reaction:
    """What clew makes of a request: an answer, another body to send, or neither."""

    status: int = 0
    """The status of clew's own answer; 0 if the request is forwarded."""
    body: bytes | None = None
    kind: str = "application/json"
    label: str = "passed"
    """What happened, for the ``x-clew`` header."""
    shortened: bool = False
    """The body holds a compacted conversation..."""
    rewritten: bool = False
    """...which this request compacted further, so that the prompt cache does not hold it yet."""
    retry: Callable[[int, bytes], bytes | None] | None = None
    """Returns a shorter body for status and decoded body of an error response, if there is one."""
    finish: Callable[[int, bytes], Reaction] | None = None
    """Returns the answer, from status and body of the upstream's whole response; status 0 without one."""

    @classmethod
    def of(cls, answer: HttpAnswer, label: str) -> Reaction:
        """Return the reaction that answers a request."""
        return cls(answer.status, answer.body, answer.kind, label)


PASS = Reaction()
"""Forward the request as it is."""
Reactor: TypeAlias = Callable[[HttpRequest], Reaction]


class RequestReactor:
    """Decides for each request whether it is forwarded, answered, or compacted on its way.

    The header ``x-clew`` decides for one request: ``off`` forwards it unchanged, ``on`` compacts it in
    flight, ``preview`` only reports what that would do. Any other value is ignored.
    """

    def __init__(
        self,
        stats: Stats,
        *,
        compact: bool = False,
        window: int | None = None,
        digest_tokens: int | None = None,
        upstream_summary: bool = False,
        drop_thinking: bool = False,
    ) -> None:
        self.stats, self._upstream_summary = stats, upstream_summary
        self._drop_thinking = drop_thinking
        self._compact, self._window, self._digest_tokens = compact, window, digest_tokens
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._writer: DigestWriter | None = None
        self._in_flight: InFlight | None = None

    def __call__(self, http: HttpRequest) -> Reaction:
        """Return the reaction to a request.

        In this order: what is not for clew is passed on; a request for a compaction is answered, in any mode
        but ``off``; one without a conversation and a model is refused; a sealed digest is opened before the
        body is compacted; what is not compacted here is logged in the background (``follow.py``), so that
        little is left to do at its compaction.
        """
        wire = wire_of(http.path)
        mode = requested_mode(http) or ("on" if self._compact else "")
        if not wire or http.method != "POST" or mode == "off" or not isinstance(http.body, bytes):
            return PASS
        raw = decoded(http)
        request = compaction_request(http, raw)
        if request is not None:
            return self._answer_compaction(http, raw, request)
        if lacks_model(http, raw):
            from clew.proxy.answers import failure

            refusal = failure(wire, 400, "Missing required parameter: 'model'.")
            return Reaction.of(refusal, "refused; no model")
        opened = PASS
        if wire == "responses" and holds_sealed(raw):
            from clew.proxy.answers import opened_body

            if readable := opened_body(raw):
                raw, opened = readable, Reaction(body=readable, label="opened")
        if mode in ("on", "preview"):
            fitted = self._get_in_flight().fit_request(http, raw, wire, preview=mode == "preview")
            return _opened(fitted, opened) if fitted else opened
        self._get_follower().offer(http, raw, wire)
        return opened

    def warm_up(self) -> None:
        """Load what the first compaction needs, so that its client does not wait for it."""
        from clew.proxy.answers import warm_up

        warm_up()

    def settle(self, seconds: float = 60.0) -> bool:
        """Wait until the background thread has read all requests; False after the time is over."""
        return self._follower is None or self._follower.wait(seconds)

    def close(self) -> None:
        """Close the log."""
        if self._follower is not None:
            self._follower.close()

    def _answer_compaction(self, http: HttpRequest, raw: bytes, request: CompactionRequest) -> Reaction:
        """Answer a request of the client to summarise its conversation with clew's digest."""
        from clew.proxy.answers import answer, thread_refusal

        if refusal := thread_refusal(request.body):
            return refusal
        if any(request.body.get(name) for name in STORED):
            return PASS  # the provider keeps the conversation
        writer = self._get_writer()
        if self._upstream_summary and request.kind is RequestKind.SUMMARY:
            from clew.proxy.answers import upstream_judgement, upstream_summary

            def summarise() -> Reaction:
                return upstream_summary(request, writer.write(request), self.stats)

            return upstream_judgement(writer, request, self.stats, summarise)
        digest = writer.write(request)
        sizes = f"{digest.tokens_before} to {digest.tokens} tokens"
        label = f"answered; {digest.session} {digest.digest}, {sizes}"
        reaction = Reaction.of(answer(request, digest), label)
        self.stats.count("answered")
        with self.stats.conversation(conversation_key(http, raw)) as stats:
            stats.model, stats.session = str(request.body.get("model")), digest.session
            stats.add_compaction(digest.tokens_before, digest.tokens, answered=True)
        return reaction

    def _get_writer(self) -> DigestWriter:
        from clew.proxy.digests import DIGEST_TOKENS, DigestWriter

        conversations = self._get_follower().conversations
        with self._lock:
            if self._writer is None:
                self._writer = DigestWriter(conversations, self._digest_tokens or DIGEST_TOKENS)
            return self._writer

    def _get_follower(self) -> Follower:
        from clew.proxy.follow import Follower

        with self._lock:
            if self._follower is None:
                self._follower = Follower(self.stats)
            return self._follower

    def _get_in_flight(self) -> InFlight:
        from clew.proxy.in_flight import InFlight

        with self._lock:
            if self._in_flight is None:
                self._in_flight = InFlight(self.stats, self._window, drop_thinking=self._drop_thinking)
            return self._in_flight


def _opened(fitted: Reaction, opened: Reaction) -> Reaction:
    """Return the reaction with the opened body if it would send the sealed one, which no model reads."""
    if opened.body is None or fitted.body is not None:
        return fitted
    label = opened.label if fitted.label == PASS.label else fitted.label
    return replace(fitted, body=opened.body, label=label)
