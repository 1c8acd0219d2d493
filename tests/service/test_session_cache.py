"""Open sessions are lent to one thread at a time, and never after a borrower failed."""

import threading

import pytest

from clew.log.protocol import Ctx
from clew.log.store.memory import MemoryStore
from clew.service.sessions import SessionCache


def test_a_thread_that_waited_for_a_session_does_not_get_it_half_changed():
    cache = SessionCache(MemoryStore())
    ctx = Ctx(workspace="north", session="s")
    waiting, lent = threading.Event(), []

    def borrow():
        waiting.set()
        with cache.lend(ctx) as session:
            lent.append(session)

    thread = threading.Thread(target=borrow)

    def fail():
        with cache.lend(ctx) as session:
            session.add({"role": "user", "content": "hello"})
            lent.append(session)
            thread.start()
            waiting.wait()
            thread.join(0.2)  # it waits for the lock
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail()
    thread.join()
    assert lent[0] is not lent[1]
    assert lent[1].head == lent[0].head
    with cache.lend(ctx) as again:
        assert again is lent[1]
