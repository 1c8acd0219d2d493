"""What other processes do in the tests: ``python -m tests.log_postgres.workers TASK ADDRESS SCHEMA …``.

Nothing here is a test. Each task prints its results, one line at a time.
"""

from __future__ import annotations

import os
import sys

from clew.errors import HeadMoved
from clew.log import new_event
from clew.log.protocol import Ctx
from clew.log.store import postgres as store_module
from clew.log.store.postgres import PostgresStore

CTX = Ctx(workspace="north", session="main")
BATCH = 3
PATIENCE_S = 120.0
LONG = "an output that is stored apart\n" * 200


def say(*words: object) -> None:
    print(*words, flush=True)


def batch() -> list:
    return [new_event("note", {"n": n, "text": LONG + os.urandom(4).hex()}) for n in range(BATCH)]


def race(address: str, schema: str, worker: str, times: str, sessions: str = "1") -> None:
    """Append one by one, each time at the head, and try again if another process was faster."""
    contexts = [Ctx(workspace="north", session=f"s{n}") for n in range(int(sessions))]
    contexts = [CTX] if len(contexts) == 1 else contexts
    with PostgresStore(address, schema=schema, busy_s=PATIENCE_S, pool=1) as store:
        for n in range(int(times)):
            for ctx in contexts:
                event = new_event("note", {"worker": worker, "n": n})
                while True:
                    try:
                        store.append(ctx, [event], store.head(ctx))
                        break
                    except HeadMoved:
                        continue


def acknowledge(address: str, schema: str) -> None:
    """Append for ever, printing the ids of each batch before it is sent and once it is written."""
    with PostgresStore(address, schema=schema, busy_s=PATIENCE_S, pool=1) as store:
        while True:
            events = batch()
            store.append(CTX, events, None)
            say(*(event.id for event in events))


def hold(address: str, schema: str) -> None:
    """Lock the session as an append does, say so, wait for a line on standard input, then go on."""
    chain = store_module.chain

    def pause(*given: object):
        say("locked")
        sys.stdin.readline()
        return chain(*given)

    store_module.chain = pause
    with PostgresStore(address, schema=schema, busy_s=2.0, pool=1) as store:
        try:
            head = store.append(CTX, [new_event("note", {"who": "paused"})], store.head(CTX))
        except HeadMoved as refused:
            say(type(refused).__name__)
        else:
            say("appended", head.seq)


def fork(address: str, schema: str) -> None:
    """Use one store in a process and in its child."""
    store = PostgresStore(address, schema=schema)
    store.append(CTX, [new_event("note", {"who": "parent, before"})], None)
    child = os.fork()
    store.append(CTX, [new_event("note", {"who": "a process after the fork"})], None)
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    say(status, len(list(store.read(CTX))))
    store.close()


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    globals()[task](*arguments)
