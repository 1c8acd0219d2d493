"""How likely a value is needed again, judged by what sessions turn out to need later.

Hand-written, in the open: a product of who named it, how often, how recently, and what kind of value it is.
Only the order it gives matters.
"""

from __future__ import annotations

import math

from clew.compaction.propose.company import Company
from clew.compaction.propose.subjects import Subject
from clew.ledger.kinds import ValueKind
from clew.ledger.passages import Voice

BY_VOICE = {
    Voice.USER: 6.0,
    Voice.CALL: 4.0,
    Voice.ASSISTANT: 3.0,
    Voice.BODY: 1.2,
    Voice.MACHINE: 0.6,
    Voice.RESULT: 0.4,
    Voice.SYSTEM: 0.0,
}
"""What it tells that this voice named it: people and the model name what matters, tools name everything."""
BY_KIND = {
    ValueKind.PATH: 1.3,
    ValueKind.FILE: 1.1,
    ValueKind.URL: 1.0,
    ValueKind.HASH: 0.8,
    ValueKind.UUID: 0.8,
    ValueKind.VERSION: 0.7,
    ValueKind.NUMBER: 0.5,
    ValueKind.ENV: 1.2,
    ValueKind.IDENTIFIER: 1.0,
    ValueKind.ISSUE: 1.0,
    ValueKind.CODE: 1.0,
    ValueKind.QUOTED: 0.4,
}
IN_ERROR = 1.3
IN_FOCUS = 4.0
"""For a value that a person's words on what matters name, and once more for a line that they name."""
HALF_LIFE = 0.35
"""The share of the session after which a value that nobody named again has lost half its worth."""

_WEIGHTS = [BY_VOICE[voice] for voice in Voice]


def worth(value: Subject, company: Company) -> float:
    """Return how much a value is worth keeping; more is more."""
    session_length = company.length
    named = 0.0
    mentions = 0
    for weight, count in zip(_WEIGHTS, value.counts, strict=True):
        if count:
            named += weight
            mentions += count
    often = 1.0 + math.log2(1 + mentions) / 2
    age = (session_length - value.last_index) / max(1, session_length)
    recent = 0.5 ** (age / HALF_LIFE)
    error = IN_ERROR if value.in_error else 1.0
    return float(named * often * (0.3 + 0.7 * recent) * error * BY_KIND[value.kind])
