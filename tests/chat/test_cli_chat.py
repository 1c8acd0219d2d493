"""``clew chat`` as a person and as a script meet it: a real process, a real terminal, a real kill -9."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anthropic
import pexpect
import pytest

from clew.log import check_session
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.message import Role
from clew.session import Session
from clew.testing import BrokenStream, ScriptedServer
from tests.cli.conftest import run_here
from tests.cli.homes import CLAUDE, claude_session

PROMPT = "› "
FACT = (
    "Part {0} is {0}7 mm wide and {0}3 mm high, as Anna told Bert when they met in the old hall. "
    "Its drawing is number {0}9 on sheet {0}, its colour is code {0}1, and batch {0}5 holds the spare ones."
)


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which nothing of this computer's owner is found."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {
        **kept,
        "CLEW_HOME": str(home),
        "HOME": str(home),
        "PYTHONUTF8": "1",
        "TERM": "dumb",
        "OLLAMA_HOST": "127.0.0.1:9",
        "CLEW_MODEL_KEY": "none",
    }


def piped(home: Path, lines: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Chat by a script, in this process."""
    return run_here(["chat", *args], environment(home), home, lines.encode())


def test_a_chat_on_a_session_that_its_tool_compacted_goes_on_from_what_its_model_sees(tmp_path: Path):
    path = tmp_path / f"{CLAUDE}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in claude_session().records))
    for times in (1, 2):
        piped(tmp_path, f"Look {times}.\n", str(path), "--offline")
    with SqliteStore(tmp_path / "clew.db") as store:
        (name,) = [info.session for info in store.sessions("local") if info.session.startswith("chat")]
        with Session.open(name, store) as session:
            seen, whole = [item.id for item in session.view()], len(list(session.originals()))
            assert [item.message.text for item in session.originals()].count("Look 2.") == 1
    assert seen[0] == "c1"
    assert len(seen) < whole / 2


def piped_process(home: Path, lines: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Chat by a script, in a process of its own."""
    command = [sys.executable, "-m", "clew", "chat", *args]
    return subprocess.run(
        command,
        input=lines,
        capture_output=True,
        text=True,
        env=environment(home),
        cwd=home,
        check=False,
        timeout=120,
    )


@contextmanager
def terminal(home: Path, *args: str, **settings: str) -> Iterator[pexpect.spawn]:
    """Chat at a terminal, with settings by their environment variables."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "clew", "chat", *args],
        env={**environment(home), **settings},
        cwd=str(home),
        encoding="utf-8",
        dimensions=(50, 240),
        timeout=120,
        # A test run in the background ignores Ctrl-C, and a child would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        child.expect(PROMPT)
        yield child
    finally:
        child.close(force=True)


def say(child: pexpect.spawn, line: str) -> str:
    """Type a line; return what is shown up to the next prompt."""
    child.sendline(line)
    child.expect(PROMPT)
    return str(child.before)


def opened(home: Path, name: str) -> Session:
    return Session.open(name, SqliteStore(home / "clew.db"))


# By a script -----------------------------------------------------------------------------------------


def test_lines_are_turns_and_commands_and_quit_ends(tmp_path: Path):
    lines = "The port is 8123.\nWhat is the port?\n/pins\n/quit\nnever read\n"
    done = piped_process(tmp_path, lines, "work", "--offline")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Noted [m1].",
        '[m1] you said: "The port is 8123."',
        "no rules are in force; /pin sets one, and clew finds those in your messages",
    ]
    assert "not a language model" in done.stderr


def test_the_end_of_the_input_ends_the_chat_and_a_name_resumes_it(tmp_path: Path):
    piped(tmp_path, "The port is 8123.", "work", "--offline")
    assert (
        piped(tmp_path, "what is the port?", "work", "--offline").stdout
        == '[m1] you said: "The port is 8123."\n'
    )


def test_a_session_is_resumed_by_its_name_also_beside_a_folder_of_that_name(tmp_path: Path):
    piped(tmp_path, "The port is 8123.", "work", "--offline")
    (tmp_path / "work").mkdir()
    done = piped(tmp_path, "what is the port?", "work", "--offline")
    assert done.stdout == '[m1] you said: "The port is 8123."\n'


