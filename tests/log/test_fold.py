"""The view as a fold."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, StoreDamaged, StoreTooNew
from clew.log import (
    KINDS,
    MESSAGE,
    EventKind,
    Prefix,
    Ref,
    Splice,
    View,
    VisibleMessage,
    chain,
    encode,
    fold,
    load_messages,
    message_event,
    message_to_json,
    named_messages,
    new_event,
    root,
    splices_to_json,
    view_from_json,
    view_to_json,
)
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.message import Role, text_message

CTX = Ctx(workspace="north", session="main")


def stored(*events):
    return chain(root("main"), [encode(event) for event in events])


def hello(n):
    return text_message(Role.USER, f"hello {n}")


def kept(*events):
    store = MemoryStore()
    store.append(CTX, events, None)
    return store


def hide(view, event):
    """Take one message out of the view: what a later kind of event might do."""
    gone = Ref(event.event.body["seq"])
    return replace(view, whole=Prefix(ref for ref in view.whole if ref != gone))


HIDE = EventKind("hide", hide)


def test_messages_are_visible_in_the_order_they_came():
    events = [message_event(hello(n)) for n in range(3)]
    view = fold(stored(*events))
    assert view == View(Prefix([Ref(1), Ref(2), Ref(3)]), 3)
    assert list(load_messages(kept(*events), CTX, view.entries)) == [
        VisibleMessage(Ref(n + 1), event.id, None, hello(n)) for n, event in enumerate(events)
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
        lambda body: {"message": message_to_json(text_message(Role.USER, body["said"]))},
    )
    kinds = {"message": replace(MESSAGE, upcasts=upcasts)}
    events = [
        new_event("message", {"text": "first"}, version=1),
        new_event("message", {"said": "second"}, version=2),
        new_event("message", {"message": message_to_json(text_message(Role.USER, "third"))}, version=3),
    ]
    store = kept(*events)
    seen = load_messages(store, CTX, fold(store.read(CTX), kinds=kinds).entries, kinds)
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
    found = [visible.message for visible in load_messages(kept(*events), CTX, refs)]
    assert found == [hello(ref.seq - 1) for ref in refs]


def test_one_event_may_hold_several_messages():
    several = EventKind(
        "several", lambda view, s: view.show(Ref(s.seq, 1)), lambda body: (hello(1), hello(2))
    )
    store = kept(new_event("several", {}))
    kinds = {"several": several}
    view = fold(store.read(CTX), kinds=kinds)
    seen = [(visible.own_name, visible.message) for visible in load_messages(store, CTX, view.entries, kinds)]
    assert seen == [(None, hello(2))]


@pytest.mark.parametrize("refs", [[Ref(3)], [Ref(1)]])
def test_a_view_of_what_is_not_there_is_called_damaged(refs):
    store = kept(new_event("dream", {}), message_event(hello(0)))
    with pytest.raises(StoreDamaged, match="holds no message"):
        list(load_messages(store, CTX, refs))


def test_an_event_that_should_hold_a_message_and_does_not_is_called_damaged():
    store = kept(new_event("message", {"text": "where is it?"}))
    with pytest.raises(StoreDamaged, match="holds none"):
        list(load_messages(store, CTX, [Ref(1)]))


# Compactions -----------------------------------------------------------------------------------------


def compaction(*splices, names=("d1",)):
    messages = [message_to_json(text_message(Role.USER, name)) for name in names]
    body = {"splices": splices_to_json(splices), "messages": messages, "names": list(names)}
    return new_event("compaction", body)


def undo(seq):
    return new_event("undo", {"compaction": seq})


def switch(off):
    return new_event("switch", {"off": off})


def over(first, last, *shows):
    return Splice(Ref(*first), Ref(*last), tuple(Ref(0, nth) for nth in shows))


def shown(*events):
    store = kept(*events)
    view = fold(store.read(CTX))
    return [name for name, _ in named_messages(view, load_messages(store, CTX, view.entries))]


MESSAGES = [message_event(hello(n)) for n in range(4)]


def test_a_compaction_shows_its_own_messages_in_place_of_others():
    d1 = compaction(over((1,), (2,), 0), over((4,), (4,), 1), names=("d1", "m4"))
    assert shown(*MESSAGES, d1, message_event(hello(9))) == ["d1", "m3", "m4", "m5"]


def test_a_compaction_may_show_nothing_for_what_it_takes():
    assert shown(*MESSAGES, compaction(over((2,), (3,)), names=())) == ["m1", "m4"]


def test_an_undo_brings_back_what_was_shown_and_keeps_what_came_since():
    d1 = compaction(over((1,), (2,), 0))
    assert shown(*MESSAGES, d1, message_event(hello(9)), undo(5)) == ["m1", "m2", "m3", "m4", "m5"]


def test_undoing_a_compaction_undoes_those_that_were_built_on_it():
    d1, d2 = compaction(over((1,), (2,), 0)), compaction(over((5, 0), (3,), 0), names=("d2",))
    assert shown(*MESSAGES, d1, d2) == ["d2", "m4"]
    assert shown(*MESSAGES, d1, d2, undo(6)) == ["d1", "m3", "m4"]
    assert shown(*MESSAGES, d1, d2, undo(5)) == ["m1", "m2", "m3", "m4"]


def test_switched_off_the_whole_history_is_shown_until_switched_on_again():
    d1 = compaction(over((1,), (2,), 0))
    assert shown(*MESSAGES, d1, switch(True), message_event(hello(9))) == ["m1", "m2", "m3", "m4", "m5"]
    assert shown(*MESSAGES, d1, switch(True), message_event(hello(9)), switch(False)) == [
        "d1",
        "m3",
        "m4",
        "m5",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        compaction(over((7,), (7,), 0)),
        compaction(over((2,), (1,), 0)),
        compaction(over((1,), (2,), 0), over((2,), (3,), 0)),
        undo(3),
        new_event("undo", {}),
        new_event("compaction", {"messages": []}),
        new_event("resume", {}),
        new_event("resume", {"compaction": 4, "messages": 1, "keeps": [9], "system": 0}),
    ],
)
def test_an_event_that_does_not_fit_its_view_is_skipped_and_listed(wrong):
    view = fold(kept(*MESSAGES, wrong, message_event(hello(9))).read(CTX))
    assert shown(*MESSAGES, wrong, message_event(hello(9))) == ["m1", "m2", "m3", "m4", "m5"]
    assert [(one.seq, one.kind) for one in view.problems] == [(5, wrong.kind)]
    assert view.problems[0].reason
    assert view_from_json(view_to_json(view)) == view


def by_tool():
    return new_event("tool_compaction", {**compaction(names=("c1",)).body, "name": "c1", "keeps": [1, 3]})


def resume(seq, keeps=(1, 3), system=1):
    return new_event("resume", {"compaction": seq, "messages": 1, "keeps": list(keeps), "system": system})


def test_a_session_continues_from_what_its_tool_left():
    """The system prompt, the tool's summary, what it kept, and the rest; an undo leads back to that."""
    begun = [*MESSAGES, by_tool(), message_event(hello(9)), resume(5)]
    assert shown(*begun) == ["m1", "c1", "m3", "m5"]
    d1 = compaction(over((5, 0), (3,), 0))
    assert shown(*begun, d1, message_event(hello(10))) == ["m1", "d1", "m5", "m6"]
    assert shown(*begun, d1, message_event(hello(10)), undo(8)) == ["m1", "c1", "m3", "m5", "m6"]
    assert shown(*begun, d1, switch(True)) == ["m1", "m2", "m3", "m4", "m5"]
    view = fold(kept(*begun, d1).read(CTX))
    assert view_from_json(json.loads(json.dumps(view_to_json(view)))) == view
    late = fold(kept(*MESSAGES, compaction(over((1,), (2,), 0)), by_tool(), resume(6)).read(CTX))
    assert [problem.kind for problem in late.problems] == ["resume"]  # clew compacted it before


