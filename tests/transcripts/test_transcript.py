"""A session collected: the whole conversation, what the model sees now, and the counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.message import Message, Origin, Role, Text, ToolCall, ToolResult, text_message
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Start
from clew.transcripts.transcript import HIDDEN, Transcript, TranscriptStats, collect

START = Start("s1", "codex")


def entry(name: str, role: Role = Role.USER, origin: Origin = Origin.SPOKEN, **fields) -> Entry:
    return Entry(text_message(role, name, origin), name, **fields)


def summary(name: str) -> Entry:
    return entry(name, origin=Origin.SUMMARY)


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def session(*records) -> Transcript:
    return Transcript(START, records)


def test_the_whole_conversation_leaves_out_summaries_whose_originals_are_there():
    told = session(entry("one"), Boundary("b"), summary("sum"), entry("two"))
    assert texts(told.full()) == ["one", "two"]


def test_a_summary_of_what_is_not_in_the_file_stays():
    told = session(entry("be good", Role.SYSTEM), summary("sum of another file"), entry("two"))
    assert texts(told.full()) == ["be good", "sum of another file", "two"]


def test_what_was_dropped_and_what_sub_agents_said_is_not_the_conversation():
    told = session(
        entry("one"), entry("two"), Dropped(("two",)), entry("side", sidechain="ag"), entry("three")
    )
    assert texts(told.full()) == ["one", "three"]
    assert [(entry.sidechain, entry.id) for entry in told.entries if entry.sidechain] == [("ag", "side")]


def test_the_model_sees_the_system_prompt_the_summary_what_was_kept_and_what_came_after():
    told = session(
        entry("be good", Role.SYSTEM),
        entry("one"),
        entry("two"),
        Boundary("b1", keeps=("two",)),
        entry("context again", origin=Origin.INJECTED),
        summary("sum"),
        entry("three"),
    )
    assert texts(told.current()) == ["be good", "context again", "sum", "two", "three"]


def test_only_the_last_compaction_counts():
    told = session(
        entry("one"), Boundary("b1"), summary("sum 1"), entry("two"), Boundary("b2"), summary("sum 2")
    )
    assert texts(told.current()) == ["sum 2"]


def test_a_compaction_that_was_rolled_back_does_not_count():
    told = session(entry("one"), Boundary("b1"), summary("sum"), Dropped(("b1", "sum")), entry("two"))
    assert texts(told.current()) == ["one", "two"]


def test_without_a_compaction_the_model_sees_the_whole_conversation():
    told = session(entry("be good", Role.SYSTEM), entry("one"), entry("two"))
    assert told.current() == told.full()


def result(call_id: str, text: str, **fields) -> Entry:
    message = Message(Role.TOOL, (ToolResult(call_id, (Text(text),)),))
    return Entry(message, f"r-{call_id}", **fields)


def test_an_output_that_is_hidden_now_is_whole_in_the_conversation_and_gone_from_view():
    told = session(result("c1", "long"), result("c2", "also long", hidden_results=("c2",)), Cleared(("c1",)))
    assert [next(m.results).text for m in told.full()] == ["long", "also long"]
    assert [next(m.results).text for m in told.current()] == [HIDDEN, HIDDEN]


def test_what_the_model_is_shown_instead_is_what_it_sees():
    preview = text_message(Role.USER, "preview")
    told = session(Entry(text_message(Role.USER, "whole"), "e1", shown=preview))
    assert (texts(told.full()), told.current()) == (["whole"], [preview])


def test_the_model_of_a_session_is_the_last_one_named():
    assert session(entry("a", model="m1"), entry("b", model="m2"), entry("c")).model == "m2"
    assert Transcript(Start("s", "codex", model="m0"), ()).model == "m0"


def test_everything_is_counted():
    call = Message(Role.ASSISTANT, (ToolCall("c1", "ls"), ToolCall("c2", "ls")))
    told = session(
        entry("one"),
        Entry(call, "a1"),
        result("c1", "ok"),
        entry("gone"),
        Dropped(("gone",)),
        Boundary("b"),
        summary("sum"),
        entry("two"),
        entry("side", sidechain="ag"),
        Problem("torn", 9),
    )
    assert told.stats() == TranscriptStats(
        messages=4,
        turns=2,
        tool_calls=2,
        unpaired=1,
        compactions=1,
        dropped=1,
        sidechain_messages=1,
        problems=1,
    )


def test_records_are_put_together_by_session_and_early_problems_belong_to_the_first():
    torn, first, second = Problem("torn", 1), Start("s1", "f"), Start("s2", "f")
    found = list(collect([torn, first, entry("a"), second, entry("b")], START))
    assert found == [Transcript(first, (torn, entry("a"))), Transcript(second, (entry("b"),))]


@given(
    st.lists(
        st.tuples(st.sampled_from(["say", "sum", "cut", "drop", "side"]), st.integers(0, 30)),
        max_size=30,
    )
)
def test_the_model_never_sees_what_was_dropped_nor_what_was_never_said(steps):
    records, ids = [], []
    for i, (step, number) in enumerate(steps):
        match step:
            case "say":
                records.append(entry(f"e{i}"))
            case "sum":
                records.append(summary(f"e{i}"))
            case "side":
                records.append(entry(f"e{i}", sidechain="ag"))
            case "cut":
                records.append(Boundary(f"e{i}", keeps=tuple(ids[number:])))
            case "drop":
                records.append(Dropped(tuple(ids[number:])))
        ids.append(f"e{i}")
    told = session(*records)
    seen, whole = texts(told.current()), texts(told.full())
    assert not set(seen) & told.dropped
    assert len(seen) == len(set(seen))
    assert {text for text in seen if text not in whole} <= {
        e.id for e in told.entries if e.message.origin is Origin.SUMMARY
    }


def test_a_session_is_called_by_its_title_its_words_a_plan_or_its_id():
    plan = Entry(
        text_message(Role.USER, "Implement the following plan:\n\n# Fix the path\n\n…", Origin.INJECTED), "e1"
    )
    words = Entry(text_message(Role.USER, "<task>\nfix the   parser\n</task>"), "e2")
    start = Start("s1", "claude-code")
    assert Transcript(start, (plan,)).label == "Fix the path"
    assert Transcript(start, (plan, words)).label == "fix the parser </task>"
    assert Transcript(Start("s1", "claude-code", title="The path"), (plan, words)).label == "The path"
    assert Transcript(start, ()).label == "s1"


def test_the_model_is_that_of_the_main_conversation():
    main = Entry(text_message(Role.ASSISTANT, "a"), "e1", model="large")
    aside = Entry(text_message(Role.ASSISTANT, "b"), "e2", model="small", sidechain="a1")
    assert Transcript(Start("s", "claude-code"), (main, aside)).model == "large"
    assert Transcript(Start("s", "claude-code"), (aside,)).model == "small"
