"""Pins: standing rules, found in what people say or set by hand, from their beginning to their end.

A pin is never deleted. What ends one is a later message, a person, or the passing of the time it was meant
for, and the pin says which. The messages of the system and the developer that open a session are not
pinned: they are the prompt, and no compaction touches it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from clew.errors import NotFound
from clew.ledger.codec import copied
from clew.ledger.constraints.active import ActiveRules
from clew.ledger.constraints.find import find, find_candidates
from clew.ledger.constraints.force import LIKELY
from clew.ledger.constraints.provisional import go_ahead
from clew.ledger.constraints.retire import retire
from clew.ledger.constraints.scope import scope_of
from clew.ledger.constraints.silence import may_state_rule
from clew.ledger.constraints.tokens import tokens
from clew.ledger.constraints.values import (
    Constraint,
    Found,
    How,
    Kind,
    Lasts,
    Reason,
    Scope,
    Span,
    Strength,
)
from clew.ledger.exchange import Reading
from clew.ledger.findings import SPEAKERS, Ending, Findings, RuleRef, moved, overlapping, span_in
from clew.ledger.speech import USER, WHOLE_SPEECH, speech
from clew.message import LONGEST_RULE, Cite, Message, Origin, Role, Text, Trust


class PinStatus(StrEnum):
    """Whether a pin holds, and if not, why."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A newer rule took its place; ``replaced_by`` names it where it is a pin."""
    LIFTED = "lifted"
    """Whoever made it took it back."""
    REVOKED = "revoked"
    """A person took it off by hand."""
    EXPIRED = "expired"
    """The time it was meant for is over."""
    WAITING = "waiting"
    """Set by hand in a file that was imported; it holds once a person here confirms it."""


class MadeBy(StrEnum):
    """Where a pin comes from."""

    FOUND = "found"
    """Said in the session, and found there."""
    PERSON = "person"
    """Set by hand."""
    IMPORTED = "imported"
    """Set by hand somewhere else, in a file that was imported."""


ANYTHING = Scope()
"""The scope of a rule that names nothing."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A standing rule."""

    id: str
    quote: str
    """Verbatim."""
    source: Cite | None
    """Where it stands; None for one that was set by hand."""
    kind: Kind = Kind.REQUIREMENT
    scope: Scope = ANYTHING
    strength: Strength = Strength.MUST
    trust: Trust = Trust.USER
    confidence: float = 1.0
    reasons: tuple[Reason, ...] = ()
    """What in its words made it a rule, the weightiest first."""
    because: str = ""
    """What makes it a standing rule, in one line; empty if it was set by hand."""
    made_by: MadeBy = MadeBy.FOUND
    repeated: tuple[Cite, ...] = ()
    """Where the same words were said again, at most ``MOST_REPEATED`` of them."""
    status: PinStatus = PinStatus.ACTIVE
    ended_by: Cite | None = None
    """The words that ended it, or might have (``certain``); None if a person did it by hand."""
    replaced_by: str = ""
    """The id of the pin that took its place."""
    why: str = ""
    """Why it ended, in one line."""
    certain: bool = True
    """False if ``ended_by`` only might have ended it: it is in force, and a person should decide."""

    @property
    def is_active(self) -> bool:
        """Return whether it is in force."""
        return self.status is PinStatus.ACTIVE

    @property
    def found_because(self) -> str:
        """Return why it is a rule, in one line."""
        if self.made_by is not MadeBy.FOUND:
            return "a person set it"
        words = ", ".join(f'"{reason.words}"' for reason in self.reasons[:2] if reason.words)
        return self.because or (f"it says {words}" if words else "it was found in an earlier part")

    @property
    def certainty(self) -> str:
        """Return how sure it is that this is a rule, in words."""
        if self.made_by is not MadeBy.FOUND:
            return "certain"
        return "likely" if self.because in LIKELY or self.confidence < LEAST_CLEAR else "clear"

    @property
    def ref(self) -> RuleRef:
        """Return what it is known by in the log."""
        return RuleRef(self.quote, self.source)


