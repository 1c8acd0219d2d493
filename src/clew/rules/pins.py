"""Rules ("pins") of a session: found in messages or set by hand, from their start to their end.

``Pins.add`` takes each message, finds the rules that it states and ends, and keeps them as p1, p2, …; the
ledger asks ``Pins.active`` for those that every view must show. A rule is never deleted: a later message, a
person, a model's judgement or the end of its time ends it, and it records which. The system and developer
messages that open a session are the prompt: they are kept whole by every compaction, so their rules are not
pinned.
"""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clew.errors import NotFound
from clew.message import LONGEST_RULE, Cite, Message, Origin, Role, Text, Trust, words
from clew.message.text import lazy_pattern
from clew.rules.active import ActiveRules
from clew.rules.codec import copy_tracker
from clew.rules.find import find, find_candidates, rule_sentences
from clew.rules.findings import SPEAKERS, Ending, Findings, in_whole_message, overlapping, span_in
from clew.rules.go_ahead import go_ahead, is_provisional
from clew.rules.judgement import Judgement, MessageNamed
from clew.rules.prefilter import may_state_rule
from clew.rules.protected import is_protected
from clew.rules.retire import retire
from clew.rules.rule import (
    CALLED,
    CALLED_RULE,
    Force,
    How,
    Kind,
    Lasts,
    MadeBy,
    Rule,
    RuleRef,
    RuleStatus,
    Scope,
    Span,
    Verdict,
)
from clew.rules.speech import USER, Spoken, speech
from clew.rules.subject import scope_of
from clew.rules.words import tokens

