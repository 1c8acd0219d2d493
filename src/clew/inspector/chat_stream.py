"""Chat in the page: the terminal's own loop, told as it happens.

A turn runs where its page listens. It waits for a person where a tool would change something, and stops when
somebody says so or the page goes away; whatever came until then is in the log. Commands that begin with a
slash are for the terminal: one of them opens addresses, another writes files, and a page may do neither.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain

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
    TurnFailed,
    TurnStopped,
    UserStored,
    ViewCompacted,
)
from clew.chat.loop import MAKE_ROOM, Chat, Turn
from clew.chat.opening import open_chat
from clew.errors import ClewError, InputError
from clew.inspector.message_json import excerpt
from clew.inspector.session_pool import SessionPool
from clew.message import JsonObject
from clew.providers.model import StreamingModel
from clew.session import Session

ANSWER_SECONDS = 1_800
"""How long a turn waits for a person; then the answer is no."""
ROOM_HERE = "the box above lets clew compact when it is time, the digests page does it at once"
"""What the page says where the terminal names its commands."""
ModelFactory = Callable[[Session], StreamingModel]
"""Gives the model that a session chats to."""


@dataclass(slots=True)
class EventStream:
    """What happens in a turn, to be asked for from any thread."""

    _told: Iterator[JsonObject]
    _asked: threading.Lock = field(default_factory=threading.Lock)

    def __iter__(self) -> Iterator[JsonObject]:
        return self

    def __next__(self) -> JsonObject:
        with self._asked:
            return next(self._told)

    def end(self) -> None:
        """Let the rest happen where nobody listens any more: a turn that nobody asks on is never over."""
        with suppress(ClewError):  # there is nobody to tell
            deque(self, maxlen=0)


@dataclass(slots=True)
class PageChat:
    """A chat on one session. One turn at a time."""

    chat: Chat
    patience_seconds: float = 3.0
    """How long new words wait for a turn to end: one whose page was closed is just stopping."""
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _answers: queue.SimpleQueue[Answer] = field(default_factory=queue.SimpleQueue)
    _answering: threading.Lock = field(default_factory=threading.Lock)
    _wanted: str | None = None
    """The call that leave is asked for."""
    _stop: threading.Event = field(default_factory=threading.Event)

    def say(self, text: str, auto: bool) -> EventStream:
        """Take the user's words, and tell what happens until the model is done."""
        if text.startswith("/"):
            raise InputError("commands are for the terminal", "the other pages have buttons for what they do")
        if not self._turn.acquire(timeout=self.patience_seconds):
            raise InputError("a turn is under way", "wait for it, or stop it")
        self._stop.clear()
        self.chat.auto = auto
        told = self._told(self.chat.turn(text))
        # The first thing happens here: what was begun ends by itself, also when nobody listens any more.
        return EventStream(chain([next(told)], told))

    def _told(self, turn: Turn) -> Iterator[JsonObject]:
        answer: Answer | None = None
        try:
            while True:
                event = turn.send(answer)
                answer = None
                self._wanted = event.call_id if isinstance(event, ApprovalRequested) else None
                yield event_to_json(event)
                if isinstance(event, ApprovalRequested):
                    answer = self._asked()
                if self._stop.is_set():
                    yield event_to_json(turn.throw(KeyboardInterrupt))
        except StopIteration:
            return
        except KeyboardInterrupt:
            # Thrown where the turn had nothing to stop. Beyond this thread it would end the server.
            yield event_to_json(TurnStopped())
        finally:
            turn.close()
            self._turn.release()

    def _asked(self) -> Answer:
        try:
            return self._answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            return Answer.NO

    def answer(self, call_id: str, answer: str) -> None:
        """Answer what a turn asked; what it does not ask, or was told already, is an ``InputError``."""
        if answer not in list(Answer):
            raise InputError(f"{answer!r} is no answer", f"say one of {', '.join(Answer)}")
        with self._answering:
            if call_id != self._wanted:
                raise InputError("this is not asked", "a second answer would go to the next question")
            self._wanted = None
            self._answers.put(Answer(answer))

    def stop(self) -> None:
        """Stop the turn at its next word; what it asks is answered with no."""
        self._stop.set()
        with self._answering:
            if self._wanted is not None:
                self._wanted = None
                self._answers.put(Answer.NO)

    def close(self) -> None:
        """Stop the turn, and wait for its end: it writes its last words to a store that is closed next."""
        self.stop()
        if self._turn.acquire(timeout=self.patience_seconds):
            self._turn.release()


@dataclass(slots=True)
class PageChats:
    """The chats of a pool's sessions, each begun when somebody first speaks."""

    pool: SessionPool
    model_factory: ModelFactory | None = None
    """Without one the offline model answers."""
    _begun: dict[str, PageChat] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, name: str) -> PageChat:
        """Return the chat of a session."""
        with self._lock:
            if name not in self._begun:
                self._begun[name] = PageChat(self._new(name))
            return self._begun[name]

    def close(self) -> None:
        """End all turns."""
        with self._lock:
            for talk in self._begun.values():
                talk.close()

    def _new(self, name: str) -> Chat:
        pool = self.pool
        with pool.open(name):  # says if there is none
            pass
        # A session of its own: a turn may take minutes, and the other pages go on meanwhile.
        session = Session.open(
            name,
            pool.store,
            workspace=pool.workspace,
            model=pool.options.model,
            window=pool.options.window,
        )
        return open_chat(
            session, self.model_factory(session) if self.model_factory else None, index=pool.index
        )


_NAMES: Mapping[type[ChatEvent], str] = {
    UserStored: "taken",
    Delta: "delta",
    ReplyStored: "said",
    ToolStarted: "tool",
    ApprovalRequested: "wanted",
    ToolFinished: "done",
    ViewCompacted: "compacted",
    ChatWarning: "warned",
    TurnFailed: "failed",
    TurnStopped: "stopped",
    CommandOutput: "told",
    ChatEnded: "ended",
}


def event_to_json(event: ChatEvent) -> JsonObject:
    """Return what happened, for the page."""
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
