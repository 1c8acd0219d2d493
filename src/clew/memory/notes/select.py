"""Select the notes to show a model: active and relevant ones, within a token limit."""

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
"""Messages that describe the current situation (chosen by hand)."""
RECENT_CHARACTERS = 20_000

_STANDING = {
    Category.ORGANIZATION_POLICY: 4.0,
    Category.PROJECT_CONVENTION: 2.0,
    Category.USER_PREFERENCE: 1.0,
}
"""Score of categories that are shown in every situation; the more binding, the higher."""
_URGENCY = {Priority.LOW: -1.0, Priority.NORMAL: 0.0, Priority.HIGH: 3.0}
_NEARNESS = {Scope.SESSION: 0.5, Scope.WORKSPACE: 0.25, Scope.GLOBAL: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is going on now."""

    at: str
    """The time, ISO 8601, UTC."""
    text: str = ""
    """The last messages, and the goal."""
    tags: tuple[str, ...] = ()
    """Tags that the caller knows to apply."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The notes to show, each with its reason, and those left out."""

    notes: tuple[Note, ...]
    """Highest score first."""
    reasons: Mapping[str, str]
    left_out: tuple[tuple[Note, str], ...]
    conflicts: tuple[Conflict, ...]
    tokens: int
    """Of the text."""

    @property
    def text(self) -> str:
        """Return the text for the model; empty if no note was selected."""
        return render_notes(self.notes, self.conflicts)

    def to_json(self) -> JsonObject:
        """Return what was selected and why, for the log."""
        left: list[Json] = [{"note": note.id, "why": why} for note, why in self.left_out]
        chosen: list[Json] = [{"note": note.id, "why": self.reasons[note.id]} for note in self.notes]
        conflicts: list[Json] = [str(one) for one in self.conflicts]
        return {"tokens": self.tokens, "notes": chosen, "left_out": left, "conflicts": conflicts}


def situation_of(items: Sequence[Item], *, at: str, goal: str = "", tags: tuple[str, ...] = ()) -> Situation:
    """Return the current situation of a session.

    Tool results are excluded: a web page must not choose which notes are shown.
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
    """Return the notes to show, in at most ``cap_tokens``. Deterministic."""
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
            left.append((one.note, "not relevant now"))
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
    """Return the reasons to show a note in any situation."""
    reasons = [f"{note.category.label} always applies"] if note.category in _STANDING else []
    return [*reasons, "high priority"] if note.priority is Priority.HIGH else reasons


def _worth(match: Match) -> float:
    note = match.note
    return match.worth + _STANDING.get(note.category, 0.0) + _URGENCY[note.priority] + _NEARNESS[note.scope]
