"""One provider API as pure functions, and its failures as clew's errors.

An ``Ask`` becomes the history exactly as its session sends it, then the instruction. No I/O: ``remote.py``
sends what ``Api.body`` returns, and gives the answer to ``Api.reply``.

Error responses and SDK failures are converted without leaking keys. "Request too long" errors of many
providers are recognised, with the token counts they state: "prompt is too long: 210000 tokens > 200000
maximum" becomes ``ContextTooLong`` with both numbers.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from clew.errors import (
    ContextTooLong,
    InputError,
    ModelBusy,
    ModelError,
    ModelFailed,
    ModelRefused,
    ModelTimeout,
)
from clew.message import Json, JsonObject, Role, text_message
from clew.message.text import ellipsize, join_surrogates, one_line
from clew.providers.model import Ask, Reply, StreamAssembler
from clew.providers.shapes import as_list, as_object, as_text, objects
from clew.providers.wire import Wire
from clew.tokens import model_named

# Half of a surrogate pair.
_HALF = re.compile("[\ud800-\udfff]")


class Api(Protocol):
    """One endpoint of a provider, for one model."""

    @property
    def path(self) -> str:
        """Return the path under the provider's base URL."""

    @property
    def wire(self) -> Wire:
        """Return the wire format of its requests."""

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body for a question."""

    def reply(self, value: JsonObject) -> Reply:
        """Read a response body; raise a ``ModelError`` if it is not an answer."""

    def repaired(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Return the body without the field that was refused, or None if the request cannot be repaired."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents: the model's name and the output token limit."""

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on."""

    def assembler(self) -> StreamAssembler:
        """Return an assembler for the events of one stream."""


def without_refused(body: JsonObject, refused: ModelRefused, optional: Collection[str]) -> JsonObject | None:
    """Drop the optional fields that a refusal names; return None if it names none that is in the body."""
    names = [name for name in optional if name in body and re.search(rf"\b{name}\b", refused.detail)]
    return {key: value for key, value in body.items() if key not in names} if names else None


def in_sdk_order(body: JsonObject, first: Sequence[str]) -> JsonObject:
    """Return the body with its fields in the order in which the provider's SDK writes them.

    These come first, the others by the alphabet: a request to which clew adds nothing has a plain client's
    bytes.
    """
    names = [*(name for name in first if name in body), *sorted(body.keys() - set(first))]
    return {name: body[name] for name in names}


def sendable(body: JsonObject) -> JsonObject:
    """Return the body without halves of surrogate pairs, as ``join_surrogates`` does it for a text."""
    try:
        text = json.dumps(body, ensure_ascii=False)
        if _HALF.search(text) is None:
            return body
        repaired: JsonObject = json.loads(join_surrogates(text))
    except RecursionError as cause:
        raise ModelRefused("the request is nested too deeply to be written") from cause
    return repaired


def answer_object(text: str) -> JsonObject:
    """Parse a response body as a JSON object; raise ``ModelFailed`` for anything else, such as a web page."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise ModelFailed(f"the answer is not JSON: {text[:80]!r}") from cause
    if not isinstance(value, dict):
        raise ModelFailed(f"the answer is not an object: {text[:80]!r}")
    return value


def int_or_zero(value: object) -> int:
    """Return an integer from a response, or 0 if it is missing or not an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


THINKING_TOKENS = 8_192
"""Added to the output limit of models that think, because thinking counts against it (chosen by hand)."""


def question(ask: Ask, wire: Wire) -> JsonObject:
    """Return the request fields with the history and the instruction.

    The history is rendered on its own and the instruction appended, so that everything before the instruction
    is identical to what the session sends. A tool call without a result gets a placeholder result.
    """
    if not ask.messages and not ask.instruction:
        raise InputError("nothing is asked: give messages, an instruction, or both")
    from clew.providers.conversion import convert

    fields = convert(ask.history, wire).body
    if not ask.instruction:
        return fields
    listed = as_list(fields[wire.list_key])
    return {**fields, wire.list_key: [*listed, *wire.render_items(text_message(Role.USER, ask.instruction))]}


def shared_fields(ask: Ask, wire: Wire, model: str, names: Collection[str]) -> JsonObject:
    """Return the fields of the session's own requests that its prompt cache depends on.

    A cache can only be read by the model that wrote it, so another model gets none of them. A tool choice
    that forces a call is left out, because the model could not answer.
    """
    if ask.rest is None or ask.rest.wire != wire.name:
        return {}
    original = as_object(ask.rest.value)
    if original.get("model", model) != model:
        return {}
    return {
        name: value
        for name, value in original.items()
        if name in names and (name != "tool_choice" or as_object(value).get("type") in ("auto", "none"))
    }


def with_room_to_think(ask: Ask, model: str, thinking_tokens: int) -> int:
    """Return the output token limit with thinking included, at most the model's own limit."""
    wanted = ask.max_output_tokens + thinking_tokens
    model_info = model_named(model)
    return min(wanted, model_info.max_output_tokens) if model_info.known else wanted


