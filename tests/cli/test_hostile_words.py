"""Whatever a log says, wherever it says it, no command lets it steer the terminal."""

from __future__ import annotations

import json
import shutil
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from clew.cli import main
from clew.errors import ClewError
from clew.log.store import SqliteStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session

TYPED = "\x1b]0;owned\x07\x1b[2J\x9b31m"
EVIL = f"{TYPED}\u202egnp"
NAME = "main"
OTHER = ".claude/projects/-home/s1.jsonl"
Ran = Callable[..., str]


def story() -> Iterator[Message]:
    """Yield a session whose every word a ledger, a digest or a table may show again."""
    yield text_message(Role.SYSTEM, f"You are careful {EVIL}.")
    yield text_message(Role.USER, f"Tidy up src/{TYPED}.py. Never modify files under legacy/{TYPED}/.")
    yield text_message(
        Role.ASSISTANT, f"I decided to use the table {EVIL} instead. TODO: remove {EVIL} later."
    )
    for n in range(12):
        call = ToolCall(f"c{n}", f"read{EVIL}", {"path": f"src/{EVIL}{n}.py", EVIL: EVIL})
        error = ToolResult(
            call.call_id, (Text(f"Error: {EVIL}{n}\n" + f"port {n} {EVIL} " * 90),), n % 3 == 0
        )
        yield Message(Role.ASSISTANT, (Text(f"I look {EVIL}."), call))
        yield Message(Role.TOOL, (error,))
    yield text_message(Role.ASSISTANT, f"Shall I push {EVIL} to main?")
    yield text_message(Role.USER, f"Yes, go ahead with {TYPED}. The id is {TYPED}4711.")


def put_on_record(session: Session) -> None:
    """Let every kind of event say something that steers."""
    session.record("about", {"model": f"gpt-{EVIL}", "title": EVIL, "directory": f"/home/{EVIL}"})
    session.record("refusal", {"reason": f"no {EVIL}", "trigger": EVIL})
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0}
    session.record("call", {"model": EVIL, "usage": usage, "stop": EVIL})
    session.record("approval", {"answer": EVIL, "tool": EVIL, "call": EVIL})
    session.record("instruction", {"path": f"/{EVIL}/AGENTS.md", "does": EVIL, "why": EVIL})


def damaged(path: Path) -> None:
    """Change a file behind clew's back: an audit quotes what it finds."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f'CREATE TABLE "{EVIL}" (x)')


def of_another_tool(folder: Path) -> None:
    """Lay a session of Claude Code where it would lie, and a damaged one."""
    project = folder / ".claude" / "projects" / "-home"
    project.mkdir(parents=True)
    about = {"sessionId": EVIL, "cwd": f"/{EVIL}", "version": EVIL, "gitBranch": EVIL}
    first = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": EVIL}}
    reply = {"role": "assistant", "model": EVIL, "content": [{"type": EVIL, "text": EVIL}]}
    second = {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": reply}
    odd = [{"type": EVIL, "uuid": EVIL, "parentUuid": EVIL}, {"type": "summary", "summary": EVIL}]
    lines = [json.dumps({**about, **one}) for one in (first, second, *odd)]
    (project / "s1.jsonl").write_text("\n".join([*lines, f'{{"{EVIL}']), "utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return clew's home with one session in it: compacted, undone in part, full of what steers."""
    folder = tmp_path_factory.mktemp("home")
    (folder / f"ev{EVIL}il.md").write_text(f"# {EVIL}\n\nThe port of {EVIL} is 4711.\n")
    with SqliteStore(folder / "clew.db") as store, Session.open(NAME, store, window=9_000) as session:
        session.add(*story())
        session.pin(f"Ask before you touch {TYPED}.")
        for target in (5_000, 3_000):
            session.compact(target_tokens=target, focus=f"the port of {EVIL}")
        session.add(*story())
        session.compact(target_tokens=3_500)
        session.undo()
        put_on_record(session)
        with suppress(ClewError):
            session.memory.catch_up()
        session.memory.moves()
    of_another_tool(folder)
    chat = f"# aider chat started at {EVIL}\n\n#### {TYPED}  \n\n"
    (folder / "chats.md").write_text(chat * 2, "utf-8")
    shutil.copy(folder / "clew.db", folder / "damaged.db")
    damaged(folder / "damaged.db")
    request = [
        {"role": "user", "content": "hi", EVIL: 1},
        {"role": EVIL, "tool_call_id": EVIL, "content": EVIL},
    ]
    (folder / "request.json").write_text(json.dumps(request))
    (folder / "clew.toml").write_text(f"summariser = {json.dumps(EVIL)}\n{json.dumps(EVIL)} = 1\n")
    return folder


