"""`clew rules` lists rules with source, certainty and reason; a person switches them off for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.log.store import SqliteStore
from clew.rules.findings import FINDER
from clew.session import Session
from tests.cli.conftest import Run
from tests.session.test_judged_rules import LABELS, conversation, scripted

TALK = (
    ("user", "Fix the parser. Never touch legacy/. I prefer short answers."),
    ("assistant", "Understood."),
    ("user", "Don't write code yet."),
    ("assistant", "Here is the plan."),
    ("user", "ok, go ahead"),
)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"role": role, "content": text} for role, text in TALK]), "utf-8")
    return file


def test_a_file_is_listed_and_not_changed(clew: Run, talk: Path):
    told = clew("rules", str(talk), "--all").stdout
    assert "p1   Never touch legacy/." in told
    assert "said in m1 · clear · it forbids an act of the agent" in told
    assert "likely · it says what the speaker prefers" in told
    assert 'ended by m5: "ok, go ahead": the go-ahead was given' in told
    refused = clew("rules", str(talk), "off", "p1")
    assert refused.returncode == 2
    assert "p1" in clew("rules", str(talk)).stdout


def test_json_has_what_a_rule_is_about_and_how_long_it_lasts(clew: Run, tmp_path: Path):
    file = tmp_path / "talk.json"
    said = "Never touch legacy/. Never run `deploy.sh` until I say so."
    file.write_text(json.dumps([{"role": "user", "content": said}]), "utf-8")
    first, second = json.loads(clew("rules", str(file), "--json").stdout)["rules"]
    lasting = {"lasts": "open", "words": ""}
    assert first["scope"] == {
        "paths": ["legacy/"],
        "tools": [],
        "names": [],
        "topics": ["touch"],
        "duration": lasting,
    }
    assert second["scope"]["duration"] == {"lasts": "until", "words": "until I say so"}


def test_rules_of_the_newest_session_are_switched_off_added_and_edited(clew: Run, talk: Path):
    clew("import", str(talk))
    assert "short answers" not in clew("rules", "off", "p2").stdout
    assert "* p4   Ask before you push." in clew("rules", "add", "Ask before you push.").stdout
    listed = json.loads(clew("rules", "edit", "p1", "Never touch legacy/ or vendor/.", "--json").stdout)
    assert [rule["quote"] for rule in listed["rules"]] == [
        "Ask before you push.",
        "Never touch legacy/ or vendor/.",
    ]
    assert {rule["certainty"] for rule in listed["rules"]} == {"certain"}


@pytest.mark.parametrize("words", [("off",), ("add",), ("edit", "p1"), ("talk", "remove", "p1")])
def test_what_cannot_be_understood_says_what_to_do(clew: Run, words: tuple[str, ...]):
    told = clew("rules", *words)
    assert told.returncode == 2
    assert "PIN" in told.stderr or "TEXT" in told.stderr


def test_what_a_person_switched_off_is_not_found_again():
    session = Session.open("s")
    session.add({"role": "user", "content": "Never touch legacy/."})
    (pin,) = session.pins
    session.unpin(pin.id)
    session.add({"role": "user", "content": "never touch legacy/"})
    assert session.pins == ()
    session.pin("Never touch legacy/.")
    assert [one.quote for one in session.pins] == ["Never touch legacy/."]


@pytest.fixture
def upgraded(clew: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return ``clew`` with a session in its log that was recorded with a finder that found no rules."""
    home = tmp_path / "log"
    home.mkdir()
    with monkeypatch.context() as patch, SqliteStore(home / "clew.db") as store:
        patch.setattr("clew.rules.pins.find", lambda message: [])
        session = Session.open("talk", store)
        session.add(*({"role": role, "content": text} for role, text in TALK))
        session.pin("Ask before you push.")
    return lambda *args: clew("rules", "talk", *args, CLEW_HOME=str(home))


def quotes(upgraded: Run) -> set[str]:
    return {rule["quote"] for rule in json.loads(upgraded("--json").stdout)["rules"]}


def test_a_rescan_shows_the_difference_and_applies_it_only_if_asked(upgraded: Run):
    preview = upgraded("--rescan").stdout
    assert "+ p1   Never touch legacy/.\n" in preview
    assert preview.endswith("2 to add, 0 to remove; --apply records this\n")
    assert quotes(upgraded) == {"Ask before you push."}
    assert upgraded("--rescan", "--apply").stdout.endswith("recorded: 2 added, 0 removed\n")
    assert quotes(upgraded) == {
        "Ask before you push.",
        "Never touch legacy/.",
        "I prefer short answers.",
    }
    assert upgraded("--rescan").stdout.startswith("no difference: rule finder ")


def test_a_rescan_as_json_names_the_finder(upgraded: Run):
    found = json.loads(upgraded("--rescan", "--json").stdout)
    assert (found["finder"], found["applied"], found["removed"]) == (FINDER, False, [])
    assert [rule["quote"] for rule in found["added"]] == ["Never touch legacy/.", "I prefer short answers."]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("--apply",), "--apply needs --rescan"),
        (("--rescan", "off", "p1"), "cannot be combined with off"),
    ],
)
def test_a_rescan_that_cannot_be_understood_says_what_to_do(
    clew: Run, talk: Path, words: tuple[str, ...], advice: str
):
    clew("import", str(talk))
    refused = clew("rules", *words)
    assert refused.returncode == 2
    assert advice in refused.stderr


def test_a_file_cannot_be_rescanned(clew: Run, talk: Path):
    refused = clew("rules", str(talk), "--rescan")
    assert refused.returncode == 2
    assert "clew import" in refused.stderr


def test_what_a_summariser_said_about_a_rule_is_listed(clew: Run, tmp_path: Path):
    """In a session whose compaction asked a model: confirmed, added, doubted, and out of force."""
    home = tmp_path / "judged"
    home.mkdir()
    with SqliteStore(home / "clew.db") as store:
        session = Session.open("talk", store, window=20_000, summariser=scripted(LABELS))
        session.add(*conversation())
        session.compact(target_tokens=5_000)
    told = clew("rules", "talk", CLEW_HOME=str(home)).stdout
    assert "confirmed by the summariser (scripted/judge)" in told
    assert "found by the summariser (scripted/judge)" in told
    assert "calls it not binding; it holds until you switch it off" in told
    assert "a request for one step" not in told
    everything = clew("rules", "talk", "--all", CLEW_HOME=str(home)).stdout
    assert "(dismissed)" in everything
    assert "doubted: the summariser (scripted/judge) calls it a request for one step" in everything
    listed = json.loads(clew("rules", "talk", "--json", CLEW_HOME=str(home)).stdout)["rules"]
    assert {(rule["judged"], rule["judged_by"]) for rule in listed} == {
        ("standing", "scripted/judge"),
        ("none", "scripted/judge"),
    }