MOST_REPEATED = 8
_EDITED = "edited by hand"
LEAST_CLEAR = 0.9
"""Confidence of the finder below which a rule is only likely one."""
LONGEST_END = 160
"""Characters of the words that ended a rule, as they are quoted with it."""
_STATUS = {
    How.LIFTED: PinStatus.LIFTED,
    How.SUPERSEDED: PinStatus.SUPERSEDED,
    How.EXPIRED: PinStatus.EXPIRED,
}
_SYSTEM = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(slots=True)
class Pins:
    """Keeps the pins, oldest first."""

    held: dict[str, Pin] = field(default_factory=dict)
    begun: bool = False
    """Something was said after the prompt."""
    prompt: dict[int, int] = field(default_factory=dict)
    """What the prompt says, sentence by sentence, as checksums: sent or logged again, it pins nothing."""
    _rules: ActiveRules = field(init=False, default_factory=ActiveRules)
    """The active pins as the finder of contradictions wants them."""
    _switched_off: set[str] = field(init=False, default_factory=set)
    """What a person said is no rule: the finder does not bring it back."""
    _by_words: dict[str, str] = field(init=False, default_factory=dict)
    """The ids of the active pins by what they say."""
    _passing: list[str] = field(init=False, default_factory=list)
    """The ids of the active pins that are meant for the next answer only, perhaps of more."""
    _by_ref: dict[RuleRef, list[str]] = field(init=False, default_factory=dict)
    """The ids of all pins by their words and where these are."""

    def __post_init__(self) -> None:
        for pin in self.held.values():
            self._put(pin)

    def _put(self, pin: Pin) -> None:
        """Hold a pin, new or changed."""
        self.held[pin.id] = pin
        named = self._by_ref.setdefault(pin.ref, [])
        if pin.id not in named:
            named.append(pin.id)
        words = _plain(pin.quote)
        if pin.made_by is MadeBy.FOUND and (pin.status is PinStatus.REVOKED or pin.why == _EDITED):
            self._switched_off.add(words)
        if pin.is_active:
            self._rules.put(_constraint(pin))
            self._by_words[words] = pin.id
            if pin.source and pin.scope.duration.lasts is Lasts.TURN:
                self._passing.append(pin.id)
        else:
            self._rules.drop(pin.id)
            if self._by_words.get(words) == pin.id:
                del self._by_words[words]

    @property
    def all(self) -> tuple[Pin, ...]:
        """Return every pin, those that ended too."""
        return tuple(self.held.values())

    @property
    def active(self) -> tuple[Pin, ...]:
        """Return the rules that hold now."""
        return tuple(self.held[id_] for id_ in self._rules)

    @property
    def waiting(self) -> tuple[Pin, ...]:
        """Return the rules of an imported file that nobody here has confirmed."""
        return tuple(pin for pin in self.held.values() if pin.status is PinStatus.WAITING)

    def get(self, id_: str) -> Pin:
        """Return a pin by its id."""
        try:
            return self.held[id_]
        except KeyError:
            there = (
                f"those there are have ids from {next(iter(self.held))} on" if self.held else "none was found"
            )
            raise NotFound(f"there is no rule {id_}", there) from None

    def match(self, rule: RuleRef, hint: str = "") -> Pin | None:
        """Return the pin that a reference names; of several in the same words the one called ``hint``.

        Without one in just these words at just this place, the only one that shares characters with it.
        """
        named = self._by_ref.get(rule, [])
        if not named and rule.source:
            sources = {pin.source: pin.id for pin in self.held.values() if pin.source}
            near = overlapping(rule.source, sources)
            named = [sources[near[0]]] if len(near) == 1 else []
        if hint in named:
            return self.held[hint]
        active = [id_ for id_ in named if self.held[id_].is_active]
        return self.held[(active or named)[-1]] if named else None

    def add(self, reading: Reading, recorded: Findings | None = None) -> Findings:
        """Take in the rules that a message states, and those that it ends; return what was found.

        With ``recorded`` findings the finder is not asked: they are what was found when the message came.
        """
        speaks = self._may_state_rules(reading)
        self.begun = self.begun or reading.item.message.role not in _SYSTEM
        if not self.begun:
            self.prompt |= dict.fromkeys(_pieces(reading.item.message.text), 1)
        if self._expires(reading):
            self._pass(reading)
        if recorded is not None:
            self._apply(reading.item.id, recorded)
            return recorded
        findings: list[Found | Ending] = []
        for message, source in _spoken(reading) if speaks else ():
            found = self._find(message, source)
            self._apply(reading.item.id, found)
            findings += found
        return tuple(findings)

    def look(self, readings: Sequence[Reading]) -> list[Findings]:
        """Return what the finder finds in messages that are about to be added, without taking them in."""
        pins, found = self, list[Findings]()
        for reading in readings:
            pieces = list(_spoken(reading)) if pins._may_state_rules(reading) else []
            if pins is self and len(readings) == 1 and not self._expires(reading) and len(pieces) <= 1:
                found.append(tuple(step for piece in pieces for step in self._find(*piece)))
                continue
            if pins is self and (pieces or not self.begun or self._expires(reading)):
                pins = copied(self)  # what the first of them says changes what the next one ends
            found.append(() if pins is self else pins.add(reading))
        return found

    def _may_state_rules(self, reading: Reading) -> bool:
        """Return whether anyone speaks in a message; what opens a session is the prompt, kept whole."""
        role = reading.item.message.role
        if not self.begun and role in _SYSTEM:
            return False
        return bool(reading.said) or role in SPEAKERS

    def _expires(self, reading: Reading) -> bool:
        return bool(self._passing) and any(said.speaker is USER for said in reading.said)

    def _pass(self, reading: Reading) -> None:
        """End what was meant for one answer: whoever said it speaks again."""
        spoken = next(said for said in reading.said if said.speaker is USER)
        place = spoken.cite(0, len(spoken.text))
        passing, self._passing = self._passing, []
        for pin in (self.held[id_] for id_ in passing):
            if pin.is_active:
                self._put(replace(pin, status=PinStatus.EXPIRED, ended_by=place, why="it was for one answer"))

    def _find(self, message: Message, source: Cite) -> Findings:
        """Return what a piece of a message ends and states; nothing changes."""
        ended = [
            Ending(
                self.held[end.constraint].ref,
                end.how,
                span_in(end.span, source),
                f'"{_within(end.quote, LONGEST_END)}": {end.why}',
                certain=end.certain,
            )
            for end in (retire(self._rules, message) if self._rules else ())
        ]
        ends = {one.at for one in ended}
        found = (moved(one, source) for one in self._search(message))
        # "You may push now" ends a rule; it need not be remembered as a permission besides.
        kept = (one for one in found if one.kind is not Kind.PERMISSION or one.span not in ends)
        by_system = message.role in _SYSTEM
        return (*ended, *(one for one in kept if not (by_system and self._is_of_prompt(one.quote))))

    def _is_of_prompt(self, quote: str) -> bool:
        """Whether the prompt says this already: it was sent or logged again."""
        return self.prompt.keys() >= set(_pieces(quote))

    def _search(self, message: Message) -> list[Found]:
        """Return what states a rule."""
        return find(message)

    def _apply(self, message: str, findings: Findings) -> None:
        """End and hold what was found in a message; an end of a rule that is not in force changes nothing."""
        ended: dict[Span, list[str]] = {}
        for step in findings:
            if isinstance(step, Found):
                self._found(step, Cite(message, *step.span), ended.get(step.span, ()))
                continue
            pin = self.match(step.rule)
            if pin is not None and pin.is_active:
                place = Cite(message, *step.at)
                if not step.certain:  # what only might end a rule leaves it in force
                    self._put(replace(pin, ended_by=place, why=step.why, certain=False))
                    continue
                self._put(replace(pin, status=_STATUS[step.how], ended_by=place, why=step.why, certain=True))
                ended.setdefault(step.at, []).append(pin.id)

    def _found(self, found: Found, place: Cite, replaces: Iterable[str]) -> None:
        quote = _within(found.quote)
        if _plain(quote) in self._switched_off:
            return
        same = self._by_words.get(_plain(quote))
        if same is not None:
            pin = self.held[same]
            # In its place a rule may say more than its words alone: "push" under "Please don't:".
            read = _read(found) if pin.made_by is MadeBy.PERSON and found.lead else {}
            pin = replace(pin, repeated=(*pin.repeated, place)[-MOST_REPEATED:], **read)
            self._put(pin)
        else:
            pin = self._new(quote, place, trust=found.trust, **_read(found))
        for old in replaces:
            if old != pin.id:
                self._put(replace(self.held[old], replaced_by=pin.id))

    def _new(self, quote: str, source: Cite | None, **details: object) -> Pin:
        pin = Pin(f"p{len(self.held) + 1}", quote, source, **details)  # type: ignore[arg-type]  # fields of a pin
        self._put(pin)
        return pin

    # What a person does by hand --------------------------------------------------------------------------

    def pin(self, quote: str, kind: Kind | None = None, scope: Scope | None = None) -> Pin:
        """Set a rule by hand; one that stands in these words already is it.

        What is not given is read from its words, as if somebody had said them.
        """
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        given = {name: value for name, value in (("kind", kind), ("scope", scope)) if value is not None}
        return self._new(quote, None, made_by=MadeBy.PERSON, **{**_read_by_hand(quote), **given})

    def import_pin(self, quote: str) -> Pin:
        """Hold a rule that was set by hand somewhere else; it waits for a confirmation."""
        same = self._by_words.get(_plain(quote))
        alike = [pin for pin in self.waiting if _plain(pin.quote) == _plain(quote)]
        if same or alike:
            return self.held[same] if same else alike[0]
        made = {"made_by": MadeBy.IMPORTED, "status": PinStatus.WAITING, "why": "imported, not confirmed"}
        return self._new(quote, None, **{**_read_by_hand(quote), **made})

    def confirm(self) -> tuple[Pin, ...]:
        """Put the rules of an imported file into force."""
        confirmed = tuple(replace(pin, status=PinStatus.ACTIVE, why="") for pin in self.waiting)
        for pin in confirmed:
            self._put(pin)
        return confirmed

    def restore(self, quote: str, source: Cite, trust: Trust) -> Pin:
        """Hold again a rule that was found in an earlier part of the session, which only a digest tells."""
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        # What it forbids is read from its words again, so that later words can lift it.
        return self._new(quote, source, trust=trust, **_read_by_hand(quote))

    def edit(self, id_: str, quote: str) -> Pin:
        """Put other words in place of a rule; the old words stay, superseded."""
        old = self.get(id_)
        new = self._new(quote, None, made_by=MadeBy.PERSON, **_read_by_hand(quote))
        self._close(old, PinStatus.SUPERSEDED, _EDITED, replaced_by=new.id)
        return new

    def revoke(self, id_: str, why: str = "revoked by hand") -> Pin:
        """Take a rule off by hand."""
        return self._close(self.get(id_), PinStatus.REVOKED, why)

    def expire(self, id_: str, why: str) -> Pin:
        """End a rule whose time is over; only the session that knows the time may tell."""
        return self._close(self.get(id_), PinStatus.EXPIRED, why)

    def _close(self, pin: Pin, status: PinStatus, why: str, replaced_by: str = "") -> Pin:
        closed = replace(pin, status=status, why=why, replaced_by=replaced_by)
        self._put(closed)
        return closed


