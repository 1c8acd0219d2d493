"""How far one policy is ahead of another on the same cuts: a difference with its interval by session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from clew_evals.study import StudyRow
from clew_evals.summary import Mean, resampled


def difference(rows: Sequence[StudyRow], names: tuple[str, str], share: float, metric: str) -> Mean | None:
    """Return the first policy's mean less the second's, over cuts where both have one; None without any."""
    values: dict[str, dict[tuple[str, float], float]] = {name: {} for name in names}
    for row in rows:
        value = getattr(row.score, metric)
        if row.policy in values and row.share == share and value is not None:
            values[row.policy][row.session, row.at] = value
    first, second = (values[name] for name in names)
    by_session: defaultdict[str, list[float]] = defaultdict(list)
    for cut in first.keys() & second.keys():
        by_session[cut[0]].append(first[cut] - second[cut])
    ordered = [by_session[session] for session in sorted(by_session)]
    return resampled([sum(item) for item in ordered], [len(item) for item in ordered]) if ordered else None
