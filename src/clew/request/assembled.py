"""An assembled request, and its body for a provider's API.

``AssembledRequest.body("anthropic", {"model": …})`` is the system prompt with the added blocks, the history,
the message at the end, the tools and the cache marks, in Anthropic's format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from clew.budget import Region
from clew.message import JsonObject, Message, Role, Text, Thinking, ToolResult
from clew.providers.anthropic import ANTHROPIC
from clew.providers.conversion import convert
from clew.providers.formats import wire_named
from clew.providers.gemini import GEMINI
from clew.providers.openai_chat import OPENAI
from clew.providers.openai_responses import RESPONSES
from clew.providers.wire import Wire
from clew.request.cache_marks import Marks, add_cache_marks, in_blocks
from clew.request.sections import PINNED, SYSTEM_PROMPT, TOOLS, Contribution, PiecePosition
from clew.tokens import Tally, TokenCounter
from clew.tokens.families import total


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
