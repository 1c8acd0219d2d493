"""What a conversion could not carry, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """What kind of thing was lost, or had to change to be carried."""

    THINKING = "thinking"
    """Reasoning that only its own provider takes back."""
    ERROR_FLAG = "error-flag"
    """The target cannot mark a result as failed; the words say it."""
    ARGUMENTS = "arguments"
    """Arguments that are not an object; carried whole under ``input``."""
    MEDIA = "media"
    """An image, document or sound that the target does not take there; a note stands for it."""
    SERVER_TOOL = "server-tool"
    """A tool that the other provider ran; told in words."""
    APPROVAL = "approval"
    """A request for leave or its answer; told in words."""
    COMPACTION = "compaction"
    """Another provider's compaction; its summary in words, where it has one."""
    UNKNOWN = "unknown"
    """Something clew does not know; its words, where it has any."""
    FIELDS = "fields"
    """Fields that the target has no place for."""
    BLANK = "blank"
    """Text of white space alone, or at an end, that the target refuses."""
    ROLE = "role"
    """A speaker that the target does not have there."""
    MOVED = "moved"
    """Carried whole, but at another place."""
    RENAMED = "renamed"
    """A tool's name that the target refuses."""
    DANGLING = "dangling"
    """A call that nothing answers."""
    ORPHAN = "orphan"
    """A result that answers nothing."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that is not in the target as it was in the source."""

    message: int
    """The index of the message in what was converted."""
    part: int | None
    """The index of the part in there; None for the message itself."""
    kind: LossKind
    why: str

    def __str__(self) -> str:
        """Return one line for a person."""
        place = f"messages[{self.message}]" + ("" if self.part is None else f" part {self.part}")
        return f"{place}: {self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class Choices:
    """How to convert, where there is a choice."""

    thinking_as_text: bool = False
    """Carry another provider's reasoning as words of the assistant instead of dropping it."""
    repair: bool = True
    """Answer dangling calls with a note and turn orphan results into words, so that the API accepts it."""


AS_USUAL = Choices()
