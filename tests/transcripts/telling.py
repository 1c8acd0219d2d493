"""Records as short lines of text, so that a test can compare a whole session at a glance."""

from __future__ import annotations

import json
from collections.abc import Iterable

from clew.message import Message, Origin, Part, Text, Thinking, ToolCall, ToolResult, trust_of
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source, open_source


def lines_source(*values: object) -> Source:
    """Return values as JSON lines."""
    return open_source(b"".join(json.dumps(value).encode() + b"\n" for value in values), "session.jsonl")


def document(value: object, name: str = "session.json") -> Source:
    """Return a value as one JSON document."""
    return open_source(json.dumps(value, indent=1).encode(), name)


def tell(records: Iterable[Record]) -> list[str]:
    """Tell each record in a line: ``m1 user: hi`` or ``m2 assistant: reading | read({"path": "a"})=c1``."""
    return [_told(record) for record in records]


def _told(record: Record) -> str:
    match record:
        case Start():
            return f"start {record.session_id}"
        case Entry():
            hidden = f" hides {','.join(record.hidden_results)}" if record.hidden_results else ""
            side = f" in {record.sidechain}" if record.sidechain else ""
            return f"{record.id} {_message(record.message)}{hidden}{side}"
        case Boundary():
            why = f" by {record.trigger}" if record.trigger else ""
            return f"boundary {record.id}{why} keeps {','.join(record.keeps) or 'nothing'}"
        case Cleared():
            return f"cleared {','.join(record.call_ids)}"
        case Dropped():
            return f"dropped {','.join(record.ids)}"
        case Problem():
            return f"problem at {record.line}: {record.what}"


def _message(message: Message) -> str:
    who = message.role.value
    if message.origin is not Origin.SPOKEN:
        who += f"/{message.origin.value}"
    usual = trust_of(message.role, message.origin)
    return f"{who}: {' | '.join(_part(part, usual) for part in message.parts)}"


def _part(part: Part, usual: int) -> str:
    match part:
        case Text():
            return part.text if part.trust == usual else f"<{part.trust.label}>{part.text}"
        case Thinking():
            sealed = f" [{part.signature}]" if part.signature else ""
            return f"~{part.text}~{sealed}"
        case ToolCall():
            return f"{part.name}({part.input_text})={part.call_id}"
        case ToolResult():
            error = "!" if part.is_error else ""
            return f"{part.call_id}{error}> {part.text}"
        case _:
            return type(part).__name__


SUMMARIES = (
    "This session is being continued from a previous conversation that ran out of context. The conversation "
    "is summarized below:\nAnalysis:\nPending Tasks:\nRULES",
    "This session is being continued from a previous conversation that ran out of context. The summary below "
    "covers the earlier portion of the conversation.\n\nSummary:\nRULES",
    "Another language model started to solve this problem and produced a summary of its thinking process. "
    "Use it:\n\nRULES",
    "<state_snapshot>\n<key_knowledge>\nRULES\n</key_knowledge>\n</state_snapshot>",
    "<summary>\nRULES\n</summary>",
    "Here is a summary of the conversation to date:\n\nRULES",
    "Conversation summary:\nThe user asked for a parser.\nRULES",
    "[compacted history]\nRULES",
    "Previous conversation (summarized):\nRULES",
    "Context from earlier:\n- The user said to hurry.\nRULES",
    "## Summary of the previous session\n\nThe agent fixed the parser.\nRULES",
    "<conversation_summary>\nUser wants a parser.\nRULES\n</conversation_summary>",
    "<conversation_summary>The user asked for a parser. The user said: hurry.\nRULES</conversation_summary>",
    "<chat_summary>The user asked for a parser.\nRULES\n</chat_summary>",
    "I spoke to you previously about a number of things.\nI asked you for a parser.\nRULES",
    "Resumen de la conversación anterior:\n\nEl usuario pidió un analizador.\nRULES",
    "Zusammenfassung des bisherigen Gesprächs:\n\nDer Nutzer bat um einen Parser.\nRULES",
    "Résumé de la conversation précédente :\nL'utilisateur a demandé un analyseur.\nRULES",
    "以下是之前对话的摘要：\n用户要求修复税务模块。用户说：永远不要修改 legacy/ 下的文件。\nRULES",
)
"""Summaries of Claude Code (two wordings), Codex, Gemini CLI, Anthropic's SDKs and LangChain; then others.

Also those of other languages, which are recognised by a heading that names a summary of a conversation."""
