"""``CuratedSession``: what a person looks up in a session and corrects by hand.

It is the second part of ``Session``, on top of the log:

- changes of rules (``pin``, ``unpin``, ``rescan_rules``, …), kept facts and open work: each is an event
- looking back: where something comes from and why it was changed, a handoff, the progress so far
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.ledger.kept_facts import KeptFact
from clew.log import PROGRESS, new_event
from clew.log.protocol import Event
from clew.rules.rule import Pin
from clew.session.changes import change_fact, change_loop, change_rule, confirm_imported, keep_passage
from clew.session.compact_session import losses_of
from clew.session.found_rules import RuleChanges, changes
from clew.session.history import Compaction
from clew.session.provenance import Expansion, Explanation, expand, explain
from clew.session.replay import Replay
from clew.session.session_log import SessionLog

if TYPE_CHECKING:
    from clew.compaction.verify import Report
    from clew.request.progress_log import Checkpoint
    from clew.session.handoff_headings import Handoff


class CuratedSession(SessionLog):
    """A conversation in a store, with what a person changes and looks up in it."""

    # Rules, kept facts and open work --------------------------------------------------------------------

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Return the rules in force."""
        return self._replay.ledger.pins.active

    def pin(self, quote: str) -> Pin:
        """Set a rule by hand: from the next request on the model reads it, and every digest repeats it."""
        return change_rule(self._replay, {"does": "pin", "quote": self._mask(quote)})

    def edit_pin(self, pin: str, quote: str, *, shown: str | None = None) -> Pin:
        """Replace the wording of a rule; ``shown`` is the wording that a person saw under this id."""
        return change_rule(self._replay, {"does": "edit", "pin": pin, "quote": self._mask(quote)}, shown)

    def unpin(self, pin: str, why: str = "revoked by hand", *, shown: str | None = None) -> Pin:
        """Revoke a rule; ``shown`` is the wording that a person saw under this id."""
        return change_rule(self._replay, {"does": "revoke", "pin": pin, "why": self._mask(why)}, shown)

    def confirm_rules(self, shown: Iterable[str] | None = None) -> tuple[Pin, ...]:
        """Activate rules that were set by hand in an imported file; return them.

        ``shown`` are the wordings that a person saw; without it, those that this session has read. A rule
        that another process imported meanwhile keeps waiting.
        """
        return confirm_imported(self._replay, shown)

    def rescan_rules(self, *, apply: bool = True) -> RuleChanges:
        """Search the whole session for rules with the installed rule finder; return what changes.

        A session keeps the rules that were found when its messages were added, also under later versions of
        clew. This replaces them by what the installed version finds, durably unless ``apply`` is False.
        Changes made by hand are applied again to rules of the same wording.
        """
        self._replay.catch_up()
        difference = RuleChanges((), ())

        def decide() -> list[Event]:
            nonlocal difference
            replay = Replay(self.store, self.ctx, self.counter)
            replay.recorded.ignored = True
            replay.catch_up()
            difference = changes(self.pins, replay.ledger.pins.active)
            wanted = difference or self._replay.recorded.unrecorded
            return [replay.recorded.event(len(replay.view.whole), rescan=True)] if apply and wanted else []

        if apply:
            self._replay.append(decide)
        else:
            decide()
        return difference

    def keep(self, quote: str, source: str) -> KeptFact:
        """Keep a passage of a message word for word in every digest, with the trust label of its source."""
        self._replay.catch_up()
        return keep_passage(self._replay, quote, source)

    def unkeep(self, fact: str) -> KeptFact:
        """Stop keeping a passage; its message stays in the log."""
        return change_fact(self._replay, {"does": "drop", "fact": fact})

    def close_loop(self, loop: str, why: str = "closed by hand") -> None:
        """Close an open item, done or abandoned; it stays in the log with the reason."""
        change_loop(self._replay, {"does": "close", "loop": loop, "why": self._mask(why)})

    def reopen_loop(self, loop: str) -> None:
        """Open a closed item again."""
        change_loop(self._replay, {"does": "reopen", "loop": loop})

    # Looking back ---------------------------------------------------------------------------------------

    def expand(self, ref: str) -> Expansion:
        """Return the sources of a message, a digest, one of its lines, or a rule: m12, d1, d1.4, p2."""
        self._replay.catch_up()
        return expand(self._replay, ref)

    def explain(self, ref: str) -> Explanation:
        """Return why something is shown as it is, or why it left the view."""
        self._replay.catch_up()
        return explain(self._replay, ref)

    def trace(self) -> list[Compaction]:
        """Return the compactions in force, oldest first."""
        self._replay.catch_up()
        return self._replay.in_force()

    @property
    def last_compaction(self) -> int:
        """Return the position of the newest compaction in force in the log; 0 if there is none."""
        steps = self._replay.view.steps
        return steps[-1].seq if steps else 0

    def losses(self, name: str) -> Report:
        """Return the checks of a compaction (``d2``) with every exact value named that left the view.

        The recorded report names those most likely to be missed. This reads the log up to the compaction.
        """
        self._replay.catch_up()
        return losses_of(self._replay, name)

    def handoff(self, tokens: int = 3_000) -> Handoff:
        """Return what a new session or another agent needs to continue, under fourteen headings.

        Each line quotes the session and names its source message; ``clew.session.handoff_headings`` renders
        it as Markdown. The story and the findings are limited to ``tokens``; the rest is always included.
        """
        from clew.session.handoff import sections_of  # imported when one is written
        from clew.session.handoff_headings import handoff_headings

        items = list(self.originals())
        sections = sections_of(items, self.ledger, tokens, self.counter.count_text)
        return handoff_headings(sections, items, self.ledger)

    def checkpoint(self, why: str) -> Checkpoint | None:
        """Record what was done since the last checkpoint, what is open and what comes next; None if nothing.

        A compaction records one itself; ``why`` says what else was reached, such as "tests pass".
        """
        from clew.request.progress_log import checkpoint_to_json  # imported when one is taken

        taken: list[Checkpoint] = []

        def decide() -> list[Event]:
            checkpoint = self._next_checkpoint(self._checkpoints(), self._mask(why))
            taken[:] = [checkpoint] if checkpoint else []
            return [new_event(PROGRESS.name, checkpoint_to_json(item), PROGRESS.version) for item in taken]

        self._replay.append(decide)
        return taken[0] if taken else None

    def progress(self) -> list[Checkpoint]:
        """Return the recorded checkpoints, oldest first, and the state of the work now if anything is new."""
        self._replay.catch_up()
        past = self._checkpoints()
        now = self._next_checkpoint(past, "now")
        return [*past, now] if now else past

    def _checkpoints(self) -> list[Checkpoint]:
        from clew.request.progress_log import checkpoints

        return checkpoints(self.store.read(self.ctx, kinds=[PROGRESS.name]))

    def _next_checkpoint(self, past: list[Checkpoint], why: str) -> Checkpoint | None:
        """Return the checkpoint that follows these; None if nothing happened since the last."""
        from clew.request.progress_log import next_checkpoint

        now = datetime.now(UTC).isoformat(timespec="seconds")
        return next_checkpoint(self.ledger, past, time=now, why=why, quote=self._replay.quote)
