"""clew: the layer of an LLM agent that decides what the model sees as a session outgrows its window."""

__version__ = "0.1.0"
