"""Wire formats: read, write and check what each provider's API takes."""

from clew.wire.anthropic import ANTHROPIC
from clew.wire.body import Body
from clew.wire.convert import Converted, convert
from clew.wire.crossing.losses import Choices, Loss, LossKind
from clew.wire.detect import Guess, detect
from clew.wire.gemini import GEMINI
from clew.wire.known import WIRES, wire_named
from clew.wire.openai import OPENAI
from clew.wire.responses import RESPONSES
from clew.wire.rules import Finding, Level, Report, Rule, Scope, Unverified, Violation
from clew.wire.wire import Wire

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OPENAI",
    "RESPONSES",
    "WIRES",
    "Body",
    "Choices",
    "Converted",
    "Finding",
    "Guess",
    "Level",
    "Loss",
    "LossKind",
    "Report",
    "Rule",
    "Scope",
    "Unverified",
    "Violation",
    "Wire",
    "convert",
    "detect",
    "wire_named",
]
