"""Rules about tools, their names and the ids of calls (O3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.makers import may_be_openai
from clew.providers.openai.rules_walk import calls
from clew.providers.rules import Finding, Level, Rule
from clew.providers.shapes import as_list, as_object, as_text, objects

MAX_TOOLS = 128
MAX_NAME = 128
MAX_DOCUMENTED_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_CALL_ID = 40

_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def unusable_tools(body: JsonObject) -> Iterator[Finding]:
    """O3: too many tools, or names that the API refuses."""
    if not may_be_openai(body):
        return
    count = len(as_list(body.get("tools")))
    if count > MAX_TOOLS:
        yield Finding("tools", f"{count} tools, {MAX_TOOLS} are allowed")
    for where, name in _names(body):
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield Finding(where, f"must be 1 to {MAX_NAME} letters, digits, _ or -")


def _names(body: JsonObject) -> Iterator[tuple[str, str]]:
    for i, tool in objects(body.get("tools")):
        if isinstance(name := as_object(tool.get("function")).get("name"), str):
            yield f"tools.{i}.function.name", name
    for where, call in calls(body):
        if isinstance(name := as_object(call.get("function")).get("name"), str):
            yield f"{where}.function.name", name


def long_names(body: JsonObject) -> Iterator[Finding]:
    """O3b: names longer than documented, or descriptions longer than an earlier limit."""
    if not may_be_openai(body):
        return
    for where, name in _names(body):
        if MAX_DOCUMENTED_NAME < len(name) <= MAX_NAME:
            yield Finding(where, f"{len(name)} characters, {MAX_DOCUMENTED_NAME} are documented")
    for i, tool in objects(body.get("tools")):
        length = len(as_text(as_object(tool.get("function")).get("description")))
        if length > MAX_DESCRIPTION:
            yield Finding(
                f"tools.{i}.function.description", f"{length} characters, {MAX_DESCRIPTION} were allowed"
            )


def long_call_ids(body: JsonObject) -> Iterator[Finding]:
    """O3c: a call id longer than 40 characters."""
    if not may_be_openai(body):
        return
    for where, call in calls(body):
        length = len(as_text(call.get("id")))
        if length > MAX_CALL_ID:
            yield Finding(f"{where}.id", f"{length} characters, {MAX_CALL_ID} are allowed")


RULES = (
    Rule(
        "O3",
        "at most 128 tools, with plain names",
        Level.REFUSE,
        "OpenAPI specification; hexstrike#29 (tools). 128 characters is the longest name measured on "
        "api.openai.com (2026-10-05). Only for OpenAI's models.",
        "send fewer tools, rename them",
        unusable_tools,
    ),
    Rule(
        "O3b",
        "tool names and descriptions are short",
        Level.REFUSE,
        "The specification says 64 characters for a name; reports of 2024 and 2025 name 1,024 for a "
        "description (home-assistant#121325, sentry-mcp#106). Longer ones have been accepted since.",
        "shorten them",
        long_names,
        verified=False,
    ),
    Rule(
        "O3c",
        "tool call ids have at most 40 characters",
        Level.REFUSE,
        "Error text 'string too long. Expected a string with maximum length 40' (camel#2215, "
        "vercel/ai#5171, agno#5382); vercel/ai#8132 could not repeat it in July 2026.",
        "shorten ids that come from other providers, the same way in call and answer",
        long_call_ids,
        verified=False,
    ),
)
