"""Every compaction of a session: in force, undone or taken into a later one."""

from __future__ import annotations

from dataclasses import asdict
from itertools import takewhile

from clew.budget import Cache
from clew.budget.cost import undo_price
from clew.compaction.plan import Claim, Pin
from clew.compaction.plan.spans import spans
from clew.compaction.verify import Report
from clew.compaction.verify.checks import CHECKS
from clew.errors import NotFound
from clew.inspector.shelf import Book
from clew.log import COMPACTION, REFUSAL, UNDO
from clew.message import Json, JsonObject
from clew.rules.codec import to_json
from clew.session.history import PastCompaction, compaction_history

MOST_WEIGHED = 20_000
"""Messages of a view that are weighed to say what an undo costs."""


def past_of(book: Book) -> list[PastCompaction]:
    """Return every compaction there ever was, oldest first."""
    return compaction_history(book.places.of_kinds(COMPACTION.name, UNDO.name))


def compactions(book: Book) -> JsonObject:
    """Return all of them in short, with what undoing the last would cost, and what was refused."""
    past = past_of(book)
    refused: list[Json] = [
        {"seq": one.seq, "time": one.event.time, "reason": one.event.body.get("reason")}
        for one in book.places.of_kinds(REFUSAL.name)
    ]
    return {
        "compactions": [_short(book, one) for one in past],
        "refused": refused,
        "off": book.places.view(book.places.upto).off,
        "undo": _undo_price(book),
        "said": book.places.messages,
        "by_model": book.options.summariser.name if book.options.summariser else None,
    }


def _short(book: Book, past: PastCompaction) -> JsonObject:
    one = past.compaction
    plan, digest = one.plan, one.digest
    return {
        "name": past.name,
        "seq": one.seq,
        "time": one.time,
        "at": book.places.number(one.seq),
        "undone": past.undone,
        "taken_in": past.taken_in,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "focus": one.focus,
        "before": plan.tokens_before,
        "after": plan.tokens_after,
        "target": plan.target_tokens,
        "freed": to_json(plan.freed),
        "digest": digest.id if digest else None,
        "level": digest.level if digest else None,
        "folds": list[Json](digest.folds) if digest else [],
        "covers": spans(digest.covers) if digest else "",
        "covered": len(digest.covers) if digest else 0,
        "claims": len(digest.claims) if digest else 0,
        "pins": len(digest.pins) if digest else 0,
        "author": digest.author if digest else "clew",
        "accepted": one.report.accepted,
    }


def _undo_price(book: Book) -> Json:
    """Say what taking the last compaction back would cost."""
    view = book.places.view(book.places.upto)
    if not view.steps or view.off:
        return None
    now, then = list(view.entries), list(view.without(view.steps[-1].seq).entries)
    if len(then) > MOST_WEIGHED:
        return None
    sizes = {ref: tokens for _, ref, tokens in book.shown(dict.fromkeys((*now, *then)))}
    stable = sum(
        sizes[one] for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(now, then, strict=False))
    )
    tokens, restored = (sum(sizes[ref] for ref in refs) for refs in (now, then))
    price = undo_price(tokens, restored, stable, Cache(book.gauge.model))
    return {"tokens": tokens, "restored": restored, "sent_anew": restored - stable, "price": str(price)}


# One of them -----------------------------------------------------------------------------------------


def find(book: Book, name: str) -> PastCompaction:
    """Return a compaction by its number, or raise ``NotFound``."""
    for one in past_of(book):
        if one.name == name:
            return one
    raise NotFound(f"there is no compaction {name!r}", "the digests page lists them")


def whole(book: Book, name: str) -> JsonObject:
    """Return a compaction with every claim of its digest, and what the checks said."""
    past = find(book, name)
    one = past.compaction
    digest = one.digest
    return {
        **_short(book, past),
        "rules": [_rule(pin) for pin in digest.pins] if digest else [],
        "lines": [_claim(claim, one.report) for claim in digest.claims] if digest else [],
        "checksum": digest.checksum if digest else None,
        "report": report_to_json(one.report),
        "attempts": to_json(one.attempts),
        "usage": {"calls": one.calls, **asdict(one.usage)},
    }


def _rule(pin: Pin) -> JsonObject:
    return {"id": pin.id, "quote": pin.quote, "source": pin.source.message, "trust": pin.trust.label}


def _claim(claim: Claim, report: Report) -> JsonObject:
    return {
        "id": claim.id,
        "kind": claim.kind.value,
        "text": claim.text,
        "trust": claim.trust.label,
        "verbatim": claim.verbatim,
        "sources": list[Json](dict.fromkeys(cite.message for cite in claim.sources)),
        "findings": [to_json(one) for one in report.findings if one.subject == claim.id],
    }


def report_to_json(report: Report) -> JsonObject:
    """Return what the checks said, each check with what it found, and what left."""
    return {
        "accepted": report.accepted,
        "refused": report.refused,
        "checks": [
            {
                "name": check.name,
                "what": check.what,
                "findings": [to_json(one) for one in report.findings if one.check == check.name],
            }
            for check in CHECKS
        ],
        "kept": [
            {
                "matter": one.matter.value,
                "before": one.before,
                "stand": one.stand,
                "reachable": one.reachable,
                "gone": one.gone,
            }
            for one in report.kept
            if one.before
        ],
        "lost": lost_to_json(report),
        "messages": [report.messages_before, report.messages_after],
        "tokens": [report.tokens_before, report.tokens_after],
        "target": report.target_tokens,
    }


def lost_to_json(report: Report) -> list[Json]:
    """Return what the model would no longer see."""
    return [
        {
            "matter": one.matter.value,
            "id": one.id,
            "text": one.text,
            "source": one.source,
            "reachable": one.reachable,
        }
        for one in report.lost
    ]
