"""Which sentences of an agent's text state a finding: a conclusion, a reason, or a name that matters.

"The root cause is a missing lock in `store.py`." is a finding. A sentence counts by its wording only. Steps
("let me check"), guesses, headings, questions and code do not count. ``Turns`` keeps findings as positions,
so that a digest quotes the original words; ``failure_spans`` finds the sentences of a long report about what
failed, which a shortened report keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clew.ledger.foreign_findings import states_verdict
from clew.message import Cite
from clew.message.text import lazy_pattern
from clew.rules.languages import ENGLISH, guess, is_english
from clew.rules.prefilter import CHUNKS, MARKS
from clew.rules.words import words_again

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
LONG_REPORT = 400
"""Characters of a text of the agent from which its failures are looked for; a shorter one is rarely cut."""
_SAMPLE = 600
"""Characters at the beginning of a text by which its language is guessed."""
_MOST_FAILURES = 12
"""Failures of one text that are returned; chosen by hand."""


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A sentence of the agent with a conclusion or a reason, or one that names something."""

    source: Cite
    rank: int
    """``STRONG``, ``WEAK`` or ``WEAKEST``."""


def finding_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the sentences of the agent's text that state findings: start, end and rank, in order."""
    text_marks = MARKS[text]
    if not text_marks & (_FINDING_MARK | _NAMES_MARK):
        return []
    read = _AgentText(text[:LONGEST_READ], _lowered(text[:LONGEST_READ]), text_marks)
    found: list[tuple[int, int, int]] = []
    for start, end in _prose_sentences(read.text, SHORTEST_FINDING):
        follows_finding = bool(found) and found[-1][1] >= start - 2
        rank = _rank(read, start, end, follows_finding=follows_finding)
        if rank is not None:
            found.append((start, end, rank))
    return _strongest(found)


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
        for start, end in _prose_sentences(read, 1)
        if _FAILURE.search(lowered, start, end) and not _NO_FAILURE.search(lowered, start, end)
    ]
    return found[-_MOST_FAILURES:]


class _AgentText(NamedTuple):
    """The part of a text that is searched, the same in lower case, and the prefilter's marks of all of it."""

    text: str
    lowered: str
    marks: int


def _lowered(text: str) -> str:
    """Return a text in lower case with plain apostrophes, so that places in both are the same."""
    lowered = text.lower().replace("’", "'")
    return lowered if len(lowered) == len(text) else text  # some letters are longer in lower case