def _read(found: Found) -> dict[str, Any]:
    """Return the fields of a pin that are read from what was found."""
    return {
        "kind": found.kind,
        "scope": found.scope,
        "strength": found.strength,
        "confidence": found.confidence,
        "reasons": found.reasons,
        "because": found.force_reason,
    }


def _read_by_hand(quote: str) -> dict[str, Any]:
    """Return what the words of a rule say of its kind and scope: what they forbid goes first."""
    found = find_candidates(Message(Role.USER, (Text(quote, trust=Trust.USER),)))
    if not found:
        return {"scope": scope_of(quote, tokens(quote), ())}
    first = next((one for one in found if one.kind is Kind.PROHIBITION), found[0])
    return {"kind": first.kind, "scope": first.scope, "strength": first.strength}


def _spoken(reading: Reading) -> Iterator[tuple[Message, Cite]]:
    """Yield what may hold rules, each with the place that spans are counted from."""
    message = reading.item.message
    if message.origin is not Origin.SPOKEN:
        return
    if message.role in SPEAKERS and any(
        isinstance(part, Text) and (may_state_rule(part.text) or go_ahead(part.text))
        for part in message.parts
    ):
        if all(len(part.text) <= WHOLE_SPEECH for part in message.parts if isinstance(part, Text)):
            yield message, Cite(reading.item.id)
        else:
            yield from _in_pieces(message, reading.item.id)
    for said in reading.said:
        if said.aside:
            yield Message(Role.USER, (Text(said.text, trust=said.trust),)), said.cite(0, 0)


