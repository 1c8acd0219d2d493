"""Find the sessions of agent tools on this computer, and those in clew's own log, newest first.

Only looks: nothing is read whole, changed or sent anywhere.

examples:
  clew sessions
  clew sessions --tool codex --limit 100
  clew sessions --json | jq -r '.[0].path'
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from rich.table import Table

from clew.cli.inputs import WORKSPACE
from clew.cli.terminal import Terminal
from clew.cli.text import one_line
from clew.message import JsonObject
from clew.settings import store_path
from clew.store import SqliteStore
from clew.transcripts import FORMATS, Found, find_sessions

DEFAULT_LIMIT = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--tool", choices=[*FORMATS, "clew"], help="only those of one tool")
    parser.add_argument(
        "--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="at most so many (default: 30)"
    )
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List what there is."""
    own = list(_own()) if args.tool in (None, "clew") else []
    matching = (one for one in find_sessions() if args.tool in (None, one.format))
    found = list(islice(matching, args.limit))
    if args.json:
        term.write(json.dumps([*own, *map(_row, found)], ensure_ascii=False))
        return 0
    if not own and not found:
        term.write(
            "No sessions found. `clew formats` lists where clew looks; any file can be given by its path."
        )
        return 0
    term.console().print(_table(own, found))
    if next(matching, None):
        term.note(f"There are more; --limit {args.limit * 10} shows them.")
    return 0


def _own() -> Iterator[JsonObject]:
    path = store_path()
    if not path.exists():
        return
    with SqliteStore(path) as store:
        for info in store.sessions(WORKSPACE):
            yield {
                "tool": "clew",
                "session": info.session,
                "events": info.head.seq,
                "modified": info.last_time,
                "path": str(path),
            }


def _row(one: Found) -> JsonObject:
    return {
        "tool": one.format,
        "path": str(one.path),
        "session": one.session_id,
        "bytes": one.size,
        "modified": _moment(one.modified),
        "title": one.title,
        "directory": one.project,
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _table(own: list[JsonObject], found: list[Found]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("when", "tool", "size", "about", "file"):
        table.add_column(name, overflow="fold" if name == "file" else "ellipsis", no_wrap=name != "file")
    for row in own:
        when = str(row["modified"])[:16].replace("T", " ")
        table.add_row(when, "clew", f"{row['events']} events", "", one_line(str(row["session"]), 60))
    for one in found:
        about = one_line(one.title or one.project or "", 40)
        when = _moment(one.modified)[:16].replace("T", " ")
        table.add_row(when, one.format, _size(one.size), about, one_line(_short(one.path), 400))
    return table


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 100_000 else f"{size_bytes / 1e3:.0f} kB"


def _short(path: Path) -> str:
    home = str(Path.home())
    return f"~{str(path)[len(home) :]}" if str(path).startswith(f"{home}/") else str(path)
