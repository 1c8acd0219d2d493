"""Scripted models and provider servers, for offline tests of code built on clew."""

from clew.providers.scripted import AsyncScriptedModel, Line, ScriptedModel, ScriptExhausted
from clew.testing.server import BrokenStream, HangUp, HttpStatus, ReceivedRequest, ScriptedServer, ServerLine
from clew.testing.summarisers import (
    BAD_SUMMARISERS,
    GOOD_SUMMARISERS,
    ShownMessage,
    SummaryClaim,
    bad_summariser,
    claims_text,
    extractive,
    good_summariser,
    shown_messages,
)

__all__ = [
    "BAD_SUMMARISERS", "GOOD_SUMMARISERS", "AsyncScriptedModel", "BrokenStream", "HangUp", "HttpStatus",
    "Line", "ReceivedRequest", "ScriptExhausted", "ScriptedModel", "ScriptedServer", "ServerLine",
    "ShownMessage", "SummaryClaim", "bad_summariser", "claims_text", "extractive", "good_summariser",
    "shown_messages",
]  # fmt: skip
