"""Families of models that share a tokenizer (scale, framing, image rule), calibrated by reported usage.

A family's scale relates its tokens to the estimate, which is made for o200k_base: Claude needs a fifth more
tokens for words, Gemini a third more for marks. ``Tally(words=100, digits=10)`` is 110 tokens for o200k and
100 * 1.23 + 10 * 0.85 = 131.5 for Claude. The scales were measured (``bench/README.md`` has the method
and the errors); ``Calibration`` starts from them.

Each report of usage is one equation: so many words, digits, marks and so on cost so many tokens. A request
counted as 1,000 words is expected to cost 1,230 tokens of Claude; if the provider reports 1,300, the factor
of words moves from 1.23 towards 1.30. Every factor moves in proportion to its uncertainty and to its share of
the report (a Kalman filter that keeps variances only). The error of a report is limited to three standard
deviations: early reports have a large effect, later ones a small one, and an outlier cannot destroy the
calibration.

For a family whose scale was measured, or whose texts a tokenizer counts, the learnt scale is used only while
it has predicted the reports better. So reports that are off for another reason do not make a known model
worse, and exact counts stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from clew.errors import InputError
from clew.message import JsonObject
from clew.tokens.images import ImageRule, flat_rate, openai_tiles, patches

Scale: TypeAlias = tuple[float, float, float, float, float, float]
"""One number for each of ``KINDS``, in that order."""

COUNTED = "/counted"
"""The end of the name of a family whose texts are counted by a tokenizer; it is calibrated separately."""
KINDS = ("words", "digits", "marks", "cjk", "scripts", "framing")
"""The kinds of content on which tokenizers differ."""


class Tally(NamedTuple):
    """Token counts by kind, which can be added; a scale converts them to one family's tokens.

    Tokenizers differ by kind: one splits numbers into digits, another needs twice as many tokens for Chinese.
    ``known`` is not scaled, because it comes from a tokenizer or a formula.
    """

    words: float = 0.0
    """Latin letters."""
    digits: float = 0.0
    marks: float = 0.0
    """Punctuation, symbols, white space."""
    cjk: float = 0.0
    """Chinese, Japanese and Korean."""
    scripts: float = 0.0
    """All other writing, and emoji."""
    framing: float = 0.0
    """Tokens that a provider adds around messages, tool calls and results."""
    known: float = 0.0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override] # a sum, not a longer tuple
        """Return the sum by kind."""
        return total((self, other))

    def __sub__(self, other: Tally) -> Tally:
        """Return the difference by kind."""
        return Tally(*(own - less for own, less in zip(self, other, strict=True)))

    @property
    def kinds(self) -> Scale:
        """Return the counts that a scale applies to, in the order of ``KINDS``."""
        return self[:6]

    def tokens(self, scale: Scale, more_framing: int = 0) -> float:
        """Return the number of tokens with this scale, and with so much more framing."""
        # Written out because it runs for every message, and a loop takes five times as long.
        words, digits, marks, cjk, scripts, framing, known = self
        by_words, by_digits, by_marks, by_cjk, by_scripts, by_framing = scale
        return known + (
            words * by_words
            + digits * by_digits
            + marks * by_marks
            + cjk * by_cjk
            + scripts * by_scripts
            + (framing + more_framing) * by_framing
        )


EMPTY_TALLY = Tally()


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies by kind."""
    words = digits = marks = cjk = scripts = framing = known = 0.0
    for tally in tallies:
        words += tally[0]
        digits += tally[1]
        marks += tally[2]
        cjk += tally[3]
        scripts += tally[4]
        framing += tally[5]
        known += tally[6]
    return Tally(words, digits, marks, cjk, scripts, framing, known)


@dataclass(frozen=True, slots=True)
class Framing:
    """The tokens a provider wraps around each message, tool call and tool result."""

    message: int
    call: int
    result: int


