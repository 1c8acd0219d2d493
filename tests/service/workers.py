"""What other processes do in the tests of the service: ``python -m tests.service.workers TASK …``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

from clew import Session
from clew.log.store.postgres import PostgresStore
from clew.service.app import Service, Tokens
from clew.service.jobs import Jobs
from clew.service.sessions import SessionCache

LEASE_S = 2.0


def say(*words: object) -> None:
    print(*words, flush=True)


def jobs_of(address: str, schema: str) -> Jobs:
    found = Jobs(PostgresStore(address, schema=schema, busy_s=120), f"{schema}_jobs", finished=say)
    found.lease_s = LEASE_S
    return found


def work(address: str, schema: str, concurrency: str = "1") -> None:
    """Run jobs for ever; print what became of each."""
    asyncio.run(jobs_of(address, schema).work(int(concurrency)))


def stop_inside(address: str, schema: str, how: str) -> None:
    """Run jobs, but stop (SIGSTOP or SIGKILL) once a compaction is decided and before it is appended."""
    jobs = jobs_of(address, schema)
    append = jobs.store.append

    def stopped(ctx, events, expect):
        if any(event.kind == "compaction" for event in events):
            say("deciding")
            os.kill(os.getpid(), getattr(signal, how))
        return append(ctx, events, expect)

    jobs.store.append = stopped  # type: ignore[method-assign]
    asyncio.run(jobs.work(1))


def serve(address: str, schema: str, how: str = "") -> None:
    """Serve the API; with ``how``, die after an append and before its reply."""
    import uvicorn

    store = PostgresStore(address, schema=schema)
    append = store.append

    def dying(ctx, events, expect):
        append(ctx, events, expect)
        os.kill(os.getpid(), signal.SIGKILL)

    if how:
        store.append = dying  # type: ignore[method-assign]
    service = Service(store, SessionCache(store), Tokens({"a-token-of-the-north": "north"}))
    server = uvicorn.Server(uvicorn.Config(service.app(), port=0, log_level="warning", lifespan="off"))

    async def run() -> None:
        config = server.config
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        say(server.servers[0].sockets[0].getsockname()[1])
        await server.main_loop()

    asyncio.run(run())


def append(address: str, schema: str, first: str, threads: str, sessions: str, times: str) -> None:
    """Append to sessions from several threads and ask for their compaction, as the handlers do."""
    jobs = jobs_of(address, schema)
    say("started")
    with ThreadPoolExecutor() as pool:
        workers = range(int(first), int(first) + int(threads))
        list(pool.map(lambda worker: append_as(worker, jobs, sessions, times), workers))
    jobs.close()


def append_as(worker: int, jobs: Jobs, sessions: str, times: str) -> None:
    """Append as one worker."""
    service = Service(jobs.store, SessionCache(jobs.store, window=6_000), Tokens({}), jobs)
    for n in range(int(times)):
        for at in range(int(sessions)):
            session = Session.open(f"s{at}", jobs.store, workspace="north", window=6_000)
            text = f"worker {worker} step {n}: " + "some ordinary words of a long conversation " * 20
            session.add({"role": "user", "content": text}, once=f"{worker}-{n}")
            service.compact_ahead(session, {"window": 6_000})


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    globals()[task](*arguments)
