"""Record changes of the active instructions, and decide which belong in the cached part of a request.

A file that becomes active after the first request goes to the end of later ones (``Piece.late``) until the
next compaction: in the system prompt it would invalidate the provider's cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from clew.log.fold import CALL, COMPACTION, INSTRUCTION, MESSAGE, SWITCH, UNDO
from clew.log.protocol import StoredEvent
from clew.message import JsonObject, Role
from clew.providers.shapes import as_object, as_text
from clew.request.instructions.load import Instruction, LoadedInstructions
from clew.request.sections import INSTRUCTIONS, Piece


def changes(before: LoadedInstructions, after: LoadedInstructions) -> Iterator[JsonObject]:
    """Yield the bodies of ``instruction`` events: files that were loaded, changed, removed or refused."""
    for instruction in after.instructions:
        known_instruction = before.get(instruction.id)
        if known_instruction != instruction:
            yield _body("load" if known_instruction is None else "change", instruction)
    for instruction in before.instructions:
        if after.get(instruction.id) is None:
            yield _body("leave", instruction)
    for refused in after.refused:
        if refused not in before.refused:
            yield {"does": "refuse", "path": refused.path, "why": refused.why}


def _body(does: str, instruction: Instruction) -> JsonObject:
    return {
        "does": does,
        "id": instruction.id,
        "path": instruction.path,
        "scope": instruction.scope.value,
        "sha256": instruction.sha256,
        "includes": dict(instruction.includes),
    }


def settled_ids(events: Iterable[StoredEvent]) -> frozenset[str]:
    """Return the ids of the instructions that belong in the stable part of a request.

    Those recorded before the first model call of the session, or before the first one after a compaction. A
    later one would invalidate the provider's cache, so it goes to the end until the next compaction.
    """
    inside: set[str] = set()
    late: set[str] = set()
    cached = False  # whether the provider may have cached the beginning of the request
    for stored in events:
        kind, body = stored.event.kind, stored.event.body
        if kind in _REWRITING:
            inside |= late
            late.clear()
            cached = False
        elif _asks_model(kind, body):
            cached = True
        elif kind == INSTRUCTION.name and (name := as_text(body.get("id"))):
            _note(name, as_text(body.get("does")), inside, late if cached else inside)
    return frozenset(inside)


_REWRITING = frozenset({COMPACTION.name, UNDO.name, SWITCH.name})
"""Events that change the beginning of a request, so the cache is invalid anyway."""


def _asks_model(kind: str, body: JsonObject) -> bool:
    spoke = kind == MESSAGE.name and as_object(body.get("message")).get("role") == Role.ASSISTANT.value
    return spoke or kind == CALL.name


def _note(name: str, does: str, inside: set[str], into: set[str]) -> None:
    if does == "leave":
        inside.discard(name)
        into.discard(name)
    elif name not in inside:
        into.add(name)


def pieces_of(loaded: LoadedInstructions, settled_ids: Collection[str]) -> list[Piece]:
    """Return the instructions as pieces of a request, the widest scope first."""
    return [
        Piece(
            INSTRUCTIONS,
            instruction.text,
            instruction.label,
            instruction.trust,
            late=instruction.id not in settled_ids,
        )
        for instruction in loaded.instructions
    ]
