"""The memory of a session: what it has, what it finds again, what it brings back, and where each thing is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from clew.errors import HeadMoved, NotFound, StoreBusy
from clew.log import MESSAGE, iso_time, new_event
from clew.log.events import Ctx
from clew.log.imports import OWN
from clew.log.kinds import TIER
from clew.log.protocol import Store
from clew.memory.answering import recall
from clew.memory.embedding import embed_new
from clew.memory.entries import catch_up
from clew.memory.in_view import InView
from clew.memory.index.protocol import (
    ANYTHING,
    SHIPPED_MODEL,
    Embedder,
    Entry,
    EntryKind,
    Filters,
    Index,
    Mark,
    VectorIndex,
)
from clew.memory.injecting import Injection, Passage, passage_of, recalled, speaks_for_itself
from clew.memory.notes.journal import TRIES, Clock, unix_ms
from clew.memory.notes.note import Note, Status
from clew.memory.notes.notebook import NOTES_SESSION, Notebook
from clew.memory.notes.select import CAP_TOKENS, Situation
from clew.memory.opening import Library, Numbered, Opened, Quotation
from clew.memory.scope import Projects, Where
from clew.memory.search import Found, Hit, Query
from clew.memory.static import shipped_embedder
from clew.memory.tiers import (
    DEFAULT,
    Guest,
    Moment,
    Move,
    Tier,
    TierPolicy,
    Tiers,
    after,
    archive_digest,
    move_to_json,
    moves_due,
    moves_for,
)
from clew.message import Trust
from clew.tokens import TokenCounter

if TYPE_CHECKING:
    from clew.memory.tools.desk import Approve, OpenSession
    from clew.memory.tools.toolbox import Toolbox

OWN_SHARE = 0.5
"""Of the best score, from which a hit in this session goes before hits in others."""
EMBEDDED_AT_ONCE = 4_000
"""Entries that get their vectors before a search, about a second's work; of more, the rest comes later."""
CANDIDATES = 12
"""Hits that are looked at for a request."""
_NOTE = re.compile(r"[gws][1-9]\d{0,17}")
SAID = (EntryKind.TURN, EntryKind.ARTIFACT, EntryKind.DOCUMENT)
"""What comes back by itself: what was said or seen. What was derived from it, a digest shows already."""
Making = Callable[[Tiers, Moment], Sequence[Move]]


