"""What is recalled is of this session, then of its project; other projects only if asked for, and marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.chat import open_chat
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.memory import Memory
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.scope import SearchScope, project_at
from clew.message import Role, text_message
from clew.session import Session
from tests.cli.conftest import Run, clew, run_here

__all__ = ["clew"]  # a fixture

FACT = "The staging port of the kiln is {}."


@pytest.fixture
def store(tmp_path: Path):
    with SqliteStore(tmp_path / "log" / "clew.db") as store:
        for name, project, port in (
            ("first", "/home/ann/shop", 8123),
            ("second", "/home/ann/shop", 8443),
            ("other", "/home/ann/bank", 9999),
            ("unknown", None, 7777),
        ):
            session = Session.open(name, store)
            session.project = project
            session.add(text_message(Role.USER, FACT.format(port)), text_message(Role.ASSISTANT, "Noted."))
            session.add(*(text_message(Role.USER, f"Go on with step {n}.") for n in range(3)))
        with SqliteIndex(store.path) as index:
            for name in ("first", "second", "other", "unknown"):
                Memory(store, Ctx(workspace="local", session=name), index).catch_up()
        yield store


def sessions(store: SqliteStore, where: SearchScope | None = None, name: str = "first", **more) -> list[str]:
    with SqliteIndex(store.path) as index:
        memory = Memory(store, Ctx(workspace="local", session=name), index, **more)
        hits = memory.search("what is the staging port of the kiln?", limit=8, where=where)
    return [hit.entry.session for hit in hits if "kiln" in hit.entry.text]


def test_a_search_looks_into_this_session_then_its_project_and_no_further(store: SqliteStore):
    assert sessions(store) == ["first", "second"]
    assert sessions(store, name="second") == ["second", "first"]
    assert sessions(store, name="other") == ["other"]
    assert sessions(store, name="unknown") == ["unknown"]
    assert sessions(store, SearchScope.SESSION) == ["first"]
    assert set(sessions(store, SearchScope.EVERYWHERE)) == {"first", "second", "other", "unknown"}
    assert set(sessions(store, where=None, project="/home/ann/bank", name="new")) == {"other"}


def test_nothing_of_another_project_gets_into_a_request_unless_it_may_and_then_it_is_marked(
    store: SqliteStore,
):
    with SqliteIndex(store.path) as index:
        session = Session.open("new", store)
        session.project = "/home/ann/shop"
        chat = open_chat(session, index=index)
        asked = "What is the staging port of the kiln?"
        text = chat.memory.inject(asked).text
        assert "8123" in text
        assert "8443" in text
        assert "9999" not in text
        assert "7777" not in text
        chat.memory.where = SearchScope.EVERYWHERE
        lines = chat.memory.inject(asked).text.splitlines()
        (foreign,) = [line for line in lines if "9999" in line]
        assert "m1@other" in foreign
        assert "another project: /home/ann/bank" in foreign
        (unknown,) = [line for line in lines if "7777" in line]
        assert "a session of no known project" in unknown


def test_the_tool_looks_elsewhere_only_with_its_argument(store: SqliteStore):
    with SqliteIndex(store.path) as index:
        session = Session.open("new", store)
        session.project = "/home/ann/shop"
        toolset = open_chat(session, index=index).toolset
        wish = {"query": "staging port of the kiln"}
        usual = toolset.run("recall_search", wish).text
        wide = toolset.run("recall_search", {**wish, "where": "everywhere"}).text
    assert "9999" not in usual
    assert "8123" in usual
    assert "another project: /home/ann/bank" in wide


def test_the_command_line_searches_this_folder_and_others_with_all(
    clew: Run, tmp_path: Path, store: SqliteStore
):
    home = {"CLEW_HOME": str(tmp_path / "log")}
    found = clew("recall", "staging port of the kiln", "--json", **home)
    assert [hit["session"] for hit in json.loads(found.stdout)] == ["unknown"]
    everywhere = clew("recall", "staging port of the kiln", "--all", "--limit", "9", **home).stdout
    assert "another project: /home/ann/bank" in everywhere
    in_vain = clew("recall", "8443", **home)
    assert (in_vain.returncode, in_vain.stderr) == (
        1,
        f"nothing found in the sessions of {tmp_path}; --all searches the others\n",
    )


def test_a_project_is_the_folder_with_git_or_the_folder_itself(tmp_path: Path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    assert project_at(tmp_path / "repo" / "src") == str(tmp_path / "repo")
    assert project_at(tmp_path) in (str(tmp_path), *map(str, tmp_path.parents))


def test_a_session_keeps_its_project_on_record(store: SqliteStore):
    session = Session.open("first", store)
    session.project = "/home/ann/elsewhere"
    session.add(text_message(Role.USER, "Go on."))
    assert session.about["project"] == "/home/ann/shop"


def test_documents_of_this_project_and_of_none_are_found_and_others_only_with_all(tmp_path: Path):
    env = {"HOME": str(tmp_path), "CLEW_HOME": str(tmp_path / "log"), "NO_COLOR": "1"}
    roots = {name: f"{tmp_path}/{name}" for name in ("shop/docs", "bank/docs", "handbook")}
    for (name, root), port in zip(roots.items(), (8123, 9999, 8000), strict=True):
        Path(root).mkdir(parents=True)
        Path(root, "kiln.md").write_text(f"# Kiln\n\nThe staging port of the kiln is {port}.\n")
        if name.endswith("docs"):
            (Path(root).parent / ".git").mkdir()
        assert run_here(("knowledge", "index", root), env, tmp_path).returncode == 0

    def recall(*more: str) -> set[str]:
        asked = ("recall", "staging port of the kiln", "--json", *more)
        return {hit["session"] for hit in json.loads(run_here(asked, env, tmp_path / "shop").stdout)}

    assert recall() == {f"knowledge:{roots['shop/docs']}", f"knowledge:{roots['handbook']}"}
    assert f"knowledge:{roots['bank/docs']}" in recall("--all")
    with SqliteStore(tmp_path / "log" / "clew.db") as store, SqliteIndex(store.path) as index:
        session = Session.open("new", store)
        session.project = str(tmp_path / "bank")
        toolset = open_chat(session, index=index).toolset
        found = toolset.run("recall_search", {"query": "staging port of the kiln"}).text
        # Once a session ran in it, a folder without a repository is a project as well.
        desk = Session.open("desk", store)
        desk.project = roots["handbook"]
        desk.add(text_message(Role.USER, "Hello."))
        later = toolset.run("recall_search", {"query": "staging port of the kiln"}).text
    assert [port in found for port in ("9999", "8000", "8123")] == [True, True, False]
    assert [port in later for port in ("9999", "8000", "8123")] == [True, False, False]
