"""Chat in the inspector: runs the chat loop of ``clew.chat`` and streams its events to the page.

A turn waits for the person's answer if a tool needs an approval, and stops on request or when the page goes
away; everything received until then is in the log. The chat's commands work here too, except those that
write files, open addresses or are controls of the page (``ELSEWHERE``).
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain

from clew.chat.commands import command_named, is_command, run_command
from clew.chat.events import (
    Answer,
    ApprovalRequested,
    ChatEnded,
    ChatEvent,
    ChatWarning,
    CommandOutput,
    Delta,
    ReplyStored,
    ToolFinished,
    ToolStarted,
    Turn,
    TurnFailed,
    TurnStopped,
    UserStored,
    ViewCompacted,
)
from clew.chat.loop import Chat
from clew.chat.opening import open_chat
from clew.chat.request import MAKE_ROOM
from clew.errors import ClewError, InputError
from clew.inspector.message_json import excerpt
from clew.inspector.session_pool import SessionPool
from clew.message import JsonObject
from clew.providers.model import StreamingModel
from clew.session import Session

ANSWER_SECONDS = 1_800
"""How long a turn waits for an approval; then the answer is no."""
ROOM_HERE = "the checkbox above switches automatic compaction on, the page Compactions compacts now"
"""The advice of the page in place of the terminal's commands."""
ModelFactory = Callable[[Session], StreamingModel]
"""Returns the model for a session."""


ELSEWHERE = {
    "auto": "use the checkbox above",
    "export": "`clew export SESSION` writes the file",
    "model": "`clew inspect --chat NAME` sets the model",
    "quit": "close the page; the session is kept",
    "trust": "`clew chat SESSION --root DIR` trusts files",
}
"""Commands that a page does not run, and what to do instead."""


@dataclass(slots=True)
class EventStream:
    """The events of a turn as JSON; can be read from any thread."""

    _events: Iterator[JsonObject]
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def __iter__(self) -> Iterator[JsonObject]:
        return self

    def __next__(self) -> JsonObject:
        with self._reading:
            return next(self._events)

    def end(self) -> None:
        """Consume the remaining events, so that a turn without a listener ends."""
        with suppress(ClewError):  # no listener is left to report it to
            deque(self, maxlen=0)


@dataclass(slots=True)
class PageChat:
    """The chat of one session, one turn at a time."""

    chat: Chat
    patience_seconds: float = 3.0
    """How long a new message waits for a stopping turn, for example one whose page was closed."""
    answer_seconds: float = ANSWER_SECONDS
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """Held while a turn runs."""
    _answers: queue.SimpleQueue[Answer] = field(default_factory=queue.SimpleQueue)
    """The person's answer to the pending approval."""
    _answering: threading.Lock = field(default_factory=threading.Lock)
    """Protects ``_answers`` and ``_wanted``."""
    _wanted: str | None = None
    """The id of the call that waits for an approval."""
    _stop: threading.Event = field(default_factory=threading.Event)
    """Set if the turn is to stop at its next event."""

    def say(self, text: str, auto: bool) -> EventStream:
        """Start a turn with the user's message and return its events."""
        command = command_named(text.split(maxsplit=1)[0]) if is_command(text) else None
        if command and command.name in ELSEWHERE:
            raise InputError(f"/{command.name} does not work in the page", ELSEWHERE[command.name])
        if not self._turn.acquire(timeout=self.patience_seconds):
            raise InputError("a turn is running", "wait for it, or stop it")
        self._stop.clear()
        self.chat.auto = auto
        events = self._events(
            _command_events(run_command(self.chat, text)) if command else self.chat.turn(text)
        )
        # Start the generator here, so that its cleanup runs even if nothing else is read from it.
        return EventStream(chain([next(events)], events))

    def _events(self, turn: Turn) -> Iterator[JsonObject]:
        """Yield the events of a turn as JSON; wait for the person when a tool needs approval."""
        answer: Answer | None = None
        try:
            while True:
                event = turn.send(answer)
                answer = None
                self._want(event.call_id if isinstance(event, ApprovalRequested) else None)
                yield event_to_json(event)
                if isinstance(event, ApprovalRequested):
                    answer = self._wait_for_answer()
                if self._stop.is_set():
                    yield event_to_json(turn.throw(KeyboardInterrupt))
        except StopIteration:
            return
        except KeyboardInterrupt:
            # The turn had already ended. Outside this thread the exception would end the server.
            yield event_to_json(TurnStopped())
        finally:
            self._want(None)
            turn.close()
            self._turn.release()

    def _want(self, call_id: str | None) -> None:
        """Expect an answer for this call only; one that came too late for an earlier call is dropped."""
        with self._answering:
            self._wanted = call_id
            self._answers = queue.SimpleQueue()

    def _wait_for_answer(self) -> Answer:
        try:
            return self._answers.get(timeout=self.answer_seconds)
        except queue.Empty:
            self._want(None)
            return Answer.NO

    def answer(self, call_id: str, answer: str) -> None:
        """Answer a pending approval; raise ``InputError`` if none is pending for this call."""
        if answer not in list(Answer):
            raise InputError(f"{answer!r} is not an answer", f"use one of {', '.join(Answer)}")
        with self._answering:
            if call_id != self._wanted:
                raise InputError("no approval is pending for this call", "it was already answered")
            self._wanted = None
            self._answers.put(Answer(answer))

    def stop(self) -> None:
        """Stop the turn at its next event; a pending approval is refused."""
        self._stop.set()
        with self._answering:
            if self._wanted is not None:
                self._wanted = None
                self._answers.put(Answer.NO)

    def close(self) -> None:
        """Stop the turn and wait for its end, because the store is closed next."""
        self.stop()
        if self._turn.acquire(timeout=self.patience_seconds):
            self._turn.release()


