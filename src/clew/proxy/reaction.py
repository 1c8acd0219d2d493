"""What clew makes of a request: forward it as it is, forward another body, or answer it.

``reactor.py`` decides on the reaction, ``handler.py`` carries it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from clew.proxy.relay import HttpRequest


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole HTTP response."""

    status: int
    body: bytes
    kind: str = "application/json"


@dataclass(frozen=True, slots=True)
class Reaction:
    """What clew makes of a request: an answer, another body to send, or neither."""

    status: int = 0
    """The status of clew's own answer; 0 if the request is forwarded."""
    body: bytes | None = None
    kind: str = "application/json"
    label: str = "passed"
    """What happened, for the ``x-clew`` header."""
    shortened: bool = False
    """The body holds a compacted conversation..."""
    rewritten: bool = False
    """...which this request compacted further, so that the prompt cache does not hold it yet."""
    retry: Callable[[int, bytes], bytes | None] | None = None
    """Returns a shorter body for status and decoded body of an error response, if there is one."""
    finish: Callable[[int, bytes], Reaction] | None = None
    """Returns the answer, from status and body of the upstream's whole response; status 0 without one."""

    @classmethod
    def of(cls, answer: HttpAnswer, label: str) -> Reaction:
        """Return the reaction that answers a request."""
        return cls(answer.status, answer.body, answer.kind, label)


PASS = Reaction()
"""Forward the request as it is."""
Reactor: TypeAlias = Callable[[HttpRequest], Reaction]
