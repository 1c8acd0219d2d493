"""`clew recall`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.log.store import SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from tests.cli.conftest import Run, clew

__all__ = ["clew"]  # a fixture


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    with SqliteStore(tmp_path / "log" / "clew.db") as store:
        Session.open("spring", store).add(
            text_message(Role.USER, "Staging listens on kiln-7.test:8443."),
            text_message(Role.ASSISTANT, "Noted."),
        )
        Session.open("summer", store).add(text_message(Role.USER, "My physician was on holiday."))
    return {"CLEW_HOME": str(tmp_path / "log")}


def test_what_was_said_is_found_with_its_reference_which_opens(clew: Run, home: dict[str, str]):
    found = clew("recall", "what is kiln-7.test:8443?", "--limit", "1", **home).stdout.splitlines()
    assert found[0].startswith("m1@spring  (turn, user, ")
    assert found[1] == "    Staging listens on kiln-7.test:8443."
    assert "has kiln-7.test:8443; 100% of the words" in found[2]
    opened = clew("recall", "--open", "m1@spring", **home).stdout
    assert "Staging listens on kiln-7.test:8443." in opened
    assert "m2@spring  (assistant, " in opened


def test_a_proposal_comes_with_the_reply_to_it(clew: Run, tmp_path: Path):
    with SqliteStore(tmp_path / "log" / "clew.db") as store:
        Session.open("spring", store).add(
            text_message(Role.ASSISTANT, "Shall I fire the kiln at night?" + " Power is cheap then." * 60),
            text_message(Role.USER, "No, the neighbours complain."),
        )
    found = clew("recall", "fire the kiln at night", "--limit", "1", CLEW_HOME=str(tmp_path / "log")).stdout
    assert "    m2@spring, the user's reply: No, the neighbours complain.\n" in found


def test_with_vectors_it_is_found_by_its_meaning(clew: Run, home: dict[str, str]):
    (hit, *_) = json.loads(clew("recall", "doctor", "--json", **home).stdout)
    assert (hit["ref"], hit["why"]["exact"]) == ("m1@summer", [])
    assert hit["why"]["meaning"] > 0.3
    assert clew("recall", "--embed", **home).stderr == "3 entries can be found by meaning\n"


def test_a_session_and_a_role_narrow_it_down(clew: Run, home: dict[str, str]):
    narrow = ("--session", "spring", "--role", "assistant", "--json")
    only = json.loads(clew("recall", "noted staging", *narrow, **home).stdout)
    assert [hit["ref"] for hit in only] == ["m2"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "nothing to search for"),
        (("--open", "m9@spring"), "there is no message m9@spring"),
        (("x", "--after", "soon"), "'soon' is not a date"),
        (("x", "--kind", "rumour"), "invalid choice"),
    ],
)
def test_what_is_wrong_is_said(clew: Run, home: dict[str, str], words: tuple[str, ...], told: str):
    refused = clew("recall", *words, **home)
    assert refused.returncode != 0
    assert told in refused.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--open", "m12"),
            "there is no message m12: search for it with `clew recall WORDS`; m12@SESSION is",
        ),
        (
            ("--open", "m9", "--session", "spring"),
            "there is no message m9: search for it with `clew recall WORDS`",
        ),
        (("x", "--session", "nope"), "there is no session 'nope' in clew's log"),
        (
            ("x", "--role", "usr"),
            "nothing found; there is no role 'usr': there are system, developer, user",
        ),
        (("x", "--limit", "5k"), "5k is not a positive number"),
    ],
)
def test_what_is_not_there_is_said_with_what_a_person_can_do(
    clew: Run, home: dict[str, str], words: tuple[str, ...], told: str
):
    refused = clew("recall", *words, **home)
    assert refused.returncode != 0
    assert told in refused.stderr
    assert "recall_search" not in refused.stderr


def test_what_the_user_said_in_an_imported_list_is_found_as_the_users(clew: Run, tmp_path: Path):
    path, home = tmp_path / "talk.json", {"CLEW_HOME": str(tmp_path / "own")}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "The retry limit is 9."}
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "a"}}
    entries = [("user", "The retry limit is 7."), ("assistant", [call]), ("user", [result])]
    path.write_text(json.dumps([{"role": role, "content": content} for role, content in entries]))
    clew("import", str(path), **home)
    found = json.loads(clew("recall", "retry limit", "--trust", "user", "--json", **home).stdout)
    assert [(hit["text"], hit["trust"]) for hit in found] == [("The retry limit is 7.", "user")]
