"""Sessions on one log whose store operations are interleaved as a seed says, one at a time.

Threads do the acts, but only one of them ever runs: before each operation of the store it gives up its turn,
and the schedule decides which one goes on. The same seed is the same schedule.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from clew.errors import ClewError
from clew.log import COMPACTION
from clew.log.protocol import Ctx, Event, Head, StoredEvent
from clew.log.store import MemoryStore
from clew.memory.notes import Draft, Notebook, NoteScope
from clew.message import Message, Role, text_message
from clew.session import Session
from clew.session.replay import Replay
from clew.tokens import UNKNOWN, counter_for
from tests.session.talk import answer, call, talk

CTX = Ctx(workspace="local", session="main")
WINDOW = 20_000
ANSWER = "m7"
"""The first tool output of the log that every schedule begins with."""
RULES = ("Do not push to main.", "Only use the staging database.", "Answer in French.", "Keep commits small.")
SAID = (
    *RULES,
    "You may push to main now.",
    "Use the production database instead of staging.",
    "What does round_half_up do?",
    "TODO:\n- [ ] write the parser\n- [ ] test the lexer",
    "- [x] write the parser",
)


LONGEST_STEP_S = 60


class Turns:
    """Lets one thread run at a time, chosen by a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._back = threading.Semaphore(0)
        self._go: dict[str, threading.Semaphore] = {}
        self.failed: list[BaseException] = []
        self.operations = 0

    def run(self, tasks: dict[str, Callable[[], None]]) -> None:
        """Run the tasks to their ends, interleaved."""
        self._go = {name: threading.Semaphore(0) for name in tasks}
        threads = [
            threading.Thread(target=self._task, args=one, name=one[0], daemon=True) for one in tasks.items()
        ]
        for thread in threads:
            thread.start()
        while self._go:
            self._go[self._chance.choice(sorted(self._go))].release()
            assert self._back.acquire(timeout=LONGEST_STEP_S), "a task waits for what another one holds"
        for thread in threads:
            thread.join()
        if self.failed:
            raise self.failed[0]

    def _task(self, name: str, task: Callable[[], None]) -> None:
        self._go[name].acquire()
        try:
            task()
        except BaseException as cause:  # noqa: BLE001  # is raised again by the thread that waits
            self.failed.append(cause)
        finally:
            del self._go[name]
            self._back.release()

    def give_up(self) -> None:
        """Let another go on, or the same: called by the threads of tasks only."""
        mine = self._go.get(threading.current_thread().name)
        if mine is not None:
            self.operations += 1
            self._back.release()
            mine.acquire()


