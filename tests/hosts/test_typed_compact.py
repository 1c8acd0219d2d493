"""``/compact`` typed by a person in the terminal interface of a host, whose model summarises nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clew.testing.server import ScriptedServer
from tests.hosts import test_codex, test_gemini, test_opencode, test_pi
from tests.hosts.gemini_server import GeminiServer
from tests.hosts.real import INJECTED, RULE, SILENT, Computer, SilentModel, program
from tests.hosts.terminal import Terminal

pytestmark = pytest.mark.slow
SETTLE = 4.0
"""Seconds that a host needs after a reply before it takes the next line."""


@dataclass(frozen=True)
class Typing:
    """How a person uses a host."""

    words: tuple[str, ...]
    computer: Callable[[Path, Any], Computer]
    ready: str
    """What it shows when a line can be typed, without white space."""
    command: str = "/compact"
    tool: str = "recall"
    """A tool of clew's, as its requests name it."""
    kept: str = INJECTED
    """What each request after the compaction holds."""


HOSTS = {
    "codex": Typing(
        ("codex", "--dangerously-bypass-hook-trust"), test_codex.computer, "forshortcuts", tool="mcp__clew"
    ),
    "gemini": Typing(
        ("gemini", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"), test_gemini.computer,
        "Typeyourmessage", "/compress", "mcp_clew_recall",
    ),
    "opencode": Typing(
        ("opencode", "-m", "loop/m"), test_opencode.computer, "Askanything", tool="clew_recall"
    ),
    "pi": Typing(
        ("pi", "--provider", "loop", "--model", "m"), test_pi.computer, "0.0%/64k",
        kept="The conversation, word for word:",
    ),
}  # fmt: skip


def holds(body: dict[str, Any], words: str) -> bool:
    return json.dumps(words, ensure_ascii=False)[1:-1] in json.dumps(body, ensure_ascii=False)


def turns(server: ScriptedServer | GeminiServer) -> list[dict[str, Any]]:
    """Return the requests of the conversation itself; those for titles and summaries offer no tools."""
    bodies = server.bodies if isinstance(server, GeminiServer) else [one.body for one in server.requests]
    return [body for body in bodies if body.get("tools")]


@pytest.mark.parametrize("name", HOSTS)
def test_a_rule_is_in_every_request_after_a_typed_compact(name: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    words = (program(host.words[0]), *host.words[1:])
    silent = GeminiServer(lambda _: SILENT) if name == "gemini" else None
    with silent or ScriptedServer.always(SilentModel(), strict=False) as server:
        here = host.computer(tmp_path, server)
        before = here.files()
        here.clew("install", name)
        installed = here.files()
        with Terminal(words, here.project, here.env) as terminal:

            def say(text: str) -> None:
                terminal.type(text)
                terminal.wait(lambda: any(holds(body, text) for body in turns(server)))
                time.sleep(SETTLE)

            terminal.wait(lambda: host.ready in terminal.text)
            time.sleep(SETTLE)
            say("Fix the parser in src/.")
            assert holds(turns(server)[0], host.tool)
            say(f"Go on. {RULE}")
            assert not any(holds(body, host.kept) for body in turns(server))
            terminal.type(host.command)
            time.sleep(3 * SETTLE)
            count = len(turns(server))
            say("And now?")
            say("And then?")
            after = turns(server)[count:]
        assert len(after) == 2
        assert all(holds(body, RULE) and holds(body, host.kept) for body in after)
        expected = here.files()
        for path in installed:
            if path not in before:
                del expected[path]
            elif installed[path] != before[path]:
                expected[path] = before[path]
        here.clew("uninstall", name)
        assert here.files() == expected
