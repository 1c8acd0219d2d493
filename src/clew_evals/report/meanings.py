"""What each figure means, in a line: for the foot of a report."""

from __future__ import annotations

MEANINGS = {
    "share": "tokens of the view, of those that were compacted",
    "continuity": "mean of next action, goal, reports, roundtrip and current, less redo; ranks the policies",
    "next action": "targets and stated reasons of the first three calls after the cut that are in view",
    "goal": "views that state the request that the continuation works on",
    "redo": "views that present as open or valid what was finished, overruled or deleted (less is better)",
    "reports": "sentences of the agent's end-of-turn reports that are in view, if all would fit half of it",
    "verbatim … bare values": "what the view is made of: messages as they were, whose words, lists of values",
    "retained": "needed values that are in the view",
    "far": "the same, of values last said more than a quarter of the history ago",
    "rare, hard": "of values said at most three times; and of these, more than a tenth of the history ago",
    "user": "of values that the user named first: no tool can fetch them again",
    "in_context": "needed values with enough words of their source near them",
    "explained": "needed values that appear with the wording of their source line, in order",
    "answered": "questions about needed values that the plain reader answers from the view",
    "roundtrip": "questions made from the old history alone, needed later or not, answered from the view",
    "constraints, decisions": "sentences of the user's that people labelled, still there",
    "rules": "the same for rules that clew's ledger finds; kind to clew",
    "open, files": "tasks not ended and files changed by calls, still named",
    "failed, tests": "what the last failed calls returned; the outcome of the last test run",
    "current, stale": "replaced values: the new one is said last; only the old one is said (less is better)",
    "unsupported": "values in what the policy wrote that are nowhere in the session (less is better)",
    "recoverable, recalled": "retained, or found by one search: for the value; for the words around its use",
    "rewritten": "tokens behind the first message that changed: what leaves the provider’s cache",
    "refetch tokens": "tokens of the smallest tool outputs that hold what was lost",
    "over, refused, invalid": "views above their budget; not made at all; that a provider would refuse",
}
