"""Measure how full the window is by region; decide whether to compact, and whether that pays.

``judge(Fill.of(allot(200_000, {Region.HISTORY: 180_000})))`` is
``Compact(trigger=pressure, target_tokens=57600)``.
"""

from clew.budget.cost import (
    FIVE_MINUTES,
    HOUR,
    Cache,
    CompactionPrice,
    Cost,
    CostChoice,
    CostMove,
    Estimate,
    Option,
    Outlook,
    choose,
    compaction_price,
    estimate,
    requests_to_come,
    undo_price,
)
from clew.budget.policy import (
    DEFAULT,
    EARLY,
    FIXED,
    Allotment,
    Limit,
    Policy,
    Region,
    Slice,
    Window,
    allot,
    region_of,
    window_for,
)
from clew.budget.state import (
    FRESH,
    Asker,
    Breaker,
    CompactionRequested,
    Lease,
    Milestone,
    Pause,
    Paused,
    Phase,
    PhaseChanged,
    ResultArrived,
    ResultSizes,
    Resumed,
    Signal,
    Stance,
    State,
    Trigger,
)
from clew.budget.verdict import (
    Calm,
    Compact,
    Fill,
    Levels,
    Stop,
    TokenBudget,
    Verdict,
    Warn,
    judge,
    levels_for,
)

__all__ = [
    "DEFAULT", "EARLY", "FIVE_MINUTES", "FIXED", "FRESH", "HOUR", "Allotment", "Asker", "Breaker",
    "Cache", "Calm", "Compact", "CompactionPrice", "CompactionRequested", "Cost", "CostChoice",
    "CostMove", "Estimate", "Fill", "Lease", "Levels", "Limit", "Milestone", "Option", "Outlook", "Pause",
    "Paused", "Phase", "PhaseChanged", "Policy", "Region", "ResultArrived", "ResultSizes", "Resumed",
    "Signal", "Slice", "Stance", "State", "Stop", "TokenBudget", "Trigger", "Verdict", "Warn", "Window",
    "allot", "choose", "compaction_price", "estimate", "judge", "levels_for", "region_of",
    "requests_to_come", "undo_price", "window_for",
]  # fmt: skip
