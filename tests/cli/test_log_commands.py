"""A session goes into the log, comes out as a file, goes into another log, and nothing has changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.cli.conftest import EXAMPLE, Run

SESSION = "mini-swe-agent:sphinx-9229"


def stores(tmp_path: Path) -> tuple[str, str]:
    return str(tmp_path / "one"), str(tmp_path / "two")


def test_import_export_import_is_the_identity(clew: Run, tmp_path: Path):
    one, two = stores(tmp_path)
    assert clew("import", str(EXAMPLE), CLEW_HOME=one).stdout == f"{SESSION}: 286 new events, 286 in all\n"
    first = clew("export", SESSION, CLEW_HOME=one).stdout
    packed = tmp_path / "story.clew.zst"
    assert clew("export", SESSION, "-o", str(packed), CLEW_HOME=one).returncode == 0
    assert clew("import", str(packed), CLEW_HOME=two).stdout == f"{SESSION}: 286 new events, 286 in all\n"
    assert clew("export", SESSION, CLEW_HOME=two).stdout == first
    assert first.count("\n") == 287


def test_importing_again_adds_nothing(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    assert clew("import", str(EXAMPLE), CLEW_HOME=one).stdout == f"{SESSION}: nothing new, 286 in all\n"


def test_audit_is_content_with_what_import_wrote(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    clew("import", str(EXAMPLE), CLEW_HOME=one)
    done = clew("audit", CLEW_HOME=one)
    assert done.returncode == 0
    assert f"{SESSION}: 286 events, 286 visible messages" in done.stdout
    assert "✓ all is what was written" in done.stdout


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
    lines[9] = lines[9].replace("THOUGHT", "THAUGHT")
    forged = tmp_path / "forged.clew"
    forged.write_text("".join(lines))
    done = clew("import", str(forged), CLEW_HOME=two)
    assert done.returncode == 2
    assert "line 10" in done.stderr
    assert (
        "sessions" not in clew("audit", CLEW_HOME=two).stdout
        or "0 sessions" in clew("audit", CLEW_HOME=two).stdout
    )


def test_export_of_a_session_that_is_not_there_says_so(clew: Run, tmp_path: Path):
    one, _ = stores(tmp_path)
    done = clew("export", "nobody", CLEW_HOME=one)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no session 'nobody'" in done.stderr
