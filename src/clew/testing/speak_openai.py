"""Error responses of OpenAI's two APIs, from the server side."""

from __future__ import annotations

from clew.message import JsonObject

_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


class SpeakOpenai:
    """Error responses of both APIs."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error with OpenAI's type and code for the status."""
        usual = "invalid_request_error" if status < 500 else "server_error"
        kind, known = _ERRORS.get(status, (usual, None))
        return {"error": {"message": message, "type": kind, "param": None, "code": code or known}}

    def too_long(self, tokens: int, limit: int) -> str:
        """Return OpenAI's message for a request that is too long."""
        return (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
            f"{tokens} tokens. Please reduce the length of the messages."
        )
