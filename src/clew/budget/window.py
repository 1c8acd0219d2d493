"""The usable part of a model's context window."""

from __future__ import annotations

from dataclasses import dataclass

from clew.budget.policy import DEFAULT, Policy
from clew.tokens import Model


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that one request and its reply may take together."""

    tokens: int
    reply_tokens: int
    """Tokens kept free for the reply."""

    @property
    def usable_tokens(self) -> int:
        """Return the tokens that a request may take."""
        return max(0, self.tokens - self.reply_tokens)


def window_for(model: Model, policy: Policy = DEFAULT) -> Window:
    """Return the window of a model; if its provider limits the input to less, that limit plus the reply."""
    reply = min(policy.reply.of(model.window_tokens), model.max_output_tokens)
    return Window(model.input_room(reply) + reply, reply)
