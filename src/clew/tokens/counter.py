"""Count the tokens of texts and messages for one model."""

from __future__ import annotations

from collections.abc import Iterable

from clew.message import Message, Part
from clew.tokens.cache import TextCache
from clew.tokens.calibrate import Calibration
from clew.tokens.estimate import estimate
from clew.tokens.exact import BytePairs, available
from clew.tokens.families import FAMILIES, OTHER, Family
from clew.tokens.models import Model, model_named
from clew.tokens.protocol import Tokenizer
from clew.tokens.tally import Tally, total
from clew.tokens.weigh import Balance


class TokenCounter:
    """Counts tokens for one family of models, with a cache: each new turn costs only its new text.

    The ``count`` methods return tokens. The ``weigh`` methods return a tally: keep the tally of a request,
    add to it as the session grows, and pass it to ``report_usage`` with the provider's count.
    """

    def __init__(
        self, family: Family, tokenizer: Tokenizer | None = None, calibration: Calibration | None = None
    ) -> None:
        """Count with ``tokenizer`` if given, else by estimate and calibration."""
        self.family = family
        self.calibration = Calibration() if calibration is None else calibration
        self.exact = tokenizer is not None
        """Whether text is counted by the model's own tokenizer. Framing and media are always estimated."""
        self._tokenizer = tokenizer
        self._learnt = self.calibration.learnt.get(family.name)
        self._scale = self.calibration.of(family).scale
        self._texts: TextCache[Tally] = TextCache()
        self._balance = Balance(family, self.weigh_text)

    def count_text(self, text: str) -> int:
        """Return the tokens of a text on its own: at least 1 unless it is empty."""
        return max(int(bool(text)), self.tokens(self.weigh_text(text)))

    def count(self, message: Message) -> int:
        """Return the tokens of a message as part of a request."""
        return self.tokens(self.weigh(message))

    def count_part(self, part: Part) -> int:
        """Return the tokens of one part of a message."""
        return self.tokens(total(self._balance.part(part)))

    def count_all(self, messages: Iterable[Message]) -> int:
        """Return the tokens of a history."""
        return self.tokens(self.weigh_all(messages))

    def weigh_text(self, text: str) -> Tally:
        """Return the tally of a text."""
        return self._texts.get(text, self._weigh_new)

    def weigh(self, message: Message) -> Tally:
        """Return the tally of a message."""
        return total(self._balance.message(message))

    def weigh_all(self, messages: Iterable[Message]) -> Tally:
        """Return the tally of a history."""
        return total(tally for message in messages for tally in self._balance.message(message))

    def tokens(self, tally: Tally) -> int:
        """Convert a tally to this family's tokens with the current calibration."""
        learnt = self.calibration.learnt.get(self.family.name)
        if learnt is not self._learnt:
            self._learnt, self._scale = learnt, self.calibration.of(self.family).scale
        return round(tally.tokens(self._scale))

    def report_usage(self, counted: Tally, reported: int) -> None:
        """Calibrate with one call: the tally of its whole input, and the input tokens its provider reported.

        Both must cover the same content. The increase of both from one call to the next works as well, and
        needs no tally of the system prompt and tools.
        """
        self.calibration.report(self.family, counted, reported)

    def _weigh_new(self, text: str) -> Tally:
        if self._tokenizer is None:
            return estimate(text)
        return Tally(known=self._tokenizer.count(text))


def counter_for(
    model: str | Model, tokenizer: Tokenizer | None = None, calibration: Calibration | None = None
) -> TokenCounter:
    """Return a counter for a model: exact if its tokenizer is installed, estimated otherwise.

    ``tokenizer`` takes precedence over clew's own. A model that clew does not know is estimated, and
    calibrated under its own name.
    """
    found = model_named(model) if isinstance(model, str) else model
    family = FAMILIES[found.tokenizer]
    if family is OTHER:
        family = family.named(f"{family.name}/{found.id}")
    if tokenizer is None and family.encoding and available():
        tokenizer = BytePairs(family.encoding)
    return TokenCounter(family, tokenizer, calibration)
