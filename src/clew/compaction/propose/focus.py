"""What a person says matters now, as a matcher for lines and values."""

from __future__ import annotations

import re

from clew.compaction.plan import Claim

_WORDS = re.compile(r"[^\W_]+")
_EMPTY = re.compile(
    r"a|an|and|or|of|in|on|at|to|for|from|with|about|into|is|are|was|be|it|its|the|this|that|these|those|i|we"
    r"|you|my|our|your|me|us|not|no|all|any|how|what|why|when|where|which|who|do|does|did|keep|focus|please"
)
"""Words that carry no topic."""
_SHORTEST = 2


class Focus:
    """A person's words on what matters; empty ones match nothing."""

    def __init__(self, said: str | None) -> None:
        words = dict.fromkeys(word.lower() for word in _WORDS.findall(said or ""))
        telling = [word for word in words if len(word) >= _SHORTEST and not _EMPTY.fullmatch(word)]
        self._pattern = re.compile("|".join(map(_beginning, telling))) if telling else None

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return self._pattern is not None

    def meets(self, text: str) -> bool:
        """Whether a text has a word that begins with one of these, also inside a name of code."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def first(self, claims: list[Claim]) -> list[Claim]:
        """Return the claims, those that match first."""
        return sorted(claims, key=lambda claim: not self.meets(claim.text)) if self else claims


def _beginning(word: str) -> str:
    """Return a pattern for words that begin so: ``auth`` in ``auth_token``, ``Authentic``, ``userAuth``."""
    inside_name = re.escape(word.capitalize())
    return rf"(?i:(?<![^\W\d_]){re.escape(word)})|(?<=[a-z]){inside_name}"