class TurnStore(MemoryStore):
    """A store before whose every operation others may be first."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.appended: dict[str, int] = {}
        """The last event that each thread appended."""

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        self._turns.give_up()
        head = super().append(ctx, events, expect)
        self.appended[threading.current_thread().name] = head.seq
        return head

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[StoredEvent]:
        self._turns.give_up()
        return iter(list(super().read(ctx, after, until, kinds)))

    def head(self, ctx: Ctx) -> Head:
        self._turns.give_up()
        return super().head(ctx)


Effect = Callable[[Replay], bool]


@dataclass
class Person:
    """Does random things to the session, and remembers what was acknowledged."""

    name: str
    store: TurnStore
    chance: Random
    acts: int
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[int, tuple[str, Effect]] = field(default_factory=dict)
    """By the event that an act appended: what it was, and how to see that it has effect."""

    def work(self) -> None:
        self.session = Session.open("main", self.store, window=WINDOW)
        self.notes = Notebook(self.store, "local", "main")
        for _ in range(self.acts):
            kind, act = self.chance.choice(self.choices())
            before = self.store.appended.get(self.name, 0)
            try:
                effect = act()
            except ClewError as reason:
                self.refused[f"{kind}: {type(reason).__name__}"] += 1
                continue
            seq = self.store.appended.get(self.name, 0)
            self.done[kind] += 1
            if effect:
                assert seq > before, f"{kind} was acknowledged, and nothing was appended"
                self.acknowledged[seq] = kind, effect

    def choices(self) -> list[tuple[str, Callable[[], Effect | None]]]:
        return [
            *[("undo", self.undo)] * 3,
            *[("compact", self.compact)] * 2,
            *[("say", self.say)] * 3,
            *[("pin", self.pin), ("edit", self.edit), ("unpin", self.unpin)] * 2,
            *[("close", self.close), ("reopen", self.reopen)] * 2,
            *[("keep", self.keep), ("unkeep", self.unkeep)],
            ("note", self.note),
            ("switch", self.switch),
            ("rescan", self.rescan),
        ]

    def say(self) -> Effect:
        (name,) = self.session.add(text_message(Role.USER, self.chance.choice(SAID)))
        return lambda replay: name == f"m{len(replay.view.whole)}"

    def compact(self) -> None:
        done = self.session.compact(target_tokens=self.chance.choice((900, 1_300, 2_000)))
        if done:  # checked after its own event: its progress is appended later, perhaps after an undo
            self.acknowledged[done.seq] = "compact", lambda replay: replay.view.steps[-1].seq == done.seq

    def undo(self) -> Effect:
        seen = [step.seq for step in self.session._replay.view.steps]
        undone = [one.seq for one in self.session.undo(self.chance.choice((1, 1, 2)))]
        assert undone == seen[::-1][: len(undone)], "a compaction that nobody saw was undone"
        return lambda replay: [step.seq for step in replay.view.steps] == seen[: -len(undone)]

    def pin(self) -> Effect:
        quote = self.chance.choice((*RULES, f"Rule of {self.name} {self.chance.random()}."))
        pin = self.session.pin(quote)
        assert pin.quote.rstrip(".").casefold() == quote.rstrip(".").casefold()
        return lambda replay: any(one.quote == quote and one.is_active for one in replay.ledger.pins.all)

    def _any_pin(self) -> str:
        known = self.session.ledger.pins.all  # what ended too: then a reason must be given
        return self.chance.choice(known).id if known else "p1"

    def edit(self) -> Effect:
        quote = f"Edited by {self.name} {self.chance.random()}."
        old = self._any_pin()
        assert self.session.edit_pin(old, quote).quote == quote
        return lambda replay: any(one.quote == quote and one.is_active for one in replay.ledger.pins.all)

    def unpin(self) -> Effect:
        why = f"{self.name} {self.chance.random()}"
        gone = self.session.unpin(self._any_pin(), why)
        return lambda replay: any(
            (one.ref, one.why, one.is_active) == (gone.ref, why, False) for one in replay.ledger.pins.all
        )

    def close(self) -> Effect:
        loops = [loop.id for loop in self.session.ledger.loops.open] or ["t1"]
        why = f"{self.name} {self.chance.random()}"
        self.session.close_loop(self.chance.choice(loops), why)
        return lambda replay: any(loop.why == why for loop in replay.ledger.loops.closed)

    def reopen(self) -> Effect:
        loops = self.session.ledger.loops.closed_by_hand
        chosen = self.chance.choice(loops).id if loops else "t1"
        self.session.reopen_loop(chosen)
        return lambda replay: any(loop.id == chosen for loop in replay.ledger.loops.open)

    def keep(self) -> Effect:
        fact = self.session.keep(f"step_0_{self.chance.randrange(6)} = lines[", ANSWER)
        return lambda replay: fact in replay.ledger.facts.all

    def unkeep(self) -> Effect:
        kept = self.session.ledger.facts.all
        gone = self.session.unkeep(self.chance.choice(kept).id if kept else "k1")
        return lambda replay: gone not in replay.ledger.facts.all

    def note(self) -> None:
        live = [note.id for note in self.notes.notes() if note.id.startswith("s")]
        if live and self.chance.random() < 0.5:
            self.notes.forget(self.chance.choice(live))
        else:
            self.notes.add(Draft(key="tone", text=f"tone {self.chance.random()}", scope=NoteScope.SESSION))

    def switch(self) -> None:
        self.session.switch_off()
        self.session.switch_on()

    def rescan(self) -> None:
        self.session.rescan_rules()


def template() -> list[Event]:
    """Return the log that every schedule begins with: rules, tasks, two compactions."""
    session = Session.open("main", MemoryStore(), window=WINDOW)
    todos = [{"content": one, "status": "pending"} for one in ("split invoice.py", "write the migration")]
    messages: list[Message] = [*talk(5), call(90, "TodoWrite", todos=todos), answer(90, "ok")]
    session.add(*messages, *(text_message(Role.USER, rule) for rule in RULES[:2]))
    session.compact(target_tokens=2_000)
    session.compact(target_tokens=1_300)
    return [stored.event for stored in session.events()]


@dataclass
class Outcome:
    """What came of schedules."""

    operations: int = 0
    events: int = 0
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def run_schedule(seed: int, begins: Sequence[Event], into: Outcome) -> None:
    """Run one schedule; raise if a log does not open, or an acknowledged act has no effect."""
    chance, turns = Random(seed), Turns(seed)
    store = TurnStore(turns)
    store.append(CTX, begins, None)
    names = [f"w{number}" for number in range(chance.choice((2, 2, 3, 4)))]
    people = [Person(name, store, Random(f"{seed} {name}"), chance.choice((3, 4, 6))) for name in names]
    turns.run({one.name: one.work for one in people})
    fresh = Session.open("main", store, window=WINDOW)
    assert fresh.problems == [], fresh.problems
    for one in people:
        assert _state(one.session) == _state(fresh), f"{one.name} sees something else"
    _check_effects(store, people)
    into.operations += turns.operations
    into.events += store.head(CTX).seq - len(begins)
    for one in people:
        into.done += one.done
        into.refused += one.refused


def _state(session: Session) -> object:
    view = session.view()
    loops = session.ledger.loops
    return (
        [item.id for item in view],
        [step.seq for step in session._replay.view.steps],
        session.ledger.pins.all,
        loops.open,
        loops.closed_by_hand,
    )


def _check_effects(store: TurnStore, people: Sequence[Person]) -> None:
    """Replay the log event by event: right after its own, every acknowledged act has its effect."""
    wanted = {seq: one for person in people for seq, one in person.acknowledged.items()}
    replay = Replay(store, CTX, counter_for(UNKNOWN))
    rescans = 0
    for stored in list(store.read(CTX)):
        if stored.event.kind == "rules":
            rescans += 1  # from here on rules may differ: what was acknowledged before was checked before
            replay = Replay(store, CTX, counter_for(UNKNOWN))
            for earlier in store.read(CTX, until=stored.seq):
                if earlier.event.kind != "rules":
                    replay.apply_event(earlier)
        else:
            replay.apply_event(stored)
        if stored.seq in wanted:
            kind, has_effect = wanted.pop(stored.seq)
            assert has_effect(replay), f"{kind} (event {stored.seq}) was acknowledged and has no effect"
    assert not wanted, wanted
    assert replay.compactions == sum(1 for one in store.read(CTX) if one.event.kind == COMPACTION.name)
