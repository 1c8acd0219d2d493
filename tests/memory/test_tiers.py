"""How memories travel between the tiers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION, new_event
from clew.log.fold import TIER, UNDO
from clew.log.protocol import Ctx, StoredEvent
from clew.log.store import MemoryStore, SqliteStore
from clew.memory import Memory
from clew.memory.index import EntryKind
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.tier_moves import (
    NOTHING_LEFT,
    Moment,
    apply_moves,
    fold_tiers,
    moves_due,
    moves_for,
    tiers_of,
)
from clew.memory.tiers import Excerpt, Tier, TierMove, TierPolicy, Tiers, move_from_json, move_to_json
from tests.memory.talks import compaction, turns

CTX = Ctx(workspace="north", session="main")
NOW = Moment("2026-01-01T00:00:00.000Z", 100)
SMALL = TierPolicy(recall_spans=2, archive_spans=2, idle_messages=10)


def log(*events, start=1):
    return [StoredEvent(seq, "", "", event) for seq, event in enumerate(events, start=start)]


def undo(seq):
    return new_event(UNDO.name, {"compaction": seq}, UNDO.version)


def chain(count):
    """Return compactions of ten messages each, every one on top of the last."""
    return [
        compaction(n, 10 * n - 9, 10 * n, folds=f"d{n - 1}" if n > 1 else "") for n in range(1, count + 1)
    ]


def where(tiers):
    return {name: span.tier.value for name, span in tiers.spans.items()}


def settled(tiers, now=NOW, policy=SMALL):
    return apply_moves(moves_due(tiers, now, policy), tiers)


def test_what_a_compaction_condensed_leaves_for_recall_and_what_it_cut_short_too():
    tiers = fold_tiers(log(compaction(1, 1, 9, stub="m12")))
    assert [str(move) for move in moves_due(tiers, NOW)] == [
        "d1: working → recall (m1-m9 left the window)",
        "m12: working → recall (cut short: read again later)",
    ]
    assert moves_due(settled(tiers), NOW) == []
    assert [settled(tiers).of(ref).value for ref in ("m9", "m10", "m12", "d1", "m1@old")] == [
        "recall",
        "working",
        "recall",
        "recall",
        "recall",
    ]


def test_a_digest_on_top_of_another_stands_for_its_own_messages_alone():
    tiers = fold_tiers(log(*chain(2)))
    assert [span.covers for span in tiers.spans.values()] == ["m1-m10", "m11-m20"]


def test_the_oldest_age_in_groups_when_recall_is_full():
    tiers = settled(fold_tiers(log(*chain(5))))
    assert where(tiers) == {
        "d1": "archive",
        "d2": "archive",
        "d3": "recall",
        "d4": "recall",
        "d5": "recall",
    }
    assert [span.digest for span in tiers.archived()["a1"]] == ["d1", "d2"]


def test_what_is_old_ages_however_little_there_is():
    tiers = settled(fold_tiers(log(*chain(2))))
    later = Moment("2036-01-01T00:00:00.000Z", 100)
    (move,) = moves_due(tiers, later, TierPolicy(archive_spans=2))
    assert str(move) == "d1-d2: recall → archive (archived as a1: older than 30 days)"


@pytest.mark.parametrize("never", [float("inf"), 1e7])
def test_with_no_limit_of_age_nothing_is_archived_for_its_age(never):
    tiers = settled(fold_tiers(log(*chain(2))))
    later = Moment("2036-01-01T00:00:00.000Z", 100)
    assert moves_due(tiers, later, TierPolicy(archive_spans=2, recall_days=never)) == []


def test_an_undo_brings_back_what_left_and_takes_the_archive_apart():
    tiers = settled(fold_tiers(log(*chain(4))))
    assert where(tiers)["d2"] == "archive"
    undone = fold_tiers(log(undo(2), start=9), tiers)
    assert [str(move) for move in moves_due(undone, NOW, SMALL)] == [
        "d1: archive → recall (a1 is dissolved: a compaction it covers was undone)",
        "d2: archive → working (the compaction was undone)",
        "d3-d4: recall → working (the compaction was undone)",
    ]
    assert where(settled(undone)) == {"d1": "recall"}


def test_what_was_cut_short_before_it_left_is_cut_short_again_when_it_comes_back():
    first = [compaction(1, 1, 9, stub="m12"), compaction(2, 10, 19, folds="d1")]
    tiers = settled(fold_tiers(log(*first)))
    undone = settled(fold_tiers(log(undo(2), start=9), tiers))
    assert [undone.of(ref).value for ref in ("m11", "m12")] == ["working", "recall"]
    assert settled(fold_tiers(log(undo(1), start=10), undone)).of("m12") is Tier.WORKING


def test_what_was_undone_before_it_was_moved_goes_unmentioned():
    tiers = fold_tiers(log(*chain(1), undo(1)))
    assert (moves_due(tiers, NOW), dict(tiers.spans)) == ([], {})


def test_what_is_wanted_comes_back_stays_while_it_is_wanted_and_leaves_when_it_is_not():
    tiers = settled(fold_tiers(log(*chain(1))))
    excerpt = Excerpt("m3", 0, 40, 12, "has E1234")
    comes = moves_for([excerpt], (), tiers, NOW)
    assert [str(move) for move in comes] == ["m3: recall → working (wanted: has E1234)"]
    inside = apply_moves(comes, tiers)
    assert (inside.of("m3"), inside.of("m4")) == (Tier.WORKING, Tier.RECALL)
    assert moves_due(inside, NOW._replace(messages=109), SMALL) == []
    again = apply_moves(moves_for([excerpt], (), inside, NOW._replace(messages=105)), inside)
    assert moves_due(again, NOW._replace(messages=114), SMALL) == []
    (leaves,) = moves_due(again, NOW._replace(messages=115), SMALL)
    assert str(leaves) == "m3: working → recall (nothing asked for it in 10 messages)"


def test_what_no_request_shows_any_more_makes_room():
    tiers = apply_moves(
        moves_for([Excerpt("m3", 0, 9, 9, "x"), Excerpt("m4", 0, 9, 9, "x")], (), NOTHING_LEFT, NOW), Tiers()
    )
    moves = moves_for([Excerpt("m5", 0, 9, 9, "y")], {"m4"}, tiers, NOW)
    assert [(move.what, move.to.value) for move in moves] == [(("m3",), "working"), (("m5",), "working")]


@given(st.lists(st.sampled_from("cum"), max_size=24))
def test_whatever_happens_one_settling_is_enough_and_a_replay_agrees(story):
    """Compactions, undos and recalls in any order: the record of the moves leads to the same place."""
    store, made, standing = MemoryStore(), 0, []
    memory = Memory(store, CTX, policy=SMALL)
    for step in story:
        if step == "c":
            store.append(CTX, turns(10), None)
            made += 1
            first = 10 * made - 9
            folds = f"d{standing[-1][0]}" if standing else ""
            seq = store.append(
                CTX, [compaction(made, first, first + 9, folds=folds, stub=f"m{first + 12}")], None
            ).seq
            standing.append((made, seq))
        elif step == "u" and standing:
            store.append(CTX, [undo(standing.pop()[1])], None)
        else:
            memory.moves()
    expected = memory.tiers
    memory.moves()
    assert memory.moves() == []
    assert list(memory.tiers.spans) == [f"d{number}" for number, _ in standing]
    assert memory.tiers == Memory(store, CTX, policy=SMALL).tiers
    assert memory.tiers.spans == expected.spans
    whole = fold_tiers(store.read(CTX))
    assert replace(tiers_of(store, CTX), read=whole.read) == whole


def test_a_move_is_read_back_as_it_was_written():
    move = TierMove(
        what=("m3",),
        origin=Tier.RECALL,
        to=Tier.WORKING,
        why="wanted",
        at=7,
        excerpt=Excerpt("m3", 0, 9, 3, "w"),
    )
    event = new_event(TIER.name, move_to_json(move), TIER.version)
    assert move_from_json(StoredEvent(1, "", "", event)) == move
    with pytest.raises(StoreDamaged, match="event 1 is not a valid tier move"):
        move_from_json(StoredEvent(1, "", "", new_event(TIER.name, {"what": []}, TIER.version)))


def test_every_move_is_an_event_with_its_reason():
    store = MemoryStore()
    store.append(CTX, [*turns(10), *chain(1)], None)
    memory = Memory(store, CTX)
    assert memory.moves() != []
    (event,) = store.read(CTX, kinds=[TIER.name])
    at = next(store.read(CTX, kinds=[COMPACTION.name])).event.time
    assert event.event.body == {
        "what": ["d1"],
        "from": "working",
        "to": "recall",
        "why": "m1-m10 left the window",
        "at": 10,
        "left": {"seq": 11, "time": at, "covers": "m1-m10"},
    }


def test_from_the_archive_to_the_turns_it_is_two_steps():
    store = MemoryStore()
    store.append(CTX, turns(40), None)
    store.append(CTX, chain(4), None)
    memory = Memory(store, CTX, policy=SMALL)
    memory.moves()
    archive = memory.open("a1")
    assert (archive.what, archive.holds) == ("archive", ("d1", "d2"))
    assert archive.quotations[0].text.splitlines()[0].startswith("d1: m1-m10, ")
    digest = memory.open(archive.holds[0])
    assert digest.holds == tuple(f"m{n}" for n in range(1, 11))
    assert memory.open(digest.holds[0], 0).quotations[0].text == "message number1"
    assert memory.open("d1.2").holds == ("m1",)
    line = memory.open("a1.2")
    assert (line.what, line.quotations) == ("line", (archive.quotations[2],))
    for gone in ("a2", "a1.99", "d9", "d1.9", "m41", "nothing.md"):
        with pytest.raises(NotFound):
            memory.open(gone)


def test_a_line_of_a_message_is_refused_with_what_to_open():
    store = MemoryStore()
    store.append(CTX, turns(2), None)
    with pytest.raises(NotFound, match="a message has no lines") as refused:
        Memory(store, CTX).open("m2.1")
    assert "open m2" in str(refused.value)


@pytest.mark.slow
def test_the_first_hour_of_twenty_thousand_messages_is_two_steps_away(tmp_path):
    with SqliteStore(tmp_path / "clew.db") as store, SqliteIndex(tmp_path / "clew.db") as index:
        memory = Memory(store, CTX, index)
        for number in range(1, 101):
            first = 200 * number - 199
            folds = f"d{number - 1}" if number > 1 else ""
            store.append(CTX, [*turns(200, first), compaction(number, first, first + 199, folds=folds)], None)
            if number % 20 == 0:
                memory.moves()
                memory.catch_up()
        assert {len(spans) for spans in memory.tiers.archived().values()} == {32}
        assert memory.ref(memory.search("number42")[0].entry) == "m42"
        hit = next(hit for hit in memory.search("decision1") if hit.entry.kind is EntryKind.DIGEST)
        archive = memory.open(hit.entry.ref.partition(".")[0])
        digest = memory.open(archive.holds[0])
        assert (archive.ref, archive.holds[0], digest.holds[41]) == ("a1", "d1", "m42")
        assert memory.open(digest.holds[41], 0).quotations[0].text == "message number42"
