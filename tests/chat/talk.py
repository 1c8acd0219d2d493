"""A chat to test with: a store in memory or on disk, and what happens in it as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from clew.chat import Answer, ApprovalRequested, Chat, ChatEvent, ReplyStored, Turn, open_chat
from clew.log.store import MemoryStore, SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.message import Message, Role, Text, ToolCall, Trust
from clew.providers.model import Reply, Stop, StreamingModel
from clew.session import Session

WINDOW = 64_000


def new_chat(
    model: StreamingModel | None = None,
    *,
    root: Path | None = None,
    window: int = WINDOW,
    auto: bool = False,
    store: MemoryStore | SqliteStore | None = None,
    name: str = "talk",
    trusted: bool = False,
) -> Chat:
    """Open a chat; without a model, the offline one answers. It has no index."""
    session = Session.open(name, store or MemoryStore(), window=window)
    return open_chat(session, model, root=root, auto=auto, trusted=trusted)


def disk_chat(folder: Path, *, window: int = WINDOW, auto: bool = False, root: Path | None = None) -> Chat:
    """Open a chat on disk, with an index."""
    path = folder / "clew.db"
    session = Session.open("talk", SqliteStore(path), window=window)
    return open_chat(session, root=root, index=SqliteIndex(path), auto=auto)


def played(turn: Turn, answers: Iterable[Answer] = ()) -> list[ChatEvent]:
    """Play a turn to its end; approvals get the answers in order, and no where there are no more."""
    waiting = iter(answers)
    happened: list[ChatEvent] = []
    step: Callable[[], ChatEvent] = lambda: next(turn)  # noqa: E731
    while True:
        try:
            happened.append(step())
        except StopIteration:
            return happened
        answer = next(waiting, None) if isinstance(happened[-1], ApprovalRequested) else None
        step = lambda answer=answer: turn.send(answer)  # noqa: E731


def tell(chat: Chat, text: str, answers: Iterable[Answer] = ()) -> list[ChatEvent]:
    """Say something, and return what happens."""
    return played(chat.turn(text), answers)


def reply_to(chat: Chat, text: str, answers: Iterable[Answer] = ()) -> str:
    """Say something, and return the last words of the model."""
    return [one.message.text for one in tell(chat, text, answers) if isinstance(one, ReplyStored)][-1]


def kinds(happened: Iterable[ChatEvent]) -> list[str]:
    """Return what kinds of things happened, words of the reply taken together."""
    names = [type(one).__name__ for one in happened]
    return [name for i, name in enumerate(names) if name != "Delta" or names[i - 1 : i] != ["Delta"]]


def calling(*calls: tuple[str, dict[str, object]], text: str = "") -> Reply:
    """Return a reply that calls tools."""
    said = (Text(text, trust=Trust.ASSISTANT),) if text else ()
    made = tuple(
        ToolCall(f"call_{number}", name, dict(arguments), trust=Trust.ASSISTANT)  # type: ignore[arg-type]
        for number, (name, arguments) in enumerate(calls, start=1)
    )
    return Reply(Message(Role.ASSISTANT, (*said, *made)), Stop.TOOL_CALL)


def roles(chat: Chat) -> list[str]:
    """Return who speaks in the view, in order."""
    return [item.message.role.value for item in chat.session.view()]