def test_a_second_undo_of_one_compaction_changes_nothing():
    d1, d2 = compaction(over((1,), (2,), 0)), compaction(over((5, 0), (3,), 0), names=("d2",))
    assert shown(*MESSAGES, d1, d2, undo(6), undo(6)) == ["d1", "m3", "m4"]
    assert shown(*MESSAGES, d1, undo(5), d2, undo(5)) == ["m1", "m2", "m3", "m4"]
    (problem,) = fold(kept(*MESSAGES, d1, d2, undo(6), undo(6)).read(CTX)).problems
    assert str(problem) == "event 8 (undo): it undoes the compaction of event 6, which is not in force"


@given(st.lists(st.integers(0, 9), max_size=8), st.booleans())
def test_views_folded_earlier_never_change(script, resumed):
    """Compact the first two entries again and again, undo at random; every earlier view stays itself."""
    store = kept(*MESSAGES, *([by_tool(), resume(5)] if resumed else ()))
    view = fold(store.read(CTX))
    seen = []
    for choice in script:
        seen.append((view, list(view.entries)))
        if choice > 6 and view.steps:
            event = undo(view.steps[choice % len(view.steps)].seq)
        else:
            event = compaction(Splice(view.entries[0], view.entries[1 % len(view.entries)], (Ref(0, 0),)))
        head = store.append(CTX, [event, message_event(hello(choice))], None)
        view = fold(store.read(CTX, view.seq, head.seq), view)
    assert all(list(view.entries) == entries for view, entries in seen)
    assert fold(store.read(CTX)) == view
    assert view_from_json(json.loads(json.dumps(view_to_json(view)))) == view
