"""Compactions of a session as JSON: the list, one in full with its checks, and the sources of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import takewhile

from clew.budget import Cache
from clew.budget.cost import undo_price
from clew.compaction.plan import Claim, RuleQuote
from clew.compaction.plan.digest import spans
from clew.compaction.plan.render import HEADINGS, SPEAKERS
from clew.compaction.verify import Report
from clew.compaction.verify.checks import CHECKS
from clew.errors import NotFound
from clew.inspector.message_json import first_words, marked_to_json, speaker
from clew.inspector.session_pool import OpenSession
from clew.inspector.tool_compactions import by_tool
from clew.log import COMPACTION, REFUSAL, UNDO
from clew.message import Json, JsonObject, message_number
from clew.rules.codec import to_json
from clew.session.history import PastCompaction, compaction_history

MOST_WEIGHED = 20_000
"""Most messages of a view for which the cost of an undo is computed."""


def compactions_of(handle: OpenSession) -> list[PastCompaction]:
    """Return all compactions, undone ones too, oldest first."""
    return compaction_history(handle.message_index.of_kinds(COMPACTION.name, UNDO.name))


def compactions(handle: OpenSession) -> JsonObject:
    """Return the list of compactions, the cost of undoing the last one, and refused compactions."""
    past = compactions_of(handle)
    refused: list[Json] = [
        {"seq": stored.seq, "time": stored.event.time, "reason": stored.event.body.get("reason")}
        for stored in handle.message_index.of_kinds(REFUSAL.name)
    ]
    return {
        "compactions": [{**_short(handle, event), "redoable": _is_redoable(handle, event)} for event in past],
        "by_tool": by_tool(handle),
        "refused": refused,
        "off": handle.message_index.view(handle.message_index.upto).off,
        "undo": _undo_price(handle),
        "total_messages": handle.message_index.messages,
        "preview_from": _preview_from(handle),
    }


def _preview_from(handle: OpenSession) -> str:
    """Return where a preview starts: what the model sees now, unless only the tool has compacted it."""
    index = handle.message_index
    view = index.view(index.upto)
    is_now = view.steps or view.resumed or index.tool_compaction_before(index.upto) is None
    return "now" if is_now else "whole"


def _short(handle: OpenSession, past: PastCompaction) -> JsonObject:
    """Return a compaction as one row of the list: when, why, sizes, and the counts of its digest."""
    item = past.compaction
    plan, digest = item.plan, item.digest
    unlogged = handle.unlogged_tokens(item.seq, known_then=True)
    return {
        "name": past.name,
        "seq": item.seq,
        "time": item.time,
        "at": handle.message_index.number(item.seq),
        "undone": past.undone,
        "folded_into": past.folded_into,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "focus": item.focus,
        "before": plan.tokens_before + unlogged,
        "after": plan.tokens_after + unlogged,
        "digest": digest.id if digest else None,
        "folds": list[Json](digest.folds) if digest else [],
        "covers": spans(digest.covers) if digest else "",
        "covered": len(digest.covers) if digest else 0,
        "author": digest.author if digest else "clew",
    }


def _is_redoable(handle: OpenSession, past: PastCompaction) -> bool:
    """Return False for an undone compaction of which nothing is left to redo, by its range or its size."""
    index, plan = handle.message_index, past.compaction.plan
    view = index.view(index.upto)
    if past.in_force or view.off or len(view.entries) > MOST_WEIGHED:
        return False
    if messages := past.compaction.asked_range:
        first, _, last = messages.partition("-")
        numbers = range(message_number(first), message_number(last) + 1)
        unchanged = {*view.whole}
        return any(index.number(ref.seq) in numbers for ref in view.entries if ref in unchanged)
    return sum(shown.tokens for shown in handle.shown(view.entries)) > plan.target_tokens


def _undo_price(handle: OpenSession) -> Json:
    """Return the cost of undoing the last compaction; None if there is none, or the view is too long."""
    upto = handle.message_index.upto
    view = handle.message_index.view(upto)
    if not view.steps or view.off:
        return None
    now = list(view.entries)
    then = list(handle.message_index.seen_in(view.undo(view.steps[-1].seq), upto))
    if len(then) > MOST_WEIGHED:
        return None
    sizes = {shown.ref: shown.tokens for shown in handle.shown(dict.fromkeys((*now, *then)))}
    same = takewhile(lambda pair: pair[0] == pair[1], zip(now, then, strict=False))
    unchanged = sum(sizes[ref] for ref, _ in same)  # the common prefix stays in the prompt cache
    tokens, restored = (sum(sizes[ref] for ref in refs) for refs in (now, then))
    price = undo_price(tokens, restored, unchanged, Cache(handle.gauge.model))
    return {"tokens": tokens, "restored": restored, "price": str(price)}


# One compaction --------------------------------------------------------------------------------------


def find(handle: OpenSession, name: str) -> PastCompaction:
    """Return a compaction by its name, or raise ``NotFound``."""
    for item in compactions_of(handle):
        if item.name == name:
            return item
    raise NotFound(f"there is no compaction {name!r}", "the page Compactions lists them")


def compaction(handle: OpenSession, name: str) -> JsonObject:
    """Return a compaction with all claims of its digest and the result of the checks."""
    past = find(handle, name)
    item = past.compaction
    digest = item.digest
    return {
        **_short(handle, past),
        "rules": [_rule(pin) for pin in digest.pins] if digest else [],
        "headings": list[Json](dict.fromkeys(HEADINGS.values())),
        "lines": [_claim(claim, item.report) for claim in digest.claims] if digest else [],
        "report": report_to_json(item.report),
        "attempts": to_json(item.attempts),
        "not_judged": item.not_judged,
        "usage": {"calls": item.calls, **asdict(item.usage)},
    }


def _rule(pin: RuleQuote) -> JsonObject:
    return {"id": pin.id, "quote": pin.quote, "source": pin.source.message, "trust": pin.trust.label}


def _claim(claim: Claim, report: Report) -> JsonObject:
    return {
        "id": claim.id,
        "kind": claim.kind.value,
        "heading": HEADINGS[claim.kind],
        "speaker": SPEAKERS.get(claim.kind, ""),
        "text": claim.text,
        "trust": claim.trust.label,
        "verbatim": claim.verbatim,
        "sources": list[Json](dict.fromkeys(cite.message for cite in claim.sources)),
        "findings": [to_json(finding) for finding in report.findings if finding.subject == claim.id],
    }


def report_to_json(report: Report) -> JsonObject:
    """Return a verification report: each check with its findings, and what left the view."""
    return {
        "accepted": report.accepted,
        "refused": report.refused,
        "checks": [
            {
                "name": check.name,
                "what": check.what,
                "findings": [to_json(finding) for finding in report.findings if finding.check == check.name],
            }
            for check in CHECKS
        ],
        "kept": [
            {
                "matter": survival.matter.value,
                "before": survival.before,
                "visible": survival.stand,
                "reachable": survival.reachable,
                "gone": survival.gone,
            }
            for survival in report.kept
            if survival.before
        ],
        "lost": [
            {
                "matter": loss.matter.value,
                "text": loss.text,
                "source": loss.source,
                "reachable": loss.reachable,
            }
            for loss in report.lost
        ],
        "kept_values": list(report.kept_values),
    }


MOST_SOURCES = 40
"""Most source messages that are sent; a digest may have thousands."""


def expansion(handle: OpenSession, ref: str) -> JsonObject:
    """Return the source messages of a reference, with the quoted text marked."""
    expanded = handle.session.expand(ref)
    messages: list[Json] = [
        {
            "id": item.id,
            "role": speaker(item.message),
            "trust": item.message.trust.label,
            "parts": marked_to_json(
                item.message, [quote for quote in expanded.quotes if quote.cite.message == item.id]
            ),
            "neighbours": _neighbours(handle, item.id, expanded.ids),
        }
        for item in handle.session.originals(expanded.ids[:MOST_SOURCES])
    ]
    return {
        "ref": expanded.ref,
        "what": expanded.what,
        "text": expanded.text,
        "messages": messages,
        "more": len(expanded.ids) - len(messages),
    }


def _neighbours(handle: OpenSession, name: str, known: Sequence[str]) -> list[Json]:
    """Return the first words of the message before and after a source, unless they are sources too."""
    number = message_number(name)
    ids = [beside for beside in (f"m{number - 1}", f"m{number + 1}") if number and beside not in known]
    return [
        {"id": item.id, "role": speaker(item.message), "text": first_words(item.message, 240)}
        for item in handle.session.originals(ids)
    ]


def explanation(handle: OpenSession, ref: str) -> JsonObject:
    """Return why an item is shown as it is, or why it left the view."""
    return {"ref": ref, "lines": list[Json](handle.session.explain(ref).lines)}
