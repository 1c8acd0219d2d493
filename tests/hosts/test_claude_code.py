from __future__ import annotations

from pathlib import Path

import pytest

from clew.testing.server import ReceivedRequest, ScriptedServer
from tests.hosts.real import INJECTED, RULE, TOO_LONG, Computer, SilentModel, holds, program, tool_names

pytestmark = pytest.mark.slow
LONG = f"Fix the parser. {'Some lines of a file. ' * 40} {TOO_LONG}"
QUIET = {
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


def computer(tmp_path: Path, server: ScriptedServer) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    return Computer(home, project, server, {**QUIET, "ANTHROPIC_BASE_URL": server.url})


def offers(request: ReceivedRequest, tool: str) -> bool:
    """Whether a request offers a tool: with its schema, or by name for `ToolSearch` to load."""
    return tool in tool_names(request) or ("ToolSearch" in tool_names(request) and holds(request, tool))


def test_a_rule_is_in_every_request_after_a_compaction_that_dropped_it(tmp_path: Path) -> None:
    claude = program("claude")
    with ScriptedServer.always(SilentModel(), strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "claude-code")

        def say(text: str, *more: str) -> str:
            return here.run(claude, "-p", text, *more, "--model", "claude-sonnet-4-5")

        say("Fix the parser in src/.")
        assert all(offers(here.requests[0], f"mcp__plugin_clew_clew__{name}") for name in ("recall", "pin"))
        say(f"Go on. {RULE}", "--continue")
        before = len(here.requests)
        told = say("/compact", "--continue")
        summaries = here.requests[before:]  # asked for again if no <summary> came
        assert summaries
        assert all(holds(one, "Copy the user's rules word for word") for one in summaries)
        before += len(summaries)
        for text in ("Go on.", "And then?"):
            say(text, "--continue")
        after = here.requests[before:]
        assert len(after) == 2
        assert all(holds(request, INJECTED) for request in after)
        assert all(holds(request, "the summary left out 1 rule") for request in after), told


def test_a_rule_survives_the_compaction_that_an_overflow_forces(tmp_path: Path) -> None:
    claude = program("claude")
    with ScriptedServer.always(SilentModel(full_after=2), strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "claude-code")
        for text, more in ((LONG, ()), (f"Go on. {RULE}", ("--continue",))):
            here.run(claude, "-p", text, *more, "--model", "claude-sonnet-4-5")
        before = len(here.requests)
        here.run(claude, "-p", "What is next?", "--continue", "--model", "claude-sonnet-4-5")
        here.run(claude, "-p", "And then?", "--continue", "--model", "claude-sonnet-4-5")
        refused, summary, *after = here.requests[before:]
        assert holds(refused, TOO_LONG)
        assert holds(summary, "Copy the user's rules word for word")
        if holds(after[0], TOO_LONG):  # asked for again, because no <summary> came
            assert holds(after.pop(0), "Copy the user's rules word for word")
        assert len(after) == 2
        assert all(holds(one, INJECTED) and not holds(one, TOO_LONG) for one in after)


def test_removing_it_restores_every_file(tmp_path: Path) -> None:
    claude = program("claude")
    with ScriptedServer.always(SilentModel(), strict=False) as server:
        here = computer(tmp_path, server)
        here.run(claude, "-p", "Hello.", "--model", "claude-sonnet-4-5")
        before = here.files()
        here.clew("install", "claude-code")
        assert here.files() != before
        here.clew("uninstall", "claude-code")
        assert here.files() == before
