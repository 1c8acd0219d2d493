"""Readers of benchmarks' files: ``sniff`` says whether a file is one, ``read`` yields its sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clew.message import JsonObject
from clew.transcripts.json_document import Element, Field, walk
from clew.transcripts.records import Problem, Record
from clew.transcripts.source import Source


def read_list(
    source: Source,
    list_key: str,
    header_key: str,
    what: str,
    read: Callable[[JsonObject, JsonObject], Iterator[Record]],
) -> Iterator[Record]:
    """Read each object of a document's list, together with the header of the document."""
    header: JsonObject = {}
    for piece in walk(source):
        match piece:
            case Field(key, dict() as result) if key == header_key:
                header = result
            case Element(key, _, dict() as element) if key == list_key:
                yield from read(element, header)
            case Element(key, index, _) if key == list_key:
                yield Problem(f"a {what} that is not an object", index)
            case Problem():
                yield piece
            case _:
                pass
