"""A session goes into the log, comes out as a file, goes into another log, and nothing has changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import zstandard

from clew.log.store import SqliteStore
from clew.session import Session
from tests.cli.conftest import EXAMPLE, Run

SESSION = "mini-swe-agent:sphinx-9229"


def stores(tmp_path: Path) -> tuple[str, str]:
    return str(tmp_path / "one"), str(tmp_path / "two")


def test_import_export_import_is_the_identity(clew: Run, tmp_path: Path):
    one, two = stores(tmp_path)
    assert clew("import", str(EXAMPLE), CLEW_HOME=one).stdout == f"{SESSION}: 287 new events, 287 in all\n"
    first = clew("export", SESSION, CLEW_HOME=one).stdout
    packed = tmp_path / "story.clew.zst"
    assert clew("export", SESSION, "-o", str(packed), CLEW_HOME=one).returncode == 0
    assert clew("import", str(packed), CLEW_HOME=two).stdout == f"{SESSION}: 287 new events, 287 in all\n"
    assert clew("export", SESSION, CLEW_HOME=two).stdout == first
    assert first.count("\n") == 288


def test_importing_again_adds_nothing(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    assert clew("import", str(EXAMPLE), CLEW_HOME=one).stdout == f"{SESSION}: nothing new, 287 in all\n"


def test_an_older_copy_adds_nothing_and_says_that_the_log_has_more(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    lines = [{"role": role, "content": f"{role} {n}"} for n in range(4) for role in ("user", "assistant")]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(lines))
    clew("import", str(path), CLEW_HOME=one)
    path.write_text(json.dumps(lines[:4]))
    again = clew("import", str(path), CLEW_HOME=one)
    assert again.returncode == 0
    assert again.stdout.endswith("nothing new, 8 in all; the log has 4 messages more than this file\n")
    path.write_text(json.dumps([*lines[:3], {"role": "user", "content": "another"}]))
    assert "differs from the imported one" in clew("import", str(path), CLEW_HOME=one).stderr


def lists(tmp_path: Path, name: str, *words: str) -> str:
    folder = tmp_path / name
    folder.mkdir()
    path = folder / "messages.json"
    path.write_text(json.dumps([{"role": "user", "content": word} for word in words]))
    return str(path)


def test_two_files_of_one_name_are_two_sessions(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    first = clew("import", lists(tmp_path, "a", "alpha 1", "alpha 2"), CLEW_HOME=one).stdout
    second = clew("import", lists(tmp_path, "b", "beta 1", "beta 2", "beta 3"), CLEW_HOME=one).stdout
    assert first.endswith(": 2 new events, 2 in all\n")
    assert second.endswith(": 3 new events, 3 in all\n")


def test_a_file_that_grew_goes_on_and_one_that_changed_is_refused(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", lists(tmp_path, "a", "one", "two"), CLEW_HOME=one)
    assert (
        "1 new event, 3 in all"
        in clew("import", lists(tmp_path, "b", "one", "two", "three"), CLEW_HOME=one).stdout
    )
    done = clew("import", lists(tmp_path, "c", "one", "TWO", "three", "four"), CLEW_HOME=one)
    assert done.returncode == 2
    assert "message 2 of the file differs from the imported one" in done.stderr


def replies(path: Path, lines: int) -> str:
    """Write the first lines of a Claude Code session, whose replies are several lines each."""
    call = {"type": "tool_use", "name": "Read", "input": {"file_path": "a.py"}}
    said = [
        ("user", None, "Read both files, password=h7Kq2vXw9zPq."),
        ("assistant", "a1", [{"type": "text", "text": "I read with password=h7Kq2vXw9zPq."}]),
        ("assistant", "a1", [call | {"id": "t1"}]),
        ("user", None, [{"type": "tool_result", "tool_use_id": "t1", "content": "one"}]),
        ("assistant", "a1", [call | {"id": "t2"}]),
        ("user", None, [{"type": "tool_result", "tool_use_id": "t2", "content": "two"}]),
        ("assistant", "a2", [{"type": "text", "text": "Both are read."}]),
    ]
    written = [
        {
            "type": role,
            "uuid": f"u{n}",
            "parentUuid": f"u{n - 1}" if n else None,
            "sessionId": "s1",
            "message": {"role": role, "content": content, **({"id": own, "model": "m"} if own else {})},
        }
        for n, (role, own, content) in enumerate(said[:lines])
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in written))
    return str(path)


@pytest.mark.parametrize("cuts", [[n] for n in range(1, 7)] + [[2, 3, 4, 5, 6]])
def test_a_reply_that_went_on_since_the_last_import_is_extended(clew: Run, tmp_path: Path, cuts: list[int]):
    one, _ = stores(tmp_path)
    for cut in cuts:
        clew("import", replies(tmp_path / "s1.jsonl", cut), CLEW_HOME=one)
    done = clew("import", replies(tmp_path / "s1.jsonl", 7), CLEW_HOME=one)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing new" in clew("import", str(tmp_path / "s1.jsonl"), CLEW_HOME=one).stdout
    shown = clew("show", "claude-code:s1", "--full", CLEW_HOME=one).stdout
    for text in ("Read both files", "I read with", "one", "two", "Both are read."):
        assert shown.count(text) == 1, text
    assert shown.count("Read(file_path: a.py)") + shown.count("a.py") >= 2
    assert "h7Kq2vXw9zPq" not in shown


def test_a_session_of_the_log_and_an_export_can_be_looked_at_like_any_other(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    packed = tmp_path / "story.clew.zst"
    clew("export", SESSION, "-o", str(packed), CLEW_HOME=one)
    from_log = json.loads(clew("map", "--json", SESSION, CLEW_HOME=one).stdout)
    from_file = json.loads(clew("map", "--json", str(packed)).stdout)
    assert from_log["messages"] == from_file["messages"] == 286
    assert from_log["by_kind"] == from_file["by_kind"]


def test_export_does_not_overwrite_unasked(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    target = tmp_path / "there.clew"
    target.write_text("mine")
    assert clew("export", SESSION, "-o", str(target), CLEW_HOME=one).returncode == 2
    assert target.read_text() == "mine"


def test_audit_is_content_with_what_import_wrote(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    done = clew("audit", CLEW_HOME=one)
    assert done.returncode == 0
    assert f"{SESSION}: 287 events, 286 visible messages" in done.stdout
    assert "✓ log intact: all hashes match" in done.stdout


def test_audit_names_the_event_that_was_changed(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    with sqlite3.connect(Path(one, "clew.db")) as database:
        database.execute("DROP TRIGGER event_is_never_changed")
        database.execute("UPDATE event SET time = '2001-01-01T00:00:00.000Z' WHERE seq = 7")
    done = clew("audit", CLEW_HOME=one)
    assert done.returncode == 1
    assert "event 7" in done.stdout


def test_the_store_is_private(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    assert Path(one).stat().st_mode & 0o077 == 0
    assert Path(one, "clew.db").stat().st_mode & 0o077 == 0


def test_a_tampered_export_is_refused_and_nothing_is_written(clew: Run, tmp_path: Path):
    one, two = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    lines = clew("export", SESSION, CLEW_HOME=one).stdout.splitlines(keepends=True)
    lines[10] = lines[10].replace("THOUGHT", "THAUGHT")
    forged = tmp_path / "forged.clew"
    forged.write_text("".join(lines))
    done = clew("import", str(forged), CLEW_HOME=two)
    assert done.returncode == 2
    assert "line 11" in done.stderr
    assert (
        "sessions" not in clew("audit", CLEW_HOME=two).stdout
        or "0 sessions" in clew("audit", CLEW_HOME=two).stdout
    )


def test_export_of_a_session_that_is_not_there_says_so(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    done = clew("export", "nobody", CLEW_HOME=one)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no session 'nobody'" in done.stderr
    assert not Path(one).exists()


def test_audit_lists_events_that_no_longer_apply(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    Path(one).mkdir()
    golden = Path(__file__).parents[1] / "session" / "golden" / "6116f38.db.zst"
    Path(one, "clew.db").write_bytes(zstandard.decompress(golden.read_bytes()))
    SqliteStore(Path(one, "clew.db")).close()  # with today's schema
    done = clew("audit", CLEW_HOME=one)
    assert done.returncode == 0
    assert "! race undo undo: event 48 (undo): it undoes the compaction of event 46" in done.stdout
    assert "! race close done: event 49 (loop): skipped: no open work has the id t2" in done.stdout
    assert "✓ log intact: all hashes match" in done.stdout
    told = json.loads(clew("audit", "--json", CLEW_HOME=one).stdout)
    assert told["sound"]
    problems = {row["session"]: row["problems"] for row in told["sessions"]}
    assert problems["race undo undo"][0]["seq"] == 48
    assert problems["acts"] == []


def test_a_session_is_switched_off_and_on_again_and_a_setting_switches_off_everything(
    clew: Run, tmp_path: Path
):
    home = str(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=home)
    whole = json.loads(clew("convert", SESSION, "--to", "openai", CLEW_HOME=home).stdout)
    assert clew("compact", SESSION, "--target-tokens", "3000", CLEW_HOME=home).returncode == 0
    off = json.loads(clew("off", SESSION, "--json", CLEW_HOME=home).stdout)
    with SqliteStore(tmp_path / "clew.db") as store:
        session = Session.open(SESSION, store)
        assert session.is_off
        assert (len(session.context("openai").items), session.tokens) == (len(whole), off["tokens"])
    refused = clew("compact", SESSION, CLEW_HOME=home)
    assert (refused.returncode, "`clew on" in refused.stderr) == (2, True)
    assert json.loads(clew("on", SESSION, "--json", CLEW_HOME=home).stdout)["tokens"] < off["tokens"] / 5
    for command in (["compact", SESSION], ["compact", str(EXAMPLE)]):
        assert "switched off by a setting" in clew(*command, CLEW_HOME=home, CLEW_OFF="1").stderr
    assert clew("undo", SESSION, CLEW_HOME=home, CLEW_OFF="1").returncode == 0
