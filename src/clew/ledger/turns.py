"""The turns of a session, the agent's findings, and the quotes that every digest repeats.

Turns and findings are stored as positions, so that a session of any length costs little, and a later digest
quotes the original words instead of an earlier digest.

The rule finder may miss a rule because of its wording, language or place. So two kinds of the user's words
are kept verbatim, within a small budget: short messages at the start of a session, and at any time lines that
forbid or restrict something and name a path or a command. In a language without a phrase table, a path or a
prohibiting word is enough. They are quotes, not rules. So are the facts that a person chose to keep; each has
its message's trust label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.errors import NotFound
from clew.ledger.exchange import Ended, Exchange, Reading
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Json, Message, Text, Trust
from clew.message.patterns import AnyCasePattern, lazy_pattern
from clew.rules.languages import is_english
from clew.rules.pasted import foreign
from clew.rules.prefilter import CHUNKS, marks
from clew.rules.speech import ASSISTANT, PLAN, USER, WHOLE_SPEECH, Utterance
from clew.rules.words import words_again

MOST_TURNS = 5_000
"""Turns kept (chosen by hand); of a longer session the first turn and the latest."""
MOST_FINDINGS = 3_000
MOST_PER_TEXT = 5
"""Findings taken from one text, the strongest first: a report is quoted as such; chosen by hand."""
SHORTEST_FINDING, LONGEST_FINDING = 30, 420
"""Characters of a sentence that is informative on its own and not a paragraph; chosen by hand."""
_LONGEST_READ = 40_000
"""Characters of one text that are searched for findings; agents rarely write more at once."""
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
    r"cause|turns|finding|conclusion|verdict|lesson|constraint|confirmed|culprit|verified|ruled|longer|issue"
    r"|problem|bug|reason|error|fail|fix|\bsee\b|found|understand|works|n't|\bnot\b|need|can't|cant|cannot"
    r"|won't|decided|means|therefore|due|missing|must|should|pass|already"
)
"""...and what each of them contains, as a prefilter: a pattern of plain words is ten times as fast."""
_FINDING_MARK = CHUNKS.mark_by(lambda chunk: bool(_FINDING_WORD.search(chunk.lower().replace("’", "'"))))
_MISSING = lazy_pattern(
    r"\bno longer\b|\bunused\b|\bmissing\b|\b(?:does|do|did|is|are|was)(?:n['’]t| not)\s"
    r"(?:(?:yet|actually|even|currently)\s)?(?:used|exist|there|needed|defined|set|available|implemented)\b",
    re.IGNORECASE,
)
_IDENTIFIER = lazy_pattern(r"`([A-Za-z_][\w.-]{3,80})(?:\(\))?`")
_EDITS = frozenset((ActionKind.EDIT, ActionKind.WRITE, ActionKind.PATCH))
MOST_MISSING = 24
"""Findings that something is missing that later edits are compared with; chosen by hand."""
SHORTEST_NOTE, FEWEST_ITEMS = 300, 3
"""Characters and list items from which an agent's text counts as a working note; chosen by hand."""
MOST_NOTES = 4
_ITEM = lazy_pattern(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)]|#{1,4}|\[[ x~]\])[ \t]+\S", re.MULTILINE)
"""A list item or a heading."""
_NAMES = lazy_pattern(r"`[^`\n]+`|\w[_./]\w|[a-z][A-Z]|\d\d|#\d")
"""A name, a path or a number: details that are hard to find again."""
_NAMES_MARK = CHUNKS.mark_by(lambda chunk: "`" in chunk or _NAMES.search(chunk) is not None)
WEAKEST, LEAST_PROSE = 2, 40
"""The lowest rank, and the characters from which a sentence may have it; chosen by hand."""
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


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the request, and the agent's last words before the user's next message."""

    ask: Cite
    asks: bool
    """Whether the request says more than "yes" or "go on"."""
    report: Cite | None = None


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A sentence of the agent with a conclusion or a reason, or one that names something."""

    source: Cite
    rank: int
    """0 for a strong wording, 1 for a weaker one, 2 for a sentence of prose that only names something."""


class SaidMissing(NamedTuple):
    """A finding that something is missing or no longer used."""

    source: Cite
    names: tuple[str, ...]