def test_with_no_history_the_first_request_is_a_plain_clients_and_tools_come_with_the_second(tmp_path: Path):
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    with ScriptedServer("Hello.", "Plain.", "Fine.", "Again.", "Files.") as server:
        model = ["--model", "anthropic/claude-test", "--base-url", server.url]
        first = run_here(["chat", "new", *model], environment(home), work, b"hi\n")
        assert first.returncode == 0, first.stderr
        fields = {name: server.requests[0].body[name] for name in ("model", "max_tokens")}
        plain = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        with plain.messages.stream(**fields, messages=[{"role": "user", "content": "hi"}]) as stream:
            stream.until_done()
        run_here(["chat", "new", *model], environment(home), work, b"and now?\n")
        run_here(["chat", "another", *model], environment(home), work, b"hi\n")
        run_here(["chat", "files", *model, "--root", "."], environment(home), tmp_path, b"hi\n")
    ours, theirs, second, another, files = server.requests
    assert ours.raw == theirs.raw
    for later in (second, another, files):  # more to say, a session to recall, files to work on
        assert {"system", "tools"} <= later.body.keys()


@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_the_first_request_of_a_new_chat_with_everything_off_is_a_plain_clients(tmp_path: Path, how: str):
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    (home / "clew.toml").write_text("off = true" if how == "file" else "")
    with ScriptedServer("Hello.", "Plain.") as server:
        model = ["--model", "anthropic/claude-test", "--base-url", server.url]
        env = environment(home) | ({"CLEW_OFF": "1"} if how == "variable" else {})
        done = run_here(["chat", "new", *model, *(["--off"] * (how == "flag"))], env, work, b"hi\n")
        assert done.returncode == 0, done.stderr
        (ours,) = server.requests
        plain = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
        fields = {name: ours.body[name] for name in ("model", "max_tokens")}
        with plain.messages.stream(**fields, messages=[{"role": "user", "content": "hi"}]) as stream:
            stream.until_done()
    assert server.requests[1].raw == ours.raw
    assert sorted(ours.body) == ["max_tokens", "messages", "model", "stream"]
    assert "everything off" in done.stderr


def test_a_mistyped_command_is_told_and_the_chat_goes_on(tmp_path: Path):
    done = piped(tmp_path, "/nites\n/xyzzy\nThe port is 1.\n", "--offline")
    assert done.stdout.splitlines() == [
        "✗ unknown command '/nites': did you mean /notes?",
        "✗ unknown command '/xyzzy': /help lists the commands",
        "Noted [m1].",
    ]


def test_the_last_chat_is_resumed_and_a_fork_goes_its_own_way(tmp_path: Path):
    piped(tmp_path, "The port is 8123.\n/compact\n", "--offline")
    resumed = piped(tmp_path, "what is the port?\nThe port is 9.\n", "--offline", "--resume")
    assert resumed.stdout.splitlines()[0] == '[m1] you said: "The port is 8123."'
    name = re.search(r"saved as (\S+);", resumed.stderr)[1]
    fork = piped(tmp_path, "The host is x.\n", "--offline", "--fork", name)
    assert f"saved as {name}-fork" in fork.stderr
    assert len(opened(tmp_path, name).view()) + 2 == len(opened(tmp_path, f"{name}-fork").view())


def test_a_transcript_can_be_talked_about(tmp_path: Path):
    path = tmp_path / "old.json"
    path.write_text(
        '[{"role": "user", "content": "The port is 8123."}, {"role": "assistant", "content": "Fine."}]'
    )
    assert piped(tmp_path, "what is the port?", str(path), "--offline").stdout == (
        '[m1] you said: "The port is 8123."\n'
    )
    again = piped(tmp_path, "/progress", str(path), "--offline")
    assert "4 messages in view" in again.stderr


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("something else?", False)])
def test_leave_is_given_by_the_next_line(tmp_path: Path, answer: str, written: bool):
    (tmp_path / "work").mkdir()
    piped(tmp_path, f"write a.txt with hello\n{answer}\n", "--offline", "--root", str(tmp_path / "work"))
    assert (tmp_path / "work" / "a.txt").exists() is written


def test_what_cannot_be_is_refused_before_anything_happens(tmp_path: Path):
    for args in (("x", "--resume"), ("--root", "nowhere"), ("--base-url", "http://127.0.0.1:9/v1")):
        done = piped(tmp_path, "", *args)
        assert (done.returncode, done.stderr.startswith("clew: ")) == (2, True)


def test_stats_count_over_sessions(tmp_path: Path):
    piped(tmp_path, "The port is 8123.\nThe host is x.\n", "--offline")
    done = run_here(["stats"], environment(tmp_path), tmp_path)
    assert done.stdout.splitlines()[0].split() == ["turns", "2"]
    told = run_here(["stats", "--json"], environment(tmp_path), tmp_path)
    assert json.loads(told.stdout) | {"turns": 2, "compactions": {}, "automatic": 0} == json.loads(
        told.stdout
    )


# At a terminal ---------------------------------------------------------------------------------------


