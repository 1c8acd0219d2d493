"""Rules ("pins"): found in messages or set by hand, from their start to their end.

A rule is never deleted. A later message, a person, or the end of its time ends it, and it records which. The
system and developer messages that open a session are the prompt: they are kept whole by every compaction, so
their rules are not pinned.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from clew.errors import NotFound
from clew.message import LONGEST_RULE, Cite, Message, Origin, Role, Text, Trust
from clew.rules.active import ActiveRules
from clew.rules.codec import copied
from clew.rules.find import find, find_candidates
from clew.rules.findings import SPEAKERS, Ending, Findings, RuleRef, moved, overlapping, span_in
from clew.rules.force import LIKELY
from clew.rules.permission import go_ahead
from clew.rules.prefilter import may_state_rule
from clew.rules.retire import retire
from clew.rules.speech import USER, WHOLE_SPEECH, Spoken, speech
from clew.rules.subject import scope_of
from clew.rules.values import (
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
from clew.rules.words import tokens


class PinStatus(StrEnum):
    """Whether a rule is in force, and if not, why."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A newer rule replaced it; ``replaced_by`` has its id if that is a pin too."""
    LIFTED = "lifted"
    """Its speaker withdrew it."""
    REVOKED = "revoked"
    """A person removed it by hand."""
    EXPIRED = "expired"
    """Its time is over."""
    WAITING = "waiting"
    """Set by hand in an imported file; it is in force once a person here confirms it."""


class MadeBy(StrEnum):
    """Where a rule comes from."""

    FOUND = "found"
    """Found in a message of the session."""
    PERSON = "person"
    """Set by hand."""
    IMPORTED = "imported"
    """Set by hand elsewhere and imported with a file."""


ANYTHING = Scope()
"""The scope of a rule that names nothing."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A rule and its state."""

    id: str
    quote: str
    """Verbatim."""
    source: Cite | None
    """Its position; None for one that was set by hand."""
    kind: Kind = Kind.REQUIREMENT
    scope: Scope = ANYTHING
    strength: Strength = Strength.MUST
    trust: Trust = Trust.USER
    confidence: float = 1.0
    reasons: tuple[Reason, ...] = ()
    """The cues in its words that made it a rule, heaviest first."""
    because: str = ""
    """Why it is a standing rule, in one line; empty if it was set by hand."""
    made_by: MadeBy = MadeBy.FOUND
    repeated: tuple[Cite, ...] = ()
    """Where the same words were repeated, at most ``MOST_REPEATED`` places."""
    status: PinStatus = PinStatus.ACTIVE
    ended_by: Cite | None = None
    """The words that ended it, or may have (``certain``); None if a person did it by hand."""
    replaced_by: str = ""
    """The id of the rule that replaced it."""
    why: str = ""
    """Why it ended, in one line."""
    certain: bool = True
    """False if ``ended_by`` may not have ended it: it stays in force, and a person should decide."""

    @property
    def is_active(self) -> bool:
        """Whether it is in force."""
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
        """Return how certain it is that this is a rule: "certain", "clear" or "likely"."""
        if self.made_by is not MadeBy.FOUND:
            return "certain"
        return "likely" if self.because in LIKELY or self.confidence < LEAST_CLEAR else "clear"

    @property
    def ref(self) -> RuleRef:
        """Return the reference by which the log identifies it."""
        return RuleRef(self.quote, self.source)


