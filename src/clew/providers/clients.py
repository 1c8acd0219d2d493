"""Open models by name (``anthropic/claude-sonnet-4-5``) or with a client of a vendor's SDK.

The SDKs are imported when a model is opened. Requests are sent with the SDK's own ``post``, so that the body
is sent exactly as it was built; timeouts and retries are clew's, the SDK's are turned off.
"""

# ruff: noqa: ANN401  # the SDKs' clients have the same methods, and no type in common

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from clew.errors import InputError, MissingExtra, ModelFailed, ModelRefused, ModelTimeout
from clew.message import JsonObject
from clew.providers.api import (
    Api,
    connection_error,
    connection_errors,
    error_for_response,
    safe_cause,
    sdk_error,
    without_keys,
)
from clew.providers.model import AsyncModel, Model
from clew.providers.remote import PATIENCE, AsyncRemoteModel, Patience, RemoteModel
from clew.tokens import model_named

if TYPE_CHECKING:
    import anthropic
    import openai

    from clew.providers.scripted import ScriptedModel

ApiName: TypeAlias = Literal["anthropic", "openai", "openai-chat"]
"""``openai`` is the Responses API, ``openai-chat`` Chat Completions."""

KEY_VARIABLE = "CLEW_MODEL_KEY"
"""The environment variable with the key for a custom base URL."""

NO_KEY = "clew-has-no-key"
"""Sent if there is no key, because the SDKs require one."""

# anthropic/claude-sonnet-4-5, openai-chat/llama-3@http://localhost:8080/v1
_NAME = re.compile(r"(?P<api>anthropic|openai-chat|openai)/(?P<model>[^/].*?)(?:@(?P<url>https?://.+))?")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name."""

    api: ApiName
    model: str
    base_url: str | None = None

    @classmethod
    def parse(cls, name: str) -> ModelName:
        """Parse ``API/MODEL`` or ``API/MODEL@URL``."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise InputError(
                f"no model is named {name!r}; write anthropic/MODEL, openai/MODEL or openai-chat/MODEL, "
                "followed by @URL for a server of your own"
            )
        return cls(cast(ApiName, match["api"]), match["model"], match["url"])

    def key(self, text: str | None) -> str | None:
        """Return the key to use; None means the SDK reads the provider's own environment variable.

        A provider's key from the environment is never sent to a custom base URL.
        """
        if text is not None or self.base_url is None:
            return text
        return os.environ.get(KEY_VARIABLE, NO_KEY)


# By name -----------------------------------------------------------------------------------------------


def open_model(
    name: str,
    *,
    key: str | None = None,
    client: anthropic.Anthropic | openai.OpenAI | None = None,
    window_tokens: int | None = None,
    patience: Patience = PATIENCE,
) -> Model:
    """Return the model with this name. Nothing is sent until it is asked.

    The model ``scripted`` needs no network: it answers with quotes of the messages it is shown. A client of
    the vendor's SDK is used with its key, base URL, headers and cloud; ``patience`` sets timeout and retries.
    """
    if name == "scripted":
        return _quoting_model()
    model_name = ModelName.parse(name)
    line = client or _sdk(model_name.api).client(model_name.key(key), model_name.base_url)
    return _remote(model_name.api, model_name.model, line, window_tokens, patience)


def open_async_model(
    name: str, *, key: str | None = None, window_tokens: int | None = None, patience: Patience = PATIENCE
) -> AsyncModel:
    """Like ``open_model``, but returns an async model."""
    if name == "scripted":
        from clew.providers.scripted import AsyncScriptedModel

        return AsyncScriptedModel(_quoting_model())
    model_name = ModelName.parse(name)
    client = _sdk(model_name.api).client(model_name.key(key), model_name.base_url, "Async")
    return _async_remote(model_name.api, model_name.model, client, window_tokens, patience)


def _quoting_model() -> ScriptedModel:
    """Return the offline model. Its answers come from ``clew.testing``, which reads summary prompts."""
    from clew.providers.scripted import ScriptedModel

    return ScriptedModel.always(import_module("clew.testing").extractive)


# Through an SDK -----------------------------------------------------------------------------------------


