"""What must be in a digest whatever else is: rules, goal, open loops, decisions, files, failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.plan import Claim, Pin
from clew.plan.digest import ORDER


@dataclass(frozen=True, slots=True)
class Brief:
    """What the ledger says must survive."""

    pins: tuple[Pin, ...] = ()
    claims: tuple[Claim, ...] = ()
    """In the order of their importance."""


def numbered(claims: Iterable[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Give claims their ids, in the order in which they are shown."""
    shown = sorted(claims, key=lambda claim: ORDER[claim.kind])
    return tuple(
        Claim(f"{digest_id}.{n}", one.kind, one.text, one.sources, one.trust, one.verbatim)
        for n, one in enumerate(shown, start=1)
    )
