"""A session as OpenTelemetry spans, for any exporter of the SDK.

::

    from clew.integrations.telemetry.otel import spans_of

    exporter.export(spans_of(session.name, session.events()))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b

from clew.errors import MissingExtra
from clew.integrations.telemetry.spans import Attributes, Scale, TraceRecord, trace_records
from clew.log.protocol import StoredEvent

try:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event as SpanEvent
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
except ImportError as cause:
    raise MissingExtra("clew[otel]") from cause

SCHEMA = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
"""The version of the conventions that the names follow."""
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
"""Flags of a span that is exported."""


def spans_of(session: str, events: Iterable[StoredEvent]) -> Sequence[ReadableSpan]:
    """Return a session as finished spans: one for the session, and in it requests, tools and compactions.

    Points in time are events of the outermost span. Ids are derived from the log: exporting it again gives
    the same trace.
    """
    records = list(trace_records(session, events))
    if not records:
        return ()
    trace = _Trace(session)
    root = TraceRecord(
        id=session,
        seq=0,
        name=f"invoke_agent {session}",
        scale=Scale.SPAN,
        start=min(record.start for record in records),
        end=max(record.end for record in records),
        attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": session},
    )
    points = [trace.event(record) for record in records if record.scale is Scale.POINT]
    inner = [
        trace.span(record, record.parent or root.id) for record in records if record.scale is not Scale.POINT
    ]
    return (trace.span(root, None, points), *inner)


class _Trace:
    """Builds the spans of one session."""

    def __init__(self, session: str) -> None:
        from clew import __version__

        self._id = int.from_bytes(blake2b(session.encode(), digest_size=16).digest())
        self._resource = Resource({"service.name": "clew", "service.version": __version__})
        self._scope = InstrumentationScope("clew", __version__, SCHEMA)

    def span(self, record: TraceRecord, parent: str | None, events: Sequence[SpanEvent] = ()) -> ReadableSpan:
        error = {"error.type": record.error} if record.error else {}
        return ReadableSpan(
            record.name,
            context=self._context(record.id),
            parent=self._context(parent) if parent else None,
            resource=self._resource,
            attributes=_plain({**record.attributes, **error}),
            events=events,
            kind=SpanKind.CLIENT if record.scale is Scale.REQUEST else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, record.error) if record.error else Status(),
            start_time=_nanoseconds(record.start),
            end_time=_nanoseconds(record.end),
            instrumentation_scope=self._scope,
        )

    def event(self, record: TraceRecord) -> SpanEvent:
        return SpanEvent(record.name, _plain(record.attributes), _nanoseconds(record.end))

    def _context(self, name: str) -> SpanContext:
        span = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
        return SpanContext(self._id, span, is_remote=False, trace_flags=_SAMPLED)


def _plain(attributes: Attributes) -> dict[str, str | int | float | bool | Sequence[str]]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}


def _nanoseconds(time: str) -> int:
    record = datetime.fromisoformat(time)
    return int(record.timestamp()) * 1_000_000_000 + record.microsecond * 1_000
