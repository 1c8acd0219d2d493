"""The two spellings of Gemini's field names, ``mimeType`` and ``mime_type``; the API accepts both."""

from __future__ import annotations

from clew.message import Json, JsonObject

NAME = "gemini"

SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "thoughtSignature": "thought_signature",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "displayName": "display_name",
}


def spelled(name: str, holder: JsonObject | None) -> str:
    """Return a field's name in the spelling that an object uses; camel case if it does not have it."""
    snake = SNAKE[name]
    return snake if holder is not None and snake in holder and name not in holder else name


def field(holder: JsonObject, name: str) -> Json:
    """Return a field's value in either spelling."""
    return holder.get(spelled(name, holder))
