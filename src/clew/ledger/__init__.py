"""The ledger: rules, goals, decisions, open work, files and failures of a session. See README.md."""

from clew.ledger.approvals import Approval, ApprovalState
from clew.ledger.artifacts import Artifact, ArtifactKind, Artifacts
from clew.ledger.decisions import DecidedBy, Decision
from clew.ledger.failures import Failure
from clew.ledger.goal import Goal, GoalKind
from clew.ledger.kinds import ValueKind
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.loops import Loops
from clew.ledger.outcome import Ended
from clew.ledger.shell import Action
from clew.ledger.todos import Todo
from clew.ledger.values import Value, Values, Voice, values_of
from clew.rules.pins import Pins
from clew.rules.rule import MadeBy, Pin, RuleStatus

__all__ = [
    "Action",
    "Approval",
    "ApprovalState",
    "Artifact",
    "ArtifactKind",
    "Artifacts",
    "Closed",
    "DecidedBy",
    "Decision",
    "Ended",
    "Failure",
    "Goal",
    "GoalKind",
    "Ledger",
    "Loop",
    "LoopKind",
    "Loops",
    "MadeBy",
    "Pin",
    "Pins",
    "RuleStatus",
    "Todo",
    "Value",
    "ValueKind",
    "Values",
    "Voice",
    "values_of",
]
