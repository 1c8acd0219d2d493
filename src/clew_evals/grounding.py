"""Whether what a policy wrote is grounded: every exact value in it must be somewhere in the session."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from clew.message import Item
from clew_evals.cuts import Cut
from clew_evals.exact import keys_in
from clew_evals.reading import view_text


def unsupported(cut: Cut, view: Sequence[Item]) -> float | None:
    """Return the share of values in what was written that the session never held; None without any."""
    source = cut.readable.text
    written = [text for item in view if (text := view_text([item])) not in source]
    names = keys_in("\n".join(written))
    if not names:
        return None
    strange = names - _known(source)
    system = view_text(cut.system)
    return sum(key not in source and key not in system for key in strange) / len(names)


@lru_cache(maxsize=4)
def _known(source: str) -> set[str]:
    """Return the values of a session: worked out once for all policies."""
    return keys_in(source)
