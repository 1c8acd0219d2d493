"""The model path of a compaction: a model writes claims about a span, code decides which may stand."""

from clew.compact.summary.order import LIMITS, Limits, SessionRequest
from clew.compact.summary.prompt import PROMPT_VERSION
from clew.compact.summary.write import write

__all__ = ["LIMITS", "PROMPT_VERSION", "Limits", "SessionRequest", "write"]
