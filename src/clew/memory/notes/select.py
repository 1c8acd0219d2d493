"""Which notes a model is shown now: those that hold and have to do with what goes on, as far as they fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.memory.notes.note import Category, Note, Priority, Scope
from clew.memory.notes.relevance import Match, matches
from clew.memory.notes.render import render_notes
from clew.memory.notes.standing import Conflict, standing
from clew.message import Item, Json, JsonObject, Text, ToolCall, words
from clew.tokens import TokenCounter, counter_for

CAP_TOKENS = 500
RECENT = 6
"""Messages that say what goes on now."""
RECENT_CHARACTERS = 20_000

_STANDING = {
    Category.ORGANIZATION_POLICY: 4.0,
    Category.PROJECT_CONVENTION: 2.0,
    Category.USER_PREFERENCE: 1.0,
}
"""What shapes every answer is shown whatever goes on; the more it binds, the earlier."""
_URGENCY = {Priority.LOW: -1.0, Priority.NORMAL: 0.0, Priority.HIGH: 3.0}
_NEARNESS = {Scope.SESSION: 0.5, Scope.WORKSPACE: 0.25, Scope.GLOBAL: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What goes on now."""

    at: str
    """ISO 8601, UTC: the time."""
    text: str = ""
    """What was said last, and the goal."""
    tags: tuple[str, ...] = ()
    """What the caller knows it to be about."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The notes that a model is shown, each with its reason, and those it is not."""

    notes: tuple[Note, ...]
    """The most wanted first."""
    reasons: Mapping[str, str]
    left_out: tuple[tuple[Note, str], ...]
    conflicts: tuple[Conflict, ...]
    tokens: int
    """Of the text."""

    @property
    def text(self) -> str:
        """Return what the model is shown; nothing, where no note is wanted."""
        return render_notes(self.notes, self.conflicts)

    def to_json(self) -> JsonObject:
        """Return what was chosen and why, for the record."""
        left: list[Json] = [{"note": note.id, "why": why} for note, why in self.left_out]
        chosen: list[Json] = [{"note": note.id, "why": self.reasons[note.id]} for note in self.notes]
        conflicts: list[Json] = [str(one) for one in self.conflicts]
        return {"tokens": self.tokens, "notes": chosen, "left_out": left, "conflicts": conflicts}


def situation_of(items: Sequence[Item], *, at: str, goal: str = "", tags: tuple[str, ...] = ()) -> Situation:
    """Return what goes on at the end of a session.

    What tools answered does not count: a web page must not choose which notes come up.
    """
    said = [
        words(part)
        for item in items[-RECENT:]
        for part in item.message.parts
        if isinstance(part, Text | ToolCall)
    ]
    recent = "\n".join(said)[-RECENT_CHARACTERS:]
    return Situation(at=at, text=f"{goal}\n{recent}", tags=tags)


def select(
    notes: Iterable[Note],
    situation: Situation,
    cap_tokens: int = CAP_TOKENS,
    counter: TokenCounter | None = None,
) -> Selection:
    """Return the notes to show, in at most ``cap_tokens``; the same notes and situation give the same."""
    hold = standing(notes, situation.at)
    found = matches(hold.notes, situation.text, situation.tags)
    found.sort(key=lambda one: (-_worth(one), -one.note.priority, one.note.created, one.note.id))
    count = (counter or counter_for("unknown")).count_text
    chosen: list[Note] = []
    reasons: dict[str, str] = {}
    left = list(hold.out)
    tokens = 0
    for one in found:
        why = [*_standing(one.note), *one.reasons]
        if not why:
            left.append((one.note, "it has nothing to do with what goes on"))
            continue
        size = count(render_notes([*chosen, one.note], hold.conflicts))
        if size > cap_tokens:
            left.append((one.note, f"with it the notes would take {size:,} of {cap_tokens:,} tokens"))
            continue
        chosen.append(one.note)
        reasons[one.note.id] = "; ".join(why)
        tokens = size
    return Selection(tuple(chosen), reasons, tuple(left), hold.conflicts, tokens)


def _standing(note: Note) -> list[str]:
    """Return the reasons to show a note whatever goes on."""
    reasons = [f"{note.category.label} always counts"] if note.category in _STANDING else []
    return [*reasons, "high priority"] if note.priority is Priority.HIGH else reasons


def _worth(match: Match) -> float:
    note = match.note
    return match.worth + _STANDING.get(note.category, 0.0) + _URGENCY[note.priority] + _NEARNESS[note.scope]