MOST_REPEATED = 8
_EDITED = "edited by hand"
LEAST_CLEAR = 0.9
"""Confidence of the finder below which a rule is only likely; chosen by hand."""
LONGEST_END = 160
"""Characters of the words that ended a rule, as quoted with it; chosen by hand."""
_STATUS = {
    How.LIFTED: PinStatus.LIFTED,
    How.SUPERSEDED: PinStatus.SUPERSEDED,
    How.EXPIRED: PinStatus.EXPIRED,
}
_SYSTEM = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(slots=True)
class Pins:
    """The rules, oldest first."""

    held: dict[str, Pin] = field(default_factory=dict)
    begun: bool = False
    """A message after the prompt was added."""
    prompt: dict[int, int] = field(default_factory=dict)
    """Checksums of the prompt's sentences: if the prompt is logged again, it pins nothing."""
    _rules: ActiveRules = field(init=False, default_factory=ActiveRules)
    """The active rules, indexed for ``retire``."""
    _switched_off: set[str] = field(init=False, default_factory=set)
    """Words that a person revoked or edited: the finder does not pin them again."""
    _by_words: dict[str, str] = field(init=False, default_factory=dict)
    """Ids of the active rules by normalised words."""
    _passing: list[str] = field(init=False, default_factory=list)
    """Ids of the active rules that hold for one answer only; may include ended ones."""
    _by_ref: dict[RuleRef, list[str]] = field(init=False, default_factory=dict)
    """Ids of all rules by reference."""

    def __post_init__(self) -> None:
        for pin in self.held.values():
            self._put(pin)

    def _put(self, pin: Pin) -> None:
        """Store a new or changed rule and update the indexes."""
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
        """Return every rule, including ended ones."""
        return tuple(self.held.values())

    @property
    def active(self) -> tuple[Pin, ...]:
        """Return the rules in force."""
        return tuple(self.held[id_] for id_ in self._rules)

    @property
    def waiting(self) -> tuple[Pin, ...]:
        """Return the imported rules that are not confirmed yet."""
        return tuple(pin for pin in self.held.values() if pin.status is PinStatus.WAITING)

    def get(self, id_: str) -> Pin:
        """Return a rule by its id."""
        try:
            return self.held[id_]
        except KeyError:
            there = f"the ids of rules begin with {next(iter(self.held))}" if self.held else "none was found"
            raise NotFound(f"there is no rule {id_}", there) from None

    def match(self, rule: RuleRef, hint: str = "") -> Pin | None:
        """Return the rule that a reference identifies; of several, the one with id ``hint``.

        If no rule has exactly this reference, the only one whose position overlaps.
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

    def add(self, reading: Spoken, recorded: Findings | None = None) -> Findings:
        """Apply the rules that a message states and ends; return them.

        If ``recorded`` findings are given, they are applied instead of running the finder.
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

    def look(self, readings: Sequence[Spoken]) -> list[Findings]:
        """Return what the finder finds in messages that are about to be added, without adding them."""
        pins, found = self, list[Findings]()
        for reading in readings:
            pieces = list(_spoken(reading)) if pins._may_state_rules(reading) else []
            if pins is self and len(readings) == 1 and not self._expires(reading) and len(pieces) <= 1:
                found.append(tuple(step for piece in pieces for step in self._find(*piece)))
                continue
            if pins is self and (pieces or not self.begun or self._expires(reading)):
                pins = copied(self)  # the rules of one message change what the next one ends
            found.append(() if pins is self else pins.add(reading))
        return found

    def _may_state_rules(self, reading: Spoken) -> bool:
        """Return whether a person speaks in a message; the prompt does not count."""
        role = reading.item.message.role
        if not self.begun and role in _SYSTEM:
            return False
        return bool(reading.said) or role in SPEAKERS

    def _expires(self, reading: Spoken) -> bool:
        return bool(self._passing) and any(said.speaker is USER for said in reading.said)

    def _pass(self, reading: Spoken) -> None:
        """End the rules that were for one answer, because the user speaks again."""
        spoken = next(said for said in reading.said if said.speaker is USER)
        place = spoken.cite(0, len(spoken.text))
        passing, self._passing = self._passing, []
        for pin in (self.held[id_] for id_ in passing):
            if pin.is_active:
                self._put(replace(pin, status=PinStatus.EXPIRED, ended_by=place, why="it was for one answer"))

    def _find(self, message: Message, source: Cite) -> Findings:
        """Return what a piece of a message ends and states, without applying it."""
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
        # "You may push now" ends a rule; it is not recorded as a permission as well.
        kept = (one for one in found if one.kind is not Kind.PERMISSION or one.span not in ends)
        by_system = message.role in _SYSTEM
        return (*ended, *(one for one in kept if not (by_system and self._is_of_prompt(one.quote))))

    def _is_of_prompt(self, quote: str) -> bool:
        """Whether the prompt contains these words: it was sent or logged again."""
        return self.prompt.keys() >= set(_pieces(quote))

    def _search(self, message: Message) -> list[Found]:
        """Return the standing rules in a message."""
        return find(message)

    def _apply(self, message: str, findings: Findings) -> None:
        """Apply findings; the end of a rule that is not in force is ignored."""
        ended: dict[Span, list[str]] = {}
        for step in findings:
            if isinstance(step, Found):
                self._found(step, Cite(message, *step.span), ended.get(step.span, ()))
                continue
            pin = self.match(step.rule)
            if pin is not None and pin.is_active:
                place = Cite(message, *step.at)
                if not step.certain:  # the rule stays in force until a person decides
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
            # In context a rule may say more than its words alone: "push" under "Please don't:".
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
        """Set a rule by hand; if an active one has the same words, return that.

        Kind and scope are read from its words unless they are given.
        """
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        given = {name: value for name, value in (("kind", kind), ("scope", scope)) if value is not None}
        return self._new(quote, None, made_by=MadeBy.PERSON, **{**_read_by_hand(quote), **given})

    def import_pin(self, quote: str) -> Pin:
        """Add a rule that was set by hand elsewhere; it waits for a confirmation."""
        same = self._by_words.get(_plain(quote))
        alike = [pin for pin in self.waiting if _plain(pin.quote) == _plain(quote)]
        if same or alike:
            return self.held[same] if same else alike[0]
        made = {"made_by": MadeBy.IMPORTED, "status": PinStatus.WAITING, "why": "imported, not confirmed"}
        return self._new(quote, None, **{**_read_by_hand(quote), **made})

    def confirm(self) -> tuple[Pin, ...]:
        """Put the imported rules into force."""
        confirmed = tuple(replace(pin, status=PinStatus.ACTIVE, why="") for pin in self.waiting)
        for pin in confirmed:
            self._put(pin)
        return confirmed

    def restore(self, quote: str, source: Cite, trust: Trust) -> Pin:
        """Restore a rule that only a digest of an earlier part of the session quotes."""
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        # Kind and scope are parsed again, so that later words can lift it.
        return self._new(quote, source, trust=trust, **_read_by_hand(quote))

    def edit(self, id_: str, quote: str) -> Pin:
        """Replace the words of a rule; the old rule is kept as superseded."""
        old = self.get(id_)
        new = self._new(quote, None, made_by=MadeBy.PERSON, **_read_by_hand(quote))
        self._close(old, PinStatus.SUPERSEDED, _EDITED, replaced_by=new.id)
        return new

    def revoke(self, id_: str, why: str = "revoked by hand") -> Pin:
        """Remove a rule by hand."""
        return self._close(self.get(id_), PinStatus.REVOKED, why)

    def expire(self, id_: str, why: str) -> Pin:
        """End a rule whose time is over, as decided by the session."""
        return self._close(self.get(id_), PinStatus.EXPIRED, why)

    def _close(self, pin: Pin, status: PinStatus, why: str, replaced_by: str = "") -> Pin:
        closed = replace(pin, status=status, why=why, replaced_by=replaced_by)
        self._put(closed)
        return closed


