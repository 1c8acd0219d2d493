"""Anthropic's models through Anthropic's SDK; translates the SDK's errors to clew's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import MissingExtra, ModelFailed, ModelRefused, ModelTimeout
from clew.message import JsonObject
from clew.providers.clients.anthropic_messages import AnthropicMessages
from clew.providers.clients.exchange import PATIENCE, Patience
from clew.providers.clients.failures import (
    broken_line,
    failure,
    line_errors,
    printable,
    untyped,
    without_keys,
)
from clew.providers.clients.remote import AsyncRemoteModel, RemoteModel
from clew.tokens import model_named

try:
    import anthropic
except ImportError as cause:
    raise MissingExtra("Anthropic's models need its SDK, clew[anthropic]") from cause


def anthropic_model(
    model: str,
    client: anthropic.Anthropic | None = None,
    *,
    window_tokens: int | None = None,
    patience: Patience = PATIENCE,
) -> RemoteModel:
    """Return a model that uses this SDK client, with the client's key, base URL, headers and cloud.

    Without a client the SDK makes one from the environment. ``patience`` sets timeout and retries; the
    client's own settings for them are not used.
    """
    api = AnthropicMessages(model)
    line = (client or new_client()).with_options(timeout=patience.timeout_seconds, max_retries=0)

    def post(body: JsonObject) -> str:
        with _translated(line.api_key):
            return line.post(api.path, body=body, cast_to=str)

    def events(body: JsonObject) -> Iterator[JsonObject]:
        with (
            _translated(line.api_key),
            line.post(
                api.path, body=body, cast_to=object, stream=True, stream_cls=anthropic.Stream[object]
            ) as stream,
        ):
            yield from (event for event in stream if isinstance(event, dict))

    window = window_tokens or model_named(model).window_tokens
    return RemoteModel(f"anthropic/{model}", window, api, post, events, line.close, patience)


def async_anthropic_model(
    model: str,
    client: anthropic.AsyncAnthropic | None = None,
    *,
    window_tokens: int | None = None,
    patience: Patience = PATIENCE,
) -> AsyncRemoteModel:
    """Like ``anthropic_model``, for an async client."""
    api = AnthropicMessages(model)
    line = (client or new_async_client()).with_options(timeout=patience.timeout_seconds, max_retries=0)

    async def post(body: JsonObject) -> str:
        with _translated(line.api_key):
            return await line.post(api.path, body=body, cast_to=str)

    window = window_tokens or model_named(model).window_tokens
    return AsyncRemoteModel(f"anthropic/{model}", window, api, post, line.close, patience)


def new_client(key: str | None = None, base_url: str | None = None) -> anthropic.Anthropic:
    """Return an SDK client; a missing key or URL is taken from the environment by the SDK."""
    with _translated(key):
        return anthropic.Anthropic(api_key=key, base_url=base_url)


def new_async_client(key: str | None = None, base_url: str | None = None) -> anthropic.AsyncAnthropic:
    """Return an async SDK client; a missing key or URL is taken from the environment by the SDK."""
    with _translated(key):
        return anthropic.AsyncAnthropic(api_key=key, base_url=base_url)


@contextmanager
def _translated(key: str | None) -> Iterator[None]:
    """Translate the SDK's errors to clew's."""
    try:
        yield
    except anthropic.APITimeoutError as cause:
        raise ModelTimeout("no answer in time") from cause
    except anthropic.APIStatusError as cause:
        error = failure(cause.status_code, cause.response.headers, cause.body, key)
        raise error from printable(cause, key)
    except anthropic.APIError as cause:
        raise ModelFailed(without_keys(str(cause), key)) from cause
    except line_errors() as cause:  # in the middle of a stream
        raise broken_line(cause) from cause
    except (anthropic.AnthropicError, TypeError) as cause:  # raised by this SDK if it has no key
        raise ModelRefused(without_keys(str(cause), key)) from cause
    except Exception as cause:  # noqa: BLE001 - any other failure of the SDK must reach the caller as a ModelError
        raise untyped(cause, key) from printable(cause, key)
