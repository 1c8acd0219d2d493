"""A chat on a session: the turn loop, its tools and commands, and an offline model."""

from clew.chat.events import (
    Answer,
    ApprovalRequested,
    ChatEnded,
    ChatEvent,
    ChatWarning,
    CommandOutput,
    Delta,
    ReplyStored,
    ToolFinished,
    ToolStarted,
    Turn,
    TurnFailed,
    TurnStopped,
    UserStored,
    ViewCompacted,
)
from clew.chat.loop import Chat
from clew.chat.offline import OFFLINE, OfflineModel
from clew.chat.opening import open_chat
from clew.chat.reports import CompactionNotice, compaction_notice

__all__ = [
    "OFFLINE",
    "Answer",
    "ApprovalRequested",
    "Chat",
    "ChatEnded",
    "ChatEvent",
    "ChatWarning",
    "CommandOutput",
    "CompactionNotice",
    "Delta",
    "OfflineModel",
    "ReplyStored",
    "ToolFinished",
    "ToolStarted",
    "Turn",
    "TurnFailed",
    "TurnStopped",
    "UserStored",
    "ViewCompacted",
    "compaction_notice",
    "open_chat",
]
