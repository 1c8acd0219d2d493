"""A plan before its judges: what it would do, and whatever several checks look up, looked up once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from clew.ledger.speech import Said, said
from clew.message import Cite, Item, Json, Message, Part, ToolCall, ToolResult, Trust, lowest, words
from clew.plan import Claim, ClaimKind, Condense, Digest, Drop, Plan, Shrink
from clew.plan.apply import apply
from clew.plan.render import Shown, parse_digest
from clew.verify.evidence import Evidence, LedgerEntry
from clew.verify.once import once
from clew.verify.quotes import Wording, is_quote

Gist: TypeAlias = tuple[ClaimKind, str, tuple[Cite, ...]]
CUT = "…"
"""How a claim ends that tells only how something begins."""
LEAST_OF_A_LOOP = 40
"""Characters of its beginning by which something is known that there was no room for."""
_MAY_BE_CUT = (ClaimKind.GOAL, ClaimKind.OPEN)


class Source:
    """What a part of a message says."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.text = words(part)
        """What citations count their characters in."""

    @once
    def wording(self) -> Wording:
        """All of it; of a call also its arguments as the model meant them, without JSON's escapes."""
        given = self.part.input if isinstance(self.part, ToolCall) else None
        return Wording("\n".join([self.text, *_texts(given)]) if given else self.text)

    def at(self, cite: Cite) -> Wording:
        """Return the words at a place."""
        if cite.start == 0 and cite.end is None:
            return self.wording
        said = self.text[cite.start : cite.end]
        return Wording(f"{said}\n{_unescaped(said)}" if isinstance(self.part, ToolCall) else said)


class Spoken(NamedTuple):
    """What the user or the model says."""

    said: Said
    wording: Wording


class Look:
    """A claim, and what the places that it cites really say."""

    def __init__(self, claim: Claim, case: Case) -> None:
        self.claim = claim
        self.gist = gist(claim)
        self.vouched = case.is_vouched(self.gist)
        """It is the ledger's, or that of a digest which was accepted before: it needs no proof."""
        self.sources: list[Source] = []
        """The parts that it cites."""
        self.missing: list[Cite] = []
        """Places that do not exist."""
        self._cited: list[Cite] = []
        labels = []
        for cite in claim.sources:
            source = case.source(cite)
            if source is None:
                self.missing.append(cite)
                continue
            self.sources.append(source)
            self._cited.append(cite)
            labels.append(case.label(cite, source))
        self.lowest = lowest(labels)
        self.exact = self._is_exact()
        """Whether the claim is all that stands at the first place that it cites, to the letter."""
        # Set here, if to nothing: an attribute that thousands of objects get later costs each of them a dict.
        self._quoted: bool | None = None
        self._said: list[Wording] | None = None

    def _is_exact(self) -> bool:
        if not self.sources or self._cited[0] is not self.claim.sources[0]:
            return False
        _, _, start, end = self._cited[0]
        return self.claim.text == self.sources[0].text[start:end]

    @property
    def said(self) -> list[Wording]:
        """The very places that it cites."""
        if self._said is None:
            self._said = [source.at(cite) for source, cite in zip(self.sources, self._cited, strict=True)]
        return self._said

    @property
    def ceiling(self) -> Trust:
        """The highest label that the claim may have: in a summariser's own words, that of a model."""
        proven = self.vouched or self.quoted
        return self.lowest if proven else min(self.lowest, Trust.ASSISTANT)

    @property
    def turns(self) -> str:
        """The messages that it cites, for people."""
        return ", ".join(dict.fromkeys(cite.message for cite in self.claim.sources))

    @property
    def quoted(self) -> bool:
        """Whether the claim is a quote of what it cites."""
        if self._quoted is None:
            self._quoted = self._is_quoted()
        return self._quoted

    def _is_quoted(self) -> bool:
        text = self.claim.text.strip()
        if self.exact:  # so are most, and need not be looked for
            return bool(text)
        if any(text == place.text.strip() for place in self.said):
            return bool(text)
        if any(is_quote(text, place) for place in self.said):
            return True
        # Models are shown a message as one text, so a quote may go from one part on to the next.
        whole = "\n".join(place.text for place in self.said)
        return len(self.said) > 1 and is_quote(text, Wording(whole))


