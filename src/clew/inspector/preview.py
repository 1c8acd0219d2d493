"""What a planned compaction would take out of the view: turns, findings, files and rules.

For example ``{"kind": "turn", "before": 12, "left": 3, "things": [{"source": "m4", "text": "fix it"}, …]}``:
three of twelve requests of the user would leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from clew.compaction.plan import ClaimKind, Plan, Shrink
from clew.compaction.plan.render import render_digest
from clew.compaction.verify import Report
from clew.compaction.verify.report import LossKind
from clew.inspector.history import compactions_of
from clew.inspector.session_pool import OpenSession
from clew.ledger.agent_findings import WEAKEST
from clew.message import Cite, Item, Json, JsonObject, Message, words
from clew.session import Session

MOST_LISTED = 60
"""Items of each kind that are listed; the counts are complete."""
_CHECKED = (LossKind.RULE, LossKind.OPEN, LossKind.GOAL, LossKind.DECISION, LossKind.FAILURE)
"""Kinds whose losses the checks of a compaction report."""


class QuotedItem(NamedTuple):
    """A request, a finding, a file name, …, with the id of its message."""

    source: str
    text: str


def leaving(handle: OpenSession, plan: Plan, report: Report) -> list[Json]:
    """Return, for each kind of item, how many there are now and which of them would leave the view.

    A turn leaves if no line of the digest cites it, a finding if the new view does not contain its text, and
    a file if the new view does not name it. Files are counted that the session changed, or touched last in a
    message that would leave.
    """
    session = handle.session
    dropped_ids: set[str] = set()
    shrunk: dict[str, Message] = {}
    for operation in plan.operations:
        if isinstance(operation, Shrink):
            shrunk[operation.id] = operation.message
        else:
            dropped_ids.update(operation.ids)
    staying = [shrunk.get(item.id, item.message) for item in session.view() if item.id not in dropped_ids]
    parts = (part for message in staying for part in message.parts)
    text_after = "\n".join([*map(render_digest, plan.digests), *map(words, parts)])
    cited = {cite.message for digest in plan.digests for claim in digest.claims for cite in claim.sources}
    turns, findings = _requests_and_findings(session, dropped_ids)
    findings += _findings_of_digests(handle, dropped_ids)
    files = [
        QuotedItem(file.last.message, file.name)
        for file in session.ledger.artifacts.files
        if file.changed or file.last.message in dropped_ids
    ]
    return [
        _loss_row("turn", turns, [turn for turn in turns if turn.source in dropped_ids - cited]),
        _loss_row("finding", findings, [finding for finding in findings if finding.text not in text_after]),
        _loss_row("file", files, [file for file in files if not _is_named(file.text, text_after)]),
        *(_of_report(report, kind) for kind in _CHECKED),
    ]


def _is_named(path: str, text: str) -> bool:
    """Whether a text names a file: by its path, or by folder and the rest, as in "in src/: a.py, b.py"."""
    if path in text and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-]|\.\w)", text):
        return True
    folders = (path[: at + 1] for at, letter in enumerate(path) if letter == "/")
    return any(
        re.search(rf"{re.escape(folder)}: [^\n]*(?<![\w/]){re.escape(path[len(folder) :])}(?![\w/])", text)
        for folder in folders
        if f"{folder}: " in text
    )


def _requests_and_findings(
    session: Session, dropped_ids: set[str]
) -> tuple[list[QuotedItem], list[QuotedItem]]:
    """Return the requests and the findings of messages that are in view or would leave it."""
    turns = session.ledger.turns
    asks = [item.ask for item in turns.all if item.asks]
    findings = [finding.source for finding in turns.findings if finding.rank < WEAKEST]
    seen = dropped_ids | {item.id for item in session.view()}
    cites = [item for item in (*asks, *findings) if item.message in seen]
    texts = {item.id: item for item in session.originals(dict.fromkeys(cite.message for cite in cites))}
    return _quotes(texts, asks), _quotes(texts, findings)


def _findings_of_digests(handle: OpenSession, dropped_ids: set[str]) -> list[QuotedItem]:
    """Return the findings of the digests that would leave the view."""
    digests = [past.compaction.digest for past in compactions_of(handle) if past.name in dropped_ids]
    claims = chain.from_iterable(digest.claims for digest in digests if digest)
    return [
        QuotedItem(claim.sources[0].message, claim.text)
        for claim in claims
        if claim.kind is ClaimKind.FINDING
    ]


def _quotes(items: dict[str, Item], cites: Sequence[Cite]) -> list[QuotedItem]:
    known = [cite for cite in cites if cite.message in items]
    return [QuotedItem(cite.message, cite.quote(items[cite.message].message)) for cite in known]


def _loss_row(kind: str, all_: Sequence[QuotedItem], lost: Iterable[QuotedItem]) -> JsonObject:
    rows: list[Json] = [{"source": item.source, "text": _first_line(item.text)} for item in lost]
    return {"kind": kind, "before": len(all_), "left": len(rows), "things": rows[:MOST_LISTED]}


def _first_line(text: str) -> str:
    """Return the start of a text exactly as it is in its message, so that it can be kept verbatim."""
    return text.strip().split("\n", 1)[0][:240]


def _of_report(report: Report, kind: LossKind) -> JsonObject:
    before = next((item.before for item in report.kept if item.matter is kind), 0)
    lost = (QuotedItem(item.source, item.text) for item in report.lost if item.matter is kind)
    return {**_loss_row(kind.value, (), lost), "before": before}
