"""Convert events of OpenHands 0.x (actions and observations) to the events of its SDK.

A trajectory is a JSON list of them, or the ``history`` of a line of an evaluation's output.
"""

from __future__ import annotations

from clew.message import Json, JsonObject
from clew.transcripts.fields import mapping, objects, string

_BOOKKEEPING = frozenset(
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
"""What the model never sees; a ``recall`` looks up what then follows as an observation."""
_NO_ARGUMENTS = frozenset(
    {"thought", "blocking", "hidden", "is_input", "is_static", "confirmation_state", "security_risk", "cwd"}
)
"""Arguments of an action that only the harness uses."""


def is_event(value: Json) -> bool:
    """Return True for an action or observation of version 0.x."""
    if not isinstance(value, dict) or "kind" in value or "source" not in value:
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def current(event: JsonObject) -> JsonObject | None:
    """Return an event in the SDK's form; None for one that the model never sees."""
    common: JsonObject = {
        "id": _id(event.get("id")),
        "source": event.get("source"),
        "timestamp": event.get("timestamp"),
    }
    told = _action(event) if isinstance(event.get("action"), str) else _observation(event)
    return {**common, **told} if told else None


def _id(value: Json) -> str:
    return str(value) if isinstance(value, int | str) else ""


def _action(event: JsonObject) -> JsonObject | None:
    given, action = mapping(event, "args"), str(event["action"])
    if action in _BOOKKEEPING:
        return None
    if action == "system":
        return {"kind": "SystemPromptEvent", "system_prompt": {"text": given.get("content")}}
    if action == "message":
        by_agent = event.get("source") == "agent"
        return _said("assistant" if by_agent else "user", string(given, "content") or "", given)
    if action == "condensation":
        return {
            "kind": "Condensation",
            "forgotten_event_ids": _forgotten(given),
            "summary": string(given, "summary"),
        }
    if action == "finish" and not mapping(event, "tool_call_metadata"):
        return _said("assistant", string(given, "final_thought") or string(given, "thought") or "", {})
    return _call(event, action, given)


def _said(role: str, text: str, given: JsonObject) -> JsonObject:
    urls = given.get("image_urls")
    content: list[Json] = [{"type": "text", "text": text}]
    content += [{"type": "image", "image_urls": urls}] if isinstance(urls, list) and urls else []
    return {"kind": "MessageEvent", "llm_message": {"role": role, "content": content}}


def _call(event: JsonObject, action: str, given: JsonObject) -> JsonObject:
    made = mapping(event, "tool_call_metadata")
    arguments: JsonObject = {key: value for key, value in given.items() if key not in _NO_ARGUMENTS}
    if event.get("source") == "user":  # a command that the user ran
        action = f"user_{action}"
    return {
        "kind": "ActionEvent",
        "tool_name": string(made, "function_name") or action,
        "tool_call_id": string(made, "tool_call_id") or f"event-{_id(event.get('id'))}",
        "llm_response_id": string(mapping(made, "model_response"), "id"),
        "thought": string(given, "thought") or None,
        "action": arguments,
    }


def _observation(event: JsonObject) -> JsonObject | None:
    seen, cause = str(event["observation"]), event.get("cause")
    if seen in _BOOKKEEPING and seen != "recall":
        return None
    text = string(event, "content") or ""
    made = mapping(event, "tool_call_metadata")
    answers = bool(made) or (isinstance(cause, int) and not isinstance(cause, bool) and seen != "recall")
    if not answers:
        return {**_said("user", text, {}), "source": "environment"} if text else None
    return {
        "kind": "ObservationEvent",
        "tool_name": string(made, "function_name") or seen,
        "tool_call_id": string(made, "tool_call_id") or f"event-{_id(cause)}",
        "observation": {"content": text, "is_error": seen in ("error", "user_rejected")},
    }


def _forgotten(given: JsonObject) -> list[Json]:
    """Return the ids of the condensed events: a list, or a range."""
    listed = given.get("forgotten_event_ids")
    if isinstance(listed, list):
        return [_id(one) for one in listed]
    start, end = given.get("forgotten_events_start_id"), given.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int) and 0 <= end - start < 1_000_000:
        return [str(number) for number in range(start, end + 1)]
    return []


def events_of(line: JsonObject) -> list[JsonObject]:
    """Return the events of a line of an evaluation's output, flattening pairs of action and observation."""
    found: list[JsonObject] = []
    history = line.get("history")
    for one in history if isinstance(history, list) else ():
        found += objects(one) if isinstance(one, list) else objects([one])
    return [one for one in found if is_event(one)]
