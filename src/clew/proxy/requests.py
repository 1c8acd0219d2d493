"""Recognise a client's own compaction request, and the conversation that it belongs to.

Most requests are ordinary. They are recognised as such by a search in their bytes, without parsing them.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from clew.message import Json, JsonObject
from clew.proxy.relay import HttpRequest
from clew.proxy.sealed import digest_in

LIST_KEYS = {"anthropic": "messages", "openai": "messages", "responses": "input"}
_ENDINGS = {"/messages": "anthropic", "/chat/completions": "openai", "/responses": "responses"}
COMPACT_PATH = "/responses/compact"
KEY_BYTES = 1_024
"""The beginning of a request identifies its conversation: model, and the first message."""
STORED = ("previous_response_id", "conversation")
"""Fields of OpenAI's Responses API that refer to messages which the provider stores.

Such a request holds only the newest messages. clew does not see the earlier ones and cannot replace them, so
the request is forwarded as it is.
"""
MODES = ("on", "off", "preview")
"""Values of the request header ``x-clew``."""
MOST_DECODED = 256 << 20
"""Bytes of a decoded body; a larger one is only forwarded, so that a small request cannot fill the memory."""
ENCODINGS = ("identity", "gzip", "deflate", "zstd")
"""The content encodings that ``decode`` reads."""

_HINTS = (
    b"summary of the conversation",
    b"summary of this conversation",
    b"summary of our conversation",
    b"CONTEXT CHECKPOINT",
    b"continuing our conversation",
    b"compaction_trigger",
)
_ASKS_FOR_SUMMARY = re.compile(
    r"^(?:your task is to create a (?:\w+ ){0,2}summary of (?:the|this|our) (?:entire )?conversation"
    r"|you are performing a CONTEXT CHECKPOINT COMPACTION"
    r"|provide a (?:\w+ ){0,2}(?:prompt|summary) for continuing our conversation)",
    re.IGNORECASE | re.MULTILINE,
)
"""The summary instructions of Claude Code, Codex and opencode; all are the last message of the user.

A person who types "create a summary of our conversation in NOTES.md" asks the model, not clew.
"""
_PREAMBLE = 600
"""Most characters before the instruction; Claude Code begins with a reminder not to call tools."""
SESSION_PREFIX = "proxy-"
_FOCUS = re.compile(r"(?:Additional|Compact) Instructions:\s*(.+)", re.DOTALL | re.IGNORECASE)
_FOOTER = re.compile(rf"\(clew session ({SESSION_PREFIX}[\w.:-]{{1,120}}), digest (d\d+)\)")
"""How an answer names its session: one of the proxy's own, whatever else a pasted text may name."""
SESSION_HEADERS = (
    *("x-clew-session", "x-claude-code-session-id", "session-id", "session_id", "x-opencode-session"),
)
"""Headers in which clients name the conversation."""
AGENT_HEADER = "x-claude-code-agent-id"
"""Sub-agents share the session of their parent, but have a conversation of their own."""


class RequestKind(Enum):
    """How a compaction was asked for, which decides the shape of the answer."""

    SUMMARY = auto()
    """An instruction to write a summary; answered with a message."""
    ENDPOINT = auto()
    """``POST /responses/compact``."""
    TRIGGER = auto()
    """A Responses request that ends with a ``compaction_trigger``."""


class DigestRef(NamedTuple):
    """Where a digest is in clew's log."""

    session: str
    digest: str
    """Its id, such as ``d3``."""


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """A client's request to compact its conversation."""

    kind: RequestKind
    wire: str
    body: JsonObject
    entries: list[Any]
    """The conversation, without the instruction."""
    session: str = ""
    """The conversation's id, if the client sends one."""
    earlier: DigestRef | None = None
    """The digest that the conversation starts with, if clew wrote one."""
    focus: str | None = None


def requested_mode(http: HttpRequest) -> str | None:
    """Return the value of the header ``x-clew``; empty without one, None if it is not one of ``MODES``."""
    mode = http.header("x-clew").strip().lower()
    return mode if mode in ("", *MODES) else None


def wire_of(path: str) -> str:
    """Return the wire format of an endpoint; empty if it takes no conversation."""
    path = path.rstrip("/")
    if path.endswith(COMPACT_PATH):
        return "responses"
    return next((wire for ending, wire in _ENDINGS.items() if path.endswith(ending)), "")


def decoded(http: HttpRequest) -> bytes:
    """Return the body without its content encoding."""
    raw = http.body if isinstance(http.body, bytes) else b""
    return decode(raw, http.header("content-encoding"))


