"""The turn loop: a user's words go in, happenings come out. No terminal, no page, no thread.

A turn is a generator of ``Happening``. After ``ApprovalWanted`` it wants to be sent an ``Answer``; to
interrupt it, throw ``KeyboardInterrupt`` into it, or let one arise inside. Whatever happens, the user's words
are in the log before the model is asked, and no tool call is left without an answer.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeAlias

from clew.budget import Calm, Compact, Fill, ResultArrived, Signal, TokenBudget
from clew.chat.approvals import Approvals
from clew.chat.calls import Calls
from clew.chat.hands import Hands
from clew.chat.happenings import (
    Answer,
    Compacted,
    Delta,
    Failed,
    Happening,
    Said,
    Stopped,
    Taken,
    Warned,
)
from clew.chat.instructed import Instructed
from clew.chat.kit import Kit
from clew.chat.notice import notice_of
from clew.chat.progressed import Progressed
from clew.chat.request import Requests
from clew.context.diagnose import Scene
from clew.context.request import Assembled
from clew.errors import BudgetExceeded, CompactionRefused, ContextTooLong, ModelError, StalePlan
from clew.memory import Memory
from clew.message import JsonObject, Origin, Role, said
from clew.models import RemoteModel, Streamed, StreamingModel
from clew.ports import Reply, Stop
from clew.session import Compaction, Fitted, Request, Session

MOST_ROUNDS = 40
"""Requests of one turn: a model that calls tools for ever is stopped."""
WARNING_STEP = 0.05
"""Of the usable window: how much fuller it gets before it is warned of again."""
SQUEEZED = 0.9
"""Of the room that there is, filled by a compaction that must be, whatever it would rather leave."""
GO_ON = "Go on where you stopped."
BROKE_OFF = "\n\n[the reply broke off here]"
INTERRUPTED = "\n\n[interrupted by the user]"
MAKE_ROOM = "/compact makes room, /auto on lets clew do it when it is time"

Turn: TypeAlias = Generator[Happening, Answer | None, None]
Asking: TypeAlias = Generator[Happening, Answer | None, Reply | None]


class Chat:
    """A session, the model that it talks to, and the tools of that model."""

    def __init__(
        self,
        session: Session,
        model: StreamingModel,
        kit: Kit,
        memory: Memory,
        instructed: Instructed,
    ) -> None:
        """Take what a chat is made of; ``open_chat`` puts it together."""
        self.session = session
        self.model = model
        self.kit = kit
        self.memory = memory
        self.auto = False
        """Whether clew compacts unasked."""
        self.approvals = Approvals(session)
        self.progressed = Progressed(session, memory)
        self.requests = Requests(session, kit, memory, self.approvals, instructed, self.progressed)
        self._instructed = instructed
        self._hands = Hands(session, kit, self.approvals, instructed)
        self._calls = Calls(session)
        self._warned_at = 0

    def talk_to(self, model: StreamingModel) -> None:
        """Go on with another model. One behind an API also sets the window, and writes digests' prose."""
        self._hang_up()
        self.model = model
        self.session.summariser = None
        if isinstance(model, RemoteModel):
            self.session.summariser = model
            self.session.talk_to(model.name.partition("/")[2])

    def close(self) -> None:
        """Take a last checkpoint, and let go of the model's connections."""
        self.progressed.take("the chat ended")
        self._hang_up()

    def _hang_up(self) -> None:
        if isinstance(self.model, RemoteModel):
            self.model.close()

    # A turn ----------------------------------------------------------------------------------------------

    def turn(self, text: str) -> Turn:
        """Take the user's words, and go on until the model is done."""
        self._hands.settle()
        (id_,) = self.session.add(said(Role.USER, text))
        yield Taken(id_)
        yield from self._rounds()

    def again(self) -> Turn:
        """Ask the model once more for what was said last, without a new turn."""
        self._hands.settle()
        view = self.session.view()
        if view and view[-1].message.role is Role.ASSISTANT:  # it spoke last, perhaps not to the end
            self.session.add(said(Role.USER, GO_ON, Origin.INJECTED))
        yield from self._rounds()

    def _rounds(self) -> Turn:
        signals: tuple[Signal, ...] = ()
        squeezed = False
        for number in range(MOST_ROUNDS):
            body = yield from self._prepared(signals, first=not number)
            if body is None:
                return
            try:
                reply = yield from self._reply(body)
            except ContextTooLong as error:
                # Its provider counts more than clew does: once, room is made for that too.
                if squeezed or not (yield from self._squeezed(self.session.tokens // 2)):
                    yield Failed(error, MAKE_ROOM)
                    return
                squeezed = True
                continue
            calls = [call for call in reply.message.calls if not call.server_side] if reply else []
            answered = (yield from self._hands.answer(calls)) if calls else None
            if answered is None:
                return
            signals = answered
        yield Warned(f"stopped after {MOST_ROUNDS} requests in one turn; say go on, or /retry")

    # Before a request ------------------------------------------------------------------------------------

    def _prepared(
        self, signals: tuple[Signal, ...], *, first: bool
    ) -> Generator[Happening, Answer | None, JsonObject | None]:
        """Return the body to send; None where nothing can be sent."""
        try:
            assembled = yield from self._roomy(signals, first)
        except BudgetExceeded as error:
            yield Failed(error, MAKE_ROOM)
            return None
        body = self.requests.body(assembled, self.model)
        self._calls.begin(body, self.model.wire, end_blocks=1 if assembled.end else 0)
        return body

    def _roomy(
        self, signals: tuple[Signal, ...], first: bool
    ) -> Generator[Happening, Answer | None, Assembled]:
        """Return a request that fits: measure, compact or warn; what cannot fit is ``BudgetExceeded``."""
        assembled = self.requests.assembled()
        if self.session.is_off:
            return assembled  # a plain client: its provider says what is too long
        # What a tool has just answered is read before it may be condensed, unless it is far too long.
        auto = self.auto and (first or self._is_oversized(signals))
        about = self.requests.about(assembled)
        request = Request(signals, assembled.extra, self._calls.age_seconds, self._calls.made, about)
        fitted = yield from self._fitted(request, auto)
        if first and not fitted.compaction:
            yield from self._warned(fitted)
        fill = Fill.of(fitted.budget.allotment)
        over = fill.used_tokens > fill.window.usable_tokens
        room = fill.window.usable_tokens - sum(assembled.extra.values())
        if over and not (yield from self._squeezed(int(room * SQUEEZED))):
            raise BudgetExceeded(str(fill))
        return self.requests.assembled() if over or fitted.compaction else assembled

    def _is_oversized(self, signals: tuple[Signal, ...]) -> bool:
        most = self.session.gauge.policy.oversized.of(self.session.gauge.window.usable_tokens)
        return any(isinstance(one, ResultArrived) and one.tokens > most for one in signals)

    def _fitted(self, request: Request, auto: bool) -> Generator[Happening, Answer | None, Fitted]:
        """Measure, and compact where that is wanted; a compaction that is refused does not stop the turn."""
        try:
            fitted = self.session.fit(request, auto=auto)
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            fitted = self.session.fit(request)
            yield from self._warned(fitted, f"not compacted: {error}")
        if fitted.compaction:
            yield from self._told(fitted.compaction)
        return fitted

    def _warned(self, fitted: Fitted, why: str = "") -> Turn:
        """Warn when the window gets fuller by a step, not at every turn."""
        verdict = fitted.verdict
        if isinstance(verdict, Calm):
            self._warned_at = 0
            return
        fill = Fill.of(fitted.budget.allotment)
        step = int(fill.used_tokens / max(1, fill.window.usable_tokens) / WARNING_STEP)
        if step > self._warned_at:
            do = f"; {MAKE_ROOM}" if isinstance(verdict, Compact) and not self.auto else ""
            yield Warned(f"{why or verdict.why}{do}")
        self._warned_at = step

    def _squeezed(self, target_tokens: int) -> Generator[Happening, Answer | None, bool]:
        """Make as much room as there must be, where clew may; tell whether that did anything."""
        if not self.auto or self.session.is_off:
            return False
        try:
            made = self.session.compact(target_tokens=max(1, target_tokens))
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            yield Warned(f"not compacted: {error}")
            return False
        if made:
            yield from self._told(made)
        return made is not None

    def compact(self, focus: str | None = None) -> Turn:
        """Compact now; nothing happens where there is nothing to gain."""
        made = self.session.compact(focus=focus)
        if made:
            yield from self._told(made)

    def _told(self, made: Compaction) -> Turn:
        """Tell of a compaction; with it, what belongs to the stable part moves there."""
        self._warned_at = 0
        self._instructed.settle()
        notice = notice_of(made)
        self.progressed.take(f"compacted as {notice.digest}" if notice.digest else "compacted")
        yield Compacted(notice)

    # Looking at it ---------------------------------------------------------------------------------------

    def budget(self) -> TokenBudget:
        """Say how full the window is now; nothing is compacted, and nothing put on record."""
        return self.session.gauge.measure(self.requests.assembled().asks)

    def scene(self) -> Scene:
        """Return the next request and its session as the diagnostics look at them."""
        return self.requests.scene(self._calls.last)

    # The reply -------------------------------------------------------------------------------------------

    def _reply(self, body: JsonObject) -> Asking:
        """Return the reply, kept; None where none came or nothing is left to do with it."""
        heard: list[str] = []
        try:
            reply = yield from _listened(self.model.stream(body), heard)
        except ContextTooLong:
            raise
        except ModelError as error:
            self._keep_part(heard, BROKE_OFF)
            yield Failed(error, "your words are kept; /retry asks again")
            return None
        except KeyboardInterrupt:
            yield Stopped(self._keep_part(heard, INTERRUPTED))
            return None
        except GeneratorExit:
            self._keep_part(heard, INTERRUPTED)
            raise
        self._calls.end(reply, self.model)
        return (yield from self._kept(reply))

    def _kept(self, reply: Reply) -> Asking:
        if not reply.text.strip() and not reply.called:
            yield Warned(f"the model said nothing ({reply.stop.value})")
            return None
        (id_,) = self.session.add(reply.message)
        yield Said(id_, reply.message, reply.stop, reply.usage)
        if reply.stop is Stop.MAX_TOKENS:
            yield Warned("the reply was cut at its limit; say go on")
        return reply

    def _keep_part(self, heard: Sequence[str], mark: str) -> str | None:
        """Keep what came of a reply, marked as a part; what has no words is dropped."""
        text = "".join(heard).strip()
        if not text:
            return None
        (id_,) = self.session.add(said(Role.ASSISTANT, f"{text}{mark}"))
        return id_


def _listened(stream: Streamed, heard: list[str]) -> Generator[Happening, Answer | None, Reply]:
    """Pass words on as they come; ``heard`` has those that were said so far, whatever happens."""
    try:
        while True:
            try:
                piece = next(stream)
            except StopIteration as end:
                reply: Reply = end.value
                return reply
            if not piece.thinking:
                heard.append(piece.text)
            yield Delta(piece.text, piece.thinking)
    finally:
        stream.close()
