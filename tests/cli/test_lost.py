"""``clew lost``: what a tool's compactions dropped, and what clew keeps in as many tokens."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

import pytest

from clew.cli import main
from clew.transcripts import load
from clew_evals.lost_items import _GREEN, CompactionLosses, NeededItem, NeedKind, losses_of_session
from tests.cli.homes import BEGIN, CLAUDE, RULE, Home, home, is_golden
from tests.conftest import real_data

__all__ = ["home"]


@pytest.fixture
def plain_clew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clew keep the same words whatever its compactor chooses: the golden files are about the report."""
    kept = f"{RULE} Round half up in the tax table. rate_17_42 tax_table.py 1 failed"
    monkeypatch.setattr("clew_evals.lost_items._by_clew", lambda _cut: kept)
    monkeypatch.setattr("clew_evals.cli.lost._age", lambda _row: "3d")
    monkeypatch.setattr("os.cpu_count", lambda: 1)


@pytest.mark.usefixtures("plain_clew")
@pytest.mark.parametrize("columns", [80, 40])
def test_the_report_fits_the_terminal_and_names_what_was_lost(home: Home, columns: int):
    shown = home.run("lost", "3f2a9c10", columns=columns)
    assert is_golden(f"lost-{columns}.txt", shown)
    assert max(map(len, shown.splitlines())) <= columns


def test_without_a_session_the_newest_compacted_one_is_judged(home: Home):
    assert home.run("lost") == home.run("lost", CLAUDE).replace(CLAUDE, "3f2a9c10")


def test_each_thing_is_judged_on_both_sides(home: Home):
    (one,) = json.loads(home.run("lost", "3f2a9c10", "--json"))["compactions"]
    things = {thing["text"]: thing for thing in one["things"]}
    rule = things[RULE]
    assert (rule["kind"], rule["by_tool"], rule["source"], rule["used"]) == ("rule", False, "m1", None)
    assert rule["by_clew"]
    assert things["shop/tax_table.py"]["by_tool"]
    row = things["rate_17_42"]
    assert (row["kind"], row["by_tool"], row["used"]) == ("value used later", False, "m90")
    assert "curl localhost:8123" in row["use"]


@pytest.mark.usefixtures("plain_clew")
def test_hints_can_be_typed_as_clew_was_started(home: Home, monkeypatch: pytest.MonkeyPatch):
    started = "python3 scripts/run.py clew"
    monkeypatch.setenv("CLEW_COMMAND", started)
    assert f"{started} trace 3f2a9c10 c1" in home.run("lost", "3f2a9c10")
    assert f"{started} lost 3f2a9c10" in home.run("lost", "--all")
    assert f"`{started} sessions`" in home.run("lost", "nothing.jsonl", status=2)
    assert f"{started} help lost" in _failed(["lost", "--wrong"])
    assert f"{started} import 3f2a9c10" in home.run("compact", "3f2a9c10", "--target-tokens", "500")


def _failed(words: list[str]) -> str:
    said = io.StringIO()
    with pytest.raises(SystemExit), redirect_stderr(said):
        main(words)
    return said.getvalue()


def test_what_a_tool_showed_again_is_not_counted_as_lost(home: Home, monkeypatch: pytest.MonkeyPatch):
    """The table, the report of one session and the page count the same."""
    (one,) = json.loads(home.run("lost", "3f2a9c10", "--json"))["compactions"]
    again = NeededItem(NeedKind.REREAD, "shop/again.py", by_tool=False, by_clew=True)
    real = losses_of_session

    def with_again(*args: object, **options: object) -> list[CompactionLosses]:
        return [replace(item, things=(*item.things, again)) for item in real(*args, **options)]

    monkeypatch.setattr("clew_evals.cli.lost.losses_of_session", with_again)
    shown = home.run("lost", "3f2a9c10")
    assert "Not counted as lost: 1 value that a tool showed again before the next use." in shown
    assert "shop/again.py" not in shown
    assert "shop/again.py" in home.run("lost", "3f2a9c10", "--full")
    lost = sum(not thing["by_tool"] for thing in one["things"])
    assert sum(int(line.split()[-2]) for line in shown.splitlines() if _is_figure(line)) == lost


