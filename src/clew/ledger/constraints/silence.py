"""Which texts cannot hold a rule: told by their words, each judged once."""

from __future__ import annotations

from clew.ledger.constraints.evidence import may_matter
from clew.ledger.constraints.pasted import LONG
from clew.ledger.sift import CHUNKS, marks

_MARK = CHUNKS.mark_by(may_matter)


def may_state_rule(text: str) -> bool:
    """Tell whether a text may state a rule or end one; most say by their words alone that they do not."""
    return len(text) >= LONG or bool(marks(text) & _MARK)