def _in_pieces(message: Message, id_: str) -> Iterator[tuple[Message, Cite]]:
    """Yield what of a huge message may be speech, each piece as if it stood alone."""
    for index, part in enumerate(message.parts):
        if isinstance(part, Text):
            for start, text in speech(part.text):
                yield Message(message.role, (Text(text, trust=part.trust),)), Cite(id_, index, start)


def _constraint(pin: Pin) -> Constraint:
    span = Span(pin.source.part, pin.source.start, pin.source.end or 0) if pin.source else Span(0, 0, 0)
    found = Found(pin.quote, span, pin.kind, pin.scope, pin.strength, pin.trust, pin.confidence, pin.reasons)
    return Constraint(pin.id, found, pin.source.message if pin.source else "")


_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|\n")


def _pieces(text: str) -> Iterator[int]:
    """Yield the checksum of each sentence of a text."""
    for piece in _SENTENCE_END.split(text):
        if plain := _plain(piece).strip(" -*#>"):
            yield zlib.crc32(plain.encode("utf-8", "surrogatepass"))


_CLAUSE_END = re.compile(r"[,;:.!?)\]](?=\s)|[，；：。！？、）]|\n")


def _within(quote: str, most: int = LONGEST_RULE) -> str:
    """Return a rule, or of one that is longer than a rule may be, as many whole clauses as there is room for.

    Its source still names all of it. Text without clauses is cut at a word, or anywhere.
    """
    if len(quote) <= most:
        return quote
    ends = [found.end() for found in _CLAUSE_END.finditer(quote, 0, most)]
    words = quote.rfind(" ", 0, most)
    cut = next((end for end in (*ends[-1:], words) if end > most // 2), most)
    return quote[:cut].rstrip()


def _plain(quote: str) -> str:
    return " ".join(quote.casefold().split()).rstrip(".!")
