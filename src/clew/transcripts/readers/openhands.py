"""OpenHands: a conversation folder, its events as lines or a list, or one logged request to the model.

A folder holds ``base_state.json`` and ``events/event-00012-<id>.json``, each one event:
``{"kind": "MessageEvent", "id": …, "source": "user", "llm_message": {"role": "user", "content": […]}}``.
Events of version 0.x, in a JSON list or in the ``history`` of an evaluation's line, are converted to these.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.message import Json, JsonObject, Usage
from clew.providers.openai_chat import parse_item
from clew.transcripts.fields import count, mapping, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, is_lines, load, outline, read_fields, walk
from clew.transcripts.jsonl import head_objects, object_lines
from clew.transcripts.readers.openhands_events import OpenHandsSession
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "openhands"
_STATE = "base_state.json"
_SOURCES = ("agent", "user", "environment", "hook")


def sniff(source: Source) -> bool:
    """Return True for a conversation folder, its state, its events, or one logged request."""
    if source.is_directory:
        return source.path is not None and (source.path / _STATE).is_file()
    if is_lines(source):
        heads = head_objects(source, 5)
        events = all("kind" in head and head.get("source") in _SOURCES for head in heads)
        return bool(heads) and (events or all(_is_v0_event(head) or _events_of(head) for head in heads))
    seen = outline(source)
    if first := seen.lists.get("", [])[:5]:
        return all(map(_is_v0_event, first))
    keys = set(seen.keys)
    return {"agent", "execution_status"} <= keys or {"messages", "kwargs", "context_window"} <= keys


def read(source: Source) -> Iterator[Record]:
    """Read a conversation."""
    if source.is_directory and source.path is not None:
        return _read_folder(source.path)
    if is_lines(source):
        return _read_lines(source)
    return _read_state_or_log(source)


def _start(state: JsonObject, fallback: str) -> Start:
    return Start(
        string(state, "id") or fallback,
        NAME,
        title=string(state, "title"),
        directory=string(mapping(state, "workspace"), "working_dir"),
        model=string(mapping(state, "agent", "llm"), "model"),
    )


def _read_folder(folder: Path) -> Iterator[Record]:
    state, problems = load(folder / _STATE)
    yield from problems
    yield _start(state if isinstance(state, dict) else {}, folder.name)
    yield from _read_events(folder / "events")


def _read_events(folder: Path) -> Iterator[Record]:
    session = OpenHandsSession()
    for i, path in enumerate(sorted(folder.glob("event-*.json"))):  # event-00012-<id>.json: sorted by number
        event, problems = load(path)
        yield from (Problem(problem.what, i) for problem in problems)
        if isinstance(event, dict):
            yield from session.event(event, i)
    yield from session.rest()


def _read_lines(source: Source) -> Iterator[Record]:
    session = OpenHandsSession()
    started = False
    for line in object_lines(source):
        if isinstance(line, Problem):
            yield line
        elif "history" in line.value:
            yield from _read_evaluation(line.value, name_of(source, ".jsonl"), line.number)
        else:
            if not started:
                started = True
                yield _start({}, name_of(source, ".jsonl"))
            yield from _event_records(session, line.value, line.number)
    yield from session.rest()


def _event_records(session: OpenHandsSession, event: JsonObject, number: int) -> Iterator[Record]:
    """Read an event of any version."""
    converted = _to_sdk_event(event) if _is_v0_event(event) else event
    if converted is not None:
        yield from session.event(converted, number)


def _read_evaluation(line: JsonObject, name: str, number: int) -> Iterator[Record]:
    """Read the history of one task of an evaluation."""
    session = OpenHandsSession()
    yield _start({"id": string(line, "instance_id") or f"{name}#L{number}"}, name)
    for i, event in enumerate(_events_of(line)):
        yield from _event_records(session, event, i)
    yield from session.rest()


def _read_list(source: Source) -> Iterator[Record]:
    """Read a trajectory from before the SDK: a list of events."""
    session = OpenHandsSession()
    yield _start({}, name_of(source, ".json"))
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and piece.key == "" and isinstance(piece.value, dict):
            yield from _event_records(session, piece.value, piece.index)
    yield from session.rest()


def _read_state_or_log(source: Source) -> Iterator[Record]:
    if outline(source).lists.get(""):
        yield from _read_list(source)
        return
    value, problems = read_fields(source)
    yield from problems
    if "messages" in value:
        yield from _log_records(value, name_of(source, ".json"))
        return
    yield _start(value, name_of(source, ".json"))
    if source.path and (source.path.parent / "events").is_dir():
        yield from _read_events(source.path.parent / "events")


def _log_records(log: JsonObject, name: str) -> Iterator[Record]:
    """Read one logged request and its reply.

    If the tools were written into the prompt, the log has the original messages too.
    """
    response = mapping(log, "response")
    model, time = string(response, "model"), time_of(log.get("timestamp"))
    yield Start(name, NAME, model=model, time=time)
    messages = list(objects(log.get("raw_messages") or log.get("messages")))
    for i, message in enumerate(messages):
        yield Entry(parse_item(message), f"#{i}", i)
    for choice in list(objects(response.get("choices")))[:1]:
        reply = parse_item(choice.get("message"))
        yield Entry(reply, "reply", len(messages), time, model, _usage(mapping(response, "usage")))


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        count(usage, "prompt_tokens"),
        count(usage, "completion_tokens"),
        count(mapping(usage, "prompt_tokens_details"), "cached_tokens"),
        count(usage, "cache_creation_input_tokens"),
    )


# Version 0.x: actions and observations, converted to events of the SDK -------------------------------

_V0_BOOKKEEPING = frozenset(
    {
        *("", "null", "change_agent_state", "agent_state_changed", "pause", "resume", "recall"),
        "condensation_request",
    }
)
"""Kinds of actions and observations that the model never sees. A ``recall`` looks up what then follows as an
observation."""
_HARNESS_ARGUMENTS = frozenset(
    {"thought", "blocking", "hidden", "is_input", "is_static", "confirmation_state", "security_risk", "cwd"}
)
"""Arguments of an action that only the harness uses."""


def _is_v0_event(value: Json) -> bool:
    """Return True for an action or observation of version 0.x."""
    if not isinstance(value, dict) or "kind" in value or "source" not in value:
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def _to_sdk_event(event: JsonObject) -> JsonObject | None:
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
            "summary_offset": data.get("summary_offset"),
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


def _events_of(line: JsonObject) -> list[JsonObject]:
    """Return the events of a line of an evaluation's output, flattening pairs of action and observation."""
    result: list[JsonObject] = []
    history = line.get("history")
    for value in history if isinstance(history, list) else ():
        result += objects(value) if isinstance(value, list) else objects([value])
    return [data for data in result if _is_v0_event(data)]
