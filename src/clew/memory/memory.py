"""``Memory``: index a session's log, search it, inject passages, track the tier of each memory.

``search`` finds what left the window, ``open`` shows the original behind a reference, ``inject`` selects what
goes into the next request unasked, ``moves`` records what aged from recall into the archive. A message is in
one of three tiers: *working* (in the window), *recall* (it left the window recently) or *archive*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Literal

from clew.errors import HeadMoved, NoIndex, NotFound, StoreBusy
from clew.log import MESSAGE, iso_time, new_event
from clew.log.fold import TIER, TRIES, Clock, unix_ms
from clew.log.protocol import Ctx, Store
from clew.log.store.sqlite import SqliteStore
from clew.log.transfer import OWN, ImportedEvents
from clew.memory.embedders import default_embedder, embed_new
from clew.memory.index import (
    ANYTHING,
    Embedder,
    Entry,
    EntryKind,
    Filters,
    Index,
    Mark,
    Searchable,
    VectorIndex,
)
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.indexing import catch_up
from clew.memory.notes.note import Note, NoteStatus
from clew.memory.notes.notebook import NOTES_SESSION, Notebook
from clew.memory.notes.select import CAP_TOKENS, Situation
from clew.memory.question import without_filler
from clew.memory.references import Numbered, Quotation, Resolved, Resolver
from clew.memory.scope import InView, Projects, SearchScope
from clew.memory.search import Query, SearchHit, SearchResult
from clew.memory.selection import Injection, Passage, is_injectable, passage_of, recall, select_injections
from clew.memory.tier_moves import Moment, apply_moves, archive_digest, moves_due, moves_for
from clew.memory.tiers import DEFAULT, Excerpt, Tier, TierMove, TierPolicy, Tiers, move_to_json
from clew.message import Role, Trust
from clew.settings import clew_home
from clew.tokens import TokenCounter

if TYPE_CHECKING:
    from clew.memory.tools import Toolbox
    from clew.memory.tools.tool import Approve, ToolSession

OWN_SHARE = 0.5
"""A hit in this session with at least this fraction of the best score ranks before other sessions."""
EMBEDDED_AT_ONCE = 4_000
"""Entries embedded before a search, about a second of work; the rest is done later."""
SECONDS_FOR_OTHERS = 1.0
"""Time for indexing other sessions before a search; the rest is done later. A person waits for it."""
CANDIDATES = 12
"""Hits considered for injection into a request (chosen by hand)."""
_NOTE = re.compile(r"[gws][1-9]\d{0,17}")
"""The id of a note: global, of the workspace or of the session, and a number (``w3``)."""
SAID = (EntryKind.TURN, EntryKind.ARTIFACT, EntryKind.DOCUMENT)
"""Kinds that can be injected: what was said or seen. Derived text is in the digests already."""
DecideMoves = Callable[[Tiers, Moment], Sequence[TierMove]]
"""Returns the moves to record, given the tiers and the time."""


class Memory:
    """The memory of a session. Not thread-safe."""

    def __init__(  # noqa: PLR0913  # the front door: all but the first two are optional
        self,
        store: Store,
        ctx: Ctx,
        index: Index | Literal["store"] | None = "store",
        *,
        embedder: Embedder | Literal["default"] | None = "default",
        policy: TierPolicy = DEFAULT,
        counter: TokenCounter | None = None,
        notebook: Notebook | None = None,
        numbered: Numbered | None = None,
        clock: Clock = unix_ms,
        project: str | None = None,
        where: SearchScope = SearchScope.PROJECT,
    ) -> None:
        """Open the memory of a session, with the search index of the store; call ``close`` when done.

        If the store has none, notes work and a search raises ``NoIndex``. Pass an index to share it between
        memories, or None to search nothing. ``embedder`` adds search by meaning. The default is the one that
        the index was opened for: the encoder that ``CLEW_ENCODER`` names, or the one shipped with clew, if
        numpy is installed. ``numbered``, the session itself, avoids reading the log if there is no index. A
        search covers the sessions of ``project``, by default the one recorded for this session, unless
        ``where`` allows more.
        """
        self.store = store
        self.ctx = ctx
        self.searchable = True
        """False if the store has no index: then a search raises ``NoIndex``."""
        if index == "store":
            model = embedder.name if embedder and embedder != "default" else None if embedder else ""
            index = index_of(store, ctx.workspace, model)
            self.searchable = index is not None
        self.index = index
        own_model = getattr(index, "model", "")
        self.embedder = default_embedder(own_model) if embedder == "default" else embedder
        self.policy = policy
        self.notebook = notebook or Notebook(store, ctx.workspace, ctx.session, clock=clock)
        self.resolver = Resolver(store, ctx, index, numbered)
        self.projects = Projects(store, ctx.workspace)
        self.project = project
        self.with_unnamed = False
        """Whether sessions of no known project are searched too: if a person looks, never unasked."""
        self.where = where
        self.not_indexed = 0
        """Other sessions that the last search covered and that were not wholly indexed by then."""
        self._indexed: dict[str, int] = {}
        """The last event of each session that was seen to be indexed."""
        self._counter = counter
        self._clock = clock
        self._counted = Mark()

    def close(self) -> None:
        """Close the index, if it has a file to close."""
        close = getattr(self.index, "close", None)
        if close is not None:
            close()

    # Search ----------------------------------------------------------------------------------------------

    def catch_up(self, filters: Filters | None = None) -> int:
        """Index what is new in the session and among the notes; return the number of events.

        With the filters of a search, other sessions that it covers are indexed too, the latest first.
        """
        if self.index is None:
            return 0
        notes_ctx = Ctx(workspace=self.ctx.workspace, session=NOTES_SESSION)
        new = sum(catch_up(self.store, ctx, self.index) for ctx in (self.ctx, notes_ctx))
        if filters is not None:
            new += self._catch_up_others(self.index, filters.sessions)
        if self.embedder and isinstance(self.index, VectorIndex):
            embed_new(self.index, self.embedder, getattr(self.embedder, "at_once", EMBEDDED_AT_ONCE))
        return new

    def _catch_up_others(self, index: Index, covered: tuple[str, ...]) -> int:
        """Index other sessions for ``SECONDS_FOR_OTHERS``, the latest first; the rest is done later."""
        heads = self.projects.heads()
        names = heads.keys() & covered if covered else heads.keys()
        behind = [
            name for name in reversed(heads) if name in names and heads[name] > self._indexed.get(name, 0)
        ]
        if behind:
            self._indexed = {name: mark.seq for name, mark in index.marks(self.ctx.workspace).items()}
            behind = [name for name in behind if heads[name] > self._indexed.get(name, 0)]
        done, deadline = 0, monotonic() + SECONDS_FOR_OTHERS
        while behind and (not done or monotonic() < deadline):
            name = behind[0]
            new = catch_up(self.store, Ctx(workspace=self.ctx.workspace, session=name), index, deadline)
            done += new
            self._indexed[name] = self._indexed.get(name, 0) + new
            if not new or self._indexed[name] >= heads[name]:
                del behind[0]
        self.not_indexed = len(behind)
        return done

    def search(
        self, query: str, filters: Filters = ANYTHING, limit: int = 10, where: SearchScope | None = None
    ) -> list[SearchHit]:
        """Return what may answer a query, best first, from this session and the others of its project.

        Only notes that apply here are included. Repetitions of the question are not.
        """
        return self.find(query, filters, limit, where=where).hits

    def find(
        self,
        query: str,
        filters: Filters = ANYTHING,
        limit: int = 10,
        in_view: InView | None = None,
        where: SearchScope | None = None,
    ) -> SearchResult:
        """Return the same, except that entries visible in the view are listed separately."""
        if self.index is None:
            if not self.searchable:
                raise NoIndex(f"{type(self.store).__name__} has no search index")
            return SearchResult([], [])
        filters = self._limit_to_scope(filters, where or self.where)
        self.catch_up(filters)
        index_query = Query(text=query, at=self.now, filters=filters, limit=limit, in_view=in_view)
        imports: dict[str, ImportedEvents] = {}

        def accept(hit: SearchHit) -> SearchHit | None:
            hit = self._with_trust(hit, imports)
            applies = hit.entry.kind is not EntryKind.NOTE or self._applies(hit.entry)
            return hit if applies and hit.entry.trust >= filters.trust else None

        search_result = recall(self.index, self.ctx.workspace, index_query, self.embedder, accept)
        return search_result._replace(hits=self._own_first(search_result.hits))

    def _limit_to_scope(self, filters: Filters, where: SearchScope) -> Filters:
        """Return filters limited to the allowed sessions; explicitly named sessions are always allowed."""
        if filters.sessions or where is SearchScope.EVERYWHERE:
            return filters
        if where is SearchScope.SESSION:
            return replace(filters, sessions=(self.ctx.session,))
        return replace(filters, sessions=self._in_project())

    @property
    def leaves_out(self) -> bool:
        """Whether there are sessions that a search of this project does not cover."""
        return bool(self._in_project())

    def _in_project(self) -> tuple[str, ...]:
        wanted = (self._project, "") if self.with_unnamed else (self._project,)
        folders = self.index.folders(self.ctx.workspace) if self.index else ()
        return self.projects.sessions(wanted, self.ctx.session, folders)

    @property
    def _project(self) -> str:
        return self.projects.of(self.ctx.session) if self.project is None else self.project

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to recall besides this session: no note, no session, no document."""
        everywhere = self.where is SearchScope.EVERYWHERE
        if self.notebook.notes() or (self.index and self.index.folders(self.ctx.workspace)):
            return False
        return not self.projects.has_others(None if everywhere else (self._project,), self.ctx.session)

    def _own_first(self, hits: list[SearchHit]) -> list[SearchHit]:
        """Rank hits of this session before others, unless they score much lower."""
        least = OWN_SHARE * max((hit.score for hit in hits), default=0.0)
        own_hits = [hit for hit in hits if hit.entry.session == self.ctx.session and hit.score >= least]
        return [*own_hits, *(hit for hit in hits if hit not in own_hits)]

    def origin(self, entry: Entry) -> str:
        """Return the project of an entry, if it is another one: ``another project: /home/ada/shop``.

        Of a document, whose reference names its folder, return whether it is outdated, changed or deleted.
        """
        if entry.kind is EntryKind.DOCUMENT:
            from clew.memory.documents import document_state  # imported only if a document is found

            return document_state(entry, clew_home())
        if entry.session == self.ctx.session or entry.session.startswith(OWN):
            return ""
        project = self.projects.of(entry.session)
        if project == self._project:
            return ""
        return f"another project: {project}" if project else "a session of no known project"

    def _with_trust(self, hit: SearchHit, imports: dict[str, ImportedEvents]) -> SearchHit:
        entry = hit.entry
        trust = self.resolver.effective_trust(entry.session, entry.trust, entry.seq, imports)
        return hit if trust is entry.trust else replace(hit, entry=entry._replace(trust=trust))

    def _applies(self, entry: Entry) -> bool:
        """Return True if a note belongs to this session or workspace, is approved and has not expired."""
        if entry.session not in (self.ctx.session, NOTES_SESSION):
            return False
        with suppress(NotFound):
            note = self.notebook.get(entry.ref)
            return note.status is NoteStatus.APPROVED and not note.expired(self.now)
        return False

    def ref(self, entry: Entry) -> str:
        """Return the exact reference of an entry: ``m12``, ``m12@SESSION``, ``d3.4``, ``w3``."""
        own = (self.ctx.session, NOTES_SESSION)
        return entry.ref if entry.session in own else self.resolver.ref(entry.session, entry.ref)

    def reply(self, entry: Entry) -> Quotation | None:
        """Return what the user said right after a message of the assistant; None if they said nothing.

        A proposal is found by its words; that the user refused it has often none of them.
        """
        place = self.resolver.place(self.ref(entry)) if entry.role == Role.ASSISTANT else None
        following = place._replace(number=place.number + 1) if place else None
        if following is None or self.resolver.seq(following) is None:
            return None
        quotation = self.resolver.message(following)
        return quotation if quotation.role == Role.USER and quotation.text else None

    def open(self, ref: str, neighbours: int = 1) -> Resolved:
        """Return what a reference points to: the original text, and references to open next."""
        if _NOTE.fullmatch(ref):
            return self._note(ref)
        self.catch_up()
        return self.resolver.open(ref, neighbours)

    def _note(self, ref: str) -> Resolved:
        """Return an approved note; pending notes cannot be opened here."""
        note = self.notebook.get(ref)
        if note.status is not NoteStatus.APPROVED:
            raise NotFound(f"note {ref} is not approved", f"run `clew notes show {ref}` for its status")
        quotation = Quotation(ref, note.created, "note", note.trust, note.text, note.key)
        return Resolved(ref, "note", (quotation,), note.source.messages)

    # Injection -------------------------------------------------------------------------------------------

    def inject(
        self,
        query: str,
        cap_tokens: int = CAP_TOKENS,
        *,
        tags: tuple[str, ...] = (),
        trust: Trust = Trust.SEMI_TRUSTED,
    ) -> Injection:
        """Return what to add to the next request from memory; nothing is recorded until ``shown``.

        ``query`` is what the user said and wants. Do not put tool results in it: a web page could then choose
        what is injected. For the same reason nothing below ``trust`` is injected; the agent can still find
        tool output and web pages by searching. The sources of forgotten and replaced notes are not either.
        If the store has no index, only notes are injected.
        """
        tiers, outdated = self.tiers, self.outdated()
        found = self._found_passages(query, trust, tiers, outdated)
        refs = {passage.ref for passage in found}
        staying = [
            passage
            for ref, injected in tiers.injected.items()
            if ref not in refs and _is_out(ref, tiers) and self._place(ref) not in outdated
            if (passage := self._reopened(injected.excerpt)) and passage.trust >= trust
        ]
        situation = Situation(at=self.now, text=query, tags=tags)
        passages = [*found, *staying]
        return select_injections(self.notebook.notes(), passages, situation, cap_tokens, self._counter)

    def _found_passages(
        self, query: str, trust: Trust, tiers: Tiers, outdated: Mapping[tuple[str, str], str]
    ) -> list[Passage]:
        """Search for what may be injected and is out of the window; of each message only the best part."""
        if not self.searchable:
            return []
        found: dict[str, Passage] = {}
        # Whether a passage has enough of a question's words depends on those that say what it is about.
        for hit in self.search(without_filler(query), Filters(kinds=SAID, trust=trust), CANDIDATES):
            ref = self.ref(hit.entry)
            is_usable = is_injectable(hit) and _is_out(ref, tiers) and not why_outdated(hit.entry, outdated)
            if is_usable and ref not in found:
                found[ref] = passage_of(hit, ref, self.origin(hit.entry))
        return list(found.values())

    def outdated(self) -> dict[tuple[str, str], str]:
        """Return messages (session, reference) that may be outdated: a note taken from them no longer holds.

        The value says why: the note was replaced or forgotten. What a note in force is taken from is not.
        """
        notes, result = self.notebook.notes(), dict[tuple[str, str], str]()
        kept = {place for note in notes if note.status is NoteStatus.APPROVED for place in _sources(note)}
        for note in notes:
            why = f"superseded by note {note.replaced_by}" if note.replaced_by else ""
            if note.status is NoteStatus.FORGOTTEN:
                why = f"note {note.id}, taken from it, was forgotten"
            for place in set(_sources(note)) - kept if why else ():
                result.setdefault(place, why)
        return result

    def _place(self, ref: str) -> tuple[str, str] | None:
        """Return the session and the name of the message that a reference names; None if it names none."""
        place = self.resolver.place(ref)
        return (place.session, f"m{place.number}") if place else None

    def _reopened(self, excerpt: Excerpt) -> Passage | None:
        """Return an excerpt that was injected earlier; None if its source no longer exists."""
        with suppress(NotFound):
            (quotation, *_) = self.resolver.open(excerpt.ref, 0).quotations
            place = self.resolver.place(excerpt.ref)
            order = (place.session, self.resolver.seq(place) or 0) if place else (excerpt.ref, 0)
            text = quotation.text[excerpt.start : excerpt.end]
            return Passage(
                excerpt.ref, excerpt.start, quotation.role, quotation.trust, quotation.time,
                text, excerpt.why, (*order, excerpt.start),
                stays=True,
            )  # fmt: skip
        return None

    def shown(self, injection: Injection) -> list[TierMove]:
        """Record what a request injected and why; return the moves."""
        self.notebook.shown(injection.notes)

        def decide(tiers: Tiers, now: Moment) -> list[TierMove]:
            due = moves_due(tiers, now, self.policy)
            return [*due, *moves_for(injection.wanted, injection.staying, apply_moves(due, tiers), now)]

        return self._record(decide)

    # Tiers -----------------------------------------------------------------------------------------------

    @property
    def tiers(self) -> Tiers:
        """Return the tier of each memory of the session, including due moves that are not recorded yet."""
        tiers = self.resolver.tiers(self.ctx.session)
        return apply_moves(moves_due(tiers, self._moment(), self.policy), tiers)

    def moves(self) -> list[TierMove]:
        """Record the due moves, each as an event; return them."""
        return self._record(lambda tiers, now: moves_due(tiers, now, self.policy))

    def _record(self, decide: DecideMoves) -> list[TierMove]:
        """Append the moves that ``decide`` returns; it is called again if another process appends first."""
        for _ in range(TRIES):
            head = self.store.head(self.ctx)
            tiers = self.resolver.tiers(self.ctx.session)
            moves = [self._with_digest(move, tiers) for move in decide(tiers, self._moment())]
            if not moves:
                return []
            events = [new_event(TIER.name, move_to_json(move), TIER.version, self._clock()) for move in moves]
            with suppress(HeadMoved):
                self.store.append(self.ctx, events, head)
                return moves
        raise StoreBusy(f"other processes keep appending to {self.ctx.session!r}")

    def _with_digest(self, move: TierMove, tiers: Tiers) -> TierMove:
        """Return a move into the archive with the digest that will represent its content."""
        if move.to is not Tier.ARCHIVE or not move.into:
            return move
        parts = [self.resolver.own_digest(self.ctx.session, tiers.spans[name]) for name in move.what]
        return replace(move, digest=archive_digest(move.into, parts))

    def _moment(self) -> Moment:
        return Moment(self.now, self._messages())

    def _messages(self) -> int:
        """Return the number of messages; costs only what is new."""
        head = self.store.head(self.ctx).seq
        if self.index is not None:
            _, mark = self.index.stats(self.ctx.workspace, (), self.ctx.session)
            self._counted = max(self._counted, mark)
        new = self.store.read(self.ctx, self._counted.seq, head, [MESSAGE.name])
        self._counted = Mark(head, self._counted.messages + sum(1 for _ in new))
        return self._counted.messages

    @property
    def now(self) -> str:
        """Return the time in the format of the log."""
        return iso_time(self._clock())

    # Tools -----------------------------------------------------------------------------------------------

    def toolbox(self, session: ToolSession, approve: Approve | None = None) -> Toolbox:
        """Return the agent's tools for this memory."""
        from clew.memory.tools import Toolbox
        from clew.memory.tools.tool import ask_later  # imports this module

        return Toolbox(session, self, approve or ask_later)


def index_of(store: Store, workspace: str, model: str | None = None) -> Index | None:
    """Open the search index of a store; None if it has none. ``model`` is the embedder's name."""
    if isinstance(store, Searchable):
        return store.open_index(workspace, model)
    if isinstance(store, SqliteStore):
        return SqliteIndex(store.path, model=model)
    if type(store).__module__ == "clew.log.store.postgres":  # not imported here: it needs an extra
        from clew.log.store.postgres import PostgresStore
        from clew.memory.index.postgres import PostgresIndex

        if isinstance(store, PostgresStore):
            return PostgresIndex(store.connections, workspace, model)
    return None


def why_outdated(entry: Entry, outdated: Mapping[tuple[str, str], str]) -> str:
    """Return why an entry may be outdated, or a line of a digest taken from it; "" if it is not."""
    places = ((entry.session, name) for name in (entry.ref, *entry.sources))
    return next((outdated[place] for place in places if place in outdated), "")


def _sources(note: Note) -> list[tuple[str, str]]:
    return [(note.source.session, message) for message in note.source.messages]


def _is_out(ref: str, tiers: Tiers) -> bool:
    """Return True if something is not in the window verbatim."""
    return tiers.home(ref) is not Tier.WORKING
