"""``clew mcp``: a server of the Model Context Protocol on standard input and output.

Implemented without the SDK, whose import takes seconds: a host that starts with one prompt does not wait that
long. Supports both forms of the protocol: the ``initialize`` handshake (2024-11-05 to 2025-11-25), and
2026-07-28, in which each request carries its own version and ``server/discover`` replaces the handshake.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from clew import __version__
from clew.errors import ClewError
from clew.hosts.session_notes import log_failure
from clew.hosts.tools import NeedsConsent, SessionTools, definitions

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that begin with ``initialize``, newest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Versions without a handshake."""
_META = "io.modelcontextprotocol"
"""Prefix of the protocol's own keys in ``_meta``."""
_INFO = {"name": "clew", "version": __version__}
_CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
_INSTRUCTIONS = (
    "Earlier turns of this session, also after a compaction: recall finds them, expand quotes them."
)
"""What the server says about itself; hosts show it to the model."""
_RULES, _DIGEST = "clew://session/rules", "clew://session/digest"
_RESOURCES = (
    {
        "uri": _RULES,
        "name": "rules",
        "description": "The user's rules in this session",
        "mimeType": "text/plain",
    },
    {"uri": _DIGEST, "name": "digest", "description": "A digest of this session", "mimeType": "text/plain"},
)
_PROMPTS = ({"name": "continue", "description": "Go on with the work of this session", "arguments": []},)
_CONSENT_SCHEMA = {
    "type": "object",
    "properties": {"agree": {"type": "boolean", "title": "Agree", "default": True}},
    "required": ["agree"],
}
"""The form in which a host asks the user to agree."""
_CACHEABLE = ("tools/list", "resources/list", "resources/read", "prompts/list", "server/discover")
"""Methods whose answers a client may cache."""
PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL, BAD_VERSION = -32700, -32600, -32601, -32602, -32603, -32022


