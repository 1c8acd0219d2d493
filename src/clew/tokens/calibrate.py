"""Calibrate a family's scale from the usage that its provider reports.

Each report is one equation: so many words, digits, marks and so on cost so many tokens. A request counted as
1,000 words is expected to cost 1,230 tokens of Claude; if the provider reports 1,300, the factor of words
moves from 1.23 towards 1.30. Every factor moves in proportion to its uncertainty and to its share of the
report (a Kalman filter that keeps variances only). The error of a report is limited to three standard
deviations: early reports have a large effect, later ones a small one, and an outlier cannot destroy the
calibration.

For a family whose scale was measured, or whose texts a tokenizer counts, the learnt scale is used only while
it has predicted the reports better. So reports that are off for another reason do not make a known model
worse, and exact counts stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from clew.errors import InputError
from clew.message import JsonObject
from clew.tokens.families import KINDS, Family, Scale, Tally

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