MOST_REPEATED = 8
_EDITED = "edited by hand"
LONGEST_END = 160
"""Characters of the words that ended a rule, as quoted with it; chosen by hand."""
LONGEST_SEARCH = 240_000
"""Characters of a text that are searched for rules: a rule may be between two pasted logs. In a longer text,
the first two thirds of this and the last third. Chosen by hand: a search takes up to 1.4 s of CPU."""
_STATUS = {
    How.LIFTED: RuleStatus.LIFTED,
    How.SUPERSEDED: RuleStatus.SUPERSEDED,
    How.EXPIRED: RuleStatus.EXPIRED,
}
_SYSTEM = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(slots=True)
class Pins:
    """The rules, oldest first."""

    held: dict[str, Rule] = field(default_factory=dict)
    begun: bool = False
    """A message after the prompt was added."""
    prompt: dict[int, int] = field(default_factory=dict)
    """Checksums of the prompt's sentences: if the prompt is logged again, it pins nothing."""
    judged_upto: int = 0
    """The number of the last message whose sentences a model judged."""
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
    _by_part: dict[tuple[str, int], dict[Cite, str]] = field(init=False, default_factory=dict)
    """Ids of all rules by place, for each part of a message."""

    def __post_init__(self) -> None:
        for pin in self.held.values():
            self._put(pin)

    def _put(self, pin: Rule) -> None:
        """Store a new or changed rule and update the indexes."""
        old = self.held.get(pin.id)
        if old is not None and old.source and self._by_part.get(old.source[:2], {}).get(old.source) == pin.id:
            del self._by_part[old.source[:2]][old.source]
        if pin.source:
            self._by_part.setdefault(pin.source[:2], {})[pin.source] = pin.id
        self.held[pin.id] = pin
        named = self._by_ref.setdefault(pin.ref, [])
        if pin.id not in named:
            named.append(pin.id)
        words = _plain(pin.quote)
        if pin.made_by is MadeBy.FOUND and (pin.status is RuleStatus.REVOKED or pin.why == _EDITED):
            self._switched_off.add(words)
        if pin.is_active:
            self._rules.put(pin)
            self._by_words[words] = pin.id
            if pin.source and pin.scope.duration.lasts is Lasts.TURN and not _needs_words_to_end(pin):
                self._passing.append(pin.id)
        else:
            self._rules.drop(pin.id)
            if self._by_words.get(words) == pin.id:
                del self._by_words[words]

    @property
    def all(self) -> tuple[Rule, ...]:
        """Return every rule, including ended ones."""
        return tuple(self.held.values())

    @property
    def active(self) -> tuple[Rule, ...]:
        """Return the rules in force."""
        return tuple(self.held[id_] for id_ in self._rules)

    @property
    def changed_by_hand(self) -> tuple[Rule, ...]:
        """Return the rules in force that a person set, and the rules that a person revoked or edited."""
        return tuple(
            pin
            for pin in self.held.values()
            if (pin.is_active and pin.made_by is not MadeBy.FOUND)
            or pin.status is RuleStatus.REVOKED
            or pin.why == _EDITED
        )

    @property
    def waiting(self) -> tuple[Rule, ...]:
        """Return the imported rules that are not confirmed yet."""
        return tuple(pin for pin in self.held.values() if pin.status is RuleStatus.WAITING)

    def get(self, id_: str) -> Rule:
        """Return a rule by its id."""
        try:
            return self.held[id_]
        except KeyError:
            there = f"the ids of rules begin with {next(iter(self.held))}" if self.held else "none was found"
            raise NotFound(f"there is no rule {id_}", there) from None

    def worded(self, quote: str) -> Rule | None:
        """Return the rule in force with these words."""
        return self.held.get(self._by_words.get(_plain(quote), ""))

    def match(self, rule: RuleRef, hint: str = "") -> Rule | None:
        """Return the rule that a reference identifies; of several, the one with id ``hint``.

        If no rule has exactly this reference, the only one whose position overlaps.
        """
        named = self._by_ref.get(rule, [])
        if not named and rule.source:
            sources = self._by_part.get(rule.source[:2], {})
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
        findings: list[Rule | Ending] = []
        for message, source in _spoken_pieces(reading) if speaks else ():
            found = self._find(message, source)
            self._apply(reading.item.id, found)
            findings += found
        return tuple(findings)

    def look(self, readings: Sequence[Spoken]) -> list[Findings]:
        """Return what the finder finds in messages that are about to be added, without adding them."""
        pins, found = self, list[Findings]()
        for reading in readings:
            pieces = list(_spoken_pieces(reading)) if pins._may_state_rules(reading) else []
            if pins is self and len(readings) == 1 and not self._expires(reading) and len(pieces) <= 1:
                found.append(tuple(step for piece in pieces for step in self._find(*piece)))
                continue
            if pins is self and (pieces or not self.begun or self._expires(reading)):
                pins = copy_tracker(self)  # the rules of one message change what the next one ends
            found.append(() if pins is self else pins.add(reading))
        return found

    def _may_state_rules(self, reading: Spoken) -> bool:
        """Return whether a person speaks in a message; the prompt does not count."""
        role = reading.item.message.role
        if not self.begun and role in _SYSTEM:
            return False
        return bool(reading.said) or role in SPEAKERS

    def _expires(self, reading: Spoken) -> bool:
        return bool(self._passing) and any(utterance.speaker is USER for utterance in reading.said)

    def _pass(self, reading: Spoken) -> None:
        """End the rules that were for one answer, because the user speaks again."""
        spoken = next(utterance for utterance in reading.said if utterance.speaker is USER)
        place = spoken.cite(0, len(spoken.text))
        passing, self._passing = self._passing, []
        for pin in (self.held[id_] for id_ in passing):
            if pin.is_active:
                self._put(
                    replace(pin, status=RuleStatus.EXPIRED, ended_by=place, why="it was for one answer")
                )

    def _find(self, message: Message, source: Cite) -> Findings:
        """Return what a piece of a message ends and states, without applying it."""
        if not self._rules.provisional and not _may_bind(message):
            return ()
        endings = [
            Ending(
                self.held[end.rule].ref,
                end.how,
                span_in(end.span, source),
                f'"{_within(end.quote, LONGEST_END)}": {end.why}',
                trust=message.parts[end.span.part].trust,
                certain=end.certain,
            )
            for end in (retire(self._rules, message) if self._rules else ())
        ]
        ends = {one.at for one in endings}
        rules = (in_whole_message(one, source) for one in self._search(message))
        # "You may push now" ends a rule; it is not recorded as a permission as well.
        kept_rules = (one for one in rules if one.kind is not Kind.PERMISSION or one.span not in ends)
        by_system = message.role in _SYSTEM
        return (*endings, *(one for one in kept_rules if not (by_system and self._is_of_prompt(one.quote))))

    def _is_of_prompt(self, quote: str) -> bool:
        """Whether the prompt contains these words: it was sent or logged again."""
        return self.prompt.keys() >= set(_pieces(quote))

    def _search(self, message: Message) -> list[Rule]:
        """Return the standing rules in a message."""
        return find(message)

    def _apply(self, message: str, findings: Findings) -> None:
        """Apply findings; an end of a rule that is not in force, or has more trust, is ignored."""
        ended: dict[Span, list[str]] = {}
        for step in findings:
            if isinstance(step, Rule):
                self._add_found(step, Cite(message, *step.span), ended.get(step.span, ()))
                continue
            pin = self.match(step.rule)
            if pin is not None and pin.is_active and pin.trust <= step.trust:
                place = Cite(message, *step.at)
                if not step.certain:  # the rule stays in force until a person decides
                    self._put(replace(pin, ended_by=place, why=step.why, end_is_certain=False))
                    continue
                status = _STATUS[step.how]
                self._put(replace(pin, status=status, ended_by=place, why=step.why, end_is_certain=True))
                ended.setdefault(step.at, []).append(pin.id)

    def _add_found(self, rule: Rule, place: Cite, replaces: Iterable[str]) -> None:
        quote = _within(rule.quote)
        if _plain(quote) in self._switched_off:
            return
        same = self._by_words.get(_plain(quote))
        if same is not None:
            pin = self.held[same]
            pin = replace(pin, repeated=(*pin.repeated, place)[-MOST_REPEATED:])
            if pin.made_by is MadeBy.PERSON and rule.lead:
                pin = _as_read(pin, rule)
            self._put(pin)
        else:
            pin = self._new(replace(rule, quote=quote, source=place))
        for old in replaces:
            if old != pin.id:
                self._put(replace(self.held[old], replaced_by=pin.id))

    def _new(self, rule: Rule) -> Rule:
        """Store a rule under a new id."""
        rule = replace(rule, id=f"p{len(self.held) + 1}")
        self._put(rule)
        return rule

    # What a model judges ---------------------------------------------------------------------------------

    def judge(self, judgement: Judgement) -> None:
        """Apply what a model said about sentences of the user.

        A person's word always wins: what a person set is not judged, what a person switched off or edited is
        not added. The first judgement of a sentence counts. A rule about secrets, deletion, pushing or
        production holds whatever a model says, and only a person's words end a ban.
        """
        for ref, verdict in judgement.judged:
            pin = self.match(ref)
            if pin and pin.is_active and pin.made_by is MadeBy.FOUND and pin.verdict is None:
                self._put(_judged(pin, verdict, judgement.by))
        for rule in judgement.added:
            if rule.source and rule.source.number > self.judged_upto:
                self._add_judged(rule, judgement.by)
        for ref, by in judgement.ended:
            pin = self.match(ref)
            if pin and pin.is_active and pin.made_by is MadeBy.FOUND and _is_later(by, pin):
                self._put(_ended_by(pin, by, judgement.by))
        self.judged_upto = max(self.judged_upto, judgement.upto)

    def _add_judged(self, rule: Rule, model: str) -> None:
        """Add a sentence that a model calls a rule, unless a rule has its words or a person refused them."""
        words = _plain(_within(rule.quote))
        if rule.trust is not Trust.USER or words in self._switched_off or words in self._by_words:
            return
        if self.match(rule.ref) is None:
            found = replace(rule, quote=_within(rule.quote), force=Force.STANDING, because=CALLED_RULE)
            self._new(replace(found, verdict=Verdict.STANDING, judged_by=model))

    def judge_alike(self, others: Pins, message_named: MessageNamed) -> None:
        """Take over what was judged of the same rules elsewhere: with secrets masked, or before a restart.

        A rule that only a model found is added if its message still has the words. Of several rules with the
        same words the newest counts: what the user stated again after it ended is in force.
        """
        newest = {_plain(pin.quote): pin for pin in others.all}
        for pin in newest.values():
            if pin.verdict is None or pin.source is None:
                continue
            same, message = self.worded(pin.quote), message_named(pin.source.message)
            if same is not None:
                if pin.is_active or not _is_said_after(same, others.judged_upto):
                    self._put(_judged_alike(same, pin))
            elif pin.is_active and pin.because == CALLED_RULE and message is not None:
                start = words(message.parts[pin.source.part]).find(pin.quote)
                if start >= 0:
                    place = pin.source._replace(start=start, end=start + len(pin.quote))
                    self._new(replace(pin, source=place))
        self.judged_upto = others.judged_upto

    def is_refused(self, quote: str) -> bool:
        """Whether a person switched off or edited a rule with these words."""
        return _plain(quote) in self._switched_off

    # What a person does by hand --------------------------------------------------------------------------

    def pin(self, quote: str, kind: Kind | None = None, scope: Scope | None = None) -> Rule:
        """Set a rule by hand; if an active one has the same words, return that.

        Kind and scope are read from its words unless they are given.
        """
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        rule = _parse_rule(quote, made_by=MadeBy.PERSON)
        return self._new(replace(rule, kind=kind or rule.kind, scope=scope or rule.scope))

    def import_pin(self, quote: str) -> Rule:
        """Add a rule that was set by hand elsewhere; it waits for a confirmation."""
        same = self._by_words.get(_plain(quote))
        alike = [pin for pin in self.waiting if _plain(pin.quote) == _plain(quote)]
        if same or alike:
            return self.held[same] if same else alike[0]
        rule = _parse_rule(quote, made_by=MadeBy.IMPORTED)
        return self._new(replace(rule, status=RuleStatus.WAITING, why="imported, not confirmed"))

    def confirm(self, quotes: Container[str] | None = None) -> tuple[Rule, ...]:
        """Put imported rules into force: those with these words, or all."""
        wanted = [pin for pin in self.waiting if quotes is None or pin.quote in quotes]
        confirmed = tuple(replace(pin, status=RuleStatus.ACTIVE, why="") for pin in wanted)
        for pin in confirmed:
            self._put(pin)
        return confirmed

    def restore(self, quote: str, source: Cite, trust: Trust, lead: str = "") -> Rule:
        """Restore a rule that only a digest of an earlier part of the session quotes."""
        same = self._by_words.get(_plain(quote))
        if same:
            return self.held[same]
        # Kind and scope are parsed again, so that later words can lift it.
        rule = _parse_rule(f"{lead} {quote}" if lead else quote)
        return self._new(replace(rule, quote=quote, lead=lead, source=source, trust=trust))

    def edit(self, id_: str, quote: str) -> Rule:
        """Replace the words of a rule; the old rule is kept as superseded."""
        old = self.get(id_)
        new = self._new(_parse_rule(quote, made_by=MadeBy.PERSON))
        self._close(old, RuleStatus.SUPERSEDED, _EDITED, replaced_by=new.id)
        return new

    def revoke(self, id_: str, why: str = "revoked by hand") -> Rule:
        """Remove a rule by hand."""
        return self._close(self.get(id_), RuleStatus.REVOKED, why)

    def expire(self, id_: str, why: str) -> Rule:
        """End a rule whose time is over, as decided by the session."""
        return self._close(self.get(id_), RuleStatus.EXPIRED, why)

    def _close(self, pin: Rule, status: RuleStatus, why: str, replaced_by: str = "") -> Rule:
        closed = replace(pin, status=status, why=why, replaced_by=replaced_by)
        self._put(closed)
        return closed


