"""The model path of a compaction: a model writes claims about a span, code decides which are accepted."""

from clew.compaction.propose.summary.prompt import LIMITS, PROMPT_VERSION, Limits, SessionRequest
from clew.compaction.propose.summary.write import write

__all__ = ["LIMITS", "PROMPT_VERSION", "Limits", "SessionRequest", "write"]
