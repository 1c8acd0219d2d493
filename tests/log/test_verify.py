"""Re-deriving a chain."""

from dataclasses import replace

import pytest

from clew.errors import StoreDamaged
from clew.log import Flaw, chain, check_session, encode, new_event, root
from clew.log.chain import HASHED
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore

CTX = Ctx(workspace="north", session="main")


class Tampered(MemoryStore):
    """A store that gives back something else than it was given."""

    def __init__(self, change):
        super().__init__()
        self.append(CTX, [new_event("message", {"n": n}) for n in range(1, 6)], None)
        self.change = change

    def read(self, *place, **stretch):
        return iter(self.change(list(super().read(*place, **stretch))))


def flaws(change):
    return [(flaw.seq, flaw.field) for flaw in check_session(Tampered(change), CTX)]


def changed(seq, /, **fields):
    def change(events):
        stored = events[seq - 1]
        own = {name: value for name, value in fields.items() if name in ("seq", "digest", "hash")}
        inner = {name: value for name, value in fields.items() if name not in own}
        events[seq - 1] = replace(stored, **own, event=replace(stored.event, **inner))
        return events

    return change


def test_an_untouched_session_has_no_flaws():
    assert flaws(lambda events: events) == []


@pytest.mark.parametrize("seq", [1, 3, 5])
@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("seq", 9, "seq"),
        ("hash", "sha256:0", "hash"),
        ("digest", "sha256:0", "digest"),
        ("body", {"n": 99}, "body"),
        ("id", "other", HASHED),
        ("kind", "other", HASHED),
        ("version", 2, HASHED),
        ("time", "other", HASHED),
    ],
)
def test_one_changed_field_is_one_flaw_at_its_event(seq, field, value, named):
    assert flaws(changed(seq, **{field: value})) == [(seq, named)]


def test_a_missing_event_is_named():
    assert flaws(lambda events: events[:2] + events[3:]) == [(3, "event")]


def test_missing_last_events_show_at_the_head():
    assert flaws(lambda events: events[:3]) == [(None, "head seq")]


def test_a_repeated_event_is_named():
    assert flaws(lambda events: events[:3] + events[1:]) == [(4, "event"), (4, "event")]


def test_swapped_events_are_named():
    assert flaws(lambda e: [e[0], e[2], e[1], *e[3:]]) == [(2, "event"), (4, "event")]


def test_two_changed_events_in_a_row_are_both_named():
    def change(events):
        return changed(3, kind="other")(changed(2, kind="other")(events))

    assert [seq for seq, _ in flaws(change)] == [2, 3]


def test_a_session_rewritten_from_some_event_on_shows_at_the_head():
    def change(events):
        later = [replace(stored.event, kind="other") for stored in events[2:]]
        return events[:2] + chain(events[1].head, [encode(event) for event in later])

    assert flaws(change) == [(None, "head hash")]


def test_events_of_another_session_do_not_fit():
    def change(events):
        return chain(root("other"), [encode(stored.event) for stored in events])

    assert flaws(change)[0] == (1, HASHED)


def test_a_flaw_says_where_and_what():
    assert str(Flaw("seq", "3", "9", "north", "main", 3)) == (
        "workspace 'north', session 'main', event 3: seq: expected 3, found 9"
    )
    assert str(Flaw("file", "a store", "a poem")) == "the file: file: expected a store, found a poem"


def test_a_store_that_cannot_be_read_is_a_flaw():
    def change(events):
        raise StoreDamaged("blob x is missing")

    (flaw,) = check_session(Tampered(change), CTX)
    assert "blob x is missing" in flaw.found
