"""Wire formats: read, write and check what each provider's API takes."""

from clew.providers.anthropic import ANTHROPIC
from clew.providers.body import Body
from clew.providers.convert import Converted, convert
from clew.providers.crossing.losses import Choices, Loss, LossKind
from clew.providers.detect import Guess, detect
from clew.providers.gemini import GEMINI
from clew.providers.known import WIRES, wire_named
from clew.providers.openai import OPENAI
from clew.providers.responses import RESPONSES
from clew.providers.rules import Finding, Level, Report, Rule, Scope, Unverified, Violation
from clew.providers.wire import Wire

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