@dataclass(slots=True)
class Turns:
    """The turns of a session, the agent's findings and its latest working notes, as positions."""

    all: list[Turn] = field(default_factory=list)
    findings: list[RankedFinding] = field(default_factory=list)
    notes: list[Cite] = field(default_factory=list)
    """Texts of the running turn in which the agent lists its plan, its progress or what it knows."""
    missing: list[SaidMissing] = field(default_factory=list)
    """The latest findings that something is missing, until an edit adds it."""

    def add(self, reading: Reading) -> None:
        """Read the next message."""
        for utterance in reading.said:
            if utterance.speaker is USER or utterance.speaker is PLAN:
                self._asked(utterance)
            elif utterance.speaker is ASSISTANT and utterance.text.strip():
                self._answered(utterance)

    def edited(self, reading: Reading) -> None:
        """Drop the findings that something is missing or unused if an edit of this message adds it."""
        for asked in reading.calls if self.missing else ():
            if asked.action.kind in _EDITS:
                old, new = _texts_of_edit(asked.action.arguments)
                added = {
                    one.source for one in self.missing if any(n in new and n not in old for n in one.names)
                }
                if added:
                    self.missing = [one for one in self.missing if one.source not in added]
                    self.findings = [one for one in self.findings if one.source not in added]

    def _asked(self, utterance: Utterance) -> None:
        last = self.all[-1] if self.all else None
        cite = utterance.cite(0, len(utterance.text))
        if last and last.ask.message == utterance.message and not last.asks:
            self.all.pop()  # of several texts in one message, the first that asks is the request
        elif last and last.ask.message == utterance.message:
            return
        self.all.append(Turn(cite, not is_acknowledgement(utterance.text)))
        if self.all[-1].asks:
            self.notes.clear()
        if len(self.all) > MOST_TURNS * 5 // 4:
            del self.all[1 : len(self.all) - MOST_TURNS]

    def _answered(self, utterance: Utterance) -> None:
        if self.all:
            last = self.all[-1]
            self.all[-1] = Turn(last.ask, last.asks, utterance.cite(0, len(utterance.text)))
        if is_working_note(utterance.text):
            self.notes = [*self.notes[1 - MOST_NOTES :], utterance.cite(0, len(utterance.text))]
        for start, end, rank in finding_spans(utterance.text):
            self.findings.append(RankedFinding(utterance.cite(start, end), rank))
            if rank < WEAKEST and _MISSING.search(utterance.text, start, end):
                named = tuple(name[1] for name in _IDENTIFIER.finditer(utterance.text, start, end))
                self.missing = [
                    *self.missing[1 - MOST_MISSING :],
                    SaidMissing(utterance.cite(start, end), named),
                ]
        if len(self.findings) > MOST_FINDINGS * 5 // 4:
            self.findings = _fewer(self.findings)


def _texts_of_edit(arguments: Json) -> tuple[str, str]:
    """Return what an edit removes and what it writes, as far as its arguments tell them apart."""
    old: list[str] = []
    new: list[str] = []
    waiting: list[tuple[str, Json]] = [("", arguments)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, one) for one in value]
        elif isinstance(value, str) and "*** Begin Patch" in value:
            old += [line for line in value.split("\n") if not line.startswith("+")]
            new += [line for line in value.split("\n") if line.startswith("+")]
        elif isinstance(value, str):
            (old if key.lower().startswith(("old", "search")) else new).append(value)
    return "\n".join(old), "\n".join(new)


def is_working_note(text: str) -> bool:
    """Whether a text lists several points: a plan, a status, facts gathered so far."""
    if len(text) < SHORTEST_NOTE:
        return False
    return sum(1 for _ in islice(_ITEM.finditer(text, 0, _LONGEST_READ), FEWEST_ITEMS)) == FEWEST_ITEMS


def _fewer(findings: list[RankedFinding]) -> list[RankedFinding]:
    """Return the findings of the best rank, the latest among equals, in their order."""
    by_rank = sorted(range(len(findings)), key=lambda i: (findings[i].rank, -i))
    return [findings[i] for i in sorted(by_rank[:MOST_FINDINGS])]


def finding_spans(text: str) -> list[tuple[int, int, int]]:
    """Return the sentences of a text that state findings: start, end and rank."""
    told = marks(text)
    if not told & (_FINDING_MARK | _NAMES_MARK):
        return []
    read = text[:_LONGEST_READ]
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
    return _GUESS.search(_BRACKETS.sub("", small[start:end])) is not None


