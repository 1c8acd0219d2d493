"""τ-bench: one list of runs, each with its trajectory of OpenAI messages."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.openai_chat import parse_item
from clew.transcripts.fields import objects
from clew.transcripts.json_document import Element, outline, walk
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "tau-bench"


def sniff(source: Source) -> bool:
    """Whether this is a list of runs with a task and a trajectory."""
    return not source.is_directory and {"task_id", "traj"} <= outline(source).first().keys()


def read(source: Source) -> Iterator[Record]:
    """Read every run as a session."""
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and isinstance(piece.value, dict):
            yield from _run(piece.value)
        elif isinstance(piece, Element):
            yield Problem("a run that is not an object", piece.index)


def _run(run: JsonObject) -> Iterator[Record]:
    yield Start(f"task-{run.get('task_id')}-trial-{run.get('trial', 0)}", NAME)
    for i, message in enumerate(objects(run.get("traj"))):
        yield Entry(parse_item(message), f"#{i}", i)
