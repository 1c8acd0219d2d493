"""Provider-neutral messages: frozen values, trust labels, and the messages that must stay together."""

from clew.message.atoms import Pairing, Place, atoms, cut_points, pair
from clew.message.item import LONGEST_RULE, Cite, Item, words
from clew.message.message import ROLE_TRUST, Message, Origin, Role, said, text_message, trust_of, turns
from clew.message.parts import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from clew.message.trust import Trust, lowest

__all__ = [
    "LONGEST_RULE",
    "ROLE_TRUST",
    "ApprovalAnswer",
    "ApprovalRequest",
    "Cite",
    "Compacted",
    "Item",
    "Json",
    "JsonObject",
    "Media",
    "Message",
    "Native",
    "Origin",
    "Pairing",
    "Part",
    "Place",
    "Role",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Trust",
    "Unknown",
    "atoms",
    "cut_points",
    "lowest",
    "pair",
    "said",
    "text_message",
    "trust_of",
    "turns",
    "words",
]