def test_the_prompt_tells_how_full_the_window_is_and_tab_completes_commands(tmp_path: Path):
    with terminal(tmp_path, "--offline", "--window", "6000") as child:
        say(child, "The port is 8123.")
        assert re.search(r"\[\d+% s\d+% t\d+%(?: h\d+%)?\] $", str(child.before))
        child.send("/prog\t")
        child.expect("/progress")


def test_a_reply_that_is_interrupted_is_kept_and_the_chat_goes_on(tmp_path: Path):
    words = "one two three four five six seven eight nine ten. " * 3
    with (
        ScriptedServer(BrokenStream(f"First.\n\n{words}", events=8, silent=True), "Here I am.") as server,
        terminal(tmp_path, "work", "--model", "m", "--base-url", f"{server.url}/v1") as child,
    ):
        child.sendline("count")
        child.expect("First")
        child.sendintr()
        child.expect("interrupted; the partial reply is kept as m2")
        child.expect(PROMPT)
        assert "Here I am." in say(child, "are you there?")
        child.sendline("/quit")
        child.expect(pexpect.EOF)
    said = [item.message for item in opened(tmp_path, "work").view()]
    assert [message.role for message in said] == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]
    assert "[interrupted by the user]" in said[1].text


@pytest.mark.slow
def test_sixty_turns_on_a_small_window_with_tools_compactions_undo_and_a_kill(tmp_path: Path):
    root = tmp_path / "work"
    root.mkdir()
    (root / "app.cfg").write_text("host = localhost\nport = 8123\n")
    args = ("long", "--offline", "--window", "5000", "--auto", "--root", str(root))
    shown = []
    with terminal(tmp_path, *args, CLEW_DOWN_TO="0.6") as child:
        assert "rule [p1] is in force" in say(
            child, "Never modify files under legacy/. The deploy token is kestrel-42."
        )
        for number in range(40):
            shown.append(say(child, FACT.format(number)))
            if number % 10 == 5:
                assert "port = 8123" in say(child, "read app.cfg: what is the port?")
        notices = re.findall(r"◆ compacted as (d\d+)", "".join(shown))
        assert len(notices) >= 2
        assert "/undo reverts it" in "".join(shown)
        assert "kestrel-42" in say(child, "What is the deploy token?")
        assert re.search(
            r'\[m\d+\] (?:you said|on record \(d\d+\)): "Part 3 is 37 mm', say(child, "How wide is part 3?")
        )
        assert "I won't: [p1] [m1]" in say(child, "delete legacy/old.py")
        child.sendline("write out.txt with it works")
        child.expect("allow\\?")
        child.sendline("a")
        child.expect("was created")
        child.expect(PROMPT)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    with terminal(tmp_path, *args, CLEW_DOWN_TO="0.6") as child:
        assert "p1" in say(child, "/pins")
        assert "kestrel-42" in say(child, "What is the deploy token?")
        assert "I won't: [p1] [m1]" in say(child, "delete legacy/old.py")
        assert "was created" in say(child, "write again.txt with it works again")
        for number in range(40, 52):
            say(child, FACT.format(number))
        assert "undone: d" in say(child, "/undo")
        assert "off:" in say(child, "/off")
        assert "[m1] you said" in say(child, "What is the deploy token?")
        assert "on:" in say(child, "/on")
        assert "automatic" in say(child, "/stats")
        child.sendline("/quit")
        child.expect(pexpect.EOF)
    session = opened(tmp_path, "long")
    turns = sum(
        stored.event.kind == "message" and stored.event.body["message"]["role"] == "user"
        for stored in session.events()
    )
    assert turns >= 60
    ctx = Ctx(workspace="local", session="long")
    assert list(check_session(session.store, ctx)) == []


def test_the_window_of_a_session_comes_back_when_it_is_resumed(tmp_path: Path):
    piped(tmp_path, "hi\n", "--offline", "--window", "9000", "--auto")
    resumed = piped(tmp_path, "/quit\n", "--offline", "--resume")
    assert "window 9,000 tokens · automatic compaction on" in resumed.stderr


def test_the_model_called_offline_is_the_offline_one(tmp_path: Path):
    assert "clew/offline (not a language model" in piped(tmp_path, "/quit\n", "--model", "offline").stderr


def test_a_transcript_is_masked_on_its_way_in(tmp_path: Path):
    key = "ghp_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2b4C"
    (tmp_path / "old.json").write_text(json.dumps([{"role": "user", "content": f"my token is {key}"}]))
    done = piped(tmp_path, "what is my token?\n", "old.json", "--offline")
    assert "[secret:github-token:" in done.stdout
    assert key not in done.stdout
