"""The context_budget tool: reports how full the window is."""

from __future__ import annotations

from typing import Any

from clew.memory.tools.desk import Desk
from clew.memory.tools.schema import takes
from clew.memory.tools.tool import Tool, ToolAnswer
from clew.message import Origin


def _budget(desk: Desk, _: dict[str, Any]) -> ToolAnswer:
    gauge, used = desk.session.gauge, desk.session.tokens
    usable = gauge.window.usable_tokens
    compact_at = gauge.policy.compact_at.of(usable)
    view = desk.session.view()
    digests = [item.id for item in view if item.message.origin is Origin.SUMMARY]
    shown = f"{len(view):,} messages are in view"
    return ToolAnswer(
        "\n".join(
            [
                f"{used:,} of {usable:,} usable tokens are in use; "
                f"{gauge.window.reply_tokens:,} more are reserved for the reply.",
                f"Compaction starts at {compact_at:,}: {max(0, compact_at - used):,} tokens from now.",
                f"{shown}, earlier ones as {', '.join(digests)}." if digests else f"{shown}.",
            ]
        )
    )


CONTEXT_BUDGET = Tool(
    "context_budget",
    "Report how many tokens of the context window are in use, and how many are left before compaction.",
    takes(),
    _budget,
)