@pytest.fixture
def clew(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    monkeypatch.setenv("CLEW_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(home)

    def run(*words: str) -> str:
        with suppress(SystemExit):  # how the parser ends
            main(words)
        out, err = capsys.readouterr()
        return out + err

    return run


def steering(text: str) -> set[str]:
    """Return what of a text a terminal would obey."""
    return {
        c for c in text if c not in "\n\t" and (unicodedata.category(c) == "Cc" or c in "\u202e\u2066\u200f")
    }


LOOKS = [
    ("show", NAME),
    ("show", NAME, "--full"),
    ("show", OTHER),
    ("show", "chats.md"),
    ("map", "chats.md"),
    ("convert", "chats.md", "--to", "openai"),
    ("map", OTHER),
    ("check", OTHER),
    ("convert", OTHER, "--to", "openai", "-o", "/dev/null"),
    ("compact", OTHER, "--dry-run"),
    ("import", OTHER),
    ("map", NAME),
    ("sessions",),
    ("sessions", "--paths"),
    ("check", NAME),
    ("trace", NAME),
    ("trace", NAME, "m2"),
    ("trace", NAME, "m6"),
    ("trace", NAME, "p1"),
    ("trace", NAME, "d1"),
    ("trace", NAME, "--report", "d1"),
    ("trace", NAME, "--report", "d2"),
    ("expand", NAME, "m2"),
    ("expand", NAME, "m5"),
    ("expand", NAME, "d1"),
    ("expand", NAME, "d2"),
    ("expand", NAME, "d2.1"),
    ("expand", NAME, "p1"),
    ("pin", NAME),
    ("pin", NAME, EVIL + " stays"),
    ("pin", NAME, "--off", EVIL),
    ("compact", NAME, "--dry-run", "--target-tokens", "1500"),
    ("compact", NAME, "--dry-run", "--target-tokens", "1500", "--focus", EVIL),
    ("compact", NAME, "--dry-run", "--target-tokens", "1"),
    ("progress", NAME),
    ("stats", NAME),
    ("stats",),
    ("audit",),
    ("audit", EVIL),
    ("audit", "damaged.db"),
    ("check", "request.json", "--wire", "openai"),
    ("check", "request.json", "--wire", "anthropic"),
    ("export", NAME, "-o", f"{EVIL}/there"),
    ("show", NAME, f"--{EVIL}"),
    ("recall", "port"),
    ("recall", EVIL),
    ("recall", "--open", EVIL),
    ("notes", "list"),
    ("notes", "add", f"note {EVIL}"),
    ("notes", "forget", EVIL),
    ("notes", "history", EVIL),
    ("knowledge", "index", "."),
    ("knowledge", "list"),
    ("knowledge", "search", "port"),
    ("knowledge", "search", EVIL),
    ("undo", EVIL),
    ("export", EVIL),
    ("show", EVIL),
    ("show", NAME, EVIL),
    ("expand", NAME, EVIL),
    ("trace", NAME, EVIL),
    ("import", EVIL),
    ("secrets", EVIL),
    ("convert", NAME, "--to", "openai", "--session", EVIL),
    ("config",),
    ("eval", EVIL),
    (EVIL,),
]


@pytest.mark.parametrize("words", LOOKS, ids=lambda words: " ".join(map(ascii, words)))
def test_no_command_prints_what_would_steer_a_terminal(clew: Ran, words: tuple[str, ...]):
    told = clew(*words)
    assert (bool(told), steering(told)) == (True, set())


def test_a_session_whose_id_would_steer_is_imported_under_one_that_does_not(clew: Ran):
    told = clew("import", OTHER)
    assert told.startswith("claude-code:\\x1b]0;owned")
    assert " in all" in told


SECRET = "ghp_9aB3cD4eF5gH6iJ7kL8mN9oP0qR1sT2uV3wX"


@pytest.mark.parametrize("command", ["map", "trace", "show", "rules", "expand"])
def test_no_command_shows_a_secret_of_a_file(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": f"use {SECRET}"}}
    messages = [
        {"role": "user", "content": f"Never deploy with {SECRET} to staging." + " Go on." * 120},
        {"role": "assistant", "content": [{"type": "text", "text": "x" * 170 + f" {SECRET}"}, call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": f"used {SECRET}"}],
        },
    ]
    Path("m.json").write_text(json.dumps(messages))
    main([command, "m.json", *(["m1"] if command == "expand" else [])])
    shown = capsys.readouterr()
    assert SECRET[:12] not in shown.out + shown.err


@pytest.mark.parametrize("command", [("show", "m.json"), ("expand", "m.json", "m1"), ("rules", "m.json")])
def test_json_output_shows_no_secret_either(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(
        json.dumps([{"role": "user", "content": f"Never deploy with {SECRET} to staging."}])
    )
    main([*command, "--json"])
    shown = capsys.readouterr().out
    assert SECRET[:12] not in shown
    assert "[secret:" in shown
    assert all(json.loads(line) for line in shown.splitlines())
