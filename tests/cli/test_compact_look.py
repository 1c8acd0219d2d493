"""``clew expand``, ``clew trace`` and ``clew undo``: behind every line stand the turns it comes from."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from clew.log.store import SqliteStore
from clew.providers import Body
from clew.session import Session
from tests.cli.conftest import Run
from tests.cli.golden.make import body
from tests.session.talk import RULE

NAME = "anthropic:talk"


@pytest.fixture
def talk(tmp_path: Path) -> str:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(body()))
    return str(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log with one session, compacted twice."""
    path = tmp_path_factory.mktemp("own")
    given = Body.parse(body())  # type: ignore[arg-type]
    with SqliteStore(path / "clew.db") as store:
        session = Session.open(NAME, store)
        session.add(*given.system, *given.messages)
        for target in (3000, 2000):  # at 6,000 everything fits faded, without a digest
            assert session.compact(target_tokens=target)
    return path


@pytest.fixture
def clew(clew: Run, tmp_path: Path) -> Run:
    return partial(clew, CLEW_HOME=str(tmp_path / "own"))


@pytest.fixture
def session(home: Path, tmp_path: Path) -> str:
    """Return the name of that session, in a log of the test's own."""
    shutil.copytree(home, tmp_path / "own")
    return NAME


def expanded(clew: Run, *args: str) -> dict:
    return json.loads(clew("expand", *args, "--json").stdout)


def test_a_rule_leads_to_the_message_that_states_it(clew: Run, session: str):
    found = expanded(clew, session, "p1")
    assert (found["what"], found["text"], found["ids"]) == ("rule", RULE, ["m4"])
    assert [quote["words"] for quote in found["quotes"]] == [RULE]
    assert found["messages"][0]["parts"][0]["text"] == f"Good. {RULE}"


def test_every_line_of_a_digest_leads_to_its_turns(clew: Run, session: str):
    claims = expanded(clew, session, "d1")["claims"]
    for claim in claims[:5]:
        found = expanded(clew, session, claim["id"])
        assert (found["what"], found["text"]) == ("claim", claim["text"])
        assert [message["id"] for message in found["messages"]] == found["ids"]
        assert {source[0] for source in claim["sources"]} == set(found["ids"])


def test_a_digest_leads_to_all_it_stands_for_also_when_a_later_one_took_it_in(clew: Run, session: str):
    first, second = expanded(clew, session, "d1"), expanded(clew, session, "d2")
    assert set(first["ids"]) <= set(second["ids"])
    assert [message["id"] for message in first["messages"]] == first["ids"]


def test_quoted_words_are_marked_where_they_stand(clew: Run, session: str):
    lines = clew("expand", session, "p1").stdout.splitlines()
    assert f"▌ Good. {RULE}" in lines


def test_long_output_is_folded_around_the_quoted_words(clew: Run, talk: str):
    shown = clew("expand", talk, "m6").stdout
    assert "more lines (--full shows them)" in shown
    assert "return round_half_up(step_0_29, 2)" not in shown
    assert "return round_half_up(step_0_29, 2)" in clew("expand", talk, "m6", "--full").stdout


def test_neighbours_are_shown_and_said_to_be_that(clew: Run, session: str):
    found = expanded(clew, session, "m7", "--around", "2")
    assert [message["id"] for message in found["messages"]] == ["m5", "m6", "m7", "m8", "m9"]
    assert clew("expand", session, "m7", "--around", "1").stdout.count("neighbour") == 2


def test_a_file_is_looked_into_by_the_same_numbers(clew: Run, talk: str, session: str):
    for ref in ("m4", "m6", "p1"):
        assert expanded(clew, talk, ref) == expanded(clew, session, ref)


def test_what_a_compacted_list_no_longer_has_is_never_mistaken(clew: Run, talk: str, tmp_path: Path):
    smaller = tmp_path / "smaller.json"
    clew("compact", talk, "--target-tokens", "2500", "-o", str(smaller))
    done = clew("expand", str(smaller), "m7")
    assert (done.returncode, done.stdout) == (2, "")
    assert "look in the original file" in done.stderr
    assert "not in this file" in clew("expand", str(smaller), "d1.2").stdout  # d1.1 cites a recent message


@pytest.mark.parametrize("ref", ["m9999", "d7", "d1.9999", "p99", "nonsense", "\x1b[2J"])
def test_what_is_not_there_is_one_line(ref: str, clew: Run, session: str):
    for command in ("expand", "trace"):
        done = clew(command, session, ref)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "\x1b" not in done.stderr


