"""Quotes of the user that every digest repeats although they were not recognised as rules.

The rule finder may miss a rule because of its wording, language or place. So two kinds of the user's words
are kept verbatim, within a small budget: short messages at the start of a session, and at any time lines
that forbid or restrict something and name a path or a command ("hands off `migrations/`"). In a language
without a phrase table, a path or a prohibiting word is enough. They are quotes, not rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clew.ledger.exchange import Exchange, Reading
from clew.ledger.outcome import Ended
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Message, Text, Trust
from clew.message.text import AnyCasePattern, lazy_pattern
from clew.rules.foreign import foreign
from clew.rules.languages import is_english
from clew.rules.prefilter import CHUNKS, MARKS
from clew.rules.sentences import sentences
from clew.rules.speech import USER, WHOLE_SPEECH, Utterance
from clew.rules.words import words_again

SAID_EARLY, MAY_RESTRICT = "it was said early", "it names a place and may forbid something"
EARLY_TURNS = 6
"""User messages that count as the start of a session, where people say how they want to work. Not fitted."""
SHORTEST, SHORT = 8, 240
"""Characters of a line that may restrict the work, and of a message that is kept whole: some three lines."""
MOST_LINES, MOST_CHARACTERS = 16, 3_000
"""Budget for restricting lines, some 800 tokens: every digest repeats all of it."""
_LONG_MESSAGE = 1_200
"""Characters above which a message may be cut to a part of it, and a rule in its middle is rarely found."""
_LONG_TEXT = 6_000
"""Characters above which a text is mostly pasted, so that only plain prohibitions count; chosen by hand."""
_MOST_PLAIN = 6
"""Plain prohibitions of such a text that are kept though they name no path or command; chosen by hand."""


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
        yield from _plain_bans(text)
        return
    named = bool(MARKS[text] & _NAMED_MARK) and _NAMED.search(text) is not None
    if text.isascii() and not named and len(text) <= _LONG_MESSAGE:
        return  # a prohibition alone counts only in another alphabet, or in a message that is not kept whole
    if not _FORBIDS.search(text) and (text.isascii() or not named):
        return
    known = is_english(text, words_again(text[:2_000]))
    pasted = foreign(text)
    for line in _LINE.finditer(text):
        if not any(start <= line.start() < end for start, end in pasted):
            yield from _pieces(text, line.start(), line.end(), known=known)


def _plain_bans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the plain prohibitions of a long text: lines that name something, sentences in own words."""
    named = [line.span() for line in _PLAIN_BAN.finditer(text) if _NAMED.search(line[0])]
    yield from named
    if not _BAN.search(text):
        return
    pasted = foreign(text)
    found = 0
    for sentence in sentences(text):
        at = sentence.start
        if found < _MOST_PLAIN and len(sentence.text) <= SHORT and _PLAIN_BAN.match(sentence.text):
            in_text = text[at : sentence.end] == sentence.text
            if in_text and not any(start <= at < end for start, end in (*pasted, *named)):
                found += 1
                yield at, sentence.end


def _pieces(text: str, start: int, end: int, *, known: bool) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a line that may restrict the work."""
    for piece in _PIECE.finditer(text, start, end):
        words = piece[0].strip()
        if not SHORTEST <= len(words) <= SHORT:
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
    """Yield what the user said in answer to a question of the agent, or when refusing a call.

    A tool that passes on text from outside could print the same words, so its results do not count.
    """
    asked, refused = exchange.action.kind is ActionKind.ASK, exchange.outcome.ended is Ended.REFUSED
    if not asked and (not refused or exchange.action.may_bring_outside_text):
        return
    text = "\n".join(part.text for part in exchange.result.parts if isinstance(part, Text))
    for answer in (_ANSWERED if asked else _REASON).finditer(text):
        if not _SAYS_NOTHING.match(answer[1]):
            quote = answer[1].strip()
            yield quote, text.index(quote, answer.start(1))


# What the patterns recognise ---------------------------------------------------------------------------

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
"""A line that begins with a prohibition: "Important: never push to main"."""
_BAN = AnyCasePattern(r"\b(?:never|do\ not|don['’]t|must\ not)\b")
"""A prohibition anywhere, as a prefilter."""
_OTHER_LETTER = lazy_pattern(r"[^\W\d_a-zA-Z]")
"""A letter that is not in the English alphabet; a dash or an arrow says nothing about the language."""
_LINE = lazy_pattern(r"[^\n]+(?:(?<![.:;!?{}])[ \t]*\n[ \t]+(?![-*•+#\d])\S[^\n]*){0,3}")
"""A line, with the indented lines that continue its sentence."""
_PIECE = lazy_pattern(r"[^.!?。！？।]+(?:\.(?=\S)[^.!?。！？।]*)*[.!?。！？।]*")
"""One sentence; a full stop within a word does not end it."""
_ANSWERED = lazy_pattern(r'"="([^"\n]{3,240})"')
"""An answer in the result of a tool by which an agent asks the user."""
_REASON = lazy_pattern(r"\bthe user said:\s*(.{3,240})", re.DOTALL)
"""The user's words in the result of a refused call."""
_SAYS_NOTHING = lazy_pattern(
    r"\W*(?:(?:yes|yeah|ok(?:ay)?|sure|thanks?|thank you|cool|great|good|nice|perfect|lgtm|please"
    r"|continue|proceed|go|go ahead|do it|next|done|hi|hello|hey|no|stop)\b\W*){1,4}\Z",
    re.IGNORECASE,
)
"""Up to four courtesies: "ok, thanks"."""
