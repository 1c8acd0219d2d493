"""The diagnostics as tools for an agent. They change nothing, so they need no approval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.memory.tools import Tool, ToolAnswer
from clew.memory.tools.schema import takes, text
from clew.request.diagnose.lineage import trace_summaries
from clew.request.diagnose.scene import Diagnosis, Scene
from clew.request.diagnose.told import context_budget, context_snapshot, list_contributors
from clew.request.sections import SECTIONS


def diagnostic_tools(look: Callable[[], Scene]) -> tuple[Tool, ...]:
    """Return the tools; ``look`` is called for the current scene on every tool call."""

    def answering(
        answer: Callable[[Scene, dict[str, Any]], Diagnosis],
    ) -> Callable[[Any, dict[str, Any]], ToolAnswer]:
        return lambda _desk, given: ToolAnswer(answer(look(), given).text)

    return (
        Tool(
            "contextSnapshot",
            "Report the current token usage of every region of the context window, with the reason for each.",
            takes(),
            answering(lambda scene, _: context_snapshot(scene)),
        ),
        Tool(
            "listContributors",
            "List which turns, notes, instruction files and tools are in the context, with tokens and trust, "
            "and what was left out and why.",
            takes(
                section=text(
                    "Only this section; all of them if null.",
                    optional=True,
                    of=tuple(section.name for section in SECTIONS),
                )
            ),
            answering(lambda scene, given: list_contributors(scene, given["section"])),
        ),
        Tool(
            "traceSummaries",
            "Show the lineage of the summaries in the context: which turns each replaces, who wrote it, "
            "why, and what the checks said.",
            takes(digest=text("Only this one, like d3; all of them if null.", optional=True)),
            answering(lambda scene, given: trace_summaries(scene, given["digest"])),
        ),
        Tool(
            "contextBudget",
            "Report in one line how the context window is split, and what was cut.",
            takes(),
            answering(lambda scene, _: context_budget(scene)),
        ),
    )