class Readable(Protocol):
    """What can be read in pieces."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        ...


def decode(raw: bytes, encoding: str) -> bytes:
    """Return a body without its content encoding; empty if that is unknown, or the body is too large."""
    match encoding.strip().lower():
        case "" | "identity":
            return raw
        case "gzip":
            stream: Readable = gzip.GzipFile(fileobj=io.BytesIO(raw))
        case "deflate":
            inflate = zlib.decompressobj()
            data = inflate.decompress(raw, MOST_DECODED)
            return b"" if inflate.unconsumed_tail else data
        case "zstd":
            import zstandard

            stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        case _:
            return b""
    data = stream.read(MOST_DECODED)
    return b"" if stream.read(1) else data


def compaction_request(http: HttpRequest, raw: bytes) -> CompactionRequest | None:
    """Return the compaction that a request asks for; None for an ordinary request."""
    wire = wire_of(http.path)
    is_endpoint = _is_endpoint(http)
    if http.method != "POST" or not wire or not (is_endpoint or any(hint in raw for hint in _HINTS)):
        return None
    body = json.loads(raw)
    entries = _entries(body, wire)
    if entries is None:
        return None  # the upstream explains what is missing
    if is_endpoint:
        request: CompactionRequest | None = CompactionRequest(RequestKind.ENDPOINT, wire, body, entries)
    elif isinstance(entries[-1], dict) and entries[-1].get("type") == "compaction_trigger":
        request = CompactionRequest(RequestKind.TRIGGER, wire, body, entries[:-1])
    else:
        request = _summary(wire, body, entries)
    if request is None:
        return None
    return replace(request, session=session_id(http, body), earlier=_earlier(request.entries))


def lacks_model(http: HttpRequest, raw: bytes) -> bool:
    """Whether a request to ``/responses/compact`` names no model, which Open Responses wants refused."""
    if not _is_endpoint(http):
        return False
    body = json.loads(raw)
    return isinstance(body, dict) and not body.get("model")


def _is_endpoint(http: HttpRequest) -> bool:
    return http.path.rstrip("/").endswith(COMPACT_PATH)


def conversation_key(http: HttpRequest, raw: bytes) -> str:
    """Identify a request's conversation without parsing it: by the client's id, else by its beginning."""
    named = next((value for name in SESSION_HEADERS if (value := http.header(name))), "")
    agent = http.header(AGENT_HEADER)
    begin = raw[:KEY_BYTES] if not named else b""
    parts = (named.encode("utf-8", "replace"), agent.encode("utf-8", "replace"), begin)
    return blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def conversation_in(http: HttpRequest, body: Json, wire: str) -> CompactionRequest | None:
    """Return the conversation that an ordinary request holds; None if it does not hold the whole of it."""
    entries = _entries(body, wire)
    if entries is None or not isinstance(body, dict) or any(body.get(name) for name in (*STORED, "thread")):
        return None
    request = CompactionRequest(RequestKind.SUMMARY, wire, body, entries)
    return replace(request, session=session_id(http, body), earlier=_earlier(entries))


def _entries(body: Json, wire: str) -> list[Any] | None:
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return None
    entries = body.get(LIST_KEYS[wire])
    if isinstance(entries, str) and wire == "responses":
        return [{"type": "message", "role": "user", "content": entries}]
    return entries if isinstance(entries, list) and entries else None


def session_id(http: HttpRequest, body: JsonObject) -> str:
    """Return the id that a client gives its conversation; empty if it sends none."""
    named = next((value for name in SESSION_HEADERS if (value := http.header(name))), "")
    cache_key = body.get("prompt_cache_key")
    named = named or (cache_key if isinstance(cache_key, str) else "")
    agent = http.header(AGENT_HEADER)
    return f"{named}.{agent}" if named and agent else named


def _summary(wire: str, body: JsonObject, entries: list[Any]) -> CompactionRequest | None:
    """Return the request if the last message of the user asks for a summary of the conversation."""
    last = entries[-1]
    if not isinstance(last, dict) or last.get("role") != "user":
        return None
    content = last.get("content")
    blocks = [{"text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return None
    instructions = [text for text in map(_block_text, blocks) if _asks_for_summary(text)]
    if not instructions:
        return None
    rest = [block for block in blocks if not _asks_for_summary(_block_text(block))]
    focus = _FOCUS.search(instructions[-1])
    kept = [*entries[:-1], *([{**last, "content": rest}] if rest else [])]
    if not kept:
        return None
    return CompactionRequest(RequestKind.SUMMARY, wire, body, kept, focus=focus[1].strip() if focus else None)


def _asks_for_summary(text: str) -> bool:
    """Whether a text is an agent's instruction to summarise, and not a person's question about one."""
    match = _ASKS_FOR_SUMMARY.search(text[: _PREAMBLE + 200])
    return match is not None and match.start() <= _PREAMBLE and "?" not in text[: match.start()]


def _earlier(entries: list[Any]) -> DigestRef | None:
    """Return the digest that clew's last answer named, if the conversation holds one."""
    for entry in reversed(entries):
        if sealed := digest_in(entry):
            return DigestRef(sealed.session, sealed.digest)
        for text in _user_texts(entry):
            if match := _FOOTER.search(text):
                return DigestRef(match[1], match[2])
    return None


def is_earlier_digest(entry: Json) -> bool:
    """Whether an entry is an answer of clew, sent back by the client as the start of a conversation."""
    return digest_in(entry) is not None or any(map(_FOOTER.search, _user_texts(entry)))


def _user_texts(entry: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    if isinstance(entry, dict) and entry.get("role") in ("user", "developer"):
        content = entry.get("content")
        yield from [content] if isinstance(content, str) else map(_block_text, content or ())


def _block_text(block: Any) -> str:  # noqa: ANN401  # JSON
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""
