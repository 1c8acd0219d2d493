"""``clew inspect`` and ``clew serve``: serve a web page of sessions, or write it to a file."""

from __future__ import annotations

import argparse
import html
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.imports import import_export, import_transcript
from clew.cli.inputs import WORKSPACE, has_no_log, is_path, open_arguments, open_index, own_name, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import escaped, printable
from clew.cli.tool_sessions import EXAMPLE_NAME, ToolSessions, example_path
from clew.errors import InputError
from clew.log.protocol import Store
from clew.log.store import SqliteStore
from clew.message import JsonObject
from clew.settings import load_settings, network_disk, store_path, use_judge_rules
from clew.tokens import UNKNOWN
from clew.transcripts import Transcript

if TYPE_CHECKING:
    from clew.inspector.session_pool import SessionPool
    from clew.providers.model import StreamingModel
    from clew.session import Session


OWN_HOSTS = ("127.0.0.1", "::1", "localhost")
"""Addresses that other computers cannot reach."""
REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>clew</title>\n'
    '<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Go on to clew</a>\n'
)
COPY = (
    "This is a copy of {name}, which is only read: try anything, it stays as it is. What you try here "
    "is gone when the server stops."
)


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Serve the page, or write it to a file."""
    with _named_sessions(args, term) as (pool, name):
        if args.export is None:
            serve(pool, args, term, name)
        elif name is None:
            raise InputError("--export needs a session", "use: clew inspect SESSION --export PATH")
        else:
            from clew.inspector.export import export_session

            size = export_session(pool, name, args.export)
            term.say(printable(f"{args.export}: {size:,} bytes, one file, no server needed"))
    return 0


def serve(pool: SessionPool, args: argparse.Namespace, term: Terminal, name: str | None = None) -> None:
    """Serve until Ctrl-C."""
    from clew.chat.opening import named_model
    from clew.inspector.server import Server

    def model_factory(session: Session) -> StreamingModel:
        return named_model(chat_model(args), session)

    server = Server.bind(pool, args.port, args.host, model_factory)
    address = server.address(name or "")
    term.write(escaped(address))
    term.note("Ctrl-C stops it.")
    term.out.flush()
    with _open_browser(address) if not args.no_browser else nullcontext(), suppress(KeyboardInterrupt):
        server.run()


def chat_model(args: argparse.Namespace) -> str:
    """Return the full name of the model that answers in the chat: the one named, else as in ``clew chat``."""
    from clew.chat.opening import ModelChoice

    settings = load_settings().settings
    offline = args.offline or settings.offline or args.chat == "offline"
    return ModelChoice(args.chat or settings.model, settings.base_url, offline).name()


@contextmanager
def _open_browser(address: str) -> Iterator[None]:
    """Open the browser at an address, through a local file that redirects to it.

    Other users can read the command lines of processes, so the token must not be in one.
    """
    with tempfile.TemporaryDirectory(prefix="clew-") as folder:
        redirect = Path(folder) / "open.html"
        redirect.touch(mode=0o600)
        redirect.write_text(REDIRECT.format(address=html.escape(address)), encoding="utf-8")
        webbrowser.open(redirect.as_uri())
        yield


@contextmanager
def _named_sessions(args: argparse.Namespace, term: Terminal) -> Iterator[tuple[SessionPool, str | None]]:
    """Yield the sessions to serve, and the name of the one to open."""
    name = _log_session(args.file) if args.file is not None else None
    if args.file is not None and name is None:
        with _imported_sessions(args, term) as pool_and_name:
            yield pool_and_name
        return
    with own_pool(args) as pool, _with_others(pool, args, {}):
        yield pool, name


def _log_session(name: str) -> str | None:
    """Return the named session of clew's log, None if it is something else."""
    if is_path(name) or has_no_log():
        return None
    with the_store() as store:
        return own_name(store, name)


@contextmanager
def own_pool(args: argparse.Namespace) -> Iterator[SessionPool]:
    """Open clew's own log; an empty temporary one if there is none."""
    with ExitStack() as opened:
        if has_no_log():
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="clew-"))
            store: Store = opened.enter_context(SqliteStore(Path(folder) / "empty.db"))
        else:
            store = opened.enter_context(the_store())
        yield opened.enter_context(_session_pool(store, args))


@contextmanager
def _with_others(pool: SessionPool, args: argparse.Namespace, known: dict[str, Transcript]) -> Iterator[None]:
    """Add the sessions of other tools on this computer to a pool; ``known`` are read already."""
    from clew.inspector.session_pool import OtherSessions

    reads = ToolSessions(known)
    example = EXAMPLE_NAME if example_path() else ""
    pool.others = OtherSessions(reads.listed, reads.copy, reads.lost, reads.losses, example)
    with (
        tempfile.TemporaryDirectory(prefix="clew-") as folder,
        SqliteStore(Path(folder) / "copies.db") as store,
        _session_pool(store, args) as copies,
    ):
        copies.is_copy, copies.others = True, pool.others
        pool.copies = copies
        yield


@contextmanager
def _imported_sessions(args: argparse.Namespace, term: Terminal) -> Iterator[tuple[SessionPool, str | None]]:
    """Import a file into a temporary log, deleted when the server stops."""
    source = open_arguments(args)
    with tempfile.TemporaryDirectory(prefix="clew-") as folder:
        path = Path(folder) / "copy.db"
        with SqliteStore(path) as store:
            known: dict[str, Transcript] = {}
            if source.source and source.is_clew:
                import_results = [import_export(store, source.source)]
            else:
                import_results = []
                for transcript in source.sessions(term):
                    import_results.append(import_transcript(store, transcript, calls=True))
                    known[import_results[-1].ctx.session] = transcript
            note = COPY.format(name=Path(args.file).name)
            with _session_pool(store, args, note) as pool, _with_others(pool, args, known):
                pool.is_copy = True
                yield pool, import_results[0].ctx.session if len(import_results) == 1 else None


@contextmanager
def _session_pool(store: Store, args: argparse.Namespace, note: str = "") -> Iterator[SessionPool]:
    from clew.inspector.session_pool import PoolOptions, SessionPool

    settings = load_settings().settings
    use_judge_rules(settings)
    with open_index(store) as index:
        yield SessionPool(
            store,
            WORKSPACE,
            index,
            PoolOptions(args.model, args.window, auto=settings.auto, off=settings.off, note=note),
        )


@contextmanager
def page_of_proxy(live: Callable[[], JsonObject]) -> Iterator[str]:
    """Serve the page in this process, with the figures of a proxy; return its address."""
    from clew.inspector.server import Server

    args = argparse.Namespace(model=UNKNOWN.id, window=None)
    path = store_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        SqliteStore(path, network=network_disk()) as store,
        _session_pool(store, args) as pool,
        _with_others(pool, args, {}),
    ):
        pool.live = live
        server = Server.bind(pool)
        with server.running():
            yield server.address()


def run_serve(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C."""
    if args.store:
        from clew.cli.service import run as run_service

        return run_service(args, term)
    if args.host not in OWN_HOSTS:
        term.note(f"⚠ {args.host} can be reached from other computers, and the connection is not encrypted")
    with own_pool(args) as pool, _with_others(pool, args, {}):
        serve(pool, args, term)
    return 0
