"""Cline's SDK: messages, and the compaction beside them."""

from __future__ import annotations

import json

from clew.message import Usage
from clew.transcripts.readers.cline import read, sniff
from clew.transcripts.source import open_source
from tests.transcripts.telling import document, tell


def said(id_: str, role: str, text: str, **fields) -> dict:
    return {
        "id": id_,
        "role": role,
        "content": [{"type": "text", "text": text}],
        "ts": 1785000000000,
        **fields,
    }


def session(*messages: dict) -> dict:
    return {"version": 1, "agent": "main", "sessionId": "s1", "messages": list(messages)}


def test_a_session_is_read_with_models_and_tokens():
    metrics = {"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 10}
    source = document(
        session(said("a", "user", "hi"), said("b", "assistant", "ok", metrics=metrics, modelInfo={"id": "m"}))
    )
    assert sniff(source)
    assert tell(read(source)) == ["start s1", "a user: hi", "b assistant: ok"]
    assert [(entry.model, entry.usage) for entry in list(read(source))[2:]] == [("m", Usage(15, 2, 10))]


def test_a_compaction_beside_the_messages_stands_where_it_took_effect(tmp_path):
    messages = session(said("a", "user", "1"), said("b", "assistant", "2"), said("c", "user", "3"))
    summary = said("z", "user", "so far: 1", metadata={"kind": "compaction_summary"})
    compaction = {"version": 1, "source_message_count": 2, "messages": [summary, said("b", "assistant", "2")]}
    (tmp_path / "s1.messages.json").write_text(json.dumps(messages))
    (tmp_path / "s1.compaction.json").write_text(json.dumps(compaction))
    assert sniff(open_source(tmp_path))
    assert tell(read(open_source(tmp_path))) == [
        "start s1",
        "a user: 1",
        "b assistant: 2",
        "boundary compaction keeps b",
        "z user/summary: so far: 1",
        "c user: 3",
    ]


def test_a_message_that_a_compaction_changed_is_read_in_both_forms(tmp_path):
    (tmp_path / "s1.messages.json").write_text(json.dumps(session(said("a", "user", "a long story"))))
    compaction = {"source_message_count": 1, "messages": [said("a", "user", "a…")]}
    (tmp_path / "s1.compaction.json").write_text(json.dumps(compaction))
    assert tell(read(open_source(tmp_path)))[1:] == [
        "a user: a long story",
        "boundary compaction keeps nothing",
        "a~2 user: a…",
    ]


def test_a_compaction_of_everything_comes_last(tmp_path):
    (tmp_path / "s1.messages.json").write_text(json.dumps(session(said("a", "user", "1"))))
    compaction = {
        "source_message_count": 1,
        "messages": [said("z", "user", "s", metadata={"kind": "compaction"})],
    }
    (tmp_path / "s1.compaction.json").write_text(json.dumps(compaction))
    told = tell(read(open_source(tmp_path / "s1.messages.json")))
    assert told[2:] == ["boundary compaction keeps nothing", "z user/summary: s"]


def test_a_torn_compaction_is_told_and_the_messages_are_read(tmp_path):
    (tmp_path / "s1.messages.json").write_text(json.dumps(session(said("a", "user", "1"))))
    (tmp_path / "s1.compaction.json").write_text("{")
    problem, start, entry = tell(read(open_source(tmp_path / "s1.messages.json")))
    assert problem.startswith("problem at None: s1.compaction.json is not JSON")
    assert (start, entry) == ("start s1", "a user: 1")


def test_a_summary_inside_the_messages_is_a_boundary():
    told = tell(
        read(
            document(
                session(said("a", "user", "s", metadata={"kind": "compaction_summary", "tokensBefore": 9}))
            )
        )
    )
    assert told[1:] == ["boundary #0:boundary keeps nothing", "a user/summary: s"]


def test_blocks_that_cline_spells_in_its_own_way_are_read():
    image = {"type": "image", "data": "aGk=", "mediaType": "image/png"}
    file = {"type": "file", "path": "/a", "content": "x"}
    result = {"type": "tool_result", "tool_use_id": "t", "name": "read", "content": [file]}
    messages = session(
        {"id": "a", "role": "user", "content": [image, file]},
        {"id": "b", "role": "user", "content": [result]},
    )
    assert tell(read(document(messages)))[1:] == ["a user: Media | <semi-trusted>/a:\nx", "b tool: t> /a:\nx"]


def test_what_the_harness_put_in_is_not_the_persons():
    notice = said("a", "user", "retry", metadata={"kind": "recovery_notice", "displayRole": "system"})
    assert tell(read(document(session(notice))))[1:] == ["a user/injected: retry"]
