"""What each figure means, in a line: for the foot of a report."""

from __future__ import annotations

MEANINGS = {
    "share": "tokens of the view, of those that were compacted",
    "retained": "needed values that stand in the view",
    "far": "the same, of values last said more than a quarter of the history ago",
    "rare, hard": "of values said at most three times; and of these, more than a tenth of the history ago",
    "user": "of values that the user named first: nobody can fetch them again",
    "bound": "needed values with enough words of their source near them",
    "told": "needed values on whose line stand the words of one source line, in order; ranks the policies",
    "answered": "questions about needed values that the plain reader answers from the view",
    "roundtrip": "questions made from the old history alone, needed later or not, answered from the view",
    "constraints, decisions": "sentences of the user's that people labelled, still there",
    "rules": "the same for rules that clew's ledger finds; kind to clew",
    "open, files": "tasks not ended and files changed by calls, still named",
    "failed, tests": "what the last failed calls were told; the outcome of the last test run",
    "current, stale": "replaced values: the new one is said last; only the old one is said (less is better)",
    "unsupported": "values in what the policy wrote that stand nowhere in the session (less is better)",
    "recoverable, recalled": "retained, or found by one search: for the value; for the words around its use",
    "rewritten": "tokens behind the first message that changed: what leaves the provider’s cache",
    "refetch tokens": "tokens of the smallest tool outputs that hold what was lost",
    "over, refused, invalid": "views above their budget; not made at all; that a provider would refuse",
}
