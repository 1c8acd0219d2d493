"""What people meet first: help, mistakes, and output that other programs can read."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from clew.cli.anatomy import Anatomy, SizedPart
from clew.cli.commands import COMMANDS
from tests.cli.conftest import EXAMPLE, ROOT, Run

sys.path.insert(0, str(ROOT / "scripts"))

import cli_page

CALL = {"id": "toolu_1", "name": "read", "input": {"path": "a.py"}, "type": "tool_use"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "import x"}
WHOLE = [
    {"role": "user", "content": "fix the parser"},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]
BROKEN = [*WHOLE[:2], {"role": "user", "content": "and?"}]


def write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_command_teaches_itself_with_examples(command, clew: Run):
    done = clew("help", command.name)
    assert done.returncode == 0
    assert f"usage: clew {command.name}" in done.stdout
    assert f"examples:\n  clew {command.name}" in done.stdout


def test_the_page_of_commands_is_fresh():
    assert cli_page.PAGE.read_text(encoding="utf-8") == cli_page.page()


def test_without_a_command_it_says_where_to_start(clew: Run):
    done = clew()
    assert done.returncode == 0
    assert "start here:" in done.stdout


def test_a_mistyped_command_says_what_to_try(clew: Run):
    done = clew("shwo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "clew: unknown command 'shwo': did you mean show? `clew help` lists the commands\n"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["show", "map", "check", "import"])
def test_a_file_that_is_not_there_is_one_line(command: str, clew: Run):
    done = clew(command, "nothing.jsonl")
    assert done.returncode == 2
    assert done.stderr.startswith("clew: no file 'nothing.jsonl'")
    assert done.stderr.count("\n") == 1


def test_a_file_of_no_known_format_says_what_was_seen(clew: Run, tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    done = clew("show", str(path))
    assert done.returncode == 2
    assert "dear diary" in done.stderr
    assert "--format" in done.stderr


@pytest.mark.parametrize("command", [["show"], ["map"], ["check"], ["convert", "--to", "openai"], ["import"]])
def test_json_nested_without_end_is_one_line_too(command: list[str], clew: Run, tmp_path: Path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    done = clew(*command, str(path))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_show_prints_one_neutral_message_a_line(clew: Run, tmp_path: Path):
    done = clew("show", "--json", write(tmp_path / "m.json", WHOLE))
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[0]["parts"] == [{"type": "text", "text": "fix the parser", "trust": "user"}]
    assert messages[1]["parts"][0]["arguments"] == {"path": "a.py"}
    assert messages[2]["parts"][0]["parts"] == [{"type": "text", "text": "import x", "trust": "untrusted"}]


def test_show_reads_standard_input_and_compressed_files(clew: Run, tmp_path: Path):
    plain = json.dumps(WHOLE).encode()
    expected = [
        json.loads(line)["parts"] for line in clew("show", "--json", "-", stdin=plain).stdout.splitlines()
    ]
    packed = tmp_path / "m.json.gz"
    packed.write_bytes(gzip.compress(plain))
    again = [json.loads(line)["parts"] for line in clew("show", "--json", str(packed)).stdout.splitlines()]
    assert len(expected) == 3
    assert again == expected


def test_show_never_lets_a_transcript_steer_the_terminal(clew: Run, tmp_path: Path):
    evil = "\x1b]0;owned\x07\x1b[2Jhello\u202egnp.exe"
    done = clew("show", write(tmp_path / "m.json", [{"role": "user", "content": evil}]))
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert r"\x1b]0;owned\x07\x1b[2Jhello\x202egnp.exe" in done.stdout


def test_show_ends_quietly_when_its_reader_leaves(clew: Run):
    import subprocess

    line = f"{sys.executable} -m clew show --json {EXAMPLE} | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["role"] == "system"
    assert done.stderr == ""


def test_map_weighs_the_example(clew: Run):
    figures = json.loads(clew("map", "--json", str(EXAMPLE)).stdout)
    assert (figures["messages"], figures["unpaired"], figures["widest_atom"]) == (286, 0, 2)
    assert sum(figures["by_kind"].values()) == figures["tokens"]


def test_check_accepts_what_the_api_accepts(clew: Run, tmp_path: Path):
    done = clew("check", write(tmp_path / "m.json", WHOLE))
    assert done.returncode == 0
    assert "would accept this" in done.stdout


def test_check_refuses_a_call_without_its_result_and_names_the_rule(clew: Run, tmp_path: Path):
    path = write(tmp_path / "m.json", BROKEN)
    done = clew("check", path)
    assert done.returncode == 1
    assert "A1" in done.stdout
    found = json.loads(clew("check", path, "--json").stdout)
    assert (found["wire"], found["refused"], found["rules"]) == ("anthropic", True, ["A1"])


def test_check_reads_json_lines_as_one_list(clew: Run, tmp_path: Path):
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f"{json.dumps(message)}\n" for message in BROKEN))
    assert json.loads(clew("check", str(path), "--json").stdout)["rules"] == ["A1"]


def test_check_reads_json_lines_whose_first_line_is_long(clew: Run, tmp_path: Path):
    path = tmp_path / "m.jsonl"
    long = [{"role": "user", "content": "word " * 40_000}, *BROKEN[1:]]
    path.write_text("".join(f"{json.dumps(message)}\n" for message in long))
    assert json.loads(clew("check", str(path), "--json").stdout)["rules"] == ["A1"]


def test_check_judges_a_whole_body_with_its_fields(clew: Run, tmp_path: Path):
    body = {"model": "claude-sonnet-4-5", "messages": WHOLE}
    assert "A12" in json.loads(clew("check", write(tmp_path / "b.json", body), "--json").stdout)["rules"]
    body["max_tokens"] = 1000
    assert json.loads(clew("check", write(tmp_path / "b.json", body), "--json").stdout)["rules"] == []


@pytest.mark.parametrize("wire", ["anthropic", "openai", "responses", "gemini"])
def test_what_convert_prints_would_be_taken(wire: str, clew: Run, tmp_path: Path):
    done = clew("convert", str(EXAMPLE), "--to", wire)
    assert done.returncode == 0
    listed = tmp_path / "list.json"
    listed.write_text(done.stdout)
    assert json.loads(clew("check", str(listed), "--wire", wire, "--json").stdout)["rules"] == []


def test_convert_gives_an_untouched_list_back_as_it_was(clew: Run, tmp_path: Path):
    assert json.loads(clew("convert", write(tmp_path / "m.json", WHOLE), "--to", "anthropic").stdout) == WHOLE


def test_convert_strict_prints_nothing_where_something_is_lost(clew: Run, tmp_path: Path):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    said = [WHOLE[0], {"role": "assistant", "content": [thinking, {"type": "text", "text": "done"}]}]
    path = write(tmp_path / "m.json", said)
    assert "thinking" in clew("convert", path, "--to", "openai").stderr
    done = clew("convert", path, "--to", "openai", "--strict")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_file_of_several_sessions_asks_which(clew: Run, tmp_path: Path):
    path = tmp_path / ".aider.chat.history.md"
    head = "\n# aider chat started at 2026-01-0{}\n\n#### hello {}\n\nhi\n"
    path.write_text(head.format(1, "one") + head.format(2, "two"))
    done = clew("convert", str(path), "--to", "openai")
    assert done.returncode == 2
    assert "holds 2 sessions: name one with --session" in done.stderr


@pytest.mark.parametrize("command", ["convert", "map"])
def test_a_session_of_several_can_be_named_as_it_is_listed(command: str, clew: Run, tmp_path: Path):
    path = tmp_path / f"{'a-name-that-is-long-' * 4}.aider.chat.history.md"
    head = "\n# aider chat started at 2026-01-0{}\n\n#### hello {}\n\nhi\n"
    path.write_text("".join(head.format(n, n) for n in range(1, 6)))
    asked = ["convert", str(path), "--to", "openai"] if command == "convert" else ["map", str(path)]
    listed = clew(*asked)
    told = (
        listed.stderr.rpartition("--session: ")[2].split(", ")
        if command == "convert"
        else listed.stdout.split()
    )
    last = [one.strip() for one in told if one.startswith("a-name")][-1]
    assert clew(*asked, "--session", last).returncode == 0


def test_sessions_finds_what_is_on_this_computer(clew: Run, tmp_path: Path):
    project = tmp_path / "home" / ".claude" / "projects" / "-home-me-app"
    project.mkdir(parents=True)
    line = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s1",
        "cwd": "/home/me/app",
        "message": {"role": "user", "content": "fix the parser"},
    }
    (project / "s1.jsonl").write_text(json.dumps(line) + "\n")
    (found,) = json.loads(clew("sessions", "--json").stdout)
    assert (found["tool"], found["path"], found["title"]) == (
        "claude-code",
        str(project / "s1.jsonl"),
        "fix the parser",
    )
    assert "fix the parser" in clew("sessions").stdout


def test_sessions_says_so_where_there_are_none(clew: Run):
    assert clew("sessions").stdout.startswith("No sessions found.")


def claude_session(home: Path, name: str, *lines: dict[str, object]) -> Path:
    project = home / ".claude" / "projects" / "-home-me-app"
    project.mkdir(parents=True, exist_ok=True)
    path = project / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def said(uuid: str, parent: str | None, words: str) -> dict[str, object]:
    message = {"role": "user", "content": words}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}


def test_an_id_that_sessions_lists_is_taken_by_other_commands(clew: Run, tmp_path: Path):
    claude_session(tmp_path / "home", "0d6c1111-2222", said("u1", None, "fix the parser"))
    (listed,) = json.loads(clew("sessions", "--json").stdout)
    assert clew("show", "--json", listed["id"]).stdout
    assert json.loads(clew("show", "--json", "0d6c11").stdout)["parts"][0]["text"] == "fix the parser"


def test_sessions_keeps_to_its_limit_and_refuses_nonsense(clew: Run, tmp_path: Path):
    for n in range(3):
        claude_session(tmp_path / "home", f"session-{n}", said("u1", None, f"words {n}"))
    assert len(json.loads(clew("sessions", "--json", "--limit", "2").stdout)) == 2
    assert clew("sessions", "--limit", "-3").returncode == 2


@pytest.mark.parametrize("command", [["map"], ["convert", "--to", "openai"], ["check"], ["import"]])
def test_a_line_that_could_not_be_read_is_always_said(command: list[str], clew: Run, tmp_path: Path):
    path = claude_session(tmp_path / "home", "torn", said("u1", None, "one"), said("u2", "u1", "two"))
    path.write_text(path.read_text() + '{"type": "user", "uu')
    assert "line 3" in clew(*command, str(path)).stderr


def test_convert_strict_refuses_a_file_that_was_not_read_whole(clew: Run, tmp_path: Path):
    path = claude_session(tmp_path / "home", "torn", said("u1", None, "one"))
    path.write_text(path.read_text() + '{"type": "user", "uu')
    done = clew("convert", str(path), "--to", "openai", "--strict")
    assert (done.returncode, done.stdout) == (2, "")


def test_show_keeps_tabs_and_blank_lines_of_code(clew: Run, tmp_path: Path):
    code = "func f() {\n\tif a {\n\n\t\treturn 1\n\t}\n}"
    shown = clew("show", write(tmp_path / "m.json", [{"role": "user", "content": code}])).stdout.splitlines()
    assert shown[2:] == [
        "     func f() {",
        "         if a {",
        "",
        "             return 1",
        "         }",
        "     }",
    ]


def test_a_body_for_claude_is_checked_as_claudes(clew: Run, tmp_path: Path):
    body = {
        "model": "claude-opus-4-5",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "trailing space "}],
    }
    found = json.loads(clew("check", write(tmp_path / "b.json", body), "--json").stdout)
    assert (found["wire"], found["rules"]) == ("anthropic", ["A8"])


def test_check_says_when_a_request_is_longer_than_the_window(clew: Run, tmp_path: Path):
    body = {
        "model": "claude-opus-4-5",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "the log is the truth " * 60_000}],
    }
    assert "exceed the 200,000 of claude-opus-4-5" in clew("check", write(tmp_path / "b.json", body)).stderr


def test_a_file_name_cannot_steer_the_terminal_either(clew: Run, tmp_path: Path):
    path = tmp_path / "\x1b[2Jevil.json"
    path.write_text("")
    assert "\x1b" not in clew("show", str(path)).stderr


def test_map_tells_what_the_model_sees_now_from_what_was_said_in_all(clew: Run, tmp_path: Path):
    long = "word " * 2000
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "sessionId": "s",
    }
    summary = {**said("c", "b", "a summary"), "isCompactSummary": True}
    path = claude_session(tmp_path / "home", "long", said("u1", None, long), boundary, summary)
    figures = json.loads(clew("map", "--json", str(path)).stdout)
    assert figures["tokens_now"] < 100
    assert figures["tokens"] >= 2000
    assert "compacted 1 time by its tool" in clew("map", str(path)).stdout


def test_formats_lists_every_reader(clew: Run):
    names = {row["name"] for row in json.loads(clew("formats", "--json").stdout)}
    assert {"claude-code", "codex", "gemini-cli", "opencode", "pi", "aider", "anthropic", "openai"} <= names


def test_growth_is_read_at_the_end_of_each_column():
    pieces = [SizedPart("user", tokens, number) for number, tokens in enumerate((10, 20), start=1)]
    assert Anatomy(messages=2, pieces=pieces).growth(2) == [10, 30]
    assert Anatomy(messages=2, pieces=pieces).growth(4) == [10, 10, 30, 30]