class Case:
    """A plan with its evidence."""

    def __init__(self, plan: Plan, evidence: Evidence) -> None:
        """Work out the view after; a plan for another view is a ``StalePlan``."""
        self.plan = plan
        self.evidence = evidence
        self.after = apply(plan, evidence.view)
        self.before = {item.id: item.message for item in evidence.view}
        self._sources: dict[tuple[str, int], Source] = {}
        self._speech: dict[str, list[Spoken]] = {}

    # What the plan does ----------------------------------------------------------------------------------

    @once
    def condenses(self) -> tuple[Condense, ...]:
        """Return its digests, with what they stand for."""
        return tuple(op for op in self.plan.operations if isinstance(op, Condense))

    @once
    def shrinks(self) -> dict[str, Shrink]:
        """Return what it shows smaller, by id."""
        return {op.id: op for op in self.plan.operations if isinstance(op, Shrink)}

    @once
    def removed(self) -> frozenset[str]:
        """Return the ids of what it condenses or drops."""
        return frozenset().union(*(op.ids for op in self.plan.operations if isinstance(op, Condense | Drop)))

    @once
    def standing(self) -> tuple[Digest, ...]:
        """Return the digests in the view after: those that stay, then the new ones."""
        staying = (digest for name, digest in self.evidence.shown.items() if self.is_shown(name))
        return (*staying, *self.plan.digests)

    @once
    def rendered(self) -> dict[str, str]:
        """Return what the digests in the view after read like, by their ids."""
        names = {name: digest.id for name, digest in self.evidence.shown.items() if self.is_shown(name)}
        names.update((digest.id, digest.id) for digest in self.plan.digests)
        return {digest: self.after_by_id[name].text for name, digest in names.items()}

    @once
    def after_by_id(self) -> dict[str, Message]:
        """Return the messages of the view after; that of a digest has the digest's id."""
        return dict(self.after)

    @once
    def read_back(self) -> dict[str, Shown | None]:
        """Return what can be read from them: what is shown counts, not what was meant."""
        return {name: parse_digest(text) for name, text in self.rendered.items()}

    @once
    def cited(self) -> frozenset[str]:
        """Return the messages that the lines of the digests in the view after lead to."""
        claims = (cite.message for one in self.standing for claim in one.claims for cite in claim.sources)
        return frozenset(claims).union(pin.source.message for one in self.standing for pin in one.pins)

    @once
    def covered(self) -> frozenset[str]:
        """Return the ids of the messages that the digests in the view after stand for."""
        return frozenset(name for digest in self.standing for name in digest.covers)

    @once
    def folded(self) -> frozenset[str]:
        """Return the ids of the digests that went into those in the view after."""
        return frozenset(name for digest in self.standing for name in digest.folds)

    def is_shown(self, name: str) -> bool:
        """Tell whether a message of the view before stays in it, whole or smaller."""
        return name in self.before and name not in self.removed

    def shown_message(self, name: str) -> Message | None:
        """Return a message of the view before as it would be shown; None where it would not."""
        if not self.is_shown(name):
            return None
        shrink = self.shrinks.get(name)
        return shrink.message if shrink else self.before[name]

    # How large things are --------------------------------------------------------------------------------

    @once
    def sizes(self) -> dict[str, int]:
        """Return the tokens of the messages of the view before, by id."""
        count, known = self.evidence.counter.count, self.evidence.sizes
        return {
            name: known[name] if name in known else count(message) for name, message in self.before.items()
        }

    @once
    def tokens_before(self) -> int:
        """Return the tokens of the view before."""
        return sum(self.sizes.values())

    @once
    def tokens_after(self) -> int:
        """Return the tokens of the view after."""
        return sum(self.sizes_after.values())

    @once
    def sizes_after(self) -> dict[str, int]:
        """Return the tokens of the messages of the view after, by id."""
        count, before, sizes = self.evidence.counter.count, self.before, self.sizes
        return {
            name: sizes[name] if before.get(name) is message else count(message)
            for name, message in self.after
        }

    # What it cites ---------------------------------------------------------------------------------------

    def message(self, name: str) -> Message | None:
        """Return a message of the session as it was; None where there is none of this id."""
        find = self.evidence.originals
        found = find(name) if find else None
        return found if found is not None else self.before.get(name)

    def has_words(self, name: str) -> bool:
        """Tell whether a message of the session says anything: of images alone nothing can be told."""
        message = self.message(name)
        return message is not None and any(words(part).strip() for part in message.parts)

    def source(self, cite: Cite) -> Source | None:
        """Return the part that a place is in; None where there is no such place."""
        key = (cite.message, cite.part)
        source = self._sources.get(key)
        if source is None:
            message = self.message(cite.message)
            if message is None or not 0 <= cite.part < len(message.parts):
                return None
            source = self._sources[key] = Source(message.parts[cite.part])
        end = len(source.text) if cite.end is None else cite.end
        return source if 0 <= cite.start <= end <= len(source.text) else None

    def label(self, cite: Cite, source: Source) -> Trust:
        """Return how far what stands at a place may be believed."""
        if isinstance(source.part, ToolResult) and len(source.part.parts) > 1:
            for speech, _ in self.speech(cite.message):  # a person's words beside a result
                if speech.part == cite.part and _is_within(cite, speech):
                    return speech.trust
        return source.part.trust

    def speech(self, name: str) -> list[Spoken]:
        """Return what the user and the model say in a message."""
        if name not in self._speech:
            message = self.message(name)
            found = said(Item(name, message)) if message else []
            self._speech[name] = [Spoken(one, Wording(one.text)) for one in found]
        return self._speech[name]

    @once
    def looks(self) -> dict[str, list[Look]]:
        """Return every claim that the plan would add, looked up, by the digest's id."""
        return {digest.id: [Look(claim, self) for claim in digest.claims] for digest in self.plan.digests}

    def every_look(self) -> Iterator[Look]:
        """Yield every claim that the plan would add."""
        for looks in self.looks.values():
            yield from looks

    # What needs no proof ---------------------------------------------------------------------------------

    def is_vouched(self, said: Gist) -> bool:
        """Tell whether a claim is the ledger's, or that of a digest which was accepted before.

        The goal and what is open may be told by how they begin, where there is no room for more.
        """
        if said[1] in self._vouched_texts and said in self._vouched:
            return True
        return said[0] in _MAY_BE_CUT and self._begins_vouched(said)

    def _begins_vouched(self, said: Gist) -> bool:
        kind, text, sources = said
        if not text.endswith(CUT) or len(text) < LEAST_OF_A_LOOP:
            return False
        start = text.removesuffix(CUT)
        return any(
            known.startswith(start)
            for one, known, places in self._vouched
            if (one, places) == (kind, sources)
        )

    @once
    def _vouched_texts(self) -> frozenset[str]:
        """What they say: the hash of a text is known already, that of a gist must be worked out."""
        return frozenset(text for _, text, _ in self._vouched)

    @once
    def _vouched(self) -> frozenset[Gist]:
        evidence = self.evidence
        earlier = (claim for digest in evidence.shown.values() for claim in digest.claims)
        loops = map(open_claim, evidence.loops)
        return frozenset(map(gist, (*evidence.ledger_claims, *earlier, *loops)))


def open_claim(loop: LedgerEntry) -> Claim:
    """Return what a digest says of an open loop when nobody else has said it."""
    return Claim("", ClaimKind.OPEN, loop.text, (loop.source,), Trust.UNTRUSTED)


def gist(claim: Claim) -> Gist:
    """Return what a claim says and from where; its name and its label are judged apart."""
    return claim.kind, claim.text, claim.sources


def _is_within(cite: Cite, speech: Said) -> bool:
    return cite.end is not None and speech.start <= cite.start and cite.end <= speech.start + len(speech.text)


def _unescaped(said: str) -> str:
    """Return a piece of JSON text as it was meant; nothing where it is no piece of one string."""
    try:
        return str(json.loads(f'"{said}"'))
    except ValueError:
        return ""


def _texts(value: Json) -> Iterable[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)
    elif value is not None:
        yield json.dumps(value)
