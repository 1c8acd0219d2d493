"""An assembled request, and its body for a provider's API, with Anthropic's cache marks (``cache_control``).

``AssembledRequest.body("anthropic", {"model": …})`` is the system prompt with the added blocks, the history,
the message at the end, the tools and the cache marks, in Anthropic's format.

Anthropic caches everything before a mark, accepts at most four, and looks back from each mark over twenty
blocks for something cached. So marks go where an earlier request ended and where the next one will look:

1. after the system prompt, which survives every compaction;
2. after the last digest, which stays until the next compaction;
3. where the previous request ended: right before the model's last answer;
4. at the last block that will be sent again, before the volatile end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

from clew.budget import Region
from clew.compaction.plan.render import TAG as DIGEST_TAG
from clew.message import Json, JsonObject, Message, Role, Text, Thinking, ToolResult
from clew.providers.anthropic import ANTHROPIC
from clew.providers.conversion import convert
from clew.providers.formats import wire_named
from clew.providers.gemini import GEMINI
from clew.providers.marked_entries import UNMARKABLE
from clew.providers.openai_chat import OPENAI
from clew.providers.openai_responses import RESPONSES
from clew.providers.shapes import as_list, as_object, as_text
from clew.providers.wire import Wire
from clew.request.sections import PINNED, SYSTEM_PROMPT, TOOLS, Contribution, PiecePosition
from clew.tokens import Tally, TokenCounter
from clew.tokens.families import total

CHARS_PER_TOKEN = 4
"""A rough estimate, enough to decide whether a mark is worth setting."""


@dataclass(frozen=True, slots=True)
class Marks:
    """How to mark a request."""

    minimum_tokens: int | None = 1_024
    """Shorter prefixes are not cached, so not marked; see ``Model.cache_minimum_tokens``. None: no marks."""
    life: Literal["5m", "1h"] = "5m"

    @property
    def value(self) -> JsonObject:
        """Return the mark as Anthropic's API writes it."""
        return {"type": "ephemeral"} if self.life == "5m" else {"type": "ephemeral", "ttl": self.life}


class Spot(NamedTuple):
    """The position of a block: in a message, or in the system prompt (message -1)."""

    message: int
    block: int


def add_cache_marks(body: JsonObject, marks: Marks, end_blocks: int = 0) -> JsonObject:
    """Return a request in Anthropic's format with cache marks; the last ``end_blocks`` are never cached.

    All content is written as blocks, so that moving a mark changes no other byte. A request that already has
    marks keeps them and gets no more.
    """
    whole = in_blocks(body)
    if marks.minimum_tokens is None or _has_marks(whole):
        return whole
    spots = [
        spot for spot in _spots(whole, end_blocks) if _tokens_before(whole, spot) >= marks.minimum_tokens
    ]
    for spot in dict.fromkeys(spots):
        whole = _with_mark(whole, spot, marks.value)
    return whole


def in_blocks(body: JsonObject) -> JsonObject:
    """Return a request with all its texts written as lists of blocks."""
    changed: JsonObject = {}
    if body.get("system") and isinstance(body["system"], str):  # the API rejects an empty block
        changed["system"] = _blocks(body["system"])
    if isinstance(body.get("messages"), list):
        changed["messages"] = [_message_in_blocks(as_object(value)) for value in as_list(body["messages"])]
    return {**body, **changed}


def _message_in_blocks(message: JsonObject) -> JsonObject:
    content = message.get("content")
    return {**message, "content": _blocks(content)} if isinstance(content, str) and content else message


def _blocks(text: Json) -> list[Json]:
    return [{"type": "text", "text": text}]


# Where -----------------------------------------------------------------------------------------------


def _spots(body: JsonObject, end_blocks: int) -> Iterator[Spot]:
    """Yield the positions worth marking, in request order: at most four, which is what the API accepts."""
    messages = as_list(body.get("messages"))
    yield from _last_of(body, -1)
    digests = [i for i, value in enumerate(messages) if _digest_at(value) is not None]
    if digests:
        yield Spot(digests[-1], _digest_at(messages[digests[-1]]) or 0)
    answers = [i for i, value in enumerate(messages) if as_object(value).get("role") == "assistant"]
    if answers and answers[-1] > 0:
        yield from _last_of(body, answers[-1] - 1)
    last = len(messages) - 1
    if end_blocks and last > 0 and len(_content(messages[last])) <= end_blocks:
        last, end_blocks = last - 1, 0  # the end is a message of its own
    yield from _last_of(body, last, end_blocks)


