"""Two cheats and two ceilings, next to which the other policies' figures are read.

The cheats try to win the measure and nothing else: a figure on which they do well says little. The ceilings
are the uncut history, and an oracle that knows what will be asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from clew.message import Item
from clew_evals.binding import Binding
from clew_evals.needs import Needs, Probe
from clew_evals.passages import passages
from clew_evals.policies.fit import FRAMING, as_summary, first_tokens, indices_that_fit
from clew_evals.questions import GAP
from clew_evals.sessions import COUNTER, Cut
from clew_evals.turns import GIST
from clew_evals.words import key_of, places, plain_words, spot

STUFFING_WORDS = 60
WORDS_BETWEEN = 6
READ_PER_PART = 60_000


def bare_values(cut: Cut) -> Sequence[Item]:
    """Give a bare list of the values, newest first: nothing says what any of them is."""
    return as_summary(first_tokens(" ".join(_newest_values(cut)), cut.budget_tokens - FRAMING))


def stuffed(cut: Cut) -> Sequence[Item]:
    """Give the values with frequent words of the session strewn between them, to seem to say something."""
    words = [word for word, _ in Counter(plain_words(cut.readable.text)).most_common(STUFFING_WORDS)]
    pieces: list[str] = []
    for n, value in enumerate(_newest_values(cut)):
        start = n * WORDS_BETWEEN
        strewn = (words[(start + k) % len(words)] for k in range(WORDS_BETWEEN)) if words else ()
        pieces += [value, *strewn]
    return as_summary(first_tokens(" ".join(pieces), cut.budget_tokens - FRAMING))


def _newest_values(cut: Cut) -> Iterator[str]:
    seen: set[str] = set()
    for passage in reversed(list(passages(cut.items))):
        for spotted in spot(passage.text[:READ_PER_PART]):
            key = key_of(spotted.kind, spotted.value)
            if key not in seen:
                seen.add(key)
                yield key


def whole(cut: Cut) -> Sequence[Item]:
    """Give everything as it was: what the measure says if nothing is lost."""
    return cut.items


def oracle(cut: Cut) -> Sequence[Item]:
    """Give exactly what will be asked for, as far as it fits: the ceiling at this many tokens."""
    needs = cut.needs
    if needs is None:
        return ()
    goal = f"Now: {' '.join(needs.settled.goals[0].split())[:GIST]}" if needs.settled.goals else ""
    pieces = [
        goal,
        *(target.key for call in needs.next_calls for target in call.targets),
        *(call.reason for call in needs.next_calls),
        *_duties(needs),
        *_lines(needs.probes),
        *(question.text.replace(GAP, question.answer) for question in needs.questions),
        *(sentence for report in needs.reports for sentence in report),
    ]
    asked = [piece for piece in pieces if piece]
    return as_summary("\n".join(asked[i] for i in indices_that_fit(asked, cut.budget_tokens - FRAMING)))


def _duties(needs: Needs) -> list[str]:
    """Return the rules, open tasks, files, failures and current values, each once."""
    changed = tuple(f"{change.new} {' '.join(change.words)}" for change in needs.superseded)
    asked = (needs.constraints, needs.open, needs.files, needs.tests, needs.rules, needs.failed, changed)
    return list(dict.fromkeys(text for texts in asked for text in texts))


def _lines(probes: Sequence[Probe]) -> list[str]:
    """Return for each probe the shortest line that says what it is, the cheapest first."""
    asked = [probe for probe in probes if not probe.refetched]
    lines = dict.fromkeys(_shortest(probe) for probe in asked)
    return sorted(lines, key=COUNTER.count_text)


def _shortest(probe: Probe) -> str:
    binding = Binding(probe)
    around = [piece for line in probe.lines for piece in _pieces(line, probe)]
    question = probe.question.replace(GAP, f" {probe.key} ")
    ranked = sorted([*around, question], key=len)
    good = (
        line
        for line in ranked
        if binding.is_explained(line) is not False and binding.is_in_context(line) is not False
    )
    return next(good, ranked[-1] if ranked else probe.key)


def _pieces(line: str, probe: Probe) -> Iterator[str]:
    """Yield the line in shorter and shorter pieces around the value."""
    for place in places(line, probe.kind, probe.key):
        for room in (30, 60, 120, len(line)):
            yield line[max(0, place - room) : place + len(probe.key) + room]
        return
