"""``clew lost``: what the compactions of a tool dropped, for one session or as a table of many.

``clew lost 3f2a9c10`` names every rule, file and value that Claude Code's last compaction of this session
lost, and whether clew keeps it in as many tokens; ``clew lost --days 7`` compares last week's sessions.
Here the sessions are found and judged; ``lost_output.py`` prints them.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from clew.cli.inputs import open_arguments
from clew.cli.sessions import SessionRow, days_ago, list_sessions
from clew.cli.stored import Log, open_log_or_input
from clew.cli.terminal import Terminal
from clew.cli.text import age, count, typed
from clew.errors import ClewError, NotFound
from clew.log import TOOL_COMPACTION
from clew.transcripts import FORMATS, Transcript, find_sessions, load, open_source
from clew.transcripts.discover import Computer, places
from clew.transcripts.transcript import tool_compactions
from clew_evals.cli.eval import drawn_progress
from clew_evals.cli.lost_output import ComparedSession, print_compared, session_lines
from clew_evals.lost_items import CompactionLosses, losses_of_session
from clew_evals.sessions import SessionFile
from clew_evals.study import map_files

MOST_SESSIONS = 2_000
"""Sessions of this computer that are searched for compactions."""
SESSIONS_INSTEAD = 5
"""Sessions of the table if none was compacted in the days asked for."""
FOLDERS_NAMED = 8
"""Folders named in the error if no session was found."""


def report(args: argparse.Namespace, term: Terminal) -> int:
    """Print what was lost."""
    if args.all or args.days:
        _report_many(args.limit, args.days, term, as_json=args.json)
        return 0
    if not args.file:
        newest = _compacted(term)[0]
        args.file = newest.id
        term.note(f"{newest.id}, compacted {_age(newest)} ago, has the newest compaction.")
    session = open_arguments(args).single_session(term)
    reports = losses_of_session(session, last=None if args.full else args.last)
    if args.json:
        rows = [asdict(item) for item in reports]
        term.write_json({"session": session.id, "compactions": rows})
    elif not reports and (made := _compactions_before_import(args)):
        what = f"Its tool compacted this session {count(made, 'time')} before it was imported"
        term.say(f"{what}: clew's log does not say what was lost. Name the tool's own file: clew lost FILE")
    elif not reports:
        term.say("This session was never compacted by its tool: nothing was lost.")
    else:
        width = term.console().width
        term.print(*session_lines(session, args.file, reports, full=args.full, width=width))
    return 0


def _compactions_before_import(args: argparse.Namespace) -> int:
    """Return how often its tool compacted a session of clew's log; 0 for any other input."""
    with open_log_or_input(args) as log:
        if isinstance(log, Log):
            return sum(1 for _ in log.store.read(log.ctx, kinds=[TOOL_COMPACTION.name]))
    return 0


def _compacted(term: Terminal) -> list[SessionRow]:
    """Return the sessions that their tools compacted, the newest compaction first; raise if there are none.

    Shows how far the search is.
    """
    sessions = sum(1 for _ in find_sessions(titles=False))
    if sessions:
        term.note(f"Looking at {count(sessions, 'session')} …")
    with drawn_progress(term) as progress:
        rows = list_sessions(MOST_SESSIONS, report=progress)
    compacted = [row for row in rows if row.compactions and row.tool in FORMATS]
    if not compacted:
        raise _nothing_found()
    return sorted(compacted, key=_compacted_at)[::-1]


def _compacted_at(row: SessionRow) -> datetime:
    """Return when a session was last compacted; if that is not recorded, when its file changed."""
    return max((_moment(time, row) for time in row.compacted), default=_moment(None, row))


def _moment(time: str | None, row: SessionRow) -> datetime:
    """Return a recorded time; if there is none or it cannot be read, when the session's file changed."""
    try:
        moment = datetime.fromisoformat(time or row.modified)
    except ValueError:
        moment = datetime.fromisoformat(row.modified)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _age(row: SessionRow) -> str:
    return age(datetime.now(UTC) - _compacted_at(row))


def _nothing_found() -> NotFound:
    """Return the error for no compacted session; it says where clew looked."""
    if next(find_sessions(titles=False), None):
        return NotFound("no session on this computer was compacted", f"name a file: {typed('lost FILE')}")
    here = Computer()
    folders = dict.fromkeys(place.folder for place in places(here) if place.folder.is_relative_to(here.home))
    names = [f"~/{folder.relative_to(here.home)}" for folder in folders if folder != here.home][
        :FOLDERS_NAMED
    ]
    return NotFound(
        f"no sessions found in {', '.join(names)} and other places (`{typed('formats')}` lists all)",
        f"name a file: {typed('lost FILE')}",
    )


def _report_many(limit: int, days: int | None, term: Terminal, *, as_json: bool) -> None:
    """Print what the newest compacted sessions lost, or those compacted in the last days."""
    rows = _compacted(term)
    since = days_ago(days)
    recent = [row for row in rows if _compacted_at(row) >= since]
    if not recent and not as_json:
        term.note(f"Nothing was compacted in the last {count(days or 0, 'day')}. The newest compactions:")
        recent, since = rows[:SESSIONS_INSTEAD], days_ago(None)
    recent = recent[:limit]
    files = [SessionFile(Path(row.path), row.session) for row in recent]
    with drawn_progress(term) as progress:
        judged = list(map_files(partial(_judged, since), files, 0, progress, "comparing"))
    if as_json:
        output = [
            {"id": row.id, "tool": row.tool, "compactions": [asdict(item) for item in losses]}
            for row, losses in zip(recent, judged, strict=True)
        ]
        term.write_json(output)
        return
    sessions = [ComparedSession(row, _age(row), losses) for row, losses in zip(recent, judged, strict=True)]
    print_compared(sessions, term)


def _judged(since: datetime, file: SessionFile) -> list[CompactionLosses]:
    """Return the losses of a session at its compactions since a time."""
    source = open_source(file.path)
    source.session = file.set  # a database holds several: read only this one
    try:
        return [
            item
            for session in load(source)
            for item in losses_of_session(session, names=_names_since(session, since))
        ]
    except ClewError:
        return []


def _names_since(session: Transcript, since: datetime) -> set[str]:
    """Return the names of the compactions since a time; one without a recorded time counts."""
    names = set()
    for compaction in tool_compactions(session):
        with suppress(TypeError, ValueError):  # not recorded, or not a time with its zone
            if datetime.fromisoformat(compaction.boundary.time or "") < since:
                continue
        names.add(compaction.name)
    return names