def _rank_by_words(read: str, small: str, start: int, end: int, told: int) -> int | None:
    """Return the rank of a sentence by the verdict, reason or name in it."""
    verdict = None
    if told & _FINDING_MARK and _FINDING_WORD.search(small, start, end):
        verdict = _FINDING.search(small, start, end)
    if verdict is not None and verdict["strong"] is not None:
        return 0
    if _STEP.match(small, start, end) is not None:
        return None
    if verdict is not None:
        return 1
    alone = end - start >= LEAST_PROSE and "\n" not in read[max(0, start - 2) : start]
    return WEAKEST if alone and told & _NAMES_MARK and _NAMES.search(read, start, end) else None


def _strongest(found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return a few findings of a text in order, and at most one that only names something."""
    ranked = sorted(found, key=lambda span: span[2])
    firm = sum(span[2] < WEAKEST for span in ranked)
    return sorted(ranked[: min(MOST_PER_TEXT, max(1, firm))])


_ACKNOWLEDGEMENT = lazy_pattern(
    r"\W*(?:(?:yes|yeah|yep|yup|ok|okay|k|sure|thanks?|thank you|thx|cool|great|good|nice|perfect|awesome"
    r"|lgtm|please|continue|proceed|go|go on|go ahead|do it|keep going|next|done|hi|hello|hey)\b\W*){1,4}"
)
"""Matched against lower-case text: case-insensitive matching takes twice as long."""
_LONGEST_ACKNOWLEDGEMENT = 60


def is_acknowledgement(text: str) -> bool:
    """Return True if a text only greets, agrees or continues the work."""
    return not text.strip() or (
        len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGEMENT.fullmatch(text.lower()) is not None
    )


SAID_EARLY, MAY_RESTRICT = "it was said early", "it names a place and may forbid something"
EARLY_TURNS = 6
"""User messages that count as the start of a session; chosen by hand."""
SHORT = 240
"""Characters of a short message or line; chosen by hand."""
MOST_LINES = 16
MOST_CHARACTERS = 3_000
"""Budget for restricting lines (chosen by hand): every digest repeats all of it."""
_LONG_MESSAGE = 1_200
"""Characters above which a message may be cut to a part of it, and a rule in its middle is rarely found."""
_LONG_TEXT = 6_000
"""Characters above which a text is mostly pasted: only plain prohibitions on their own lines count."""
_NAMED = lazy_pattern(
    r"(?<![\w/:])[\w.~-]*[\w~]/(?![/\s])[\w./*-]*|(?<![\w/:])[\w.-]+/(?=[\s\"'`.,;:!?)\]}]|\Z)|`[^`\n]{2,60}`"
    r"|\b[\w-]+\.(?:py|ts|tsx|js|go|rs|java|md|json|ya?ml|toml|lock|sql|env|sh|cfg|ini)\b|\.env\b"
    r"|\b(?:git|npm|pnpm|yarn|pip|cargo|docker|kubectl|terraform|make|rm|sudo)\s+[\w-]+",
)
"""A path or a command."""
_PART_OF_NAMED = lazy_pattern(
    r"[/`]|\.(?:py|ts|js|go|rs|java|md|json|ya?ml|toml|lock|sql|env|sh|cfg|ini)"
    r"|git|npm|yarn|pip|cargo|docker|kubectl|terraform|make|rm|sudo"
)
_NAMED_MARK = CHUNKS.mark_by(lambda chunk: _PART_OF_NAMED.search(chunk) is not None)
"""What each of them contains, as a prefilter."""
_FORBIDS = AnyCasePattern(
    r"""\b(?:never|do\s?n['’]?t|do\ not|must\ not|mustn['’]t|may\ not|not\ allowed|forbidden|prohibited
      |off[ -]limits
      |avoid|only|hands\ off|read-?only|frozen|keep\ out|leave\b.{0,40}\balone|untouched|shall\ not
      |no\ (?:edits?|changes?|touching)
      |nie(?:mals)?|nicht|kein\w*|jamais|ne|pas|nunca|jamás|no|mai|non|não|nooit|niet|nigdy|nie|asla|sakın
      |yasak\w*|dokunma\w*|değiştirme\w*
      |aldrig|aldri|inte|ikke|jangan|dilarang|nikdy
      |nesmí\w*|neměň\w*|älä|koskaan|soha|tilos|niciodată|nu|mai|kamwe|nikad\w*)\b
      |никогда|нельзя|не\s|ніколи|заборон|не\ |đừng|không|cấm|मत|कभी|नहीं|لا\s|ممنوع|أبد
      |هرگز|نباید|نکن|אל\s|לעולם|אסור|לא\s|μην|ποτέ
      |απαγορ|ห้าม|อย่า|不要|不得|不可|禁止|别|勿|ないで|禁|하지\ ?마|금지|কখন""",
    re.VERBOSE,
)
"""A prohibiting word in some thirty languages. False positives are harmless: only a quote is kept."""
_PLAIN_BAN = lazy_pattern(
    r"^[^\w\n]{0,8}(?:important|note|rule|warning)?\W{0,4}(?:please )?(?:never|do not|don['’]t|must not)\b"
    r"[^\n]{3,230}$",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_LETTER = lazy_pattern(r"[^\W\d_a-zA-Z]")
"""A letter that is not in the English alphabet; a dash or an arrow says nothing about the language."""
_LINE = lazy_pattern(r"[^\n]+(?:(?<![.:;!?{}])[ \t]*\n[ \t]+(?![-*•+#\d])\S[^\n]*){0,3}")
"""A line, with the indented lines that continue its sentence."""
_PIECE = lazy_pattern(r"[^.!?。！？।]+(?:\.(?=\S)[^.!?。！？।]*)*[.!?。！？।]*")
_ANSWERED = lazy_pattern(r'"="([^"\n]{3,240})"')
"""An answer in the result of a tool by which an agent asks the user."""
_REASON = lazy_pattern(r"\bthe user said:\s*(.{3,240})", re.DOTALL)
"""The user's words in the result of a refused call."""
_SAYS_NOTHING = lazy_pattern(
    r"\W*(?:(?:yes|yeah|ok(?:ay)?|sure|thanks?|thank you|cool|great|good|nice|perfect|lgtm|please"
    r"|continue|proceed|go|go ahead|do it|next|done|hi|hello|hey|no|stop)\b\W*){1,4}\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class UserQuote:
    """A verbatim quote of the user, and why it is kept."""

    quote: str
    source: Cite
    trust: Trust
    why: str


@dataclass(slots=True)
class UserQuotes:
    """The kept quotes, oldest first."""

    turns: int = 0
    kept: dict[str, UserQuote] = field(default_factory=dict)
    """By casefolded quote, so that repeated words are kept once."""
    lines: int = 0
    characters: int = 0

    @property
    def all(self) -> tuple[UserQuote, ...]:
        """Return the quotes: those that may restrict the work first, then the early messages."""
        return tuple(sorted(self.kept.values(), key=lambda words: words.why == SAID_EARLY))

    def add(self, reading: Reading) -> None:
        """Read a message of the user, or the user's answer to a call."""
        for utterance in reading.said:
            if utterance.speaker is USER:
                self._add_turn(utterance)
                self._add_middle(utterance, reading.item.message)
        for exchange in reading.exchanges:
            for quote, start in _answers(exchange):
                end = start + len(quote)
                self._line(quote, exchange.answered._replace(start=start, end=end), Trust.UNTRUSTED)

    def restore(self, quotes: Iterable[tuple[str, Cite, Trust]]) -> None:
        """Restore the quotes of the user in a digest, oldest first."""
        for quote, source, trust in quotes:
            early = self.turns < EARLY_TURNS and len(quote) <= SHORT
            if early and quote.casefold() not in self.kept:
                self.turns += 1
                why = MAY_RESTRICT if next(_restricting(quote), None) else SAID_EARLY
                self.kept[quote.casefold()] = UserQuote(quote, source, trust, why)
            elif next(_restricting(quote), None) is not None:
                self._line(quote, source, trust)
        self.turns = max(self.turns, EARLY_TURNS)  # messages after a digest are not early

    def _add_turn(self, utterance: Utterance) -> None:
        self.turns += 1
        text = utterance.text.strip()
        if self.turns <= EARLY_TURNS and len(text) <= SHORT:
            if not _SAYS_NOTHING.match(text) and text.casefold() not in self.kept:
                start = utterance.text.index(text)
                source = utterance.cite(start, start + len(text))
                why = MAY_RESTRICT if next(_restricting(text), None) else SAID_EARLY
                self.kept[text.casefold()] = UserQuote(text, source, utterance.trust, why)
            return
        for start, end in _restricting(utterance.text) if self.lines < MOST_LINES else ():
            self._line(utterance.text[start:end], utterance.cite(start, end), utterance.trust)

    def _add_middle(self, utterance: Utterance, message: Message) -> None:
        """Keep the plain prohibitions in the middle of a huge text, which is not read as speech."""
        part = message.parts[utterance.part]
        if utterance.start == 0 and isinstance(part, Text) and len(part.text) > WHOLE_SPEECH:
            for start, end in _restricting(part.text):
                self._line(
                    part.text[start:end], Cite(utterance.message, utterance.part, start, end), utterance.trust
                )

    def _line(self, quote: str, source: Cite, trust: Trust) -> None:
        full = self.lines >= MOST_LINES or self.characters + len(quote) > MOST_CHARACTERS
        if full or quote.casefold() in self.kept:
            return
        self.lines += 1
        self.characters += len(quote)
        self.kept[quote.casefold()] = UserQuote(quote, source, trust, MAY_RESTRICT)


def _restricting(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines that may restrict the work."""
    if len(text) > _LONG_TEXT:
        for line in _PLAIN_BAN.finditer(text):
            if _NAMED.search(line[0]):
                yield line.span()
        return
    named = bool(marks(text) & _NAMED_MARK) and _NAMED.search(text) is not None
    if text.isascii() and not named and len(text) <= _LONG_MESSAGE:
        return  # a prohibition alone counts only in another alphabet, or in a message that is not kept whole
    if not _FORBIDS.search(text) and (text.isascii() or not named):
        return
    known = is_english(text, words_again(text[:2_000]))
    pasted = list(foreign(text))
    for line in _LINE.finditer(text):
        if not any(start <= line.start() < end for start, end in pasted):
            yield from _pieces(text, line.start(), line.end(), known=known)


def _pieces(text: str, start: int, end: int, *, known: bool) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a line that may restrict the work."""
    for piece in _PIECE.finditer(text, start, end):
        words = piece[0].strip()
        if not 8 <= len(words) <= SHORT:
            continue
        named = _NAMED.search(words) is not None
        is_ban = len(text) > _LONG_MESSAGE and _PLAIN_BAN.match(words) is not None
        if not named and not is_ban and words.isascii():
            continue
        forbids = _FORBIDS.search(words) is not None
        if (
            is_ban
            or (named and forbids)
            or (not known and (named or forbids) and _OTHER_LETTER.search(words))
        ):
            begin = piece.start() + piece[0].index(words)
            asked = text.rfind("?", start, begin)
            if asked >= 0 and end - start <= SHORT:  # an answer says little without its question
                begin = start
            yield begin, piece.start() + piece[0].index(words) + len(words)


def _answers(exchange: Exchange) -> Iterator[tuple[str, int]]:
    """Yield what the user said in answer to a question of the agent, or when refusing a call."""
    asked, refused = exchange.action.kind is ActionKind.ASK, exchange.outcome.ended is Ended.REFUSED
    if not asked and not refused:
        return
    text = "\n".join(part.text for part in exchange.result.parts if isinstance(part, Text))
    for answer in (_ANSWERED if asked else _REASON).finditer(text):
        if not _SAYS_NOTHING.match(answer[1]):
            quote = answer[1].strip()
            yield quote, text.index(quote, answer.start(1))


@dataclass(frozen=True, slots=True)
class KeptFact:
    """A passage that a person chose to keep."""

    id: str
    """``k1``, ``k2``, …"""
    quote: str
    """Verbatim."""
    source: Cite
    trust: Trust
    """The label of its message."""


@dataclass(slots=True)
class KeptFacts:
    """The kept facts, oldest first."""

    held: dict[str, KeptFact] = field(default_factory=dict)
    count: int = 0

    @property
    def all(self) -> tuple[KeptFact, ...]:
        """Return the facts that are kept now."""
        return tuple(self.held.values())

    def get(self, id_: str) -> KeptFact:
        """Return a fact by its id."""
        try:
            return self.held[id_]
        except KeyError:
            raise NotFound(f"no fact {id_} is kept", "the page lists those that are") from None

    def keep(self, quote: str, source: Cite, trust: Trust) -> KeptFact:
        """Keep a passage; if it is kept already, return the existing fact."""
        for known_fact in self.held.values():
            if (known_fact.quote, known_fact.source) == (quote, source):
                return known_fact
        self.count += 1
        fact = self.held[f"k{self.count}"] = KeptFact(f"k{self.count}", quote, source, trust)
        return fact

    def drop(self, id_: str) -> KeptFact:
        """Stop keeping a passage; it stays in the log."""
        return self.held.pop(self.get(id_).id)
