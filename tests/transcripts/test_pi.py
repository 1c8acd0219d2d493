"""pi: the tree, compactions, branches, its content blocks."""

from __future__ import annotations

import json

import pytest

from clew.message import Usage
from clew.transcripts.readers.pi import read, sniff
from clew.transcripts.records import Boundary, Entry, Start
from tests.transcripts.telling import lines_source, tell

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "t0", "cwd": "/p"}


def said(id_: str, parent: str | None, role: str, content: object, **fields) -> dict:
    message = {"role": role, "content": content, **fields}
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": "t", "message": message}


def told(*lines: dict) -> list[str]:
    return tell(read(lines_source(HEADER, *lines)))[1:]


def test_a_session_begins_with_its_header():
    header = {**HEADER, "parentSession": "/x/2026_s0.jsonl"}
    source = lines_source(header, said("a", None, "user", "hi"))
    assert sniff(source)
    assert next(read(source)) == Start("s1", "pi", None, "/p", None, "t0", "s0")


def test_blocks_and_results_are_read():
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "text", "text": "ok"},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
    ]
    result = said(
        "c",
        "b",
        "toolResult",
        [{"type": "text", "text": "a"}],
        toolCallId="c1",
        toolName="bash",
        isError=True,
    )
    assert told(said("a", None, "user", "go"), said("b", "a", "assistant", blocks), result) == [
        "a user: go",
        'b assistant: ~hm~ [sig] | ok | bash({"command": "ls"})=c1',
        "c tool: c1!> a",
    ]


def test_an_answer_has_its_model_and_tokens():
    usage = {"input": 5, "output": 3, "cacheRead": 10, "cacheWrite": 2}
    answer = said("a", None, "assistant", [], model="claude-x", usage=usage)
    entry = list(read(lines_source(HEADER, answer)))[1]
    assert (entry.model, entry.usage) == ("claude-x", Usage(17, 3, 10, 2))


def test_a_compaction_keeps_what_stands_behind_the_first_kept_line():
    compaction = {
        "type": "compaction",
        "id": "d",
        "parentId": "c",
        "timestamp": "t",
        "summary": "so far",
        "firstKeptEntryId": "b",
        "tokensBefore": 90,
    }
    lines = [
        said("a", None, "user", "1"),
        said("b", "a", "user", "2"),
        said("c", "b", "user", "3"),
        compaction,
    ]
    assert told(*lines)[3:] == ["boundary d keeps b,c", "d:summary user/summary: so far"]
    boundary = next(record for record in read(lines_source(HEADER, *lines)) if isinstance(record, Boundary))
    assert boundary.tokens_before == 90


def test_a_branch_that_was_left_is_dropped_and_its_summary_is_a_machines():
    branch_summary = {
        "type": "branch_summary",
        "id": "d",
        "parentId": "a",
        "fromId": "c",
        "summary": "tried b",
    }
    lines = [
        said("a", None, "user", "1"),
        said("b", "a", "assistant", "2"),
        said("c", "b", "user", "3"),
        branch_summary,
        said("e", "d", "user", "4"),
    ]
    assert told(*lines)[3:] == ["d user/summary: tried b", "e user: 4", "dropped b,c"]


def test_a_compaction_on_a_branch_that_was_left_hides_nothing():
    compaction = {"type": "compaction", "id": "b", "parentId": "a", "summary": "s", "firstKeptEntryId": "a"}
    lines = [said("a", None, "user", "1"), compaction, said("c", "a", "user", "2")]
    assert told(*lines) == ["a user: 1", "b:summary user/summary: s", "c user: 2", "dropped b:summary"]


def test_older_lines_without_ids_continue_one_another():
    lines = [{"type": "message", "message": {"role": "user", "content": str(i)}} for i in range(2)]
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2}
    assert told(*lines, compaction) == [
        "L2 user: 0",
        "L3 user: 1",
        "boundary L4 keeps L3",
        "L4:summary user/summary: s",
    ]


def test_what_a_harness_says_is_not_the_persons():
    ran = said("a", None, "bashExecution", None, command="ls", output="x", exitCode=1)
    custom = {"type": "custom_message", "id": "b", "parentId": "a", "content": "note"}
    assert told(ran, custom) == [
        "a user/injected: <untrusted>$ ls\nx\n(exit code 1)",
        "b user/injected: note",
    ]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([said("a", "a", "user", "1")], "problem at None: the parents of 'a' form a cycle"),
        ([said("a", "zz", "user", "1")], "problem at 2: the parent 'zz' does not come before its child"),
        (
            [said("a", None, "user", "1"), said("a", None, "user", "2")],
            "problem at 3: the id 'a' is used again",
        ),
        (
            [{"type": "dream", "id": "a", "parentId": None}],
            "problem at 2: a line of the unknown type 'dream'",
        ),
        ([said("a", None, "oracle", "1")], "problem at 2: a message of the unknown role 'oracle'"),
    ],
)
def test_what_is_wrong_is_told_and_the_rest_is_read(lines, problem):
    assert [line for line in told(*lines) if line.startswith("problem")] == [problem]


def test_an_item_of_responses_in_place_of_a_signature_is_taken_apart():
    item = json.dumps({"id": "rs_1", "type": "reasoning", "encrypted_content": "gA"})
    block = {"type": "thinking", "thinking": "hm", "thinkingSignature": item}
    entry = list(read(lines_source(HEADER, said("a", None, "assistant", [block]))))[1]
    assert isinstance(entry, Entry)
    assert (entry.message.parts[0].signature, entry.message.parts[0].item_id) == ("gA", "rs_1")
