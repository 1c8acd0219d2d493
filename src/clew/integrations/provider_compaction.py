"""Work with a provider's own compaction: instruct it, check what it kept, add what it lost.

A provider's block is never edited: Anthropic signs it, OpenAI encrypts it. What it lacks follows as a message
of its own, and clew keeps its own readable digest of the same messages::

    fitted = clew.compact(messages, window=200_000)
    reply = client.beta.messages.create(..., compaction={"type": "summarize",
                                                         "instructions": instructions(fitted)})
    record = ProviderCompaction.of(fitted, reply.to_dict()["content"])
    messages = record.messages(later)       # the block, what it lacks, and the messages since
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.compaction.verify.assertions import assertions, is_found
from clew.compaction.verify.wording import Wording, plain
from clew.errors import InputError
from clew.message import Compacted, JsonObject, Message, Thinking, words
from clew.session import CompactResult, compact
from clew.session.parsed_input import ParsedInput

MOST_OPEN = 12
"""Open tasks that are listed, newest first; chosen by hand, there are seldom more."""
DIGEST_SHARE = 10
"""A digest may take a tenth of what it replaces, at least 1,000 tokens; chosen by hand."""


def must_survive(result: CompactResult) -> tuple[str, ...]:
    """Return what a summary of this conversation must contain: rules word for word, the goal, open work."""
    ledger = result.ledger
    goal = (ledger.goal.quote,) if ledger.goal else ()
    open_work = tuple(loop.text for loop in ledger.loops.collapsed[-MOST_OPEN:])
    return tuple(dict.fromkeys((*(rule.quote for rule in result.rules), *goal, *open_work)))


def instructions(result: CompactResult) -> str:
    """Return the instructions for a provider's summary; they replace its own, so they cover everything."""
    lines = "\n".join(f"- {line}" for line in must_survive(result))
    return (
        "Summarise the conversation so that another model can go on with the work: what was asked, what was "
        "done and found, which files were read and changed, what failed, what is next. Quote exact names, "
        "paths, numbers and commands. Repeat each of these lines word for word:\n" + lines
    )


def missing_from(text: str | None, result: CompactResult) -> tuple[str, ...]:
    """Return what must survive but is not in a summary; everything if it cannot be read."""
    summary = plain(text or "")
    return tuple(line for line in must_survive(result) if plain(line) not in summary)


def unsupported_in(text: str | None, result: CompactResult) -> tuple[str, ...]:
    """Return the names, paths, numbers and quotations of a summary that occur in none of the messages."""
    source = Wording("\n".join(words(part) for entry in result.originals.values() for part in entry.parts))
    return tuple(entry.text for entry in assertions(text or "") if not is_found(entry, source))


def digest_text(entries: Sequence[Any], wire: str | None = None) -> str:
    """Return clew's digest of some messages, written without a model; empty if it would save nothing."""
    whole_result = compact(entries, 10**9, wire=wire)
    target = max(1_000, whole_result.tokens_before // DIGEST_SHARE)
    result = compact(entries, previous=whole_result, target_tokens=target, wire=wire)
    shown = [item.message.text for item in result.items if result.digest and item.id == result.digest.id]
    return shown[0] if shown else ""


@dataclass(frozen=True, slots=True)
class ProviderCompaction:
    """A provider's block, the messages that it replaces, and clew's own digest of them."""

    block: tuple[JsonObject, ...]
    """What to send first: a message with Anthropic's block; OpenAI's user messages and its item."""
    covers: tuple[str, ...]
    """The ids of the replaced messages, as in ``CompactResult.originals`` and in clew's log."""
    digest: str
    """clew's digest of the same messages, readable; in place of a block that can no longer be decrypted."""
    missing: tuple[str, ...]
    """What must survive and is not in the block; everything if it cannot be read."""
    unsupported: tuple[str, ...] = ()
    """What the block says that occurs in none of the messages."""

    @classmethod
    def of(cls, fitted: CompactResult, output: Iterable[JsonObject]) -> ProviderCompaction:
        """Check a provider's compaction of a conversation; ``output`` is the reply's content or output."""
        items = list(output)
        at = next((n for n, one in enumerate(items) if one.get("type") == "compaction"), None)
        if at is None or items[at].get("content", True) is None:
            raise InputError("the provider made no compaction", "send the messages unchanged, or ask again")
        text = items[at].get("content")
        is_anthropic = "content" in items[at] or "signature" in items[at]
        block: list[JsonObject] = (
            [{"role": "assistant", "content": [items[at]]}] if is_anthropic else items[: at + 1]
        )
        text = text if isinstance(text, str) else None
        state = fitted.conversation
        return cls(
            tuple(block),
            tuple(name for name in fitted.originals if name.startswith("m")),
            digest_text(state.record.entries[: state.entries]) if state else "",
            missing_from(text, fitted),
            unsupported_in(text, fitted),
        )

    def messages(self, later: Sequence[Any]) -> list[Any]:
        """Return the block, what it lacks, and the messages since, which stay as they are.

        Thinking in those messages is bound to what precedes it, so then the addition comes last.
        """
        note = [{"role": "user", "content": _note(self.missing)}] if self.missing else []
        if thinking_in(later):
            return [*self.block, *later, *note]
        return [*self.block, *note, *later]

    def without_block(self, later: Sequence[Any]) -> list[Any]:
        """Return clew's digest in place of the block.

        Thinking in the later messages becomes invalid: count it with ``thinking_in``, and send Anthropic
        ``thinking.block_binding.prefix_mismatch_behavior: "drop_block"``.
        """
        return [{"role": "user", "content": self.digest or _note(self.missing)}, *later]

    def to_json(self) -> JsonObject:
        """Return it as JSON."""
        return {name: list(getattr(self, name)) for name in _LISTS} | {"digest": self.digest}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ProviderCompaction:
        """Read what ``to_json`` returned."""
        return cls(digest=value["digest"], **{name: tuple(value[name]) for name in _LISTS})


_LISTS = ("block", "covers", "missing", "unsupported")


def thinking_in(messages: Sequence[Any]) -> int:
    """Return how many thinking blocks some messages hold: what rewriting the prefix would cost."""
    return sum(_thoughts(message) for _, message in _read(messages))


def _thoughts(message: Message) -> int:
    return sum(isinstance(part, Thinking) for part in message.parts)


def add_missing(messages: Sequence[Any], result: CompactResult) -> list[Any]:
    """Return a list with a provider's compaction in it, followed by a message with what it lacks."""
    read = list(_read(messages))
    for place, message in reversed(read):
        blocks = [part for part in message.parts if isinstance(part, Compacted)]
        lost = missing_from(blocks[-1].text, result) if blocks else ()
        if lost:
            is_bound = any(later > place and _thoughts(message) for later, message in read)
            at = len(messages) if is_bound else place + 1
            return [*messages[:at], {"role": "user", "content": _note(lost)}, *messages[at:]]
    return list(messages)


def _note(lost: Iterable[str]) -> str:
    return "Still in force from earlier in this conversation:\n" + "\n".join(f"- {line}" for line in lost)


def _read(entries: Sequence[Any]) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a list, each with the place of its entry."""
    parsed = ParsedInput.of(entries)
    for place, entry in enumerate(parsed.entries):
        yield from ((place, message) for message in parsed.codec.read(entry, place))
