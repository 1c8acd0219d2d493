"""Export a session's events as JSON lines and OpenTelemetry spans. See README.md."""

from clew.integrations.telemetry.lines import lines
from clew.integrations.telemetry.moments import Moment, Scale
from clew.integrations.telemetry.told import moments

__all__ = ["Moment", "Scale", "lines", "moments"]
