"""What the adapters of the LangChain family share: its messages, and a model that speaks its interface."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from .chat import Chat, joined
from .job import Job


class ScriptedChat(BaseChatModel):
    """Answers with the scripted summary of what it is sent."""

    job: Any = Field(exclude=True)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = self.job.summarise("\n".join(_words(message) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def _words(message: BaseMessage) -> str:
    calls = (f"{call['name']}({call['args']})" for call in getattr(message, "tool_calls", ()))
    return "\n".join([joined(message.content), *calls])


def native(job: Job) -> list[BaseMessage]:
    """Return the job's messages as LangChain's, each with an id."""
    messages = convert_to_messages([{**one, "content": one.get("content") or ""} for one in job.messages])
    for number, message in enumerate(messages):
        message.id = f"m{number}"
    return messages


def chat(messages: list[BaseMessage]) -> Chat:
    """Return LangChain's messages in OpenAI's format."""
    found: Chat = convert_to_openai_messages(messages)
    return found
