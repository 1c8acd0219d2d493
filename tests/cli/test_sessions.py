"""``clew sessions``: every session of the computer on one screen, each with an id that commands accept."""

from __future__ import annotations

import html
import json
import os
import re
import string
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from clew.cli.sessions import list_sessions
from clew.cli.text import age, thousands
from clew.log.store import SqliteStore
from clew.message import Message, Origin, Role, Text, Trust, text_message
from clew.session import Session
from clew.settings import store_path
from clew.transcripts import Entry, Start, Transcript
from clew.transcripts.discover import find_sessions, short_id
from clew.transcripts.messages import first_telling
from clew.transcripts.profile import Profiles
from tests.cli.homes import CLAUDE, CODEX, COPILOT, OPENCODE, Home, home, is_golden
from tests.session.talk import talk

__all__ = ["home"]


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("columns", [80, 40])
def test_the_list_fits_the_terminal(home: Home, columns: int):
    listed = home.run("sessions", columns=columns)
    assert is_golden(f"sessions-{columns}.txt", listed)
    assert max(map(len, listed.splitlines())) <= columns


@pytest.mark.parametrize("columns", [80, 40])
def test_a_list_of_paths_has_rows_of_id_age_and_path_only(home: Home, columns: int):
    for line in home.run("sessions", "--paths", columns=columns).splitlines():
        assert re.fullmatch(r"[0-9a-f]{8} +\S+ +/.*", line), line


def test_every_listed_id_is_accepted(home: Home):
    rows = json.loads(home.run("sessions", "--json"))
    assert [row["id"] for row in rows] == ["3f2a9c10", "39ef5efd", "70b173ed", "20b57e9a", "31a4b912"]
    for row in rows:
        shown = home.run("show", row["id"], "--json").splitlines()
        assert shown, row
    assert "show report 1" in home.run("show", "31a4b912")
    assert "show report 0" not in home.run("show", "31a4b912")


@pytest.mark.parametrize(
    "name",
    [
        CODEX,
        CODEX[:13],
        f"codex:{CODEX}",
        f"codex:{CODEX[:11]}…",
        f"rollout-2026-11-01T08-00-00-{CODEX}",
        "39EF5EFD",
    ],
)
def test_ids_as_the_tools_print_them_are_accepted(home: Home, name: str):
    assert "Now sort them by time" in home.run("show", name)


def test_a_session_of_the_log_is_listed_with_its_size_and_the_compactions_in_force(home: Home):
    with SqliteStore(store_path()) as store, Session.open("own", store, window=20_000) as session:
        session.add(*talk())
        for target in (4_000, 2_500):
            session.compact(target_tokens=target, forced=True)
        session.undo()
        tokens = session.tokens
    (row,) = [row for row in json.loads(home.run("sessions", "--json")) if row["session"] == "own"]
    assert (row["compactions"], row["tokens"]) == (1, tokens)


def test_an_unknown_id_offers_the_nearest(home: Home):
    error = home.run("show", "3f2a9c11", status=2)
    assert (
        error
        == "clew: no file and no session '3f2a9c11': did you mean 3f2a9c10? `clew sessions` lists them\n"
    )


def test_an_id_that_means_two_sessions_lists_both(home: Home):
    found = next(one for one in find_sessions(titles=False) if one.id == CLAUDE)
    copy = found.path.parents[1] / "-other" / found.path.name
    copy.parent.mkdir()
    copy.write_bytes(found.path.read_bytes())
    error = home.run("show", "3f2a9c10", status=2)
    assert str(copy) in error
    assert str(found.path) in error


def test_a_changed_session_is_read_again_and_no_other(home: Home, monkeypatch: pytest.MonkeyPatch):
    home.run("sessions")
    read: list[str] = []
    real = Profiles._read
    monkeypatch.setattr(Profiles, "_read", lambda self, found: (read.append(found.id), real(self, found)))
    home.run("sessions")
    assert read == []
    path = next(one.path for one in find_sessions(titles=False) if one.id == CLAUDE)
    last = json.loads(path.read_text().splitlines()[-1])["uuid"]
    line = {"type": "user", "uuid": "z", "parentUuid": last, "sessionId": CLAUDE}
    with path.open("a") as file:
        file.write(json.dumps({**line, "message": {"role": "user", "content": "one more thing"}}) + "\n")
    assert "last: one more thing" in home.run("sessions")
    assert read == [CLAUDE]


@pytest.mark.parametrize(
    ("requests", "title"),
    [
        (["hi", "commit", "Add a rounding test for the tax table"], "Add a rounding test for the tax table"),
        (["/model opus 4 please now", "fix tests"], "/model opus 4 please now"),
        (["commit"], "commit"),
        (["好", "请把税表里的四舍五入改成银行家舍入法"], "请把税表里的四舍五入改成银行家舍入法"),
        (
            ["Operation stopped by hook: another session is active", "Add a test of rounding"],
            "Add a test of rounding",
        ),
        ([], ""),
    ],
)
def test_a_session_is_named_by_its_first_telling_request(requests: list[str], title: str):
    assert first_telling(requests) == title