class Memory:
    """What a session remembers. Use it from one thread at a time."""

    def __init__(  # noqa: PLR0913  # the front door: all but the first two are optional
        self,
        store: Store,
        ctx: Ctx,
        index: Index | None = None,
        *,
        embedder: Embedder | Literal["shipped"] | None = "shipped",
        policy: TierPolicy = DEFAULT,
        counter: TokenCounter | None = None,
        notebook: Notebook | None = None,
        numbered: Numbered | None = None,
        clock: Clock = unix_ms,
        project: str | None = None,
        where: Where = Where.PROJECT,
    ) -> None:
        """Remember for a session; without an index, nothing can be searched.

        ``embedder`` finds by meaning, too. By default it is the one that comes with clew, if numpy is
        installed and the index was opened for it. ``numbered``, the session itself, saves reading the log
        where there is no index. A search looks into the sessions of ``project``, by default the one on
        record for this session, unless ``where`` says that it may look everywhere.
        """
        self.store = store
        self.ctx = ctx
        self.index = index
        self.embedder = _shipped(index) if embedder == "shipped" else embedder
        self.policy = policy
        self.notebook = notebook or Notebook(store, ctx.workspace, ctx.session, clock=clock)
        self.library = Library(store, ctx, index, numbered)
        self.projects = Projects(store, ctx.workspace)
        self.project = project
        self.with_unnamed = False
        """Whether sessions of no known project are searched too: if a person looks, never unasked."""
        self.where = where
        self._counter = counter
        self._clock = clock
        self._counted = Mark()

    # What can be found -----------------------------------------------------------------------------------

    def catch_up(self) -> int:
        """Take what is new in the session and among the notes into the index; return how many events."""
        if self.index is None:
            return 0
        kept = Ctx(workspace=self.ctx.workspace, session=NOTES_SESSION)
        new = sum(catch_up(self.store, ctx, self.index) for ctx in (self.ctx, kept))
        if self.embedder and isinstance(self.index, VectorIndex):
            embed_new(self.index, self.embedder, EMBEDDED_AT_ONCE)
        return new

    def search(
        self, query: str, filters: Filters = ANYTHING, limit: int = 10, where: Where | None = None
    ) -> list[Hit]:
        """Return what may answer a query, best first, in this session and the others of its project.

        Of notes, only those that apply here. What asks the same again is no answer.
        """
        return self.find(query, filters, limit, where=where).hits

    def find(
        self,
        query: str,
        filters: Filters = ANYTHING,
        limit: int = 10,
        in_view: InView | None = None,
        where: Where | None = None,
    ) -> Found:
        """Return the same, without what the view shows anyway; that is listed instead."""
        if self.index is None:
            return Found([], [])
        self.catch_up()
        filters = self._within(filters, where or self.where)
        asked = Query(text=query, at=self.now, filters=filters, limit=limit, in_view=in_view)

        def accept(hit: Hit) -> Hit | None:
            known = self._believed(hit)
            is_note = known.entry.kind is EntryKind.NOTE
            is_seen = known.entry.trust >= filters.trust and (not is_note or self._holds(known.entry))
            return known if is_seen else None

        found = recall(self.index, self.ctx.workspace, asked, self.embedder, accept)
        return found._replace(hits=self._own_first(found.hits))

    def _within(self, filters: Filters, where: Where) -> Filters:
        """Return filters that look no further than they may; sessions that are named are asked for."""
        if filters.sessions or where is Where.EVERYWHERE:
            return filters
        if where is Where.SESSION:
            return replace(filters, sessions=(self.ctx.session,))
        return replace(filters, sessions=self._in_project())

    @property
    def leaves_out(self) -> bool:
        """Whether there are sessions that a search of this project does not look into."""
        return bool(self._in_project())

    def _in_project(self) -> tuple[str, ...]:
        wanted = (self._project, "") if self.with_unnamed else (self._project,)
        return self.projects.sessions(wanted, self.ctx.session)

    @property
    def _project(self) -> str:
        return self.projects.of(self.ctx.session) if self.project is None else self.project

    def _own_first(self, hits: list[Hit]) -> list[Hit]:
        """Put what this session says before what others say, unless it answers much less well."""
        least = OWN_SHARE * max((hit.score for hit in hits), default=0.0)
        own = [hit for hit in hits if hit.entry.session == self.ctx.session and hit.score >= least]
        return [*own, *(hit for hit in hits if hit not in own)]

    def origin(self, entry: Entry) -> str:
        """Return the project that something was found in, if it is another one: ``shop (/home/ada/shop)``."""
        if entry.session == self.ctx.session or entry.session.startswith(OWN):
            return ""
        project = self.projects.of(entry.session)
        if project == self._project:
            return ""
        return f"another project: {project}" if project else "a session of no known project"

    def _believed(self, hit: Hit) -> Hit:
        entry = hit.entry
        trust = self.library.believed(entry.session, entry.trust, entry.seq)
        return hit if trust is entry.trust else replace(hit, entry=entry._replace(trust=trust))

    def _holds(self, entry: Entry) -> bool:
        """Tell whether a note is one of this session's or its workspace's, and is approved and in time."""
        if entry.session not in (self.ctx.session, NOTES_SESSION):
            return False
        with suppress(NotFound):
            note = self.notebook.get(entry.ref)
            return note.status is Status.APPROVED and not note.expired(self.now)
        return False

    def ref(self, entry: Entry) -> str:
        """Return the exact reference of what was found: ``m12``, ``m12@SESSION``, ``d3.4``, ``w3``."""
        own = (self.ctx.session, NOTES_SESSION)
        return entry.ref if entry.session in own else self.library.ref(entry.session, entry.ref)

    def open(self, ref: str, neighbours: int = 1) -> Opened:
        """Return what stands behind a reference: words as they were said, and what to open next."""
        if _NOTE.fullmatch(ref):
            return self._note(ref)
        self.catch_up()
        return self.library.open(ref, neighbours)

    def _note(self, ref: str) -> Opened:
        """Return a note that a person approved: what waits does not come in by this door."""
        note = self.notebook.get(ref)
        if note.status is not Status.APPROVED:
            raise NotFound(f"no note {ref} holds", "`clew notes show` tells what became of it")
        quotation = Quotation(ref, note.created, "note", note.trust, note.text, note.key)
        return Opened(ref, "note", (quotation,), note.source.messages)

    # What comes back -------------------------------------------------------------------------------------

    def inject(
        self,
        query: str,
        cap_tokens: int = CAP_TOKENS,
        *,
        tags: tuple[str, ...] = (),
        trust: Trust = Trust.SEMI_TRUSTED,
    ) -> Injection:
        """Return what of the memory goes into the next request; nothing is on record until ``shown``.

        ``query`` is what the user said and wants. What tools answered must not be in it: a web page
        would choose what comes up. Nor does what is less trusted than ``trust`` come up by itself: output
        of tools and web pages are found by the agent's search, when it asks. What a forgotten note was
        taken from does not come up either.
        """
        hits = self.search(query, Filters(kinds=SAID, trust=trust), CANDIDATES)
        tiers, forgotten = self.tiers, self._forgotten()
        fresh = [
            passage_of(hit, self.ref(hit.entry), self.origin(hit.entry))
            for hit in hits
            if speaks_for_itself(hit)
            and _is_out(self.ref(hit.entry), tiers)
            and (hit.entry.session, hit.entry.ref) not in forgotten
        ]
        best = {one.ref: one for one in reversed(fresh)}  # of one message, the part that says most
        passages = [one for one in fresh if best[one.ref] is one]
        stay = (guest for ref, guest in tiers.guests.items() if ref not in best and _is_out(ref, tiers))
        passages += (one for one in map(self._guest, stay) if one and one.trust >= trust)
        situation = Situation(at=self.now, text=query, tags=tags)
        return recalled(self.notebook.notes(), passages, situation, cap_tokens, self._counter)

    def _forgotten(self) -> set[tuple[str, str]]:
        """Return the messages, each with its session, that notes were taken from which were forgotten."""
        notes = self.notebook.notes()
        kept = {place for note in notes if note.status is Status.APPROVED for place in _sources(note)}
        gone = {place for note in notes if note.status is Status.FORGOTTEN for place in _sources(note)}
        return gone - kept

    def outdated(self, entry: Entry) -> str:
        """Return why what a message says may be outdated: a note taken from it was replaced or forgotten."""
        for note in self.notebook.notes():
            if (entry.session, entry.ref) in _sources(note):
                if note.status is Status.FORGOTTEN:
                    return f"the note {note.id} taken from it was forgotten"
                if note.replaced_by:
                    return f"superseded by the note {note.replaced_by}"
        return ""

    def _guest(self, guest: Guest) -> Passage | None:
        """Return what came back earlier; None where it is there no more, as a document may be."""
        one = guest.excerpt
        with suppress(NotFound):
            (said, *_) = self.library.open(one.ref, 0).quotations
            place = self.library.place(one.ref)
            order = (place.session, self.library.seq(place) or 0) if place else (one.ref, 0)
            text = said.text[one.start : one.end]
            return Passage(
                one.ref, one.start, said.role, said.trust, said.time, text, one.why, (*order, one.start),
                stays=True,
            )  # fmt: skip
        return None

    def shown(self, injection: Injection) -> list[Move]:
        """Put on record what a request brought back, and why; return the moves."""
        self.notebook.shown(injection.notes)

        def make(tiers: Tiers, now: Moment) -> list[Move]:
            due = moves_due(tiers, now, self.policy)
            return [*due, *moves_for(injection.wanted, injection.staying, after(due, tiers), now)]

        return self._record(make)

    # Where things are ------------------------------------------------------------------------------------

    @property
    def tiers(self) -> Tiers:
        """Return where the memories of the session are, due moves included that are not on record yet."""
        tiers = self.library.tiers(self.ctx.session)
        return after(moves_due(tiers, self._moment(), self.policy), tiers)

    def moves(self) -> list[Move]:
        """Put the moves that are due on record, each as an event; return them."""
        return self._record(lambda tiers, now: moves_due(tiers, now, self.policy))

    def _record(self, make: Making) -> list[Move]:
        for _ in range(TRIES):
            head = self.store.head(self.ctx)
            tiers = self.library.tiers(self.ctx.session)
            moves = [self._with_digest(move, tiers) for move in make(tiers, self._moment())]
            if not moves:
                return []
            events = [new_event(TIER.name, move_to_json(one), TIER.version, self._clock()) for one in moves]
            with suppress(HeadMoved):
                self.store.append(self.ctx, events, head)
                return moves
        raise StoreBusy(f"others keep appending to {self.ctx.session!r}")

    def _with_digest(self, move: Move, tiers: Tiers) -> Move:
        """Return a move into the archive with the digest that will stand for what goes there."""
        if move.to is not Tier.ARCHIVE or not move.into:
            return move
        parts = [self.library.own_digest(self.ctx.session, tiers.spans[name]) for name in move.what]
        return replace(move, digest=archive_digest(move.into, parts))

    def _moment(self) -> Moment:
        return Moment(self.now, self._messages())

    def _messages(self) -> int:
        """Return how many messages there are; costs what is new."""
        head = self.store.head(self.ctx).seq
        if self.index is not None:
            _, mark = self.index.stats(self.ctx.workspace, (), self.ctx.session)
            self._counted = max(self._counted, mark)
        new = self.store.read(self.ctx, self._counted.seq, head, [MESSAGE.name])
        self._counted = Mark(head, self._counted.messages + sum(1 for _ in new))
        return self._counted.messages

    @property
    def now(self) -> str:
        """Return the time, as the log writes it."""
        return iso_time(self._clock())

    # For the agent ---------------------------------------------------------------------------------------

    def toolbox(self, session: OpenSession, approve: Approve | None = None) -> Toolbox:
        """Return the tools with which the agent looks after this memory."""
        from clew.memory.tools import Toolbox, ask_later  # these know the memory, not it them

        return Toolbox(session, self, approve or ask_later)


def _sources(note: Note) -> list[tuple[str, str]]:
    return [(note.source.session, message) for message in note.source.messages]


def _shipped(index: Index | None) -> Embedder | None:
    return shipped_embedder() if getattr(index, "model", "") == SHIPPED_MODEL else None


def _is_out(ref: str, tiers: Tiers) -> bool:
    """Tell whether something is not in the window as it was said."""
    return tiers.home(ref) is not Tier.WORKING