def _needs_words_to_end(pin: Rule) -> bool:
    """Whether only words can end a rule: "don't push to main, let's see what CI says" is a ban on pushing."""
    return pin.kind is Kind.PROHIBITION and is_protected(pin)


def _judged(pin: Rule, verdict: Verdict, model: str) -> Rule:
    """Return a found rule with a model's verdict: out of force if it is no rule and protects nothing."""
    judged = replace(pin, verdict=verdict, judged_by=model)
    if verdict is Verdict.STANDING or is_protected(pin):
        return judged
    why = f"the summariser ({model}) calls it {CALLED[verdict]}"
    return replace(judged, status=RuleStatus.DISMISSED, why=why)


def _judged_alike(pin: Rule, other: Rule) -> Rule:
    """Return a rule with what was judged of another with the same words; its own end stays."""
    if pin.made_by is not MadeBy.FOUND:
        return pin
    judged = replace(pin, verdict=other.verdict, judged_by=other.judged_by)
    if pin.ended_by is not None and other.is_active:
        return judged
    end = replace(judged, status=other.status, why=other.why, ended_by=other.ended_by)
    return replace(end, end_is_certain=other.end_is_certain)


def _is_said_after(pin: Rule, number: int) -> bool:
    """Whether the user stated a rule, perhaps again, after a message."""
    return any(place.number > number for place in (pin.source, *pin.repeated) if place)


