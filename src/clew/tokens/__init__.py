"""Token counts (exact with a tokenizer, else estimated and calibrated), and a table of models and prices.

``counter_for("claude-opus-4-5").count_text("Hello world 123")`` is 5, by estimate.
"""

from clew.tokens.counter import TokenCounter, counter_for
from clew.tokens.families import FAMILIES, Calibration, Family, Tally
from clew.tokens.models import UNKNOWN, ModelInfo, model_named, models

__all__ = [
    "FAMILIES",
    "UNKNOWN",
    "Calibration",
    "Family",
    "ModelInfo",
    "Tally",
    "TokenCounter",
    "counter_for",
    "model_named",
    "models",
]
