"""What other processes do in the tests: run as ``python -m tests.log_store.workers TASK PATH …``.

Nothing here is a test. Each task prints what it has to say, one line at a time.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import clew.log.store.database as store_database
from clew.errors import ClewError, HeadMoved
from clew.log import new_event
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.audit import audit

CTX = Ctx(workspace="north", session="main")
BATCH = 3
PATIENCE_S = 120
"""For crowds: how long one waits there is no matter of right and wrong."""
LONG = "an output that lies apart\n" * 200


def say(*words: object) -> None:
    print(*words, flush=True)


def batch(start: int = 0) -> list:
    return [new_event("note", {"n": start + n, "text": LONG + str(start)}) for n in range(BATCH)]


def race(path: Path, worker: str, times: str) -> None:
    """Append one by one, each time at the head, and try again when somebody was faster."""
    with SqliteStore(path, busy_s=PATIENCE_S) as store:
        for n in range(int(times)):
            event = new_event("note", {"worker": worker, "n": n})
            while True:
                try:
                    store.append(CTX, [event], store.head(CTX))
                    break
                except HeadMoved:
                    continue


def acknowledge(path: Path) -> None:
    """Append for ever, saying each event's id once it is written."""
    with SqliteStore(path) as store:
        while True:
            events = batch()
            store.append(CTX, events, None)
            say(*(event.id for event in events))


def fork(path: Path) -> None:
    """Use one store in a process and in its child."""
    store = SqliteStore(path)
    store.append(CTX, [new_event("note", {"who": "parent, before"})], None)
    child = os.fork()
    store.append(CTX, [new_event("note", {"who": "a process after the fork"})], None)
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    say(status, len(list(store.read(CTX))), audit(path).sound)
    store.close()


def no_room(path: Path) -> None:
    """Reach the largest size that this process may give a file, then be given more."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with SqliteStore(path) as store:
        store.append(CTX, batch(), None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            store.append(CTX, [new_event("note", {"noise": os.urandom(300_000).hex()})], None)
        except ClewError as error:
            say(type(error).__name__)
        say(len(list(store.read(CTX))))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        store.append(CTX, batch(), None)
        say(len(list(store.read(CTX))))


def die_everywhere(path: Path, stride: str) -> None:
    """Die at each step of making a store and of going on with one; say each time what is left."""
    for before in (0, BATCH):
        step, alive = 0, False
        while not alive:
            if os.fork() == 0:
                _append_and_die(path, step)
            _, status = os.wait()
            alive = os.WIFEXITED(status)
            report = audit(path) if path.exists() and path.stat().st_size else None
            events = report.sessions[0].events if report and report.sessions else 0
            sound = report is None or report.sound or events == before == 0  # half a schema is none
            say("alive" if alive else "killed", before, events, "sound" if sound else report)
            step += int(stride)


def _append_and_die(path: Path, step: int) -> None:
    """Run one append in this process and kill it when SQLite has made so many steps."""
    left = step

    def count() -> int:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connect = store_database.connect

    def connect_to_die(*settings: object):
        database = connect(*settings)
        database.set_progress_handler(count, 1)
        return database

    store_database.connect = connect_to_die
    store = SqliteStore(path)
    store.append(CTX, batch(step), None)
    os._exit(0)


if __name__ == "__main__":
    task, path, *arguments = sys.argv[1:]
    globals()[task](Path(path), *arguments)
