"""Copilot CLI: events, whose words, sub-agents, compaction in the background, rewinds."""

from __future__ import annotations

import json

from clew.cli.map import _last_reported as last_reported
from clew.message import Origin, Role, Thinking, Trust, Usage
from clew.transcripts.messages import typed_message
from clew.transcripts.readers.copilot import read, sniff
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Start
from clew.transcripts.source import open_source
from clew.transcripts.transcript import load
from tests.conftest import real_data
from tests.transcripts.claude_lines import labels


def event(kind: str, event_id: str, agent: str | None = None, **data) -> dict:
    record = {"type": kind, "id": event_id, "parentId": None, "timestamp": "t", "data": data}
    return {**record, "agentId": agent} if agent else record


START = event("session.start", "e0", sessionId="s1", startTime="t0", context={"cwd": "/p"})


def log(*events: dict) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in (START, *events))


def records(*events: dict) -> list:
    return list(read(open_source(log(*events))))[1:]


def test_a_log_is_recognised_and_begins_with_its_start():
    source = open_source(log())
    assert sniff(source)
    assert list(read(source)) == [Start("s1", "copilot-cli", directory="/p", time="t0")]


def test_what_the_harness_puts_around_typed_words_is_the_machines():
    whole = "<current_datetime>now</current_datetime>\n\nfix it\n\n<system_reminder>x</system_reminder>"
    (entry,) = records(event("user.message", "e1", content="fix it", transformedContent=whole))
    assert entry.message.origin is Origin.SPOKEN
    assert [label for label, _ in labels(entry.message)] == ["semi-trusted", "user", "semi-trusted"]
    assert "".join(text for _, text in labels(entry.message)) == whole


def test_a_message_in_which_nothing_was_typed_is_the_harness_text():
    message = typed_message("a reminder", "")
    assert (message.text, message.origin) == ("a reminder", Origin.INJECTED)


def test_messages_of_skills_and_of_agents_are_not_the_persons():
    told = records(
        event("user.message", "e1", content="<skill-context>", source="skill-x"),
        event("user.message", "e2", "ag", content="review this", source="agent-s1"),
        event("user.message", "e3", content="", source="system", transformedContent="a reminder"),
        event("system.notification", "e4", content="agent is idle"),
    )
    assert [
        (entry.id, entry.sidechain, entry.message.origin, entry.message.parts[0].trust) for entry in told
    ] == [
        ("e1", None, Origin.INJECTED, Trust.SEMI_TRUSTED),
        ("e2", "ag", Origin.INJECTED, Trust.ASSISTANT),
        ("e4", None, Origin.INJECTED, Trust.SEMI_TRUSTED),
    ]


def test_a_reply_thinks_speaks_and_calls_and_a_result_answers():
    request = {"toolCallId": "c1", "name": "view", "arguments": {"path": "a.py"}}
    reply, result = records(
        event(
            "assistant.message",
            "e1",
            content="Looking.",
            reasoningText="hm",
            reasoningOpaque="sig",
            toolRequests=[request],
            model="m",
            outputTokens=7,
        ),
        event(
            "tool.execution_complete", "e2", toolCallId="c1", success=False, error={"message": "no such file"}
        ),
    )
    thinking, text, call = reply.message.parts
    assert (thinking, text.text, call.call_id, call.input) == (
        Thinking("hm", "sig", trust=Trust.ASSISTANT),
        "Looking.",
        "c1",
        {"path": "a.py"},
    )
    assert (reply.model, reply.usage) == ("m", Usage(0, 7))
    (answer,) = result.message.results
    assert (answer.call_id, answer.text, answer.is_error) == ("c1", "no such file", True)


def test_a_compaction_keeps_what_was_said_after_it_began():
    told = records(
        event("user.message", "e1", content="one"),
        event("session.compaction_start", "e2"),
        event("user.message", "e3", content="two"),
        event("session.compaction_complete", "e4", success=True, preCompactionTokens=9, summaryContent="sum"),
    )
    assert told[2] == Boundary("e4", 5, "t", tokens_before=9, keeps=("e3",))
    assert (told[3].message.origin, told[3].message.text) == (Origin.SUMMARY, "sum")


def test_a_compaction_that_failed_is_none():
    assert records(event("session.compaction_complete", "e1", success=False)) == []


def test_a_rewind_drops_what_came_after_the_event():
    told = records(
        event("user.message", "e1", content="one"),
        event("user.message", "e2", content="two"),
        event("session.snapshot_rewind", "e3", upToEventId="e1", eventsRemoved=1),
    )
    assert told[2] == Dropped(("e2",), 4)


