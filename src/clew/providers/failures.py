"""Convert providers' error responses and SDK failures to clew's errors, without leaking keys.

Recognises "request too long" errors of many providers and reads the token counts they state: "prompt is too
long: 210000 tokens > 200000 maximum" becomes ``ContextTooLong`` with both numbers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.errors import ContextTooLong, ModelBusy, ModelError, ModelFailed, ModelRefused, ModelTimeout
from clew.message import Json, JsonObject
from clew.message.text import ellipsize, one_line
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_object, as_text

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
    """Read an error body: an object, its ``error`` field alone (as one SDK gives it), or plain text."""
    if not isinstance(body, dict):
        return ErrorBody(body if isinstance(body, str) else "")
    inner: Json = body.get("error", body)
    if not isinstance(inner, dict):
        return ErrorBody(as_text(inner))
    message = as_text(inner.get("message")) or as_text(inner.get("detail"))
    code = as_text(inner.get("code")) or as_text(inner.get("type"))
    return ErrorBody(message, code, inner)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the provider's retry delay in seconds, given in milliseconds, seconds or as a date; or None."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) * scale)
        except ValueError:
            continue
    from email.utils import parsedate_to_datetime  # imports sockets

    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None
