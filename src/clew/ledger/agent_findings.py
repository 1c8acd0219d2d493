"""Which sentences of an agent's text state a finding: a conclusion, a reason, or a name that matters.

A sentence counts by its wording only. Steps ("let me check"), guesses, headings, questions and code do not
count. Findings are kept as positions, so that a digest quotes the original words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.message import Cite
from clew.message.patterns import lazy_pattern
from clew.rules.prefilter import CHUNKS, marks

STRONG, WEAK, WEAKEST = 0, 1, 2
"""Ranks: a conclusion, a reason or an effect, and a sentence of prose that only names something."""
MOST_FINDINGS = 3_000
"""Findings kept of a session: five times as many as a digest considers, so that those in the messages that
stay verbatim displace none of the others."""
MOST_PER_TEXT = 5
"""Findings taken from one text, the strongest first: a text with more is a report, which is quoted itself."""
SHORTEST_FINDING, LONGEST_FINDING = 30, 420
"""Characters of a sentence: a shorter one says little without those around it, a longer one is a paragraph
or a line of a log."""
LEAST_PROSE = 40
"""Characters from which a sentence that only names something may count: a shorter one is mostly a label."""
LONGEST_READ = 40_000
"""Characters of one text that are searched; agents rarely write more at once."""
_FINDING = lazy_pattern(
    r"""(?P<strong>
      \b(?:(?:key\ finding|conclusion|verdict|lesson|constraint|confirmed|culprit)\b | verified\ that
        | ruled\ out\b | no\ longer\b | found\ (?:it|out|that)\b | decided\ (?:to|on|against)\b
        | i\ (?:see|found|understand)\ (?:the\ (?:issue|problem|bug|cause)|that|why)\b)
    | root\ cause | turns\ out
    | the\ (?:real\ |actual\ |main\ |core\ )?
      (?:issue|problem|bug|cause|reason|error|failure|fix)\ (?:is|was|comes)\b
    | (?:does|did|do|is|are|was)(?:n't|\ not)\s
      (?:work|working|enough|supported|available|possible|needed|exist)
    | (?:can'?t|cannot|won't)\ (?:be|work|use)\b
    ) | (?P<weak>
      \b(?:because\b | fixed\ (?:by|it|the)\b | fixes\ (?:the|it)\b | works\ (?:now|because|when|only|if)\b
        | (?:this|which)\ means\b | therefore\b | due\ to\b | missing\b
        | so\ (?:the|it|we|that)\b.{0,60}\b(?:must|needs?|should|fails?)\b
        | fail(?:s|ed|ing)?\ (?:because|since|when|with|on|due)\b
        | all\ (?:\d+\ )?tests?\ (?:now\ )?pass | already\ (?:has|have|exists?|handles?|does|supports?)\b)
    )""",
    re.VERBOSE,
)
"""Matched against lower-case text: a conclusion or a reason..."""
_FINDING_WORD = lazy_pattern(
    r"already|bug|ca(?:use|n'?t|nnot)|con(?:clusion|firmed|straint)|culprit|d(?:ecided|ue)|error"
    r"|f(?:ail|inding|ix|ound)|issue|l(?:esson|onger)|m(?:eans|issing|ust)|n(?:'t|eed|ot\b)|p(?:ass|roblem)"
    r"|r(?:eason|uled)|s(?:ee\b|hould)|t(?:herefore|urns)|understand|ver(?:dict|ified)|wo(?:n't|rks)"
)
"""...and what each of them contains, as a prefilter: a pattern of plain words is much faster, most of all if
words with the same first letters are grouped."""
_FINDING_MARK = CHUNKS.mark_by(lambda chunk: bool(_FINDING_WORD.search(chunk.lower().replace("’", "'"))))
_NAMES = lazy_pattern(r"`[^`\n]+`|\w[_./]\w|[a-z][A-Z]|\d\d|#\d")
"""A name, a path or a number: details that are hard to find again."""
_NAMES_MARK = CHUNKS.mark_by(lambda chunk: "`" in chunk or _NAMES.search(chunk) is not None)
_OF_TEXT = lazy_pattern(
    r"\b(?:indent(?:ation|ed|s)?|tabs?|white ?space|lines? (?:numbers?|`?\d+)|is (?:\w+ )?interesting)\b"
)
"""Matched against lower-case text: the form of a file, which the next edit changes, or an opinion."""
_STEP = lazy_pattern(
    r"(?:ok(?:ay)?,?\s+|now,?\s+|so,?\s+|first,?\s+|then,?\s+|next,?\s+)*"
    r"(?:let'?s|let me|i'?ll|i will|i'?m going|i am going|i need to|i should|i have to|maybe i|wait"
    r"|i'?m \w+ing|i am \w+ing"
    r"|(?:add|fix|check|implement|look|read|search|test|verify|start)(?:ing)?|run(?:ning)?|commit(?:ting)?"
    r"|(?:updat|creat|writ|integrat)(?:e|ing))\b"
)
"""Matched against lower-case text: openings of sentences that announce a step and state no finding."""
_HEADING = lazy_pattern(
    r"\*\*[^*\n]+\*\*[.:]?|now\b(?!.*\b(?:is|are|has|have|works?|pass(?:es)?|fails?)\b).*"
    r"|tool (?:use|call|result)\b.*|[\"'][\w.-]+[\"']: .*"
)
"""Matched against lower-case text: a bold heading, what comes now, a tool call of a log, a line of JSON."""
_GUESS = lazy_pattern(
    r"\b(?:maybe|might|perhaps|possibly|probably|likely|presumably|apparently|suspect"
    r"|i (?:think|guess|assume|wonder)|seems?|appears? to|could be|not sure|unclear"
    r"|(?:see|check|verify|confirm|determine|find out) (?:if|whether))\b"
)
"""Matched against lower-case text: the sentence may be wrong, even if it names a cause..."""
_OWN_GUESS = lazy_pattern(r"\bi (?:think|guess|assume|suspect|believe|suppose|presume)\b")
"""...also in brackets, where other guesses are about a detail..."""
_FIRM = lazy_pattern(r"\b(?:confirmed|verified|turns out|ruled out|proven|proves)\b")
"""...unless it says that it was checked."""
_FRAGMENT = lazy_pattern(
    r"(?:so |and |but |ah,? |oh,? )*(?:or|because|yes|yeah|no|if (?:i|we|they|the (?:issue|problem|cause)))\b"
)
"""Matched against lower-case text: the rest of a thought, or a plan of what would be."""
_CODE = lazy_pattern(r"[{}\[\]<|]|.*(?:--+>|==+>|::=|[{};]\s*$)|(?:[^`\n]*[{}\[\]<>=;|\\]){4}")
"""A diagram, a line of JSON or of code outside of quotes."""
_QUOTED = lazy_pattern(r"`[^`\n]*`")
_BRACKETS = lazy_pattern(r"\([^()\n]*\)")
_CUT_OFF = lazy_pattern(r".*(?:\b(?:e\.g|i\.e|etc|vs|cf)\.|\?\W{1,3}|[:,(])")
"""It ends in an abbreviation, in a question, or in the middle."""
_REFERS_BACK = lazy_pattern(
    r"(?:so |and |but |or |ah,? |oh,? |hmm,? |wait,? |actually,? )*(?:it|that|this|they|these|those)\b"
)
"""Matched against lower-case text: an opening that says little without the sentence before it."""
_SENTENCES = lazy_pattern(r"[^\n.!?]*(?:[.!?](?![\s\n]|$)[^\n.!?]*)*(?:[.!?]+|(?=\n)|$)")
_MARKS = lazy_pattern(r"(?:\s+|>+|#+(?=\s)|[-–•*+](?=\s)|\d{1,3}[.)](?=\s)|(?i:thoughts?|reasoning):)*")


_FAILURE = lazy_pattern(
    r"\b(?:(?:still|again) (?:fail|crash|broken|hang|time)\w*|fail(?:s|ed|ing)?\b"
    r"(?!\s+(?:tests? now|over|fast|safe))"
    r"|failures?\b|crash(?:es|ed)?\b|broke\b|(?:is|are|was) broken|(?:could|can)(?:n't|not| not) "
    r"(?:reproduce|verify|be|get|make|find|connect|install|build|run|test|fix|finish|complete|confirm)"
    r"|(?:was|were|am) (?:unable|not able) to"
    r"|(?:does|do|did)(?:n't| not) (?:work|pass|build|compile|start|complete)"
    r"|root cause|exit(?:s|ed)?(?: with)?(?: code)? [1-9]|timed out|access ?denied|permission denied)\b"
)
"""Matched against lower-case text: what says that something went wrong, or could not be done..."""
_NO_FAILURE = lazy_pattern(
    r"\b(?:no|zero|0|without|any|never|if|when|unless|would|no longer|previously|used to) (?:\w+ ){0,3}"
    r"(?:fail\w*|crash\w*|broken)|\bif\b.{0,60}\bfail|\b0 fail"
)
"""...and what says that nothing did, or only what would happen."""
LONG_REPORT = 400
"""Characters of a text of the agent from which its failures are looked for; a shorter one is rarely cut."""
_MOST_FAILURES = 12


def failure_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a long text of the agent that state a failure, the last ones if many do."""
    if len(text) < LONG_REPORT:
        return []
    read = text[:LONGEST_READ]
    small = read.lower().replace("’", "'")
    if len(small) != len(read) or not _FAILURE.search(small):
        return []
    found: list[tuple[int, int]] = []
    fenced = False
    for sentence in _SENTENCES.finditer(read):
        end = sentence.end()
        opening = _MARKS.match(read, sentence.start(), end)
        start = opening.end() if opening else sentence.start()
        if read.startswith("```", start):
            fenced = not fenced
        if fenced or not end - start or end - start > LONGEST_FINDING or read[end - 1] in "?:|":
            continue
        if _FAILURE.search(small, start, end) and not _NO_FAILURE.search(small, start, end):
            found.append((start, end))
    return found[-_MOST_FAILURES:]


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A sentence of the agent with a conclusion or a reason, or one that names something."""

    source: Cite
    rank: int
    """``STRONG``, ``WEAK`` or ``WEAKEST``."""


def finding_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the sentences of the agent's text that state findings: start, end and rank, in order."""
    told = marks(text)
    if not told & (_FINDING_MARK | _NAMES_MARK):
        return []
    read = text[:LONGEST_READ]
    small = read.lower().replace("’", "'")
    if len(small) != len(read):  # some letters are longer in lower case: places would not match
        small = read
    found: list[tuple[int, int, int]] = []
    fenced = False
    for sentence in _SENTENCES.finditer(read):
        end = sentence.end()
        opening = _MARKS.match(read, sentence.start(), end)
        start = opening.end() if opening else sentence.start()
        if read.startswith("```", start):
            fenced = not fenced
        if fenced or not SHORTEST_FINDING <= end - start <= LONGEST_FINDING or read[end - 1] in "?:|":
            continue
        follows = bool(found) and found[-1][1] >= start - 2
        rank = _rank(read, small, start, end, told, follows=follows)
        if rank is not None:
            found.append((start, end, rank))
    return _strongest(found)


def _rank(read: str, small: str, start: int, end: int, told: int, *, follows: bool) -> int | None:
    """Return the rank of a sentence as a finding, or None; ``follows`` if the one before it is a finding.

    ``told`` are the marks of the whole text.
    """
    if _HEADING.fullmatch(small, start, end) or _FRAGMENT.match(small, start, end):
        return None
    if not follows and _REFERS_BACK.match(small, start, end) and not _NAMES.search(read, start, end):
        return None
    rank = _rank_by_words(read, small, start, end, told)
    if rank is None or _is_guess(small, start, end):
        return None
    bare = _QUOTED.sub("", read[start:end])
    return None if _CODE.match(bare) or _CUT_OFF.fullmatch(small, start, end) else rank


def _is_guess(small: str, start: int, end: int) -> bool:
    """Whether a sentence only supposes something; what it supposes in brackets does not count."""
    if not _GUESS.search(small, start, end) or _FIRM.search(small, start, end):
        return False
    if _OWN_GUESS.search(small, start, end):
        return True
    return _GUESS.search(_BRACKETS.sub("", small[start:end])) is not None


def _rank_by_words(read: str, small: str, start: int, end: int, told: int) -> int | None:
    """Return the rank of a sentence by the verdict, reason or name in it."""
    verdict = None
    if told & _FINDING_MARK and _FINDING_WORD.search(small, start, end):
        verdict = _FINDING.search(small, start, end)
    if verdict is not None and verdict["strong"] is not None:
        return STRONG
    if _STEP.match(small, start, end) is not None:
        return None
    if verdict is not None:
        return WEAK
    alone = end - start >= LEAST_PROSE and "\n" not in read[max(0, start - 2) : start]
    if not alone or not told & _NAMES_MARK or not _NAMES.search(read, start, end):
        return None
    return None if _OF_TEXT.search(small, start, end) else WEAKEST


def _strongest(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return a few findings of a text in order, and at most one that only names something."""
    ranked = sorted(found, key=lambda span: span[2])
    firm = sum(span[2] < WEAKEST for span in ranked)
    return sorted(ranked[: min(MOST_PER_TEXT, max(1, firm))])


def best_findings(findings: list[RankedFinding]) -> list[RankedFinding]:
    """Return findings in their order; of too many, those of the best rank, the latest among equals."""
    if len(findings) <= MOST_FINDINGS * 5 // 4:  # to choose seldom
        return findings
    by_rank = sorted(range(len(findings)), key=lambda i: (findings[i].rank, -i))
    return [findings[i] for i in sorted(by_rank[:MOST_FINDINGS])]
