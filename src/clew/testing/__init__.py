"""Scripted models and provider servers, for offline tests of code built on clew."""

from clew.providers.scripted import AsyncScriptedModel, Line, ScriptedModel, ScriptExhausted
from clew.testing.extractive import Said, Told, claims_text, extractive, shown
from clew.testing.server import Broken, HangUp, Request, ScriptedServer, ServerLine, Status
from clew.testing.summarisers import BAD_SUMMARISERS, GOOD_SUMMARISERS, bad_summariser, good_summariser

__all__ = [
    "BAD_SUMMARISERS",
    "GOOD_SUMMARISERS",
    "AsyncScriptedModel",
    "Broken",
    "HangUp",
    "Line",
    "Request",
    "Said",
    "ScriptExhausted",
    "ScriptedModel",
    "ScriptedServer",
    "ServerLine",
    "Status",
    "Told",
    "bad_summariser",
    "claims_text",
    "extractive",
    "good_summariser",
    "shown",
]