def test_nothing_that_is_expanded_can_steer_the_terminal(clew: Run, tmp_path: Path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([{"role": "user", "content": f"Never {evil} touch legacy/."}]))
    shown = clew("expand", str(path), "m1").stdout
    assert r"\x1b]0;owned\x07\x1b[2J\x202e" in shown
    assert "\x1b" not in shown


def test_trace_tells_every_compaction_in_force_or_not(clew: Run, session: str):
    clew("undo", session)
    first, second = json.loads(clew("trace", session, "--json").stdout)["compactions"]
    assert [first["name"], second["name"]] == ["d1", "d2"]
    assert (first["in_force"], first["folded_into"]) == (True, None)
    assert (second["in_force"], second["undone"] is not None) == (False, True)
    assert first["tokens_after"] == second["tokens_before"]
    shown = clew("trace", session).stdout
    assert "✓ in force" in shown
    assert "✗ undone" in shown
    assert "by code, without a model" in shown


def test_trace_says_which_digest_took_another_in(clew: Run, session: str):
    first, second = json.loads(clew("trace", session, "--json").stdout)["compactions"]
    assert (first["folded_into"], second["folded_into"]) == ("d2", None)


def test_trace_tells_of_refusals_too(clew: Run, session: str):
    refused = clew("compact", session, "--target-tokens", "20")
    assert refused.returncode == 2
    told = json.loads(clew("trace", session, "--json").stdout)
    said = refused.stderr.removeprefix("clew: ").partition(":")[0]
    assert [one["reason"].partition(":")[0] for one in told["refusals"]] == [said]
    assert "✗ refused" in clew("trace", session).stdout


def test_trace_explains_one_thing(clew: Run, session: str):
    assert "condensed into d2" in clew("trace", session, "m7").stdout
    assert RULE in clew("trace", session, "p1").stdout
    assert json.loads(clew("trace", session, "m7", "--json").stdout)["ref"] == "m7"


def test_the_report_of_a_compaction_can_be_read_again(clew: Run, session: str):
    shown = clew("trace", session, "--report", "d1").stdout
    assert shown.startswith("Accepted: 86 → ")
    assert "✓ pins" in shown
    report = json.loads(clew("trace", session, "--report", "d1", "--json").stdout)
    assert json.loads(clew("trace", session, "--report", "d1", "--json", COLUMNS="40").stdout) == report
    assert report["report"]["messages_before"] == 86


def test_an_export_can_be_traced_and_looked_into_but_not_undone(clew: Run, session: str, tmp_path: Path):
    packed = tmp_path / "story.clew.zst"
    clew("export", session, "-o", str(packed))
    assert clew("trace", str(packed), "--json").stdout == clew("trace", session, "--json").stdout
    assert expanded(clew, str(packed), "d1.1") == expanded(clew, session, "d1.1")
    assert clew("undo", str(packed)).returncode == 2


def test_undo_says_what_it_brings_back_and_costs(clew: Run, session: str):
    found = json.loads(clew("undo", session, "--json").stdout)
    assert found["tokens"]["before"] < found["tokens"]["sent_anew"] < found["tokens"]["after"]
    assert "86 messages" in clew("undo", session).stdout


def test_undoing_more_than_there_is_changes_nothing(clew: Run, session: str):
    before = clew("export", session).stdout
    done = clew("undo", session, "3")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert clew("export", session).stdout == before


@pytest.mark.parametrize("command", ["undo", "trace", "expand"])
def test_a_session_that_is_not_there_is_one_line(command: str, clew: Run):
    done = clew(command, "codex:nobody", *(["m1"] if command == "expand" else []))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_undo_all_takes_every_compaction_back(clew: Run, session: str):
    told = json.loads(clew("undo", session, "--all", "--json").stdout)
    assert [one["digest"] for one in told["undone"]] == ["d2", "d1"]
    assert "there is none to undo" in clew("undo", session, "--all").stderr


def test_rules_are_set_changed_and_taken_off_by_hand(clew: Run, session: str):
    def rules(*words: str) -> dict[str, str]:
        told = json.loads(clew("pin", session, *words, "--json").stdout)
        return {pin["id"]: pin["quote"] for pin in told["pins"]}

    before = rules()
    assert RULE in before.values()
    (name,) = rules("Ask before you push.").keys() - before.keys()
    (other,) = rules("Never push.", "--in-place-of", name).keys() - before.keys()
    assert rules()[other] == "Never push."
    assert rules("--off", other) == before


@pytest.mark.parametrize("wrong", [("--off", "p99"), ("--in-place-of", "p1"), ("Be brief.", "--off", "p1")])
def test_a_change_of_rules_that_cannot_be_is_refused(clew: Run, session: str, wrong: tuple[str, ...]):
    done = clew("pin", session, *wrong)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
