"""The operations of the HTTP API, declared once: routes, checks of input and the OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from clew.errors import InputError
from clew.message import Json, JsonObject


class OperationField(NamedTuple):
    """A field of a request body."""

    type: str
    about: str
    required: bool = False


class Operation(NamedTuple):
    """One operation on a session, or on the sessions of a workspace."""

    name: str
    method: str
    path: str
    about: str
    fields: Mapping[str, OperationField] = {}


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_SESSION = "/v1/sessions/{session}"
_MODEL = {
    "model": OperationField(
        "string", "The model that receives the requests: how tokens are counted, how many fit."
    ),
    "window": OperationField("integer", "Context window in tokens, if it is not the model's own."),
}
_GOAL = {
    "target_tokens": OperationField("integer", "The size to reach, system prompt excluded."),
    "focus": OperationField("string", "What matters now, in a person's words."),
}
OPERATIONS = (
    Operation("sessions", "GET", "/v1/sessions", "List the sessions of the workspace."),
    Operation(
        "append",
        "POST",
        f"{_SESSION}/messages",
        "Append messages, durably. With an Idempotency-Key header a repeated call appends nothing.",
        {
            "messages": OperationField("array", "Entries of a provider's message list.", required=True),
            "wire": OperationField("string", "Their format, if it is detected wrongly."),
            "person": OperationField(
                "string", "Whom the session belongs to, recorded once; see forget_many."
            ),
            **_MODEL,
        },
    ),
    Operation(
        "request",
        "POST",
        f"{_SESSION}/request",
        "Return the next request to the model: the view and what belongs around it.",
        {
            "wire": OperationField("string", "anthropic, openai, responses or gemini (default: anthropic)."),
            "fields": OperationField("object", "Other fields of the request, such as max_tokens."),
            "auto": OperationField("boolean", "Compact first if that is due and pays."),
            "memory": OperationField("boolean", "Add what recall finds for the user's last message."),
            **_MODEL,
        },
    ),
    Operation(
        "compact",
        "POST",
        f"{_SESSION}/compact",
        "Make the view smaller, now or in the background.",
        {**_GOAL, "background": OperationField("boolean", "Return at once; a worker compacts."), **_MODEL},
    ),
    Operation(
        "preview",
        "POST",
        f"{_SESSION}/preview",
        "Return what a compaction would do and lose, without doing it.",
        {**_GOAL, **_MODEL},
    ),
    Operation(
        "undo",
        "POST",
        f"{_SESSION}/undo",
        "Undo the last compactions.",
        {
            "count": OperationField("integer", "How many (default: 1)."),
            "newest": OperationField("string", "The last compaction that the caller knows, for example d3."),
        },
    ),
    Operation(
        "recall",
        "POST",
        f"{_SESSION}/recall",
        "Search this session and the others of its project.",
        {
            "query": OperationField("string", "What to look for.", required=True),
            "limit": OperationField("integer", "Most hits (default: 10)."),
        },
    ),
    Operation("rules", "GET", f"{_SESSION}/rules", "List the rules in force."),
    Operation(
        "pin",
        "POST",
        f"{_SESSION}/rules",
        "Set a rule.",
        {"quote": OperationField("string", "Its wording.", required=True)},
    ),
    Operation("unpin", "DELETE", f"{_SESSION}/rules/{{rule}}", "Revoke a rule."),
    Operation(
        "events",
        "GET",
        f"{_SESSION}/events",
        "List events after `?after=N`; with `Accept: text/event-stream`, follow the session.",
    ),
    Operation(
        "forget_many",
        "DELETE",
        "/v1/sessions",
        "Delete sessions with log, texts, index and snapshots: `?person=NAME` those of a person, "
        "`?unchanged_days=N` those without an append for so long, `?all=yes` the whole workspace.",
    ),
    Operation("forget", "DELETE", _SESSION, "Delete the session: log, texts, index, snapshots."),
)


def check_fields(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request body, or raise ``InputError``."""
    for name, value in given.items():
        field = operation.fields.get(name)
        if field is None:
            known = ", ".join(operation.fields) or "none"
            raise InputError(f"unknown field {name[:40]!r}", f"the fields of {operation.name} are: {known}")
        wrong_bool = isinstance(value, bool) and field.type != "boolean"
        if value is not None and (wrong_bool or not isinstance(value, _TYPES[field.type])):
            raise InputError(f"{name} must be of type {field.type}")
        if field.type == "integer" and isinstance(value, int) and not 0 < value < 2**31:
            raise InputError(f"{name} must be a number above zero")
    for name, field in operation.fields.items():
        if field.required and given.get(name) in (None, "", []):
            raise InputError(f"{name} is missing", f"send a JSON object with {name}")
    return {name: given.get(name) for name in operation.fields}


def openapi(version: str) -> JsonObject:
    """Return the OpenAPI description of the API."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    error: Json = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
                "required": ["type", "message"],
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "clew", "version": version, "description": "Context compaction for LLM agents."},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": error},
        },
    }


def _describe(operation: Operation) -> JsonObject:
    """Return the OpenAPI description of an operation."""
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": {"type": "object"}}}},
            "default": {
                "description": "An error, with its type and what to do next.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if operation.fields:
        schema = {
            "type": "object",
            "properties": {
                name: {"type": field.type, "description": field.about}
                for name, field in operation.fields.items()
            },
            "required": [name for name, field in operation.fields.items() if field.required],
            "additionalProperties": False,
        }
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return described
