"""Claude Code and Codex from npm behind the proxy, with a scripted model on this computer."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.cli.agents import arguments
from clew.testing.server import ScriptedServer
from tests.hosts.real import RULE, Computer, SilentModel, holds, program
from tests.hosts.test_claude_code import QUIET
from tests.hosts.test_codex import CONFIG
from tests.hosts.test_codex import LONG as LONG_TASK
from tests.proxy.agent_loop import run_agent
from tests.proxy.test_pass_through import home, proxy_to  # noqa: F401  # a fixture

pytestmark = pytest.mark.slow


def computer(tmp_path: Path, server: ScriptedServer, **extra: str) -> Computer:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Computer(tmp_path / "home", tmp_path / "project", server, extra)


def test_claude_code_continues_from_clews_digest(tmp_path: Path) -> None:
    claude = program("claude")
    with (
        ScriptedServer.always(SilentModel(), strict=False) as server,
        proxy_to(server.url).running() as proxy,
    ):
        here = computer(tmp_path, server, **QUIET, ANTHROPIC_BASE_URL=proxy.url)

        def say(text: str, *more: str) -> str:
            return here.run(claude, "-p", text, *more, "--model", "claude-sonnet-4-5", seconds=300)

        say(f"Fix the parser in src/. {RULE}")
        say("The port is 8123. Go on.", "--continue")
        before = len(here.requests)
        say("/compact", "--continue")
        assert proxy.stats["answered"] == 1
        assert len(here.requests) == before  # no model was asked
        say("What is next?", "--continue")
        later = here.requests[before:]
        assert later
        assert all(holds(one, RULE) and holds(one, "(clew session proxy-") for one in later)
        assert not any(one.check().refused for one in later)
        say("/compact", "--continue")
        say("And then?", "--continue")
        assert proxy.stats["answered"] == 2
        assert holds(here.requests[-1], RULE)
        assert holds(here.requests[-1], ", digest d")
    assert proxy.stats["failed_open"] == 0


def test_codex_continues_from_clews_digest(tmp_path: Path) -> None:
    codex = program("codex")
    model = SilentModel(usage=lambda answer: 45_000 if answer == 2 else 1_000)
    with ScriptedServer.always(model, strict=False) as server, proxy_to(server.url).running() as proxy:
        here = computer(tmp_path, server, OPENAI_API_KEY="none")
        (here.home / ".codex").mkdir()
        (here.home / ".codex" / "config.toml").write_text(CONFIG.format(url=proxy.url))

        def say(text: str, *resume: str) -> str:
            return here.run(codex, "exec", *resume, "--skip-git-repo-check", text, seconds=300)

        say(f"Fix the parser in src/. {RULE}")
        say(LONG_TASK, "resume", "--last")
        before = len(here.requests)
        say("What is next?", "resume", "--last")
        assert proxy.stats["answered"] >= 1
        later = here.requests[before:]
        assert later
        assert all(holds(one, RULE) and holds(one, "(clew session proxy-") for one in later)
    assert proxy.stats["failed_open"] == 0


def test_codex_with_openais_own_api_compacts_through_clew(tmp_path: Path) -> None:
    codex = program("codex")
    model = SilentModel(usage=lambda answer: 45_000 if answer == 2 else 1_000)
    with ScriptedServer.always(model, strict=False) as server, proxy_to(server.url).running() as proxy:
        here = computer(tmp_path, server)
        (here.home / ".codex").mkdir()
        settings = "model_auto_compact_token_limit = 40000\ncheck_for_update_on_startup = false\n"
        (here.home / ".codex" / "config.toml").write_text(settings)
        here.run(codex, "login", "--with-api-key", given="sk-none\n")

        def say(text: str, *resume: str) -> str:
            words = arguments(proxy.url, [codex, "exec", *resume, "--skip-git-repo-check", text])
            return here.run(*words, seconds=300)

        said = say(f"Fix the parser in src/. {RULE}")
        assert "Reconnecting" not in said  # a WebSocket is refused so that Codex uses HTTP at once
        say(LONG_TASK, "resume", "--last")
        before = len(here.requests)
        say("What is next?", "resume", "--last")
        assert proxy.stats["answered"] == 1
        later = here.requests[before:]
        assert later
        assert all(holds(one, RULE) and holds(one, "(clew session proxy-") for one in later)
        assert not any(holds(one, "clew1.") or holds(one, "compaction_trigger") for one in later)
    assert proxy.stats["failed_open"] == 0


@pytest.mark.parametrize(("agent", "per_turn"), [("claude", 16), ("codex", 21), ("pi", 21)])
def test_a_long_session_costs_less_and_keeps_the_rule(tmp_path: Path, agent: str, per_turn: int) -> None:
    direct = run_agent(agent, program(agent), tmp_path / "direct", per_turn, proxy=False)
    through = run_agent(agent, program(agent), tmp_path / "proxy", per_turn, proxy=True, window=80_000)
    assert through.requests == direct.requests  # every turn ran to its end
    assert through.counts["compacted"] >= 2
    assert through.cost <= 0.75 * direct.cost
    assert (through.without_rule, through.refused, through.counts.get("failed_open", 0)) == (0, 0, 0)


def test_claude_code_at_a_full_window_gets_its_summary_from_clew(tmp_path: Path) -> None:
    claude = program("claude")
    own = run_agent("claude", claude, tmp_path / "own", 10, proxy=False, limit=60_000)
    answered = run_agent("claude", claude, tmp_path / "answered", 10, proxy=True, limit=60_000)
    assert own.without_rule > 0
    assert answered.without_rule == 0
    assert answered.counts["answered"] >= 1
    assert answered.refused == 0