def _digest_at(message: Json) -> int | None:
    """Return which block of a message is its last digest; None if none is."""
    blocks = _content(message)
    is_digest = (as_text(as_object(block).get("text")).startswith(f"<{DIGEST_TAG} ") for block in blocks)
    return max((i for i, found in enumerate(is_digest) if found), default=None)


def _last_of(body: JsonObject, message: int, left_out: int = 0) -> Iterator[Spot]:
    """Yield the last block of a message (or the system prompt) that can be marked and will be sent again."""
    blocks = _content_of(body, message)
    for i in range(len(blocks) - 1 - left_out, -1, -1):
        block = as_object(blocks[i])
        if block.get("type") not in UNMARKABLE and block.get("text") != "":
            yield Spot(message, i)
            return


def _content_of(body: JsonObject, message: int) -> list[Json]:
    if message < 0:
        return as_list(body.get("system"))
    return _content(as_list(body.get("messages"))[message])


def _content(message: Json) -> list[Json]:
    return as_list(as_object(message).get("content"))


# How much --------------------------------------------------------------------------------------------


def _tokens_before(body: JsonObject, spot: Spot) -> float:
    """Estimate how many tokens a mark would cache. A mark set too early is wasted, not wrong."""
    size = _size(body.get("tools"))
    if spot.message >= 0:
        size += _size(body.get("system")) + _size(as_list(body.get("messages"))[: spot.message])
    size += _size(_content_of(body, spot.message)[: spot.block + 1])
    return size / CHARS_PER_TOKEN


def _size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + _size(member) for key, member in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 1


def _has_marks(body: JsonObject) -> bool:
    if body.get("cache_control"):
        return True
    listed = (*as_list(body.get("tools")), *as_list(body.get("system")))
    inner = (block for value in as_list(body.get("messages")) for block in _content(value))
    return any(as_object(block).get("cache_control") for block in (*listed, *inner))


def _with_mark(body: JsonObject, spot: Spot, mark: JsonObject) -> JsonObject:
    blocks = list(_content_of(body, spot.message))
    blocks[spot.block] = {**as_object(blocks[spot.block]), "cache_control": mark}
    if spot.message < 0:
        return {**body, "system": blocks}
    messages = list(as_list(body["messages"]))
    messages[spot.message] = {**as_object(messages[spot.message]), "content": blocks}
    return {**body, "messages": messages}


class OfferedTool(Protocol):
    """A tool offered to the model, such as ``clew.memory.tools.Tool``."""

    @property
    def name(self) -> str:
        """Return the name the model calls it by."""

    def definition(self, wire: str) -> JsonObject:
        """Return its entry in a provider's list of tools."""


