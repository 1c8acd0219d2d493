"""A compaction is called by its number in every place, also where it made no digest."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from clew.errors import NotFound, NothingToGain
from clew.log.store import MemoryStore, SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from tests.cli.conftest import EXAMPLE, Run

NAME = "mini-swe-agent:sphinx-9229"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log whose one session was pruned, then condensed."""
    from clew.cli.log import import_transcript
    from clew.transcripts import load

    path = tmp_path_factory.mktemp("own")
    with SqliteStore(path / "clew.db") as store:
        (transcript,) = load(EXAMPLE)
        import_transcript(store, transcript)
        with Session.open(NAME, store) as session:
            made = [session.compact(target_tokens=target) for target in (60_000, 9_000)]
            assert [one and bool(one.digest) for one in made] == [False, True]
            assert [one and one.name for one in made] == ["d1", "d2"]
    return path


@pytest.fixture
def clew(clew: Run, home: Path) -> Run:
    return partial(clew, CLEW_HOME=str(home))


def test_a_compaction_without_a_digest_says_what_it_did(clew: Run):
    told = json.loads(clew("expand", NAME, "d1", "--json").stdout)
    lines = told["text"].splitlines()
    assert (told["what"], len(lines)) == ("compaction", len(told["ids"]))
    assert all(
        line.startswith(f"{name} is shown smaller: ") for name, line in zip(told["ids"], lines, strict=True)
    )
    shown = clew("expand", NAME, "d1").stdout
    assert shown.startswith("d1 · compaction · no digest; it changed m")
    assert f"  {lines[0]}\n" in shown


def test_it_is_traced_by_the_same_name(clew: Run):
    assert [one["name"] for one in json.loads(clew("trace", NAME, "--json").stdout)["compactions"]] == [
        "d1",
        "d2",
    ]
    touched = len(json.loads(clew("expand", NAME, "d1", "--json").stdout)["ids"])
    assert touched > 2
    assert f"it made no digest, and touched {touched} messages." in clew("trace", NAME, "d1").stdout


def test_what_is_not_there_tells_what_is(clew: Run):
    for command in (("expand", NAME, "d7"), ("trace", NAME, "d7"), ("trace", NAME, "--report", "d7")):
        assert "there are d1 to d2" in clew(*command).stderr
    assert "d1 made no digest" in clew("expand", NAME, "d1.3").stderr


def test_where_nothing_was_compacted_the_error_says_so():
    session = Session.open("new", MemoryStore())
    session.add(text_message(Role.USER, "hi"))
    with pytest.raises(NotFound, match="nothing was ever compacted"):
        session.expand("d1")


def test_a_digest_is_shown_as_its_model_sees_it(clew: Run, home: Path):
    with SqliteStore(home / "clew.db") as store:
        digest = Session.open(NAME, store).view()[1]
    told = json.loads(clew("show", NAME, digest.id, "--json").stdout)
    assert told["parts"][0]["text"] == digest.message.text
    shown = clew("show", NAME, "d2").stdout
    assert "  d2 ≡ summary\n" in shown
    assert "</clew-digest>" in shown
    assert "m14 is not in view" in clew("show", NAME, "m14").stderr


def test_a_digest_is_part_of_what_is_converted_and_drawn(clew: Run):
    assert "clew-digest" in clew("convert", NAME, "--to", "anthropic").stdout
    assert json.loads(clew("map", NAME, "--json").stdout)["by_kind"]["summary"] > 1_000


def test_undo_names_what_it_took_back_and_what_still_stands(clew: Run, tmp_path: Path):
    packed = tmp_path / "story.clew"
    clew("export", NAME, "-o", str(packed))
    other = str(tmp_path / "other")
    clew("import", str(packed), CLEW_HOME=other)
    first, second = (clew("undo", NAME, CLEW_HOME=other).stdout for _ in range(2))
    assert first.startswith("undone: d2, the compaction of ")
    assert "\nstill in force: d1\n" in first
    assert second.startswith("undone: d1, ")
    assert "\nevery message is in view, unchanged\n" in second


def test_where_the_rules_are_all_there_is_nothing_is_to_gain():
    session = Session.open("short", MemoryStore())
    session.add(text_message(Role.USER, "Never touch legacy/."), text_message(Role.ASSISTANT, "I will not."))
    assert (session.compact(), session.preview()) == (None, None)
    with pytest.raises(NothingToGain, match=r"^nothing to gain: rules and open work alone would take"):
        session.compact(target_tokens=10)


def test_last_messages_that_would_not_stay_verbatim_are_refused_with_a_size_that_does(clew: Run):
    refused = clew("compact", str(EXAMPLE), "--target-tokens", "5000", "--keep", "60")
    assert refused.returncode == 2
    assert "the last 60 messages take" in refused.stderr
    (enough,) = re.findall(r"give at least about ([\d,]+)", refused.stderr)
    for more in (("--target-tokens", enough.replace(",", ""), "--keep", "60"), ("--keep", "2")):
        assert json.loads(clew("compact", str(EXAMPLE), *more, "--json").stdout)["kept"] >= int(more[-1])


def test_a_rule_that_was_taken_off_is_not_taken_off_again(clew: Run, tmp_path: Path):
    own = str(tmp_path / "rules")
    with SqliteStore(Path(own) / "clew.db") as store:
        session = Session.open("demo", store)
        session.pin("Never push.")
    assert clew("pin", "demo", "--off", "p1", CLEW_HOME=own).returncode == 0
    again = clew("pin", "demo", "--off", "p1", CLEW_HOME=own)
    assert (again.returncode, "p1 is no longer in force: revoked" in again.stderr) == (2, True)


def test_the_record_says_what_was_asked_for_and_no_number_of_clews_own(clew: Run, tmp_path: Path):
    run = partial(clew, CLEW_HOME=str(tmp_path))
    run("import", str(EXAMPLE))
    run("compact", NAME)
    run("compact", NAME, "--target-tokens", "9000", "--to", "responses")  # larger as it is sent
    why = [
        line.split("why", 1)[1].strip() for line in run("trace", NAME).stdout.splitlines() if " why " in line
    ]
    assert why == ["manual: the user asked for it", "manual: down to 9,000 tokens, as asked"]


def test_a_view_that_is_mostly_system_prompt_says_so(clew: Run, tmp_path: Path):
    said = "system prompt: never compacted, not counted in a target size"
    talk = [{"role": "system", "content": "Be brief and exact. " * 900}]
    for n in range(40):
        talk.append({"role": "user", "content": f"Read part {n}."})
        talk.append({"role": "assistant", "content": f"Part {n} reads the rates of table {n}. " * 20})
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    shown = clew("compact", str(tmp_path / "talk.json"), "--target-tokens", "2000").stdout
    assert said in " ".join(shown.split())
    assert said not in " ".join(clew("compact", str(EXAMPLE)).stdout.split())