def _read(found: Found) -> dict[str, Any]:
    """Return the fields of a pin that come from the finder."""
    return {
        "kind": found.kind,
        "scope": found.scope,
        "strength": found.strength,
        "confidence": found.confidence,
        "reasons": found.reasons,
        "because": found.force_reason,
    }


def _read_by_hand(quote: str) -> dict[str, Any]:
    """Parse kind, scope and strength of a rule; a prohibition among its clauses takes precedence."""
    found = find_candidates(Message(Role.USER, (Text(quote, trust=Trust.USER),)))
    if not found:
        return {"scope": scope_of(quote, tokens(quote), ())}
    first = next((one for one in found if one.kind is Kind.PROHIBITION), found[0])
    return {"kind": first.kind, "scope": first.scope, "strength": first.strength}


def _spoken(reading: Spoken) -> Iterator[tuple[Message, Cite]]:
    """Yield the pieces of a message that may state rules, each with the position its spans count from."""
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
    """Yield the pieces of a huge message that may be speech, as separate messages."""
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
    """Return a rule cut to at most ``most`` characters, at a clause if possible.

    Its source still covers all of it. Text without clauses is cut at a word, or anywhere.
    """
    if len(quote) <= most:
        return quote
    ends = [found.end() for found in _CLAUSE_END.finditer(quote, 0, most)]
    words = quote.rfind(" ", 0, most)
    cut = next((end for end in (*ends[-1:], words) if end > most // 2), most)
    return quote[:cut].rstrip()


def _plain(quote: str) -> str:
    return " ".join(quote.casefold().split()).rstrip(".!")