@dataclass(frozen=True, slots=True)
class AssembledRequest:
    """A request before it is rendered in a wire format."""

    prompt: tuple[Message, ...]
    """The system prompt of the session."""
    added: tuple[Text, ...]
    """Blocks added to it, one per section."""
    history: tuple[Message, ...]
    """The messages of the view after the system prompt."""
    end: Message | None
    """What changes with every request (the current state, recalled passages), sent after the history so that
    the history can be cached; None if there is none."""
    tools: tuple[OfferedTool, ...]
    contributions: tuple[Contribution, ...]
    """Each source with the tokens it asked for and got, in request order."""
    plain: bool
    """Nothing was added: the request is what a plain client sends."""
    marks: Marks | None = None
    """Where to put Anthropic's cache marks, unless ``body`` gets its own."""

    @property
    def tokens_by_region(self) -> dict[Region, int]:
        """Return the tokens of the request by region, as ``budget.allot`` takes them."""
        return _by_region(self.contributions)

    @property
    def end_blocks(self) -> int:
        """Return how many blocks at the end will not be sent again; for ``layout_of``."""
        return 0 if self.end is None else 1

    @property
    def tokens_outside_view(self) -> dict[Region, int]:
        """Return the tokens by region of everything that is not in the session's view."""
        return _by_region(contribution for contribution in self.contributions if not _of_view(contribution))

    def to_json(self) -> JsonObject:
        """Return each source with the tokens it asked for and got, for the log.

        The view is summed up by section, because its messages are in the log one by one already.
        """
        shown_contributions = [item for item in self.contributions if _of_view(item)]
        tools = [item for item in self.contributions if item.section is TOOLS]
        sums: dict[str, int] = {}
        for contribution in shown_contributions:
            sums[contribution.section.name] = sums.get(contribution.section.name, 0) + contribution.given
        return {
            # the rules of a digest are counted apart from its message: PINNED adds tokens, not a message
            "view": {
                "messages": sum(item.section is not PINNED for item in shown_contributions),
                "tokens": {**sums},
            },
            "tools": {"count": len(tools), "tokens": sum(tool.given for tool in tools)},
            "added": [
                item.to_json() for item in self.contributions if not (_of_view(item) or item.section is TOOLS)
            ],
        }

    def weigh(self, counter: TokenCounter) -> Tally:
        """Return the tally of the whole request, to compare with the usage that the provider reports."""
        messages = (*self.prompt, *self.history, *((self.end,) if self.end else ()))
        texts = [block.text for block in self.added]
        texts += [json.dumps(tool.definition("anthropic"), ensure_ascii=False) for tool in self.tools]
        return total((counter.weigh_all(messages), *map(counter.weigh_text, texts)))

    def body(self, wire: str, rest: JsonObject | None = None, marks: Marks | None = None) -> JsonObject:
        """Return the body of a request; ``rest`` holds the caller's own fields, such as the model.

        ``marks`` configures Anthropic's cache marks; a plain request gets none.
        """
        format_ = wire_named(wire)
        written = convert([*_system(self, format_), *with_end(self.history, self.end, format_)], format_).body
        body: JsonObject = {**(rest or {}), **_tools(format_, self.tools), **written}
        if format_ is not ANTHROPIC or self.plain:
            return body
        # without marks in blocks too, so that switching marks on or off does not change the cached prefix
        marks = marks or self.marks
        return add_cache_marks(body, marks, self.end_blocks) if marks else in_blocks(body)


def _system(assembled: AssembledRequest, wire: Wire) -> tuple[Message, ...]:
    """Return the system prompt with the added blocks, in the form that suits the wire format.

    Anthropic and Gemini take blocks. For OpenAI's two formats one plain text is the safest, because many
    servers that imitate them accept nothing else.
    """
    if not assembled.added:
        return assembled.prompt
    own = tuple(part for message in assembled.prompt for part in message.parts)
    if wire not in (OPENAI, RESPONSES) or not all(isinstance(part, Text) for part in own):
        return (Message(Role.SYSTEM, (*own, *assembled.added)),)
    texts = [part.text for part in (*own, *assembled.added) if isinstance(part, Text)]
    return (Message(Role.SYSTEM, (Text("\n\n".join(texts), trust=assembled.added[0].trust),)),)


def with_end(history: Sequence[Message], end: Message | None, wire: Wire) -> list[Message]:
    """Return the history followed by ``end``, the message that changes with every request.

    Anthropic treats text next to tool results as a new user turn, and then drops the signed thinking of the
    running tool loop and its cache. So while the model thinks in a tool loop, the end becomes part of the
    last tool result.
    """
    messages = list(history)
    if end is None:
        return messages
    last = messages[-1] if messages else None
    result = last.parts[-1] if last and last.parts else None
    if not last or wire is not ANTHROPIC or not isinstance(result, ToolResult) or not _thinks(messages):
        return [*messages, end]
    inside = replace(result, parts=(*result.parts, *end.parts))
    return [*messages[:-1], replace(last, parts=(*last.parts[:-1], inside))]


def _thinks(messages: Sequence[Message]) -> bool:
    """Return True if the running tool loop contains signed thinking."""
    for message in reversed(messages):
        if message.is_from_user:
            return False
        if any(isinstance(part, Thinking) and part.signed for part in message.parts):
            return True
    return False


def _of_view(contribution: Contribution) -> bool:
    """Return True if a contribution is part of the session's view: its messages and its system prompt."""
    return contribution.section.place is PiecePosition.HISTORY or contribution.section is SYSTEM_PROMPT


def _by_region(contributions: Iterable[Contribution]) -> dict[Region, int]:
    tokens: dict[Region, int] = {}
    for contribution in contributions:
        tokens[contribution.section.region] = tokens.get(contribution.section.region, 0) + contribution.given
    return tokens


def _tools(wire: Wire, tools: Sequence[OfferedTool]) -> JsonObject:
    if not tools:
        return {}
    definitions = [tool.definition(wire.name) for tool in tools]
    return {"tools": [{"functionDeclarations": [*definitions]}] if wire is GEMINI else [*definitions]}
