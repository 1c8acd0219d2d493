"""The protocol for tokenizers that a caller supplies."""

from __future__ import annotations

from typing import Protocol


class Tokenizer(Protocol):
    """Counts the tokens of a text exactly as one family of models does.

    The same text must always give the same number, every text must be accepted, and the empty text has 0
    tokens. Special tokens in the text are counted as ordinary characters.
    """

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        ...
