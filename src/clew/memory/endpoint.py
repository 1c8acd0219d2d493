"""An embedder that calls any OpenAI-compatible endpoint: ``POST {base}/embeddings``."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.errors import ModelBusy, ModelError, ModelFailed, ModelRefused, ModelTimeout

AT_ONCE = 96
"""Texts per request; accepted by all common servers."""


@dataclass(frozen=True, slots=True)
class EndpointEmbedder:
    """Embeds texts on a server. The only part of memory that sends texts off this computer."""

    base_url: str
    """``http://localhost:8080/v1``"""
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 60.0

    @property
    def name(self) -> str:
        """Return the name of the model: vectors of two names are never compared."""
        return f"endpoint/{self.model}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text, or raise a ``ModelError``."""
        found: list[bytes] = []
        for start in range(0, len(texts), AT_ONCE):
            found += self._ask(texts[start : start + AT_ONCE])
        return found

    def _ask(self, texts: Sequence[str]) -> list[bytes]:
        body = json.dumps({"model": self.model, "input": list(texts)}).encode()
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(f"{self.base_url.rstrip('/')}/embeddings", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as reply:
                answer = json.load(reply)
        except urllib.error.HTTPError as cause:
            raise _refusal(cause.code)(f"{self.name}: HTTP {cause.code}") from cause
        except TimeoutError as cause:
            raise ModelTimeout(self.name) from cause
        except (urllib.error.URLError, ValueError, ConnectionError) as cause:
            raise ModelFailed(f"{self.name}: {cause}") from cause
        return _vectors(answer, len(texts))


def _refusal(status: int) -> type[ModelError]:
    if status == 429:
        return ModelBusy
    return ModelFailed if status >= 500 else ModelRefused


def _vectors(answer: Any, count: int) -> list[bytes]:  # noqa: ANN401 - JSON enters here
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = [_packed([float(number) for number in row["embedding"]]) for row in rows]
    except (KeyError, TypeError, ValueError) as cause:
        raise ModelFailed("the server's response contains no embeddings") from cause
    if len(vectors) != count:
        raise ModelFailed(f"the server returned {len(vectors)} embeddings for {count} texts")
    return vectors


def _packed(numbers: Sequence[float]) -> bytes:
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return bytes(round(number / length * 127) & 0xFF for number in numbers)
