"""Send jobs through a peer's adapter: ``run(peer_name, jobs) -> results``.

A job is a mapping with ``id``, ``messages`` (OpenAI's chat format) and ``target_tokens``; and, if wanted,
``keep_last`` (how many messages to keep, for peers that count messages), ``tokens`` (the caller's own count,
which sets the scale of the peer's) and ``pins`` (indices of messages that a person has pinned). A system
prompt that opens the list is set aside and put back; target and tokens are of the rest.

The adapter is started once. A job that takes too long ends it, and the next job starts another.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from peers.catalogue import HERE, Peer, environments, read_peers

STARTING_SECONDS = 180.0
"""The heaviest peers import for many seconds on a busy machine."""
JOB_SECONDS = 60.0
QUIET = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HEADROOM_TELEMETRY": "off",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OPENAI_API_KEY": "none",
    "OTEL_SDK_DISABLED": "true",
}


class PeerMissing(RuntimeError):
    """The peer cannot be started here; the message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a peer made of a job."""

    id: str
    messages: list[dict[str, Any]] | None
    """The list afterwards, system prompt included; None where there is an error."""
    seconds: float
    """The pass alone: no start-up, no conversion of messages, no writing of the scripted summary."""
    error: str | None
    cpu_seconds: float = 0.0
    """The same by the processor's clock."""
    calls: int = 0
    """How often the peer asked its model for a summary."""
    shown: tuple[int, ...] = ()
    """Which of the messages its model was shown, by index."""


def run(
    peer_name: str, jobs: Iterable[Mapping[str, Any]], *, job_seconds: float = JOB_SECONDS
) -> Iterator[Result]:
    """Do jobs in order, each within its time; results come as they are made."""
    with Adapter(read_peers()[peer_name], job_seconds) as adapter:
        for job in jobs:
            yield adapter.do(job)


@dataclass
class Adapter:
    """A peer's adapter at work; a context manager."""

    peer: Peer
    job_seconds: float = JOB_SECONDS
    versions: dict[str, str] = field(default_factory=dict)
    """The packages that its environment has; known once it has started."""
    _process: subprocess.Popen[str] | None = None
    _answers: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    _complaints: IO[str] | None = None

    def __enter__(self) -> Adapter:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def do(self, job: Mapping[str, Any]) -> Result:
        """Do one job; what goes wrong is in the result."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(dict(job)) + "\n")
            process.stdin.flush()
            answer = self._answer(self.job_seconds)
        except TimeoutError:
            self._stop()
            return Result(str(job["id"]), None, self.job_seconds, f"took more than {self.job_seconds:g} s")
        except OSError:
            answer = None
        if answer is None:
            error = f"the adapter ended: {self._last_words()}"
            self._stop()
            return Result(str(job["id"]), None, 0.0, error)
        return Result(**{**answer, "shown": tuple(answer["shown"])})

    def _start(self) -> subprocess.Popen[str]:
        python = self.peer.interpreter(environments())
        if not python.exists():
            raise PeerMissing(f"not installed: python bench/peers/install.py {self.peer.folder}")
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [str(python), str(self.peer.adapter), self.peer.variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            encoding="utf-8",
            env={**os.environ, **QUIET, "PYTHONPATH": str(HERE)},
        )
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_forward, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            ready = self._answer(STARTING_SECONDS)
        except TimeoutError:
            ready = None
        if ready is None:
            why = self._last_words()
            self._stop()
            raise PeerMissing(f"does not start: {why}")
        self.versions = ready["ready"]
        return self._process

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """Return the next line; None where there will be none."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty as cause:
            raise TimeoutError from cause
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def _last_words(self) -> str:
        if self._complaints is None:
            return ""
        self._complaints.seek(0)
        lines = [line for line in self._complaints.read().splitlines() if line.strip()]
        return lines[-1][:300] if lines else "without a word"

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            self._process = None
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None


def _forward(lines: IO[str], answers: queue.SimpleQueue[str]) -> None:
    try:
        for line in lines:
            answers.put(line)
    except ValueError:  # the stream was closed with its process
        pass
    answers.put("")
