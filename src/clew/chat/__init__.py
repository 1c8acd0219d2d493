"""A chat on a session: the turn loop, its tools and its commands, and a model for when there is none."""

from clew.chat.happenings import (
    Answer,
    ApprovalWanted,
    Compacted,
    Delta,
    Ended,
    Failed,
    Happening,
    Said,
    Stopped,
    Taken,
    Told,
    ToolAsked,
    ToolDone,
    Turn,
    Warned,
)
from clew.chat.loop import Chat
from clew.chat.notice import Notice, notice_of
from clew.chat.offline import OFFLINE, OfflineModel
from clew.chat.opening import open_chat

__all__ = [
    "OFFLINE",
    "Answer",
    "ApprovalWanted",
    "Chat",
    "Compacted",
    "Delta",
    "Ended",
    "Failed",
    "Happening",
    "Notice",
    "OfflineModel",
    "Said",
    "Stopped",
    "Taken",
    "Told",
    "ToolAsked",
    "ToolDone",
    "Turn",
    "Warned",
    "notice_of",
    "open_chat",
]
