"""τ²-bench: one document with the policy of its domain and a list of simulations.

``{"info": {"environment_info": {"policy": …}}, "simulations": [{"task_id": 3, "messages": […]}]}``
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import (
    Json,
    JsonObject,
    Message,
    Origin,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    Usage,
    text_message,
    trust_of,
)
from clew.transcripts.fields import count, mapping, objects, string, time_of
from clew.transcripts.json_document import outline
from clew.transcripts.messages import relabel
from clew.transcripts.records import Entry, Record, Start
from clew.transcripts.source import Source
from clew_evals.readers import read_list

NAME = "tau2"
_ROLES = {"assistant": Role.ASSISTANT, "user": Role.USER, "system": Role.SYSTEM}


def sniff(source: Source) -> bool:
    """Whether this says of which domain and agent it holds simulations."""
    if source.is_directory:
        return False
    info = mapping(outline(source).fields, "info")
    return {"environment_info", "agent_info"} <= info.keys()


def read(source: Source) -> Iterator[Record]:
    """Read every simulation as a session."""
    return read_list(source, "simulations", "info", "simulation", _simulation)


def _simulation(simulation: JsonObject, info: JsonObject) -> Iterator[Record]:
    model = string(mapping(info, "agent_info"), "llm")
    task = f"task-{simulation.get('task_id')}-trial-{simulation.get('trial', 0)}"
    time = time_of(simulation.get("start_time"))
    yield Start(string(simulation, "id") or task, NAME, title=task, model=model, time=time)
    policy = string(simulation, "policy") or string(mapping(info, "environment_info"), "policy")
    if policy:
        yield Entry(text_message(Role.SYSTEM, policy), "policy")
    for i, item in enumerate(_flat(simulation.get("messages"))):
        # The simulated user may have tools of its own, which the agent never sees.
        sidechain = "user" if _is_users_own(item) else None
        usage = mapping(item, "usage")
        yield Entry(
            _message(item),
            f"#{i}",
            i,
            time=time_of(item.get("timestamp")),
            model=model if item.get("role") == "assistant" else None,
            usage=Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens")) if usage else None,
            sidechain=sidechain,
        )


def _flat(messages: Json) -> Iterator[JsonObject]:
    """Yield the messages; some versions hold the answers to parallel calls together in one."""
    for item in objects(messages):
        inner = item.get("tool_messages")
        yield from objects(inner) if isinstance(inner, list) else (item,)


def _is_users_own(item: JsonObject) -> bool:
    calls = objects(item.get("tool_calls"))
    return item.get("requestor") == "user" or any(call.get("requestor") == "user" for call in calls)


def _message(item: JsonObject) -> Message:
    text = string(item, "content")
    if item.get("role") == "tool":
        content = (Text(text, trust=Trust.UNTRUSTED),) if text else ()
        failed = item.get("error") is True
        call_id = string(item, "id") or string(item, "tool_call_id") or ""
        return Message(Role.TOOL, (ToolResult(call_id, content, failed, trust=Trust.UNTRUSTED),))
    role = _ROLES.get(str(item.get("role")), Role.USER)
    trust = trust_of(role)
    parts: list[Part] = [Text(text, trust=trust)] if text else []
    parts += [_call(call, trust) for call in objects(item.get("tool_calls"))]
    message = Message(role, tuple(parts))
    return message if str(item.get("role")) in _ROLES else relabel(message, Origin.INJECTED)


def _call(call: JsonObject, trust: Trust) -> ToolCall:
    raw = call.get("arguments")
    arguments = raw if isinstance(raw, dict | str) else {}
    return ToolCall(string(call, "id") or "", string(call, "name") or "unknown", arguments, trust=trust)
