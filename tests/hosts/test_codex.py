from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.hosts import hook
from clew.testing.server import ScriptedServer
from tests.hosts.real import INJECTED, RULE, Computer, SilentModel, holds, program, tool_names

pytestmark = pytest.mark.slow
LONG = "Some lines of a file that I paste here. " * 3_000
"""More than Codex keeps of what the user said when it compacts."""
CONFIG = """\
model = "m"
model_provider = "loop"
model_context_window = 60000
model_auto_compact_token_limit = 40000
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


def computer(tmp_path: Path, server: ScriptedServer) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(CONFIG.format(url=server.url))
    project.mkdir()
    return Computer(home, project, server, {"OPENAI_API_KEY": "none"})


def say(here: Computer, codex: str, text: str, *resume: str) -> str:
    flags = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check")  # as if /hooks had been opened
    return here.run(codex, "exec", *resume, *flags, text)


def test_a_rule_is_in_every_request_after_codex_compacts_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = program("codex")
    model = SilentModel(usage=lambda answer: 45_000 if answer == 3 else 1_000)
    with ScriptedServer.always(model, strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "codex")
        again = ("resume", "--last")
        say(here, codex, "Fix the parser in src/.")
        names = tool_names(here.requests[0])
        assert any("recall" in name for name in names) or holds(here.requests[0], "mcp__clew"), names
        say(here, codex, f"Go on. {RULE}", *again)
        say(here, codex, LONG, *again)
        before = len(here.requests)
        say(here, codex, "And now?", *again)
        say(here, codex, "And then?", *again)
        summary, *after = here.requests[before:]
        assert holds(summary, "CONTEXT CHECKPOINT")
        assert len(after) == 2
        assert all(holds(request, INJECTED) for request in after)
        assert "the summary left out 1 rule" in shown_to_the_person(here, monkeypatch)


def shown_to_the_person(here: Computer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the line for the person that Codex was given; `codex exec` does not print it."""
    monkeypatch.setenv("CLEW_HOME", str(here.home / "clew"))
    (path,) = here.home.rglob("rollout-*.jsonl")
    event = {"hook_event_name": "SessionStart", "source": "compact", "transcript_path": str(path)}
    event |= {"session_id": path.stem[-36:], "cwd": str(here.project)}
    return str(json.loads(hook.answer("codex", event))["systemMessage"])


def test_an_untrusted_hook_is_skipped_and_doctor_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("codex")
    with ScriptedServer.always(SilentModel(), strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "codex")
        with pytest.raises(AssertionError):
            here.clew("doctor")
        assert "not trusted yet: open /hooks" in capsys.readouterr().out


def test_removing_it_restores_every_file(tmp_path: Path) -> None:
    codex = program("codex")
    with ScriptedServer.always(SilentModel(), strict=False) as server:
        here = computer(tmp_path, server)
        before = {name: data for name, data in here.files().items() if name.endswith(("toml", "json"))}
        here.clew("install", "codex")
        say(here, codex, "Hello.")
        here.clew("uninstall", "codex")
        after = here.files()
        assert {name: after.get(name) for name in before} == before
        assert not any(name.endswith("hooks.json") for name in after)
