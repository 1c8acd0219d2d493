"""The turn loop: what is kept, in which order, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat import (
    Answer,
    ApprovalRequested,
    ChatWarning,
    Delta,
    ToolFinished,
    TurnFailed,
    TurnStopped,
    UserStored,
    ViewCompacted,
)
from clew.chat.loop import BROKE_OFF, INTERRUPTED, MOST_ROUNDS
from clew.chat.reports import stats_of
from clew.chat.sessions import Choices, choices_of, fork
from clew.chat.tool_runner import NOT_KNOWN, NOT_RUN
from clew.errors import ContextTooLong, ModelBusy, ModelFailed
from clew.log import ABOUT, APPROVAL, CALL
from clew.log.store import MemoryStore
from clew.message import Message, Role, text_message
from clew.providers.model import Piece, Reply, Stop
from clew.session import Session
from clew.testing import ScriptedModel
from tests.chat.talk import calling, kinds, new_chat, played, reply_to, roles, tell


def test_a_turn_is_kept_then_answered_then_the_answer_is_kept():
    chat = new_chat(ScriptedModel("hello there"))
    assert kinds(tell(chat, "hi")) == ["UserStored", "Delta", "ReplyStored"]
    assert [item.message.text for item in chat.session.view()] == ["hi", "hello there"]


def test_the_words_of_the_user_are_in_the_log_before_the_model_is_asked():
    chat = new_chat(ScriptedModel("unused"))
    turn = chat.turn("remember me")
    assert next(turn) == UserStored("m1")
    assert [item.message.text for item in chat.session.view()] == ["remember me"]
    assert chat.model.asked == []


@pytest.mark.parametrize("error", [ModelBusy("later"), ModelFailed("gone")])
def test_a_provider_that_fails_is_told_by_its_error_and_the_words_stay(error):
    chat = new_chat(ScriptedModel(error, "now it works"))
    happened = tell(chat, "hi")
    assert [type(one.error) for one in happened if isinstance(one, TurnFailed)] == [type(error)]
    assert roles(chat) == ["user"]
    assert kinds(played(chat.again())) == ["Delta", "ReplyStored"]
    assert roles(chat) == ["user", "assistant"]


def test_what_a_request_cost_is_on_record():
    chat = new_chat(ScriptedModel("one", "two"))
    tell(chat, "hi")
    tell(chat, "again")
    calls = list(chat.session.store.read(chat.session.ctx, kinds=[CALL.name]))
    assert [one.event.body["by"] for one in calls] == ["scripted", "scripted"]
    assert [one.event.body["cache"]["cause"] for one in calls] == ["first", "none"]


def test_a_reply_without_words_is_no_message():
    chat = new_chat(ScriptedModel(Reply(Message(Role.ASSISTANT, ()), Stop.REFUSED)))
    assert kinds(tell(chat, "hi")) == ["UserStored", "ChatWarning"]
    assert roles(chat) == ["user"]


# Interrupted -----------------------------------------------------------------------------------------


def test_a_reply_that_is_interrupted_is_kept_as_a_part_and_marked():
    chat = new_chat(ScriptedModel("one two three", "and on"))
    turn = chat.turn("count")
    assert [next(turn), next(turn), next(turn)] == [UserStored("m1"), Delta("one"), Delta(" two")]
    assert turn.throw(KeyboardInterrupt()) == TurnStopped("m2")
    assert list(turn) == []
    assert chat.session.view()[-1].message.text == f"one two{INTERRUPTED}"
    assert kinds(tell(chat, "go on")) == ["UserStored", "Delta", "ReplyStored"]


def test_a_turn_that_is_closed_keeps_what_was_said():
    chat = new_chat(ScriptedModel("one two three"))
    turn = chat.turn("count")
    next(turn)
    next(turn)
    turn.close()
    assert chat.session.view()[-1].message.text == f"one{INTERRUPTED}"


def test_an_interruption_before_the_first_word_leaves_no_reply():
    class Hanging(ScriptedModel):
        def stream(self, body):
            raise KeyboardInterrupt
            yield

    chat = new_chat(Hanging())
    assert tell(chat, "hi")[-1] == TurnStopped(None)
    assert roles(chat) == ["user"]


def test_a_line_that_breaks_keeps_the_part_that_came():
    class Breaking(ScriptedModel):
        def stream(self, body):
            yield Piece("so far")
            raise ModelFailed("cut")

    chat = new_chat(Breaking())
    assert kinds(tell(chat, "hi")) == ["UserStored", "Delta", "TurnFailed"]
    assert chat.session.view()[-1].message.text == f"so far{BROKE_OFF}"
    chat.set_model(ScriptedModel("the rest"))
    assert kinds(played(chat.again())) == ["Delta", "ReplyStored"]
    assert roles(chat) == ["user", "assistant", "user", "assistant"]


def test_an_interruption_among_tools_answers_every_call(tmp_path: Path):
    (tmp_path / "a.txt").write_text("A")
    calls = [("read_file", {"path": "a.txt"}), ("read_file", {"path": "a.txt"})]
    chat = new_chat(ScriptedModel(calling(*calls)), root=tmp_path)
    turn = chat.turn("read twice")
    for event in turn:
        if isinstance(event, ToolFinished):
            assert turn.throw(KeyboardInterrupt()) == TurnStopped()
    results = list(chat.session.view()[-1].message.results)
    assert [(one.call_id, one.text) for one in results] == [("call_1", "A"), ("call_2", NOT_RUN)]
    assert not chat.session.context("anthropic").wire.check(_body(chat)).refused


def _body(chat):
    return {"model": "claude-sonnet-4-5", "max_tokens": 10, **chat.session.context("anthropic").body}


def test_calls_that_a_dead_process_left_open_are_answered_before_the_next_turn():
    store = MemoryStore()
    dead = new_chat(ScriptedModel(), store=store)
    dead.session.add(text_message(Role.USER, "read"), calling(("read_file", {"path": "a"})).message)
    chat = new_chat(ScriptedModel("ok"), store=store)
    tell(chat, "and?")
    assert roles(chat) == ["user", "assistant", "tool", "user", "assistant"]
    assert [one.text for one in chat.session.view()[2].message.results] == [NOT_KNOWN]


# Tools and approvals ---------------------------------------------------------------------------------


def test_a_tool_that_reads_is_run_at_once_and_the_model_goes_on(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the answer")
    chat = new_chat(ScriptedModel(calling(("read_file", {"path": "a.txt"})), "done"), root=tmp_path)
    assert kinds(tell(chat, "read it")) == [
        "UserStored",
        "ReplyStored",
        "ToolStarted",
        "ToolFinished",
        "Delta",
        "ReplyStored",
    ]
    assert roles(chat) == ["user", "assistant", "tool", "assistant"]


def _writing(tmp_path: Path, *more: object):
    write = calling(("write_file", {"path": "out.txt", "text": "hello"}))
    return new_chat(ScriptedModel(write, "done", *more), root=tmp_path)


def test_a_tool_that_writes_waits_for_a_person(tmp_path: Path):
    chat = _writing(tmp_path)
    happened = tell(chat, "write it", [Answer.YES])
    wanted = [one for one in happened if isinstance(one, ApprovalRequested)]
    assert [one.what for one in wanted] == ["create out.txt with 5 characters: hello"]
    assert (tmp_path / "out.txt").read_text() == "hello"


@pytest.mark.parametrize("answers", [[Answer.NO], []])
def test_without_leave_nothing_is_written_and_the_model_is_told(tmp_path: Path, answers):
    chat = _writing(tmp_path)
    done = [one for one in tell(chat, "write it", answers) if isinstance(one, ToolFinished)]
    assert [(one.is_error, "refused" in one.text) for one in done] == [(True, True)]
    assert not (tmp_path / "out.txt").exists()


def test_leave_for_always_outlives_the_process_and_is_on_record(tmp_path: Path):
    store = MemoryStore()
    write = calling(("write_file", {"path": "out.txt", "text": "hello"}))
    first = new_chat(ScriptedModel(write, "done"), root=tmp_path, store=store)
    tell(first, "write it", [Answer.ALWAYS])
    second = new_chat(ScriptedModel(write, "done"), root=tmp_path, store=store)
    assert "ApprovalRequested" not in kinds(tell(second, "write it again"))
    events = list(store.read(second.session.ctx, kinds=[APPROVAL.name]))
    assert [(one.event.body["tool"], one.event.body["answer"]) for one in events] == [
        ("write_file", "always")
    ]
    assert "write_file without asking" in str(second.requests.assembled().end)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Never modify files under legacy/.", "x/../legacy/a.py"),
        ("Never modify `src/gen_*`.", "src/gen_api.py"),
        ("Never modify `generated/**/*.py`.", "generated/a.py"),
        ("Never modify `.env*`.", ".env.local"),
        ("Never modify `.env`.", ".env"),
        ("Never touch .env* or config.*", ".env.local"),
        ("Never touch .env* or config.*", "app/config.toml"),
    ],
)
def test_what_a_rule_forbids_is_asked_about_again_with_the_rule(tmp_path: Path, rule: str, path: str):
    store = MemoryStore()
    write = calling(("write_file", {"path": path, "text": "hello"}))
    chat = new_chat(ScriptedModel("ok", write, "done"), root=tmp_path, store=store)
    tell(chat, rule)
    chat.approvals.record("write_file", "c0", "earlier", Answer.ALWAYS)
    wanted = [one for one in tell(chat, "write") if isinstance(one, ApprovalRequested)]
    assert [one.against for one in wanted] == [(f'p1 "{rule}"',)]


def test_a_model_that_calls_tools_for_ever_is_stopped(tmp_path: Path):
    again = ScriptedModel.always(calling(("list_files", {"path": None})))
    happened = tell(new_chat(again, root=tmp_path), "go")
    assert isinstance(happened[-1], ChatWarning)
    assert len(again.asked) == MOST_ROUNDS


def test_a_tool_that_is_not_there_is_an_answer():
    chat = new_chat(ScriptedModel(calling(("rm_rf", {})), "sorry"))
    done = [one for one in tell(chat, "go") if isinstance(one, ToolFinished)]
    assert [(one.is_error, "unknown tool 'rm_rf'" in one.text) for one in done] == [(True, True)]


# A window that fills ---------------------------------------------------------------------------------

FACT = "The width of part {0} is {0}7 mm, as Anna told Bert at the meeting about parts and their widths."


LISTED = "It is on the list of parts, with its width and its height."


def _filled(auto: bool, window: int = 4_500):
    chat = new_chat(window=window, auto=auto)
    return chat, [one for number in range(90) for one in tell(chat, FACT.format(number))]


def test_by_default_nothing_is_compacted_and_the_person_is_warned():
    chat, happened = _filled(auto=False)
    assert not any(isinstance(one, ViewCompacted) for one in happened)
    assert any(isinstance(one, ChatWarning) and "/compact" in one.text for one in happened)
    assert isinstance(happened[-1], TurnFailed)
    assert chat.session.trace() == []


def test_automatic_compaction_is_told_every_time_and_no_turn_fails():
    _, happened = _filled(auto=True)
    told = [one.notice for one in happened if isinstance(one, ViewCompacted)]
    assert [one.digest for one in told] == [f"d{number}" for number in range(1, len(told) + 1)]
    assert len(told) >= 2
    assert not any(isinstance(one, TurnFailed) for one in happened)
    lines = "\n".join(told[0].lines())
    for word in ("compacted as d1", "→", "kept:", "left:", "cost:", "/undo"):
        assert word in lines


def test_rules_that_fill_the_window_are_never_reported_as_lost_and_the_error_asks_for_less():
    chat = new_chat(window=5_000, auto=True)
    for number in range(75):
        chat.session.pin(f"Never touch table number {number}, and always ask before {number + 1} is changed.")
    happened = [one for number in range(40) for one in tell(chat, FACT.format(number) * 2)]
    notices = ["\n".join(one.notice.lines()) for one in happened if isinstance(one, ViewCompacted)]
    assert not any(" 0 of 75 rules" in notice or "left: 75 rules" in notice for notice in notices)
    failed = [one for one in happened if isinstance(one, TurnFailed)]
    assert failed
    assert "give a narrower task" in str(failed[-1].error)
    assert failed[-1].advice == ""
    assert len(chat.session.ledger.pins.active) == 75


def test_a_person_is_warned_before_the_threshold_not_at_every_turn():
    _, happened = _filled(auto=True)
    first = next(i for i, one in enumerate(happened) if isinstance(one, ViewCompacted))
    before = [one.text for one in happened[:first] if isinstance(one, ChatWarning)]
    assert 1 <= len(before) <= 4


def test_switched_off_nothing_is_measured_or_compacted():
    chat = new_chat(window=6_000, auto=True)
    chat.session.switch_off()
    happened = [one for number in range(90) for one in tell(chat, FACT.format(number))]
    assert {type(one).__name__ for one in happened} == {"UserStored", "Delta", "ReplyStored"}


def test_a_provider_that_counts_more_is_asked_once_more_with_less():
    script = [*[LISTED] * 30, ContextTooLong("too long"), "fits now"]
    chat = new_chat(ScriptedModel(*script), auto=True)
    for number in range(30):
        tell(chat, FACT.format(number))
    happened = tell(chat, "and now?")
    assert kinds(happened) == ["UserStored", "ViewCompacted", "Delta", "ReplyStored"]


def test_without_leave_a_request_that_is_too_long_fails_and_says_what_to_type():
    happened = tell(new_chat(ScriptedModel(ContextTooLong("too long"))), "hi")
    assert [one.advice for one in happened if isinstance(one, TurnFailed)] == [
        "/compact makes room, /auto on compacts automatically"
    ]


def test_another_model_takes_over_in_the_same_session():
    chat = new_chat(ScriptedModel("from one"))
    tell(chat, "hi")
    chat.set_model(ScriptedModel("from two"))
    assert reply_to(chat, "and you?") == "from two"
    assert len(chat.session.view()) == 4


def test_a_compaction_that_must_be_is_told_and_counted_as_one_that_nobody_asked_for():
    script = [*[LISTED] * 30, ContextTooLong("too long"), "fits now"]
    chat = new_chat(ScriptedModel(*script), auto=True)
    for number in range(30):
        tell(chat, FACT.format(number))
    (notice,) = [one.notice for one in tell(chat, "and now?") if isinstance(one, ViewCompacted)]
    assert notice.why == "the next request would not fit"
    assert dict(stats_of(chat.session.events()).compactions) == {"pressure": 1}


def test_a_compaction_that_is_refused_does_not_say_that_nothing_was_sent():
    chat = new_chat(window=4_500, auto=True)
    chat.session.pin("never " + "push that thing or other " * 300)
    happened = [one for number in range(60) for one in tell(chat, FACT.format(number))]
    refused = [one.text for one in happened if isinstance(one, ChatWarning) and "not compacted" in one.text]
    assert refused
    assert not any("nothing was sent" in text or "nothing was changed" in text for text in refused)


# What a person chose ---------------------------------------------------------------------------------


def test_the_window_and_automatic_compaction_are_kept_with_the_session_and_its_fork():
    store = MemoryStore()
    chat = new_chat(ScriptedModel("ok"), store=store)
    chat.choose(Choices(window=9_000, auto=True))
    assert not list(chat.session.events())  # a session in which nothing was said is none
    tell(chat, "hi")
    for name in ("talk", fork(store, "local", "talk")):
        assert choices_of(Session.open(name, store)) == Choices(9_000, True)


def test_what_makes_no_sense_was_not_chosen():
    session = Session.open("talk", MemoryStore())
    session.record(ABOUT.name, {"window": -5, "auto": "yes"})
    assert choices_of(session) == Choices()
    session.record(ABOUT.name, {"window": True})
    assert choices_of(session) == Choices()
