"""A session's story for other tools: JSON lines and OpenTelemetry. See README.md."""

from clew.telemetry.lines import lines
from clew.telemetry.moments import Moment, Scale
from clew.telemetry.told import moments

__all__ = ["Moment", "Scale", "lines", "moments"]
