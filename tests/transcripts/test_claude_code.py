"""Claude Code: the tree, split replies, sub-agents, compactions, queued words, side folders."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.message import Origin, Role, ToolCall, Trust, Usage, pair
from clew.transcripts.readers.claude_code.reader import read, sniff
from clew.transcripts.records import Boundary, Cleared, Dropped, Problem, Record, Start
from clew.transcripts.source import PipedSource, Source, open_source
from clew.transcripts.transcript import load
from tests.conftest import real_data
from tests.transcripts.claude_lines import Lines, entries, labels, standing


def only(records, kind):
    return [record for record in records if isinstance(record, kind)]


# Start -----------------------------------------------------------------------------------------------


def test_a_session_begins_with_what_its_records_say_of_it():
    file = Lines()
    file.user("hello", cwd="/p", timestamp="2026-08-01T10:00:00Z", forkedFrom={"sessionId": "s0"})
    file.says("hi", "m1")
    file.note("summary", summary="an old title", leafUuid="x")
    file.note("custom-title", customTitle="My title")
    assert file.read()[0] == Start(
        "s1", "claude-code", "My title", "/p", "claude-x", "2026-08-01T10:00:00Z", "s0"
    )


def test_files_put_one_after_another_are_several_sessions():
    first, second = Lines("s1"), Lines("s2")
    first.user("one", uuid="x1")
    second.user("two", uuid="x2")
    records = list(read(open_source(first.bytes() + second.bytes())))
    assert [r.session_id if isinstance(r, Start) else r.id for r in records] == ["s1", "x1", "s2", "x2"]


def test_a_sub_agents_own_file_is_a_session_whose_user_is_a_model():
    file = Lines()
    file.user("look around", isSidechain=True, agentId="a1")
    file.says("nothing here", "m1", isSidechain=True, agentId="a1")
    start, asked, _ = file.read()
    assert (start.session_id, start.parent_id) == ("a1", "s1")
    assert (asked.sidechain, asked.message.origin, labels(asked.message)) == (
        None,
        Origin.INJECTED,
        [("assistant", "look around")],
    )


# The tree --------------------------------------------------------------------------------------------


def test_pieces_of_one_reply_become_one_message_followed_by_its_results():
    file = Lines()
    file.user("go")
    think = file.reply({"type": "thinking", "thinking": "hm", "signature": "sig"}, "m1")
    first = file.calls("c1", "m1")
    file.answers("c1", parent=first, uuid="r1")
    second = file.calls("c2", "m1", parent=first)
    file.answers("c2", parent=second, uuid="r2")
    file.says("all done", "m2")
    records = file.read()
    assert standing(records) == ["u1", think, "r1", "r2", "a5"]
    reply = entries(records)[1].message
    assert [part.call_id for part in reply.parts if isinstance(part, ToolCall)] == ["c1", "c2"]
    assert len(reply.parts) == 3
    assert pair([entry.message for entry in entries(records)]).dangling == []


def test_an_abandoned_branch_is_told_and_dropped():
    file = Lines()
    file.user("go", uuid="u1")
    file.says("left or right?", "m1", uuid="a1")
    file.user("left", uuid="u2")
    file.says("going left", "m2", uuid="a2")
    file.user("right", uuid="u3", parent="a1")
    file.says("going right", "m3", uuid="a3")
    records = file.read()
    assert standing(records) == ["u1", "a1", "u3", "a3"]
    assert only(records, Dropped) == [Dropped(("u2", "a2"), reason="abandoned")]


def test_the_result_of_a_parallel_call_is_a_sibling_not_a_branch():
    file = Lines()
    file.user("go", uuid="u1")
    first = file.calls("c1", "m1", uuid="a1")
    second = file.calls("c2", "m1", uuid="a2")
    file.answers("c1", parent=first, uuid="r1")
    file.answers("c2", parent=second, uuid="r2")
    file.says("done", "m2", uuid="a3")
    records = file.read()
    assert standing(records) == ["u1", "a1", "r1", "r2", "a3"]
    assert only(records, Dropped) == []


def test_a_record_appended_again_is_told_once_and_said():
    file = Lines()
    file.user("go", uuid="u1")
    file.says("hi", "m1", uuid="a1")
    file.records.append(file.records[0])
    records = file.read()
    assert standing(records) == ["u1", "a1"]
    assert only(records, Problem) == [Problem("record u1 again; the first one counts", 3)]


def test_a_missing_parent_is_said_and_the_record_before_takes_its_place():
    file = Lines()
    file.user("go", uuid="u1")
    file.says("hi", "m1", uuid="a1", parent="nowhere")
    records = file.read()
    assert standing(records) == ["u1", "a1"]
    assert only(records, Problem) == [Problem("the record it answers is not in this file", 2)]


def test_a_circle_of_parents_is_said_and_all_is_told():
    file = Lines()
    file.user("go", uuid="u1", parent="a1")
    file.says("hi", "m1", uuid="a1", parent="u1")
    records = file.read()
    assert sorted(standing(records)) == ["a1", "u1"]
    assert [problem.what for problem in only(records, Problem)] == ["its parents form a cycle"]


def test_a_record_that_comes_before_its_parent_waits_for_it():
    file = Lines()
    file.user("one", uuid="u1")
    file.user("three", uuid="u3", parent="a2")
    file.says("four", "m4", uuid="a4", parent="u3")
    file.says("two", "m2", uuid="a2", parent="u1")
    file.user("five", uuid="u5", parent="a4")
    assert standing(file.read()) == ["u1", "a2", "u3", "a4", "u5"]


@given(depths=st.lists(st.integers(0, 3), max_size=25))
def test_every_record_is_told_once_and_only_the_way_to_the_last_one_stands(depths):
    file = Lines()
    parents = {file.user("root", uuid="n0"): None}
    for i, depth in enumerate(depths, start=1):
        above = list(parents)[-1]
        for _ in range(depth):
            above = parents[above] or above
        parents[file.user(f"say {i}", uuid=f"n{i}", parent=above)] = above
    way, at = [], list(parents)[-1]
    while at:
        way.insert(0, at)
        at = parents[at]
    records = file.read()
    assert standing(records) == way
    assert sorted(entry.id for entry in entries(records)) == sorted(parents)


# Sub-agents ------------------------------------------------------------------------------------------


def test_a_sub_agents_records_are_kept_apart_even_when_they_interleave():
    file = Lines()
    file.user("go", uuid="u1")
    call = file.calls("c1", "m1", name="Task", uuid="a1")
    side = file.user("look", uuid="x1", parent=None, isSidechain=True)
    file.says("found it", "m2", uuid="x2", parent=side, isSidechain=True)
    file.answers("c1", uuid="r1", parent=call)
    records = file.read()
    assert standing(records) == ["u1", "a1", "r1"]
    assert [(entry.id, entry.sidechain) for entry in entries(records) if entry.sidechain] == [
        ("x1", "x1"),
        ("x2", "x1"),
    ]


def test_a_sub_agent_that_only_its_progress_recorded_is_told_too():
    file = Lines()
    file.user("go")
    said = {
        "type": "assistant",
        "uuid": "p1",
        "message": {"id": "m9", "role": "assistant", "content": "looking"},
    }
    file.add("progress", data={"type": "agent_progress", "agentId": "ag", "message": said})
    (entry,) = [entry for entry in entries(file.read()) if entry.sidechain]
    assert (entry.id, entry.sidechain, entry.message.text) == ("p1", "ag", "looking")


# Compactions -----------------------------------------------------------------------------------------


def compacted(**metadata) -> Lines:
    file = Lines()
    file.user("never touch db/", uuid="u1")
    file.says("noted", "m1", uuid="a1")
    meta = {"trigger": "auto", "preTokens": 1000, "postTokens": 90, **metadata}
    file.add(
        "system",
        subtype="compact_boundary",
        uuid="b1",
        parent=None,
        logicalParentUuid="a1",
        compactMetadata=meta,
    )
    file.user("This session is being continued", uuid="c1", isCompactSummary=True)
    return file


def test_a_compaction_is_a_boundary_its_summary_is_a_machines_and_the_originals_stay():
    file = compacted()
    file.says("going on", "m2", uuid="a2")
    records = file.read()
    assert standing(records) == ["u1", "a1", "c1", "a2"]
    assert only(records, Boundary) == [
        Boundary("b1", 3, trigger="auto", tokens_before=1000, tokens_after=90),
    ]
    summary = entries(records)[2].message
    assert (summary.role, summary.origin, summary.parts[0].trust) == (
        Role.USER,
        Origin.SUMMARY,
        Trust.UNTRUSTED,
    )


def test_what_a_compaction_kept_is_named_even_though_the_tree_passes_it_by():
    file = compacted(preservedSegment={"headUuid": "a1", "anchorUuid": "c1", "tailUuid": "a1"})
    file.user("go on", uuid="u2", parent="a1")
    records = file.read()
    assert standing(records) == ["u1", "a1", "c1", "u2"]
    assert only(records, Boundary)[0].keeps == ("a1",)


def test_kept_messages_may_be_listed_by_name():
    file = compacted(preservedMessages={"anchorUuid": "c1", "uuids": ["u1", "a1"], "allUuids": ["u1", "a1"]})
    assert only(file.read(), Boundary)[0].keeps == ("u1", "a1")


def test_a_boundary_whose_parent_is_not_in_the_file_still_follows_what_stands_before_it():
    file = compacted()
    file.records[2]["logicalParentUuid"] = "nowhere"
    records = file.read()
    assert standing(records) == ["u1", "a1", "c1"]
    assert only(records, Problem) == []


def test_a_micro_compaction_names_the_outputs_that_it_hides():
    file = Lines()
    file.user("go")
    meta = {"trigger": "auto", "compactedToolIds": ["c1", "c2"]}
    file.add("system", subtype="microcompact_boundary", microcompactMetadata=meta, timestamp="t")
    assert only(file.read(), Cleared) == [Cleared(("c1", "c2"), 2, "t")]


# Words typed while the model works -------------------------------------------------------------------


def queued(text: str, *operations: dict) -> Lines:
    file = Lines()
    file.user("go", uuid="u1")
    file.calls("c1", "m1", uuid="a1")
    file.note("queue-operation", operation="enqueue", content=text)
    for operation in operations:
        file.note("queue-operation", **operation)
    file.answers("c1", uuid="r1")
    file.says("done", "m2", uuid="a2")
    return file


def test_words_taken_into_a_running_turn_are_the_users_and_follow_the_results():
    records = queued("please don't commit", {"operation": "remove"}).read()
    assert standing(records) == ["u1", "a1", "r1", "L4", "a2"]
    words = entries(records)[3].message
    assert (words.origin, labels(words)) == (Origin.SPOKEN, [("user", "please don't commit")])


@pytest.mark.parametrize(
    "operations",
    [
        [],
        [{"operation": "popAll", "content": "stop"}],
        [{"operation": "dequeue"}],
        [{"operation": "remove", "reason": "cancelled"}],
    ],
)
def test_words_that_never_reached_the_running_turn_are_not_told(operations):
    assert standing(queued("stop", *operations).read()) == ["u1", "a1", "r1", "a2"]


@pytest.mark.parametrize("command", ["/model", "/model opus", " /compact keep the rules"])
def test_a_command_to_the_tool_is_no_message(command):
    assert standing(queued(command, {"operation": "remove"}).read()) == ["u1", "a1", "r1", "a2"]


@pytest.mark.parametrize("text", ["/review", "/review the parser", "/tmp is full"])
def test_a_command_to_the_model_is_the_users_message(text):
    records = queued(text, {"operation": "remove"}).read()
    assert labels(entries(records)[3].message) == [("user", text)]


def test_a_removal_of_words_that_were_not_queued_leaves_the_queue_as_it_is():
    removals = [{"operation": "dequeue", "content": "never queued"}, {"operation": "remove"}]
    assert entries(queued("stop", *removals).read())[3].message.text == "stop"


@pytest.mark.parametrize("recorded", ["first", "  first  "])
def test_each_of_two_queued_texts_with_a_record_after_the_turn_is_told_once(recorded):
    second = {"operation": "enqueue", "content": "second"}
    file = queued("first", second, {"operation": "remove"}, {"operation": "remove"})
    file.user(recorded, uuid="u2")
    file.user("second", uuid="u3")
    assert [text for entry in entries(file.read()) if (text := entry.message.text)] == [
        *("go", "first", "second", "done")
    ]


def test_a_queued_notice_of_a_task_is_the_machines():
    records = queued("<task-notification>done</task-notification>", {"operation": "remove"}).read()
    assert entries(records)[3].message.origin is Origin.INJECTED


def test_queued_words_that_are_recorded_in_full_are_told_once():
    file = queued("stop", {"operation": "remove", "content": "stop", "reason": "absorbed_mid_turn"})
    record = {
        "type": "queued_command",
        "prompt": "stop",
        "commandMode": "prompt",
        "origin": {"kind": "human"},
    }
    at = next(i for i, known in enumerate(file.records) if known.get("operation") == "remove")
    file.records.insert(
        at + 1,
        {"type": "attachment", "uuid": "q1", "parentUuid": "a1", "sessionId": "s1", "attachment": record},
    )
    assert standing(file.read()) == ["u1", "a1", "r1", "q1", "a2"]


@pytest.mark.parametrize("recorded", ["user", "attachment"])
def test_queued_words_that_are_recorded_after_the_turn_are_told_once(recorded):
    file = queued("stop it now", {"operation": "remove"})
    if recorded == "user":
        file.user("stop it now", uuid="u2")
    else:
        command = {"type": "queued_command", "prompt": "stop it now", "commandMode": "prompt"}
        file.add("attachment", uuid="q1", attachment=command)
    file.says("I stopped.", "m3", uuid="a3")
    file.user("go on", uuid="u3")
    file.user("stop it now", uuid="u4")
    file.says("Again.", "m4", uuid="a4")
    texts = [entry.message.text for entry in entries(file.read())]
    assert [text for text in texts if text] == [
        *("go", "stop it now", "done", "I stopped.", "go on", "stop it now", "Again.")
    ]


def spoken(file: Lines) -> list[str]:
    """Return the ids of what the user said after the first message."""
    said = [one for one in entries(file.read()) if one.message.origin is Origin.SPOKEN]
    return [one.id for one in said if one.message.role is Role.USER and not any(one.message.results)][1:]


def test_the_same_words_typed_after_the_turn_are_another_message():
    file = queued("continue", {"operation": "remove", "timestamp": "2026-01-01T10:00:00.000Z"})
    file.user("continue", uuid="u2", timestamp="2026-01-01T10:03:00.000Z")
    assert spoken(file) == ["L4", "u2"]


def test_the_same_words_typed_after_another_reply_are_another_message():
    file = queued("continue", {"operation": "remove"})
    file.says("and more", "m3", uuid="a3")
    file.user("continue", uuid="u2")
    assert spoken(file) == ["L4", "u2"]


def test_a_record_written_with_its_removal_is_told_once():
    file = queued("continue", {"operation": "remove", "timestamp": "2026-01-01T10:00:00.000Z"})
    file.user("continue", uuid="u2", timestamp="2026-01-01T10:00:00.700Z")
    file.user("continue", uuid="u3", timestamp="2026-01-01T10:00:03.000Z")
    assert spoken(file) == ["L4", "u3"]


@pytest.mark.parametrize(
    "recorded", [("removal",), ("record",), ("removal", "record"), ("record", "removal")]
)
def test_the_same_words_queued_in_two_replies_or_twice_in_one_are_told_each_time(recorded):
    file = Lines()
    file.user("go", uuid="first")
    for n in range(4):
        if n < 3:
            file.calls(f"c{n}", f"m{n}")
        for what in recorded:
            if what == "record":
                file.add("attachment", attachment={"type": "queued_command", "prompt": "continue"})
            else:
                file.note("queue-operation", operation="enqueue", content="continue")
                file.note("queue-operation", operation="remove")
        if n < 2:
            file.answers(f"c{n}")
    file.answers("c2")
    file.says("done", "m9")
    assert len(spoken(file)) == 4


def test_each_image_without_words_is_a_message():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    file = Lines()
    file.user("go", uuid="u1")
    for n in (1, 2):
        file.calls(f"c{n}", f"m{n}", uuid=f"a{n}")
        file.add("attachment", uuid=f"q{n}", attachment={"type": "queued_command", "prompt": [image]})
        file.answers(f"c{n}", uuid=f"r{n}")
    file.says("done", "m3", uuid="a3")
    file.user([image], uuid="u2")
    assert spoken(file) == ["q1", "q2", "u2"]


def test_attachments_are_the_machines_and_the_system_prompt_is_the_systems():
    file = Lines()
    file.add("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": "You are an agent."})
    file.user("go")
    file.add("attachment", attachment={"type": "hook_success", "content": "hook says hi"})
    file.add("attachment", attachment={"type": "deferred_tools_delta", "addedNames": ["x"]})
    said = [(entry.message.role, entry.message.origin, entry.message.text) for entry in entries(file.read())]
    assert said == [
        (Role.SYSTEM, Origin.SPOKEN, "You are an agent."),
        (Role.USER, Origin.SPOKEN, "go"),
        (Role.USER, Origin.INJECTED, "hook says hi"),
    ]


# The rest --------------------------------------------------------------------------------------------


def test_a_reply_has_its_model_and_the_tokens_of_its_last_piece():
    file = Lines()
    file.user("go")
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 800, "cache_read_input_tokens": 12_000}
    for output in (3, 40):
        file.says("x", "m1")
        file.records[-1]["message"]["usage"] = {**usage, "output_tokens": output}
    reply = entries(file.read())[1]
    assert (reply.model, reply.usage) == ("claude-x", Usage(12_809, 40, 12_000, 800))


def test_an_api_error_in_the_models_place_is_the_machines():
    file = Lines()
    file.user("go")
    file.says("API Error: overloaded", "m1", model="<synthetic>", isApiErrorMessage=True)
    reply = entries(file.read())[1]
    assert (reply.message.role, reply.message.origin, reply.model) == (Role.ASSISTANT, Origin.INJECTED, None)


def test_an_unknown_record_is_said_once_and_the_rest_is_read():
    file = Lines()
    file.note("brand-new")
    file.note("brand-new")
    file.user("go", uuid="u1")
    records = file.read()
    assert standing(records) == ["u1"]
    assert only(records, Problem) == [Problem("a record of the unknown type 'brand-new'", 1)]


def test_a_record_without_its_message_is_said():
    file = Lines()
    file.add("user", message="lost")
    assert only(file.read(), Problem) == [Problem("a record of type 'user' without a message", 1)]


def test_the_stream_of_a_headless_run_is_read_in_its_order():
    stream = [
        {"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/p"},
        {
            "type": "assistant",
            "session_id": "s1",
            "message": {"id": "m1", "role": "assistant", "content": "hello"},
        },
        {"type": "result", "subtype": "success", "session_id": "s1"},
    ]
    source = open_source(b"".join(json.dumps(line).encode() + b"\n" for line in stream))
    assert sniff(source)
    start, reply = list(read(source))
    assert (start.session_id, start.directory, reply.id, reply.message.text) == ("s1", "/p", "L2", "hello")


def test_the_folder_beside_a_file_gives_back_large_outputs_and_sub_agents(tmp_path):
    file = Lines()
    file.user("go", uuid="u1")
    file.calls("c1", "m1", uuid="a1")
    saved = "Output too large (1MB). Full output saved to: /home/x/s1/tool-results/c1.txt"
    moved = f"<persisted-output>\n{saved}\n\nPreview"
    file.answers("c1", moved, uuid="r1")
    (tmp_path / "s1.jsonl").write_bytes(file.bytes())
    agent = Lines()
    agent.user("look", uuid="x1", isSidechain=True, agentId="ag")
    (tmp_path / "s1" / "subagents").mkdir(parents=True)
    (tmp_path / "s1" / "subagents" / "agent-ag.jsonl").write_bytes(agent.bytes())
    (tmp_path / "s1" / "tool-results").mkdir()
    (tmp_path / "s1" / "tool-results" / "c1.txt").write_text("the whole output")
    told = entries(list(read(open_source(tmp_path / "s1.jsonl"))))
    result = told[2]
    assert next(result.message.results).text == "the whole output"
    assert (result.hidden_results, next(result.shown.results).text) == (("c1",), moved)
    assert [(entry.id, entry.sidechain) for entry in told][3:] == [("x1", "ag")]


@pytest.mark.parametrize(
    "name",
    ["../../secret.txt", "..\\secret.txt", "/etc/passwd", ".hidden.txt", "link.txt", f"{'long' * 70}.txt"],
)
def test_no_name_in_a_transcript_leads_out_of_its_folder(name, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    outputs = tmp_path / "s1" / "tool-results"
    outputs.mkdir(parents=True)
    (outputs / "link.txt").symlink_to(tmp_path / "secret.txt")
    file = Lines()
    file.calls("c1", "m1")
    moved = f"<persisted-output>\nFull output saved to: {name}\n"
    file.answers("c1", moved)
    (tmp_path / "s1.jsonl").write_bytes(file.bytes())
    told = entries(list(read(open_source(tmp_path / "s1.jsonl"))))
    assert next(told[1].message.results).text == moved


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "files", "calls", "boundaries"),
    [("claude-code-context-evaluator", 60, 2134, 1), ("claude-code-entire-cli", 88, 10_762, 73)],
)
def test_real_sessions_are_read_whole(name, files, calls, boundaries):
    sessions = [
        list(read(open_source(path)))
        for path in sorted((real_data("transcripts") / name).glob("*.jsonl.zst"))
    ]
    main = [entry for records in sessions for entry in entries(records) if entry.sidechain is None]
    assert len(sessions) == files
    assert sum(1 for entry in main for _ in entry.message.calls) == calls
    assert sum(len(only(records, Boundary)) for records in sessions) == boundaries
    for records in sessions:
        ids = [entry.id for entry in entries(records)]
        assert len(ids) == len(set(ids))
        assert len(only(records, Start)) == 1


def test_a_session_that_grows_while_it_is_read_is_told_as_it_stood_at_first():
    file = Lines()
    file.user("go", uuid="u1")
    passes = []

    def growing():
        passes.append(len(file.records))
        yield file.bytes()
        file.says("later", f"m{len(passes)}")

    assert standing(list(read(Source("live.jsonl", growing)))) == ["u1"]
    assert passes == [1, 2]


def test_a_file_read_from_a_pipe_is_read_alike():
    file = compacted()
    piped = PipedSource("test.jsonl", io.BytesIO(file.bytes()))
    assert list(read(piped)) == file.read()


def test_two_calls_of_one_reply_that_share_an_id_are_both_told():
    calls = [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}}
        for command in ("ls", "rm -rf db")
    ]
    rows = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "go"}},
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "message": {"role": "assistant", "id": "m", "content": [*calls, calls[0]]},
        },
    ]
    (session,) = load(open_source("\n".join(json.dumps(row) for row in rows).encode()), "claude-code")
    assert [call.arguments for message in session.full() for call in message.calls] == [
        {"command": "ls"},
        {"command": "rm -rf db"},
    ]


def two_files(parent: str | None = None) -> list[Record]:
    one, two = Lines("s1"), Lines("s2")
    one.records.append({"type": "summary", "summary": "First", "leafUuid": "x1"})
    one.user("Hello", uuid="x0")
    one.says("Hi", "r1", uuid="x1")
    two.records.append({"type": "summary", "summary": "Second", "leafUuid": "y1"})
    two.user("Fix it", parent=None, uuid="y0")
    two.says("Done", "r2", uuid="y1", parent=parent or "y0")
    one.records += two.records
    return one.read()


def test_each_of_two_concatenated_files_keeps_its_title():
    assert [start.title for start in only(two_files(), Start)] == ["First", "Second"]


def test_a_record_that_points_into_the_session_before_is_no_cycle():
    assert only(two_files("x1"), Problem) == []
