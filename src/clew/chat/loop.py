"""The turn loop: takes a user's message and yields events. It knows no terminal, page or thread.

::

    for event in chat.turn("fix the login page"):
        ...  # UserStored, Delta, …, ReplyStored, ToolStarted, ToolFinished, Delta, …, ReplyStored

A turn is a generator of ``ChatEvent``. After ``ApprovalRequested``, send an ``Answer`` into it; to interrupt
it, throw ``KeyboardInterrupt`` into it, or raise one inside. In every case the user's message is in the log
before the model is called, and no tool call is left without a result.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from clew.budget import Signal, TokenBudget
from clew.chat.approvals import InstructionTracker
from clew.chat.events import (
    Answer,
    ChatEvent,
    ChatWarning,
    Delta,
    ReplyStored,
    Turn,
    TurnFailed,
    TurnStopped,
    UserStored,
)
from clew.chat.request import MAKE_ROOM, CallLog, RequestBuilder, RequestFitter
from clew.chat.sessions import Choices, keep_choices, turn_lock
from clew.chat.tool_runner import NOT_RUN, ToolRunner, Toolset
from clew.errors import BudgetExceeded, ContextTooLong, InputError, ModelError
from clew.memory import Memory
from clew.message import JsonObject, Origin, Role, text_message
from clew.providers.model import Reply, Stop, Streamed, StreamingModel
from clew.providers.remote import RemoteModel
from clew.request.diagnostics import RequestState
from clew.session import Session

MOST_ROUNDS = 40
"""Most requests of one turn, so that a model that calls tools for ever is stopped. Chosen by hand."""
GO_ON = "Go on where you stopped."
BROKE_OFF = "\n\n[the reply broke off here]"
INTERRUPTED = "\n\n[interrupted by the user]"
UNDER_WAY = "wait until it ends, or stop it there; your message was not stored"

Asking: TypeAlias = Generator[ChatEvent, Answer | None, Reply | None]
"""The events of one model call; it returns the reply, None if the turn ends here."""


class Chat:
    """A conversation: a session, a model, and the model's tools."""

    def __init__(
        self,
        session: Session,
        model: StreamingModel,
        toolset: Toolset,
        memory: Memory,
        instructions: InstructionTracker,
    ) -> None:
        """Store the parts; use ``open_chat`` to create a chat."""
        self.session = session
        self.model = model
        self.toolset = toolset
        self.memory = memory
        self.auto = False
        """Whether clew compacts automatically."""
        self._choices = Choices()
        self.approvals = instructions.approvals
        self.requests = RequestBuilder(session, toolset, memory, self.approvals, instructions)
        self.requests.plain_start = isinstance(model, RemoteModel)
        self._instructions = instructions
        self._tool_runner = ToolRunner(session, toolset, self.approvals, instructions)
        self._calls = CallLog(session)
        self._fitter = RequestFitter(session, self.requests, self._calls)

    def set_model(self, model: StreamingModel) -> None:
        """Continue with another model. A remote model also sets the window and becomes the summariser."""
        self._hang_up()
        self.model = model
        self.session.summariser = None
        self.requests.plain_start = isinstance(model, RemoteModel)
        if isinstance(model, RemoteModel):
            self.session.summariser = model
            self.session.set_model(model.name.partition("/")[2])

    def choose(self, choices: Choices) -> None:
        """Apply a person's choices; they are stored with the session once it has a message."""
        self._choices = choices.over(self._choices)
        if choices.auto is not None:
            self.auto = choices.auto
        if choices.window is not None:
            self.session.gauge = replace(self.session.gauge, window_tokens=choices.window)
        if self.session.view():
            keep_choices(self.session, self._choices)

    def trust(self, path: str) -> None:
        """Trust an instruction file that this session wrote."""
        self._instructions.trust(path)

    def close(self) -> None:
        """Take a last progress checkpoint and close the model's connections."""
        self.session.checkpoint("the chat ended")
        self._hang_up()

    def _hang_up(self) -> None:
        if isinstance(self.model, RemoteModel):
            self.model.close()

    # A turn ----------------------------------------------------------------------------------------------

    def turn(self, text: str) -> Turn:
        """Store the user's message and run the model and its tools until the model is done."""
        return self._run_locked(self._turn(text))

    def again(self) -> Turn:
        """Call the model again without a new message of the user."""
        return self._run_locked(self._retry())

    def _run_locked(self, turn: Turn) -> Turn:
        """Run a turn under the session's turn lock; yield ``TurnFailed`` if another turn holds it."""
        with turn_lock(self.session) as alone:
            if alone:
                yield from self._run_and_settle(turn)
            else:
                what = f"a turn of {self.session.name} is running in another window"
                with suppress(KeyboardInterrupt):
                    yield TurnFailed(InputError(what, UNDER_WAY))

    def _run_and_settle(self, turn: Turn) -> Turn:
        """Run a turn; if it is interrupted, add a result to every open tool call."""
        self._tool_runner.settle()
        try:
            yield from turn
        except KeyboardInterrupt:
            self._tool_runner.settle(NOT_RUN)
            with suppress(KeyboardInterrupt):
                yield TurnStopped()
        except GeneratorExit:
            self._tool_runner.settle(NOT_RUN)
            raise

    def _turn(self, text: str) -> Turn:
        keep_choices(self.session, self._choices)
        (id_,) = self.session.add(text_message(Role.USER, text))
        yield UserStored(id_)
        yield from self._rounds()

    def _retry(self) -> Turn:
        view = self.session.view()
        if view and view[-1].message.role is Role.ASSISTANT:  # it spoke last, perhaps not to the end
            self.session.add(text_message(Role.USER, GO_ON, Origin.INJECTED))
        yield from self._rounds()

    def _rounds(self) -> Turn:
        """Send requests and run the tools that the model calls, until it answers without a call."""
        signals: tuple[Signal, ...] = ()
        squeezed = False
        for number in range(MOST_ROUNDS):
            body = yield from self._prepare_body(signals, first=not number)
            if body is None:
                return
            try:
                reply = yield from self._reply(body)
            except ContextTooLong as error:
                # The provider counts more tokens than clew: compact to half the size and retry, once.
                half = self.session.tokens // 2
                if squeezed or not (yield from self._fitter.force_compaction(half, auto=self.auto)):
                    yield TurnFailed(error, MAKE_ROOM)
                    return
                squeezed = True
                continue
            calls = [call for call in reply.message.calls if not call.server_side] if reply else []
            answered = (yield from self._tool_runner.answer(calls)) if calls else None
            if answered is None:
                return
            signals = answered
        yield ChatWarning(f"stopped after {MOST_ROUNDS} requests in one turn; ask to continue, or /retry")

    # Before a request ------------------------------------------------------------------------------------

    def _prepare_body(
        self, signals: tuple[Signal, ...], *, first: bool
    ) -> Generator[ChatEvent, Answer | None, JsonObject | None]:
        """Return the request body; None if no request fits."""
        try:
            assembled = yield from self._fitter.fit(signals, first=first, auto=self.auto)
        except BudgetExceeded as error:
            yield TurnFailed(error, "" if self.auto else MAKE_ROOM)
            return None
        body = self.requests.body(assembled, self.model)
        self._calls.begin(assembled, body, self.model.wire)
        return body

    def compact(self, words: str = "") -> Turn:
        """Compact now, if that makes the view smaller; a range (m1-m20) and a focus may be given."""
        return self._fitter.compact(words)

    # Diagnostics -----------------------------------------------------------------------------------------

    def budget(self) -> TokenBudget:
        """Return how full the window is now, without compacting or recording anything."""
        return self.session.measure(self.requests.assembled())

    @property
    def cache_age_seconds(self) -> float | None:
        """Return the time since the last reply; None before the first one of this process."""
        return self._calls.age_seconds

    def request_state(self) -> RequestState:
        """Return the next request and its session for the diagnostics."""
        return self.requests.request_state(self._calls.last)

    # The reply -------------------------------------------------------------------------------------------

    def _reply(self, body: JsonObject) -> Asking:
        """Call the model and store its reply; return None if the turn ends here."""
        received: list[str] = []
        try:
            reply = yield from _stream_reply(self.model.stream(body), received)
        except ContextTooLong:
            raise
        except ModelError as error:
            self._keep_part(received, BROKE_OFF)
            yield TurnFailed(error, "your message is stored; /retry calls the model again")
            return None
        except KeyboardInterrupt:
            yield TurnStopped(self._keep_part(received, INTERRUPTED))
            return None
        except GeneratorExit:
            self._keep_part(received, INTERRUPTED)
            raise
        self._calls.end(reply, self.model)
        return (yield from self._store_reply(reply))

    def _store_reply(self, reply: Reply) -> Asking:
        if not reply.text.strip() and not reply.called:
            yield ChatWarning(f"the model returned an empty reply ({reply.stop.value})")
            return None
        (id_,) = self.session.add(reply.message)
        yield ReplyStored(id_, reply.message, reply.stop, reply.usage)
        if reply.stop is Stop.MAX_TOKENS:
            yield ChatWarning("the reply was cut at its token limit; ask to continue")
        return reply

    def _keep_part(self, received: Sequence[str], mark: str) -> str | None:
        """Store a partial reply with a mark and return its id; None if it has no text."""
        text = "".join(received).strip()
        if not text:
            return None
        (id_,) = self.session.add(text_message(Role.ASSISTANT, f"{text}{mark}"))
        return id_


def _stream_reply(stream: Streamed, received: list[str]) -> Generator[ChatEvent, Answer | None, Reply]:
    """Yield the streamed pieces and return the reply; ``received`` collects the text so far."""
    try:
        while True:
            try:
                piece = next(stream)
            except StopIteration as end:
                reply: Reply = end.value
                return reply
            if not piece.thinking:
                received.append(piece.text)
            yield Delta(piece.text, piece.thinking)
    finally:
        stream.close()
