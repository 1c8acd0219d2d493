"""Two tools with which a model reads earlier turns of its conversation: ``recall`` and ``expand``.

Every integration offers them with ``recall=True``. They search the original messages that the integration has
seen in this process, or with ``session=`` the whole conversation in clew's log. With a plain SDK::

    tools = Recall(client.fitting)
    client.messages.create(..., messages=messages, tools=[*my_tools, *tools.definitions("anthropic")])
    answer = tools.run("recall", {"query": "rate limit"}, messages=messages)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any, NamedTuple

from clew.errors import ClewError, InputError, NotFound
from clew.hosts.search import TURN_KINDS, MessageSearch, search_text
from clew.hosts.tools import checked_limit, definitions, page_text
from clew.integrations.fitting import Fitting
from clew.memory import Memory
from clew.memory.index import Filters
from clew.memory.references import Quotation
from clew.memory.tools.tool import Tool
from clew.message import JsonObject, Message, Role
from clew.session import CompactResult
from clew.session.result import without_natives

MessageInput = Iterable[Any] | Mapping[str, Any]
"""A list of messages, or a request body that has one."""
TOOLS = ("recall", "expand")
"""Names of the two tools."""
CONVERSATIONS = 8
"""Conversations whose search index is kept; chosen by hand, an index is built again in about a second."""


class Recall:
    """The two tools, for the conversations of one integration; thread-safe."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._lock = RLock()
        self._open: OrderedDict[int, _Conversation] = OrderedDict()

    def definitions(self, wire: str) -> list[JsonObject]:
        """Return the tools as a provider's API lists them; ``wire`` as in ``clew.check``."""
        return [Tool(*described, _unused).definition(wire) for described in descriptions()]

    def run(
        self, name: str, arguments: Mapping[str, Any], key: str | None = None, messages: MessageInput = ()
    ) -> str:
        """Return the answer of a tool for the conversation with this key, or that begins like ``messages``.

        An error is answered in words, for the model to read.
        """
        try:
            return self._run(name, arguments, key, messages)
        except ClewError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # inside another program: report it, never break it
            self._fitting.report(error)
            return "The search failed; continue without it."

    def _run(self, name: str, arguments: Mapping[str, Any], key: str | None, messages: MessageInput) -> str:
        text = arguments.get("query" if name == "recall" else "ref")
        if name not in TOOLS or not isinstance(text, str) or not text.strip():
            raise InputError(f"{name} needs a text", "use recall(query) or expand(ref)")
        with self._lock:
            memory = self._memory(key, messages)
            if name == "recall":
                filters = Filters(sessions=(memory.ctx.session,), kinds=TURN_KINDS)
                limit = checked_limit(arguments.get("limit") or 5)
                return search_text(memory, text.strip(), limit, filters) or "Nothing found."
            turn = _turn(memory, text.strip())
        return page_text(f"[{turn.ref}, {turn.role}] {turn.text}", arguments.get("start") or 0)

    def _memory(self, key: str | None, messages: MessageInput) -> Memory:
        """Return the search of a conversation: of its session in clew's log, else of what was seen here."""
        session = self._fitting.session_of(key or "")
        if session is not None:
            session.memory.catch_up()
            return session.memory
        compactor = self._fitting.compactor
        result = compactor.last(key) if key else compactor.find(messages)
        if result is None or result.conversation is None:
            raise NotFound("no earlier turns are known", "continue without them")
        record = id(result.conversation.record)
        if record not in self._open:
            self._open[record] = _Conversation()
        self._open.move_to_end(record)
        while len(self._open) > CONVERSATIONS:
            self._open.popitem(last=False)
        return self._open[record].catch_up(result)


class _Conversation:
    """A search index of one conversation."""

    def __init__(self) -> None:
        self._search = MessageSearch()
        self._count = 0

    def catch_up(self, result: CompactResult) -> Memory:
        """Index the messages that are new, and return the memory."""
        self._record = result.conversation  # its id identifies the conversation: keep it alive
        originals = result.originals
        last = max((int(name[1:]) for name in originals if name[0] == "m"), default=0)
        names = (f"m{n}" for n in range(self._count + 1, last + 1))
        self._search.add("conversation", (without_natives(originals.get(name, _UNKNOWN)) for name in names))
        self._count = max(self._count, last)
        return self._search.memory("conversation")


_UNKNOWN = Message(Role.USER, ())
"""In place of a message that only another process has seen, so that the numbers stay the same."""


def _turn(memory: Memory, ref: str) -> Quotation:
    """Return the turn behind a reference; raise ``NotFound`` if this process has not seen it."""
    try:
        turn = next(iter(memory.open(ref, 0).quotations), None)
    except NotFound:
        turn = None
    if turn is None or not turn.text:
        raise NotFound(f"there is no turn {ref}", "find its reference with recall")
    return turn


def _unused(*_: object) -> Any:  # noqa: ANN401  # ``Recall.run`` runs the tools
    raise NotImplementedError


class ToolDescription(NamedTuple):
    """A tool as a framework or a provider's API wants it described."""

    name: str
    about: str
    schema: JsonObject


def descriptions() -> list[ToolDescription]:
    """Return the two tools; their schemas are strict: every field is required, optional ones may be null."""
    return [_strict(tool) for tool in definitions() if tool["name"] in TOOLS]


def _strict(tool: Mapping[str, Any]) -> ToolDescription:
    """Return a tool of ``clew mcp`` with a strict schema, without the choice of other sessions."""
    required, properties = tool["inputSchema"]["required"], dict(tool["inputSchema"]["properties"])
    properties.pop("scope", None)
    for name, field in properties.items():
        if name not in required:
            properties[name] = {**field, "type": [field["type"], "null"]}
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolDescription(tool["name"], tool["description"], {**schema, "additionalProperties": False})