def _prose_sentences(text: str, shortest: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences outside of code blocks, without list marks; not questions, lead-ins and tables."""
    is_code = False
    for sentence in _SENTENCES.finditer(text):
        end = sentence.end()
        opening = _MARKS.match(text, sentence.start(), end)
        start = opening.end() if opening else sentence.start()
        if text.startswith("```", start):
            is_code = not is_code
        if not is_code and shortest <= end - start <= LONGEST_FINDING and text[end - 1] not in "?:|":
            yield start, end


def _rank(read: _AgentText, start: int, end: int, *, follows_finding: bool) -> int | None:
    """Return the rank of a sentence as a finding, or None if it states none."""
    text, lowered, _ = read
    if _HEADING.fullmatch(lowered, start, end) or _FRAGMENT.match(lowered, start, end):
        return None
    if _VAGUE.fullmatch(lowered, start, end) and not _NAMES.search(text, start, end):
        return None
    refers_back = not follows_finding and _REFERS_BACK.match(lowered, start, end)
    if refers_back and not _NAMES.search(text, start, end):
        return None
    rank = _rank_by_words(read, start, end)
    if rank is None or _is_guess(lowered, start, end):
        return None
    without_code_spans = _QUOTED.sub("", text[start:end])
    if _CODE.match(without_code_spans) or _CUT_OFF.fullmatch(lowered, start, end):
        return None
    return rank


def _rank_by_words(read: _AgentText, start: int, end: int) -> int | None:
    """Return the rank of a sentence by the conclusion, reason or name in it."""
    text, lowered, text_marks = read
    finding = None
    if text_marks & _FINDING_MARK and _FINDING_WORD.search(lowered, start, end):
        finding = _FINDING.search(lowered, start, end)
    if finding is not None and finding["strong"] is not None:
        return STRONG
    if _STEP.match(lowered, start, end) is not None:
        return None
    if finding is not None:
        return WEAK
    is_prose = end - start >= LEAST_PROSE and "\n" not in text[max(0, start - 2) : start]
    if not is_prose or not text_marks & _NAMES_MARK or not _NAMES.search(text, start, end):
        return None
    if _OF_TEXT.search(lowered, start, end) or _NARRATES.search(lowered[start:end]):
        return None
    return WEAKEST if _is_firm(text, start, end) else None


def _is_firm(text: str, start: int, end: int) -> bool:
    """Return True unless a sentence is a heading, or in another language than English and no verdict.

    For other languages there is no table of what makes a finding, only of verdicts and intentions.
    """
    if "#" in text[text.rfind("\n", 0, start) + 1 : start]:
        return False
    beginning = text[:_SAMPLE]
    if is_english(beginning, words_again(beginning)) or guess(beginning, words_again(beginning)) == ENGLISH:
        return True
    return states_verdict(text[start:end])


def _is_guess(lowered: str, start: int, end: int) -> bool:
    """Return True if a sentence only supposes something; what it supposes in brackets does not count."""
    if not _GUESS.search(lowered, start, end) or _FIRM.search(lowered, start, end):
        return False
    if _OWN_GUESS.search(lowered, start, end):
        return True
    return _GUESS.search(_BRACKETS.sub("", lowered[start:end])) is not None


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


# What the patterns recognise; most are matched against lower-case text ------------------------------------

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
"""A conclusion ("the root cause is", "turns out") or a reason ("because", "due to")."""
_FINDING_WORD = lazy_pattern(
    r"already|bug|ca(?:use|n'?t|nnot)|con(?:clusion|firmed|straint)|culprit|d(?:ecided|ue)|error"
    r"|f(?:ail|inding|ix|ound)|issue|l(?:esson|onger)|m(?:eans|issing|ust)|n(?:'t|eed|ot\b)|p(?:ass|roblem)"
    r"|r(?:eason|uled)|s(?:ee\b|hould)|t(?:herefore|urns)|understand|ver(?:dict|ified)|wo(?:n't|rks)"
)
"""What each text that ``_FINDING`` matches contains, as a prefilter: a pattern of plain words is much faster,
most of all if words with the same first letters are grouped."""
_FINDING_MARK = CHUNKS.mark_by(lambda chunk: bool(_FINDING_WORD.search(chunk.lower().replace("’", "'"))))
"""Set for the words of ``_FINDING_WORD``; a text without it is not searched."""
_NAMES = lazy_pattern(r"`[^`\n]+`|\w[_./]\w|[a-z][A-Z]|\d\d|#\d")
"""A name, a path or a number: details that are hard to find again."""
_NAMES_MARK = CHUNKS.mark_by(lambda chunk: "`" in chunk or _NAMES.search(chunk) is not None)
"""Set for words that may be part of a name."""
_OF_TEXT = lazy_pattern(
    r"\b(?:indent(?:ation|ed|s)?|tabs?|white ?space|lines? (?:numbers?|`?\d+)|is (?:\w+ )?interesting)\b"
)
"""The form of a file, which the next edit changes ("line 12"), or an opinion."""
_STEP = lazy_pattern(
    r"(?:ok(?:ay)?,?\s+|now,?\s+|so,?\s+|first,?\s+|then,?\s+|next,?\s+)*"
    r"(?:let'?s|let me|i'?ll|i will|i'?m going|i am going|i need to|i should|i have to|maybe i|wait"
    r"|i'?m \w+ing|i am \w+ing"
    r"|(?:add|fix|check|implement|look|read|search|test|verify|start)(?:ing)?|run(?:ning)?|commit(?:ting)?"
    r"|(?:updat|creat|writ|integrat)(?:e|ing))\b"
)
"""Openings of sentences that announce a step and state no finding: "now let me check"."""
_NARRATES = lazy_pattern(
    r"^\W*(?:done|created|added|updated|removed|moved|good|great)\b|^\W*if you\b"
    r"|^\W*(?:done\W+)?i(?:'ve| have)? (?:just )?(?:added|committed|created|updated|wrote|pushed|moved)\b"
    r"|^\W*i can see\b"
    r"|^\*\*[^*\n]+\*\*\s*[-–—:]+\s*(?:add|fix|remove|replace|rename|delete|move|update)\b"
    r"|\b(?:is|are) now (?:in|at|under)\b"
)
"""What the agent did, offers or is about to do, not what it found out: "The report is now in `docs/`"."""
_VAGUE = lazy_pattern(
    r"(?:so |and |but )?the (?:\w+ )?(?:issue|problem|error|bug|failure) (?:is|was) (?:with|in|about|from)"
    r"(?: [^\s`]+){1,6}"
)
"""The place of a problem without a name: "the issue is with the path calculation"."""
_HEADING = lazy_pattern(
    r"\*\*[^*\n]+\*\*[.:]?|now\b(?!.*\b(?:is|are|has|have|works?|pass(?:es)?|fails?)\b).*"
    r"|tool (?:use|call|result)\b.*|[\"'][\w.-]+[\"']: .*"
)
"""A bold heading, what comes now ("now the tests"), a tool call of a log, a line of JSON."""
_GUESS = lazy_pattern(
    r"\b(?:maybe|might|perhaps|possibly|probably|likely|presumably|apparently|suspect"
    r"|i (?:think|guess|assume|wonder)|seems?|appears? to|could be|not sure|unclear"
    r"|(?:see|check|verify|confirm|determine|find out) (?:if|whether))\b"
)
"""The sentence may be wrong, even if it names a cause: "it seems", "probably"."""
_OWN_GUESS = lazy_pattern(r"\bi (?:think|guess|assume|suspect|believe|suppose|presume)\b")
"""A guess in brackets, too; other guesses there are about a detail."""
_FIRM = lazy_pattern(r"\b(?:confirmed|verified|turns out|ruled out|proven|proves)\b")
"""A guess with such words was checked: "confirmed: it probably …"."""
_FRAGMENT = lazy_pattern(
    r"(?:so |and |but |ah,? |oh,? )*(?:or|because|yes|yeah|no|if (?:i|we|they|the (?:issue|problem|cause)))\b"
)
"""The rest of a thought ("because of that"), or a plan of what would be ("if the issue …")."""
_CODE = lazy_pattern(r"[{}\[\]<|]|.*(?:--+>|==+>|::=|[{};]\s*$)|(?:[^`\n]*[{}\[\]<>=;|\\]){4}")
"""A diagram, a line of JSON or of code outside of quotes."""
_QUOTED = lazy_pattern(r"`[^`\n]*`")
"""Code in backticks."""
_BRACKETS = lazy_pattern(r"\([^()\n]*\)")
"""Words in brackets."""
_CUT_OFF = lazy_pattern(r".*(?:\b(?:e\.g|i\.e|etc|vs|cf)\.|\?\W{1,3}|[:,(])")
"""A sentence that ends in an abbreviation ("e.g."), in a question, or in the middle."""
_REFERS_BACK = lazy_pattern(
    r"(?:so |and |but |or |ah,? |oh,? |hmm,? |wait,? |actually,? )*(?:it|that|this|they|these|those)\b"
)
"""An opening that says little without the sentence before it: "so this"."""
_SENTENCES = lazy_pattern(r"[^\n.!?]*(?:[.!?](?![\s\n]|$)[^\n.!?]*)*(?:[.!?]+|(?=\n)|$)")
"""One sentence, up to a full stop before white space, or the end of the line."""
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
"""Something went wrong, or could not be done: "still fails", "exited with code 2"."""
_NO_FAILURE = lazy_pattern(
    r"\b(?:no|zero|0|without|any|never|if|when|unless|would|no longer|previously|used to) (?:\w+ ){0,3}"
    r"(?:fail\w*|crash\w*|broken)|\bif\b.{0,60}\bfail|\b0 fail"
)
"""Nothing went wrong ("no longer fails"), or it is said what would happen ("if the build fails")."""
