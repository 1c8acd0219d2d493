"""A session's story as JSON lines and as OpenTelemetry spans."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime

import pytest

from clew.integrations.telemetry import Scale, lines, trace_records
from clew.log import CALL
from clew.log.store import MemoryStore
from clew.message import JsonObject, Message, Role, Text, ToolCall, ToolResult, text_message
from clew.providers.scripted import ScriptedModel
from clew.session import Session
from tests.summarisers import GOOD_SUMMARISERS

USAGE: JsonObject = {
    "input_tokens": 900,
    "output_tokens": 20,
    "cache_read_tokens": 800,
    "cache_write_tokens": 50,
}
CALLED: JsonObject = {
    "wire": "anthropic",
    "model": "claude-sonnet-4-5",
    "by": "anthropic/claude-sonnet-4-5",
    "usage": USAGE,
    "cache": {"read": 800, "written": 50, "missed": 12, "cause": "compaction"},
}


@pytest.fixture
def session() -> Session:
    """Return a session that called a tool, asked a model, was compacted and asked it again."""
    session = Session.open("work", MemoryStore(), window=8_000)
    for n in range(12):
        call = ToolCall(f"c{n}", "Bash", {"command": f"cat notes{n}.txt"})
        result = ToolResult(f"c{n}", (Text(f"line {n} of the notes. " * 60),), is_error=n == 3, name="Bash")
        session.add(
            text_message(Role.USER, f"Look at notes{n}.txt, please."),
            Message(Role.ASSISTANT, (call,)),
            Message(Role.TOOL, (result,)),
            text_message(Role.ASSISTANT, f"It holds line {n}."),
        )
    session.record(CALL.name, CALLED)
    assert session.compact(target_tokens=1_500) is not None
    session.record(CALL.name, CALLED)
    session.fit()
    return session


def test_every_event_is_told_on_a_line(session: Session) -> None:
    told = [json.loads(line) for line in lines(session.name, session.events())]
    assert {one["seq"] for one in told} == {stored.seq for stored in session.events()}
    assert {one["attributes"]["gen_ai.conversation.id"] for one in told} == {"work"}


def test_a_request_is_told_with_what_it_used(session: Session) -> None:
    before, after = (
        one for one in trace_records(session.name, session.events()) if one.scale is Scale.REQUEST
    )
    assert before.name == "chat claude-sonnet-4-5"
    assert before.attributes == {
        "gen_ai.conversation.id": "work",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.cache_write.input_tokens": 50,
        "clew.cache.cause": "compaction",
        "clew.cache.missed_tokens": 12,
    }
    assert after.attributes == {**before.attributes, "gen_ai.conversation.compacted": True}


def test_after_an_undo_or_when_off_a_request_is_not_said_to_be_compacted(session: Session) -> None:
    session.switch_off()
    session.record(CALL.name, CALLED)
    session.switch_on()
    session.undo()
    session.record(CALL.name, CALLED)
    asked = [one for one in trace_records(session.name, session.events()) if one.scale is Scale.REQUEST]
    compacted = ["gen_ai.conversation.compacted" in one.attributes for one in asked]
    assert compacted == [False, True, False, False]


def test_a_tool_is_a_span_from_its_call_to_its_result(session: Session) -> None:
    tools = [one for one in trace_records(session.name, session.events()) if one.name == "execute_tool Bash"]
    assert len(tools) == 12
    assert [one.attributes["gen_ai.tool.call.id"] for one in tools if one.error] == ["c3"]
    assert all(one.start <= one.end for one in tools)


def test_a_compaction_is_told_with_before_and_after(session: Session) -> None:
    (done,) = session.trace()
    (told,) = (one for one in trace_records(session.name, session.events()) if one.name == "compact_messages")
    assert told.attributes["compaction.tokens_before"] == done.plan.tokens_before
    assert told.attributes["compaction.tokens_after"] == done.plan.tokens_after
    assert told.attributes["compaction.success"] is True
    assert told.seq == done.seq


def test_asking_a_model_for_a_summary_is_a_part_of_the_compaction(session: Session) -> None:
    session.undo()
    name = "openai-chat/writer@http://127.0.0.1:1/v1"
    session.summariser = ScriptedModel.always(GOOD_SUMMARISERS["extractive"], name=name)
    assert session.compact(target_tokens=1_200) is not None
    *_, asked, whole = trace_records(session.name, session.events())
    assert (asked.name, asked.parent, whole.name) == ("chat writer", whole.id, "compact_messages")
    assert asked.attributes["gen_ai.provider.name"] == "openai"
    assert "127.0.0.1" not in asked.name


def test_a_compaction_that_was_refused_is_told_as_a_failure() -> None:
    session = Session.open("work", MemoryStore())
    session.record("refusal", {"reason": "it would drop a rule", "trigger": "pressure"})
    (told,) = trace_records("work", session.events())
    assert (told.name, told.error, told.attributes["compaction.success"]) == (
        "compact_messages",
        "refused",
        False,
    )


@pytest.mark.parametrize(
    ("kind", "body", "name"),
    [
        ("note", {"does": "add", "scope": "workspace"}, "create_memory"),
        ("note", {"does": "approve", "note": "w3"}, "update_memory"),
        ("note", {"does": "show", "notes": {"w3": "asked for"}}, "search_memory"),
        ("memory_file", {"does": "delete", "path": "a.md"}, "delete_memory"),
        ("progress", {"name": "k1", "why": "milestone"}, "clew.progress"),
        ("instruction", {"id": "i1", "hash": "x"}, "clew.instruction"),
    ],
)
def test_what_is_remembered_has_the_names_of_the_conventions(kind: str, body: JsonObject, name: str) -> None:
    session = Session.open("work", MemoryStore())
    session.record(kind, body)
    (told,) = trace_records("work", session.events())
    assert told.name == name


def test_the_window_is_told_by_region(session: Session) -> None:
    (told,) = (
        one
        for one in trace_records(session.name, session.events())
        if one.name == "report_context_usage.measured"
    )
    assert told.attributes["window_tokens"] == 8_000
    assert 0 < float(str(told.attributes["fraction"])) < 1


def test_no_words_of_the_conversation_are_told(session: Session) -> None:
    told = "\n".join(lines(session.name, session.events()))
    assert "Look at" not in told
    assert "cat notes" not in told


def test_what_was_approved_and_what_clew_does_not_know_are_told_too() -> None:
    session = Session.open("work", MemoryStore())
    session.record("approval", {"tool": "write", "call_id": "c1", "what": "x", "answer": "yes"})
    session.record("about", {"model": "x"})
    assert [one.name for one in trace_records("work", session.events())] == ["clew.approval", "clew.about"]


# OpenTelemetry ---------------------------------------------------------------------------------------


def test_spans_go_to_any_exporter(session: Session) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import SpanKind, StatusCode

    from clew.integrations.telemetry.otel import spans_of

    exporter = InMemorySpanExporter()
    assert exporter.export(spans_of(session.name, session.events())) is SpanExportResult.SUCCESS
    root, *inner = exporter.get_finished_spans()
    assert root.name == "invoke_agent work"
    assert {span.parent.span_id for span in inner if span.parent} == {root.context.span_id}
    assert {span.context.trace_id for span in inner} == {root.context.trace_id}
    kinds = {span.name: span.kind for span in inner}
    assert kinds["chat claude-sonnet-4-5"] is SpanKind.CLIENT
    assert kinds["compact_messages"] is SpanKind.INTERNAL
    (failed,) = (span for span in inner if span.status.status_code is StatusCode.ERROR)
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "tool_error"
    assert "report_context_usage.measured" in {event.name for event in root.events}
    assert json.loads(root.to_json())["name"] == root.name


def test_a_session_exported_twice_is_the_same_trace(session: Session) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from clew.integrations.telemetry.otel import spans_of

    first, second = (spans_of(session.name, session.events()) for _ in range(2))
    assert [span.to_json() for span in first] == [span.to_json() for span in second]
    assert len({span.context.span_id for span in first if span.context}) == len(first)


def test_times_of_spans_are_those_of_the_log(session: Session) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from clew.integrations.telemetry.otel import spans_of

    times = [stored.event.time for stored in session.events()]
    root = spans_of(session.name, session.events())[0]
    seconds = [datetime.fromisoformat(time).timestamp() for time in (times[0], times[-1])]
    assert root.start_time == pytest.approx(seconds[0] * 1e9, abs=1e6)
    assert root.end_time == pytest.approx(seconds[1] * 1e9, abs=1e6)


def test_a_session_of_nothing_has_no_spans() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from clew.integrations.telemetry.otel import spans_of

    assert spans_of("x", []) == ()


def test_lines_need_no_opentelemetry() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import clew.integrations.telemetry"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from clew.errors import MissingExtra\n"
        "try:\n    import clew.integrations.telemetry.otel\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "clew[otel]" in done.stdout
