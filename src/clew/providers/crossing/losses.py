"""Losses of a conversion, and the options of a conversion."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """What was lost or changed."""

    THINKING = "thinking"
    """Reasoning, which only its own provider accepts."""
    ERROR_FLAG = "error-flag"
    """The target cannot mark a result as failed; its text says so instead."""
    ARGUMENTS = "arguments"
    """Arguments that are not an object; put under ``input``."""
    MEDIA = "media"
    """An image, document or audio that the target does not accept there; replaced by a note."""
    SERVER_TOOL = "server-tool"
    """A tool that the other provider ran; became text."""
    APPROVAL = "approval"
    """An approval request or its answer; became text."""
    COMPACTION = "compaction"
    """Another provider's compaction; its summary became text, if it has one."""
    UNKNOWN = "unknown"
    """Content of unknown kind; its text, if it has any."""
    FIELDS = "fields"
    """Fields that the target does not have."""
    BLANK = "blank"
    """White space that the target refuses."""
    ROLE = "role"
    """A role that the target does not allow there."""
    MOVED = "moved"
    """Kept, but at another place."""
    RENAMED = "renamed"
    """A tool name that the target refuses."""
    DANGLING = "dangling"
    """A call without a result."""
    ORPHAN = "orphan"
    """A result without a call."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One difference between the converted history and the original."""

    message: int
    """The index of the message in the original."""
    part: int | None
    """The index of the part in the message; None for the message itself."""
    kind: LossKind
    why: str

    def __str__(self) -> str:
        """Return the loss as one line."""
        place = f"messages[{self.message}]" + ("" if self.part is None else f" part {self.part}")
        return f"{place}: {self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class Choices:
    """Options of a conversion."""

    thinking_as_text: bool = False
    """Keep another provider's reasoning as assistant text instead of dropping it."""
    repair: bool = True
    """Add a result to calls without one and turn results without a call into text, as APIs require."""


AS_USUAL = Choices()
