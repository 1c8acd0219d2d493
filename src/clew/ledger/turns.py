"""The turns of a session: the user's request, the agent's last report, and the agent's findings.

Only positions are stored, so that a session of any length costs little, and a later digest quotes the
original words instead of an earlier digest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clew.ledger.exchange import Reading
from clew.ledger.speech import ASSISTANT, USER, Said
from clew.message import Cite

MOST_TURNS = 5_000
"""Turns kept (chosen by hand); of a longer session the first turn and the latest."""
MOST_FINDINGS = 3_000
SHORTEST_FINDING, LONGEST_FINDING = 30, 420
"""Characters of a sentence that is informative on its own and not a paragraph; chosen by hand."""
_LONGEST_READ = 40_000
"""Characters of one text that are searched for findings; agents rarely write more at once."""
_FINDING = re.compile(
    r"""(?P<strong>
      root\ cause | turns\ out | \bconfirmed\b | \bculprit\b | \bverified\ that
    | \bruled\ out\b | \bno\ longer\b
    | the\ (?:real\ |actual\ |main\ |core\ )?
      (?:issue|problem|bug|cause|reason|error|failure|fix)\ (?:is|was|comes)\b
    | \bi\ (?:see|found|understand)\ (?:the\ (?:issue|problem|bug|cause)|that|why)\b
    | \bfound\ (?:it|out|that)\b
    | (?:does|did|do|is|are|was)(?:n't|\ not)\s
      (?:work|working|enough|supported|available|possible|needed|exist)
    | (?:can'?t|cannot|won't)\ (?:be|work|use)\b | \bdecided\ (?:to|on|against)\b
    ) | (?P<weak>
      \bbecause\b | \bfixed\ (?:by|it|the)\b | \bfixes\ (?:the|it)\b | \bworks\ (?:now|because|when|only|if)\b
    | \b(?:this|which)\ means\b | \btherefore\b | \bdue\ to\b | \bmissing\b
    | \bso\ (?:the|it|we|that)\b.{0,60}\b(?:must|needs?|should|fails?)\b
    | \bfail(?:s|ed|ing)?\ (?:because|since|when|with|on|due)\b
    | \ball\ (?:\d+\ )?tests?\ (?:now\ )?pass | \balready\ (?:has|have|exists?|handles?|does|supports?)\b
    )""",
    re.VERBOSE,
)
"""Matched against lower-case text: a conclusion or a reason."""
_NAMES = re.compile(r"`[^`\n]+`|\w[_./]\w|[a-z][A-Z]|\d\d|#\d")
"""A name, a path or a number: details that are hard to find again."""
_STEP = re.compile(
    r"(?:thought:\s*)?(?:ok(?:ay)?,?\s+|now,?\s+|so,?\s+|first,?\s+|then,?\s+|next,?\s+)*"
    r"(?:let'?s|let me|i'?ll|i will|i'?m going|i am going|i need to|i should|i have to|maybe i|wait)\b"
)
"""Matched against lower-case text: openings of sentences that announce a step and state no finding."""
_SENTENCES = re.compile(r"[^\n.!?]*(?:[.!?](?![\s\n]|$)[^\n.!?]*)*(?:[.!?]+|(?=\n)|$)")
_MARKS = re.compile(r"(?:\s+|>+|#+|[-–•*+](?=\s)|\d{1,3}[.)](?=\s))*")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the request, and the agent's last words before the user's next message."""

    ask: Cite
    asks: bool
    """Whether the request says more than "yes" or "go on"."""
    report: Cite | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the agent with a conclusion or a reason, or one that names something."""

    source: Cite
    rank: int
    """0 for a strong wording, 1 for a weaker one, 2 for a sentence that only names something."""


@dataclass(slots=True)
class Turns:
    """The turns of a session and the agent's findings, as positions."""

    all: list[Turn] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        """Read the next message."""
        for one in reading.said:
            if one.speaker is USER:
                self._asked(one)
            elif one.speaker is ASSISTANT and one.text.strip():
                self._answered(one)

    def _asked(self, said: Said) -> None:
        last = self.all[-1] if self.all else None
        cite = said.cite(0, len(said.text))
        if last and last.ask.message == said.message and not last.asks:
            self.all.pop()  # of several texts in one message, the first that asks is the request
        elif last and last.ask.message == said.message:
            return
        self.all.append(Turn(cite, not is_acknowledgement(said.text)))
        if len(self.all) > MOST_TURNS * 5 // 4:
            del self.all[1 : len(self.all) - MOST_TURNS]

    def _answered(self, said: Said) -> None:
        if self.all:
            last = self.all[-1]
            self.all[-1] = Turn(last.ask, last.asks, said.cite(0, len(said.text)))
        for start, end, rank in finding_spans(said.text):
            self.findings.append(Finding(said.cite(start, end), rank))
        if len(self.findings) > MOST_FINDINGS * 5 // 4:
            self.findings = _fewer(self.findings)


def _fewer(findings: list[Finding]) -> list[Finding]:
    """Return the findings of the best rank, the latest among equals, in their order."""
    by_rank = sorted(range(len(findings)), key=lambda i: (findings[i].rank, -i))
    return [findings[i] for i in sorted(by_rank[:MOST_FINDINGS])]


def finding_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the sentences of a text that state findings: start, end and rank."""
    read = text[:_LONGEST_READ]
    small = read.lower()
    if len(small) != len(read):  # some letters are longer in lower case: places would not match
        small = read
    found: list[tuple[int, int, int]] = []
    fenced = False
    for sentence in _SENTENCES.finditer(read):
        end = sentence.end()
        marks = _MARKS.match(read, sentence.start(), end)
        start = marks.end() if marks else sentence.start()
        if read.startswith("```", start):
            fenced = not fenced
        if fenced or not SHORTEST_FINDING <= end - start <= LONGEST_FINDING or read[end - 1] in "?:":
            continue
        verdict = _FINDING.search(small, start, end)
        if verdict is not None:
            found.append((start, end, 0 if verdict["strong"] is not None else 1))
        elif _NAMES.search(read, start, end) is not None and _STEP.match(small, start, end) is None:
            found.append((start, end, 2))
    return found


_ACKNOWLEDGEMENT = re.compile(
    r"\W*(?:(?:yes|yeah|yep|ok|okay|k|sure|thanks?|thank you|thx|cool|great|good|nice|perfect|awesome|lgtm"
    r"|please|continue|proceed|go|go on|go ahead|do it|keep going|next|done|hi|hello|hey)\b\W*){1,4}"
)
"""Matched against lower-case text: case-insensitive matching takes twice as long."""
_LONGEST_ACKNOWLEDGEMENT = 60


def is_acknowledgement(text: str) -> bool:
    """Return True if a text only greets, agrees or continues the work."""
    return not text.strip() or (
        len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGEMENT.fullmatch(text.lower()) is not None
    )
