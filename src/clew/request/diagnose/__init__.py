"""Read-only diagnostics of a context: as functions over values, and as tools for an agent."""

from clew.request.diagnose.lineage import trace_summaries
from clew.request.diagnose.scene import Diagnosis, Made, Scene
from clew.request.diagnose.told import context_budget, context_snapshot, list_contributors
from clew.request.diagnose.tools import diagnostic_tools

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
