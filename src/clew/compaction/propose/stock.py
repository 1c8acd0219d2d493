"""What a view names, and what that is worth: the same wherever the view is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.compaction.plan import Claim
from clew.compaction.propose.company import Company
from clew.compaction.propose.focus import Focus
from clew.compaction.propose.replaced import Replaced
from clew.compaction.propose.retention import Ranking, ranking
from clew.compaction.propose.subjects import Subject, root_of, subjects
from clew.compaction.propose.worth import IN_FOCUS
from clew.ledger.kinds import WORD, ValueKind
from clew.ledger.values import Value
from clew.message import Item

MOST_RATED = 10_000
"""Values up to which all that a session ever named is rated; beyond, only what can still be quoted."""


class Stock:
    """What a view names, and what that is worth."""

    def __init__(
        self,
        view: Sequence[Item],
        named: Iterable[Value],
        earlier: Iterable[Claim],
        focus: Focus,
        worth: Ranking | None,
    ) -> None:
        """Rate what was named, of the view behind its prompt and of the facts that an earlier digest kept."""
        self.replaced = Replaced(view)
        self.earlier = [one for one in earlier if not self.replaced.holds(one.text, -1)]
        """Of those, what no edit has taken out since."""
        values = _within_reach(view, list(named), self.earlier)
        self.known = subjects(values)
        self.worths = _worths(self.known, Company(values), focus, worth or ranking())
        """Of each subject that is worth anything."""
        self.root = root_of(value.text for value in values if value.kind is ValueKind.PATH)
        """The folder that the session works in."""


def _within_reach(view: Sequence[Item], values: list[Value], earlier: Iterable[Claim]) -> list[Value]:
    """Return the values to rate: all of them, or in a very long session those that a line here can name.

    What was named last in a message that left the view, and is in no line of the earlier digest, has
    nothing left to be quoted from.
    """
    if len(values) <= MOST_RATED:
        return values
    shown = {item.id for item in view}
    kept = {name for claim in earlier for name in WORD.findall(claim.text)}
    return [value for value in values if value.last_message in shown or value.text in kept]


def _worths(known: dict[str, Subject], company: Company, focus: Focus, worth: Ranking) -> dict[str, float]:
    """Return what each subject is worth, where it is worth anything."""
    found = {}
    for key, one in known.items():
        chance_of_need = worth(one, company) * (IN_FOCUS if focus and focus.meets(key) else 1.0)
        if chance_of_need > 0:
            found[key] = chance_of_need
    return found
