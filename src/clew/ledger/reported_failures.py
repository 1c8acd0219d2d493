"""Find the sentences of a long report about what failed, which a shortened report keeps.

"Two tests still fail." and "I could not reproduce it." are such sentences; "no test fails" is none.
"""

from __future__ import annotations

from clew.ledger.agent_findings import LONGEST_READ, prose_sentences
from clew.message.text import lazy_pattern

LONG_REPORT = 400
"""Characters of a text of the agent from which its failures are looked for; a shorter one is rarely cut."""
_MOST_FAILURES = 12
"""Failures of one text that are returned; chosen by hand."""


def failure_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a long text of the agent that state a failure, the last ones if many do."""
    if len(text) < LONG_REPORT:
        return []
    read = text[:LONGEST_READ]
    lowered = read.lower().replace("’", "'")
    if len(lowered) != len(read) or not _FAILURE.search(lowered):
        return []
    found = [
        (start, end)
        for start, end in prose_sentences(read, 1)
        if _FAILURE.search(lowered, start, end) and not _NO_FAILURE.search(lowered, start, end)
    ]
    return found[-_MOST_FAILURES:]


# What the patterns recognise ---------------------------------------------------------------------------

_FAILURE = lazy_pattern(
    r"\b(?:(?:still|again) (?:fail|crash|broken|hang|time)\w*|fail(?:s|ed|ing)?\b"
    r"(?!\s+(?:tests? now|over|fast|safe))"
    r"|failures?\b|crash(?:es|ed)?\b|broke\b|(?:is|are|was) broken|(?:could|can)(?:n't|not| not) "
    r"(?:reproduce|verify|be|get|make|find|connect|install|build|run|test|fix|finish|complete|confirm)"
    r"|(?:was|were|am) (?:unable|not able) to"
    r"|(?:does|do|did)(?:n't| not) (?:work|pass|build|compile|start|complete)"
    r"|root cause|exit(?:s|ed)?(?: with)?(?: code)? [1-9]|timed out|access ?denied|permission denied)\b"
)
"""Something went wrong, or could not be done: "still fails", "exited with code 2"."""
_NO_FAILURE = lazy_pattern(
    r"\b(?:no|zero|0|without|any|never|if|when|unless|would|no longer|previously|used to) (?:\w+ ){0,3}"
    r"(?:fail\w*|crash\w*|broken)|\bif\b.{0,60}\bfail|\b0 fail"
)
"""Nothing went wrong ("no longer fails"), or it is said what would happen ("if the build fails")."""
