"""Scripted models and provider servers, for offline tests of code built on clew."""

from clew.providers.scripted import AsyncScriptedModel, Line, ScriptedModel, ScriptExhausted
from clew.testing.server import BrokenStream, HangUp, HttpStatus, ReceivedRequest, ScriptedServer, ServerLine
from clew.testing.summarisers import (
    ShownMessage,
    SummaryClaim,
    claims_text,
    extractive,
    shown_messages,
)

__all__ = [
    "AsyncScriptedModel", "BrokenStream", "HangUp", "HttpStatus",
    "Line", "ReceivedRequest", "ScriptExhausted", "ScriptedModel", "ScriptedServer", "ServerLine",
    "ShownMessage", "SummaryClaim", "claims_text", "extractive",
    "shown_messages",
]  # fmt: skip
