"""``clew inspect`` and ``clew serve``: serve a web page of sessions, or write it to a file.

``ToolSessions`` gives the page the sessions of other tools: listed, copied, and what their tools lost.
"""

from __future__ import annotations

import argparse
import html
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.cli.inputs import (
    OWN_FORMAT,
    WORKSPACE,
    has_no_log,
    is_path,
    open_arguments,
    open_index,
    own_name,
    the_store,
)
from clew.cli.log import import_export, import_transcript
from clew.cli.sessions import list_sessions
from clew.cli.terminal import Terminal
from clew.cli.text import escaped, printable
from clew.errors import InputError
from clew.log.protocol import Store
from clew.log.store import SqliteStore
from clew.message import Json, JsonObject
from clew.settings import load_settings, network_disk, store_path, use_judge_rules
from clew.tokens import UNKNOWN
from clew.transcripts import Transcript, find_sessions, load
from clew.transcripts.transcript import tool_compactions

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


MOST_LISTED = 100
"""Sessions of other tools that the page lists."""
EXAMPLE_FILE = "sphinx-9229.traj.json.zst"
EXAMPLE_NAME = "example:sphinx-9229"
EXAMPLE_MODEL = "claude-sonnet-4-5"
EXAMPLE_TARGET = 9_000
"""Small enough that most lines of the digest have left the view; chosen by hand."""


class ToolSessions:
    """The sessions of other tools on this computer, each read when it is first opened."""

    def __init__(self, known: dict[str, Transcript]) -> None:
        """``known`` are sessions that were read already, by name."""
        self._known = known
        self._losses: dict[str, JsonObject] = {}

    def listed(self) -> JsonObject:
        """Return the newest sessions, with what ``clew sessions`` shows of each, and how many there are."""
        rows = [row for row in list_sessions(MOST_LISTED) if row.tool != OWN_FORMAT]
        named: list[Json] = [{**asdict(row), "name": f"{row.tool}:{row.session}"} for row in rows]
        total = sum(session.format != OWN_FORMAT for session in find_sessions(titles=False))
        return {"sessions": named, "total": total}

    def copy(self, store: Store, name: str) -> bool:
        """Copy a session into a store."""
        if name == EXAMPLE_NAME:
            return _copy_example(store)
        transcript = self._read(name)
        if transcript is not None:
            import_transcript(store, transcript, name=name, calls=True)
        return transcript is not None

    def lost(self, name: str, compaction: str) -> JsonObject:
        """Return what a session needed after a compaction, and whether its tool and clew kept it."""
        transcript = self._read(name)
        if transcript is None:
            return {"unjudged": "its file is not on this computer"}
        if compaction not in [made.name for made in tool_compactions(transcript)]:
            return {"unjudged": "its file no longer records it"}
        (result,) = _losses(transcript, (compaction,))
        return {
            "unjudged": result.unjudged,
            "sealed": result.sealed,
            "tokens_left": result.tokens_left,
            "things": [asdict(item) for item in result.things],
        }

    def losses(self, name: str) -> JsonObject:
        """Return how many things were needed after the compactions of a session, and how many it lost.

        Like the table of ``clew lost``: values that a tool showed again are not counted.
        """
        if name not in self._losses:
            transcript = self._known.get(name) or self._find(name)
            reports = _losses(transcript) if transcript else []
            judged = [report for report in reports if not report.unjudged and not report.sealed]
            needed = [item for report in judged for item in report.counted]
            lost = sum(not item.by_tool for item in needed)
            why = "" if judged else "the summary cannot be read" if reports else "its file was not found"
            self._losses[name] = {"needed": len(needed), "lost": lost, "why": why}
        return self._losses[name]

    def _read(self, name: str) -> Transcript | None:
        if name not in self._known and (session := self._find(name)) is not None:
            self._known[name] = session
        return self._known.get(name)

    @staticmethod
    def _find(name: str) -> Transcript | None:
        tool = name.partition(":")[0]
        for session in find_sessions(titles=False):
            if session.format == tool and name == f"{tool}:{session.id}":
                transcripts = load(session.open(), tool)
                return next((transcript for transcript in transcripts if transcript.entries), None)
        return None


def _losses(transcript: Transcript, names: tuple[str, ...] | None = None) -> list[Any]:
    """Compare; by name, like the command ``clew lost``, because no room imports the measurements."""
    found: list[Any] = import_module("clew_evals.lost_items").losses_of_session(transcript, names=names)
    return found


def example_path() -> Path | None:
    """Return the shipped example: part of the package, or of the repository."""
    package = Path(str(files("clew.inspector")))
    places = (package / EXAMPLE_FILE, package.parents[2] / "examples" / EXAMPLE_FILE)
    return next((path for path in places if path.exists()), None)


def _copy_example(store: Store) -> bool:
    """Copy the example of the tour: its first half was compacted by clew, the second is in view whole."""
    from clew.session import Session

    path = example_path()
    if path is None:
        return False
    (transcript,) = load(path)
    messages = transcript.full()
    session = Session.open(EXAMPLE_NAME, store, workspace=WORKSPACE, model=EXAMPLE_MODEL)
    session.add(*messages[: len(messages) // 2])
    session.compact(target_tokens=EXAMPLE_TARGET)
    session.add(*messages[len(messages) // 2 :])
    return True
