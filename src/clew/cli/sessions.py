"""Find the sessions of agent tools on this computer, and those in clew's own log, newest first.

Only looks: nothing is read whole, changed or sent anywhere. The id in a row, or the beginning of it, is what
the other commands take.

examples:
  clew sessions
  clew sessions --tool codex --limit 100
  clew sessions --paths
  clew sessions --json | jq -r '.[0].path'
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from heapq import merge
from itertools import islice

from clew.cli.inputs import OWN_FORMAT, WORKSPACE, own_store, short_id
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, positive, printable
from clew.errors import StoreError
from clew.log import MESSAGE
from clew.log.imports import OWN
from clew.message import Origin, Role
from clew.ports import Ctx, Stored
from clew.settings import store_path
from clew.transcripts import FORMATS, Found, find_sessions

DEFAULT_LIMIT = 30
TITLE_CHARACTERS = 80
SHORTEST_CUT = 24
"""So much of an id is shown however narrow the terminal is."""
MOST_LOOKED_AT = 40
"""Messages of a session in which its user's first words are looked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A session that was found."""

    tool: str
    id: str
    """What other commands take."""
    modified: str
    size: str
    title: str | None
    directory: str | None
    path: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--tool", metavar="NAME", choices=[*FORMATS, "clew"], help="only those of one tool")
    parser.add_argument(
        "--limit", type=positive, default=DEFAULT_LIMIT, metavar="N", help="at most so many (default: 30)"
    )
    parser.add_argument(
        "--paths", action="store_true", help="print the files' paths instead of what they are about"
    )
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List what there is."""
    newest = merge(_others(), sorted(_own(), key=_when, reverse=True), key=_when, reverse=True)
    matching = (row for row in newest if args.tool in (None, row.tool))
    rows = [_titled(row) for row in islice(matching, args.limit)]
    if args.json:
        term.write(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
    elif not rows:
        term.write(
            "No sessions found. `clew formats` lists where clew looks; any file can be given by its path."
        )
    else:
        for row in rows:
            term.write(_line(row, args.paths, term.console().width if term.out.isatty() else None))
        if next(matching, None):
            term.note(f"There are more; --limit {args.limit * 10} shows them.")
    return 0


def _when(row: Row) -> str:
    return row.modified


def _others() -> Iterator[Row]:
    return map(_row, find_sessions())


def _row(one: Found) -> Row:
    modified = one.modified.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    own_id = one.session_id if one.session_id and one.path.suffix == ".db" else short_id(one.path)
    return Row(one.format, own_id, modified, _size(one.size), one.title, one.project, str(one.path))


def _own() -> Iterator[Row]:
    with own_store() as store:
        if store is None:
            return
        for info in store.sessions(WORKSPACE):
            if info.session.startswith(OWN):
                continue  # what clew keeps for itself, such as notes
            size = count(info.head.seq, "event")
            yield Row("clew", info.session, info.last_time, size, None, None, str(store_path()))


def _titled(row: Row) -> Row:
    """Return a row of clew's log with what its user said first; only rows that are shown are looked into."""
    if row.tool != OWN_FORMAT:
        return row
    with own_store() as store, suppress(StoreError):  # `clew audit` says what is wrong with it
        ctx = Ctx(workspace=WORKSPACE, session=row.id)
        events = store.read(ctx, kinds=[MESSAGE.name]) if store else iter(())
        return replace(row, title=_first_words(islice(events, MOST_LOOKED_AT)))
    return row


def _first_words(events: Iterator[Stored]) -> str | None:
    for stored in events:
        (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
        words = message.text.strip()
        if message.role is Role.USER and message.origin is Origin.SPOKEN and words:
            return one_line(words, TITLE_CHARACTERS)
    return None


def _line(row: Row, paths: bool, width: int | None) -> str:
    """Return a row that fits the terminal, if its id does not have to be cut for that; a path never is."""
    when = _local(row.modified)
    if paths:
        return printable(f"{when}  {row.tool:<14} {row.path}")
    head = f"{when}  {row.tool:<14} {row.size:>11}  "
    about = row.title or row.directory or ""
    if width is None:  # read by a program, or put in a file: nothing is cut
        return printable(f"{head}{row.id}  {one_line(about, TITLE_CHARACTERS)}".rstrip())
    head += one_line(row.id, max(SHORTEST_CUT, width - len(head)))
    room = width - len(head) - 2
    return printable(f"{head}  {one_line(about, room)}".rstrip() if room >= 12 and about else head)


def _local(modified: str) -> str:
    moment = datetime.fromisoformat(modified)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 100_000 else f"{size_bytes / 1e3:.1f} kB"
