"""Pins: standing rules, found in what people say or set by hand, from their beginning to their end.

A pin is never deleted. What ends one is a later message, a person, or the passing of the time it was meant
for, and the pin says which. The messages of the system and the developer that open a session are not
pinned: they are the prompt, and no compaction touches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from clew.errors import NotFound
from clew.ledger.constraints.active import ActiveRules
from clew.ledger.constraints.find import find
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
from clew.ledger.speech import USER, WHOLE_SPEECH, speech
from clew.message import Cite, Message, Origin, Role, Text, Trust


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


class MadeBy(StrEnum):
    """Where a pin comes from."""

    FOUND = "found"
    """Said in the session, and found there."""
    PERSON = "person"
    """Set by hand."""


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
    made_by: MadeBy = MadeBy.FOUND
    repeated: tuple[Cite, ...] = ()
    """Where the same words were said again, at most ``MOST_REPEATED`` of them."""
    status: PinStatus = PinStatus.ACTIVE
    ended_by: Cite | None = None
    """The words that ended it; None where a person did it by hand."""
    replaced_by: str = ""
    """The id of the pin that took its place."""
    why: str = ""
    """Why it ended, in one line."""
    certain: bool = True
    """False where the words that ended it named no rule and the most recent one was taken."""

    @property
    def is_active(self) -> bool:
        """Tell whether it holds."""
        return self.status is PinStatus.ACTIVE


MOST_REPEATED = 8
_SPEAKERS = frozenset((Role.USER, Role.DEVELOPER, Role.SYSTEM))


@dataclass(slots=True)
class Pins:
    """Keeps the pins, oldest first."""

    held: dict[str, Pin] = field(default_factory=dict)
    begun: bool = False
    """Something was said after the prompt."""
    _rules: ActiveRules = field(init=False, default_factory=ActiveRules)
    """The active pins as the finder of contradictions wants them."""
    _by_words: dict[str, str] = field(init=False, default_factory=dict)
    """The ids of the active pins by what they say."""
    _passing: list[str] = field(init=False, default_factory=list)
    """The ids of the active pins that are meant for the next answer only, perhaps of more."""

    def __post_init__(self) -> None:
        for pin in self.held.values():
            self._put(pin)

    def _put(self, pin: Pin) -> None:
        """Hold a pin, new or changed."""
        self.held[pin.id] = pin
        words = _plain(pin.quote)
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

    def get(self, id_: str) -> Pin:
        """Return a pin by its id."""
        try:
            return self.held[id_]
        except KeyError:
            there = (
                f"those there are have ids from {next(iter(self.held))} on" if self.held else "none was found"
            )
            raise NotFound(f"there is no rule {id_}", there) from None

    def add(self, reading: Reading) -> None:
        """Take in the rules that a message states, and those that it ends."""
        if not self.begun and reading.item.message.role in (Role.SYSTEM, Role.DEVELOPER):
            return
        self.begun = True
        if not reading.said and reading.item.message.role not in _SPEAKERS:
            return
        if self._passing and any(said.speaker is USER for said in reading.said):
            self._pass(reading)
        for message, source in _spoken(reading):
            ended = self._end(message, source)
            for found in find(message):
                place = _cite(found.span, source)
                # "You may push now" ends a rule; it need not be remembered as a permission besides.
                if found.kind is not Kind.PERMISSION or place not in ended:
                    self._found(found, place, ended.get(place, ()))

    def _pass(self, reading: Reading) -> None:
        """End what was meant for one answer: whoever said it speaks again."""
        spoken = next(said for said in reading.said if said.speaker is USER)
        place = spoken.cite(0, len(spoken.text))
        passing, self._passing = self._passing, []
        for pin in (self.held[id_] for id_ in passing):
            if pin.is_active:
                self._put(replace(pin, status=PinStatus.EXPIRED, ended_by=place, why="it was for one answer"))

    def _end(self, message: Message, source: Cite) -> dict[Cite, list[str]]:
        """End the rules that a message takes back or contradicts; return which, by the words that did."""
        ended: dict[Cite, list[str]] = {}
        for end in retire(self._rules, message) if self._rules else ():
            status = PinStatus.LIFTED if end.how is How.LIFTED else PinStatus.SUPERSEDED
            place = _cite(end.span, source)
            pin = self.held[end.constraint]
            self._put(replace(pin, status=status, ended_by=place, why=end.why, certain=end.certain))
            ended.setdefault(place, []).append(pin.id)
        return ended

    def _found(self, found: Found, place: Cite, replaces: Iterable[str]) -> None:
        same = self._by_words.get(_plain(found.quote))
        if same is not None:
            pin = self.held[same]
            # In its place a rule may say more than its words alone: "push" under "Please don't:".
            read = _read(found) if pin.made_by is MadeBy.PERSON and found.lead else {}
            pin = replace(pin, repeated=(*pin.repeated, place)[-MOST_REPEATED:], **read)
            self._put(pin)
        else:
            pin = self._new(found.quote, place, trust=found.trust, **_read(found))
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
        self._close(old, PinStatus.SUPERSEDED, "edited by hand", replaced_by=new.id)
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
    }


def _read_by_hand(quote: str) -> dict[str, Any]:
    """Return what the words of a rule say of its kind and scope: what they forbid goes first."""
    found = find(Message(Role.USER, (Text(quote, trust=Trust.USER),)))
    if not found:
        return {"scope": scope_of(quote, tokens(quote), ())}
    first = next((one for one in found if one.kind is Kind.PROHIBITION), found[0])
    return {"kind": first.kind, "scope": first.scope, "strength": first.strength}


def _spoken(reading: Reading) -> Iterator[tuple[Message, Cite]]:
    """Yield what may hold rules, each with the place that spans are counted from."""
    message = reading.item.message
    if message.origin is not Origin.SPOKEN:
        return
    if message.role in _SPEAKERS and any(
        isinstance(part, Text) and may_state_rule(part.text) for part in message.parts
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


def _cite(span: Span, source: Cite) -> Cite:
    """Return the place of a span; what stands beside a result is counted from where it begins there."""
    return Cite(source.message, source.part + span.part, source.start + span.start, source.start + span.end)


def _constraint(pin: Pin) -> Constraint:
    span = Span(pin.source.part, pin.source.start, pin.source.end or 0) if pin.source else Span(0, 0, 0)
    found = Found(pin.quote, span, pin.kind, pin.scope, pin.strength, pin.trust, pin.confidence, pin.reasons)
    return Constraint(pin.id, found, pin.source.message if pin.source else "")


def _plain(quote: str) -> str:
    return " ".join(quote.casefold().split()).rstrip(".!")
