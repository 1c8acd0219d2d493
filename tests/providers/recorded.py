"""Recorded exchanges with real APIs: what was sent, in which wire format, and what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml
import zstandard

from clew.message import Json, JsonObject
from clew.providers.rules import CheckScope
from tests.conftest import real_data

_ENDINGS = {
    "/messages": "anthropic",
    "/messages/count_tokens": "anthropic",
    "/invoke": "anthropic",
    "/chat/completions": "openai",
    "/responses": "responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
"""How addresses of the four formats end, whoever serves them. Bedrock's Converse and Cohere differ."""


class Exchange(NamedTuple):
    """One request of a recording, with the status and the error it got."""

    file: str
    wire: str
    body: JsonObject
    scope: CheckScope
    status: int
    error: str

    @property
    def accepted(self) -> bool:
        """Tell whether the API took the request."""
        return 200 <= self.status < 300


@cache
def exchanges() -> tuple[Exchange, ...]:
    """Return every recorded request in one of the four formats."""
    folder = real_data("provider-exchanges")
    yamls = [
        *folder.glob("pydantic-ai/*.yaml"),
        *real_data("transcripts").glob("pydantic-ai-cassettes/*.zst"),
    ]
    found = [one for path in sorted(folder.glob("opencode/*.json")) for one in _read_json(path)]
    found += [one for path in sorted(yamls) for one in _read_cassette(path)]
    return tuple(found)


def accepted(wire: str) -> Iterator[Exchange]:
    """Yield the requests of one format that were accepted."""
    return (one for one in exchanges() if one.wire == wire and one.accepted)


def _read_json(path: Path) -> Iterator[Exchange]:
    for one in json.loads(path.read_text("utf-8"))["interactions"]:
        request, response = one["request"], one["response"]
        yield from _exchange(
            path, request["url"], json.loads(request["body"]), response["status"], response["body"]
        )


def _read_cassette(path: Path) -> Iterator[Exchange]:
    raw = path.read_bytes()
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    for one in yaml.load(raw, Loader=yaml.CSafeLoader)["interactions"]:
        if "request" in one:
            request, response = one["request"], one["response"]
            answer = response.get("parsed_body", response.get("body"))
            yield from _exchange(path, request["uri"], _body(request), response["status"]["code"], answer)


def _body(request: dict[str, Any]) -> Json:
    given = request.get("parsed_body", request.get("body"))
    if isinstance(given, str) and given.startswith("{"):
        return json.loads(given)
    return given


def _exchange(path: Path, address: str, body: Json, status: int, answer: object) -> Iterator[Exchange]:
    place = urlsplit(address).path
    wire = next((wire for ending, wire in _ENDINGS.items() if place.endswith(ending)), None)
    if wire is None or not isinstance(body, dict):
        return
    if wire == "gemini":  # the address names the model
        body = {**body, "model": place.rpartition("/")[2].partition(":")[0]}
    scope = CheckScope.MESSAGES if place.endswith("/count_tokens") else CheckScope.BODY
    error = answer if isinstance(answer, str) else json.dumps(answer, default=str)
    yield Exchange(path.name, wire, body, scope, status, error)
