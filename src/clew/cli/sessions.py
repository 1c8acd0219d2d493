"""``clew sessions`` and ``clew formats``: list sessions, and the formats that clew reads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path, PurePath, PureWindowsPath

from rich.text import Text as Styled

from clew.cli.inputs import OWN_FORMAT, WORKSPACE, own_short_id, own_store
from clew.cli.terminal import Terminal
from clew.cli.text import age, columns, one_line, printable, thousands
from clew.errors import InputError, StoreError
from clew.log import MESSAGE
from clew.log.protocol import Ctx, StoredEvent
from clew.log.transfer import OWN
from clew.message import Origin, Role
from clew.session import Session
from clew.settings import store_address
from clew.transcripts import FORMATS, FoundSession, find_sessions
from clew.transcripts.messages import first_telling
from clew.transcripts.profile import Profiles, ReportCount

KEPT_CHARACTERS = 300
MOST_LOOKED_AT = 40
"""Messages at the start and end of a session in the log that are searched for the user's words."""
NARROW = 72
"""Below this many columns the figures of a session take two lines."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in the list."""

    id: str
    """The 8-character id that every command accepts."""
    session: str
    """The tool's own id."""
    tool: str
    modified: str
    path: str
    project: str | None = None
    title: str | None = None
    asked: str | None = None
    """The user's last request."""
    tokens: int | None = None
    """Tokens in the model's current view."""
    messages: int | None = None
    compactions: int = 0
    compacted: Sequence[str] = ()
    """When its tool compacted it, oldest first; empty texts for unknown times."""
    model: str | None = None

    @property
    def project_name(self) -> str:
        """Return the name of the project's folder."""
        path = self.project or ""
        return (PureWindowsPath(path) if "\\" in path else PurePath(path)).name


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List the sessions."""
    if args.tool and args.tool not in (*FORMATS, OWN_FORMAT):
        raise InputError(f"unknown tool {args.tool!r}", f"use one of {', '.join((*FORMATS, OWN_FORMAT))}")
    rows = list_sessions(args.limit + 1, args.tool, args.project, args.days)
    more, rows = len(rows) > args.limit, rows[: args.limit]
    if args.json:
        term.write_json([asdict(row) for row in rows])
    elif not rows:
        where = "`clew formats` lists where clew looks; other files can be given by path."
        term.say(f"No sessions found. {where}")
    else:
        _print(rows, args.paths, term)
        if more:
            term.note(f"There are more: --limit {args.limit * 10} shows them.")
    return 0


def days_ago(days: int | None) -> datetime:
    """Return the time so many days ago; the earliest of all for None, or before our calendar."""
    with suppress(OverflowError):
        if days:
            return datetime.now(UTC) - timedelta(days=days)
    return datetime.min.replace(tzinfo=UTC)


def list_sessions(
    limit: int,
    tool: str | None = None,
    project: str | None = None,
    days: int | None = None,
    report: ReportCount | None = None,
) -> list[SessionRow]:
    """Return at most ``limit`` sessions of this computer, newest first; with ``days``, only recent ones."""
    since = days_ago(days)
    sessions = (
        session
        for session in find_sessions(titles=False)
        if tool in (None, session.format) and session.modified.astimezone(UTC) >= since
    )
    rows = [*_other_rows(sessions if project else islice(sessions, limit), report), *_own_rows(tool)]
    if project:
        rows = [row for row in rows if project.lower() in (row.project or "").lower()]
    rows = [row for row in rows if datetime.fromisoformat(row.modified) >= since]
    newest = sorted(rows, key=lambda row: row.modified, reverse=True)[:limit]
    return [_with_words(row) if row.tool == OWN_FORMAT else row for row in newest]


def _other_rows(tool_sessions: Iterator[FoundSession], report: ReportCount | None) -> Iterator[SessionRow]:
    sessions = list(tool_sessions)
    for session, profile in zip(sessions, Profiles().of(sessions, report), strict=True):
        modified = session.modified.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        about = {name: getattr(profile, name) for name in profile.__dataclass_fields__}
        yield SessionRow(session.short_id, session.id, session.format, modified, str(session.path), **about)


def _own_rows(tool: str | None) -> Iterator[SessionRow]:
    if tool not in (None, OWN_FORMAT):
        return
    with own_store() as store:
        for info in store.sessions(WORKSPACE) if store else ():
            if not info.session.startswith(OWN):  # clew's internal sessions, such as notes
                name = info.session
                yield SessionRow(own_short_id(name), name, OWN_FORMAT, info.last_time, _store_name())


def _store_name() -> str:
    """Return where clew's log is, without a password."""
    address = store_address()
    if isinstance(address, Path):
        return str(address)
    from clew.log.store.postgres.connection import describe  # imported only with a server

    return describe(address)


