"""Count the tokens of texts, parts, messages and histories for one model.

``counter_for("gpt-5").count(message)`` includes what the provider adds around a message and a call (framing),
and images by the provider's formula. A count is first a *tally* (tokens by kind: words, digits, marks, …),
which the scale of the model's family converts to tokens, so that the same tally fits a calibrated scale
later.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar, assert_never

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Media,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from clew.tokens.exact import BytePairs, available, estimate
from clew.tokens.families import EMPTY_TALLY, FAMILIES, OTHER, Calibration, Family, Tally, total
from clew.tokens.images import UNKNOWN_IMAGE_TOKENS, image_size
from clew.tokens.models import ModelInfo, model_named


class Tokenizer(Protocol):
    """Counts the tokens of a text exactly as one family of models does.

    The same text must always give the same number, every text must be accepted, and the empty text has 0
    tokens. Special tokens in the text are counted as ordinary characters.
    """

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        ...


Value = TypeVar("Value")

Key: TypeAlias = str | tuple[int, int]

SHORT = 64
"""The longest text, in characters, that is its own cache key."""


def key_of(text: str) -> Key:
    """Return the cache key of a text: the text itself if short, else its hash and length.

    Python stores a string's hash in the string, so a second lookup of the same object is cheap, and the cache
    keeps no long text alive. Two long texts of equal length collide with probability 2**-64.
    """
    return text if len(text) <= SHORT else (hash(text), len(text))


class TextCache(Generic[Value]):
    """A cache of at most ``size`` values in two generations, an approximation of LRU.

    Lookups move values from the old generation to the young one; when the young one is full, the old one is
    dropped and replaced by it.
    """

    def __init__(self, size: int = 65_536) -> None:
        """Hold at most ``size`` values."""
        self._half = max(1, size // 2)
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        """Return the number of cached values."""
        return len(self._young) + len(self._old)

    def get(self, text: str, compute: Callable[[str], Value]) -> Value:
        """Return the value of a text, computing it only if it is not cached."""
        key = key_of(text)
        result = self._young.get(key)
        if result is not None:
            return result
        value = self._old.pop(key, None)
        if value is None:
            value = compute(text)
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = value
        return value


BYTES_PER_TOKEN = {"document": 25, "audio": 500, "video": 1_000, "file": 25}
"""For media whose tokens only the provider knows, assuming 2,000 tokens for a PDF page of 50 kB, 32 for a
second of audio of 16 kB, 250 for a second of video of 250 kB."""
UNKNOWN_MEDIA_TOKENS = 2_000
"""For media given by URL or file id (chosen by hand)."""
SIGNATURE_CHARS = 250
"""The length of a signature of the shortest thinking block, in base64 characters."""
CHARS_PER_HIDDEN_TOKEN = 5.0
"""Signature characters per token of thinking. Both numbers were measured on Claude and assumed for others."""


class MessageWeigher:
    """Computes the tallies of messages for one family, with a function for texts."""

    def __init__(self, family: Family, weigh_text: Callable[[str], Tally]) -> None:
        self.family = family
        self.weigh_text = weigh_text
        framing = family.framing
        self._message = Tally(framing=framing.message)
        self._result = Tally(framing=framing.result)
        self._call = Tally(framing=framing.call)

    def message(self, message: Message) -> Iterator[Tally]:
        """Yield the tallies of a message: its framing and its parts."""
        yield self._message
        for part in message.parts:
            if type(part) is Text:  # most parts are text: avoid the nested generator
                yield self.weigh_text(part.text)
            else:
                yield from self.part(part)

    def part(self, part: Part) -> Iterator[Tally]:
        """Yield the tallies of a part."""
        match part:
            case Text(text):
                yield self.weigh_text(text)
            case ToolResult(parts=parts):
                yield self._result
                for inner in parts:
                    yield from self.part(inner)
            case ToolCall(name=name):
                yield self._call
                yield self.weigh_text(name)
                yield self.weigh_text(part.input_text)
            case Thinking():
                yield self._thinking(part)
            case Media():
                yield self._media(part)
            case Compacted(text=text, encrypted=encrypted):
                yield self.weigh_text(text) if text else _hidden_tokens(encrypted or "")
            case ApprovalRequest() | ApprovalAnswer() | Unknown():
                yield self._message
                yield self.weigh_text(_as_json(part))
            case _:
                assert_never(part)

    def _thinking(self, part: Thinking) -> Tally:
        """Return the tally of the thinking text or of its signature, whichever is more.

        A signature is not sent to the model as text. But if a provider shows only a summary of the thinking,
        the signature holds all of it, and has five characters for each hidden token.
        """
        content = self.weigh_text(part.text)
        sealed = _hidden_tokens(part.signature or "")
        return max(content, sealed, key=lambda tally: tally.tokens(self.family.scale))

    def _media(self, part: Media) -> Tally:
        if part.kind == "image":
            size = image_size(part.data) if part.data else None
            return Tally(known=self.family.image(size) if size else UNKNOWN_IMAGE_TOKENS)
        if part.data is None:
            return Tally(known=UNKNOWN_MEDIA_TOKENS)
        if (part.media_type or "").startswith("text/"):
            return self.weigh_text(_plain(part.data))
        file_bytes = len(part.data) * 3 // 4
        return Tally(known=math.ceil(file_bytes / BYTES_PER_TOKEN[part.kind]))


def _plain(data: str) -> str:
    """Return the text of a text document, which is base64 in some wire formats and plain in others."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        return data


