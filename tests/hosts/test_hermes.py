from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from clew.hosts import hook
from clew.providers import WIRES
from clew.testing.server import ScriptedServer
from tests.hosts.real import RULE, Computer, SilentModel, holds

CONFIG = """\
model:
  provider: custom
  default: m
  base_url: {url}/v1
  api_key: none
  context_length: 64000
context:
  engine: clew
plugins:
  enabled:
    - clew
"""
LONG = "Some lines of a file that I paste here. " * 2_500


def hermes() -> str:
    path = Path(os.environ.get("CLEW_HOSTS", "/nowhere")) / "hermes" / "bin" / "hermes"
    if not path.exists():
        pytest.skip("CLEW_HOSTS has no virtual environment `hermes` with hermes-agent in it")
    return str(path)


@pytest.mark.slow
def test_clew_compacts_and_no_model_is_asked(tmp_path: Path) -> None:
    command = hermes()
    model = SilentModel(usage=lambda answer: 50_000 if answer == 4 else 1_000)
    with ScriptedServer.always(model, strict=False) as server:
        home, project = tmp_path / "home", tmp_path / "project"
        (home / ".hermes").mkdir(parents=True)
        project.mkdir()
        (home / ".hermes" / "config.yaml").write_text(CONFIG.format(url=server.url))
        here = Computer(
            home, project, server, {"HERMES_HOME": str(home / ".hermes"), "OPENAI_API_KEY": "none"}
        )
        here.clew("install", "hermes")
        turns = [
            "Fix the parser in src/.",
            f"Go on. {RULE}",
            *(f"Part {n}. {LONG}" for n in range(5)),
            "And now?",
        ]
        for number, text in enumerate(turns):
            more = ("--continue",) if number else ()
            here.run(command, "chat", "-Q", *more, "-q", text)
        assert len(here.requests) == len(turns)  # none of them for a summary
        assert len(here.requests[-1].raw) < len(here.requests[2].raw) + len(LONG)
        assert any(holds(here.requests[-1], mark) for mark in ("<clew-digest", "[… "))
        assert all(holds(request, RULE) for request in here.requests[1:])


def test_a_list_is_compacted_and_stays_one_that_the_api_takes(home: Path) -> None:
    messages = [{"role": "user", "content": f"Fix the parser. {RULE}"}]
    for n in range(40):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages += [  # type: ignore[list-item]
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": LONG[:2_000]},
        ]
    event = {"hook_event_name": "compress", "messages": messages, "target_tokens": 3_000}
    compacted = json.loads(hook.answer("hermes", event))["messages"]
    assert len(json.dumps(compacted)) * 4 < len(json.dumps(messages))
    assert RULE in json.dumps(compacted)
    assert not WIRES["openai"].check({"model": "m", "messages": compacted}).refused
