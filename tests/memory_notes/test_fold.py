"""Notes are a fold of their events: nothing is lost, and it does not matter when one looks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError, StoreBusy, StoreDamaged
from clew.log import KINDS, fold, new_event
from clew.log.fold import Journal
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.memory.notes import (
    NO_NOTES,
    NOTE,
    NOTES_SESSION,
    NoteScope,
    NoteStatus,
    Situation,
    fold_notes,
    select,
)
from clew.memory.notes.note import LIVE, Ruling
from clew.memory.notes.notebook import add_body
from clew.message import Trust
from tests.conftest import tries
from tests.memory_notes.drafts import NOW, draft, drafts, notebook, page

SHARED = Ctx(workspace="home", session=NOTES_SESSION)
OWN = Ctx(workspace="home", session="main")

steps = st.lists(
    st.tuples(st.just("add"), drafts)
    | st.tuples(st.sampled_from(["approve", "reject", "forget"]), st.integers(0, 30))
    | st.tuples(st.just("show"), st.just(0)),
    max_size=25,
)


def take(book, does, what):
    """Do one thing to the notes; tell whether it was allowed."""
    try:
        if does == "add":
            book.add(what, [page("never on Fridays, says the page")])
        elif does == "show":
            book.shown(select(book.notes(), Situation(at=NOW)))
        else:
            notes = book.notes()
            getattr(book, does)(notes[what % len(notes)].id if notes else "w1", trust=Trust.DEVELOPER)
    except ClewError:
        return False
    return True


def played(steps):
    """Play steps on a new store; return it with the notebook that did it."""
    store = MemoryStore()
    book = notebook(store)
    for does, what in steps:
        take(book, does, what)
    return store, book


def events(store, ctx):
    return list(store.read(ctx, kinds=[NOTE.name]))


@given(steps, st.integers(0, 25))
def test_replaying_in_pieces_is_replaying_at_once_is_keeping_up(steps, cut):
    store, book = played(steps)
    for ctx, scopes in ((SHARED, {NoteScope.GLOBAL, NoteScope.WORKSPACE}), (OWN, {NoteScope.SESSION})):
        log = events(store, ctx)
        whole = fold_notes(log)
        assert fold_notes(log[cut:], fold_notes(log[:cut])) == whole
        assert [note for note in book.notes() if note.scope in scopes] == sorted(
            whole, key=lambda note: (list(NoteScope).index(note.scope), note.history[0].seq)
        )
    assert notebook(store).notes() == book.notes()


@given(steps)
def test_the_history_of_a_note_holds_every_event_that_changed_it(steps):
    store, book = played(steps)
    for ctx in (SHARED, OWN):
        told = [
            (change.seq, change.time, change.does)
            for note in fold_notes(events(store, ctx))
            for change in note.history
            if change.does != "retire"
        ]
        log = [(one.seq, one.event.time, one.event.body["does"]) for one in events(store, ctx)]
        assert sorted(told) == [one for one in log if one[2] != "show"]
    for note in book.notes():
        assert note.history[0].does == "add"
        assert [change.seq for change in note.history] == sorted(change.seq for change in note.history)
        assert (note.history[-1].does == "retire") == (note.status is NoteStatus.RETIRED)


@given(steps)
def test_only_one_note_of_a_status_has_a_slot_and_the_links_lead_both_ways(steps):
    _, book = played(steps)
    notes = {note.id: note for note in book.notes()}
    slots = [(note.status, note.slot) for note in notes.values() if note.status in LIVE]
    assert len(slots) == len(set(slots))
    for note in notes.values():
        assert all(notes[old].replaced_by == note.id for old in note.replaces)
        assert not note.replaced_by or note.id in notes[note.replaced_by].replaces


@given(steps)
def test_nothing_an_agent_wrote_holds_unless_somebody_approved_it(steps):
    _, book = played(steps)
    for note in book.notes():
        if note.status is NoteStatus.APPROVED and note.source.author == "agent":
            assert "approve" in [change.does for change in note.history]


@given(steps)
@settings(max_examples=tries(20, 40))
def test_a_view_is_the_same_with_notes_in_the_log(steps):
    store, _ = played(steps)
    view = fold(store.read(OWN), kinds={**KINDS, NOTE.name: NOTE})
    assert (list(view.entries), dict(view.skipped)) == ([], {})


def test_folding_leaves_the_earlier_notes_as_they_were():
    store = MemoryStore()
    notebook(store).add(draft("Use tabs."))
    before = fold_notes(events(store, SHARED))
    copy = dict(before.by_id)
    notebook(store).add(draft("Use spaces."))
    fold_notes(events(store, SHARED)[1:], before)
    assert dict(before.by_id) == copy
    assert len(NO_NOTES) == 0


@pytest.mark.parametrize(
    "body",
    [
        {"does": "burn", "note": "w1"},
        {"does": "approve", "note": "w9"},
        {"does": "approve"},
        {"does": "add", "key": "a"},
        {"does": "show", "notes": {"w9": "why"}},
        {},
    ],
)
def test_an_event_that_clew_did_not_write_is_damage(body):
    store = MemoryStore()
    store.append(SHARED, [new_event(NOTE.name, body)], None)
    with pytest.raises(StoreDamaged):
        notebook(store).notes()


def test_who_appends_second_decides_again_on_what_the_first_did():
    store = MemoryStore()
    journal = Journal(store, SHARED, NOTE, fold_notes, NO_NOTES)
    counts = []

    def decide(notes):
        counts.append(len(notes))
        if len(counts) == 1:
            notebook(store).add(draft(key="somebody else's"))
        return add_body(draft(), Ruling(NoteStatus.APPROVED, ""))

    notes, seq = journal.append(decide)
    assert (counts, seq, list(notes.by_id)) == ([0, 1], 2, ["w1", "w2"])


def test_where_others_always_come_first_the_store_is_busy():
    store = MemoryStore()

    def decide(_):
        notebook(store).add(draft())
        return {}

    with pytest.raises(StoreBusy):
        Journal(store, SHARED, NOTE, fold_notes, NO_NOTES).append(decide)