def _is_figure(line: str) -> bool:
    return line.startswith("  ") and len(line.split()) >= 4 and line.rsplit(maxsplit=1)[-1].isdecimal()


def test_a_session_that_was_not_compacted_lost_nothing(home: Home):
    assert home.run("lost", "70b173ed") == "This session was never compacted by its tool: nothing was lost.\n"


def test_a_session_too_short_to_be_judged_says_so(home: Home):
    assert "too little was said before it" in home.run("lost", "39ef5efd")


def test_without_any_compaction_it_says_what_to_do(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    assert "clew lost FILE" in home.run("lost", status=2)
    said = home.run("lost", "--all", status=2)
    assert "clew lost FILE" in said
    assert "~/.claude" in said


@pytest.mark.usefixtures("plain_clew")
@pytest.mark.parametrize("columns", [80, 40])
def test_all_sessions_as_a_table(home: Home, columns: int):
    shown = home.run("lost", "--all", columns=columns)
    assert is_golden(f"lost-all-{columns}.txt", shown)
    assert max(map(len, shown.splitlines())) <= columns
    assert len(json.loads(home.run("lost", "--all", "--json"))) == 2


@pytest.mark.usefixtures("plain_clew")
def test_days_count_from_the_compaction_not_from_the_last_use(home: Home):
    days = ceil((datetime.now(UTC) - BEGIN) / timedelta(days=1))
    recent = home.run("lost", "--days", str(days))
    assert "3f2a9c10" in recent
    assert "39ef5efd" not in recent  # compacted a day earlier
    assert "39ef5efd" in home.run("lost", "--days", str(days + 2))
    listed = json.loads(home.run("sessions", "--days", "1", "--json"))
    assert "39ef5efd" not in [row["id"] for row in listed]
    assert "3f2a9c10" in [row["id"] for row in listed]


@pytest.mark.usefixtures("plain_clew")
def test_without_a_compaction_in_these_days_the_newest_are_shown(home: Home):
    assert "3f2a9c10" in home.run("lost", "--days", "1")
    assert json.loads(home.run("lost", "--days", "1", "--json")) == []


@pytest.mark.usefixtures("plain_clew")
def test_days_back_to_before_our_calendar_are_all_days(home: Home):
    assert home.run("lost", "--days", str(10**7)) == home.run("lost", "--all")


def test_a_last_test_run_without_failures_is_no_loss():
    assert all(map(_GREEN.match, ("0 failed", "31 passed", "12 passing")))
    assert not any(map(_GREEN.match, ("1 failed", "10 errors", "TestTax/half")))


def test_real_compactions_are_judged_item_by_item():
    folder = real_data("transcripts") / "claude-code-entire-cli"
    path = next(folder.glob("2026-01-08-0442a060*"))
    (session,) = load(path)
    found = losses_of_session(session, last=1)
    assert [one.name for one in found] == ["c2"]
    assert {thing.kind for thing in found[0].things} >= {NeedKind.FILE, NeedKind.VALUE}
    assert all(
        thing.used is None or _number(thing.used) > _number(thing.source)
        for thing in found[0].things
        if thing.source
    )


def _number(name: str) -> int:
    return int(name[1:]) if name.startswith("m") else 0


def test_a_message_has_one_name_in_every_command(home: Home):
    (one,) = json.loads(home.run("lost", "3f2a9c10", "--json"))["compactions"]
    (value,) = [thing for thing in one["things"] if thing["text"] == "rate_17_42"]
    assert "curl localhost:8123" in home.run("expand", "3f2a9c10", value["used"])
    shown = home.run("show", "3f2a9c10").splitlines()
    at = next(n for n, line in enumerate(shown) if "curl localhost:8123" in line)
    assert f" {value['used']} " in f" {shown[at - 1]} "
    home.run("import", "3f2a9c10")
    found = json.loads(home.run("recall", "curl localhost 8123", "--all", "--json"))
    assert value["used"] in json.dumps(found)
    assert "This session is being continued" in home.run("expand", "3f2a9c10", "c1")
