"""The code of every cookbook page, with the real package."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from frameworks.drivers import DRIVERS, Run  # noqa: E402

PAGES = {
    "sdks": "anthropic",
    "langchain": "langchain.agents",
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "agents",
    "adk": "google.adk",
    "strands": "strands",
    "claude-agent-sdk": "claude_agent_sdk",
    "hermes": "agent.context_engine",
}
pytestmark = pytest.mark.filterwarnings("ignore")


def names_of(page):
    """Return what a page takes as given: a model, tools, an agent."""
    run = Run()
    if page == "langchain":
        pytest.importorskip("langchain_core")
        from langchain_core.language_models.fake_chat_models import FakeListChatModel

        return {"model": FakeListChatModel(responses=["hi"]), "tools": []}
    if page == "pydantic-ai":
        return {"model": "test"}
    if page == "adk":
        return {"agent": DRIVERS["adk"]().app(run, "none").root_agent}
    if page == "strands":
        return {"model": DRIVERS["strands"]().agent(run, "none").model, "tools": []}
    return {}


def test_every_page_is_run():
    assert {path.stem for path in (ROOT / "docs/cookbook").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a page may create files
    pytest.importorskip(PAGES[page], reason="uv run --no-default-groups --group frameworks pytest")
    text = (ROOT / f"docs/cookbook/{page}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(compile(code, page, "exec"), names_of(page))