class McpError(Exception):
    """An error that is sent to the client."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Store the JSON-RPC or MCP error code and the message."""
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(slots=True)
class McpServer:
    """Serves one client until it closes our input."""

    tools: SessionTools
    source: BinaryIO
    sink: BinaryIO
    elicits: bool = False
    """Whether the client of a handshake can ask the user (elicitation)."""
    _asked: int = 0
    """Questions sent to the client so far."""
    _waiting: list[Any] = field(default_factory=list)
    """Messages that arrived while a question waited for its answer."""

    def run(self) -> None:
        """Answer until the input ends."""
        while (message := self._next_message()) is not None:
            for item in message if isinstance(message, list) else [message]:
                reply = self._reply(item)
                if reply is not None:
                    self._send(reply)

    def _next_message(self) -> Any:  # noqa: ANN401 - JSON
        if self._waiting:
            return self._waiting.pop(0)
        while line := self.source.readline():
            if line.strip():
                try:
                    return json.loads(line)
                except (ValueError, RecursionError) as cause:
                    self._send(_error(None, McpError(PARSE, f"not JSON: {cause}")))
        return None

    def _send(self, message: Mapping[str, Any]) -> None:
        self.sink.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self.sink.flush()

    def _reply(self, message: object) -> dict[str, Any] | None:
        if not isinstance(message, dict):
            return _error(None, McpError(INVALID, "a message must be an object"))
        id_, method = message.get("id"), message.get("method")
        if not isinstance(method, str) or id_ is None:
            return None  # a notification, or a late answer
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        try:
            return {"jsonrpc": "2.0", "id": id_, "result": self._result(method, params)}
        except McpError as refused:
            return _error(id_, refused)
        except Exception as error:  # noqa: BLE001 - the server must go on; the host shows the error
            log_failure(f"mcp {method}: {traceback.format_exc(limit=-4)}")
            return _error(id_, McpError(INTERNAL, f"{type(error).__name__}: {error}"))

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        version = _version(params)
        if version is not None and version not in MODERN_VERSIONS:
            supported = {"supported": list(MODERN_VERSIONS)}
            raise McpError(BAD_VERSION, f"protocol version {version} is not supported", supported)
        result = self._dispatch(method, params, modern=version is not None)
        if version is not None:
            result = {"resultType": "complete", **result, "_meta": {f"{_META}/serverInfo": _INFO}}
            if method in _CACHEABLE:
                result |= {"ttlMs": 0, "cacheScope": "private"}
        return result

    def _dispatch(self, method: str, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
        """Return the result of a method; ``modern`` is the protocol without a handshake."""
        answers: dict[str, Callable[[], dict[str, Any]]] = {
            "ping": dict,
            "tools/list": lambda: {"tools": definitions()},
            "tools/call": lambda: self._call(params, modern=modern),
            "resources/list": lambda: {"resources": list(_RESOURCES)},
            "resources/templates/list": lambda: {"resourceTemplates": []},
            "resources/read": lambda: self._resource(str(params.get("uri"))),
            "prompts/list": lambda: {"prompts": list(_PROMPTS)},
            "prompts/get": lambda: self._prompt(str(params.get("name"))),
            "server/discover" if modern else "initialize": lambda: self._greet(params, modern=modern),
        }
        if method not in answers:
            raise McpError(NO_METHOD, f"unknown method {method}")
        return answers[method]()

    def _greet(self, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
        reply = {"capabilities": _CAPABILITIES, "instructions": _INSTRUCTIONS}
        if modern:
            return {**reply, "supportedVersions": list(MODERN_VERSIONS)}
        asked = params.get("protocolVersion")
        capabilities = params.get("capabilities")
        self.elicits = isinstance(capabilities, dict) and "elicitation" in capabilities
        version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        return {**reply, "protocolVersion": version, "serverInfo": _INFO}

    # Tools -----------------------------------------------------------------------------------------------

    def _call(self, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
        """Call a tool; one that writes first asks the user.

        A modern client is sent the question as the result, and calls again with the answer. A client of a
        handshake is sent a request of its own, and the call waits for the answer.
        """
        name, arguments = str(params.get("name")), params.get("arguments") or {}
        known = {definition["name"] for definition in definitions()}
        if name not in known or not isinstance(arguments, dict):
            raise McpError(BAD_PARAMS, f"no tool {name!r} with these arguments")
        try:
            return self._call_tool(name, arguments, _consent(params))
        except NeedsConsent as question:
            if modern:
                return _asking(question) if _can_elicit(params) else _refusal(question)
            return self._asked_first(name, arguments, question)

    def _call_tool(self, name: str, arguments: dict[str, Any], consent: bool | None) -> dict[str, Any]:
        try:
            return _text(self.tools.call(name, arguments, consent))
        except ClewError as error:
            return {**_text(str(error)), "isError": True}
        except OSError as error:
            return {**_text(f"the session could not be read: {error}"), "isError": True}

    def _asked_first(self, name: str, arguments: dict[str, Any], question: NeedsConsent) -> dict[str, Any]:
        """Ask the user through the client, and wait for the answer; other messages are queued."""
        if not self.elicits:
            return _refusal(question)
        self._asked += 1
        id_ = f"clew-{self._asked}"
        params = {"message": str(question), "requestedSchema": _CONSENT_SCHEMA}
        self._send({"jsonrpc": "2.0", "id": id_, "method": "elicitation/create", "params": params})
        postponed: list[Any] = []
        while (message := self._next_message()) is not None:
            if isinstance(message, dict) and message.get("id") == id_ and "method" not in message:
                self._waiting = postponed + self._waiting
                return self._call_tool(name, arguments, _is_consent(message.get("result")))
            postponed.append(message)
        return _refusal(question)

    def _resource(self, uri: str) -> dict[str, Any]:
        read = {_RULES: self.tools.rules, _DIGEST: self.tools.digest}.get(uri)
        if read is None:
            raise McpError(BAD_PARAMS, f"unknown resource {uri}")
        try:
            text = read()
        except ClewError as error:
            text = str(error)
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}

    def _prompt(self, name: str) -> dict[str, Any]:
        if name != "continue":
            raise McpError(BAD_PARAMS, f"unknown prompt {name}")
        try:
            known = f"{self.tools.rules()}\n\n{self.tools.progress()}"
        except ClewError as error:
            known = str(error)
        text = f"Go on with the work of this session. What clew's records say:\n\n{known}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def _version(params: Mapping[str, Any]) -> str | None:
    meta = params.get("_meta")
    value = meta.get(f"{_META}/protocolVersion") if isinstance(meta, dict) else None
    return str(value) if value is not None else None


def _can_elicit(params: Mapping[str, Any]) -> bool:
    capabilities = params.get("_meta", {}).get(f"{_META}/clientCapabilities")
    return isinstance(capabilities, dict) and "elicitation" in capabilities


def _consent(params: Mapping[str, Any]) -> bool | None:
    """Return the user's answer from a request that is sent again with it."""
    responses = params.get("inputResponses")
    return _is_consent(responses.get("consent")) if isinstance(responses, dict) else None


def _is_consent(answer: object) -> bool:
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return not isinstance(content, dict) or content.get("agree") is not False


def _asking(question: NeedsConsent) -> dict[str, Any]:
    params = {"mode": "form", "message": str(question), "requestedSchema": _CONSENT_SCHEMA}
    request = {"method": "elicitation/create", "params": params}
    return {"resultType": "input_required", "inputRequests": {"consent": request}}


def _refusal(question: NeedsConsent) -> dict[str, Any]:
    text = f"Not done: the user must agree, and this client cannot ask them. Ask them to: {question}"
    return {**_text(text), "isError": True}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _error(id_: object, refused: McpError) -> dict[str, Any]:
    error: dict[str, Any] = {"code": refused.code, "message": refused.message}
    if refused.data is not None:
        error["data"] = refused.data
    return {"jsonrpc": "2.0", "id": id_, "error": error}


def serve() -> None:
    """Serve the host that started this process, until it closes our input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with closing(SessionTools(os.getcwd())) as tools:  # noqa: PTH109 - the path as the host named it
        McpServer(tools, sys.stdin.buffer, sys.stdout.buffer).run()
