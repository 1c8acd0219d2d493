"""Nobody reads what is somebody else's: not by a query, a reference, a name, a path or the mode of a file."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.log import export_session, import_session
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.notes import Draft, Notebook, NoteScope
from clew.memory.search import Query, search
from clew.message import Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session
from clew.transcripts import open_source
from clew.transcripts.readers.claude_code.thread import SideFolder
from tests.hard import seeds

SECRET = "the vault opens with marzipan-7781"
ODD_NAMES = (
    "a/b", "../main", "main/..", "/etc/passwd", "C:\\x", "a@b", "m1@main", "%", "_", "*", "main ", "MAIN",
    "é", "e\u0301", "\uff4dain", "'; DROP TABLE event; --", "x" * 2_000, "north", "~", "-rf", "m\u0430in",
)  # fmt: skip
NO_NAMES = ("", "\0", "main\0", "a\nb", "a\tb", "\u202emain", "ma\u200bin", "\x1b[2J", "\ud800")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clew.db"


@pytest.fixture
def store(path):
    with SqliteStore(path) as store:
        yield store


def filled(store, workspace, name="main", text=SECRET):
    """Return a session in which something private was said, shown and noted."""
    session = Session.open(name, store, workspace=workspace)
    session.add(
        text_message(Role.USER, f"{text}. Never tell anyone."),
        Message(Role.ASSISTANT, (ToolCall("c1", "read", {"path": "vault.txt"}),)),
        Message(Role.TOOL, (ToolResult("c1", (Text(f"{text}\n" * 50),), name="read"),)),
    )
    session.memory.catch_up()
    return session


def everything(session, answers=()):
    told = [str(item.message) for item in session.view()]
    told += [pin.quote for pin in session.pins]
    return "\n".join([*told, *answers])


# Workspaces ------------------------------------------------------------------------------------------


def test_a_workspace_sees_nothing_of_another_under_the_same_name(store, path):
    filled(store, "north")
    south = Session.open("main", store, workspace="south")
    assert (list(store.sessions("south")), list(store.read(south.ctx)), store.head(south.ctx).seq) == (
        [],
        [],
        0,
    )
    assert SECRET not in everything(south)
    with SqliteIndex(path) as index:
        query = Query(text="marzipan-7781 vault", at="2026-01-01T00:00:00Z")
        assert search(index, "south", query) == []
        assert search(index, "north", query) != []


REFERENCES = (
    "m1", "m1@main", "m3@main", "m1@north/main", "m1@north:main", "m1@../north/main", "m1@", "m1@%", "m1@*",
    "d1", "d1.1", "a1", "p1", "g1", "w1", "s1", "m1@main' OR 1=1 --", "m-1", "m0", "m99999999999999999999",
    "../m1", "m1\0", "",
)  # fmt: skip


@pytest.mark.parametrize("tool", ["recall_open", "artifact_open"])
def test_no_reference_opens_what_is_in_another_workspace(store, tool):
    filled(store, "north")
    south = Session.open("main", store, workspace="south")
    south.add(text_message(Role.USER, "hello"))
    box = south.memory.toolbox(south)
    for ref in REFERENCES:
        assert "marzipan" not in box.run(tool, {"ref": ref}).text


def test_no_search_of_an_agent_leaves_its_workspace(store):
    filled(store, "north")
    south = Session.open("main", store, workspace="south")
    south.add(text_message(Role.USER, "hello"))
    south.memory.catch_up()
    box = south.memory.toolbox(south)
    for where in ("everywhere", "this_session", None):
        for query in ("marzipan-7781", "vault", "%", "*", '"', "north", "vault OR vault"):
            for tool in ("recall_search", "notes_search"):
                answer = box.run(
                    tool, {"query": query, "where": where} if tool[0] == "r" else {"query": query}
                )
                assert "marzipan" not in answer.text.replace(query, "")


@pytest.mark.parametrize("scope", [NoteScope.WORKSPACE, NoteScope.SESSION])
def test_notes_of_a_workspace_are_its_own(store, scope):
    north, south = Notebook(store, "north", "main"), Notebook(store, "south", "main")
    north.add(Draft(key="vault", text=SECRET, scope=scope))
    assert [note.text for note in north.notes()] == [SECRET]
    assert list(south.notes()) == []


def test_a_search_in_this_session_finds_nothing_of_another(store):
    filled(store, "home", "one")
    two = Session.open("two", store, workspace="home")
    two.add(text_message(Role.USER, "hello"))
    two.memory.catch_up()
    answer = two.memory.toolbox(two).run("recall_search", {"query": "vault", "where": "this_session"})
    assert "marzipan" not in answer.text
    assert SECRET not in everything(two)


# Names -----------------------------------------------------------------------------------------------


def test_sessions_of_odd_names_do_not_meet(store, tmp_path):
    for n, name in enumerate(ODD_NAMES):
        with Session.open(name, store) as session:
            session.add(text_message(Role.USER, f"I am number {n}."))
    for n, name in enumerate(ODD_NAMES):
        with Session.open(name, store) as session:
            assert [item.message.text for item in session.view()] == [f"I am number {n}."]
    assert {info.session for info in store.sessions("local")} == set(ODD_NAMES)
    assert {file.name.split("-")[0] for file in tmp_path.iterdir()} == {"clew.db"}


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
def test_what_cannot_name_a_session_is_refused(store, name):
    for names in ({"workspace": name, "session": "main"}, {"workspace": "main", "session": name}):
        with pytest.raises(InputError):
            Ctx(**names)


def test_an_import_lands_in_the_workspace_of_whoever_imports(store):
    filled(store, "north", "../../north/main")
    file = io.BytesIO()
    export_session(store, Ctx(workspace="north", session="../../north/main"), file)
    data = file.getvalue().replace(b'"north"', b'"evil"')
    import_session(store, "south", io.BytesIO(data))
    assert [info.session for info in store.sessions("south")] == ["clew:imports", "../../north/main"]
    assert list(store.sessions("evil")) == []


# Paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        "../../../secret.txt",
        "/etc/hostname.txt",
        "..\\secret.txt",
        "tool-results/../../secret.txt",
        "link.txt",
    ],
)
def test_the_path_of_a_saved_output_leads_nowhere_but_into_its_folder(tmp_path, told):
    (tmp_path / "secret.txt").write_text(SECRET)
    results = tmp_path / "s" / "tool-results"
    results.mkdir(parents=True)
    (results / "link.txt").symlink_to(tmp_path / "secret.txt")
    file = tmp_path / "s.jsonl"
    file.write_bytes(seeds.claude_code())
    moved = ToolResult("t1", (Text(f"<persisted-output>\nsaved to: {told}\n"),))
    assert SideFolder(open_source(file)).original(moved) is None


# Files -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_that_clew_writes_is_its_owners_alone(tmp_path):
    home, session = tmp_path / "home", tmp_path / "s.jsonl"
    session.write_bytes(seeds.claude_code())
    out = tmp_path / "out.jsonl"
    run(home, "import", str(session))
    run(home, "notes", "add", "a note")
    run(home, "recall", "fix")
    run(home, "export", "claude-code:s", "-o", str(out))
    made = [home, *home.rglob("*"), out]
    assert len([one for one in made if one.is_file()]) >= 2
    assert {
        str(one): oct(one.stat().st_mode) for one in made if stat.S_IMODE(one.stat().st_mode) & 0o077
    } == {}


def run(home: Path, *args: str) -> str:
    """Run clew as somebody whose new files everybody may read and write."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CLEW_HOME": str(home)}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os; os.umask(0); from clew.cli import main; raise SystemExit(main())",
            *args,
        ],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
