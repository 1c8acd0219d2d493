"""Plain dialogues of data sets: ``{user, sys}`` turns, ``{from, value}`` lists and their like."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Json, JsonObject, Message, Role, text_message
from clew.transcripts.fields import name_of, string
from clew.transcripts.json_document import Element, is_lines, outline, walk
from clew.transcripts.jsonl import head_values, json_lines
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "dialogue"
_LISTS = ("conv", "conversation", "conversations", "whole_conv", "dialogue", "dialog", "turns")
_IDS = ("id", "question_id", "conversation_id", "conv_id")
_PAIRS = (("user", "sys"), ("user prompt", "assistant answer"), ("user", "assistant"), ("prompt", "response"))
_SPEAKERS = {
    "human": Role.USER,
    "user": Role.USER,
    "prompter": Role.USER,
    "gpt": Role.ASSISTANT,
    "chatgpt": Role.ASSISTANT,
    "assistant": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "system": Role.SYSTEM,
}
_LIKELIHOOD = 0.3
"""Low, so that formats that know more about their files go first."""


def sniff(source: Source) -> float:
    """Return how likely this holds dialogues, by its first values."""
    if source.is_directory:
        return 0
    if is_lines(source):
        return _LIKELIHOOD * any(_turns_of(value) for value in head_values(source, 5))
    seen = outline(source)
    first = next(iter(seen.lists.get("", ())), None)
    is_talk = _is_turn(first) or _turns_of(first) or any(_is_turn(seen.first(key)) for key in _LISTS)
    return _LIKELIHOOD * bool(is_talk)


def read(source: Source) -> Iterator[Record]:
    """Read every dialogue: one on each line, one in each element, or one that is the whole document."""
    name = name_of(source, ".jsonl", ".json")
    if is_lines(source):
        for line in json_lines(source):
            if line.problem:
                yield Problem(line.problem, line.number)
            if line.value is not None:
                yield from _session(line.value, f"{name}#{line.number}", line.number)
        return
    lone: list[Json] = []
    for piece in walk(source):
        match piece:
            case Problem():
                yield piece
            case Element("", index, value) if not _is_turn(value):
                yield from _session(value, f"{name}#{index}", index)
            case Element(key, _, value) if key in ("", *_LISTS):
                lone.append(value)
            case _:
                pass
    if lone:
        yield from _session(lone, name, None)


def _turns_of(value: Json) -> list[Json]:
    """Return the turns of a dialogue; none if it is not one."""
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    return value if isinstance(value, list) and value and _is_turn(value[0]) else []


def _is_turn(value: Json) -> bool:
    return isinstance(value, dict) and bool(list(_messages(value)))


def _session(value: Json, fallback: str, line: int | None) -> Iterator[Record]:
    turns = _turns_of(value)
    if not turns:
        yield Problem("no dialogue in it", line)
        return
    named = [value[key] for key in _IDS if key in value] if isinstance(value, dict) else []
    yield Start(str(named[0]) if named else fallback, NAME)
    number = 0
    for i, turn in enumerate(turns):
        messages = list(_messages(turn)) if isinstance(turn, dict) else []
        for message in messages:
            yield Entry(message, f"#{number}", i if line is None else line)
            number += 1
        if not messages:
            yield Problem(f"turn {i} has no words", line)


def _messages(turn: JsonObject) -> Iterator[Message]:
    """Read a turn: what one speaker says, or a question with its answer."""
    speaker = string(turn, "from") or string(turn, "role") or string(turn, "speaker")
    words = string(turn, "value") or string(turn, "content") or string(turn, "text")
    role = _SPEAKERS.get((speaker or "").lower())
    if role and words:
        yield text_message(role, words)
        return
    for asked, answered in _PAIRS:
        question, answer = string(turn, asked), string(turn, answered)
        if question:
            yield text_message(Role.USER, question)
            if answer:
                yield text_message(Role.ASSISTANT, answer)
            return
