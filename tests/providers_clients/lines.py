"""Real SDKs at the end of a loopback line: the three APIs, asked sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import pytest

from clew.providers.clients import open_async_model, open_model
from clew.providers.model import Ask, Reply
from clew.providers.remote import PATIENCE, Patience
from clew.testing import ScriptedServer

KEY = "sk-test-0123456789abcdef"


class Line(NamedTuple):
    """A way to a model."""

    api: str
    model: str
    wire: str
    base: str = "/v1"
    """What stands behind the server's address in the base URL."""

    def name(self, server: ScriptedServer) -> str:
        return f"{self.api}/{self.model}@{server.url}{self.base}"


ANTHROPIC = Line("anthropic", "claude-sonnet-4-6", "anthropic", "")
CHAT = Line("openai-chat", "gpt-4o", "openai")
RESPONSES = Line("openai", "gpt-5", "responses")
LINES = (ANTHROPIC, CHAT, RESPONSES)

each_line = pytest.mark.parametrize("line", LINES, ids=lambda line: line.api)

ONCE = replace(PATIENCE, tries=1)


def ask_sync(line: Line, server: ScriptedServer, ask: Ask, patience: Patience = ONCE, slept=None) -> Reply:
    """Ask through the SDK that blocks; pauses are noted instead of taken."""
    model = open_model(line.name(server), key=KEY, patience=patience)
    with closing(model):
        return replace(model, sleep=(slept if slept is not None else []).append).ask(ask)


def ask_async(line: Line, server: ScriptedServer, ask: Ask, patience: Patience = ONCE, slept=None) -> Reply:
    """Ask through the SDK that is awaited; pauses are noted instead of taken."""

    async def sleep(seconds: float) -> None:
        (slept if slept is not None else []).append(seconds)

    async def main() -> Reply:
        model = open_async_model(line.name(server), key=KEY, patience=patience)
        try:
            return await replace(model, sleep=sleep).ask(ask)
        finally:
            await model.close()

    return asyncio.run(main())


Asking = Callable[..., Reply]
both_ways = pytest.mark.parametrize("asking", [ask_sync, ask_async], ids=["sync", "async"])