@dataclass(frozen=True, slots=True)
class Family:
    """One tokenizer, and the tokens that its providers add to a request."""

    name: str
    scale: Scale
    """Factors on the estimate: words, digits, marks, cjk, scripts, framing."""
    framing: Framing
    image: ImageRule
    encoding: str | None = None
    """OpenAI's name of the encoding, if clew can count exactly."""

    def named(self, name: str) -> Family:
        """Return the same family under another name, so that it is calibrated separately."""
        return replace(self, name=name)

    @property
    def counted(self) -> Family:
        """Return the same family for counts of its own tokenizer, which need no scale until reports do."""
        return replace(self, name=f"{self.name}{COUNTED}", scale=(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))

    @property
    def is_counted(self) -> bool:
        """Whether its own tokenizer counts texts."""
        return self.name.endswith(COUNTED)

    @property
    def is_measured(self) -> bool:
        """Whether its scale was measured, or its tokens are counted."""
        return self.is_counted or (self.name in FAMILIES and self.name != "other")


# OpenAI documents three tokens around a chat message and one for its role; calls and results are guesses.
_CHAT = Framing(message=4, call=8, result=4)
# Claude adds 67 tokens to a tool call and its result, both ids included: the median over 1,582 steps of real
# sessions. Only the sum can be measured, so it is divided evenly.
_CLAUDE = Framing(message=4, call=34, result=33)

FAMILIES = {
    family.name: family
    for family in (
        Family("o200k", (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), _CHAT, openai_tiles, "o200k_base"),
        Family("cl100k", (1.05, 1.09, 0.86, 1.52, 2.27, 1.0), _CHAT, openai_tiles, "cl100k_base"),
        # Claude 3 to 4.6.
        Family("claude", (1.23, 0.85, 1.22, 1.52, 1.90, 1.0), _CLAUDE, patches(28, 1568, 1568)),
        # The tokenizer introduced with Opus 4.7. Its framing is assumed to be unchanged.
        Family("claude-4.7", (1.61, 0.59, 1.69, 1.52, 1.87, 1.0), _CLAUDE, patches(28, 2576, 4784)),
        # CJK and other scripts were not in the measured sessions.
        Family("gemini", (0.96, 1.27, 1.31, 1.0, 1.0, 1.0), Framing(1, 8, 8), flat_rate(1120)),
        Family("other", (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), _CHAT, patches(28, 1568, 1568)),
    )
}
OTHER = FAMILIES["other"]


INITIAL_DEVIATION: Scale = (0.12, 0.25, 0.20, 0.35, 0.50, 0.50)
"""The standard deviation of each factor before the first report, relative to the factor (chosen by hand)."""
COUNTED_DEVIATION: Scale = (0.08, 0.0, 0.0, 0.0, 0.0, 0.50)
"""The same if a tokenizer counts the texts: what a provider adds around them is less certain."""
FORGETTING = 0.005
"""Standard deviation added to each factor per report, to follow a changed tokenizer (chosen by hand)."""
ESTIMATE_NOISE = 0.04
"""The relative error of an estimate that no factor can correct; measured by ``bench/tokens.py``."""
EXACT_NOISE = 0.005
MAX_DEVIATIONS = 3.0
"""The error of a report is limited to this many standard deviations."""
REMEMBERED = 0.98
"""How much of the errors so far counts at the next report: about the last fifty (chosen by hand)."""
BETTER = 0.55
"""The learnt scale of a known model is used if its errors are below this share of the measured one's. On both
sets of ``bench/tokens.py`` the total error is then that without reports; with 0.8 one got worse. A perfect
scale gets below it with the second report."""
MAX_FACTOR = 4.0
"""A factor stays between its initial value divided by this and multiplied by this (chosen by hand)."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One number of a scale, with its variance."""

    value: float
    variance: float

    def moved(self, surprise: float, spread: float, amount: float, start: Factor) -> Factor:
        """Return the factor after a report: it takes its share of the surprise, and becomes more certain.

        ``surprise`` is the error of the expected tokens and ``spread`` its variance; ``amount`` is how much
        of this factor's kind the report has, ``start`` the factor before any report.
        """
        gain = self.variance * amount / spread
        value = _clamp(self.value + gain * surprise, start.value / MAX_FACTOR, start.value * MAX_FACTOR)
        variance = self.variance * (1.0 - gain * amount) + (start.value * FORGETTING) ** 2
        return Factor(value, min(start.variance, variance))


