"""τ-bench and τ²-bench: many runs in one document."""

from __future__ import annotations

from clew.message import Usage
from clew.providers import OPENAI
from clew.transcripts.records import Entry
from clew.transcripts.source import open_source
from clew_evals.readers import tau2, tau_bench
from tests.transcripts.telling import document, tell

CALL = {"id": "c1", "type": "function", "function": {"name": "think", "arguments": "{}"}}


def test_every_run_of_tau_bench_is_a_session_of_openai_messages():
    traj = [
        {"role": "system", "content": "Policy."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "think", "content": "ok"},
    ]
    runs = [{"task_id": i, "trial": 0, "reward": 1.0, "info": {}, "traj": traj} for i in (3, 4)]
    source = document(runs)
    assert tau_bench.sniff(source)
    assert tell(tau_bench.read(source)) == [
        "start task-3-trial-0",
        "#0 system: Policy.",
        "#1 assistant: think({})=c1",
        "#2 tool: c1> ok",
        "start task-4-trial-0",
        "#0 system: Policy.",
        "#1 assistant: think({})=c1",
        "#2 tool: c1> ok",
    ]
    entries = [record for record in tau_bench.read(source) if isinstance(record, Entry)]
    assert OPENAI.render(entry.message for entry in entries[:3]) == traj


def test_a_torn_list_of_runs_is_read_run_by_run():
    data = b'[{"task_id": 1, "traj": [{"role": "user", "content": "a"}]}, {"task_id": 2, "tr'
    told = tell(tau_bench.read(open_source(data)))
    assert told[:2] == ["start task-1-trial-0", "#0 user: a"]
    assert told[2].startswith("problem at 1: the JSON breaks off inside [1]")


def simulations(*messages: dict) -> dict:
    info = {"environment_info": {"policy": "Policy."}, "agent_info": {"llm": "m"}}
    return {
        "info": info,
        "tasks": [{"id": "1"}],
        "simulations": [{"id": "s1", "task_id": "1", "messages": list(messages)}],
    }


def test_a_simulation_is_read_under_its_policy():
    call = {"id": "c1", "name": "find", "arguments": {"zip": "1"}, "requestor": "assistant"}
    source = document(
        simulations(
            {"role": "assistant", "content": "Hi!", "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
            {"role": "user", "content": "help"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "id": "c1", "content": "none", "error": True, "requestor": "assistant"},
        )
    )
    assert tau2.sniff(source)
    assert tell(tau2.read(source)) == [
        "start s1",
        "policy system: Policy.",
        "#0 assistant: Hi!",
        "#1 user: help",
        '#2 assistant: find({"zip": "1"})=c1',
        "#3 tool: c1!> none",
    ]
    assert list(tau2.read(source))[2].usage == Usage(9, 2)


def test_answers_held_together_are_parted_and_the_users_own_tools_stand_aside():
    together = {
        "role": "tool",
        "tool_messages": [{"role": "tool", "id": i, "content": i} for i in ("c1", "c2")],
    }
    own = {"id": "u1", "name": "toggle", "arguments": {}, "requestor": "user"}
    users = {"role": "user", "content": None, "tool_calls": [own]}
    assert tell(tau2.read(document(simulations(together, users))))[2:] == [
        "#0 tool: c1> c1",
        "#1 tool: c2> c2",
        "#2 user: toggle({})=u1 in user",
    ]
