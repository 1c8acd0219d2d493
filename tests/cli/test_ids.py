"""One grammar for session ids in every command: as tools print them, cut, with or without the tool."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from clew.cli.inputs import WORKSPACE, looks_like_id
from clew.log.store import SqliteStore
from tests.cli.homes import CLAUDE, CODEX, COPILOT, OPENCODE, Home, home

__all__ = ["home"]  # a fixture

OF_TOOLS = [
    *(CODEX, CODEX[:8], f"codex:{CODEX}", f"codex:{CODEX[:8]}", f"codex:{CODEX[:10]}…"),
    *(COPILOT, COPILOT[:8], f"copilot:{COPILOT[:8]}", f"copilot-cli:{COPILOT}"),
    *(CLAUDE, f"claude:{CLAUDE[:8]}", f"claude-code:{CLAUDE}", OPENCODE, f"opencode:{OPENCODE[:12]}"),
]


@pytest.mark.parametrize("name", OF_TOOLS)
def test_a_session_of_a_tool_is_read_by_any_form_of_its_id(home: Home, name: str):
    assert home.run("show", name)


@pytest.mark.parametrize(
    "name",
    [CODEX, CODEX[:8], f"codex:{CODEX[:8]}", f"codex:{CODEX[:10]}…", CODEX[-8:], f"codex:{CODEX[-8:]}"],
)
def test_once_imported_it_is_named_the_same_way(home: Home, name: str, tmp_path: Path):
    home.run("import", CODEX)
    assert home.run("pin", name) == f"no rule is in force in codex:{CODEX}\n"
    assert home.run("recall", "group the tool calls", "--session", name)
    assert home.run("notes", "list", "--session", name) is not None
    assert home.run("export", name, "-o", str(tmp_path / "out.clew")) == ""
    assert home.run("stats", name)


def sessions(home: Home) -> list[str]:
    with SqliteStore(home.path / ".local/share/clew/clew.db") as store:
        return [one.session for one in store.sessions(WORKSPACE)]


def chat(home: Home, monkeypatch: pytest.MonkeyPatch, name: str, status: int = 0) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO("/quit\n"))
    return home.run("chat", name, "--offline", status=status)


@pytest.mark.parametrize("name", [CODEX[:8], f"codex:{CODEX[:8]}", COPILOT, f"copilot:{COPILOT[:6]}"])
def test_a_chat_goes_on_with_the_session_that_an_id_names(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str
):
    chat(home, monkeypatch, name)
    (made,) = sessions(home)
    assert CODEX in made or COPILOT in made
    chat(home, monkeypatch, name)
    assert sessions(home) == [made]


@pytest.mark.parametrize(
    "name", ["codex:019d7379", "019d7379", "70b173ff-7b83", "ses_20b57e9a4fff", "codex:01…"]
)
def test_an_unknown_id_is_an_error_that_offers_the_nearest_and_begins_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str
):
    if name.endswith("…"):
        name = "codex:7777…"
    told = chat(home, monkeypatch, name, status=2)
    assert "no session" in told
    home.run("import", CODEX)
    before = sessions(home)
    for command in (
        ["pin"],
        ["undo"],
        ["export"],
        ["stats"],
        ["recall", "x", "--session"],
        ["chat", "--fork"],
    ):
        told = home.run(*command, name, status=2)
        assert f"there is no session '{name}' in clew's log" in told
        if name in ("codex:019d7379", "019d7379"):
            assert f"did you mean codex:{CODEX}?" in told
    assert sessions(home) == before


def test_a_name_that_a_person_chooses_begins_a_session(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Never touch legacy/.\n/quit\n"))
    home.run("chat", "demo", "--offline")
    assert sessions(home) == ["demo"]
    monkeypatch.setattr("sys.stdin", io.StringIO("Hello.\n/quit\n"))
    home.run("chat", "dem", "--offline")
    assert sorted(sessions(home)) == ["dem", "demo"]


@pytest.mark.parametrize("name", ["demo", "billing-2026", "2026", "facade", "week 3", "fix-deadbeef-bug"])
def test_what_people_call_a_session_is_no_id(name: str):
    assert not looks_like_id(name)