def _with_words(row: SessionRow) -> SessionRow:
    """Return a session of clew's log with its user's first and last words, its size and compactions."""
    with own_store() as store, suppress(StoreError):  # a damaged session: `clew audit` reports it
        if store is None:
            return row
        ctx = Ctx(workspace=WORKSPACE, session=row.session)
        first = islice(store.read(ctx, kinds=[MESSAGE.name]), MOST_LOOKED_AT)
        last = store.read(ctx, max(0, store.head(ctx).seq - 2 * MOST_LOOKED_AT), kinds=[MESSAGE.name])
        text, words = first_telling(_user_words(first)) or None, [*_user_words(last)][-1:]
        row = replace(row, title=text, asked=words[0] if words else None)
        with Session.open(row.session, store, workspace=WORKSPACE, off=False) as session:
            return replace(row, compactions=len(session.trace()), tokens=session.tokens)
    return row


def _user_words(events: Iterator[StoredEvent]) -> Iterator[str]:
    for stored in events:
        (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
        words = message.text.strip()
        if message.role is Role.USER and message.origin is Origin.SPOKEN and words:
            yield one_line(words, KEPT_CHARACTERS)


# Output for people -----------------------------------------------------------------------------------


def _print(rows: Sequence[SessionRow], paths: bool, term: Terminal) -> None:
    width = term.console().width
    wide = width >= NARROW
    if wide and not paths:
        project = width - 8 - 6 - 2 - 12 - 1 - 8 - 11
        head = f"{'ID':<8}{'USED':>6}  {'TOOL':<12} {'PROJECT':<{project}}{'TOKENS':>8}{'COMPACTED':>11}"
        term.print(Styled(head, "dim"))
    for row in rows:
        if paths:
            term.write(printable(f"{row.id}  {age_of(row):>4}  {row.path}"))
            continue
        term.print(*(_wide(row, project) if wide else _narrow(row, width)))
        named = f"{row.session}: " if row.tool == OWN_FORMAT else ""
        term.print(f"  {one_line(named + (row.title or 'no user messages'), width - 2)}")
        if row.asked and row.asked != row.title:
            term.print(Styled(f"  last: {one_line(row.asked, width - 8)}", "dim"))


def _wide(row: SessionRow, room: int) -> Iterator[Styled]:
    tokens = "–" if row.tokens is None else thousands(row.tokens)
    compacted = f"{row.compactions}×" if row.compactions else "–"
    line = Styled.assemble((row.id, "bold"), f"{age_of(row):>6}  {row.tool:<12} ")
    project = one_line(row.project_name, room - 1)
    yield line.append(f"{project}{' ' * (room - columns(project))}{tokens:>8}{compacted:>11}")


def _narrow(row: SessionRow, width: int) -> Iterator[Styled]:
    yield Styled.assemble((row.id, "bold"), f"  {age_of(row)}  {row.tool}")
    figures = [f"{thousands(row.tokens)} tokens"] if row.tokens is not None else []
    figures += [f"compacted {row.compactions}×"] if row.compactions else []
    room = width - 4 - sum(len(figure) + 2 for figure in figures)
    names = [one_line(row.project_name, room)] if row.project_name and room >= 6 else []
    if names or figures:
        yield Styled(f"  {', '.join([*names, *figures])}")


def age_of(row: SessionRow) -> str:
    """Return how long ago a session last changed."""
    return age(datetime.now(UTC) - datetime.fromisoformat(row.modified))


def run_formats(args: argparse.Namespace, term: Terminal) -> int:
    """Print the formats."""
    if args.json:
        rows = [
            {"name": format_.name, "title": format_.title, "locations": list(format_.locations)}
            for format_ in FORMATS.values()
        ]
        term.write_json(rows)
        return 0
    width = max(map(len, FORMATS))
    if term.console().width < NARROW:
        for format_ in FORMATS.values():
            locations = (f"  {path}" for path in format_.locations)
            term.say("\n".join([f"{format_.name}: {format_.title}", *locations]))
        return 0
    term.say(f"{'name':<{width}}  {'what':<34}  where its tool stores them")
    for format_ in FORMATS.values():
        term.say(f"{format_.name:<{width}}  {format_.title:<34}  {', '.join(format_.locations)}".rstrip())
    return 0
