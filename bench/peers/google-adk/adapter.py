"""Google ADK: event compaction by token threshold, and the contents that its assembler then sends.

Both are called where its runner calls them, in modules that are not part of its public face.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.compaction import _run_compaction_for_token_threshold
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.events.event import Event
from google.adk.flows.llm_flows.context._contents import _get_contents
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.genai import types
from peerkit import Job, joined, serve, text_of
from peerkit.chat import Chat, answered, asked, called, calls_of, said, together

AGENT = "agent"


class Scripted(BaseLlm):
    """Answers with the scripted summary of what it is sent."""

    model: str = "scripted"
    job: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the summary."""
        parts = (part for content in llm_request.contents for part in content.parts or ())
        text = self.job.summarise("\n".join(part.text or "" for part in parts))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def native(job: Job) -> list[Event]:
    """Return the job's messages as events, a second apart."""
    names, found = called(job.messages), []
    turn = 0
    for at, (role, run) in enumerate(together(job.messages)):
        turn += role == "user"
        content = types.Content(
            role="model" if role == "assistant" else "user", parts=parts_of(role, run, names)
        )
        author = "user" if role in ("user", "system") else AGENT
        found.append(Event(author=author, content=content, invocation_id=f"turn{turn}", timestamp=at + 1.0))
    return found


def parts_of(role: str, run: Chat, names: dict[str, str]) -> list[types.Part]:
    """Return what a message, or a run of results, consists of."""
    if role == "tool":
        return [
            types.Part(
                function_response=types.FunctionResponse(
                    id=one["tool_call_id"],
                    name=names.get(one["tool_call_id"], "tool"),
                    response={"result": joined(one["content"])},
                )
            )
            for one in run
        ]
    words = joined(run[0].get("content"))
    calls = [
        types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))
        for call_id, name, arguments in calls_of(run[0])
    ]
    return [*([types.Part(text=words)] if words else []), *calls]


def chat(contents: list[types.Content]) -> Chat:
    """Return contents in OpenAI's format."""
    found: Chat = []
    for content in contents:
        parts = content.parts or []
        text = "\n".join(part.text for part in parts if part.text)
        calls = [part.function_call for part in parts if part.function_call]
        results = [part.function_response for part in parts if part.function_response]
        found += (answered(one.id, result_text(one.response)) for one in results)
        if content.role == "model":
            found.append(asked(text, [(one.id, one.name, one.args) for one in calls]))
        elif text:
            found.append(said("user", text))
    return found


def result_text(response: dict[str, Any] | None) -> str:
    """Return a result's words."""
    given = (response or {}).get("result")
    return given if isinstance(given, str) else json.dumps(response)


def size(message: dict[str, Any]) -> int:
    """Return a message's tokens, as ADK estimates them before a model has counted."""
    return len(text_of(message)) // 4


def summarised(job: Job) -> Chat:
    """Compact after an invocation, then assemble what the next request holds."""
    runs = [run for _, run in together(job.messages)]
    kept = job.newest(runs, lambda run: sum(map(size, run)))
    config = EventsCompactionConfig(
        summarizer=LlmEventSummarizer(llm=Scripted(job=job)), token_threshold=1, event_retention_size=kept
    )
    app = App(
        name="bench",
        root_agent=LlmAgent(name=AGENT, model=Scripted(job=job)),
        events_compaction_config=config,
    )
    service = InMemorySessionService()

    async def act() -> list[types.Content]:
        session = await service.create_session(app_name="bench", user_id="user")
        session.events.extend(native(job))
        with job.timing():
            await _run_compaction_for_token_threshold(app, session, service)
            return _get_contents(None, session.events, AGENT, preserve_function_call_ids=True)

    return chat(asyncio.run(act()))


serve({"summary": summarised}, ["google-adk"])