def _hidden_tokens(data: str) -> Tally:
    hidden = (len(data) - SIGNATURE_CHARS) / CHARS_PER_HIDDEN_TOKEN
    return Tally(known=hidden) if hidden > 0 else EMPTY_TALLY


def _as_json(part: ApprovalRequest | ApprovalAnswer | Unknown) -> str:
    """Return the part as JSON, as its provider would write it."""
    if part.native is not None:
        return json.dumps(part.native.value, ensure_ascii=False)
    match part:
        case ApprovalRequest(name=name, arguments=arguments):
            return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        case ApprovalAnswer(approved=approved, reason=reason):
            return json.dumps({"approve": approved, "reason": reason}, ensure_ascii=False)
        case Unknown(kind=kind):
            return kind


class TokenCounter:
    """Counts tokens for one family of models, with a cache: each new turn costs only its new text.

    The ``count`` methods return tokens. The ``weigh`` methods return a tally: keep the tally of a request,
    add to it as the session grows, and pass it to ``report_usage`` with the provider's count.
    """

    def __init__(
        self, family: Family, tokenizer: Tokenizer | None = None, calibration: Calibration | None = None
    ) -> None:
        """Count with ``tokenizer`` if given, else by estimate; both are calibrated by ``report_usage``."""
        self.family = family = family if tokenizer is None else family.counted
        self.calibration = Calibration() if calibration is None else calibration
        self.exact = tokenizer is not None
        """Whether text is counted by the model's own tokenizer. Framing and media are always estimated."""
        self._tokenizer = tokenizer
        # The scale in use, and the calibration it was made from: renewed by ``tokens`` after a report.
        self._learnt = self.calibration.learnt.get(family.name)
        self._scale = self.calibration.scale(family)
        self._texts: TextCache[Tally] = TextCache()
        self._weigher = MessageWeigher(family, self.weigh_text)

    def count_text(self, text: str) -> int:
        """Return the tokens of a text on its own: at least 1 unless it is empty."""
        return max(int(bool(text)), self.tokens(self.weigh_text(text)))

    def count(self, message: Message) -> int:
        """Return the tokens of a message as part of a request."""
        if len(message.parts) == 1:
            return self._count_one(message.parts[0], self.family.framing.message)
        return self.tokens(self.weigh(message))

    def count_part(self, part: Part) -> int:
        """Return the tokens of one part of a message."""
        return self._count_one(part, 0)

    def _count_one(self, part: Part, framing: int) -> int:
        """Return the tokens of a part with so much more framing; most parts need no sum of tallies."""
        if type(part) is ToolResult and len(part.parts) == 1:
            part, framing = part.parts[0], framing + self.family.framing.result
        if type(part) is Text:
            return self.tokens(self.weigh_text(part.text), framing)
        return self.tokens(total(self._weigher.part(part)), framing)

    def count_all(self, messages: Iterable[Message]) -> int:
        """Return the tokens of a history."""
        return self.tokens(self.weigh_all(messages))

    def weigh_text(self, text: str) -> Tally:
        """Return the tally of a text."""
        return self._texts.get(text, self._weigh_new)

    def weigh(self, message: Message) -> Tally:
        """Return the tally of a message."""
        return total(self._weigher.message(message))

    def weigh_all(self, messages: Iterable[Message]) -> Tally:
        """Return the tally of a history."""
        return total(tally for message in messages for tally in self._weigher.message(message))

    def tokens(self, tally: Tally, framing: int = 0) -> int:
        """Convert a tally, with so much more framing, to this family's tokens by the current calibration."""
        learnt = self.calibration.learnt.get(self.family.name)
        if learnt is not self._learnt:
            self._learnt, self._scale = learnt, self.calibration.scale(self.family)
        return round(tally.tokens(self._scale, framing))

    def report_usage(self, counted: Tally, reported: int) -> None:
        """Calibrate with one call: the tally of its whole input, and the input tokens its provider reported.

        Both must cover the same content. The increase of both from one call to the next works as well, and
        needs no tally of the system prompt and tools.
        """
        self.calibration.report(self.family, counted, reported)

    def _weigh_new(self, text: str) -> Tally:
        if self._tokenizer is None:
            return estimate(text)
        return Tally(words=float(self._tokenizer.count(text)))


def counter_for(
    model: str | ModelInfo, tokenizer: Tokenizer | None = None, calibration: Calibration | None = None
) -> TokenCounter:
    """Return a counter for a model: exact if its tokenizer is installed, estimated otherwise.

    ``tokenizer`` takes precedence over clew's own. A model that clew does not know is estimated, and
    calibrated under its own name.
    """
    info = model_named(model) if isinstance(model, str) else model
    family = FAMILIES[info.tokenizer]
    if family is OTHER:
        family = family.named(f"{family.name}/{info.id}")
    if tokenizer is None and family.encoding and available():
        tokenizer = BytePairs(family.encoding)
    return TokenCounter(family, tokenizer, calibration)
