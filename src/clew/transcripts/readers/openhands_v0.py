"""Convert events of OpenHands 0.x to those of its SDK.

They are actions and observations: a JSON list, or the ``history`` of a line of an evaluation's output.
"""

from __future__ import annotations

from clew.message import Json, JsonObject
from clew.transcripts.fields import mapping, objects, string

_V0_BOOKKEEPING = frozenset(
    {
        "",
        "null",
        "change_agent_state",
        "agent_state_changed",
        "pause",
        "resume",
        "recall",
        "condensation_request",
    }
)
"""Kinds of actions and observations that the model never sees. A ``recall`` looks up what then follows as an
observation."""
_HARNESS_ARGUMENTS = frozenset(
    {"thought", "blocking", "hidden", "is_input", "is_static", "confirmation_state", "security_risk", "cwd"}
)
"""Arguments of an action that only the harness uses."""


def is_v0_event(value: Json) -> bool:
    """Return True for an action or observation of version 0.x."""
    if not isinstance(value, dict) or "kind" in value or "source" not in value:
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def to_sdk_event(event: JsonObject) -> JsonObject | None:
    """Return an event in the SDK's form; None for one that the model never sees."""
    common: JsonObject = {
        "id": _id(event.get("id")),
        "source": event.get("source"),
        "timestamp": event.get("timestamp"),
    }
    fields = (
        _fields_of_action(event) if isinstance(event.get("action"), str) else _fields_of_observation(event)
    )
    return {**common, **fields} if fields else None


def _id(value: Json) -> str:
    return str(value) if isinstance(value, int | str) else ""


def _fields_of_action(event: JsonObject) -> JsonObject | None:
    """Return the fields of an action of version 0.x as an event of the SDK; None for bookkeeping."""
    data, action = mapping(event, "args"), str(event["action"])
    if action in _V0_BOOKKEEPING:
        return None
    if action == "system":
        return {"kind": "SystemPromptEvent", "system_prompt": {"text": data.get("content")}}
    if action == "message":
        by_agent = event.get("source") == "agent"
        return _message_event("assistant" if by_agent else "user", string(data, "content") or "", data)
    if action == "condensation":
        return {
            "kind": "Condensation",
            "forgotten_event_ids": _condensed_ids(data),
            "summary": string(data, "summary"),
        }
    if action == "finish" and not mapping(event, "tool_call_metadata"):
        return _message_event("assistant", string(data, "final_thought") or string(data, "thought") or "", {})
    return _action_event(event, action, data)


def _message_event(role: str, text: str, data: JsonObject) -> JsonObject:
    urls = data.get("image_urls")
    content: list[Json] = [{"type": "text", "text": text}]
    content += [{"type": "image", "image_urls": urls}] if isinstance(urls, list) and urls else []
    return {"kind": "MessageEvent", "llm_message": {"role": role, "content": content}}


def _action_event(event: JsonObject, action: str, data: JsonObject) -> JsonObject:
    created = mapping(event, "tool_call_metadata")
    arguments: JsonObject = {key: value for key, value in data.items() if key not in _HARNESS_ARGUMENTS}
    if event.get("source") == "user":  # a command that the user ran
        action = f"user_{action}"
    return {
        "kind": "ActionEvent",
        "tool_name": string(created, "function_name") or action,
        "tool_call_id": string(created, "tool_call_id") or f"event-{_id(event.get('id'))}",
        "llm_response_id": string(mapping(created, "model_response"), "id"),
        "thought": string(data, "thought") or None,
        "action": arguments,
    }


def _fields_of_observation(event: JsonObject) -> JsonObject | None:
    """Return the fields of an observation of version 0.x: the result of a call, or harness text."""
    output, cause = str(event["observation"]), event.get("cause")
    if output in _V0_BOOKKEEPING and output != "recall":
        return None
    text = string(event, "content") or ""
    data = mapping(event, "tool_call_metadata")
    answers = bool(data) or (isinstance(cause, int) and not isinstance(cause, bool) and output != "recall")
    if not answers:
        return {**_message_event("user", text, {}), "source": "environment"} if text else None
    return {
        "kind": "ObservationEvent",
        "tool_name": string(data, "function_name") or output,
        "tool_call_id": string(data, "tool_call_id") or f"event-{_id(cause)}",
        "observation": {"content": text, "is_error": output in ("error", "user_rejected")},
    }


def _condensed_ids(data: JsonObject) -> list[Json]:
    """Return the ids of the condensed events: a list, or a range."""
    listed = data.get("forgotten_event_ids")
    if isinstance(listed, list):
        return [_id(value) for value in listed]
    start, end = data.get("forgotten_events_start_id"), data.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int) and 0 <= end - start < 1_000_000:
        return [str(number) for number in range(start, end + 1)]
    return []


def events_of(line: JsonObject) -> list[JsonObject]:
    """Return the events of a line of an evaluation's output, flattening pairs of action and observation."""
    result: list[JsonObject] = []
    history = line.get("history")
    for value in history if isinstance(history, list) else ():
        result += objects(value) if isinstance(value, list) else objects([value])
    return [data for data in result if is_v0_event(data)]
