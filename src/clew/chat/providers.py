"""Which model a chat talks to: the one that is named, or that there is a key for, or the offline one."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from clew.chat.offline import OFFLINE, OfflineModel
from clew.errors import InputError
from clew.providers.clients import StreamingModel, open_model
from clew.session import Session

OLLAMA = "http://127.0.0.1:11434"
"""Where Ollama listens, unless ``OLLAMA_HOST`` names another port of this computer."""
OLLAMA_SECONDS = 0.3
DEFAULTS = {"ANTHROPIC_API_KEY": "anthropic/claude-sonnet-4-5", "OPENAI_API_KEY": "openai/gpt-5"}
"""The model to talk to where there is a key and none is named."""
NO_MODEL = (OFFLINE, "offline")
"""What the offline model is called."""
_APIS = ("anthropic/", "openai/", "openai-chat/")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person said about the model."""

    model: str = ""
    base_url: str = ""
    offline: bool = False

    def name(self, env: Mapping[str, str] = os.environ) -> str:
        """Return the full name of the model to talk to; without a key and a name, the offline one's."""
        if self.offline or self.model in NO_MODEL:
            return OFFLINE
        if self.base_url:
            if not self.model:
                raise InputError("--base-url needs --model", "name the model that the server has")
            named = self.model if self.model.startswith(_APIS) else f"openai-chat/{self.model}"
            return f"{named}@{self.base_url}"
        if self.model:
            return self.model if self.model.startswith(_APIS) else _with_api(self.model)
        return next((name for key, name in DEFAULTS.items() if env.get(key)), OFFLINE)


def _with_api(model: str) -> str:
    """Put the API in front of a model's bare name."""
    return f"anthropic/{model}" if model.startswith("claude") else f"openai/{model}"


def named_model(name: str, session: Session) -> StreamingModel:
    """Return the model of a full name. Nothing is sent until it is asked."""
    if name in NO_MODEL:
        return OfflineModel(session)
    full = name if name.startswith(_APIS) else _with_api(name)
    return cast(StreamingModel, open_model(full))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nobody who would send the question elsewhere."""

    def redirect_request(self, *_given: object) -> None:
        return None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
"""Goes to this computer alone, whatever proxy the environment names."""


def local_models(env: Mapping[str, str] = os.environ, seconds: float = OLLAMA_SECONDS) -> list[str]:
    """Return the models of an Ollama on this computer; none where it does not answer at once.

    Only a loopback address is ever asked, and never through a proxy.
    """
    host = env.get("OLLAMA_HOST", "")
    port = host.rpartition(":")[2] if ":" in host else ""
    address = f"http://127.0.0.1:{port}" if port.isdecimal() else OLLAMA
    try:
        with _DIRECT.open(f"{address}/api/tags", timeout=seconds) as answer:
            listed = json.loads(answer.read(1_000_000))
        return [f"openai-chat/{one['name']}@{address}/v1" for one in listed["models"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # nobody is there, or somebody else
