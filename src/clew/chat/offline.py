"""The offline model: quotes and cites the view, and declines what a rule forbids.

It is not a language model and says so; it makes a chat testable without an API key. It answers by fixed
phrasings: "read src/app.py" calls ``read_file``, "which rules are in force?" lists them, a question is
answered by the best sentence in view, or by a search of memory, and anything else is noted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from clew.chat.offline_lookup import ViewPassage, best, forbidding, of_result, passages
from clew.ledger.ledger import Ledger
from clew.memory.tools.recall import fence_verbatim
from clew.message import (
    Item,
    JsonObject,
    Message,
    Origin,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    Usage,
    text_message,
)
from clew.providers.model import Reply, Stop, Streamed
from clew.providers.scripted import stream_words
from clew.request.progress_log import checkpoint_from
from clew.rules.rule import Pin
from clew.session import Session

_POLITE = r"(?:please |now |can you |could you |would you |then )*"
_FILE = r"[`'\"]?(?P<path>(?:[\w.~-]*/)?[\w./-]*\.\w+|[\w.-]+/[\w./-]+)[`'\"]?"
_FOLDER = r"[`'\"]?(?P<path>[\w./~-]+?)/?[`'\"]?"
_FILES = r"(?: the| my| all)*(?: files| folder| workspace| code)"
_TOOL_PHRASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
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
"""Requests that no tool of the offline model can do."""


class RequestedCall(NamedTuple):
    """A tool call that a request asks for."""

    tool: str
    arguments: JsonObject


def parse_tool_request(request: str, tools: Collection[str]) -> RequestedCall | None:
    """Return the tool call that a request asks for; None if no available tool matches."""
    for tool, pattern in _TOOL_PHRASES:  # the first that matches
        match = pattern.match(request.strip())
        if match and tool in tools:
            return RequestedCall(tool, _arguments(tool, match))
    return None


def _arguments(tool: str, match: re.Match[str]) -> JsonObject:
    groups = match.groupdict()
    # The stop of a sentence is no part of the path, but the dots of ".." are.
    path = re.sub(r"(?<=[^./])[.,;:]+$", "", groups.get("path") or "") or None
    match tool:
        case "read_file":
            return {"path": path, "start_line": None, "lines": None}
        case "write_file":
            return {"path": path, "text": f"{groups['text'].strip()}\n"}
        case "list_files":
            return {"path": path}
        case "search_files":
            return {"text": groups["text"].strip(), "path": path}
    return {"text": groups["text"].strip(), "category": "user_preference"}


OFFLINE = "clew/offline"
MOST_LINES = 12
LONGEST_LINE = 200
NOT_KNOWN = (
    "I don't know: nothing in view{and_memory} answers that. (I am clew's offline model: I only quote.)"
)
_ASKS = re.compile(
    r"\?\s*$|^\W*(?:what|who|whom|whose|which|why|how|is|are|was|were|does|did|can|could|should|"
    r"tell me|remind me|recall)\b"
    # "Do not push" and "When you commit, sign off" are rules.
    r"|^\W*do\b(?!\s+not\b)"
    r"|^\W*(?:when|where)(?:['’]s|\s+(?:is|are|was|were|do|does|did|has|have|had|can|could|should|will|would))\b",
    re.I,
)
_SHOW = r"(?:list|show(?: me)?|tell me|say)"
_ASKS_RULES = re.compile(
    rf"^{_POLITE}(?:{_SHOW}|what are|which are|what|which)(?: all)?(?: of)?(?: the| my| our| your)? rules?"
    r"(?: (?:are |is )?in force| (?:do|must|should) (?:you|we|I) \w+| apply)?[.?!]*$",
    re.I,
)
_ASKS_DONE = re.compile(
    rf"^{_POLITE}(?:{_SHOW} )?(?:what (?:did|have) (?:you|we) (?:do|done|changed?)|the (?:changes|progress)"
    r"|what (?:was|has been|is) (?:done|changed)|where are we)(?: so far| until now| yet| here)?[.?!]*$",
    re.I,
)
_MEMORY = ("recall_search", "recall_open", "notes_search")


class OfflineModel:
    """Answers from the session's view, and from memory through tools."""

    name = OFFLINE
    wire = "anthropic"
    window_tokens = 200_000

    def __init__(self, session: Session) -> None:
        """Keep the session: requests lack the message ids that this model cites."""
        self._session = session

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the fields of a request to it."""
        return {"model": OFFLINE, "max_tokens": max_output_tokens}

    def stream(self, body: JsonObject) -> Streamed:
        """Stream the answer."""
        session, tools = self._session, body.get("tools")
        listed = tools if isinstance(tools, list) else []
        names = {str(tool.get("name")) for tool in listed if isinstance(tool, dict)}
        message = answer(session.view(), session.pins, names, session.ledger)
        usage = Usage(session.tokens, session.counter.count(message))
        stop = Stop.TOOL_CALL if any(message.calls) else Stop.END
        return stream_words(Reply(message, stop, usage))


def answer(
    view: Sequence[Item], pins: Sequence[Pin], tools: Collection[str] = (), ledger: Ledger | None = None
) -> Message:
    """Return the offline model's reply to a view; it is deterministic."""
    if not view:
        return _assistant_message("There are no messages yet.")
    last = view[-1]
    if any(last.message.results):
        return _after_tools(view)
    request = last.message.text.strip()
    if _ASKS_RULES.match(request):
        return _assistant_message(_rules(pins))
    if ledger is not None and _ASKS_DONE.match(request):
        return _assistant_message(_work_done(ledger, last.id))
    requested = parse_tool_request(request, tools)
    changes = bool(CHANGING.match(request))
    # "Can you delete it?" is a request, not a question.
    asks = _ASKS.search(request) and not requested and not changes
    rule = None if asks else forbidding(request, pins, last.id)
    if rule:
        return _assistant_message(
            f"I won't: {_rule_line(rule)} forbids it. /unpin {rule.id} removes the rule."
        )
    if requested:
        return _calls(requested, last.id)
    if asks:
        return _from_view(view, request, tools)
    if changes:
        return _assistant_message(
            "I have no tool that does this: I read, list, search and write files, and quote messages."
        )
    return _assistant_message(_acknowledgement(last.id, pins))


