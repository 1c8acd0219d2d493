"""The loop of an adapter: a job per line in, a result per line out."""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from .chat import Chat, system_first
from .job import Job

Compact = Callable[[Job], Chat]
"""Return the messages that the peer's pass leaves; what is inside ``job.timing()`` is its time."""


def serve(variants: dict[str, Compact], packages: list[str]) -> None:
    """Do jobs with the variant that the command line names until there are no more."""
    compact = variants[sys.argv[1]]
    answers = _own_stdout()
    sys.addaudithook(_refuse_network)
    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    _say(answers, {"ready": versions})
    for line in sys.stdin:
        _say(answers, done(compact, json.loads(line)))


def done(compact: Compact, line: dict[str, Any]) -> dict[str, Any]:
    """Do one job; what a peer raises is its result."""
    system, messages = system_first(line["messages"])
    job = Job.read(line, messages, len(system))
    gc.collect()
    try:
        after, error = [*system, *compact(job)], None
    except Exception as cause:  # noqa: BLE001  # a peer may raise anything, and that is worth knowing
        after, error = None, f"{type(cause).__name__}: {str(cause)[:500]}"
    return {
        "id": line["id"],
        "messages": after,
        "seconds": job.spent.seconds,
        "cpu_seconds": job.spent.cpu_seconds,
        "error": error,
        "calls": job.calls,
        "shown": sorted(at + len(system) for at in job.shown),
    }


def _own_stdout() -> Any:
    """Keep standard output for answers: what peers print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _say(answers: Any, thing: dict[str, Any]) -> None:
    answers.write(json.dumps(thing) + "\n")
    answers.flush()


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(arguments[1], tuple)):
        raise ConnectionRefusedError("peers are run without a network")
