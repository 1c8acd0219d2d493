"""Which sentences of an agent's text state a finding: a conclusion, a reason, or a constraint.

"The root cause is a missing lock in `store.py`." is a finding; "`store.py` imports `lock`." is a remark of
the step at hand, worth nothing once the step is done. A sentence counts by its wording only. Steps ("let me
check"), guesses, headings, questions and code do not count. ``Turns`` keeps findings as positions, so that a
digest quotes the original words.
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

STRONG, WEAK = 0, 1
"""Ranks: a conclusion; a reason, an effect or a constraint."""
MOST_FINDINGS = 3_000
"""Findings kept of a session: five times as many as a digest considers, so that those in the messages that
stay verbatim displace none of the others."""
MOST_PER_TEXT = 5
"""Findings taken from one text, the strongest first: a text with more is a report, which is quoted itself."""
SHORTEST_FINDING, LONGEST_FINDING = 30, 420
"""Characters of a sentence: a shorter one says little without those around it, a longer one is a paragraph
or a line of a log."""
LEAST_UNNAMED = 60
"""Characters from which a reason that names nothing may count: a shorter one leans on its text. By hand."""
LONGEST_READ = 40_000
"""Characters of one text that are searched; agents rarely write more at once."""
_SAMPLE = 600
"""Characters at the beginning of a text by which its language is guessed."""


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A sentence of the agent with a conclusion, a reason or a constraint."""

    source: Cite
    rank: int
    """``STRONG`` or ``WEAK``."""


def finding_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the sentences of the agent's text that state findings: start, end and rank, in order."""
    text_marks = MARKS[text]
    if not text_marks & (_FINDING_MARK | _NAMES_MARK):
        return []
    read = _AgentText(text[:LONGEST_READ], _lowered(text[:LONGEST_READ]), text_marks)
    found: list[tuple[int, int, int]] = []
    for start, end in prose_sentences(read.text, SHORTEST_FINDING):
        follows_finding = bool(found) and found[-1][1] >= start - 2
        rank = _rank(read, start, end, follows_finding=follows_finding)
        if rank is not None:
            found.append((start, end, rank))
    return _strongest(found)


def is_history(sentence: str) -> bool:
    """Return True if a finding stays true whatever is changed later: a cause, a decision."""
    return _HISTORY.search(sentence.lower()) is not None


class _AgentText(NamedTuple):
    """The part of a text that is searched, the same in lower case, and the prefilter's marks of all of it."""

    text: str
    lowered: str
    marks: int


def _lowered(text: str) -> str:
    """Return a text in lower case with plain apostrophes, so that places in both are the same."""
    lowered = text.lower().replace("’", "'")
    return lowered if len(lowered) == len(text) else text  # some letters are longer in lower case


def prose_sentences(text: str, shortest: int) -> Iterator[tuple[int, int]]:
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
    """Return the rank of a sentence by the conclusion, reason or constraint in it."""
    text, lowered, text_marks = read
    finding = None
    if text_marks & _FINDING_MARK and _FINDING_WORD.search(lowered, start, end):
        finding = _FINDING.search(lowered, start, end)
    if finding is None:
        return WEAK if _is_foreign_verdict(read, start, end) else None
    if "#" in text[text.rfind("\n", 0, start) + 1 : start]:
        return None  # a heading
    if finding["strong"] is not None and _HISTORY.search(lowered, start, end):
        return STRONG
    sentence = lowered[start:end]
    if any(pattern.search(sentence) for pattern in (_STEP, _PLANS, _RETELLS, _NARRATES, _OF_NOW, _OF_TEXT)):
        return None
    if not _NAMES.search(text, start, end) and (finding["strong"] or end - start < LEAST_UNNAMED):
        return None  # "the fix is simple"
    return WEAK if finding["strong"] is None else STRONG


