"""A loopback server that speaks as much of the Gemini API as Gemini CLI asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class GeminiServer:
    """Answers every request with the words that ``say`` makes of its body; remembers them all."""

    def __init__(self, say: Callable[[dict[str, Any]], str]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._say = say
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith(":countTokens"):
            return {"totalTokens": len(json.dumps(body)) // 4}
        self.bodies.append(body)
        content = {"role": "model", "parts": [{"text": self._say(body)}]}
        usage = {
            "promptTokenCount": len(json.dumps(body)) // 4,
            "candidatesTokenCount": 4,
            "totalTokenCount": 99,
        }
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }


def _handler(server: GeminiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            path = self.path.partition("?")[0]
            answer = json.dumps(server.answer(path, body))
            streams = path.endswith(":streamGenerateContent")
            data = (f"data: {answer}\r\n\r\n" if streams else answer).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if streams else "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
