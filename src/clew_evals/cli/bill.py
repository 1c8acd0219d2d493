"""``clew bill``: what a session cost, and what it would have cost uncompacted or with clew; or several."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from rich.text import Text as Styled

from clew.budget import DEFAULT, Limit, Policy
from clew.cli.inputs import found_named
from clew.cli.sessions import list_sessions
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, thousands
from clew.errors import ClewError, InputError, NotFound
from clew.tokens.models import prices_date
from clew.transcripts import FORMATS, detect, load, open_source
from clew_evals.cli.eval import drawn_progress
from clew_evals.sessions import SessionFile
from clew_evals.study import map_files
from clew_evals.whole_bill import Bills, SessionBill, bills_of

WAYS = ("as it was", "no compaction", "with clew")
PARTS = {
    "input": "input",
    "cache_reads": "cache reads",
    "cache_writes": "cache writes",
    "output": "output",
    "summaries": "summaries",
}
NARROW = 66


class _Priced(NamedTuple):
    """A session and its bills."""

    id: str
    tool: str
    title: str
    bills: Bills


def report(args: argparse.Namespace, term: Terminal) -> int:
    """Price the sessions."""
    policy = Policy(down_to=Limit(share=args.down_to)) if args.down_to else DEFAULT
    wanted = list(_wanted_files(args))
    with drawn_progress(term) as progress:
        work = partial(_priced, args.window, policy)
        results = map_files(work, [item.file for item in wanted], 0, progress, "pricing")
        sessions = [
            session._replace(id=item.id or session.id)
            for item, priced in zip(wanted, results, strict=True)
            for session in priced
        ]
    if not sessions:
        raise NotFound("there are no model replies to price", "`clew sessions` lists the sessions")
    if args.json:
        rows = [_to_json(session) for session in sessions]
        term.write(json.dumps({"prices": prices_date(), "sessions": rows}, ensure_ascii=False))
    elif len(sessions) == 1:
        term.print(*_one(sessions[0], term.console().width))
    else:
        term.print(*_many(sessions, term.console().width))
    return 0


class _WantedFile(NamedTuple):
    id: str
    """The session's id as ``clew sessions`` lists it; empty for a file that is not listed."""
    file: SessionFile
    """Its set is the session that is wanted if the file is a database that holds several; empty for all."""


def _wanted_files(args: argparse.Namespace) -> Iterator[_WantedFile]:
    """Yield the files to read: those that are named, all with ``--all``, else that of the newest session."""
    if args.all or not args.files:
        rows = [row for row in list_sessions(args.limit if args.all else 1) if row.tool in FORMATS]
        if not rows:
            raise NotFound("there are no sessions on this computer", "name a file: clew bill FILE")
        yield from (_WantedFile(row.id, SessionFile(Path(row.path), row.session)) for row in rows)
    for name in args.files:
        session = found_named(name)
        if session is None and (name == "-" or not Path(name).exists()):
            raise InputError(f"no file and no session {name!r}", "`clew sessions` lists them")
        if session:
            yield _WantedFile(session.short_id, SessionFile(session.path, session.id))
        else:
            detect(open_source(name))  # its error says what is wrong with the file
            yield _WantedFile("", SessionFile(Path(name), ""))


def _priced(window: int | None, policy: Policy, file: SessionFile) -> list[_Priced]:
    source = open_source(file.path)
    source.session = file.set or None
    try:
        sessions = load(source)
    except ClewError:
        return []
    priced = ((session, bills_of(session, window=window, policy=policy)) for session in sessions)
    return [
        _Priced(session.id, session.format, session.label, bills)
        for session, bills in priced
        if bills is not None
    ]


# One session -----------------------------------------------------------------------------------------


def _one(session: _Priced, width: int) -> Iterator[Styled | str]:
    bills = session.bills
    yield Styled(one_line(session.title, width), "bold")
    models = ", ".join(bills.models) or "unknown model"
    yield one_line(f"{session.tool}, {count(bills.requests, 'request')} to {models}", width)
    yield ""
    yield from _table(bills, width)
    yield ""
    yield Styled(_saving(bills.saving, bills.as_it_was.total, bills.priced), "bold")
    yield from _remarks([session], width)


def _table(bills: Bills, width: int) -> Iterator[Styled]:
    """Yield the three bills as columns."""
    ways = (bills.as_it_was, bills.uncompacted, bills.with_clew)
    size, heads = (15, WAYS) if width >= NARROW else (9, ("was", "no comp.", "clew"))
    label = 18 if width >= NARROW else 13
    yield Styled(f"{'':<{label}}" + "".join(f"{head:>{size}}" for head in heads), "dim")
    for name, words in PARTS.items():
        cells = "".join(f"{_money(getattr(way, name), bills.priced):>{size}}" for way in ways)
        yield Styled(f"{words:<{label}}{cells}")
    marks = ["*" if way.over_window else "" for way in ways]
    amounts = [f"{_money(way.total, bills.priced)}{mark}" for way, mark in zip(ways, marks, strict=True)]
    totals = "".join(f"{amount:>{size}}" for amount in amounts)
    yield Styled(f"{'whole bill':<{label}}{totals}", "bold")
    yield Styled(f"{'compactions':<{label}}" + "".join(f"{way.compactions:>{size}}" for way in ways))
    largest = "".join(f"{thousands(way.largest_request):>{size}}" for way in ways)
    yield Styled(f"{'largest request' if width >= NARROW else 'largest':<{label}}{largest}")


