"""Measure how full the window is by region; decide whether to compact, and whether that pays."""

from clew.budget.breaker import Breaker, Stance
from clew.budget.cost import Choice, Estimate, Move, Option, Outlook, choose, estimate, requests_to_come
from clew.budget.event import TokenBudget
from clew.budget.levels import Fill, Levels, levels_for
from clew.budget.policy import DEFAULT, EARLY, Limit, Policy
from clew.budget.prices import FIVE_MINUTES, HOUR, Cache, Cost
from clew.budget.regions import FIXED, Allotment, Region, Slice, allot
from clew.budget.results import ResultSizes
from clew.budget.signals import (
    Asked,
    Asker,
    Milestone,
    Pause,
    Paused,
    Phase,
    PhaseChanged,
    ResultArrived,
    Resumed,
    Signal,
    Trigger,
)
from clew.budget.state import FRESH, Lease, State
from clew.budget.trigger import Calm, Compact, Stop, Verdict, Warn, judge
from clew.budget.undo import UndoPrice, undo_price
from clew.budget.window import Window, window_for

__all__ = [
    "DEFAULT",
    "EARLY",
    "FIVE_MINUTES",
    "FIXED",
    "FRESH",
    "HOUR",
    "Allotment",
    "Asked",
    "Asker",
    "Breaker",
    "Cache",
    "Calm",
    "Choice",
    "Compact",
    "Cost",
    "Estimate",
    "Fill",
    "Lease",
    "Levels",
    "Limit",
    "Milestone",
    "Move",
    "Option",
    "Outlook",
    "Pause",
    "Paused",
    "Phase",
    "PhaseChanged",
    "Policy",
    "Region",
    "ResultArrived",
    "ResultSizes",
    "Resumed",
    "Signal",
    "Slice",
    "Stance",
    "State",
    "Stop",
    "TokenBudget",
    "Trigger",
    "UndoPrice",
    "Verdict",
    "Warn",
    "Window",
    "allot",
    "choose",
    "estimate",
    "judge",
    "levels_for",
    "requests_to_come",
    "undo_price",
    "window_for",
]
