"""Resolve references to messages, digests, digest lines, archive digests and documents.

``m12`` is a message, ``m12@fix-login`` one of another session, ``d3`` a digest, ``d3.4`` a line of it, ``a1``
a digest of the archive, ``docs/ops.md#Restart:12-30`` a part of a document. Each level leads to the next: an
archive digest lists digests, a digest lists messages.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Protocol

from clew.compaction.plan import Claim, Digest
from clew.errors import NotFound, StoreDamaged
from clew.log import MESSAGE
from clew.log.fold import TIER
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.log.transfer import OWN, ImportedEvents, imported_events
from clew.memory.index import Entry, Filters, Index, Mark, Wanted
from clew.memory.indexing import said_at, text_of
from clew.memory.tier_moves import NOTHING_LEFT, tiers_of
from clew.memory.tiers import EvictedSpan, TierMove, Tiers, line_of, move_from_json, own_digests
from clew.message import Trust

MOST_PIECES = 1_000
"""Pieces of one document."""
_REF = re.compile(r"(?P<name>(?P<sort>[mda])[1-9]\d{0,17})(?P<line>\.\d{1,9})?(?:@(?P<session>.+))?")
ADVICE = "look for it with recall_search"


class Numbered(Protocol):
    """Knows the number of messages at a position of a session's log; ``clew.Session`` implements it."""

    def number(self, seq: int) -> int:
        """Return how many messages there were at a position of the log."""


class MessagePlace(NamedTuple):
    """The position of a message: the session, and its number in it, counted from 1."""

    session: str
    number: int


class Quotation(NamedTuple):
    """Original text with its reference, time, role and trust."""

    ref: str
    time: str
    role: str
    trust: Trust
    text: str
    about: str = ""
    """Of a line of a digest its kind and its sources; of an archive digest the time it begins at."""
    start: int = 0
    """Where the text begins in what ``ref`` names, in characters."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a reference points to."""

    ref: str
    what: str
    """``message``, ``digest``, ``line``, ``archive`` or ``document``."""
    quotations: tuple[Quotation, ...]
    """Its text, and for a message its neighbours; for a digest one quotation for each line."""
    holds: tuple[str, ...] = ()
    """References to open next: the digests of an archive digest, the messages of a digest or a line."""


