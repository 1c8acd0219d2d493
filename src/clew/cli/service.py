"""``clew serve --store postgresql://…``: the HTTP API for many agents."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.terminal import Terminal
from clew.cli.text import escaped, printable
from clew.errors import ClewError, InputError, MissingExtra, StoreUnreachable
from clew.settings import is_server_address

if TYPE_CHECKING:
    from clew.log.store.postgres import PostgresStore

SHORTEST_TOKEN = 16
RETENTION_S = 3_600.0
"""How often sessions that are too old are looked for."""
STARTING_S = 60.0
"""How long a database server may take to start."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C."""
    if not is_server_address(args.store):
        raise InputError(f"{args.store!r} is not a PostgreSQL address", "use --store postgresql://…")
    try:
        import uvicorn

        from clew.log.store.postgres import PostgresStore
        from clew.service.app import Metrics, Service, Tokens, otel_meter
        from clew.service.jobs import Jobs
        from clew.service.sessions import SessionCache
    except (ImportError, MissingExtra) as cause:
        raise MissingExtra("clew[service]") from cause
    if args.archive and not args.keep_days:
        raise InputError("--archive needs --keep-days", "add --keep-days N: older sessions are moved")
    tokens = _tokens(args.tokens, term)
    with ExitStack() as opened:
        store = opened.enter_context(_wait_for_store(lambda: PostgresStore(args.store), term))
        if not store.isolated:
            term.note("⚠ this role bypasses row-level security; use one that is not a superuser")
        metrics = Metrics(otel_meter())
        jobs = opened.enter_context(closing(Jobs(store, finished=metrics.job)))
        if args.workers:
            opened.enter_context(jobs.working(args.workers))
        if args.keep_days:
            end_sessions = _retire(store, sorted(set(tokens.values())), args.keep_days, args.archive)
            opened.enter_context(_retention(end_sessions, term.note))
        sessions = SessionCache(store, args.model, args.window)
        app = Service(store, sessions, Tokens(tokens), jobs, args.ahead, metrics).app()
        port = args.port or 8700
        term.note(f"API: http://{args.host}:{port}/openapi.json. Ctrl-C stops it.")
        uvicorn.run(
            app,
            host=args.host,
            port=port,
            log_level="warning",
            access_log=False,  # addresses contain names of sessions
            lifespan="off",
            server_header=False,
            limit_concurrency=args.most_requests,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
        )
    return 0


def _wait_for_store(connect: Callable[[], PostgresStore], term: Terminal) -> PostgresStore:
    """Return the store; wait for a database server that is starting."""
    deadline, reported = time.monotonic() + STARTING_S, ""
    while True:
        try:
            return connect()
        except StoreUnreachable as cause:
            if time.monotonic() > deadline:
                raise
            if cause.detail != reported:
                reported = cause.detail
                term.note(printable(f"waiting for the database: {reported}"))
            time.sleep(1.0)


def _retire(
    store: PostgresStore, workspaces: Sequence[str], days: int, address: str | None
) -> Callable[[], None]:
    """Return a function that deletes old sessions, or moves them to an archive."""
    from clew.service.operations import days_ago

    if address:
        from clew.service.archive import archive

    def retire() -> None:
        for workspace in workspaces:
            if address:
                archive(store, workspace, days_ago(days), address)
            else:
                store.forget(workspace, unchanged_since=days_ago(days))

    return retire


@contextmanager
def _retention(retire: Callable[[], None], note: Callable[[str], None]) -> Iterator[None]:
    """Call ``retire`` from a thread, at once and then every hour."""
    stopped = threading.Event()

    def run() -> None:
        while True:
            try:
                retire()
            except Exception as error:  # noqa: BLE001  # whatever it is, tried again in an hour
                told = error if isinstance(error, ClewError) else repr(error)
                note(printable(f"⚠ old sessions: {told}"))
            if stopped.wait(RETENTION_S):
                return

    thread = threading.Thread(target=run, name="clew-retention", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(timeout=5.0)


def _tokens(file: Path | None, term: Terminal) -> dict[str, str]:
    """Return the workspace of each token: from a file, from CLEW_TOKEN, or one made for this run."""
    if file is not None:
        tokens = _tokens_of(file)
    elif given := os.environ.get("CLEW_TOKEN"):
        tokens = {given: "local"}
    else:
        token = secrets.token_urlsafe(32)
        term.note(escaped(f"token of the workspace local, for this run: {token}"))
        tokens = {token: "local"}
    if not tokens or any(len(token) < SHORTEST_TOKEN for token in tokens):
        raise InputError(
            "a token is missing or too short", f"use at least {SHORTEST_TOKEN} characters for each workspace"
        )
    return tokens


def _tokens_of(file: Path) -> dict[str, str]:
    """Return the workspace of each token in a file."""
    advice = 'write {"WORKSPACE": "TOKEN", …}'
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise InputError(f"{file} is not JSON", advice) from cause
    if not isinstance(given, dict):
        raise InputError(f"{file} is not a JSON object", advice)
    tokens: dict[str, str] = {}
    for name, token in given.items():
        if not isinstance(token, str):
            raise InputError(f"the token of the workspace {name} in {file} is not a string", advice)
        if token in tokens:
            raise InputError(
                f"the workspaces {tokens[token]} and {name} have the same token in {file}",
                "give each its own: a token decides whose data a request sees",
            )
        tokens[token] = name
    return tokens
