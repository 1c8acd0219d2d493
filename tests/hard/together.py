"""What many processes do to one session at once.

Nothing here is a test. Each process says that it is ready, waits until it is told to begin, does its work and
says what came of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from clew.errors import ClewError
from clew.log.store import SqliteStore
from clew.memory.notes import Draft, Notebook, NoteScope
from clew.message import Role, text_message
from clew.providers.model import Reply
from clew.session import Session
from tests.hard.life import exchange
from tests.summarisers import good_summariser


def append(session: Session, worker: str, times: int) -> object:
    """Append one message at a time."""
    for n in range(times):
        session.add(text_message(Role.USER, f"{worker} says {n}"))
    return "done"


def compact(session: Session, _worker: str) -> object:
    """Compact, as everybody else does now."""
    try:
        done = session.compact(target_tokens=1_500)
    except ClewError as error:
        return type(error).__name__
    return "compacted" if done else "nothing to gain"


def summarise_slowly(session: Session, _worker: str, adds: str, line: Connection) -> object:
    """Compact with a summariser that takes until it is told to go on, and then perhaps adds a message."""
    model = good_summariser()
    asked = model.ask

    def ask(*question: object, **how: object) -> Reply:
        if not model.asked:
            line.send("asked")
            line.recv()
            if adds:  # by which this process reads what others did meanwhile
                session.add(text_message(Role.USER, adds))
        return asked(*question, **how)  # type: ignore[arg-type]

    model.ask = ask  # type: ignore[method-assign]
    session.summariser = model
    return compact(session, "")


def fill(session: Session) -> None:
    """Give the session something to compact."""
    session.add(text_message(Role.USER, "Tidy up the billing code.\n- [ ] write the parser"))
    for n in range(40):
        session.add(*exchange(n, "\n".join(f"rate_{n}_{i} = {i * n}" for i in range(80))))


def by_hand(session: Session, worker: str, kinds: str, times: int) -> object:
    """Do these things again and again; return for each what was acknowledged, or why it was not."""
    came = []
    for n in range(times):
        kind = kinds.split("+")[n % len(kinds.split("+"))]
        try:
            came.append([kind, ACTS[kind](session, f"{worker} {n}")])
        except (ClewError, IndexError) as error:  # an index: there is nothing to act on at this moment
            came.append([kind, type(error).__name__])
    return came


def _newest(session: Session) -> str:
    """Return the newest rule in force that this process has read."""
    return session.pins[-1].id if session.pins else "p1"


def _line(words: str) -> str:
    """Return one of the first twenty lines of the first tool output, chosen by what a worker does next."""
    return f"rate_0_{sum(words.encode()) % 20} = 0"


def _notes(session: Session) -> Notebook:
    return Notebook(session.store, "local", "main")


def _draft(words: str) -> Draft:
    return Draft(key="tone", text=f"tone {words}", scope=NoteScope.SESSION)


ACTS: dict[str, Callable[[Session, str], object]] = {
    "undo": lambda session, _: [one.name for one in session.undo()],
    "compact": lambda session, _: [one.name] if (one := session.compact(target_tokens=1_500)) else None,
    "close": lambda session, why: [session.close_loop("t1", why), why][1:],
    "reopen": lambda session, _: [session.reopen_loop("t1")],
    "pin": lambda session, words: [(pin := session.pin(f"Say {words}.")).id, pin.quote],
    "edit": lambda session, words: [
        (pin := session.edit_pin(_newest(session), f"Tell {words}.")).id,
        pin.quote,
    ],
    "unpin": lambda session, why: [(pin := session.unpin(_newest(session), why)).id, pin.why],
    "keep": lambda session, words: [session.keep(_line(words), "m3").quote],
    "unkeep": lambda session, _: [session.unkeep(session.ledger.facts.all[0].id).quote],
    "note": lambda session, words: [_notes(session).add(_draft(words)).text],
    "forget": lambda session, _: [_notes(session).forget(_notes(session).notes()[0].id).id],
}

TASKS: dict[str, Callable[..., object]] = {
    "append": append,
    "compact": compact,
    "summarise_slowly": summarise_slowly,
    "by_hand": by_hand,
}


def work(line: Connection, task: str, path: Path, *rest: object) -> None:
    """Do a task in this process, which was started for it."""
    more = (*rest, line) if task == "summarise_slowly" else rest
    with SqliteStore(path, busy_s=120) as store, Session.open("main", store, window=20_000) as opened:
        line.send("ready")
        starts = line.recv()
        while time.time() < starts:  # all begin within microseconds of each other
            pass
        line.send(TASKS[task](opened, *more))
    assert threading.active_count() == 1
