"""aider from PyPI behind ``clew proxy run``, with a scripted model on this computer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from clew.message import Role, Usage, text_message
from clew.providers.model import Ask, Reply
from clew.testing.server import ScriptedServer
from tests.hosts.real import RULE, Computer, holds

EDIT = """Here it is.

parser.py
```python
<<<<<<< SEARCH
value = 1
=======
value = 2
>>>>>>> REPLACE
```
"""
QUIET = (
    "--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--no-show-model-warnings",
    "--no-show-release-notes", "--edit-format", "diff",
)  # fmt: skip


def edit(_: Ask) -> Reply:
    return Reply(text_message(Role.ASSISTANT, EDIT), usage=Usage(input_tokens=100, output_tokens=10))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"])
def test_aider_edits_a_file_through_the_proxy(model: str, tmp_path: Path) -> None:
    aider = Path(os.environ.get("CLEW_HOSTS", "/nowhere")) / "aider" / "bin" / "aider"
    if not aider.exists():
        pytest.skip("CLEW_HOSTS has no virtual environment `aider` with aider-chat in it")
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    file = tmp_path / "project" / "parser.py"
    file.write_text("value = 1\n")
    with ScriptedServer.always(edit, strict=False) as server:
        keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        own = {"OPENAI_API_BASE": f"{server.url}/v1", "ANTHROPIC_API_BASE": server.url}
        here = Computer(tmp_path / "home", tmp_path / "project", server, keys | own)
        run = (sys.executable, "-m", "clew", "proxy", "--compact", "run", "--", str(aider))
        here.run(*run, "--model", model, *QUIET, "--message", f"Fix it. {RULE}", "parser.py", seconds=300)
    assert file.read_text() == "value = 2\n"
    assert len(here.requests) == 1
    assert holds(here.requests[0], RULE)
    assert dict(here.requests[0].headers).get("authorization") or here.requests[0].headers.get("x-api-key")