def _remote(
    name: ApiName, model: str, client: Any, window_tokens: int | None, patience: Patience
) -> RemoteModel:
    """Return a model that is called through the vendor's SDK."""
    sdk, line = _sdk(name), client.with_options(timeout=patience.timeout_seconds, max_retries=0)
    api = _api(name, model, line)

    def post(body: JsonObject) -> str:
        with sdk.translated(line.api_key):
            return str(line.post(api.path, body=body, cast_to=str))

    def events(body: JsonObject) -> Iterator[JsonObject]:
        streaming = {"stream": True, "stream_cls": sdk.module.Stream[object]}
        with (
            sdk.translated(line.api_key),
            line.post(api.path, body=body, cast_to=object, **streaming) as stream,
        ):
            yield from (event for event in stream if isinstance(event, dict))

    window = window_tokens or model_named(model).window_tokens
    return RemoteModel(f"{name}/{model}", window, api, post, events, line.close, patience)


def _async_remote(
    name: ApiName, model: str, client: Any, window_tokens: int | None, patience: Patience
) -> AsyncRemoteModel:
    sdk, line = _sdk(name), client.with_options(timeout=patience.timeout_seconds, max_retries=0)
    api = _api(name, model, line)

    async def post(body: JsonObject) -> str:
        with sdk.translated(line.api_key):
            return str(await line.post(api.path, body=body, cast_to=str))

    window = window_tokens or model_named(model).window_tokens
    return AsyncRemoteModel(f"{name}/{model}", window, api, post, line.close, patience)


def _api(name: ApiName, model: str, client: Any) -> Api:
    match name:
        case "anthropic":
            from clew.providers.anthropic.client import AnthropicMessages

            return AnthropicMessages(model)
        case "openai":
            from clew.providers.openai_responses.client import OpenaiResponses

            return OpenaiResponses(model)
        case "openai-chat":
            from clew.providers.openai_chat.client import OpenaiChat

            own = client.base_url.host.endswith(("openai.com", "openai.azure.com"))
            return OpenaiChat(model) if own else OpenaiChat(model, limit_field="max_tokens")


# The SDKs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sdk:
    """A vendor's SDK: both have the same names but for the client classes and the error for a missing key."""

    module: Any
    client_class: str
    no_key: tuple[type[Exception], ...]

    def client(self, key: str | None = None, base_url: str | None = None, kind: str = "") -> Any:
        """Return a client, or its ``Async`` kind; the SDK reads a missing key or URL from the environment."""
        with self.translated(key):
            return getattr(self.module, f"{kind}{self.client_class}")(api_key=key, base_url=base_url)

    @contextmanager
    def translated(self, key: str | None) -> Iterator[None]:
        """Translate the SDK's errors to clew's."""
        try:
            yield
        except self.module.APITimeoutError as cause:
            raise ModelTimeout("no answer in time") from cause
        except self.module.APIStatusError as cause:
            error = error_for_response(cause.status_code, cause.response.headers, cause.body, key)
            raise error from safe_cause(cause, key)
        except self.module.APIError as cause:
            raise ModelFailed(without_keys(str(cause), key)) from cause
        except connection_errors() as cause:  # in the middle of a stream
            raise connection_error(cause) from cause
        except self.no_key as cause:
            raise ModelRefused(without_keys(str(cause), key)) from cause
        except Exception as cause:  # noqa: BLE001 - any other failure of the SDK must reach the caller as a ModelError
            raise sdk_error(cause, key) from safe_cause(cause, key)


def _sdk(api: ApiName) -> _Sdk:
    package = "anthropic" if api == "anthropic" else "openai"
    try:
        module: Any = import_module(package)
    except ImportError as cause:
        whose = "Anthropic's models need" if package == "anthropic" else _OPENAI_NEEDS
        raise MissingExtra(f"{whose} its SDK, clew[{package}]") from cause
    if package == "anthropic":
        return _Sdk(module, "Anthropic", (module.AnthropicError, TypeError))
    return _Sdk(module, "OpenAI", (module.OpenAIError,))


_OPENAI_NEEDS = "OpenAI's models, and those behind its APIs, need"
