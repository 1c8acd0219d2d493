"""SWE-agent: tools called or written as text, demonstrations."""

from __future__ import annotations

from clew.providers import OPENAI
from clew.transcripts.readers.swe_agent import read, sniff
from clew.transcripts.records import Entry
from tests.transcripts.telling import document, tell

SYSTEM = {"role": "system", "content": "Be good.", "agent": "main"}
TASK = {"role": "user", "content": "fix it", "agent": "main"}


def told(*history: dict) -> list[str]:
    return tell(read(document({"history": list(history)}, "run.traj")))


def test_a_run_is_recognised_by_its_steps_or_its_history():
    step = {"action": "ls", "observation": "a", "response": "Look.\n```\nls\n```"}
    assert sniff(document({"environment": "main", "trajectory": [step], "history": []}))
    assert sniff(document({"history": [SYSTEM]}))
    assert not sniff(document({"history": [{"role": "user"}]}))


def test_a_command_written_as_text_is_a_call_and_what_follows_its_result():
    action = {
        "role": "assistant",
        "content": "Look.\n```\nls\n```",
        "thought": "Look.\n",
        "action": "ls\n",
        "agent": "main",
    }
    assert told(SYSTEM, TASK, action, {"role": "user", "content": "a.py", "agent": "main"}, action) == [
        "start run",
        "#0 system: Be good.",
        "#1 user: fix it",
        '#2 assistant: Look.\n | bash({"command": "ls\\n"})=action-2',
        "#3 tool: action-2> a.py",
        '#4 assistant: Look.\n | bash({"command": "ls\\n"})=action-4',
    ]


def test_called_tools_render_as_openai_gets_them():
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}]
    said = {
        "role": "assistant",
        "content": "Look.",
        "tool_calls": calls,
        "thought": "Look.",
        "action": "ls",
        "agent": "main",
    }
    result = {
        "role": "tool",
        "content": "a.py",
        "tool_call_ids": ["c1"],
        "agent": "main",
        "message_type": "observation",
    }
    entries = [record for record in read(document({"history": [said, result]})) if isinstance(record, Entry)]
    assert OPENAI.render(entry.message for entry in entries) == [
        {"role": "assistant", "content": "Look.", "tool_calls": calls},
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
    ]


def test_a_demonstration_is_not_the_persons():
    demonstration = {"role": "user", "content": "Here is how", "is_demo": True, "agent": "main"}
    assert told(demonstration, TASK) == ["start run", "#0 user/injected: Here is how", "#1 user: fix it"]
