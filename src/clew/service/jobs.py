"""Background compaction on procrastinate, in the database of the log.

The engine runs a job at least once: a worker that is killed or paused loses its lease, and another worker
runs the job again. The effect happens once: a job names the last compaction that it knows of, and the log
refuses a result that was planned for another view.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from clew.errors import ClewError, CompactionUnderWay, InputError, MissingExtra, StalePlan, StoreUnreachable
from clew.log import digest
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.session import Session

try:
    import procrastinate
    import psycopg
    from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
except ImportError as cause:
    raise MissingExtra("clew[service]") from cause

SCHEMA = "clew_jobs"
QUEUE = "compaction"
LEASE_S = 30.0
"""A job is run again if its worker was silent for so long."""
RETRY_S = 1.0
"""Pause before a worker whose database failed starts again."""
LOCK = 0x636C6A6F
"""The advisory lock ("cljo" in ASCII) of the one process that creates the tables."""
OnFinished = Callable[[str], None]
"""Is called after each job with what became of it: ``compacted``, ``superseded``, …, or an error's name."""
_DATABASE_FAILED = (ConnectorException, psycopg.Error)
"""Errors that pass when the database is back; the second is raised if the pool cannot connect."""


class Jobs:
    """The queue of compactions. ``defer`` adds one; ``working`` runs them from a thread."""

    def __init__(
        self, store: PostgresStore, schema: str = SCHEMA, finished: OnFinished | None = None
    ) -> None:
        if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
            raise InputError(f"schema {schema!r} is not a plain lower-case name")
        self.store = store
        self.lease_s = LEASE_S
        self._schema = schema
        self._finished = finished or (lambda _result: None)
        self._kwargs: dict[str, Any] = {
            "conninfo": store.address,
            "kwargs": {"options": f"-c search_path={schema}"},
        }
        self._create()
        self._app = self._app_on(procrastinate.SyncPsycopgConnector(min_size=0, max_size=4, **self._kwargs))
        self._app.open()

    def close(self) -> None:
        """Close the connections of ``defer``."""
        self._app.close()

    def defer(self, session: Session, model: str | None = None, window: int | None = None) -> bool:
        """Have a session compacted; False if that is waiting already."""
        ctx = session.ctx
        name = digest(f"{ctx.workspace}\0{ctx.session}".encode("utf-8", "surrogatepass"))
        # At most one job of a session waits (queueing_lock), and at most one runs (lock).
        task = self._app.configure_task(QUEUE, queueing_lock=name, lock=name)
        try:
            task.defer(
                workspace=ctx.workspace,
                session=ctx.session,
                after=session.last_compaction,
                model=model,
                window=window,
            )
        except AlreadyEnqueued:
            return False
        except ConnectorException as cause:
            raise StoreUnreachable(f"the queue of compactions ({' '.join(str(cause).split())})") from cause
        return True

    def run(self, workspace: str, session: str, after: int, model: str | None, window: int | None) -> str:
        """Compact a session unless that has happened since; return what became of it."""
        ctx = Ctx(workspace=workspace, session=session)
        if not self.store.head(ctx).seq:
            return "forgotten"
        model = model or "unknown"
        opened = Session.open(session, self.store, workspace=workspace, model=model, window=window)
        if opened.last_compaction != after:
            return "superseded"
        try:
            compaction = opened.compact(forced=False)
        except (StalePlan, CompactionUnderWay):
            return "superseded"
        except ClewError as error:
            return type(error).__name__
        return "compacted" if compaction else "nothing to gain"

    # Workers -------------------------------------------------------------------------------------------

    @contextmanager
    def working(self, concurrency: int = 1) -> Iterator[None]:
        """Run jobs from a thread while the block runs."""
        loop = asyncio.new_event_loop()
        started = threading.Event()
        task: list[asyncio.Task[None]] = []

        def serve() -> None:
            asyncio.set_event_loop(loop)
            task.append(loop.create_task(self.work(concurrency)))
            started.set()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task[0])
            loop.close()

        thread = threading.Thread(target=serve, name="clew-jobs", daemon=True)
        thread.start()
        started.wait()
        try:
            yield
        finally:
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(task[0].cancel)
            thread.join(timeout=self.lease_s)

    async def work(self, concurrency: int = 1) -> None:
        """Run jobs until cancelled, and give those of silent workers to others.

        The engine's worker ends if the database fails while it looks for a job; it is started again.
        """
        while True:
            try:
                return await self._work(concurrency)
            except _DATABASE_FAILED:
                await asyncio.sleep(RETRY_S)

    async def _work(self, concurrency: int) -> None:
        connector = procrastinate.PsycopgConnector(min_size=1, max_size=concurrency + 3, **self._kwargs)
        app = self._app_on(connector)
        async with app.open_async():
            rescue = asyncio.create_task(self._rescue(app))
            try:
                await app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=concurrency,
                    install_signal_handlers=False,
                    delete_jobs="always",
                    fetch_job_polling_interval=1.0,
                    update_heartbeat_interval=self.lease_s / 3,
                    stalled_worker_timeout=self.lease_s,
                    shutdown_graceful_timeout=5.0,
                )
            finally:
                rescue.cancel()

    async def _rescue(self, app: procrastinate.App) -> None:
        """Return jobs whose worker lost its lease to the queue."""
        while True:
            with suppress(*_DATABASE_FAILED):
                for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=self.lease_s):
                    await app.job_manager.retry_job(job)
            await asyncio.sleep(self.lease_s / 3)

    def _app_on(self, connector: Any) -> procrastinate.App:  # noqa: ANN401 - either kind of connector
        """Return an engine on a connector, with the one task it runs."""
        app = procrastinate.App(connector=connector)

        @app.task(name=QUEUE, queue=QUEUE)
        def compact(**arguments: Any) -> str:  # noqa: ANN401 - the arguments of ``run``
            try:
                result = self.run(**arguments)
            except Exception as error:
                self._finished(type(error).__name__)
                raise
            self._finished(result)
            return result

        return app

    def _create(self) -> None:
        """Create the engine's tables in a schema of their own, one process at a time."""
        with psycopg.connect(self.store.address) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            table = f"{self._schema}.procrastinate_jobs"
            row = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()
            if row is None or row[0] is None:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}".encode())
                connection.execute(f"SET LOCAL search_path = {self._schema}".encode())
                connection.execute(procrastinate.schema.SchemaManager.get_schema().encode())