def _is_foreign_verdict(read: _AgentText, start: int, end: int) -> bool:
    """Return True if a sentence names something and states a verdict in another language than English."""
    text, _, text_marks = read
    if not text_marks & _NAMES_MARK or not _NAMES.search(text, start, end):
        return False
    if "#" in text[text.rfind("\n", 0, start) + 1 : start] or not states_verdict(text[start:end]):
        return False
    beginning = text[:_SAMPLE]
    found_words = words_again(beginning)
    return not is_english(beginning, found_words) and guess(beginning, found_words) != ENGLISH


def _is_guess(lowered: str, start: int, end: int) -> bool:
    """Return True if a sentence only supposes something; what it supposes in brackets does not count."""
    if not _GUESS.search(lowered, start, end) or _FIRM.search(lowered, start, end):
        return False
    if _OWN_GUESS.search(lowered, start, end):
        return True
    return _GUESS.search(_BRACKETS.sub("", lowered[start:end])) is not None


def _strongest(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return a few findings of a text in order."""
    return sorted(sorted(found, key=lambda span: span[2])[:MOST_PER_TEXT])


def best_findings(findings: list[RankedFinding]) -> list[RankedFinding]:
    """Return findings in their order; of too many, those of the best rank, the latest among equals."""
    if len(findings) <= MOST_FINDINGS * 5 // 4:  # to choose seldom
        return findings
    by_rank = sorted(range(len(findings)), key=lambda i: (findings[i].rank, -i))
    return [findings[i] for i in sorted(by_rank[:MOST_FINDINGS])]


# What the patterns recognise; most are matched against lower-case text ------------------------------------

_FINDING = lazy_pattern(
    r"""(?P<strong>
      \b(?:(?:key\ finding|lesson|culprit|dead\ end|bottom\ line|proves)\b | ruled\ out\b
        | (?:conclusion|verdict)(?:\ is\b|\W{0,3}[:–—])
        | (?:verified|confirmed|found\ out|discovered|established)
          (?:\ that\b|\W{0,3}[:–—]|\ (?:the\ )?(?:root\ )?cause\b)
        | decided\ (?:to|on|against)\b
        | by\ design\b | on\ purpose\b | deliberately\b | intentionally\b | pre-?existing\b
        | unrelated\ to\ (?:my|our|this|these|the)\b
        | i\ (?:see|found|understand)\ (?:the\ (?:issue|problem|bug|cause)\W{0,2}[:–—]|that\b|why\b))
    | root\ cause | turns\ out
    | the\ (?:real\ |actual\ |main\ |core\ |underlying\ )?
      (?:issue|problem|bug|error|failure|fix|constraint|(?:cause|reason)(?:\ (?:of|for)\ [^.]{1,40}?)?)
      \ (?:is|was|comes)\b
    | (?:does|do|did|is|are|was)(?:n't|\ not)\s (?:support(?:ed|s)?|possible|allowed|enough|work(?:ing)?)\b
    | (?:can'?t|cannot|won't)\ (?:be|work|use)\b
    ) | (?P<weak>
      \b(?:because\b | works\ (?:because|when|only|if)\b
        | (?:this|which)\ means\b | therefore\b | due\ to\b
        | so\ (?:the|it|we|that)\b.{0,60}\b(?:must|needs?|fails?)\b
        | fail(?:s|ed|ing)?\ (?:because|since|when|due)\b
        | blocked\ by\b | depends\ on\b | requires\b | no\ way\ to\b
        | (?:is|are|was|were|does|do|will)\ (?:only|never|always)\b | (?:must|will)\ (?:not|never|only)\b)
    )""",
    re.VERBOSE,
)
"""A conclusion ("the root cause is", "turns out"), or a reason or constraint ("because", "requires")."""
_FINDING_WORD = lazy_pattern(
    r"always|b(?:locked|ottom|ug)|ca(?:use|n'?t|nnot)|con(?:clusion|firmed|straint)|culprit"
    r"|d(?:e(?:ad|cided|liberately|pends|sign)|iscovered|ue)|e(?:rror|stablished)|f(?:ail|inding|ix|ound)"
    r"|i(?:ntentionally|ssue)|lesson|m(?:eans|ust)|n(?:'t|e(?:eds?|ver)|ot\b)|only"
    r"|p(?:r(?:e-?existing|o(?:blem|ves))|urpose)|r(?:e(?:ason|quires)|uled)|see\b|t(?:herefore|urns)"
    r"|un(?:derstand|related)|ver(?:dict|ified)|w(?:ay\b|o(?:n't|rks))"
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
_HISTORY = lazy_pattern(
    r"root cause|turns out|\b(?:decided|ruled out)\b"
    r"|the (?:real |actual |underlying )?(?:cause|reason)(?: (?:of|for) [^.]{1,40}?)? (?:is|was)\b"
)
"""A conclusion that stays true whatever is done about it: a cause, a decision."""
_OF_NOW = lazy_pattern(
    r"\b(?:any ?more|no longer|yet|currently|right now|at the moment|for now|unused|unreachable)\b|^\W*now\b"
)
"""A state that the next step is mostly about: "`repo` is unused now"."""
_PLANS = lazy_pattern(
    r"\b(?:i|we)(?:'ll| will| should| need| want| have to| must| can| could| may)\b"
    r"|\b(?:i'm|i am|we're|we are) (?:\w+ ){0,2}\w+ing\b|\blet(?: me| us|'s)\b"
    r"|\bshould (?:now )?(?:work|be fine|pass)\b|^(?:need|try|wait|the (?:plan|patch|next step))\b"
)
"""What the agent is about to do, wants to do, or expects."""
_STEP = lazy_pattern(
    r"^(?:ok(?:ay)?,?\s+|now,?\s+|so,?\s+|first,?\s+|then,?\s+|next,?\s+)*"
    r"(?:let'?s|let me|i'?ll|i will|i'?m going|i am going|i need to|i should|i have to|maybe i|wait"
    r"|i'?m \w+ing|i am \w+ing"
    r"|(?:add|fix|check|implement|look|read|search|test|verify|start|extract|keep|call|return|rename)(?:ing)?"
    r"|use|ensure|run(?:ning)?|commit(?:ting)?"
    r"|(?:updat|creat|writ|integrat)(?:e|ing))\b"
)
"""Openings of sentences that announce a step and state no finding: "now let me check"."""
_NARRATES = lazy_pattern(
    r"^\W*(?:done|created|added|updated|removed|moved|good|great"
    r"|pros?|cons?|downside|upside|option|suggested|note|better|only)\b"
    r"|^(?:so |but |and )*here |\bi made a mistake|\bi(?:'ve| have)? (?:just |also |did )?(?:not )?"
    r"(?:add|commit|creat|updat|writ|wrote|push|mov|fix|hit|miss|us)(?:t?ed|ten|e)?\b"
    r"|^\W*i can see\b|^\*\*[^*\n]+\*\*:?\s*[-–—:]+ |\b(?:is|are) now (?:in|at|under)\b|\bnow \w+s\b"
)
"""What the agent did, lists or offers, not what it found out: "The panel now shows names"."""
_VAGUE = lazy_pattern(
    r"(?:so |and |but )?the (?:\w+ )?(?:issue|problem|error|bug|failure) (?:is|was) (?:with|in|about|from)"
    r"(?: [^\s`]+){1,6}"
)
"""The place of a problem without a name: "the issue is with the path calculation"."""
_RETELLS = lazy_pattern(
    r"\b(?:issue|problem|bug) (?:is|was) (?:(?:\w+ )?(?:about|related)|now|clear|obvious|reproduced|fixed)\b"
    r"|\byou want\b|\bthis suggests\b|\b(?:issue|pr|description|title) (?:mentions|says)\b"
    r"|\btests? (?:all |now )?pass\b"
)
"""What somebody else asked or wrote, in other words: "the issue is about relationals"."""
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
_FRAGMENT = lazy_pattern(r"(?:so |and |but |ah,? |oh,? )*(?:[\"“'‘]|(?:or|because|yes|yeah|no|if)\b)")
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