def _money(amount: float, priced: bool) -> str:
    if not priced:
        return f"{amount:,.2f}M"
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"


def _saving(saving: float, of: float, priced: bool) -> str:
    sign = "+" if saving >= 0.005 else "-" if saving <= -0.005 else ""
    share = f" ({saving / of:+.0%})" if of and sign else ""
    return f"net saving with clew: {sign}{_money(abs(saving), priced)}{share}"


def _remarks(several: Sequence[_Priced], width: int) -> Iterator[str]:
    """Yield the footnotes: what the figures are based on."""
    bills = [session.bills for session in several]
    over = sum(bill.uncompacted.over_window for bill in bills)
    if over:
        yield from wrap(f"* {count(over, 'request')} would have exceeded the window.", width)
    refused = sum(bill.with_clew.refused for bill in bills)
    if refused:
        yield from wrap(f"clew gave up {count(refused, 'compaction')}: what must be kept did not fit.", width)
    reported, requests = sum(bill.reported for bill in bills), sum(bill.requests for bill in bills)
    if reported == requests:
        source = "Tokens as reported by the provider."
    elif reported:
        some = f"{reported:,} of {requests:,} requests"
        source = f"Tokens of {some} as the provider reported them, the rest estimated."
    else:
        source = "Tokens estimated."
    prices = (
        f"Prices of {prices_date()}; assumes that the session continues alike; sub-agents are not counted."
    )
    is_priced = all(bill.priced for bill in bills)
    unit = "" if is_priced else " Some prices are unknown: M is a million input tokens."
    yield from wrap(f"{source} {prices}{unit}", width)


# Many sessions ---------------------------------------------------------------------------------------


def _many(sessions: Sequence[_Priced], width: int) -> Iterator[Styled | str]:
    wide = width >= NARROW
    heads = ("AS IT WAS", "NO COMPACT.", "WITH CLEW", "SAVING") if wide else ("WAS", "CLEW", "SAVING")
    size = 12 if wide else 10
    label = f"{'ID':<9}{'TOOL':<12}{'REQ.':>5}" if wide else f"{'ID':<9}"
    yield Styled(label + "".join(f"{head:>{size}}" for head in heads), "dim")
    for session in sessions:
        bills = session.bills
        start = f"{session.tool:<12}{bills.requests:>5}" if wide else ""
        yield Styled.assemble((f"{one_line(session.id, 8):<9}", "bold"), start + _cells(bills, size, wide))
    for priced in (True, False):
        several = [item for item in sessions if item.bills.priced is priced]
        if several:
            yield from _sum(several, width)
    yield ""
    yield from _remarks(sessions, width)


def _cells(bills: Bills, size: int, wide: bool) -> str:
    mark = "*" if bills.uncompacted.over_window else ""
    amounts = [_money(bills.as_it_was.total, bills.priced)]
    amounts += [_money(bills.uncompacted.total, bills.priced) + mark] if wide else []
    saving = bills.saving if abs(bills.saving) >= 0.005 else 0.0
    sign = "+" if saving > 0 else ""
    amounts += [_money(bills.with_clew.total, bills.priced), f"{sign}{_money(saving, bills.priced)}"]
    return "".join(f"{amount:>{size}}" for amount in amounts)


def _sum(several: Sequence[_Priced], width: int) -> Iterator[Styled | str]:
    """Yield the whole bill of sessions that can be added up."""
    bills = [session.bills for session in several]
    whole = Bills(
        session="",
        models=(),
        requests=0,
        reported=0,
        priced=bills[0].priced,
        as_it_was=_added([bill.as_it_was for bill in bills]),
        uncompacted=_added([bill.uncompacted for bill in bills]),
        with_clew=_added([bill.with_clew for bill in bills]),
    )
    yield ""
    yield Styled(f"all {len(several)}" if bills[0].priced else f"{len(several)} without known prices", "bold")
    yield from _table(whole, width)
    yield Styled(_saving(whole.saving, whole.as_it_was.total, whole.priced), "bold")


def _added(bills: Sequence[SessionBill]) -> SessionBill:
    sums = {
        name: sum(getattr(bill, name) for bill in bills) for name in (*PARTS, "compactions", "over_window")
    }
    return SessionBill(**sums, largest_request=max(bill.largest_request for bill in bills))


def _to_json(session: _Priced) -> dict[str, object]:
    bills = session.bills
    totals = {
        "as_it_was": bills.as_it_was.total,
        "uncompacted": bills.uncompacted.total,
        "with_clew": bills.with_clew.total,
    }
    return {"id": session.id, "tool": session.tool, **asdict(bills), "totals": totals, "saving": bills.saving}
