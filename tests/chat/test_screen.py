"""A chat as a terminal shows it, and the lines that a person types."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from clew.chat import (
    Answer,
    ApprovalRequested,
    ChatWarning,
    CommandOutput,
    CompactionNotice,
    Delta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnStopped,
    ViewCompacted,
)
from clew.cli.chat_terminal import InputLines, MarkdownBlocks, Screen, completed
from clew.cli.terminal import Terminal
from clew.errors import ModelFailed
from clew.message import Trust
from clew.testing import ScriptedModel
from tests.chat.talk import calling, new_chat, tell

NOTICE = CompactionNotice("full", 100, 40, "3 messages → d1", "all rules", (), "no model was asked", "d1", 7)


def shown(*events: object, is_tty: bool = False) -> str:
    out = io.StringIO()
    screen = Screen(Terminal(out, io.StringIO()), is_tty)
    for event in events:
        screen.show(event)
    screen.settle()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ToolStarted("c", "read_file", {"path": "a", "lines": None}), '· read_file path="a"'),
        (ToolFinished("c", "read_file", "one\ntwo", Trust.UNTRUSTED), "  → one two"),
        (ToolFinished("c", "read_file", "no such file", Trust.UNTRUSTED, True), "  ✗ no such file"),
        (ChatWarning("75% full"), "⚠ 75% full"),
        (TurnFailed(ModelFailed("gone"), "/retry"), f"✗ {ModelFailed('gone')} (/retry)"),
        (TurnStopped("m2"), "interrupted; the partial reply is kept as m2"),
        (TurnStopped(), "interrupted"),
        (CommandOutput("two\nlines"), "two\nlines"),
    ],
)
def test_a_happening_is_a_line_or_two(event: object, line: str):
    assert shown(event) == line


def test_a_compaction_is_never_hidden():
    told = shown(ViewCompacted(NOTICE)).splitlines()
    assert told[0] == "◆ compacted as d1: full"
    assert all(line.startswith("◆ ") for line in told)


def test_a_question_for_leave_shows_the_rule_that_stands_against_it():
    told = shown(ApprovalRequested("c", "write_file", "write a", ('p1 "never"',)))
    assert told.splitlines()[:2] == ["? write a", '  against rule p1 "never"']


def test_words_go_out_as_they_come_and_thinking_does_not():
    assert shown(Delta("hm", thinking=True), Delta("one "), Delta("two"), ChatWarning("x")) == "one two\n⚠ x"


def test_at_a_terminal_markdown_is_rendered_block_by_block():
    told = shown(Delta("**bold** on"), Delta("e\n\n- it"), Delta("em"), is_tty=True)
    assert told.split() == ["bold", "one", "•", "item"]


FENCES = [
    "```\na\n\nb\n```\n\n",
    "````md\n```\na\n```\n\nb\n````\n\n",
    "1. one:\n   ```\n   a\n\n   b\n   ```\n\n",
    "- ~~~ py\n  a\n\n  ```\n\n  b\n  ~~~~\n\n",
    "```\n    ```\n\n    ```\n```\n\n",
    "```inline``` code\n\n",
    "one\ntwo\n\n",
]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_reply_is_cut_at_blank_lines_but_never_in_a_fence(size: int):
    blocks, text = MarkdownBlocks(), "".join([*FENCES, "```\na\n\nb"])
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert [block for piece in pieces for block in blocks.add(piece)] == FENCES
    assert (blocks.take(), blocks.take()) == ("```\na\n\nb", "")


def test_each_line_of_a_long_fence_is_read_once():
    def seconds(lines: int) -> float:
        blocks, text = MarkdownBlocks(), "```\n" + "some code of a line\n\n" * lines
        start = time.process_time()
        for at in range(0, len(text), 4):
            assert not list(blocks.add(text[at : at + 4]))
        return time.process_time() - start

    assert seconds(4_000) < 20 * max(seconds(1_000), 0.005)


def test_lines_of_code_that_the_offline_model_quotes_stay_lines(tmp_path: Path):
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\n")
    told = shown(*tell(new_chat(root=tmp_path), "read a.py"), is_tty=True)
    assert [line.strip() for line in told.splitlines()[-3:] if line] == ["one = 1", "two = 2"]


def test_nothing_that_a_model_says_steers_the_terminal():
    assert "\x1b" not in shown(Delta("\x1b[31mred\x1b]0;title\x07"), CommandOutput("\x1b[2J"))


def test_the_prompt_says_when_everything_is_off():
    chat = new_chat()
    screen = Screen(Terminal(io.StringIO(), io.StringIO()), True)
    assert screen.prompt(chat).endswith("] › ")
    chat.session.switch_off()
    assert screen.prompt(chat) == "[off] › "


def test_lines_come_one_by_one_and_can_be_put_back():
    lines = InputLines.of(io.StringIO("one\ntwo"), io.StringIO())
    first = lines.read("")
    lines.put_back("again")
    assert [first, lines.read(""), lines.read(""), lines.read("")] == ["one", "again", "two", None]


def test_commands_are_completed_and_words_are_not():
    assert [completed("/tr", n) for n in range(3)] == ["/trace", "/trust", None]
    assert completed("", 0) is None


def test_a_key_that_was_typed_is_not_kept_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    readline = pytest.importorskip("readline")
    from clew.cli.chat_terminal import _keep_history

    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    line = "use ghp_" + "a8Zk3LmQ0pXr5TyUv2WsBn7CdEfGhIjK1o9Q"
    readline.add_history(line)
    _keep_history(line)
    assert (tmp_path / "chat_history").read_text().splitlines()[-1].startswith("use [secret:github-token:")


def test_history_is_kept_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("readline")
    from clew.cli.chat_terminal import _keep_history

    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    _keep_history()
    assert (tmp_path / "chat_history").stat().st_mode & 0o077 == 0


def test_no_line_of_a_tool_or_an_approval_shows_a_secret(tmp_path: Path):
    key, password = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2n" * 5 + "Qx8-ZwAA", "Tr0ub4dor&3"
    (tmp_path / "app.cfg").write_text(f'api_key = "{key}"\npassword: {password}\n')
    read = calling(("read_file", {"path": "app.cfg"}))
    write = calling(("write_file", {"path": "b.cfg", "text": f"password: {password} {key}"}))
    happened = tell(new_chat(ScriptedModel(read, write, "done"), root=tmp_path), "copy it", [Answer.YES])
    seen = shown(*happened)
    assert "app.cfg" in seen
    assert "b.cfg" in seen
    assert key[:30] not in seen
    assert password not in seen
