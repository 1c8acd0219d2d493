"""Plans and digests to JSON and back: the stored form of a compaction.

One operation of a plan is ``{"does": "condense", "ids": "m2-m40", "rung": …, "digest": {…}, "shows": 0}``:
the message that it shows is the first of those stored with the plan (``shown_messages``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.compaction.plan.digest import (
    Claim,
    ClaimKind,
    Digest,
    RuleQuote,
    Topic,
    expand_spans,
    spans,
    topic_by_wording,
)
from clew.compaction.plan.plan import Condense, Drop, Freed, Operation, Plan, Rung, Shrink
from clew.compaction.plan.render import digest_message
from clew.errors import StoreDamaged
from clew.message import Cite, Json, JsonObject, Message, Trust
from clew.message.atoms import check_fields
from clew.message.codec import TRUST_BY_LABEL


def plan_to_json(plan: Plan) -> JsonObject:
    """Return a plan as JSON; new messages are referred to by their index in ``shown_messages``."""
    shows = 0
    operations: list[Json] = []
    for operation in plan.operations:
        body = _operation_to_json(operation)
        if not isinstance(operation, Drop):
            body["shows"] = shows
            shows += 1
        operations.append(body)
    return {
        "trigger": plan.trigger,
        "reason": plan.reason,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "target_tokens": plan.target_tokens,
        "operations": operations,
        "freed": [
            {"rung": step.rung.value, "operations": step.operations, "tokens": step.tokens}
            for step in plan.freed
        ],
    }


def shown_messages(plan: Plan) -> list[tuple[str, Message]]:
    """Return the messages that a plan would add to the view, each with its id in the view."""
    shown: list[tuple[str, Message]] = []
    for operation in plan.operations:
        if isinstance(operation, Shrink):
            shown.append((operation.id, operation.message))
        elif isinstance(operation, Condense):
            shown.append((operation.digest.id, digest_message(operation.digest)))
    return shown


def plan_from_json(value: JsonObject, messages: Sequence[Message]) -> Plan:
    """Read back what ``plan_to_json`` wrote; ``messages`` are those of ``shown_messages``."""
    body: dict[str, Any] = value
    try:
        return check_fields(
            Plan(
                tuple(_operation(item, messages) for item in body["operations"]),
                body["tokens_before"],
                body["tokens_after"],
                body["target_tokens"],
                body["trigger"],
                body["reason"],
                tuple(
                    Freed(Rung(item["rung"]), item["operations"], item["tokens"]) for item in body["freed"]
                ),
            )
        )
    except (KeyError, IndexError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a plan cannot be read back ({cause!r})") from cause


def _operation_to_json(operation: Operation) -> JsonObject:
    match operation:
        case Shrink(id=name, reason=reason):
            return {"does": "shrink", "ids": name, "rung": operation.rung.value, "reason": reason}
        case Condense(ids=ids, digest=digest):
            rung = operation.rung.value
            return {"does": "condense", "ids": spans(ids), "rung": rung, "digest": digest_to_json(digest)}
        case Drop(ids=ids, reason=reason):
            return {"does": "drop", "ids": spans(ids), "rung": operation.rung.value, "reason": reason}


def _operation(body: dict[str, Any], messages: Sequence[Message]) -> Operation:
    rung = Rung(body["rung"])
    match body["does"]:
        case "shrink":
            return Shrink(body["ids"], messages[body["shows"]], body["reason"], rung)
        case "condense":
            return Condense(expand_spans(body["ids"]), digest_from_json(body["digest"]), rung)
        case "drop":
            return Drop(expand_spans(body["ids"]), body["reason"], rung)
        case other:
            raise ValueError(f"unknown operation {other!r}")


# Digests ---------------------------------------------------------------------------------------------


def digest_to_json(digest: Digest) -> JsonObject:
    """Return a digest as JSON."""
    return {
        "id": digest.id,
        "level": digest.level,
        "covers": spans(digest.covers),
        "checksum": digest.checksum,
        "folds": list[Json](digest.folds),
        "author": digest.author,
        "prompt_version": digest.prompt_version,
        "pins": [pin_to_json(pin) for pin in digest.pins],
        "claims": [claim_to_json(claim) for claim in digest.claims],
    }


def digest_from_json(value: JsonObject) -> Digest:
    """Read back what ``digest_to_json`` wrote."""
    body: dict[str, Any] = value
    try:
        return check_fields(
            Digest(
                body["id"],
                body["level"],
                expand_spans(body["covers"]),
                body["checksum"],
                tuple(_claim(item) for item in body["claims"]),
                tuple(
                    RuleQuote(
                        item["id"], item["quote"], Cite(*item["source"]), _label(item), item.get("lead", "")
                    )
                    for item in body["pins"]
                ),
                tuple(body["folds"]),
                body["author"],
                body["prompt_version"],
            )
        )
    except (KeyError, IndexError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a digest cannot be read back ({cause!r})") from cause


def pin_to_json(pin: RuleQuote) -> JsonObject:
    """Return a rule as JSON."""
    lead: JsonObject = {"lead": pin.lead} if pin.lead else {}
    return {
        "id": pin.id,
        **lead,
        "quote": pin.quote,
        "source": list[Json](pin.source),
        "trust": pin.trust.label,
    }


def claim_to_json(claim: Claim) -> JsonObject:
    """Return a claim as JSON; a source is message id, part index, first and last character."""
    return {
        "id": claim.id,
        "kind": claim.kind.value,
        "text": claim.text,
        "sources": [list[Json](cite) for cite in claim.sources],
        "trust": claim.trust.label,
        "verbatim": claim.verbatim,
        "topic": claim.topic.value if claim.topic else None,
    }


def _claim(body: dict[str, Any]) -> Claim:
    sources = tuple(Cite(*item) for item in body["sources"])
    kind = ClaimKind(body["kind"])
    if "topic" in body:
        topic = Topic(body["topic"]) if body["topic"] else None
    else:  # stored before claims had topics
        topic = topic_by_wording(kind, body["text"])
    return Claim(body["id"], kind, body["text"], sources, _label(body), body["verbatim"], topic)


def _label(body: dict[str, Any]) -> Trust:
    return TRUST_BY_LABEL[body["trust"]]