@dataclass(frozen=True, slots=True)
class CalibratedScale:
    """A calibrated scale: a factor for each of ``KINDS``, and the number of reports it is based on."""

    factors: tuple[Factor, ...]
    reports: int = 0
    error: float = 0.0
    """The relative errors of its predictions, each made before the report; older ones count less."""
    start_error: float = 0.0
    """The same for the scale before any report."""

    @property
    def is_better(self) -> bool:
        """Whether it predicted the reports clearly better than the scale before any report."""
        return self.error < BETTER * self.start_error

    @property
    def scale(self) -> Scale:
        """Return the factors' values."""
        words, digits, marks, cjk, scripts, framing = (factor.value for factor in self.factors)
        return (words, digits, marks, cjk, scripts, framing)


@cache
def before_reports(family: Family) -> CalibratedScale:
    """Return the scale of a family before any report."""
    pairs = zip(family.scale, COUNTED_DEVIATION if family.is_counted else INITIAL_DEVIATION, strict=True)
    return CalibratedScale(tuple(Factor(value, (value * unsure) ** 2) for value, unsure in pairs))


def learn(family: Family, known: CalibratedScale, counted: Tally, reported: int) -> CalibratedScale:
    """Return the scale updated with one report; an empty or impossible report changes nothing.

    ``counted`` is what clew counted in the request, ``reported`` the tokens that its provider reported.
    """
    if reported <= 0 or not any(counted.kinds):
        return known
    expected = counted.tokens(known.scale)
    estimated = 0.0 if family.is_counted else expected - counted.known
    noise = ESTIMATE_NOISE * estimated + EXACT_NOISE * (expected - estimated) + 1.0
    # The variance of the error: that of each factor, times its amount squared, and the noise of the estimate.
    variances = (f.variance * n * n for f, n in zip(known.factors, counted.kinds, strict=True))
    spread = noise**2 + sum(variances)
    limit = MAX_DEVIATIONS * math.sqrt(spread)
    surprise = _clamp(reported - expected, -limit, limit)
    starts = before_reports(family).factors
    factors = [
        factor.moved(surprise, spread, amount, start)
        for factor, amount, start in zip(known.factors, counted.kinds, starts, strict=True)
    ]
    error = abs(expected / reported - 1.0)
    start_error = abs(counted.tokens(family.scale) / reported - 1.0)
    return CalibratedScale(
        tuple(factors),
        known.reports + 1,
        known.error * REMEMBERED + min(1.0, error),
        known.start_error * REMEMBERED + min(1.0, start_error),
    )


def _clamp(value: float, least: float, most: float) -> float:
    return max(least, min(most, value))


@dataclass(slots=True)
class Calibration:
    """Calibrated scales by family; save them across sessions with ``to_json`` and ``from_json``."""

    learnt: dict[str, CalibratedScale] = field(default_factory=dict)

    def of(self, family: Family) -> CalibratedScale:
        """Return the current scale of a family."""
        return self.learnt.get(family.name) or before_reports(family)

    def scale(self, family: Family) -> Scale:
        """Return the scale to count with: the learnt one, unless a measured one predicts better."""
        known_scale = self.of(family)
        return family.scale if family.is_measured and not known_scale.is_better else known_scale.scale

    def report(self, family: Family, counted: Tally, reported: int) -> None:
        """Update a family's scale with one call: the tally of its input, and the provider's token count."""
        self.learnt[family.name] = learn(family, self.of(family), counted, reported)

    def to_json(self) -> JsonObject:
        """Return the calibration as plain JSON."""
        return {
            name: {
                "reports": known_scale.reports,
                "errors": [known_scale.error, known_scale.start_error],
                "factors": {
                    kind: asdict(factor) for kind, factor in zip(KINDS, known_scale.factors, strict=True)
                },
            }
            for name, known_scale in self.learnt.items()
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Calibration:
        """Read what ``to_json`` wrote."""
        try:
            return cls({name: _learnt(entry) for name, entry in value.items()})
        except (AttributeError, KeyError, TypeError, ValueError) as cause:
            raise InputError("this is not a token calibration") from cause


def _learnt(entry: Mapping[str, Any]) -> CalibratedScale:
    factors = tuple(Factor(**entry["factors"][kind]) for kind in KINDS)
    if not all(0 < factor.value < math.inf and 0 <= factor.variance < math.inf for factor in factors):
        raise ValueError("a factor must be above zero")
    error, start_error = map(float, entry.get("errors", (0.0, 0.0)))
    return CalibratedScale(factors, int(entry["reports"]), error, start_error)
