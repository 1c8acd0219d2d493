"""What clew asks of a tokenizer from outside."""

from __future__ import annotations

from typing import Protocol


class Tokenizer(Protocol):
    """Counts the tokens of a text exactly as one family of models does.

    Two promises: the same text always gives the same number, and any text is answered, an empty one
    with 0. Special tokens in the text are counted as ordinary characters.
    """

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        ...
