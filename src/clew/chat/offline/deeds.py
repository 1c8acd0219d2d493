"""What a person asks to be done, as a tool call: a few plain ways of saying it, and no others."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from clew.message import JsonObject

_POLITE = r"(?:please |now |can you |could you |would you |then )*"
_FILE = r"[`'\"]?(?P<path>(?:[\w.~-]*/)?[\w./-]*\.\w+|[\w.-]+/[\w./-]+)[`'\"]?"
_FOLDER = r"[`'\"]?(?P<path>[\w./~-]+?)/?[`'\"]?"
_FILES = r"(?: the| my| all)*(?: files| folder| workspace| code)"
_DEEDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (tool, re.compile(rf"^{_POLITE}{pattern}", re.I | re.S))
    for tool, pattern in (
        ("read_file", rf"(?:read|open|show(?: me)?|cat|look at) (?:the )?(?:file )?{_FILE}"),
        (
            "write_file",
            rf"(?:write|create|make)(?: the| a)?(?: new)?(?: file)? {_FILE} "
            r"(?:with|saying|containing):? (?P<text>.+)$",
        ),
        ("write_file", rf"(?:write|put|save) (?P<q>[`'\"])(?P<text>.+?)(?P=q) (?:to|into|in) {_FILE}"),
        ("list_files", rf"(?:list|show(?: me)?){_FILES}(?: (?:in|of|under|below))?(?: {_FOLDER})?[.?!]*$"),
        ("list_files", rf"ls(?: {_FOLDER})?$"),
        (
            "search_files",
            rf"(?:search|grep|look)(?:{_FILES})? for (?P<q>[`'\"]?)(?P<text>.+?)(?P=q)"
            rf"(?: in {_FOLDER})?[.?!]*$",
        ),
        ("remember", r"remember(?: that| this)?:? (?P<text>.+)$"),
    )
)
CHANGING = re.compile(
    rf"^{_POLITE}(?:delete|remove|modify|edit|rename|move|run|execute|install|push|commit|deploy|refactor|fix"
    r"|update)\b",
    re.I,
)
"""What there is no tool for."""


class Deed(NamedTuple):
    """A tool to call."""

    tool: str
    arguments: JsonObject


def deed_of(request: str, tools: Collection[str]) -> Deed | None:
    """Return the call that a request asks for; None where it asks for none that there is a tool for."""
    for tool, pattern in _DEEDS:
        found = pattern.match(request.strip())
        if found and tool in tools:
            return Deed(tool, _arguments(tool, found))
    return None


def _arguments(tool: str, found: re.Match[str]) -> JsonObject:
    given = found.groupdict()
    path = (given.get("path") or "").rstrip(".,;:") or None
    match tool:
        case "read_file":
            return {"path": path, "start_line": None, "lines": None}
        case "write_file":
            return {"path": path, "text": f"{given['text'].strip()}\n"}
        case "list_files":
            return {"path": path}
        case "search_files":
            return {"text": given["text"].strip(), "path": path}
    return {"text": given["text"].strip(), "category": "user_preference"}
