from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.testing.server import ScriptedServer
from tests.hosts.real import RULE, Computer, SilentModel, holds, program, tool_names

pytestmark = pytest.mark.slow
LONG = "Some lines of a file that I paste here. " * 3_000
"""More than the 20,000 tokens that pi keeps as they are."""


def computer(tmp_path: Path, server: ScriptedServer) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".pi" / "agent").mkdir(parents=True)
    project.mkdir()
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "cost": cost}
    model |= {"contextWindow": 64_000, "maxTokens": 4_000}
    loop = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    (home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"loop": loop}}))
    return Computer(
        home, project, server, {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
    )


def say(here: Computer, pi: str, text: str, *more: str) -> str:
    return here.run(pi, "--provider", "loop", "--model", "m", *more, "-p", text)


def test_clews_digest_is_the_compaction_and_no_model_is_asked(tmp_path: Path) -> None:
    pi = program("pi")
    model = SilentModel(usage=lambda answer: 63_000 if answer == 4 else 1_000)
    with ScriptedServer.always(model, strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "pi")
        say(here, pi, "Fix the parser in src/.")
        assert {"recall", "expand", "rules", "progress"} <= tool_names(here.requests[0])
        say(here, pi, f"Go on. {RULE}", "--continue")
        say(here, pi, LONG, "--continue")
        say(here, pi, f"Once more. {LONG}", "--continue")
        for text in ("And now?", "And then?"):
            say(here, pi, text, "--continue")
        assert len(here.requests) == 6  # one for each turn, none for a summary
        after = here.requests[4:]
        assert all(holds(request, "The conversation, shortened:") for request in after)
        assert all(holds(request, RULE) for request in after)
        assert all(request.raw.decode().count(LONG[:-1]) == 1 for request in after)  # the one that pi keeps


def test_pi_goes_on_by_itself_if_clew_is_gone(tmp_path: Path) -> None:
    pi = program("pi")
    model = SilentModel(usage=lambda answer: 63_000 if answer == 3 else 1_000)
    with ScriptedServer.always(model, strict=False) as server:
        here = computer(tmp_path, server)
        here.clew("install", "pi")
        extension = here.home / ".pi" / "agent" / "extensions" / "clew.ts"
        text = extension.read_text()
        start = text.index("const CLEW = ")
        extension.write_text(
            f'{text[:start]}const CLEW = ["/nowhere/clew"];{text[text.index(";", start) + 1 :]}'
        )
        say(here, pi, f"Fix the parser in src/. {RULE}")
        say(here, pi, LONG, "--continue")
        say(here, pi, f"Once more. {LONG}", "--continue")
        say(here, pi, "And now?", "--continue")
        assert len(here.requests) > 4  # pi asked for its own summary
        assert any(holds(request, "<conversation>") for request in here.requests)
