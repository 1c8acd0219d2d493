"""One sentence that explains the notes of shortened messages, in a view without a digest.

A digest explains "kept as m26" itself (``plan/render.py``). Without one, the first result that is shown
shorter says it in its last line. Later compactions leave it where it is, so that caches stay valid; if that
message is shortened again, or a digest takes its place, the sentence goes with it and is added anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clew.compaction.plan import Shrink
from clew.compaction.propose.shrink import with_text
from clew.message import Item, Message, Role, ToolResult
from clew.tokens import TokenCounter

LEGEND = (
    '[Text was left out to save room. A note such as "kept as m26" names the message that has it whole, '
    "stored outside of this context: a recall tool, if there is one, shows it]"
)
LEGEND_TOKENS = 55
"""About its size in tokens."""
_NOTE = "kept as "


def with_legend(
    shrinks: Sequence[Shrink], view: Sequence[Item], counter: TokenCounter, spare: int
) -> list[Shrink]:
    """Return shrinks of which the first that has a note for the model explains it, if that is said nowhere.

    Nothing is added if it takes more than ``spare`` tokens, or if only texts or calls are shorter: a model
    would imitate it in its own words, and arguments have no place for it.
    """
    for at, shrink in enumerate(shrinks):
        explained = _explained(shrink.message)
        if explained and counter.count(explained) - counter.count(shrink.message) <= spare:
            if _is_said(view, {shrink.id for shrink in shrinks}):
                break
            return [*shrinks[:at], replace(shrink, message=explained), *shrinks[at + 1 :]]
    return list(shrinks)


def _is_said(view: Sequence[Item], smaller: set[str]) -> bool:
    """Whether a message that stays as it is has the explanation."""
    stay = [
        item.message for item in view if item.message.role is not Role.ASSISTANT and item.id not in smaller
    ]
    return any(isinstance(part, ToolResult) and LEGEND in part.text for one in stay for part in one.parts)


def _explained(message: Message) -> Message | None:
    """Return a message whose first result with a note explains it; None if there is none."""
    for at, part in enumerate(message.parts):
        if isinstance(part, ToolResult) and _NOTE in part.text:
            parts = list(message.parts)
            parts[at] = with_text(part, f"{part.text}\n{LEGEND}")
            return replace(message, parts=tuple(parts))
    return None
