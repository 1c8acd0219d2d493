"""OpenAI's models and compatible servers through OpenAI's SDK; translates the SDK's errors to clew's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from clew.errors import MissingExtra, ModelFailed, ModelRefused, ModelTimeout
from clew.message import JsonObject
from clew.providers.clients.api import Api
from clew.providers.clients.exchange import PATIENCE, Patience
from clew.providers.clients.failures import (
    broken_line,
    failure,
    line_errors,
    printable,
    untyped,
    without_keys,
)
from clew.providers.clients.openai_chat import OpenaiChat
from clew.providers.clients.openai_responses import OpenaiResponses
from clew.providers.clients.remote import AsyncRemoteModel, RemoteModel
from clew.tokens import model_named

try:
    import openai
except ImportError as cause:
    raise MissingExtra("OpenAI's models, and those behind its APIs, need its SDK, clew[openai]") from cause

ApiName: TypeAlias = Literal["openai", "openai-chat"]
"""``openai`` is the Responses API, ``openai-chat`` Chat Completions."""


def openai_model(
    model: str,
    client: openai.OpenAI | None = None,
    *,
    api: ApiName = "openai",
    window_tokens: int | None = None,
    patience: Patience = PATIENCE,
) -> RemoteModel:
    """Return a model that uses this SDK client, with the client's key, base URL, headers and cloud.

    Without a client the SDK makes one from the environment. ``patience`` sets timeout and retries; the
    client's own settings for them are not used.
    """
    line = (client or new_client()).with_options(timeout=patience.timeout_seconds, max_retries=0)
    spoken = _api(api, model, line)

    def post(body: JsonObject) -> str:
        with _translated(line.api_key):
            return line.post(spoken.path, body=body, cast_to=str)

    def events(body: JsonObject) -> Iterator[JsonObject]:
        with (
            _translated(line.api_key),
            line.post(
                spoken.path, body=body, cast_to=object, stream=True, stream_cls=openai.Stream[object]
            ) as stream,
        ):
            yield from (event for event in stream if isinstance(event, dict))

    window = window_tokens or model_named(model).window_tokens
    return RemoteModel(f"{api}/{model}", window, spoken, post, events, line.close, patience)


def async_openai_model(
    model: str,
    client: openai.AsyncOpenAI | None = None,
    *,
    api: ApiName = "openai",
    window_tokens: int | None = None,
    patience: Patience = PATIENCE,
) -> AsyncRemoteModel:
    """Like ``openai_model``, for an async client."""
    line = (client or new_async_client()).with_options(timeout=patience.timeout_seconds, max_retries=0)
    spoken = _api(api, model, line)

    async def post(body: JsonObject) -> str:
        with _translated(line.api_key):
            return await line.post(spoken.path, body=body, cast_to=str)

    window = window_tokens or model_named(model).window_tokens
    return AsyncRemoteModel(f"{api}/{model}", window, spoken, post, line.close, patience)


def _api(name: ApiName, model: str, client: openai.OpenAI | openai.AsyncOpenAI) -> Api:
    if name == "openai":
        return OpenaiResponses(model)
    own = client.base_url.host.endswith(("openai.com", "openai.azure.com"))
    return OpenaiChat(model) if own else OpenaiChat(model, limit_field="max_tokens")


def new_client(key: str | None = None, base_url: str | None = None) -> openai.OpenAI:
    """Return an SDK client; a missing key or URL is taken from the environment by the SDK."""
    with _translated(key):
        return openai.OpenAI(api_key=key, base_url=base_url)


def new_async_client(key: str | None = None, base_url: str | None = None) -> openai.AsyncOpenAI:
    """Return an async SDK client; a missing key or URL is taken from the environment by the SDK."""
    with _translated(key):
        return openai.AsyncOpenAI(api_key=key, base_url=base_url)


@contextmanager
def _translated(key: str | None) -> Iterator[None]:
    """Translate the SDK's errors to clew's."""
    try:
        yield
    except openai.APITimeoutError as cause:
        raise ModelTimeout("no answer in time") from cause
    except openai.APIStatusError as cause:
        error = failure(cause.status_code, cause.response.headers, cause.body, key)
        raise error from printable(cause, key)
    except openai.APIError as cause:
        raise ModelFailed(without_keys(str(cause), key)) from cause
    except line_errors() as cause:  # in the middle of a stream
        raise broken_line(cause) from cause
    except openai.OpenAIError as cause:  # raised by this SDK if it has no key
        raise ModelRefused(without_keys(str(cause), key)) from cause
    except Exception as cause:  # noqa: BLE001 - any other failure of the SDK must reach the caller as a ModelError
        raise untyped(cause, key) from printable(cause, key)