def test_the_system_prompt_is_told_again_only_when_it_changed():
    told = records(
        *(event("system.message", f"e{i}", content=text) for i, text in enumerate(["a", "a", "b"]))
    )
    assert [(entry.message.role, entry.message.text) for entry in told] == [
        (Role.SYSTEM, "a"),
        (Role.SYSTEM, "b"),
    ]


def test_messages_cut_without_a_record_are_said():
    (problem,) = records(event("session.truncation", "e1", messagesRemovedDuringTruncation=4))
    assert problem == Problem("4 messages were cut from view here; which ones is not recorded", 2)


def test_real_logs_are_read_whole():
    told = [
        record
        for folder in ("copilot-cli-gatomia", "copilot-cli-starcar")
        for path in (real_data("transcripts") / folder).glob("*.zst")
        for record in read(open_source(path))
    ]
    said = [record for record in told if isinstance(record, Entry)]
    assert sum(1 for entry in said for _ in entry.message.calls) == 33 + 246
    assert (
        sum(entry.message.origin is Origin.SPOKEN and entry.message.role is Role.USER for entry in said) == 2
    )
    assert len([record for record in told if isinstance(record, Boundary)]) == 1
    assert not [record for record in told if isinstance(record, Problem)]


def test_a_system_prompt_that_is_logged_again_takes_the_place_of_the_earlier_one():
    def prompt(event_id: str, words: str) -> dict:
        return event("system.message", event_id, content=words)

    log_of = (
        prompt("e1", "Be careful."),
        event("user.message", "e2", content="fix it"),
        prompt("e3", "Be careful."),
        prompt("e4", "Be very careful."),
        event("assistant.message", "e5", content="Done."),
        prompt("e6", "Be most careful."),
    )
    (session,) = load(open_source(log(*log_of)))
    assert [entry.id for entry in session.full_entries()] == ["e6", "e2", "e5"]
    assert [message.text for message in session.current()] == ["Be most careful.", "fix it", "Done."]
    done = event("session.compaction_complete", "e7", success=True, summaryContent="It was fixed.")
    (session,) = load(open_source(log(*log_of, done, prompt("e8", "Be bold."))))
    assert [message.text for message in session.current()] == ["Be bold.", "It was fixed."]


def test_output_tokens_alone_are_not_shown_as_what_the_provider_reported():
    said = event("assistant.message", "e2", content="Done.", outputTokens=52)
    (session,) = load(open_source(log(event("user.message", "e1", content="go"), said)))
    assert last_reported(session) is None
    more = event("assistant.message", "e3", content="Done.", inputTokens=900, outputTokens=52)
    (session,) = load(open_source(log(event("user.message", "e1", content="go"), more, said)))
    assert last_reported(session) == 952


def without_id(record: dict) -> dict:
    return {name: value for name, value in record.items() if name != "id"}


def test_a_compaction_without_an_id_and_its_summary_have_two_ids():
    told = records(
        event("user.message", "e1", content="fix it"),
        without_id(event("session.compaction_complete", "", success=True, summaryContent="done so far")),
    )
    ids = [one.id for one in told if isinstance(one, Entry | Boundary)]
    assert len(ids) == len(set(ids)) == 3


def test_a_rewind_that_names_no_event_drops_nothing():
    told = records(
        event("user.message", "e1", content="fix it"),
        without_id(event("session.info", "")),
        event("user.message", "e2", content="and test it"),
        event("session.snapshot_rewind", "e3"),
    )
    assert not any(isinstance(one, Dropped) for one in told)
    assert any(isinstance(one, Problem) for one in told)


def test_the_prompt_of_a_sub_agent_does_not_repeat_that_of_the_main_one():
    told = records(
        event("system.message", "e1", content="Be brief."),
        event("system.message", "e2", "ag", content="Review."),
        event("system.message", "e3", content="Be brief."),
        event("system.message", "e4", "ag", content="Review."),
    )
    assert [one.id for one in told] == ["e1", "e2"]


def test_a_compaction_that_began_before_a_rewind_keeps_what_follows_the_rewind():
    told = records(
        event("user.message", "e1", content="one"),
        event("user.message", "e2", content="two"),
        event("user.message", "e3", content="three"),
        event("session.compaction_start", "e4"),
        event("session.snapshot_rewind", "e5", upToEventId="e1"),
        event("user.message", "e6", content="four"),
        event("session.compaction_complete", "e7", success=True, summaryContent="so far"),
    )
    assert [one.keeps for one in told if isinstance(one, Boundary)] == [("e6",)]