def _rule_line(rule: Pin) -> str:
    where = f" [{rule.source.message}]" if rule.source else ""
    return f'[{rule.id}]{where} "{rule.quote}"'


def _rules(pins: Sequence[Pin]) -> str:
    rows = [f"- {_rule_line(pin)}" for pin in pins]
    return "\n".join(["Rules in force:", "", *rows]) if rows else "No rules are in force."


def _work_done(ledger: Ledger, request: str) -> str:
    """Say what the session got done and what is open, each with its source; the question does not count."""
    now = checkpoint_from(ledger, 0, name="", time="", why="")
    parts = {"done": now.changed, "checked": now.evidence, "open": now.open}
    goal = [f"- goal: {now.goal.text} [{now.goal.source}]"] if now.goal else []
    rows = [
        f"- {label}: {point.text} [{point.source}]"
        for label, points in parts.items()
        for point in points
        if point.source != request
    ]
    return "\n".join(["Done so far:", "", *goal, *rows]) if rows else "Nothing was done yet."


def _acknowledgement(id_: str, pins: Sequence[Pin]) -> str:
    rules = [pin for pin in pins if pin.source and pin.source.message == id_]
    text = "; ".join(f'rule [{pin.id}] is in force: "{pin.quote}"' for pin in rules)
    return f"Noted [{id_}]; {text}" if text else f"Noted [{id_}]."


# Questions -------------------------------------------------------------------------------------------


def _from_view(view: Sequence[Item], question: str, tools: Collection[str]) -> Message:
    passage = best(question, list(passages(view[:-1])))
    if passage:
        return _assistant_message(_quote(passage))
    if "recall_search" in tools:
        return _calls(
            RequestedCall("recall_search", {"query": question, "limit": 6, "where": None}), view[-1].id
        )
    return _assistant_message(NOT_KNOWN.format(and_memory=""))


def _quote(passage: ViewPassage) -> str:
    return f'[{passage.ref}] {passage.who}: "{passage.text}"'


# After a tool ----------------------------------------------------------------------------------------


def _after_tools(view: Sequence[Item]) -> Message:
    """Answer from the tool results."""
    last = view[-1]
    request = ""  # the user's last words
    for item in view:
        message = item.message
        if message.role is Role.USER and message.origin is Origin.SPOKEN and message.text.strip():
            request = message.text.strip()
    text = "\n\n".join(_tool_report(last.id, result, request) for result in last.message.results)
    return _assistant_message(text)


def _tool_report(id_: str, result: ToolResult, request: str) -> str:
    name = result.name or "a tool"
    if result.is_error:
        return f"It was not done [{id_}]: {result.text}"
    if name in _MEMORY:
        among = [item for item in of_result(id_, name, result.text) if item.text.strip() != request]
        passage = best(request, among)
        return _quote(passage) if passage else NOT_KNOWN.format(and_memory=" or in memory")
    if name == "read_file" and "?" in request:
        passage = best(request.partition(":")[2] or request, list(of_result(id_, name, result.text)))
        if passage:
            return _quote(passage)
    if name in ("write_file", "remember", "forget", "pin"):
        return f"Done [{id_}]: {result.text}"
    lines = result.text.splitlines()
    shown = fence_verbatim("\n".join(line[:LONGEST_LINE] for line in lines[:MOST_LINES]))
    more = [f"… and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([f"[{id_}] {name} answered:", "", shown, *more])


# Replies and calls -----------------------------------------------------------------------------------


def _assistant_message(text: str) -> Message:
    return text_message(Role.ASSISTANT, text)


def _calls(requested: RequestedCall, id_: str) -> Message:
    call = ToolCall(f"call_{id_}", requested.tool, requested.arguments, trust=Trust.ASSISTANT)
    return Message(Role.ASSISTANT, (Text(f"Let me use {requested.tool}.", trust=Trust.ASSISTANT), call))