def tool_stubs(items: Json) -> list[Json]:
    """Return a minimal definition for each tool that is called in a history in Anthropic's format.

    Anthropic has rejected histories with calls to undefined tools (anthropic-sdk-python#494), and Bedrock
    still does.
    """
    blocks = (block for _, item in objects(items) for _, block in objects(item.get("content")))
    names = dict.fromkeys(as_text(block.get("name")) for block in blocks if block.get("type") == "tool_use")
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


# o1, o3-mini, gpt-5, gpt-5.2-codex, codex-mini; not gpt-5-chat-latest, gpt-4o, or another vendor's model.
_REASONING = re.compile(r"(?:openai[/.])?(?:o\d|gpt-[5-9](?!\S*chat)|codex-)")


def thinking_tokens(model: str) -> int:
    """Return the tokens to add for thinking: 0 if the model does not reason and so accepts a temperature."""
    return THINKING_TOKENS if _REASONING.match(model.lower()) else 0


_CODES = ("context_length_exceeded", "exceed_context_size_error", "request_too_large")

# Providers' messages, with the numbers if they state them.
_WORDED = tuple(
    re.compile(pattern, re.I | re.S)
    for pattern in (
        # Anthropic
        r"prompt is too long(?:: (?P<tokens>[\d,]+) tokens > (?P<limit>[\d,]+))?",
        r"exceed context limit: (?P<tokens>[\d,]+) \+ [\d,]+ > (?P<limit>[\d,]+)",
        # OpenAI, vLLM, DeepSeek, OpenRouter
        r"maximum context length is (?P<limit>[\d,]+) tokens.*?"
        r"(?:resulted in|requested(?: about)?|request has|contains) (?P<tokens>[\d,]+)",
        r"configured limit of (?P<limit>[\d,]+) tokens.*?resulted in (?P<tokens>[\d,]+)",
        r"exceeds the context window",
        r"context[ _]length[ _]exceeded",
        # OpenAI, if one request exceeds the tokens per minute: waiting does not help
        r"request too large.*?limit (?P<limit>[\d,]+), requested (?P<tokens>[\d,]+)",
        # Gemini, xAI, Mistral, Groq, Bedrock
        r"input token count \((?P<tokens>[\d,]+)\) exceeds[^(]*\((?P<limit>[\d,]+)\)",
        r"maximum prompt length is (?P<limit>[\d,]+) but the request contains (?P<tokens>[\d,]+)",
        r"contains (?P<tokens>[\d,]+) tokens.*?(?P<limit>[\d,]+) maximum context length",
        r"reduce the length of the messages",
        r"input is too long for requested model",
        # llama.cpp, LM Studio
        r"request \((?P<tokens>[\d,]+) tokens\) exceeds the available context size \((?P<limit>[\d,]+)",
        r"exceeds the available context size",
        r"greater than the context length",
    )
)


class Length(NamedTuple):
    """The length of a request and the limit, in tokens; None for what the provider does not state."""

    tokens: int | None = None
    limit: int | None = None


def length_in_error(code: str, message: str, fields: JsonObject) -> Length | None:
    """Return the numbers in an error, or None if the error is not about length."""
    match = next(filter(None, (pattern.search(message) for pattern in _WORDED)), None)
    if match is None and code not in _CODES:
        return None
    numbers = match.groupdict() if match else {}
    # llama.cpp has the numbers in fields of their own.
    tokens = _number(numbers.get("tokens")) or int_or_zero(fields.get("n_prompt_tokens"))
    limit = _number(numbers.get("limit")) or int_or_zero(fields.get("n_ctx"))
    return Length(tokens or None, limit or None)


def _number(text: str | None) -> int:
    """Read ``128,000``; 0 for no number, or one that no window has."""
    digits = (text or "").replace(",", "")
    return int(digits) if 0 < len(digits) <= _MOST_DIGITS else 0