def _command_events(command: Turn) -> Turn:
    """Run a command; an error is an event of it, such as a missing argument."""
    try:
        yield from command
    except ClewError as error:
        yield TurnFailed(error)


@dataclass(slots=True)
class PageChats:
    """The chats of a pool's sessions, each created at its first message."""

    pool: SessionPool
    model_factory: ModelFactory | None = None
    """Without it, the offline model is used."""
    _begun: dict[str, PageChat] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, name: str) -> PageChat:
        """Return the chat of a session."""
        with self._lock:
            if name not in self._begun:
                self._begun[name] = PageChat(self._new(name))
            return self._begun[name]

    def close(self) -> None:
        """Stop all turns."""
        with self._lock:
            for chat in self._begun.values():
                chat.close()

    def _new(self, name: str) -> Chat:
        """Open a chat on a session."""
        pool = self.pool.home(name)
        with pool.open(name):  # raises NotFound if it does not exist
            pass
        # A separate session: a turn may take minutes, and must not block the other pages.
        session = Session.open(
            name,
            pool.store,
            workspace=pool.workspace,
            model=pool.options.model,
            window=pool.options.window,
            off=pool.options.off,
        )
        return open_chat(
            session, self.model_factory(session) if self.model_factory else None, index=pool.index
        )


_NAMES: Mapping[type[ChatEvent], str] = {
    UserStored: "user",
    Delta: "delta",
    ReplyStored: "reply",
    ToolStarted: "tool",
    ApprovalRequested: "approval",
    ToolFinished: "done",
    ViewCompacted: "compacted",
    ChatWarning: "warned",
    TurnFailed: "failed",
    TurnStopped: "stopped",
    CommandOutput: "output",
    ChatEnded: "ended",
}


def event_to_json(event: ChatEvent) -> JsonObject:
    """Return an event as JSON."""
    return {"is": _NAMES[type(event)], **_fields(event)}


def _fields(event: ChatEvent) -> JsonObject:
    match event:
        case ReplyStored(id=name, usage=usage):
            return {"id": name, **asdict(usage)}
        case ViewCompacted(notice=notice):
            return notice.to_json()
        case TurnFailed(error=error, advice=advice):
            return {"text": str(error), "advice": advice.replace(MAKE_ROOM, ROOM_HERE)}
        case ChatWarning(text=text):
            return {"text": text.replace(MAKE_ROOM, ROOM_HERE)}
        case ToolFinished(text=text):
            return {**asdict(event), "text": excerpt(text), "trust": event.trust.label}
        case _:
            return asdict(event)
