"""`clew notes`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

from clew.log.store import SqliteStore
from clew.memory.notes import Category, Notebook
from tests.cli.conftest import Run, clew
from tests.memory_notes.drafts import proposal

__all__ = ["clew"]  # a fixture


def store_of(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "log" / "clew.db")


def test_a_note_is_added_listed_replaced_and_forgotten(clew: Run, tmp_path: Path):
    home = {"CLEW_HOME": str(tmp_path / "log")}
    added = clew("notes", "add", "Use uv, never pip.", "--key", "packages", **home)
    assert added.stdout == "w1 is approved: packages: Use uv, never pip.\n"
    newer = clew("notes", "add", "Use pixi.", "--key", "Packages", **home)
    assert newer.stdout == "w2 is approved, replacing w1: Packages: Use pixi.\n"
    assert clew("notes", "list", **home).stdout == (
        "w2    approved    user preference     Packages: Use pixi.\n"
    )
    forgotten = clew("notes", "forget", "packages", "--why", "it changed", **home)
    assert forgotten.stdout == "w2 is forgotten: Packages: Use pixi.\n"
    told = [line[21:] for line in clew("notes", "history", "packages", **home).stdout.splitlines()[3:]]
    assert told == [
        "w1    added by person",
        "w2    added by person",
        "w1    retired by w2: replaced by w2",
        "w2    forgotten by person: it changed",
    ]


def test_what_an_agent_proposed_is_shown_with_its_reason_and_decided(clew: Run, tmp_path: Path):
    with store_of(tmp_path) as store:
        book = Notebook(store)
        book.add(proposal("Use tabs.", "style"))
        book.add(proposal("I may push.", "push", category=Category.APPROVAL_RECORD))
    home = {"CLEW_HOME": str(tmp_path / "log")}
    listed = clew("notes", "list", **home)
    assert "it is in quarantine: an agent proposed an approval record" in listed.stdout
    assert listed.stderr == "2 notes to review: `clew notes approve ID` or `clew notes reject ID`\n"
    assert clew("notes", "approve", "style", **home).stdout == "w1 is approved: style: Use tabs.\n"
    assert clew("notes", "reject", "w2", **home).stdout == "w2 is forgotten: push: I may push.\n"
    assert json.loads(clew("notes", "show", "w1", "--json", **home).stdout)["status"] == "approved"


def test_a_conflict_is_said(clew: Run, tmp_path: Path):
    home = {"CLEW_HOME": str(tmp_path / "log")}
    clew("notes", "add", "I like pip.", "--key", "packages", **home)
    policy = clew(
        "notes", "add", "Only uv.", "--key", "packages", "--category", "organization_policy", **home
    )
    assert policy.stderr == "⚠ packages: w2 (organization policy) outranks w1 (user preference)\n"


def test_looking_makes_no_log_and_a_typo_no_session(clew: Run, tmp_path: Path):
    home = {"CLEW_HOME": str(tmp_path / "log")}
    assert clew("notes", "list", **home).stdout == 'No notes. `clew notes add "…"` adds one.\n'
    missing = clew("notes", "show", "w1", **home)
    assert (missing.returncode, missing.stderr) == (
        2,
        "clew: there is no note 'w1': run `clew notes list --all` to see all notes\n",
    )
    assert not (tmp_path / "log").exists()
    typo = clew("notes", "add", "x", "--session", "no-such", **home)
    assert (typo.returncode, "there is no session 'no-such'" in typo.stderr) == (2, True)


def test_nothing_in_a_note_steers_the_terminal(clew: Run, tmp_path: Path):
    refused = clew("notes", "add", "a\x1b]0;owned\x07b", CLEW_HOME=str(tmp_path / "log"))
    assert (refused.returncode, "\x1b" in refused.stderr) == (2, False)
