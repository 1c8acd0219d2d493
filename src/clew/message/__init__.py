"""Provider-neutral messages: frozen values, trust labels, and the messages that must stay together."""

from clew.message.atoms import Pairing, Place, atoms, cut_points, pair
from clew.message.message import (
    LONGEST_RULE,
    Cite,
    Item,
    Message,
    Origin,
    Role,
    Usage,
    fixed_prefix,
    last_user_message,
    message_number,
    system_prefix,
    text_message,
    trust_of,
    turns,
    words,
)
from clew.message.parts import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    MediaKind,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    lowest,
)

__all__ = [
    "LONGEST_RULE", "ApprovalAnswer", "ApprovalRequest", "Cite", "Compacted", "Item", "Json",
    "JsonObject", "Media", "MediaKind", "Message", "Native", "Origin", "Pairing", "Part", "Place", "Role",
    "Text", "Thinking", "ToolCall", "ToolResult", "Trust", "Unknown", "Usage", "atoms", "cut_points",
    "fixed_prefix", "last_user_message", "lowest", "message_number", "pair", "system_prefix",
    "text_message", "trust_of", "turns", "words",
]  # fmt: skip
