"""Open a model by its name: ``anthropic/claude-sonnet-4-5``, ``openai-chat/llama3@http://127.0.0.1:11434/v1``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, TypeAlias, cast

from clew.errors import InputError
from clew.providers.clients.exchange import PATIENCE, Patience
from clew.providers.clients.scripted import AsyncScriptedModel, Line, ScriptedModel
from clew.providers.model import AsyncModel, Model

ApiName: TypeAlias = Literal["anthropic", "openai", "openai-chat"]

KEY_VARIABLE = "CLEW_MODEL_KEY"
"""The environment variable with the key for a custom base URL."""

NO_KEY = "clew-has-no-key"
"""Sent if there is no key, because the SDKs require one."""

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
        found = _NAME.fullmatch(name)
        if found is None:
            raise InputError(
                f"no model is named {name!r}; write anthropic/MODEL, openai/MODEL or openai-chat/MODEL, "
                "with @URL behind it for a server of your own"
            )
        return cls(cast(ApiName, found["api"]), found["model"], found["url"])

    def key(self, given: str | None) -> str | None:
        """Return the key to use; None means the SDK reads the provider's own environment variable.

        A provider's key from the environment is never sent to a custom base URL.
        """
        if given is not None or self.base_url is None:
            return given
        return os.environ.get(KEY_VARIABLE, NO_KEY)


def _extractive() -> Line:
    """Return the answers of the offline model; it reads summary prompts, so its room is above this one."""
    answer: Line = import_module("clew.testing.extractive").extractive
    return answer


def open_model(
    name: str, *, key: str | None = None, window_tokens: int | None = None, patience: Patience = PATIENCE
) -> Model:
    """Return the model with this name. Nothing is sent until it is asked.

    The model ``scripted`` needs no network: it answers with quotes of the messages it is shown.
    """
    if name == "scripted":
        return ScriptedModel.always(_extractive())
    named = ModelName.parse(name)
    line = (named.key(key), named.base_url)
    if named.api == "anthropic":
        from clew.providers.clients import anthropic

        client = anthropic.new_client(*line)
        return anthropic.anthropic_model(named.model, client, window_tokens=window_tokens, patience=patience)
    from clew.providers.clients import openai

    return openai.openai_model(
        named.model, openai.new_client(*line), api=named.api, window_tokens=window_tokens, patience=patience
    )


def open_async_model(
    name: str, *, key: str | None = None, window_tokens: int | None = None, patience: Patience = PATIENCE
) -> AsyncModel:
    """Like ``open_model``, but returns an async model."""
    if name == "scripted":
        return AsyncScriptedModel(ScriptedModel.always(_extractive()))
    named = ModelName.parse(name)
    line = (named.key(key), named.base_url)
    if named.api == "anthropic":
        from clew.providers.clients import anthropic

        client = anthropic.new_async_client(*line)
        return anthropic.async_anthropic_model(
            named.model, client, window_tokens=window_tokens, patience=patience
        )
    from clew.providers.clients import openai

    return openai.async_openai_model(
        named.model,
        openai.new_async_client(*line),
        api=named.api,
        window_tokens=window_tokens,
        patience=patience,
    )