def _is_later(by: Cite, pin: Rule) -> bool:
    """Whether the user said these words after a rule, with enough trust to end it."""
    said_after = pin.source is not None and (by.number, by.part, by.start) > (
        pin.source.number,
        *pin.span[:2],
    )
    return said_after and pin.trust <= Trust.USER


def _ended_by(pin: Rule, by: Cite, model: str) -> Rule:
    """Return a rule that later words end by a model's word; a ban that is not provisional stays in force."""
    why = f"the summariser ({model}) says that these words end it"
    bans = pin.kind in (Kind.PROHIBITION, Kind.SCOPE) and not is_provisional(pin)
    if bans or is_protected(pin):
        return replace(pin, ended_by=by, why=why, end_is_certain=False)
    return replace(pin, status=RuleStatus.LIFTED, ended_by=by, why=why, end_is_certain=True)


def _as_read(pin: Rule, rule: Rule) -> Rule:
    """Return a rule set by hand as the finder reads it in context: "push" under "Please don't:"."""
    return replace(
        pin,
        kind=rule.kind,
        scope=rule.scope,
        strength=rule.strength,
        confidence=rule.confidence,
        reasons=rule.reasons,
        because=rule.because,
    )


def _parse_rule(quote: str, made_by: MadeBy = MadeBy.FOUND) -> Rule:
    """Return a rule whose kind, scope and strength are parsed from its words alone.

    If they state several rules, a prohibition among them takes precedence.
    """
    rules = find_candidates(Message(Role.USER, (Text(quote, trust=Trust.USER),)))
    if not rules:
        return Rule(quote, None, scope=scope_of(quote, tokens(quote), ()), made_by=made_by)
    first = next((rule for rule in rules if rule.kind is Kind.PROHIBITION), rules[0])
    return Rule(quote, None, first.kind, first.scope, first.strength, made_by=made_by)


