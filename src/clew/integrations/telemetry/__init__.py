"""Export a session's events as JSON lines and OpenTelemetry spans."""

from clew.integrations.telemetry.spans import Scale, TraceRecord, lines, trace_records

__all__ = ["Scale", "TraceRecord", "lines", "trace_records"]
