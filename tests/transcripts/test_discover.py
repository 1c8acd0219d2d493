"""The sessions on a computer: found where each tool keeps them, newest first, without reading them."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.transcripts import load
from clew.transcripts.discover import LAST_SECOND, Computer, FoundSession, file_id, find_sessions
from tests.transcripts.claude_lines import Lines


@pytest.fixture
def computer(tmp_path) -> Computer:
    home, project = tmp_path / "home", tmp_path / "project" / "inner"
    home.mkdir()
    project.mkdir(parents=True)
    return Computer(home, project, {}, "linux")


def write(path: Path, *records: dict, at: int = 1_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    os.utime(path, (at, at))
    return path


def claude(path: Path, words: str = "fix the parser", at: int = 1_000) -> Path:
    file = Lines(path.stem)
    file.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True, cwd="/p")
    file.user(words)
    return write(path, *file.records, at=at)


def test_a_session_is_found_with_its_first_words_and_its_project(computer):
    path = claude(computer.home / ".claude" / "projects" / "-p" / "s1.jsonl")
    assert list(find_sessions(computer)) == [
        FoundSession(
            "claude-code",
            path,
            path.stat().st_size,
            datetime.fromtimestamp(1_000, UTC),
            "s1",
            "fix the parser",
            "/p",
        )
    ]


def test_a_title_at_the_end_of_a_long_file_is_found(computer):
    file = Lines("s1")
    file.user("fix the parser")
    for i in range(300):
        file.says("x" * 1000, f"m{i}")
    file.note("custom-title", customTitle="The parser")
    write(computer.home / ".claude/projects/-p/s1.jsonl", *file.records)
    assert next(find_sessions(computer)).title == "The parser"


def test_sessions_come_newest_first_whatever_their_tool(computer):
    claude(computer.home / ".claude/projects/-p/old.jsonl", at=1_000)
    meta = {"timestamp": "t", "type": "session_meta", "payload": {"id": "t1", "cwd": "/q"}}
    write(computer.home / ".codex/sessions/2026/08/01/rollout-x.jsonl", meta, at=3_000)
    claude(computer.home / ".claude/projects/-p/new.jsonl", at=2_000)
    assert [found.session_id for found in find_sessions(computer)] == ["t1", "new", "old"]


def test_a_file_time_that_no_calendar_has_is_the_last_one(computer):
    path = claude(computer.home / ".claude/projects/-p/s1.jsonl", at=1_700_000_000_000)  # was meant in ms
    (found,) = find_sessions(computer)
    assert found.modified.timestamp() == min(path.stat().st_mtime, LAST_SECOND)


def test_a_sub_agents_file_and_an_empty_one_are_no_sessions(computer):
    claude(computer.home / ".claude/projects/-p/agent-a1.jsonl")
    write(computer.home / ".claude/projects/-p/s2.jsonl")
    assert list(find_sessions(computer)) == []


def test_tools_that_were_told_to_live_elsewhere_are_found_there(computer, tmp_path):
    claude(tmp_path / "c" / "projects" / "-p" / "s1.jsonl")
    write(
        tmp_path / "x" / "sessions/2026/08/01/rollout-x.jsonl",
        {"type": "session_meta", "payload": {"id": "t1"}},
    )
    elsewhere = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    moved = Computer(computer.home, computer.directory, elsewhere, "linux")
    assert {found.format for found in find_sessions(moved)} == {"claude-code", "codex"}


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, ".config/Code/User/globalStorage"),
        ("linux", {"XDG_CONFIG_HOME": "{home}/conf"}, "conf/Code/User/globalStorage"),
        ("darwin", {}, "Library/Application Support/Cursor/User/globalStorage"),
        ("win32", {"APPDATA": "{home}/roaming"}, "roaming/VSCodium/User/globalStorage"),
        ("linux", {}, ".vscode-server/data/User/globalStorage"),
    ],
)
def test_sessions_of_editor_extensions_are_found_on_every_system(platform, variables, folder, computer):
    task = computer.home / folder / "rooveterinaryinc.roo-cline" / "tasks" / "t1"
    history = [{"role": "user", "content": [{"type": "text", "text": "<task>\nfix it\n</task>"}], "ts": 1}]
    task.mkdir(parents=True)
    (task / "api_conversation_history.json").write_text(json.dumps(history))
    told = {name: value.format(home=computer.home) for name, value in variables.items()}
    (found,) = find_sessions(Computer(computer.home, computer.directory, told, platform))
    assert (found.format, found.path) == ("roo-cline", task / "api_conversation_history.json")


def test_what_a_tool_keeps_in_a_project_is_found_from_the_folders_inside_it(computer):
    history = computer.directory.parent / ".aider.chat.history.md"
    history.write_text("# aider chat started at 2026-08-01 10:00:00\n\n#### fix the parser\n\nDone.\n")
    assert [(found.format, found.path) for found in find_sessions(computer)] == [("aider", history)]


def test_projects_below_the_home_folder_are_searched(computer):
    project = computer.home / "code" / "company" / "shop"
    project.mkdir(parents=True)
    (project / ".aider.chat.history.md").write_text(
        "# aider chat started at 2026-08-01 10:00:00\n\n#### fix the parser\n\nDone.\n"
    )
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    (deep / ".aider.chat.history.md").write_text(
        "# aider chat started at 2026-08-01 10:00:00\n\n#### too deep\n"
    )
    (found,) = find_sessions(computer)
    assert (found.format, found.title, found.project) == ("aider", "fix the parser", str(project))


def test_each_session_of_a_storage_folder_is_found_once_and_read_alone(computer):
    storage = computer.home / ".local/share/opencode/storage"
    for name, parent in (("ses_1", None), ("ses_2", None), ("ses_3", "ses_1")):
        about = {"id": name, "parentID": parent, "title": f"Fix {name}", "directory": "/p"}
        write(storage / "session" / "p" / f"{name}.json", {**about, "time": {"updated": 2_000_000_000_000}})
        write(storage / "message" / name / f"msg_{name}.json", {"id": f"msg_{name}", "role": "user"})
        part = {"type": "text", "text": f"please fix {name}"}
        write(storage / "part" / f"msg_{name}" / f"prt_{name}.json", part)
    found = {session.session_id: session for session in find_sessions(computer)}
    assert {name: session.title for name, session in found.items()} == {
        "ses_1": "Fix ses_1",
        "ses_2": "Fix ses_2",
    }
    assert found["ses_1"].modified == datetime.fromtimestamp(2_000_000_000, UTC)
    (session,) = load(found["ses_2"].open())
    assert [message.text for message in session.full()] == ["please fix ses_2"]
    database = computer.home / ".local/share/opencode/opencode.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE session (id, parent_id, title, directory, time_updated)")
        connection.execute("INSERT INTO session VALUES ('ses_1', NULL, 'Fix ses_1', '/p', 2000000000000)")
    connection.close()
    again = [(session.session_id, session.path) for session in find_sessions(computer)]
    assert sorted(again) == [("ses_1", database), ("ses_2", storage)]


def test_each_session_of_a_database_is_found_with_its_title(computer):
    path = computer.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session (id, parent_id, title, directory, time_updated)")
        rows = [
            ("ses_1", None, "Fix it", "/p", 2_000_000_000_000),
            ("ses_2", "ses_1", "a sub-agent", "/p", 1),
        ]
        connection.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    (found,) = find_sessions(computer)
    assert (found.session_id, found.title, found.project) == ("ses_1", "Fix it", "/p")
    assert found.modified == datetime.fromtimestamp(2_000_000_000, UTC)


def test_a_database_that_cannot_be_read_is_found_as_a_file(computer):
    path = computer.home / ".local/share/goose/sessions/sessions.db"
    write(path, {"not": "a database"})
    (found,) = find_sessions(computer)
    assert (found.format, found.path, found.title) == ("goose", path, None)


def test_a_long_session_is_not_read_whole(computer):
    path = claude(computer.home / ".claude/projects/-p/s1.jsonl")
    with path.open("ab") as file:
        file.truncate(1 << 40)  # a hole: to read it would take hours
    (found,) = find_sessions(computer)
    assert (found.size, found.title) == (1 << 40, "fix the parser")


def test_titles_are_looked_up_only_for_the_sessions_that_are_taken(computer):
    claude(computer.home / ".claude/projects/-p/new.jsonl", at=2_000)
    old = claude(computer.home / ".claude/projects/-p/old.jsonl", at=1_000)
    sessions = find_sessions(computer)
    assert next(sessions).session_id == "new"
    old.write_text("")  # gone before it was asked for
    assert next(sessions).title is None


def test_an_id_is_a_files_name_without_its_endings():
    names = (
        "upgrade-to-3.11.md",
        "upgrade-to-3.12.md",
        "a-1.traj.json.zst",
        "a.messages.json",
        "rollout-b.jsonl",
    )
    ids = [file_id(Path("/home/me") / name) for name in names]
    assert ids == ["upgrade-to-3.11", "upgrade-to-3.12", "a-1", "a", "b"]


def test_hidden_files_of_two_projects_have_two_ids():
    ids = {file_id(Path(f"/home/me/{project}/.aider.chat.history.md")) for project in ("a/web", "b/web")}
    assert len(ids) == 2
    assert all(id_.startswith("web-") for id_ in ids)
