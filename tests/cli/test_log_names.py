"""A session of the log is named as ``clew sessions`` shows it, whole, cut or by its beginning."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from clew.chat.reports import stats_of
from clew.cli.inputs import own_name
from clew.errors import InputError
from clew.log.store import MemoryStore, SqliteStore
from clew.message import Origin, Role, text_message
from clew.session import Session
from tests.cli.conftest import Run

LONG = "claude-code:0276a600-2f22-4d2b-844c-3feb9c5aa108"


@pytest.fixture
def clew(clew: Run, tmp_path: Path) -> Run:
    """Return a clew whose log holds a chat of a plain name and a session of a long one."""
    with SqliteStore(tmp_path / "own" / "clew.db") as store:
        for name, model in (("demo", "claude-sonnet-4-5"), (LONG, "unknown")):
            session = Session.open(name, store, model=model)
            session.add(text_message(Role.USER, f"Fix the parser of {name.partition(':')[0]}."))
            session.add(text_message(Role.ASSISTANT, "I will look at it."))
    return partial(clew, CLEW_HOME=str(tmp_path / "own"))


@pytest.mark.parametrize("command", [("show",), ("map",), ("check",), ("convert", "--to", "openai")])
def test_a_name_without_a_colon_is_taken_by_every_command_that_reads(clew: Run, command: tuple[str, ...]):
    done = clew(*command, "demo")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("given", [LONG, LONG[:16], f"{LONG[:39]}…"])
@pytest.mark.parametrize("command", ["show", "trace", "stats"])
def test_the_beginning_of_a_name_will_do_and_a_cut_one_as_well(clew: Run, command: str, given: str):
    assert clew(command, given).stdout == clew(command, LONG).stdout != ""


def test_a_beginning_that_two_have_names_both():
    store = MemoryStore()
    for name in ("codex:1a", "codex:1b", "codex:2"):
        Session.open(name, store).add(text_message(Role.USER, "hi"))
    assert own_name(store, "codex:2") == own_name(store, "codex:2…") == "codex:2"
    assert own_name(store, "claude") is own_name(store, "…") is None
    with pytest.raises(InputError, match=r"give more of its name: codex:1a, codex:1b$"):
        own_name(store, "codex:1")


def test_a_name_that_begins_another_means_itself():
    store = MemoryStore()
    for name in ("demo", "demo-fork"):
        Session.open(name, store).add(text_message(Role.USER, "hi"))
    assert own_name(store, "demo") == "demo"


def test_a_session_of_the_log_is_listed_with_its_first_words_and_an_id_that_names_it(clew: Run):
    rows = {row["session"]: row for row in json.loads(clew("sessions", "--json").stdout)}
    titles = {name: row["title"] for name, row in rows.items()}
    assert titles == {"demo": "Fix the parser of demo.", LONG: "Fix the parser of claude-code."}
    assert rows["demo"]["id"] == "demo"
    assert len(rows[LONG]["id"]) == 8
    assert clew("trace", rows[LONG]["id"]).stdout == clew("trace", LONG).stdout
    assert f"{LONG}: Fix the parser of claude-code." in clew("sessions").stdout


def test_a_session_is_counted_alike_in_its_file_and_in_the_log(clew: Run, tmp_path: Path):
    messages = [{"role": "user", "content": "Fix it. " * 50}, {"role": "assistant", "content": "Done. " * 90}]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"model": "claude-sonnet-4-5", "messages": messages}))
    name = clew("import", str(path)).stdout.partition(": ")[0]
    of_file, of_log = (json.loads(clew("map", one, "--json").stdout) for one in (str(path), name))
    compacted = json.loads(clew("compact", name, "--dry-run", "--json").stdout)
    assert of_file["tokens"] == of_log["tokens"] == of_log["tokens_now"] == compacted["tokens"]["before"]
    assert sum(of_log["by_kind"].values()) == of_log["tokens"]


def test_turns_are_what_the_user_said_not_what_a_tool_put_in_their_place():
    store = MemoryStore()
    session = Session.open("demo", store)
    session.add(
        text_message(Role.USER, "Fix it."), text_message(Role.USER, "<system-reminder/>", Origin.INJECTED)
    )
    assert stats_of(session.events()).turns == 1


def test_a_session_of_the_log_is_measured_for_its_own_model(clew: Run):
    shown = json.loads(clew("map", "demo", "--json").stdout)
    assert (shown["model"], shown["window"]) == ("claude-sonnet-4-5", 200_000)


def test_a_tool_alone_names_no_session():
    store = MemoryStore()
    Session.open("codex:019a4c55-77", store).add(text_message(Role.USER, "Fix it."))
    assert [own_name(store, begins) for begins in ("c", "codex", "codex:")] == [None] * 3
    assert own_name(store, "codex:019a") == own_name(store, "019a") == "codex:019a4c55-77"


def test_a_name_too_long_for_a_file_is_no_session(clew: Run):
    assert "no session" in clew("show", "x" * 300).stderr
