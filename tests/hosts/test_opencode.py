from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.testing.server import ScriptedServer
from tests.hosts.real import INJECTED, RULE, Computer, SilentModel, holds, program, tool_names

pytestmark = pytest.mark.slow
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}


def computer(tmp_path: Path, server: ScriptedServer) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config" / "opencode").mkdir(parents=True)
    project.mkdir()
    loop = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{server.url}/v1", "apiKey": "none"},
        "models": {"m": {"limit": {"context": 32_000, "output": 4_000}}},
    }
    (home / ".config" / "opencode" / "opencode.json").write_text(json.dumps({"provider": {"loop": loop}}))
    return Computer(home, project, server, QUIET)


def test_a_rule_is_in_every_request_after_opencode_compacts_itself(tmp_path: Path) -> None:
    opencode = program("opencode")
    model = SilentModel(usage=lambda answer: 31_000 if answer == 3 else 1_000)
    with ScriptedServer.always(model, strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "opencode")

        def say(text: str, *more: str) -> None:  # as an argument it would be put in quotes
            here.run(opencode, "run", "-m", "loop/m", *more, given=text)

        say("Fix the parser in src/.")
        turn = next(request for request in here.requests if tool_names(request))
        assert {"clew_recall", "clew_pin"} <= tool_names(turn)
        before = len(here.requests)
        say(f"Go on. {RULE}", "--continue")  # reported as too full, so it is compacted and continued
        say("And then?", "--continue")
        spoken, summary, *after = here.requests[before:]
        assert not holds(spoken, "<clew-reminder>")
        assert holds(summary, "Copy the user's rules word for word")
        assert len(after) == 2
        assert all(holds(request, INJECTED) and not holds(request, f"Go on. {RULE}") for request in after)
