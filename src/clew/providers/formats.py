"""The wire formats by name, and detection of a format from the shape of a list or body.

``detect`` looks at, in order:

1. A body with ``contents`` is Gemini's, one with ``input`` is OpenAI Responses'. For a body with
   ``messages``, and for a bare list, the entries decide.
2. The first entry that only one format can contain decides: ``parts`` (Gemini), an item type such as
   ``function_call`` or a block such as ``input_text`` (Responses), a block such as ``tool_use`` or an image
   with a ``source`` (Anthropic), ``tool_calls``, the role ``tool``, content that is null, or a block such as
   ``image_url`` (OpenAI Chat).
3. Otherwise the other fields of the body decide, such as ``system`` (Anthropic) or ``response_format``
   (OpenAI Chat).
4. Otherwise the roles ``system`` and ``developer`` mean OpenAI Chat.
5. Otherwise there are only roles and text. The list is read as OpenAI Chat, with a note that it is ambiguous:
   plain ``{role, content}`` entries mean the same in several formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from clew.errors import UnknownWire
from clew.message import Json, JsonObject
from clew.providers.wire import Wire

AMBIGUOUS = "only roles and text: read as openai, but it could also be anthropic or responses"

_ANTHROPIC_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "mcp_tool_use",
        "document",
    }
)
_CHAT_BLOCKS = frozenset({"image_url", "input_audio", "file"})
_RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_RESPONSES_ITEMS = frozenset(
    {"reasoning", "item_reference", "compaction", "compaction_summary", "context_compaction"}
    | {"compaction_trigger"}
    | {"mcp_approval_request", "mcp_approval_response", "mcp_list_tools", "additional_tools"}
)
_CHAT_KEYS = frozenset(
    {"tool_calls", "function_call", "tool_call_id", "reasoning_content", "reasoning_details", "refusal"}
)
_ANTHROPIC_FIELDS = frozenset({"system", "anthropic_version", "stop_sequences", "context_management"})
_CHAT_FIELDS = frozenset(
    {"response_format", "max_completion_tokens", "stream_options", "n", "logprobs", "frequency_penalty"}
)


@dataclass(frozen=True, slots=True)
class Guess:
    """The name of a detected wire format, with a note if the detection is uncertain."""

    wire: str
    note: str = ""
    """Empty if the detection is certain."""


def detect(value: Json) -> Guess:
    """Return the most likely wire format of a request body or a message list."""
    if isinstance(value, list):
        return _of_entries(value) or Guess("openai", AMBIGUOUS)
    if not isinstance(value, dict):
        raise UnknownWire("neither a request body nor a message list")
    if "contents" in value:
        return Guess("gemini")
    if "input" in value and "messages" not in value:
        return Guess("responses")
    entries = value.get("messages")
    if not isinstance(entries, list):
        raise UnknownWire("an object without messages, input or contents")
    return _of_entries(entries, value) or Guess("openai", AMBIGUOUS)


def _of_entries(entries: list[Json], body: JsonObject | None = None) -> Guess | None:
    roles: set[Json] = set()
    for entry in entries:
        if isinstance(entry, dict):
            wire = _of_entry(entry)
            if wire:
                return Guess(wire)
            role = entry.get("role")
            roles.add(role if isinstance(role, str) else None)
    wire = _of_fields(body) if body else None
    if wire:
        return Guess(wire)
    return Guess("openai") if roles & {"system", "developer"} else None


def _of_entry(entry: JsonObject) -> str | None:
    """Return the only format that can contain such an entry, or None if several can."""
    content = entry.get("content")
    if isinstance(entry.get("parts"), list):
        return "gemini"
    if isinstance(content, list):
        wire = _of_blocks(content)
        if wire:
            return wire
    if entry.get("role") in ("tool", "function") or not _CHAT_KEYS.isdisjoint(entry):
        return "openai"
    kind = entry.get("type")
    if isinstance(kind, str) and "role" not in entry and _is_item(kind):
        return "responses"
    if kind == "message" and isinstance(content, str):
        return "responses"
    return "openai" if "role" in entry and "content" in entry and content is None else None


def _is_item(kind: str) -> bool:
    return kind in _RESPONSES_ITEMS or kind.endswith(("_call", "_call_output"))


def _of_blocks(blocks: Iterable[Json]) -> str | None:
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            continue
        if kind in _RESPONSES_BLOCKS:
            return "responses"
        if kind in _CHAT_BLOCKS or isinstance(block.get("thinking"), list):  # Mistral's thinking is a list
            return "openai"
        if kind in _ANTHROPIC_BLOCKS or kind.endswith("_tool_result") or "source" in block:
            return "anthropic"
    return None


def _of_fields(body: JsonObject) -> str | None:
    tools = body.get("tools")
    tool = tools[0] if isinstance(tools, list) and tools else None
    if not _ANTHROPIC_FIELDS.isdisjoint(body) or (isinstance(tool, dict) and "input_schema" in tool):
        return "anthropic"
    if not _CHAT_FIELDS.isdisjoint(body) or (isinstance(tool, dict) and "function" in tool):
        return "openai"
    model = body.get("model")
    # Anthropic's API requires max_tokens; servers with the Chat format may serve a Claude model as well.
    if isinstance(model, str) and model.startswith("claude") and "max_tokens" in body:
        return "anthropic"
    return None


# By name -----------------------------------------------------------------------------------------------

LIST_KEYS = frozenset({"messages", "input", "contents"})
"""The fields of request bodies that hold the message list, in any format."""

_PACKAGES = {
    "anthropic": ("anthropic", "ANTHROPIC"),
    "openai": ("openai_chat", "OPENAI"),
    "responses": ("openai_responses", "RESPONSES"),
    "gemini": ("gemini", "GEMINI"),
}


class _Wires(Mapping[str, Wire]):
    """The wire formats by name. A provider's package is imported when its format is first used."""

    def __getitem__(self, name: str) -> Wire:
        package, constant = _PACKAGES[name]
        wire: Wire = getattr(import_module(f"clew.providers.{package}"), constant)
        return wire

    def __contains__(self, name: object) -> bool:
        return name in _PACKAGES

    def __iter__(self) -> Iterator[str]:
        return iter(_PACKAGES)

    def __len__(self) -> int:
        return len(_PACKAGES)


WIRES: Mapping[str, Wire] = _Wires()


def wire_named(name: str) -> Wire:
    """Return the wire format with this name."""
    if name not in WIRES:
        raise UnknownWire(f"no wire format {name!r}")
    return WIRES[name]