_MOST_DIGITS = 18
_LONGEST_DETAIL = 400  # characters of an error's detail: a few sentences (chosen by hand)
_OVERLOADED = (429, 503, 529)
# Keys of the large providers, also masked ones, and any token after the word Bearer.
_KEY = re.compile(r"\bsk-[\w*.-]{6,}|(?<=Bearer )\S+")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The contents of an error response, independent of the provider's layout."""

    message: str
    code: str = ""
    """The provider's error code, else its error type."""
    fields: JsonObject = field(default_factory=dict)


def error_for_response(
    status: int, headers: Mapping[str, str], body: object, secret: str | None = None
) -> ModelError:
    """Return clew's error for an error response, with the provider's message and without keys."""
    error_body = _read_error(body)
    words = f"{status} {error_body.code}".rstrip()
    detail = f"{words}: {error_body.message}" if error_body.message else words
    detail = ellipsize(without_keys(one_line(detail), secret), _LONGEST_DETAIL)
    length = length_in_error(error_body.code, error_body.message, error_body.fields)
    if length is not None or status == 413:
        return ContextTooLong(detail, *(length or ()))
    if error_body.code == "insufficient_quota":  # a 429 for which waiting does not help
        return ModelRefused(detail)
    if status in _OVERLOADED or error_body.code == "overloaded_error":
        return ModelBusy(detail, retry_after(headers))
    if status == 408:
        return ModelTimeout(detail)
    return ModelRefused(detail) if 400 <= status < 500 else ModelFailed(detail)


def error_in_body(value: JsonObject) -> ModelError:
    """Return the error of a response with status 200 whose body reports an error, as some servers send."""
    if not value.get("error"):
        return ModelFailed(f"the response has no answer, only {', '.join(sorted(value)) or 'no fields'}")
    code = as_object(value["error"]).get("code")
    status = 429 if code == "rate_limit_exceeded" else int_or_zero(code)
    return error_for_response(status or 500, {}, value)


def connection_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the SDKs' HTTP libraries raise if a connection breaks during an answer.

    Not every SDK version translates them, and the library differs between versions, so this looks at the
    libraries that have been imported.
    """
    libraries = filter(None, map(sys.modules.get, ("httpx", "httpx2")))
    return tuple(library.HTTPError for library in libraries)


def connection_error(cause: Exception) -> ModelError:
    """Return clew's error for a connection that broke during an answer."""
    if "Timeout" in type(cause).__name__:
        return ModelTimeout("the rest of the answer did not arrive in time")
    return ModelFailed(f"the connection broke during the answer ({type(cause).__name__})")


def sdk_error(cause: Exception, secret: str | None) -> ModelError:
    """Return clew's error for an exception of an SDK that is not one of the SDK's own types."""
    text = ellipsize(without_keys(one_line(str(cause)), secret), _LONGEST_DETAIL)
    return ModelFailed(f"the SDK failed with {type(cause).__name__}: {text}")


def without_keys(text: str, secret: str | None = None) -> str:
    """Return a text with this key, and everything that looks like a key, replaced by ``[key]``."""
    if secret:
        text = text.replace(secret, "[key]")
    return _KEY.sub("[key]", text)


def safe_cause(cause: Exception, secret: str | None) -> Exception | None:
    """Return the cause of an error, or None if a traceback with it would show the key."""
    return cause if not secret or secret not in str(cause) else None


def _read_error(body: object) -> ErrorBody:
    """Read an error body: an object, also in a list, its ``error`` alone (of one SDK), or plain text."""
    if isinstance(body, list) and len(body) == 1:  # as Gemini sends it
        body = body[0]
    if not isinstance(body, dict):
        return ErrorBody(body if isinstance(body, str) else "")
    inner: Json = body.get("error", body)
    if not isinstance(inner, dict):
        about = _message_of(body)
        return ErrorBody(": ".join(filter(None, (as_text(inner), about))), as_text(body.get("code")), body)
    code = as_text(inner.get("code")) or as_text(inner.get("type"))
    return ErrorBody(_message_of(inner), code, inner)


def _message_of(fields: JsonObject) -> str:
    return as_text(fields.get("message")) or as_text(fields.get("detail"))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the provider's retry delay in seconds, given in milliseconds, seconds or as a date; or None."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    from email.utils import parsedate_to_datetime  # imports sockets

    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None
