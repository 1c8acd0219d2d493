"""What a tool's own compactions look like in ``trace``, ``map``, ``show`` and the inspector's timeline."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clew.cli.log import import_transcript
from clew.inspector.session_pool import SessionPool
from clew.inspector.timeline import timeline
from clew.log import TOOL_COMPACTION
from clew.log.store import MemoryStore
from clew.message import Origin, Role
from clew.message import text_message as said_by
from clew.session import Session
from clew.transcripts import Boundary, Dropped, Entry, Start, Transcript, load
from clew.transcripts.transcript import tool_compactions
from tests.cli.homes import CLAUDE, RULE, Home, home, is_golden

__all__ = ["home"]


@pytest.mark.parametrize("columns", [80, 40])
def test_trace_lists_what_the_tool_did(home: Home, columns: int):
    shown = home.run("trace", "3f2a9c10", columns=columns)
    assert is_golden(f"trace-tool-{columns}.txt", shown)
    assert max(map(len, shown.splitlines())) <= columns


def test_trace_prints_the_summary_that_the_tool_wrote(home: Home):
    assert "rounding was changed in shop/tax_table.py" in home.run("trace", "3f2a9c10", "c1")
    assert "there is c1" in home.run("trace", "3f2a9c10", "c2", status=2)
    assert "clew import" in home.run("trace", "3f2a9c10", "--jsonl", status=2)


def test_trace_counts_for_other_programs(home: Home):
    (one,) = json.loads(home.run("trace", "3f2a9c10", "--json"))["tool_compactions"]
    assert (one["tokens_before"], one["tokens_before_estimated"]) == (121_000, False)
    assert (one["dropped_messages"], one["dropped_calls"], one["kept_messages"]) == (86, 42, 0)
    (kept,) = json.loads(home.run("trace", "39ef5efd", "--json"))["tool_compactions"]
    assert kept["kept_messages"] == 1
    assert kept["tokens_before_estimated"]


def test_a_narrow_terminal_does_not_break_the_json_of_a_summary(home: Home):
    for columns in (100, 40):
        (summary,) = json.loads(home.run("trace", "3f2a9c10", "c1", "--json", columns=columns))["summary"]
        assert "rounding was changed in shop/tax_table.py" in summary


def test_a_session_without_compactions_says_so(home: Home):
    assert home.run("trace", "70b173ed").splitlines()[1] == "copilot-cli, not compacted by its tool"


def test_map_marks_where_the_tool_compacted(home: Home):
    shown = home.run("map", "3f2a9c10")
    assert "c1  121,000 → 18,600 tokens, auto, after m86" in shown
    strip = [line for line in shown.splitlines() if line.startswith("  r") or "X" in line[2:]]
    assert sum(line.count("X") for line in strip if "compaction" not in line) == 1
    assert json.loads(home.run("map", "3f2a9c10", "--json"))["tool_compactions"] == 1


def test_show_names_the_compaction(home: Home):
    assert "c1: compacted by its tool, auto, 121,000 → 18,600 tokens" in home.run("show", "3f2a9c10")


def test_a_compaction_that_was_taken_back_is_not_counted():
    said = Entry(said_by(Role.USER, "one"), "e1")
    records = (said, Boundary("b1"), Entry(said_by(Role.USER, "two"), "e2"), Dropped(("b1", "e2")))
    assert tool_compactions(Transcript(Start("s", "codex"), records)) == []
    assert len(tool_compactions(Transcript(Start("s", "codex"), records[:3]))) == 1


def test_a_file_that_grew_is_said_to_be_compacted_as_often_as_it_was():
    records = [Entry(said_by(Role.USER, "one"), "e1"), Boundary("b1"), Entry(said_by(Role.USER, "two"), "e2")]
    store, start = MemoryStore(), Start("s", "codex")
    assert import_transcript(store, Transcript(start, tuple(records)), current=True).by_tool == 1
    records += [Boundary("b2"), Entry(said_by(Role.USER, "three"), "e3")]
    assert import_transcript(store, Transcript(start, tuple(records)), current=True).by_tool == 2


@pytest.mark.parametrize("kept_first", [0, 1, 2, 3])
def test_an_imported_summary_stands_where_the_model_sees_it(kept_first: int):
    records = [
        Entry(said_by(Role.SYSTEM, "You are"), "e0"),
        *(Entry(said_by(Role.USER, text), text) for text in ("one", "two", "three")),
        Boundary("b1", keeps=("e0", "one", "three"), kept_first=kept_first),
        Entry(said_by(Role.USER, "A summary.", Origin.SUMMARY), "s1"),
        Entry(said_by(Role.USER, "four"), "e4"),
    ]
    transcript = Transcript(Start("s", "codex"), tuple(records))
    kept = ["one", "three"]
    first = max(0, kept_first - 1)  # the system prompt comes first in any case
    shown = ["You are", *kept[:first], "A summary.", *kept[first:], "four"]
    assert [message.text for message in transcript.current()] == shown
    store = MemoryStore()
    ctx = import_transcript(store, transcript, current=True).ctx
    assert [item.message.text for item in Session.open(ctx.session, store).view()] == shown


def test_an_import_remembers_the_tools_compactions_and_the_timeline_shows_them(home: Home):
    path = next((home.path / ".claude").rglob(f"{CLAUDE}.jsonl"))
    (session,) = load(path)
    store = MemoryStore()
    ctx = import_transcript(store, session).ctx
    recorded = list(store.read(ctx, kinds=[TOOL_COMPACTION.name]))
    assert [one.event.body["before"] for one in recorded] == [121_000]
    assert import_transcript(store, session).events == 0
    with SessionPool(store, ctx.workspace).open(ctx.session) as handle:
        drawn = timeline(handle)
    events = [event for event in drawn["events"] if event["kind"] == "tool_compaction"]
    assert [(event["before"], event["after"], event["trigger"]) for event in events] == [
        (121_000, 18_600, "auto")
    ]


def test_compact_takes_what_the_model_sees_now_and_says_so(home: Home):
    shown = home.run("compact", "3f2a9c10", "--target-tokens", "700", columns=200)
    (takes,) = [line for line in shown.splitlines() if line.startswith("takes")]
    assert "what its model sees after 1 compaction of its tool" in takes
    assert "--whole takes all" in takes
    assert "clew expand 3f2a9c10 m12 " in shown
    done = json.loads(home.run("compact", "3f2a9c10", "--target-tokens", "700", "--json"))
    assert done["part"] == "current"
    assert done["tokens"]["before"] < 3_000


def test_compact_whole_takes_the_conversation_from_its_beginning(home: Home):
    shown = home.run("compact", "3f2a9c10", "--target-tokens", "2000", "--whole", columns=200)
    assert "takes     the whole conversation, as if its tool's 1 compaction had not happened" in shown
    done = json.loads(home.run("compact", "3f2a9c10", "--target-tokens", "2000", "--whole", "--json"))
    assert done["part"] == "whole"
    assert done["tokens"]["before"] > 50_000
    assert done["pins"][0]["quote"] == RULE


def test_compact_says_nothing_about_parts_if_there_is_only_one(home: Home):
    assert "takes" not in home.run("compact", "70b173ed").split()


def test_expand_numbers_messages_as_compact_does(home: Home):
    assert 'covers="m87-' in home.run("compact", "3f2a9c10", "--target-tokens", "700", columns=200)
    assert "This session is being continued" in home.run("expand", "3f2a9c10", "c1")
    assert "Go on, and check it" in home.run("expand", "3f2a9c10", "m87")
    assert "Fix the price parser" in home.run("expand", "3f2a9c10", "m1")


def test_an_imported_session_is_not_said_to_have_lost_nothing(home: Home):
    home.run("import", "3f2a9c10")
    shown = home.run("lost", f"claude-code:{CLAUDE}", columns=200)
    assert "compacted this session 1 time before it was imported" in shown
    assert "nothing was lost" not in shown


def test_a_session_of_the_log_is_compacted_as_its_model_sees_it(home: Home):
    shown = home.run("import", "3f2a9c10")
    assert "its tool compacted it 1 time: the view is what its model sees now" in shown
    name = f"claude-code:{CLAUDE}"
    first = home.run("compact", name, "--target-tokens", "1500", columns=200)
    assert "takes     what its model sees after 1 compaction of its tool" in first
    assert RULE in first  # said before the tool's compaction
    again = home.run("compact", name, "--target-tokens", "1200", columns=200)
    assert "takes     what its model sees now, after 1 compaction" in again
    assert "clew undo" in home.run("compact", name, "--whole", status=2)


def test_an_import_of_the_whole_conversation_is_compacted_from_its_beginning(home: Home):
    home.run("import", "3f2a9c10", "--whole")
    name = f"claude-code:{CLAUDE}"
    first = home.run("compact", name, "--target-tokens", "4000", columns=200)
    assert "takes     the whole conversation; its tool compacted it 1 time" in first
    again = home.run("compact", name, "--target-tokens", "1500", columns=200)
    assert "takes     what its model sees now, after 1 compaction" in again
    assert "clew undo" in home.run("compact", name, "--whole", status=2)


def test_the_log_names_the_compactions_of_the_tool_and_refuses_the_whole(home: Home):
    home.run("import", "3f2a9c10")
    name = f"claude-code:{CLAUDE}"
    listed = home.run("trace", name, columns=200)
    assert listed.startswith("c1")
    assert "121,000 → 18,600 tokens, by its own tool, auto" in listed
    (row,) = json.loads(home.run("trace", name, "--json"))["tool_compactions"]
    assert (row["name"], row["before"]) == ("c1", 121_000)
    refused = home.run("compact", name, "--whole", status=2)
    assert "the log continues from what its tool left" in refused


def test_a_later_compaction_of_the_tool_is_followed_until_clew_compacts(home: Home):
    path = next((home.path / ".claude").rglob(f"{CLAUDE}.jsonl"))
    (session,) = load(path)
    store = MemoryStore()
    half = replace(session, records=session.records[: len(session.records) // 2])
    store_of_clew = MemoryStore()
    for each in (store, store_of_clew):
        ctx = import_transcript(each, half, current=True).ctx
    assert Session.open(ctx.session, store).view()[0].id == "m1"
    assert import_transcript(store, session, current=True).by_tool == 1
    assert Session.open(ctx.session, store).view()[0].id == "c1"
    Session.open(ctx.session, store_of_clew).compact(target_tokens=4_000)
    assert import_transcript(store_of_clew, session, current=True).by_tool == 0
    assert "c1" not in [item.id for item in Session.open(ctx.session, store_of_clew).view()]