def _spoken_pieces(reading: Spoken) -> Iterator[tuple[Message, Cite]]:
    """Yield the pieces of a message that may state rules, each with the position its spans count from."""
    message = reading.item.message
    if message.origin is not Origin.SPOKEN:
        return
    if message.role in SPEAKERS and any(
        isinstance(part, Text) and (may_state_rule(part.text) or go_ahead(part.text))
        for part in message.parts
    ):
        if all(len(part.text) <= LONGEST_SEARCH for part in message.parts if isinstance(part, Text)):
            yield message, Cite(reading.item.id)
        else:
            yield from _in_pieces(message, reading.item.id)
    for utterance in reading.said:
        if utterance.aside:
            yield Message(Role.USER, (Text(utterance.text, trust=utterance.trust),)), utterance.cite(0, 0)


def _may_bind(message: Message) -> bool:
    """Return False if no sentence of a message could state or end a rule; most messages have none."""
    for part in message.parts:  # ``any`` would create a generator for every message
        if isinstance(part, Text) and part.trust >= Trust.USER and rule_sentences(part.text, part.trust):
            return True
    return False


def _in_pieces(message: Message, id_: str) -> Iterator[tuple[Message, Cite]]:
    """Yield the pieces of a huge message that may be speech, as separate messages."""
    for index, part in enumerate(message.parts):
        if isinstance(part, Text):
            for start, text in speech(part.text, LONGEST_SEARCH):
                yield Message(message.role, (Text(text, trust=part.trust),)), Cite(id_, index, start)


_SENTENCE_END = lazy_pattern(r"[.!?。！？](?=\s|$)|\n")


def _pieces(text: str) -> Iterator[int]:
    """Yield the checksum of each sentence of a text."""
    for piece in _SENTENCE_END.split(text):
        if plain := _plain(piece).strip(" -*#>"):
            yield zlib.crc32(plain.encode("utf-8", "surrogatepass"))


_CLAUSE_END = lazy_pattern(r"[,;:.!?)\]](?=\s)|[，；：。！？、）]|\n")


def _within(quote: str, most: int = LONGEST_RULE) -> str:
    """Return a rule cut to at most ``most`` characters, at a clause if possible.

    Its source still covers all of it. Text without clauses is cut at a word, or anywhere.
    """
    if len(quote) <= most:
        return quote
    ends = [match.end() for match in _CLAUSE_END.finditer(quote, 0, most)]
    words = quote.rfind(" ", 0, most)
    cut = next((end for end in (*ends[-1:], words) if end > most // 2), most)
    return quote[:cut].rstrip()


def _plain(quote: str) -> str:
    return " ".join(quote.casefold().split()).rstrip(".!")
