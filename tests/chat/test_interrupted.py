"""A turn that is broken off anywhere, and two turns at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clew.chat import Answer, ApprovalRequested, TurnFailed, TurnStopped
from clew.chat.sessions import lock_path
from clew.chat.tool_runner import NOT_RUN
from clew.log.store import MemoryStore, SqliteStore
from clew.session import Session
from clew.testing import ScriptedModel
from tests.chat.talk import calling, kinds, new_chat, played, tell

PLAYED = [
    "UserStored",
    "Delta",
    "ReplyStored",
    "ToolStarted",
    "ToolFinished",
    "ToolStarted",
    "ApprovalRequested",
    "ToolFinished",
    "Delta",
    "ReplyStored",
]


def busy(root: Path, store=None):
    (root / "a.txt").write_text("A")
    calls = [("read_file", {"path": "a.txt"}), ("write_file", {"path": "b.txt", "text": "B"})]
    return new_chat(ScriptedModel(calling(*calls, text="so"), "done"), root=root, store=store)


def until(turn, count: int):
    """Play a turn until it has told so many things."""
    answer, event = None, None
    for _ in range(count):
        event = turn.send(answer)
        answer = Answer.YES if isinstance(event, ApprovalRequested) else None
    return event


@pytest.mark.parametrize("count", range(1, len(PLAYED) + 1))
def test_wherever_a_turn_is_interrupted_it_stops_and_no_call_is_open(tmp_path: Path, count: int):
    chat = busy(tmp_path)
    turn = chat.turn("go")
    assert type(until(turn, count)).__name__ == PLAYED[count - 1]
    assert isinstance(turn.throw(KeyboardInterrupt()), TurnStopped)
    assert list(turn) == []
    assert not any(chat.session.view()[-1].message.calls)


@pytest.mark.parametrize("count", range(1, len(PLAYED) + 1))
def test_a_turn_that_is_closed_anywhere_leaves_no_call_open(tmp_path: Path, count: int):
    chat = busy(tmp_path)
    turn = chat.turn("go")
    until(turn, count)
    turn.close()
    assert not any(chat.session.view()[-1].message.calls)


def test_an_interruption_before_the_tools_says_that_they_were_not_run(tmp_path: Path):
    chat = busy(tmp_path)
    turn = chat.turn("go")
    until(turn, PLAYED.index("ReplyStored") + 1)
    turn.throw(KeyboardInterrupt())
    assert [one.text for one in chat.session.view()[-1].message.results] == [NOT_RUN, NOT_RUN]


def test_a_second_interruption_ends_the_turn_and_nothing_more(tmp_path: Path):
    turn = busy(tmp_path).turn("go")
    next(turn)
    assert turn.throw(KeyboardInterrupt()) == TurnStopped()
    with pytest.raises(StopIteration):
        turn.throw(KeyboardInterrupt())


def test_being_refused_can_be_interrupted_too():
    store = MemoryStore()
    turn = new_chat(ScriptedModel("one"), store=store).turn("first")
    next(turn)
    second = new_chat(store=store).turn("second")
    assert isinstance(next(second), TurnFailed)
    with pytest.raises(StopIteration):
        second.throw(KeyboardInterrupt())


@pytest.mark.parametrize("make", [lambda _: MemoryStore(), lambda folder: SqliteStore(folder / "clew.db")])
def test_a_second_turn_is_refused_while_one_is_under_way(tmp_path: Path, make):
    store = make(tmp_path)
    chat, other = busy(tmp_path, store), new_chat(ScriptedModel("hello"), store=store)
    turn = chat.turn("write")
    until(turn, PLAYED.index("ApprovalRequested") + 1)
    (failed,) = tell(other, "me too")
    assert isinstance(failed, TurnFailed)
    assert "is running in another window" in str(failed.error)
    turn.send(Answer.YES)
    played(turn)
    assert [item.message.role.value for item in chat.session.view()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert kinds(tell(other, "now")) == ["UserStored", "Delta", "ReplyStored"]


HOLDING = """
import sys
from pathlib import Path
from clew.chat import open_chat
from clew.session import Session
from clew.log.store import SqliteStore
turn = open_chat(Session.open("talk", SqliteStore(Path(sys.argv[1])))).turn("hi")
print(next(turn), flush=True)
sys.stdin.read()
"""


def test_a_turn_in_another_process_counts_until_that_is_killed(tmp_path: Path):
    path = tmp_path / "clew.db"
    command = [sys.executable, "-c", HOLDING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        chat = new_chat(ScriptedModel("hello"), store=SqliteStore(path))
        assert kinds(tell(chat, "me too")) == ["TurnFailed"]
        other.kill()
        other.wait()
        assert kinds(tell(chat, "now")) == ["UserStored", "Delta", "ReplyStored"]
    assert not lock_path(path, Session.open("talk", SqliteStore(path)).ctx).exists()
