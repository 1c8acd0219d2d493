"""The SQLite store and its twin in memory cannot be told apart."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from clew.errors import ClewError
from clew.log import check_session, new_event
from clew.log.protocol import Ctx, Head
from clew.log.store import MemoryStore, SqliteStore
from clew.log.store.audit import audit
from tests.conftest import tries
from tests.log.generated import bodies

contexts = st.builds(lambda w, s: Ctx(workspace=w, session=s), st.sampled_from("ab"), st.sampled_from("xy"))
kinds = st.sampled_from(["message-like", "note", "dream"])
LONG = {"text": "an output that lies apart\n" * 200}


class Twins(RuleBasedStateMachine):
    events = Bundle("events")
    heads = Bundle("heads")

    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "clew.db"
        self.sqlite, self.memory = SqliteStore(self.path), MemoryStore()

    def teardown(self):
        self.sqlite.close()
        self.folder.cleanup()

    def both(self, act):
        """Do the same to both; return what came of it, which must be the same."""
        outcomes = []
        for store in (self.sqlite, self.memory):
            try:
                outcomes.append(act(store))
            except ClewError as error:
                outcomes.append(type(error))
        assert repr(outcomes[0]) == repr(outcomes[1])
        return outcomes[0]

    @rule(target=events, kind=kinds, body=bodies | st.just(LONG))
    def make(self, kind, body):
        return new_event(kind, body)

    @rule(target=heads, ctx=contexts, batch=st.lists(events, max_size=3), expect=st.none() | heads)
    def append(self, ctx, batch, expect):
        outcome = self.both(lambda store: store.append(ctx, batch, expect))
        return outcome if isinstance(outcome, Head) else multiple()

    @rule(target=heads, ctx=contexts, event=consumes(events))
    def append_at_the_head(self, ctx, event):
        outcome = self.both(lambda store: store.append(ctx, [event], store.head(ctx)))
        return outcome if isinstance(outcome, Head) else multiple()

    @rule(
        ctx=contexts,
        after=st.sampled_from([0, -1, 1, 3, 2**80, -(2**80)]),
        until=st.sampled_from([None, -1, 0, 1, 3, 2**80, -(2**80)]),
        wanted=st.none() | st.sets(kinds | st.just("message")),
    )
    def read(self, ctx, after, until, wanted):
        self.both(lambda store: list(store.read(ctx, after, until, wanted)))

    @rule(
        ctx=contexts,
        event_id=events.map(lambda event: event.id) | st.text(st.characters(exclude_categories=())),
    )
    def find(self, ctx, event_id):
        self.both(lambda store: store.find(ctx, event_id))

    @rule(workspace=st.sampled_from(["a", "b", "c", ""]))
    def sessions(self, workspace):
        self.both(lambda store: list(store.sessions(workspace)))

    @rule()
    def reopen(self):
        self.sqlite.close()
        self.sqlite = SqliteStore(self.path)

    @rule(ctx=contexts)
    def check(self, ctx):
        assert self.both(lambda store: list(check_session(store, ctx))) == []

    @rule()
    def audit(self):
        assert audit(self.path).flaws == ()

    @invariant()
    def heads_agree(self):
        if hasattr(self, "sqlite"):
            for ctx in (Ctx(workspace=w, session=s) for w in "ab" for s in "xy"):
                self.both(lambda store, ctx=ctx: store.head(ctx))


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=tries(20, 80), stateful_step_count=25, deadline=None)
