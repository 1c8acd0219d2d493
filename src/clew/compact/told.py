"""What the ledger has to say, as claims and pins: the bridge from what code kept to what a digest says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.compact.brief import Brief
from clew.ledger.artifacts import Artifact
from clew.ledger.failures import Failure
from clew.ledger.ledger import Ledger
from clew.message import Cite, Item, Trust
from clew.plan import Claim, ClaimKind, Pin

MOST_FAILURES = 12
MOST_DECISIONS = 20
MOST_READ = 40
MOST_COMMANDS = 12
LONGEST_QUOTE = 600


def brief_of(ledger: Ledger, span: Sequence[Item]) -> Brief:
    """Return what a digest of this span must say, the most important first.

    What stands verbatim after the span is left to speak for itself: rules are always repeated, loops are
    repeated because they must never seem closed, all else only where its source goes away.
    """
    gone = {item.id for item in span}
    claims = [
        *_goal(ledger),
        *_open(ledger),
        *_changed_files(ledger),
        *(claim for claim in _failures(ledger) if _leaves(claim, gone)),
        *(claim for claim in _decisions(ledger) if _leaves(claim, gone)),
        *(claim for claim in _looked_at(ledger) if _leaves(claim, gone)),
    ]
    return Brief(tuple(_pins(ledger)), tuple(claims))


def _leaves(claim: Claim, gone: set[str]) -> bool:
    return any(cite.message in gone for cite in claim.sources)


def _pins(ledger: Ledger) -> Iterator[Pin]:
    for pin in ledger.pins.active:
        if pin.trust is Trust.SYSTEM:
            continue  # the system prompt is in the view, untouched
        yield Pin(pin.id, pin.quote, pin.source or Cite("by-hand"), pin.trust)


def _goal(ledger: Ledger) -> Iterator[Claim]:
    if goal := ledger.goal:
        text = goal.quote[:LONGEST_QUOTE]
        yield Claim("", ClaimKind.GOAL, text, (goal.source,), goal.trust, verbatim=True)


def _open(ledger: Ledger) -> Iterator[Claim]:
    for loop in ledger.loops.open:
        status = f" ({loop.status})" if loop.status else ""
        text = f"{loop.kind.value}: {loop.text[:LONGEST_QUOTE]}{status}"
        yield Claim("", ClaimKind.OPEN, text, (loop.source,), Trust.ASSISTANT)


def _changed_files(ledger: Ledger) -> Iterator[Claim]:
    """Tell every file the session changed, one claim for each thing that was done to them."""
    by_action: dict[str, list[Artifact]] = {}
    for artifact in ledger.artifacts.changed:
        done = "created" if artifact.created and artifact.exists else artifact.action.value
        by_action.setdefault(done, []).append(artifact)
    for action, artifacts in by_action.items():
        names = ", ".join(artifact.name for artifact in artifacts)
        cites = tuple(dict.fromkeys(artifact.last_change or artifact.last for artifact in artifacts))
        yield Claim("", ClaimKind.ARTIFACT, f"{action}: {names}", cites, Trust.UNTRUSTED)


def _looked_at(ledger: Ledger) -> Iterator[Claim]:
    read = [artifact for artifact in ledger.artifacts.files if not artifact.changed][-MOST_READ:]
    if read:
        names = ", ".join(artifact.name for artifact in read)
        cites = tuple(dict.fromkeys(artifact.last for artifact in read))
        yield Claim("", ClaimKind.ARTIFACT, f"read: {names}", cites, Trust.UNTRUSTED)
    for command in ledger.artifacts.commands[-MOST_COMMANDS:]:
        code = f" (exit {command.exit_code})" if command.exit_code else ""
        text = f"ran: {command.name[:LONGEST_QUOTE]}{code}"
        yield Claim("", ClaimKind.ARTIFACT, text, (command.last,), Trust.UNTRUSTED)


def _failures(ledger: Ledger) -> Iterator[Claim]:
    for failure in ledger.failures[-MOST_FAILURES:]:
        yield Claim("", ClaimKind.ERROR, _told(failure), failure.sources, Trust.UNTRUSTED)


def _told(failure: Failure) -> str:
    lines = " / ".join(line.strip() for line in failure.lines)[:LONGEST_QUOTE]
    tries = f", {failure.count} times" if failure.count > 1 else ""
    end = " Mended." if failure.mended_by else " Not mended."
    return f"{failure.subject[:120] or failure.tool}{tries}: {lines}.{end}"


def _decisions(ledger: Ledger) -> Iterator[Claim]:
    for decision in ledger.decisions[-MOST_DECISIONS:]:
        text = decision.quote[:LONGEST_QUOTE]
        yield Claim("", ClaimKind.DECISION, text, (decision.source,), decision.trust, verbatim=True)
