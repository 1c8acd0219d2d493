"""OpenHands: a conversation folder, its events as lines or a list, or one logged request to the model.

A folder holds ``base_state.json`` and ``events/event-00012-<id>.json``, each one event:
``{"kind": "MessageEvent", "id": …, "source": "user", "llm_message": {"role": "user", "content": […]}}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.message import JsonObject, Usage
from clew.providers.openai_chat.codec import parse_item
from clew.transcripts.fields import count, mapping, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, is_lines, load, outline, read_fields, walk
from clew.transcripts.jsonl import ObjectLine, head_objects, object_lines
from clew.transcripts.readers.openhands_events import OpenHandsSession
from clew.transcripts.readers.openhands_v0 import events_of, is_v0_event, to_sdk_event
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
        return bool(heads) and (events or all(is_v0_event(head) or events_of(head) for head in heads))
    seen = outline(source)
    if first := seen.lists.get("", [])[:5]:
        return all(map(is_v0_event, first))
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
    state, problem = load(folder / _STATE)
    if problem:
        yield problem
    yield _start(state if isinstance(state, dict) else {}, folder.name)
    yield from _read_events(folder / "events")


def _read_events(folder: Path) -> Iterator[Record]:
    session = OpenHandsSession()
    for i, path in enumerate(sorted(folder.glob("event-*.json"))):  # event-00012-<id>.json: sorted by number
        event, problem = load(path)
        if problem:
            yield Problem(problem.what, i)
        elif isinstance(event, dict):
            yield from session.event(event, i)
    yield from session.rest()


def _read_lines(source: Source) -> Iterator[Record]:
    session = OpenHandsSession()
    started = False
    for line in object_lines(source):
        if not started and not (isinstance(line, ObjectLine) and "history" in line.value):
            started = True
            yield _start({}, name_of(source, ".jsonl"))
        if isinstance(line, Problem):
            yield line
        elif "history" in line.value:
            yield from _read_evaluation(line.value, name_of(source, ".jsonl"), line.number)
        else:
            yield from _event_records(session, line.value, line.number)
    yield from session.rest()


def _event_records(session: OpenHandsSession, event: JsonObject, number: int) -> Iterator[Record]:
    """Read an event of any version."""
    converted = to_sdk_event(event) if is_v0_event(event) else event
    if converted is not None:
        yield from session.event(converted, number)


def _read_evaluation(line: JsonObject, name: str, number: int) -> Iterator[Record]:
    """Read the history of one task of an evaluation."""
    session = OpenHandsSession()
    yield _start({"id": string(line, "instance_id") or f"{name}#L{number}"}, name)
    for i, event in enumerate(events_of(line)):
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