@pytest.mark.parametrize(
    ("typed", "label"),
    [
        ("commit", "Round half up"),
        ("Now add a test for negative prices", "Now add a test for negative prices"),
    ],
)
def test_a_session_that_begins_with_a_plan_is_named_by_it_unless_a_request_says_more(typed: str, label: str):
    def injected(text: str) -> Message:
        return Message(Role.USER, (Text(text, trust=Trust.ASSISTANT),), Origin.INJECTED)

    entries = (
        Entry(injected("# Project notes\n\nUse uv."), "e0"),
        Entry(injected("Implement the following plan:\n\n# Round half up\n\n1. Change it"), "e1"),
        Entry(text_message(Role.USER, typed), "e2"),
    )
    assert Transcript(Start("s", "claude-code"), entries).label == label
    assert Transcript(Start("s", "claude-code"), entries[:1]).label == "Project notes"


def test_reading_many_sessions_reports_how_far_it_is(home: Home):
    told: list[tuple[str, int, int]] = []
    assert len(list_sessions(50, report=lambda *how_far: told.append(how_far))) == 5
    assert told == [("reading", n, 5) for n in range(1, 6)]


@pytest.mark.parametrize("days", [10**7, 10**17])
def test_days_back_to_before_our_calendar_are_all_days(home: Home, days: int):
    assert len(list_sessions(50, days=days)) == 5


def test_the_picture_in_the_guide_is_current(home: Home):
    drawn = re.sub(r"<[^>]*>", " ", (ROOT / "docs/guides/sessions.svg").read_text(encoding="utf-8"))
    words = html.unescape(drawn).replace("\xa0", " ")
    for command in (["sessions", "--limit", "3"], ["lost", "3f2a9c10"]):
        heads = [
            line for line in home.run(*command, columns=88).splitlines() if re.match("ID|  +needed", line)
        ]
        assert heads
        assert all(" ".join(head.split()) in " ".join(words.split()) for head in heads)


def test_a_broken_cache_is_made_again(home: Home):
    listed = home.run("sessions")
    cache = home.path / ".local/share/clew/cache/sessions.json"
    assert cache.stat().st_mode & 0o077 == 0
    for broken in ("", "[]", '{"version": 1, "sessions": {"a": 3}}', '{"version": 1, "sessions": 3}'):
        cache.write_text(broken)
        assert home.run("sessions") == listed


def test_a_secret_that_was_typed_is_neither_shown_nor_kept(home: Home):
    letters = Random(1).choices(string.ascii_letters + string.digits, k=93)
    key = f"sk-ant-api03-{''.join(letters)}AA"
    line = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "cwd": "/p"}
    path = home.path / ".claude/projects/-p/5e1ab9a6-bf0e-4850-bd88-c2e45dea3d20.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({**line, "message": {"role": "user", "content": f"use {key}"}}) + "\n")
    assert "use [secret:anthropic-key" in home.run("sessions")
    assert key not in home.run("sessions", "--json")
    assert key not in (home.path / ".local/share/clew/cache/sessions.json").read_text()


def test_only_one_tool_or_one_project(home: Home):
    assert [
        row["session"] for row in json.loads(home.run("sessions", "--tool", "copilot-cli", "--json"))
    ] == [COPILOT]
    rows = json.loads(home.run("sessions", "--project", "nimbus", "--json"))
    assert rows[0]["session"] == OPENCODE
    assert {row["project"] for row in rows} == {"/home/me/nimbus"}


def test_ids_that_begin_with_the_time_are_named_by_their_end():
    assert short_id(CODEX, "") == CODEX[-8:]
    assert short_id(CLAUDE, "") == CLAUDE[:8]
    assert short_id("20260105_1", "goose:/a.db") != short_id("20260105_2", "goose:/a.db")
    assert len(short_id("task", "roo-cline:/x")) == 8


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "now"),
        (90, "2m"),
        (3599, "60m"),
        (7200, "2h"),
        (86400 * 3, "3d"),
        (86400 * 30, "4w"),
        (86400 * 900, "2y"),
    ],
)
def test_ages_are_short(seconds: int, words: str):
    assert age(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("number", "words"), [(950, "950"), (1234, "1.2k"), (132_400, "132k"), (4_100_000, "4.1M")]
)
def test_large_numbers_are_short(number: int, words: str):
    assert thousands(number) == words


def test_a_file_that_cannot_be_read_is_still_listed(home: Home):
    path = home.path / ".claude/projects/-home-me-shop/5e1ab9a6-bf0e-4850-bd88-c2e45dea3d20.jsonl"
    path.write_bytes(b"\x00\xff not a session")
    os.utime(path, (1, 1))
    assert "5e1ab9a6" in home.run("sessions")
