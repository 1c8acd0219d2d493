"""The prefilter for rules: skip texts whose words show that they state and end no rule."""

from __future__ import annotations

from clew.rules.evidence import may_matter
from clew.rules.pasted import LONG
from clew.rules.sift import CHUNKS, marks

_MARK = CHUNKS.mark_by(may_matter)


def may_state_rule(text: str) -> bool:
    """Return False if the words of a text show that it neither states nor ends a rule."""
    return len(text) >= LONG or bool(marks(text) & _MARK)
