"""Sessions to look at: one that was compacted, one that attacks its reader, one that is long."""

from __future__ import annotations

import shutil
from pathlib import Path

from clew.inspector.session_pool import PoolOptions, SessionPool
from clew.log import message_event
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.message import JsonObject, Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.providers.model import Piece, Reply, Stop, Streamed
from clew.session import Session
from tests.session.talk import talk

WORKSPACE = "local"
TOUR = "tour: a/b #1"
EVIL = "evil"
WINDOW = 12_000
MODEL = "claude-sonnet-4-5"
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
EVIL_WORDS = f'{SCRIPT} <a href="javascript:alert(1)">x</a> </script></textarea><svg onload=alert(1)>'


def toured(store: SqliteStore, name: str = TOUR) -> Session:
    """Add a session that was compacted twice, with a rule, tool calls and a request at the end."""
    session = Session.open(name, store, model=MODEL, window=WINDOW)
    messages = list(talk(40))
    for start in range(0, len(messages), 42):
        session.add(*messages[start : start + 42])
        session.fit(auto=True)
    session.compact(focus="the rounding")
    return session


def evil(store: SqliteStore) -> None:
    """Add a session in which everything that can hold text holds markup."""
    session = Session.open(EVIL, store, model=MODEL, window=WINDOW)
    call = ToolCall("c1", f"tool{SCRIPT}", {"path": SCRIPT})
    result = ToolResult("c1", (Text(EVIL_WORDS, trust=Trust.UNTRUSTED),), name=SCRIPT, trust=Trust.UNTRUSTED)
    session.add(text_message(Role.USER, f"Never touch {SCRIPT} please."))
    session.add(
        text_message(Role.ASSISTANT, EVIL_WORDS),
        Message(Role.ASSISTANT, (call,)),
        Message(Role.TOOL, (result,)),
    )
    for number in range(12):
        session.add(
            text_message(Role.USER, f"{number} {EVIL_WORDS}"),
            text_message(Role.ASSISTANT, f"{EVIL_WORDS} {number} done"),
        )
    session.pin(f"Keep {SCRIPT}")
    session.compact(target_tokens=500)


def long(store: SqliteStore, messages: int, name: str = "long") -> None:
    """Add a session of so many short messages; nothing but the log is made."""
    ctx = Ctx(workspace=WORKSPACE, session=name)
    head = None
    for start in range(0, messages, 2_000):
        batch = [
            message_event(
                text_message(
                    Role.USER if n % 2 else Role.ASSISTANT, f"message number {n} of src/f_{n % 97}.py"
                )
            )
            for n in range(start + 1, min(messages, start + 2_000) + 1)
        ]
        head = store.append(ctx, batch, head)


class Asking:
    """A model that sets two rules, one after the other, and then says that it is done."""

    name, window_tokens, wire = "scripted/asking", 100_000, "anthropic"

    def __init__(self) -> None:
        self.calls = [ToolCall(f"c{n}", "pin", {"quote": f"Rule {n}."}) for n in (1, 2)]

    def fields(self, max_output_tokens: int) -> JsonObject:
        return {"model": "asking", "max_tokens": max_output_tokens}

    def stream(self, _body: JsonObject) -> Streamed:
        yield Piece("Well. ")
        if self.calls:
            return Reply(Message(Role.ASSISTANT, (Text("Well."), self.calls.pop(0))), Stop.TOOL_CALL)
        return Reply(text_message(Role.ASSISTANT, "Well."))


class Counting:
    """A store that counts the events that are read from it."""

    def __init__(self, store) -> None:
        self._store = store
        self.events = 0

    def read(self, *args):
        for stored in self._store.read(*args):
            self.events += 1
            yield stored


class House:
    """A store in a folder, and the pool on it."""

    def __init__(self, folder: Path, template: Path | None = None) -> None:
        path = folder / "clew.db"
        if template:
            shutil.copyfile(template, path)
        self.store = SqliteStore(path)
        self.index = SqliteIndex(path)
        self.pool = SessionPool(self.store, WORKSPACE, self.index, PoolOptions(MODEL, WINDOW))

    def close(self) -> None:
        self.index.close()
        self.store.close()
