"""mini-swe-agent: commands as text in version 1, called tools in version 2."""

from __future__ import annotations

from clew.message import Usage
from clew.providers import OPENAI
from clew.transcripts.readers.swe_agent import MINI
from clew.transcripts.records import Start
from tests.transcripts.telling import document, tell

INFO = {"mini_version": "1.15.0", "config": {"model": {"model_name": "m"}, "environment": {"cwd": "/w"}}}
SYSTEM = {"role": "system", "content": "Be good."}
TASK = {"role": "user", "content": "Solve this."}


def run(*messages: dict) -> dict:
    return {"info": INFO, "messages": [SYSTEM, TASK, *messages], "trajectory_format": "mini-swe-agent-1"}


def told(*messages: dict) -> list[str]:
    return tell(MINI.read(document(run(*messages), "x.traj.json")))[3:]


def replied(content: str, **fields) -> dict:
    return {"role": "assistant", "content": content, **fields}


def test_a_run_begins_with_its_model_and_directory():
    source = document(run(), "django-1.traj.json")
    assert MINI.sniff(source)
    assert next(MINI.read(source)) == Start("django-1", "mini-swe-agent", directory="/w", model="m")


def test_a_block_of_bash_is_a_call_and_the_next_message_its_result():
    observation = {"role": "user", "content": "<returncode>0</returncode>\na.py"}
    assert told(replied("THOUGHT: look\n\n```bash\nls -la\n```\nThen we see."), observation) == [
        '#2 assistant: THOUGHT: look | Then we see. | bash({"command": "ls -la"})=action-2',
        "#3 tool: action-2> <returncode>0</returncode>\na.py",
    ]


def test_other_blocks_are_no_calls():
    said = "Like this:\n```python\nx\n```\n```bash\nls\n```"
    assert told(replied(said)) == [
        '#2 assistant: Like this:\n```python\nx\n``` | bash({"command": "ls"})=action-2'
    ]


def test_a_reply_with_no_or_several_commands_was_refused_by_the_harness():
    refusal = {"role": "user", "content": "Please always provide EXACTLY ONE action"}
    two = "```bash\nls\n```\n```bash\npwd\n```"
    assert told(replied(two), refusal, replied("hm"), refusal) == [
        f"#2 assistant: {two}",
        "#3 user/injected: Please always provide EXACTLY ONE action",
        "#4 assistant: hm",
        "#5 user/injected: Please always provide EXACTLY ONE action",
    ]


def test_tokens_come_with_the_reply():
    response = {"model": "m-1", "created": 1785000000, "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    entry = list(MINI.read(document(run(replied("hm", extra={"response": response})))))[3]
    assert (entry.model, entry.time, entry.usage) == ("m-1", "2026-07-25T17:20:00.000Z", Usage(9, 2))


def test_called_tools_render_as_openai_gets_them():
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    result = {"role": "tool", "tool_call_id": "c1", "content": "a"}
    source = document(
        run(
            {**said, "extra": {"actions": []}},
            {**result, "extra": {"returncode": 0}},
            {"role": "exit", "content": "done"},
        )
    )
    assert tell(MINI.read(source))[3:] == [
        '#2 assistant: bash({"command": "ls"})=c1',
        "#3 tool: c1> a",
        "#4 user/injected: <untrusted>done",
    ]
    assert OPENAI.render(entry.message for entry in list(MINI.read(source))[3:5]) == [said, result]


def test_a_reply_of_responses_is_read_item_by_item():
    output = [{"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}", "id": "fc"}]
    result = {"type": "function_call_output", "call_id": "c1", "output": "a", "extra": {}}
    assert told({"object": "response", "output": output}, result) == [
        "#2.0 assistant: bash({})=c1",
        "#3 tool: c1> a",
    ]
