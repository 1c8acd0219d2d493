"""Read-only diagnostics of a context: as functions over values, and as tools for an agent."""

from clew.context.diagnose.lineage import trace_summaries
from clew.context.diagnose.scene import Diagnosis, Made, Scene
from clew.context.diagnose.told import context_budget, context_snapshot, list_contributors
from clew.context.diagnose.tools import diagnostic_tools

__all__ = [
    "Diagnosis",
    "Made",
    "Scene",
    "context_budget",
    "context_snapshot",
    "diagnostic_tools",
    "list_contributors",
    "trace_summaries",
]
