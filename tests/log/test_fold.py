"""The view as a fold."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, StoreDamaged, StoreTooNew
from clew.log import (
    KINDS,
    MESSAGE,
    Kind,
    Prefix,
    Ref,
    View,
    Visible,
    chain,
    encode,
    fold,
    load,
    message_event,
    message_to_json,
    new_event,
    root,
)
from clew.message import Role, said
from clew.ports import Ctx
from clew.store import MemoryStore

CTX = Ctx(workspace="north", session="main")


def stored(*events):
    return chain(root("main"), [encode(event) for event in events])


def hello(n):
    return said(Role.USER, f"hello {n}")


def kept(*events):
    store = MemoryStore()
    store.append(CTX, events, None)
    return store


def hide(view, event):
    """Take one message out of the view: what a later kind of event might do."""
    gone = Ref(event.event.body["seq"])
    return replace(view, entries=Prefix(ref for ref in view.entries if ref != gone))


HIDE = Kind("hide", hide)


def test_messages_are_visible_in_the_order_they_came():
    events = [message_event(hello(n)) for n in range(3)]
    view = fold(stored(*events))
    assert view == View(Prefix([Ref(1), Ref(2), Ref(3)]), 3)
    assert list(load(kept(*events), CTX, view.entries)) == [
        Visible(Ref(n + 1), event.id, hello(n)) for n, event in enumerate(events)
    ]


def test_unknown_kinds_are_passed_over_and_counted():
    events = stored(message_event(hello(0)), *(new_event(kind, {}) for kind in ("dream", "dream", "rumour")))
    assert fold(events) == View(Prefix([Ref(1)]), 4, {"dream": 2, "rumour": 1})


def test_a_new_kind_is_one_more_value():
    events = stored(message_event(hello(0)), message_event(hello(1)), new_event("hide", {"seq": 1}))
    assert fold(events, kinds={**KINDS, "hide": HIDE}) == View(Prefix([Ref(2)]), 3)


@given(st.lists(st.sampled_from(["message", "hide", "dream"]), max_size=12), st.integers(0, 12))
def test_folding_on_from_any_place_gives_the_same_view(kinds, cut):
    events = [
        message_event(hello(n)) if kind == "message" else new_event(kind, {"seq": n})
        for n, kind in enumerate(kinds)
    ]
    all_kinds = {**KINDS, "hide": HIDE}
    before = fold(stored(*events)[:cut], kinds=all_kinds)
    remembered = View(Prefix(before.entries), before.seq, dict(before.skipped))
    assert fold(stored(*events)[cut:], before, all_kinds) == fold(stored(*events), kinds=all_kinds)
    assert before == remembered


def test_an_event_is_not_folded_twice():
    events = stored(message_event(hello(0)), message_event(hello(1)))
    with pytest.raises(InputError, match="event 2 is already in this view"):
        fold(events[1:], fold(events))


def test_old_bodies_are_read_as_if_written_today():
    upcasts = (
        lambda body: {"said": body["text"]},
        lambda body: {"message": message_to_json(said(Role.USER, body["said"]))},
    )
    kinds = {"message": replace(MESSAGE, upcasts=upcasts)}
    events = [
        new_event("message", {"text": "first"}, version=1),
        new_event("message", {"said": "second"}, version=2),
        new_event("message", {"message": message_to_json(said(Role.USER, "third"))}, version=3),
    ]
    store = kept(*events)
    seen = load(store, CTX, fold(store.read(CTX), kinds=kinds).entries, kinds)
    assert [visible.message.text for visible in seen] == ["first", "second", "third"]


def test_a_body_from_the_future_is_not_passed_over_in_silence():
    with pytest.raises(StoreTooNew, match="event 1 is a message of version 2"):
        fold(stored(new_event("message", {}, version=2)))


def test_what_the_caller_adds_lies_beside_the_message():
    event = message_event(hello(0), {"usage": {"input_tokens": 7}})
    assert event.body == {"usage": {"input_tokens": 7}, "message": message_to_json(hello(0))}


def test_any_selection_of_messages_loads_in_its_own_order():
    events = [message_event(hello(n)) for n in range(100)]
    refs = [Ref(70), Ref(71), Ref(90), Ref(3), Ref(3), Ref(99), Ref(1)]
    found = [visible.message for visible in load(kept(*events), CTX, refs)]
    assert found == [hello(ref.seq - 1) for ref in refs]


def test_one_event_may_hold_several_messages():
    several = Kind("several", lambda view, s: view.show(Ref(s.seq, 1)), lambda body: (hello(1), hello(2)))
    store = kept(new_event("several", {}))
    kinds = {"several": several}
    view = fold(store.read(CTX), kinds=kinds)
    assert [visible.message for visible in load(store, CTX, view.entries, kinds)] == [hello(2)]


@pytest.mark.parametrize("refs", [[Ref(3)], [Ref(1)]])
def test_a_view_of_what_is_not_there_is_called_damaged(refs):
    store = kept(new_event("dream", {}), message_event(hello(0)))
    with pytest.raises(StoreDamaged, match="holds no message"):
        list(load(store, CTX, refs))


def test_an_event_that_should_hold_a_message_and_does_not_is_called_damaged():
    store = kept(new_event("message", {"text": "where is it?"}))
    with pytest.raises(StoreDamaged, match="holds none"):
        list(load(store, CTX, [Ref(1)]))
