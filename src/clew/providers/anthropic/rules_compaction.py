"""Rules about Anthropic's server-side compaction (A32, A34, A35; see also A15b and A22)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.anthropic.rules_walk import Block, blocks, turns
from clew.providers.rules import Finding, Level, Rule, Scope
from clew.providers.shapes import as_list, as_object

_DOCS = "Anthropic's documentation of compaction and the types of anthropic 2.8.0"
LEAST_TRIGGER = 50_000


def _compactions(body: JsonObject) -> list[Block]:
    """Return the compaction blocks with content; null content means that the compaction failed."""
    return [block for block in blocks(body) if block.kind == "compaction" and block.value.get("content")]


def unsigned_compaction(body: JsonObject) -> Iterator[Finding]:
    """A32: a signed block without its signature, or with tool changes that are not a list."""
    for block in _compactions(body):
        if "signature" in block.value and not block.value["signature"]:
            yield Finding(f"{block.where}.signature", "the signature is empty")
        changes = block.value.get("tool_changes")
        if changes is not None and not isinstance(changes, list):
            yield Finding(f"{block.where}.tool_changes", "tool_changes is not the list that came")


def compaction_of_an_open_turn(body: JsonObject) -> Iterator[Finding]:
    """A34: a compaction on demand in the middle of a turn, or of an empty history."""
    if not body.get("compaction"):
        return
    every = turns(body)
    rest = [block for block in blocks(body) if block.kind != "compaction"]
    if not rest:
        yield Finding("compaction", "there is nothing to summarise (compaction_nothing_to_summarize)")
    elif every[-1].role == "assistant":
        yield Finding("compaction", "the last turn is the assistant's and open (compaction_incomplete_turn)")


def low_compaction_trigger(body: JsonObject) -> Iterator[Finding]:
    """A35: an automatic compaction with a trigger below the API's minimum."""
    for number, edit in enumerate(as_list(as_object(body.get("context_management")).get("edits"))):
        value = as_object(as_object(edit).get("trigger")).get("value")
        is_compact = str(as_object(edit).get("type", "")).startswith("compact_")
        if is_compact and isinstance(value, int) and value < LEAST_TRIGGER:
            where = f"context_management.edits.{number}.trigger.value"
            yield Finding(where, f"{value} is below {LEAST_TRIGGER:,}")


RULES = (
    Rule(
        "A32",
        "a compaction block is as it came",
        Level.REFUSE,
        f"Error codes compaction_content_mismatch, compaction_signature_invalid and "
        f"compaction_tool_changes_mismatch ({_DOCS}); edited text cannot be seen from here.",
        "send it back byte for byte; say what it lacks in a later message",
        unsigned_compaction,
    ),
    Rule(
        "A34",
        "compaction on demand comes after a whole turn",
        Level.REFUSE,
        f"Error codes compaction_incomplete_turn and compaction_nothing_to_summarize ({_DOCS}).",
        "ask for it once the last call has its result and the user's turn has come",
        compaction_of_an_open_turn,
        scope=Scope.BODY,
    ),
    Rule(
        "A35",
        "automatic compaction starts at 50,000 tokens or more",
        Level.REFUSE,
        f"The least value of the trigger of compact_20260112 ({_DOCS}).",
        "raise the trigger to 50,000 or more",
        low_compaction_trigger,
        scope=Scope.BODY,
    ),
)
