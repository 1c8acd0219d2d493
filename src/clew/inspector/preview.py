"""What a planned compaction would take out of the view: turns, findings, files and rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from clew.compaction.plan import Condense, Drop, Plan
from clew.compaction.plan.render import render_digest
from clew.compaction.verify import Report
from clew.compaction.verify.report import LossKind
from clew.inspector.message_json import excerpt
from clew.inspector.session_pool import OpenSession
from clew.message import Cite, Item, Json, JsonObject, words
from clew.session import Session

MOST_LISTED = 60
"""Items of each kind that are listed; the counts are complete."""
STRONG = 1
"""Findings up to this rank state a conclusion or a reason; others only name something."""

Thing = tuple[str, str]
"""The message of something, and its text."""


def leaving(handle: OpenSession, plan: Plan, report: Report) -> list[Json]:
    """Return, for each kind of thing, how many the model sees now and which of them would leave the view."""
    session = handle.session
    gone = frozenset(
        chain.from_iterable(one.ids for one in plan.operations if isinstance(one, Condense | Drop))
    )
    shown = [item for item in session.view() if item.id not in gone]
    left = "\n".join(chain(map(render_digest, plan.digests), map(_text, shown)))
    cited = {cite.message for digest in plan.digests for claim in digest.claims for cite in claim.sources}
    turns, findings = _said(session, gone)
    files = [
        (one.last.message, one.name)
        for one in session.ledger.artifacts.files
        if one.changed or one.last.message in gone
    ]
    return [
        _counted("turn", turns, [one for one in turns if one[0] in gone and one[0] not in cited]),
        _counted("finding", findings, [one for one in findings if one[1] not in left]),
        _counted("file", files, [one for one in files if one[1] not in left]),
        *(_of_report(report, kind) for kind in (LossKind.RULE, LossKind.OPEN, LossKind.DECISION)),
    ]


def _said(session: Session, gone: frozenset[str]) -> tuple[list[Thing], list[Thing]]:
    """Return the requests and the findings of messages that are in view or would leave it."""
    turns = session.ledger.turns
    asks = [one.ask for one in turns.all if one.asks]
    found = [one.source for one in turns.findings if one.rank <= STRONG]
    seen = gone | {item.id for item in session.view()}
    cites = [one for one in (*asks, *found) if one.message in seen]
    texts = {item.id: item for item in session.originals(dict.fromkeys(one.message for one in cites))}
    return _quoted(texts, asks), _quoted(texts, found)


def _quoted(items: dict[str, Item], cites: Sequence[Cite]) -> list[Thing]:
    return [(one.message, one.quote(items[one.message].message)) for one in cites if one.message in items]


def _text(item: Item) -> str:
    return "\n".join(map(words, item.message.parts))


def _counted(kind: str, all_: Sequence[Thing], left: Iterable[Thing]) -> JsonObject:
    things: list[Json] = [{"source": source, "text": excerpt(text, 240)} for source, text in left]
    return {
        "kind": kind,
        "before": len(all_),
        "left": len(things),
        "things": things[:MOST_LISTED],
    }


def _of_report(report: Report, kind: LossKind) -> JsonObject:
    before = next((one.before for one in report.kept if one.matter is kind), 0)
    lost: Iterator[Thing] = ((one.source, one.text) for one in report.lost if one.matter is kind)
    return {**_counted(kind.value, (), lost), "before": before}
