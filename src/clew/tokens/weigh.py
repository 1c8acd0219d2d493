"""Split messages and parts into tallies: text, framing, media, hidden thinking."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from typing import assert_never

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
from clew.tokens.families import Family
from clew.tokens.images import UNKNOWN_IMAGE_TOKENS, image_size
from clew.tokens.tally import NOTHING, Tally

BYTES_PER_TOKEN = {"document": 25, "audio": 500, "video": 1_000, "file": 25}
"""For media whose tokens only the provider knows, assuming 2,000 tokens for a PDF page of 50 kB, 32 for a
second of audio of 16 kB, 250 for a second of video of 250 kB."""
UNKNOWN_MEDIA_TOKENS = 2_000
"""For media given by URL or file id (chosen by hand)."""
SEAL_CHARS = 250
"""The length of a signature of the shortest thinking block, in base64 characters."""
CHARS_PER_HIDDEN_TOKEN = 5.0
"""Signature characters per token of thinking. Both numbers were measured on Claude and assumed for others."""


class Balance:
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
                yield self.weigh_text(text) if text else _sealed(encrypted or "")
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
        said = self.weigh_text(part.text)
        sealed = _sealed(part.signature or "")
        return max(said, sealed, key=lambda tally: tally.tokens(self.family.scale))

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


def _sealed(data: str) -> Tally:
    hidden = (len(data) - SEAL_CHARS) / CHARS_PER_HIDDEN_TOKEN
    return Tally(known=hidden) if hidden > 0 else NOTHING


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
