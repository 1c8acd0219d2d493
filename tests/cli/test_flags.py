"""The command line as one thing: groups, suggestions, the same flags on all commands, narrow terminals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.cli.commands import COMMANDS, GROUPS, options, overview, parse, subcommands
from clew.cli.text import NARROW, hanging
from tests.cli.conftest import EXAMPLE, Run

RUNNING = {"chat", "demo", "serve", "hook", "mcp", "proxy", "inspect"}
"""Commands that print no result that could be written to a file or be JSON."""


def test_help_has_five_groups_and_every_command_is_in_one():
    assert len(GROUPS) == 5
    assert sorted(COMMANDS) == sorted(one.name for group in GROUPS.values() for one in group)


@pytest.mark.parametrize("columns", ["1", "7", "17", "22", "30"])
def test_help_is_printed_in_the_narrowest_terminal(columns: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert all(f"\n  {name}" in overview() for name in COMMANDS)
    for command in COMMANDS.values():
        assert "None" not in command.parser().format_help().partition("\n\n")[0]


def test_the_usage_in_a_narrow_terminal_names_the_choices(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    usage = COMMANDS["bench"].parser().format_help().partition("\n")[0]
    assert usage == "usage: clew bench [OPTIONS] {retrieval}"


def test_help_of_an_action_is_the_action_s(clew: Run):
    assert clew("help", "notes", "add").stdout == clew("notes", "add", "--help").stdout
    assert clew("help", "notes", "nothing").stdout == clew("notes", "--help").stdout
    assert clew("help", "proxy", "run").stdout == clew("proxy", "--help").stdout


@pytest.mark.parametrize("columns", ["40", "80", "100"])
def test_the_overview_fits(columns: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert [line for line in overview().splitlines() if len(line) > int(columns)] == []


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_the_help_of_a_command_fits_a_narrow_terminal(command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = command.parser().format_help().splitlines()
    # A single word, such as a path or an address, stays whole: it must stay copyable.
    assert [line for line in lines if len(line) > 40 and len(line.rstrip(" \\").split()) > 1] == []


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_command_that_prints_a_result_has_the_same_flags(command):
    if command.name in RUNNING:
        return
    parser = command.parser()
    for one in subcommands(parser).values() or [parser]:
        assert {"-o", "--output", "--force"} <= options(one)
        assert "--json" in options(one) or command.name == "export"  # an export is JSON lines


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("compcat", "x"), "did you mean compact"),
        (("compact", "x", "--targt-tokens", "3"), "did you mean --target-tokens"),
        (("notes", "--josn"), "did you mean --json"),
        (("notes", "apporve", "w1"), "did you mean approve"),
        (("convert", str(EXAMPLE), "--to", "opnai"), "did you mean openai"),
        (("show", "examples/sphinx-9229.traj.json.zts"), "no file"),
    ],
)
def test_a_mistyped_word_is_corrected(words: tuple[str, ...], meant: str, clew: Run):
    done = clew(*words)
    assert done.returncode == 2
    assert meant in done.stderr


def test_a_mistyped_file_name_is_corrected(clew: Run, tmp_path: Path):
    (tmp_path / "session.jsonl").write_text("{}")
    assert "did you mean session.jsonl?" in clew("show", "sesion.jsonl").stderr


def test_notes_alone_lists_them(clew: Run):
    clew("notes", "add", "Use uv, never pip.")
    assert "Use uv, never pip." in clew("notes").stdout
    assert clew("notes").stdout == clew("notes", "list").stdout
    assert len(json.loads(clew("notes", "--json").stdout)["notes"]) == 1
    assert "usage: clew notes" in clew("notes", "--help").stdout


def test_an_option_may_come_before_the_action(clew: Run):
    assert json.loads(clew("notes", "--json", "add", "Use uv.").stdout)
    moved = parse(["notes", "--session", "add", "show", "w1"])[1]
    assert (moved.action, moved.session, moved.note) == ("show", "add", "w1")
    assert parse(["notes", "--session", "add"])[1].action == "list"


def test_knowledge_alone_lists_the_documents(clew: Run):
    assert clew("knowledge").stdout == clew("knowledge", "list").stdout


def test_output_goes_to_a_file_that_only_its_owner_reads(clew: Run, tmp_path: Path):
    done = clew("map", str(EXAMPLE), "--json", "-o", "map.json")
    path = tmp_path / "map.json"
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(path.read_text())["messages"] == 286
    assert path.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.part"))


def test_a_file_is_not_overwritten_unless_forced(clew: Run, tmp_path: Path):
    path = tmp_path / "formats.txt"
    path.write_text("mine")
    done = clew("formats", "-o", "formats.txt")
    assert (done.returncode, path.read_text()) == (2, "mine")
    assert "--force" in done.stderr
    assert clew("formats", "-o", "formats.txt", "--force").returncode == 0
    assert "claude-code" in path.read_text()


def test_a_command_that_fails_writes_no_file(clew: Run, tmp_path: Path):
    assert clew("map", "nothing.jsonl", "-o", "map.txt").returncode == 2
    assert not list(tmp_path.glob("map.txt*"))


def test_a_session_can_be_given_as_a_flag(clew: Run):
    clew("import", str(EXAMPLE))
    name = "mini-swe-agent:sphinx-9229"
    assert clew("stats", "--session", name, "--json").stdout == clew("stats", name, "--json").stdout
    assert clew("trace", "--session", name).stdout == clew("trace", name).stdout
    assert clew("pin", f"--session={name}", "Ask before you push.").returncode == 0
    assert "Ask before you push." in clew("rules", "--session", name).stdout


@pytest.mark.parametrize("command", ["show", "expand", "trace"])
def test_a_session_given_as_a_flag_leaves_the_reference(command: str, clew: Run):
    clew("import", str(EXAMPLE))
    name = "mini-swe-agent:sphinx-9229"
    asked = clew(command, name, "m12")
    assert asked.returncode == 0
    for words in (("--session", name, "m12"), ("m12", f"--session={name}")):
        assert clew(command, *words).stdout == asked.stdout


def test_a_file_named_like_a_reference_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert parse(["show", "m12", "--session", "second"])[1].file == "second"
    (tmp_path / "m12").touch()
    assert parse(["show", "m12", "--session", "second"])[1].file == "m12"


def test_a_flag_of_that_name_still_chooses_in_a_file(clew: Run, tmp_path: Path):
    path = tmp_path / ".aider.chat.history.md"
    head = "\n# aider chat started at 2026-01-0{}\n\n#### hello {}\n\nhi\n"
    path.write_text(head.format(1, "one") + head.format(2, "two"))
    asked = clew("convert", str(path), "--to", "openai").stderr
    second = asked.rpartition("--session: ")[2].split(", ")[1].strip()
    assert "two" in clew("convert", str(path), "--to", "openai", "--session", second).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("map", str(EXAMPLE)),
        ("compact", str(EXAMPLE), "--target-tokens", "2000", "--stats"),
        ("compact", str(EXAMPLE), "--dry-run"),
        ("check", str(EXAMPLE)),
        ("formats",),
        ("config",),
        ("lost", str(EXAMPLE)),
        ("bill", str(EXAMPLE)),
        ("doctor",),
        ("notes",),
        ("audit",),
        ("stats",),
        ("sessions",),
    ],
)
def test_output_fits_forty_columns(words: tuple[str, ...], clew: Run):
    clew("notes", "add", "Use uv, never pip, in each of the projects of this computer.")
    done = clew(*words, COLUMNS="40")
    lines = (done.stdout + done.stderr).splitlines()
    assert lines
    assert [line for line in lines if len(line) > 40 and len(line.split()) > 1] == []


def test_a_long_line_continues_below_its_last_column():
    assert hanging("p1   never modify files under legacy/ ever", 24) == (
        "p1   never modify files\n     under legacy/ ever"
    )
    assert hanging("- one two three four", 12) == "- one two\n  three four"


def test_a_wide_terminal_wraps_by_itself():
    assert hanging("word " * 100, NARROW) == "word " * 100


def test_a_word_longer_than_a_line_stays_whole():
    assert hanging("see /a/very/long/path/that/does/not/fit now", 20).split("\n") == [
        "see",
        "/a/very/long/path/that/does/not/fit",
        "now",
    ]


@pytest.mark.parametrize("number", ["1", "2"])
def test_undo_takes_a_number_or_all_not_both(clew: Run, number: str):
    done = clew("undo", "s1", number, "--all")
    assert (done.returncode, "not allowed with" in done.stderr) == (2, True)


@pytest.mark.parametrize("share", ["7", "nan", "-0.1", "1", "much"])
def test_a_share_outside_the_window_is_refused(share: str, clew: Run):
    done = clew("serve", "--ahead", share)
    assert (done.returncode, f"{share} is not a share between 0 and 1" in done.stderr) == (2, True)


@pytest.mark.parametrize(("text", "share"), [("0", 0.0), ("0.5", 0.5)])
def test_compaction_ahead_can_be_switched_off(text: str, share: float):
    assert COMMANDS["serve"].parser().parse_args(["--ahead", text]).ahead == share
