"""The model path of a compaction: a model writes claims about a span, code decides which are accepted."""

from clew.ladder.summary.order import LIMITS, Limits, SessionRequest
from clew.ladder.summary.prompt import PROMPT_VERSION
from clew.ladder.summary.write import write

__all__ = ["LIMITS", "PROMPT_VERSION", "Limits", "SessionRequest", "write"]
