"""Fit the estimator's weights for ASCII to o200k_base, on the half of the corpus that is not reported.

Prints one line per feature: its weight now, and the fitted one. The weights of other scripts were fitted on
software translations in forty languages, which this repository does not hold.
"""

from __future__ import annotations

import math
from collections import defaultdict

from tokens_corpus import Sample, samples

from clew.tokens.exact import ASCII_FEATURES, OTHER_FEATURES, BytePairs, occurrences

EMPHASIS = {"prose": 9.0, "code": 9.0, "json": 9.0, "logs": 9.0, "search": 4.0, "accented Latin": 4.0}
"""What agents really send counts for more than what is generated; everything else counts as 1."""
LEFT_OUT = ("CJK", "other scripts", "long runs")
HIGHEST_WEIGHT = 4.0


def fit(texts: list[Sample]) -> list[float]:
    """Return the weights in [0, HIGHEST_WEIGHT] with the least squared relative error, class by class."""
    tokenizer = BytePairs("o200k_base")
    sizes: defaultdict[str, int] = defaultdict(int)
    for sample in texts:
        sizes[sample.kind] += len(sample.text)
    size = len(ASCII_FEATURES)
    gram = [[0.0] * size for _ in range(size)]
    target = [0.0] * size
    for sample in texts:
        counts = occurrences(sample.text, ASCII_FEATURES)
        tokens = tokenizer.count(sample.text)
        left = tokens - _beyond_ascii(sample.text)
        weight = EMPHASIS.get(sample.kind, 1.0) * len(sample.text) / sizes[sample.kind] / tokens**2
        for i in range(size):
            target[i] += weight * counts[i] * left
            for j in range(size):
                gram[i][j] += weight * counts[i] * counts[j]
    return _descend(gram, target)


def _beyond_ascii(text: str) -> float:
    counts = occurrences(text, OTHER_FEATURES)
    return sum(feature.weight * count for feature, count in zip(OTHER_FEATURES, counts, strict=True))


def _descend(gram: list[list[float]], target: list[float]) -> list[float]:
    """Solve the bounded least squares by coordinate descent."""
    weights = [0.0] * len(target)
    change = math.inf
    while change > 1e-6:
        change = 0.0
        for i, row in enumerate(gram):
            if not row[i]:
                continue
            slope = target[i] - sum(a * b for a, b in zip(row, weights, strict=True))
            best = min(HIGHEST_WEIGHT, max(0.0, weights[i] + slope / row[i]))
            change = max(change, abs(best - weights[i]))
            weights[i] = best
    return weights


def main() -> None:
    fitted = fit([sample for sample in samples() if sample.kind not in LEFT_OUT and not sample.held_out])
    for feature, weight in zip(ASCII_FEATURES, fitted, strict=True):
        print(f"{feature.kind:8} {feature.pattern!r:12} now {feature.weight:.2f} fitted {weight:.2f}")


if __name__ == "__main__":
    main()
