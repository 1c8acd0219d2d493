"""``clew compact``: what it keeps, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from clew.providers import CheckScope, wire_named
from clew.tokens import counter_for
from tests.cli.conftest import EXAMPLE, Run
from tests.cli.golden.make import SCREEN, body, screen
from tests.session.talk import RULE

SESSION = "mini-swe-agent:sphinx-9229"


@pytest.fixture
def talk(tmp_path: Path) -> str:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(body()))
    return str(path)


def compacted(clew: Run, *args: str, stdin: bytes = b"") -> dict:
    done = clew("compact", *args, "--json", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def refused(found: dict) -> tuple[str, ...]:
    """Return the rules by which the API would refuse what was printed."""
    wire = wire_named(found["wire"])
    sent = {wire.list_key: found["messages"]}
    if found["system"] is not None and wire.system_key:
        sent[wire.system_key] = found["system"]
    report = wire.check(sent, scope=CheckScope.MESSAGES)
    return tuple(report.rule_ids) if report.refused else ()


# What a program gets ---------------------------------------------------------------------------------


def test_the_object_has_everything_a_program_needs(clew: Run, talk: str):
    found = compacted(clew, talk, "--target-tokens", "3000")
    assert found["tokens"]["after"] <= 3000 < found["tokens"]["before"]
    assert found["tokens"]["window"] == 128_000
    assert (found["wire"], found["system"]) == ("anthropic", body()["system"])
    assert found["changed"]
    assert not found["undoable"]
    assert found["plan"]["operations"][0]["does"] == "condense"
    assert found["report"]["report"]["messages_before"] == 86
    assert {"id", "kind", "text", "sources", "trust"} <= found["claims"][0].keys()


def test_a_rule_said_in_passing_stands_word_for_word(clew: Run, talk: str):
    found = compacted(clew, talk, "--target-tokens", "2000")
    assert [pin["quote"] for pin in found["pins"]] == [RULE]
    assert RULE in json.dumps(found["messages"][0], ensure_ascii=False)


@pytest.mark.parametrize("wire", ["anthropic", "openai", "responses", "gemini"])
def test_the_list_is_ready_to_send_in_every_format(wire: str, clew: Run, tmp_path: Path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(body("openai")["messages"]))
    found = compacted(clew, str(path), "--target-tokens", "3000", "--to", wire)
    assert (found["wire"], refused(found)) == (wire, ())


def test_a_provider_list_stays_in_its_own_format(clew: Run, tmp_path: Path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(body("openai")["messages"]))
    found = compacted(clew, str(path), "--target-tokens", "3000")
    assert found["wire"] == "openai"
    assert found["messages"][0] == body("openai")["messages"][0]
    assert found["messages"][-1] == body("openai")["messages"][-1]


def test_the_target_holds_for_the_list_as_it_is_sent(clew: Run, talk: str):
    for target in (1500, 2500, 6000):
        found = compacted(clew, talk, "--target-tokens", str(target))
        sent = wire_named("anthropic").parse(found["messages"])
        assert counter_for("unknown").count_all(sent) <= target


def test_without_a_size_half_is_left_or_less(clew: Run, talk: str):
    tokens = compacted(clew, talk)["tokens"]
    assert tokens["after"] <= tokens["before"] // 2


def test_a_window_is_fitted(clew: Run, talk: str):
    tokens = compacted(clew, talk, "--window", "6000")["tokens"]
    assert tokens["system"] + tokens["after"] < 6000 == tokens["window"]


def test_standard_input_is_read_like_any_file(clew: Run, talk: str):
    piped = compacted(clew, "-", "--target-tokens", "3000", stdin=json.dumps(body()).encode())
    assert {**piped, "session": talk} == compacted(clew, talk, "--target-tokens", "3000")


def test_what_is_small_already_comes_back_as_it_was(clew: Run, talk: str):
    found = compacted(clew, talk, "--target-tokens", "90000")
    assert (found["changed"], found["plan"], found["claims"]) == (False, None, [])
    assert found["messages"] == body()["messages"]


def test_a_compacted_list_can_be_compacted_again_and_its_rule_still_stands(
    clew: Run, talk: str, tmp_path: Path
):
    once = tmp_path / "once.json"
    once.write_text(json.dumps(compacted(clew, talk, "--target-tokens", "5000")["messages"]))
    twice = compacted(clew, str(once), "--target-tokens", "2000")
    assert [pin["quote"] for pin in twice["pins"]] == [RULE]
    assert twice["plan"]["operations"][0]["digest"]["folds"] == ["d1"]


def test_a_model_that_needs_no_network_can_write_the_digest(clew: Run, talk: str):
    found = compacted(clew, talk, "--target-tokens", "3000", "--model", "scripted")
    assert found["attempts"][0]["author"] == "scripted"
    assert found["usage"]["calls"] >= 1
    assert [pin["quote"] for pin in found["pins"]] == [RULE]


def test_the_number_of_messages_to_keep_can_be_named(clew: Run, talk: str):
    few, many = (
        compacted(clew, talk, "--target-tokens", "3000", "--keep", n)["messages"] for n in ("1", "6")
    )
    assert few[-1] == many[-1] == body()["messages"][-1]
    assert many[-6:] == body()["messages"][-6:] != few[-6:]


def test_a_range_of_messages_can_be_named(clew: Run, talk: str):
    found = compacted(clew, talk, "--range", "m2-m20")
    assert refused(found) == ()
    assert found["messages"][-40:] == compacted(clew, talk, "--window", "9000000")["messages"][-40:]
    assert found["tokens"]["after"] < found["tokens"]["before"]
    assert clew("compact", talk, "--focus", "m2-m20").returncode == 2


# What a person sees ----------------------------------------------------------------------------------


def test_the_picture_is_what_it_was():
    assert screen() == SCREEN.read_text(encoding="utf-8")


def test_the_digest_comes_first_and_whole_then_a_summary(clew: Run, talk: str):
    digest = compacted(clew, talk, "--target-tokens", "3000")["digest"]
    shown = clew("compact", talk, "--target-tokens", "3000").stdout
    above, found, below = shown.partition("</clew-digest>\n")
    assert found
    assert f"{above}{found}".split() == digest.split()
    assert max(map(len, above.splitlines())) <= 100
    assert "talk.json · 86 → " in below
    assert "--stats" in below
    assert "before    s" not in below


def test_every_figure_is_shown_on_demand(clew: Run, talk: str):
    shown = clew("compact", talk, "--target-tokens", "3000", "--stats").stdout
    assert shown.startswith("<clew-digest")
    for words in ("before    s", "kept      1 rule", "✓ pins  ✓ open loops"):
        assert words in shown


def test_only_the_digest_is_printed_or_written_if_asked_for(clew: Run, talk: str, tmp_path: Path):
    digest = compacted(clew, talk, "--target-tokens", "3000")["digest"]
    done = clew("compact", talk, "--target-tokens", "3000", "--digest")
    assert (done.stdout, done.stderr) == (f"{digest}\n", "")
    target = tmp_path / "digest.txt"
    clew("compact", talk, "--target-tokens", "3000", "--digest", "-o", str(target))
    assert target.read_text() == done.stdout


def test_the_text_of_a_digest_is_no_list(clew: Run, talk: str):
    for more in (["--json"], ["--to", "openai"]):
        done = clew("compact", talk, "--digest", *more)
        assert (done.returncode, done.stdout, done.stderr.count("clew:")) == (2, "", 1)


def test_where_no_digest_is_needed_that_is_said(clew: Run, talk: str):
    done = clew("compact", talk, "--target-tokens", "90000", "--digest")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no digest: nothing was compacted" in done.stderr
    faded = clew("compact", talk, "--target-tokens", "18000")
    assert "no digest: all messages fit" in faded.stdout
    assert (
        "no digest: all messages fit" in clew("compact", talk, "--target-tokens", "18000", "--digest").stderr
    )
    assert "kept      1 rule" in faded.stdout


def test_an_undone_digest_is_not_shown_as_the_one_in_view(clew: Run, talk: str):
    name = clew("import", talk).stdout.partition(": ")[0]
    clew("compact", name, "--target-tokens", "3000")
    clew("undo", name)
    assert compacted(clew, name, "--target-tokens", "18000")["digest"] is None


def test_a_file_is_never_written_to_and_no_log_is_made(clew: Run, talk: str, tmp_path: Path):
    before = Path(talk).read_bytes()
    done = clew("compact", talk, CLEW_HOME=str(tmp_path / "own"))
    assert done.returncode == 0
    assert f"clew import {talk}" in done.stdout
    assert Path(talk).read_bytes() == before
    assert not (tmp_path / "own").exists()


def test_a_list_is_printed_or_written_where_it_is_wanted(clew: Run, talk: str, tmp_path: Path):
    printed = clew("compact", talk, "--target-tokens", "3000", "--to", "openai")
    target = tmp_path / "smaller.json"
    written = clew("compact", talk, "--target-tokens", "3000", "--to", "openai", "-o", str(target))
    assert json.loads(printed.stdout) == json.loads(target.read_text())
    assert "smaller.json, ready for OpenAI" in written.stdout
    assert target.stat().st_mode & 0o077 == 0


def test_a_file_that_is_there_is_not_overwritten_unasked(clew: Run, talk: str, tmp_path: Path):
    target = tmp_path / "mine.json"
    target.write_text("mine")
    assert clew("compact", talk, "-o", str(target)).returncode == 2
    assert target.read_text() == "mine"
    assert clew("compact", talk, "-o", str(target), "--force").returncode == 0
    assert isinstance(json.loads(target.read_text()), list)


def test_rules_that_do_not_fit_are_one_line_and_nothing_is_printed(clew: Run, talk: str):
    done = clew("compact", talk, "--target-tokens", "20", "--json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "rules and open work alone take" in done.stderr


@pytest.mark.parametrize("size", ["0", "-5", "many"])
def test_a_size_that_is_none_says_so(size: str, clew: Run, talk: str):
    done = clew("compact", talk, "--target-tokens", size)
    assert (done.returncode, done.stdout) == (2, "")
    assert "try: clew help" in done.stderr


def test_a_window_and_a_target_are_one_too_many(clew: Run, talk: str):
    assert "not allowed with" in clew("compact", talk, "--window", "9", "--target-tokens", "9").stderr


def test_a_model_nobody_knows_is_one_line(clew: Run, talk: str):
    done = clew("compact", talk, "--model", "crystal-ball")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_nothing_in_a_session_or_its_name_can_steer_the_terminal(clew: Run, tmp_path: Path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
    said = body()
    said["messages"] = [
        {"role": "user", "content": f"Never touch {evil}legacy/. Always answer in French."},
        {"role": "assistant", "content": f"{evil} understood"},
        *said["messages"][2:],  # type: ignore[index]
    ]
    path = tmp_path / "ev\x1b[2Jil.json"
    path.write_text(json.dumps(said))
    for more in ([], ["--dry-run"]):
        done = clew("compact", str(path), "--target-tokens", "2000", *more)
        assert done.returncode == 0
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(done.stdout + done.stderr)
    assert r"\x1b[2J" in done.stdout


def test_a_forged_digest_cannot_steer_the_terminal_either(clew: Run, tmp_path: Path):
    head = '<clew-digest id="d\x1b[2J" level="0" covers="m1-m3" author="\x1b[2J">'
    forged = f"{head}\nFacts:\n[m1]\n- x\n</clew-digest>"
    path = tmp_path / "forged.json"
    path.write_text(json.dumps([{"role": "user", "content": forged}, *body()["messages"]]))  # type: ignore[misc]
    done = clew("compact", str(path), "--target-tokens", "2500")
    assert "\x1b" not in done.stdout + done.stderr


def test_it_ends_quietly_when_its_reader_leaves(talk: str):
    line = f"{sys.executable} -m clew compact {talk} --target-tokens 3000 | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith('<clew-digest id="d1"')
    assert done.stderr == ""


# A session of clew's log -----------------------------------------------------------------------------


def test_a_session_of_the_log_is_compacted_there(clew: Run):
    clew("import", str(EXAMPLE))
    done = clew("compact", SESSION, "--target-tokens", "15000")
    assert done.returncode == 0
    assert f"clew undo {SESSION}" in done.stdout
    assert len(clew("show", "--json", SESSION).stdout.splitlines()) < 286
    assert clew("audit").returncode == 0


def test_undo_brings_every_message_back(clew: Run):
    clew("import", str(EXAMPLE))
    before = clew("convert", SESSION, "--to", "openai").stdout
    clew("compact", SESSION, "--target-tokens", "15000")
    clew("compact", SESSION, "--target-tokens", "8000")
    assert clew("convert", SESSION, "--to", "openai").stdout != before
    done = json.loads(clew("undo", SESSION, "2", "--json").stdout)
    assert [one["digest"] for one in done["undone"]] == ["d2", "d1"]
    assert clew("convert", SESSION, "--to", "openai").stdout == before


def test_a_dry_run_changes_nothing_and_says_what_would_be_lost(clew: Run):
    clew("import", str(EXAMPLE))
    before = clew("export", SESSION).stdout
    done = clew("compact", SESSION, "--target-tokens", "6000", "--dry-run")
    assert "nothing was changed" in done.stdout
    assert "summarise m2-m" in done.stdout
    assert "exact values" in done.stdout
    assert "tokens of the next request miss the provider's cache" in done.stdout
    assert clew("export", SESSION).stdout == before


def test_a_dry_run_promises_what_is_then_done(clew: Run):
    clew("import", str(EXAMPLE))
    promised = compacted(clew, SESSION, "--target-tokens", "9000", "--dry-run")
    done = compacted(clew, SESSION, "--target-tokens", "9000")
    assert (promised["dry_run"], done["undoable"]) == (True, True)
    assert promised["messages"] == done["messages"]
    assert promised["plan"] == done["plan"]


def test_an_export_is_compacted_without_being_changed(clew: Run, tmp_path: Path):
    clew("import", str(EXAMPLE))
    packed = tmp_path / "story.clew.zst"
    clew("export", SESSION, "-o", str(packed))
    before = packed.read_bytes()
    found = compacted(clew, str(packed), "--target-tokens", "9000")
    assert (found["changed"], found["undoable"]) == (True, False)
    assert packed.read_bytes() == before


def test_a_session_goes_on_after_a_compaction(clew: Run, tmp_path: Path):
    path = tmp_path / "grows.json"
    path.write_text(json.dumps(body()["messages"]))
    name = clew("import", str(path)).stdout.partition(": ")[0]
    assert clew("compact", name, "--target-tokens", "3000").returncode == 0
    assert "nothing new" in clew("import", str(path)).stdout
    path.write_text(json.dumps([*body()["messages"], {"role": "assistant", "content": "All pass."}]))  # type: ignore[misc]
    assert "1 new event" in clew("import", str(path)).stdout
    assert clew("show", name).stdout.rstrip().endswith("All pass.")


def test_whoever_waits_sees_a_bar_on_standard_error_and_nothing_of_it_in_the_output(
    talk: str, tmp_path: Path
):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "clew", "compact", talk, "--json"]
    env = {**os.environ, "TERM": "xterm"}
    with (tmp_path / "out").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=theirs, env=env):
        os.close(theirs)
        drawn = drawn_on(ours)
    assert json.loads((tmp_path / "out").read_bytes())["changed"]
    assert "compacting 86 messages" in drawn


def drawn_on(terminal: int) -> str:
    """Return all that is drawn until nobody draws any more; a terminal that is not read stops who does."""
    drawn = b""
    with suppress(OSError):  # how Linux says that the other end is closed
        while piece := os.read(terminal, 1 << 16):
            drawn += piece
    os.close(terminal)
    return drawn.decode(errors="replace")


def test_a_target_that_is_too_small_is_told_with_one_that_works(clew: Run, talk: str):
    refused = clew("compact", talk, "--target-tokens", "30").stderr
    told = re.search(r": give at least about ([\d,]+)$", refused.strip())
    assert told
    assert "window" not in refused
    assert compacted(clew, talk, "--target-tokens", told[1].replace(",", ""))["changed"]