@dataclass(slots=True)
class Resolver:
    """Resolves references in the logs of a workspace, seen from one of its sessions."""

    store: Store
    ctx: Ctx
    index: Index | None = None
    numbered: Numbered | None = None
    """Knows the numbers of this session's messages; without it and without an index the log is read."""
    _tiers: dict[str, Tiers] = field(default_factory=dict)
    _by_other_tool: dict[str, bool] = field(default_factory=dict)
    """By session, whether another tool wrote it."""

    def at(self, session: str) -> Ctx:
        """Return the context of a session of this workspace."""
        return Ctx(workspace=self.ctx.workspace, session=session)

    def ref(self, session: str, name: str) -> str:
        """Return the full reference of a name, as ``open`` takes it."""
        return name if session == self.ctx.session else f"{name}@{session}"

    def tiers(self, session: str) -> Tiers:
        """Return which tier each memory of a session is in; updated incrementally."""
        known_tiers = self._tiers.get(session, NOTHING_LEFT)
        self._tiers[session] = tiers_of(self.store, self.at(session), known_tiers)
        return self._tiers[session]

    def effective_trust(
        self,
        session: str,
        trust: Trust,
        seq: int | None = None,
        imports: dict[str, ImportedEvents] | None = None,
    ) -> Trust:
        """Return the trust of text from a session: at most semi-trusted if it was imported.

        An imported export is data wherever it is read. Sessions written by another tool of the same person
        keep their trust in their own session, and when a person searches from outside any session. Without
        ``seq``, any imported event in the session counts. ``imports`` caches what was imported, by session,
        for the duration of one search.
        """
        if trust <= Trust.SEMI_TRUSTED:
            return trust
        at_home = session == self.ctx.session or self.ctx.session.startswith(OWN)
        if not at_home and self._is_by_other_tool(session):
            return Trust.SEMI_TRUSTED
        known = {} if imports is None else imports
        if session not in known:
            known[session] = imported_events(self.store, self.at(session))
        imported = known[session]
        return Trust.SEMI_TRUSTED if (seq in imported if seq else imported.spans) else trust

    def _is_by_other_tool(self, session: str) -> bool:
        if session not in self._by_other_tool:
            first = next(self.store.read(self.at(session), kinds=[MESSAGE.name]), None)
            if first is None:
                return False
            self._by_other_tool[session] = "source" in first.event.body
        return self._by_other_tool[session]

    # Messages --------------------------------------------------------------------------------------------

    def place(self, ref: str) -> MessagePlace | None:
        """Return the position of ``m12`` or ``m12@another-session``; None for any other reference."""
        match = _REF.fullmatch(ref.strip())
        if match is None or match["sort"] != "m" or match["line"]:
            return None
        return MessagePlace(match["session"] or self.ctx.session, int(match["name"][1:]))

    def message(self, place: MessagePlace) -> Quotation:
        """Return a whole message."""
        (quotation,) = self.around(place, 0)
        return quotation

    def whole_text(self, entry: Entry) -> str:
        """Return the text of the message that an index entry is a piece of; cheaper than ``message``."""
        (message,) = MESSAGE.messages(MESSAGE.current(self._event(entry.session, entry.seq)).event.body)
        return text_of(message)

    def around(self, place: MessagePlace, neighbours: int) -> list[Quotation]:
        """Return a message with its neighbours on both sides, in order."""
        if self.seq(place) is None:
            raise NotFound(f"there is no message {self.ref(place.session, f'm{place.number}')}", ADVICE)
        near = range(max(1, place.number - neighbours), place.number + neighbours + 1)
        places = (place._replace(number=number) for number in near)
        return [self._quotation(place, seq) for place in places if (seq := self.seq(place))]

    def _quotation(self, place: MessagePlace, seq: int) -> Quotation:
        stored = self._event(place.session, seq)
        (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
        ref = self.ref(place.session, f"m{place.number}")
        trust = self.effective_trust(place.session, message.trust, seq)
        return Quotation(ref, said_at(stored), message.role, trust, text_of(message))

    def _event(self, session: str, seq: int) -> StoredEvent:
        stored = next(self.store.read(self.at(session), seq - 1, seq), None)
        if stored is None:
            raise StoreDamaged(f"event {seq} of {session!r} is gone")
        return stored

    def seq(self, place: MessagePlace) -> int | None:
        """Return the event number of a message; None if it does not exist."""
        mark = Mark()
        if self.index is not None:
            _, mark = self.index.stats(self.ctx.workspace, (), place.session)
            if place.number <= mark.messages:
                entries = self._rows(place.session, f"m{place.number}", most=1)
                return entries[0].seq if entries else None
        elif self.numbered is not None and place.session == self.ctx.session:
            head = self.store.head(self.ctx).seq
            seq = bisect_left(range(head + 1), place.number, key=self.numbered.number)
            return seq if seq <= head else None
        events = self.store.read(self.at(place.session), mark.seq, kinds=[MESSAGE.name])
        stored = next(islice(events, place.number - mark.messages - 1, None), None)
        return stored.seq if stored else None

    def _rows(self, session: str, name: str, most: int = MOST_PIECES) -> list[Entry]:
        """Return the index entries with a name, in order."""
        if self.index is None:
            return []
        called, where = Wanted(refs=(name,)), Filters(sessions=(session,))
        keys = self.index.find(self.ctx.workspace, called, where, most)
        rows = self.index.rows(self.ctx.workspace, keys)
        return [row.entry for row in sorted(rows, key=lambda row: row.entry.start)]

    # Other references ------------------------------------------------------------------------------------

    def open(self, ref: str, neighbours: int = 1) -> Resolved:
        """Return what a reference points to; raise ``NotFound`` if it does not exist."""
        place = self.place(ref)
        if place:
            return Resolved(ref, "message", tuple(self.around(place, neighbours)))
        match = _REF.fullmatch(ref.strip())
        if match is None:
            return self._document(ref)
        session, name = match["session"] or self.ctx.session, match["name"]
        if match["sort"] == "m":  # only a message with a line gets here
            raise NotFound(f"a message has no lines, and {ref} names one", f"open {self.ref(session, name)}")
        if match["sort"] == "a":
            archive = self._archive(ref, session, name)
            return self._archive_line(archive, session, name + match["line"]) if match["line"] else archive
        span = self.tiers(session).spans.get(name)
        if span is None:
            raise NotFound(f"there is no digest {ref}, or it was undone", ADVICE)
        if match["line"]:
            return self._line(
                ref, session, line_of(self._event(session, span.seq), name + match["line"]), span
            )
        return self._digest(ref, session, span)

    def own_digest(self, session: str, span: EvictedSpan) -> Digest:
        """Return what the compaction of a span condensed itself, as a digest (see ``tiers.events``)."""
        digests = own_digests(self._event(session, span.seq))
        digest = next((digest for digest in digests if digest.id == span.digest), None)
        if digest is None:
            raise StoreDamaged(f"event {span.seq} of {session!r} has no digest {span.digest}")
        return digest

    def _digest(self, ref: str, session: str, span: EvictedSpan) -> Resolved:
        lines = (self._claim(session, claim, span.time) for claim in self.own_digest(session, span).claims)
        return Resolved(ref, "digest", tuple(lines), self._refs(session, span.messages))

    def _line(self, ref: str, session: str, claim: Claim, span: EvictedSpan) -> Resolved:
        sources = dict.fromkeys(cite.message for cite in claim.sources)
        return Resolved(
            ref, "line", (self._claim(session, claim, span.time),), self._refs(session, tuple(sources))
        )

    def _archive(self, ref: str, session: str, name: str) -> Resolved:
        """Return an archive digest, and the digests it covers, each with its span."""
        spans = self.tiers(session).archived().get(name)
        archiving = next((move for move in self._archivings(session) if move.into == name), None)
        if spans is None or archiving is None or archiving.digest is None:
            raise NotFound(f"there is no digest {ref} in the archive, or it was dissolved", ADVICE)
        first, last = spans[0].time, spans[-1].time
        overview = Quotation(
            ref, last, "digest", self.effective_trust(session, archiving.digest.trust),
            "\n".join(f"{self.ref(session, span.digest)}: {span.covers}, {span.time}" for span in spans),
            f"from {first}",
        )  # fmt: skip
        lines = (self._claim(session, claim, last) for claim in archiving.digest.claims)
        return Resolved(
            ref, "archive", (overview, *lines), self._refs(session, tuple(span.digest for span in spans))
        )

    def _archive_line(self, archive: Resolved, session: str, name: str) -> Resolved:
        """Return one line of an archive digest, and the messages it cites."""
        claims = (
            claim
            for move in self._archivings(session)
            if move.digest is not None
            for claim in move.digest.claims
        )
        claim = next((claim for claim in claims if claim.id == name), None)
        if claim is None:
            raise NotFound(f"there is no line {archive.ref}", "open the digest to see its lines")
        cited = tuple(dict.fromkeys(cite.message for cite in claim.sources))
        line = self._claim(session, claim, archive.quotations[0].time)
        return Resolved(archive.ref, "line", (line,), self._refs(session, cited))

    def _archivings(self, session: str) -> Iterator[TierMove]:
        for stored in self.store.read(self.at(session), kinds=[TIER.name]):
            if "digest" in stored.event.body:
                yield move_from_json(stored)

    def _document(self, ref: str) -> Resolved:
        name, _, session = ref.rpartition("@")
        pieces = self._rows(self.ctx.session, ref) or (self._rows(session, name) if name else [])
        if not pieces:
            raise NotFound(f"there is no {ref!r}", ADVICE)
        first = pieces[0]
        text = ""
        for piece in pieces:  # each overlaps the end of the previous one
            text = text[: piece.start] + piece.text
        trust = self.effective_trust(first.session, first.trust, first.seq)
        return Resolved(
            ref, "document", (Quotation(ref, first.time, first.role, trust, text),),
            self._refs(first.session, first.sources),
        )  # fmt: skip

    def _claim(self, session: str, claim: Claim, time: str) -> Quotation:
        sources = ", ".join(dict.fromkeys(self.ref(session, cite.message) for cite in claim.sources))
        about = f"{claim.kind.value}, from {sources}"
        trust = self.effective_trust(session, claim.trust)
        return Quotation(self.ref(session, claim.id), time, "digest", trust, claim.text, about)

    def _refs(self, session: str, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.ref(session, name) for name in names)
