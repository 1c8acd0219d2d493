"""Counters of the service, in the text format of Prometheus and as OpenTelemetry metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

    from clew.service.operations import Operation

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of durations, in seconds: the default ones of Prometheus' client for Go."""


def otel_meter() -> Meter | None:
    """Return a meter of OpenTelemetry, if its API is installed.

    It records nothing until the program is given a meter provider, for example by `opentelemetry-instrument`.
    """
    try:
        from opentelemetry.metrics import get_meter
    except ImportError:
        return None
    return get_meter("clew", __version__)


class Metrics:
    """Counts requests and background jobs. Share one between threads."""

    def __init__(self, meter: Meter | None = None) -> None:
        """With a ``meter``, everything is recorded there too, with OpenTelemetry's names for servers."""
        duration = "http.server.request.duration"
        self._durations = meter and meter.create_histogram(
            duration, "s", explicit_bucket_boundaries_advisory=BUCKETS
        )
        self._finished_jobs = meter and meter.create_counter("clew.jobs", "{job}", "Background compactions.")
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._jobs: Counter[str] = Counter()

    def request(self, operation: Operation, status: int, seconds: float) -> None:
        """Count a request."""
        name = operation.name
        with self._lock:
            self._requests[name, status] += 1
            self._seconds[name] += seconds  # type: ignore[assignment]  # a sum of seconds
            for bound in BUCKETS:
                self._buckets[name, bound] += seconds <= bound
        if self._durations:
            route = {"http.request.method": operation.method, "http.route": operation.path}
            self._durations.record(seconds, {**route, "http.response.status_code": status})

    def job(self, result: str) -> None:
        """Count a background job by its result."""
        with self._lock:
            self._jobs[result] += 1
        if self._finished_jobs:
            self._finished_jobs.add(1, {"clew.job.result": result})

    def text(self, open_sessions: int) -> str:
        """Return everything in Prometheus' format."""
        with self._lock:
            return "\n".join([*self._lines(open_sessions), ""])

    def _lines(self, open_sessions: int) -> Iterator[str]:
        yield "# HELP clew_request_seconds Time to answer a request.\n# TYPE clew_request_seconds histogram"
        counts: Counter[str] = Counter()
        for (operation, _), count in self._requests.items():
            counts[operation] += count
        for operation, count in sorted(counts.items()):
            for bound in BUCKETS:
                in_bucket = self._buckets[operation, bound]
                yield f'clew_request_seconds_bucket{{operation="{operation}",le="{bound}"}} {in_bucket}'
            yield f'clew_request_seconds_bucket{{operation="{operation}",le="+Inf"}} {count}'
            yield f'clew_request_seconds_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}'
            yield f'clew_request_seconds_count{{operation="{operation}"}} {count}'
        yield "# HELP clew_requests_total Requests by status.\n# TYPE clew_requests_total counter"
        for (operation, status), count in sorted(self._requests.items()):
            yield f'clew_requests_total{{operation="{operation}",status="{status}"}} {count}'
        yield "# HELP clew_jobs_total Background compactions by result.\n# TYPE clew_jobs_total counter"
        for result, count in sorted(self._jobs.items()):
            yield f'clew_jobs_total{{result="{result}"}} {count}'
        yield "# HELP clew_open_sessions Sessions in the cache.\n# TYPE clew_open_sessions gauge"
        yield f"clew_open_sessions {open_sessions}"
