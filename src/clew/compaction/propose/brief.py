"""The mandatory content of a digest: rules, goal, open items, decisions, files, failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.compaction.plan import Claim, Pin
from clew.compaction.plan.digest import ORDER


@dataclass(frozen=True, slots=True)
class Brief:
    """What the ledger says must survive: rules and claims."""

    pins: tuple[Pin, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Most important first."""


def numbered(claims: Iterable[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Sort claims into display order and give them ids."""
    shown = sorted(claims, key=lambda claim: ORDER[claim.kind])
    return tuple(
        Claim(f"{digest_id}.{n}", one.kind, one.text, one.sources, one.trust, one.verbatim)
        for n, one in enumerate(shown, start=1)
    )
