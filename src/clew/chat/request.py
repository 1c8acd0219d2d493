"""What is sent to the model for a session as it stands: the place where a chat meets ``clew.request``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.chat.approvals import Approvals
from clew.chat.instructed import Instructed
from clew.chat.kit import Kit
from clew.chat.progressed import Progressed
from clew.memory import Injection, Memory
from clew.message import Item, JsonObject, Origin, Role, Trust
from clew.providers.clients import StreamingModel
from clew.request.assemble import Parts, Room, assemble
from clew.request.assembled import Assembled
from clew.request.cache_marks import Marks
from clew.request.diagnostics import Scene
from clew.request.fence import Fence, session_key
from clew.request.pieces import clauses_for, remembered
from clew.request.prompt_cache import Call
from clew.request.rehydration import Now, invoked_skills, rehydrate
from clew.request.sections import PLAN, Piece
from clew.secrets.mask import own_key
from clew.session import Session


@dataclass(slots=True)
class Requests:
    """Assembles the requests of one chat."""

    session: Session
    kit: Kit
    memory: Memory
    approvals: Approvals
    instructed: Instructed
    progressed: Progressed
    _injected: tuple[str, Injection] | None = None
    """What memory brings back for the user's last words, and the id of those."""
    _shown: str = ""
    """The id of the words for which it is on record what was brought back."""

    def assembled(self) -> Assembled:
        """Return the next request before it is written for a wire; switched off, it is a plain client's."""
        view = self.session.view()
        off = self.session.is_off
        parts = Parts(
            view=view,
            pieces=() if off else tuple(self._pieces(view)),
            tools=() if off else self.kit.tools,
            fence=Fence(session_key(own_key(), self.session.ctx.workspace, self.session.name)),
            room=Room(self.session.gauge.window.usable_tokens, self.session.gauge.policy),
            off=off,
        )
        return assemble(parts, self.session.counter)

    def about(self, assembled: Assembled) -> JsonObject:
        """Return who was given what, and what memory brought back and why, for the record."""
        told = assembled.to_json()
        return {**told, "recalled": self._injected[1].to_json()} if self._injected else told

    def body(self, assembled: Assembled, model: StreamingModel) -> JsonObject:
        """Write a request that is about to be sent; what memory brings back is on record from now on."""
        if self._injected and self._injected[0] != self._shown and not self.session.is_off:
            self._shown = self._injected[0]
            self.memory.shown(self._injected[1])
        reply = self.session.gauge.window.reply_tokens
        marks = Marks(self.session.gauge.model.cache_minimum_tokens)
        return assembled.request(model.wire, model.fields(max(1, reply)), marks)

    def scene(self, last_call: Call | None = None) -> Scene:
        """Return the request and its session as the diagnostics look at them."""
        assembled = self.assembled()
        gauge = self.session.gauge
        return Scene(
            allotment=gauge.allot(assembled.asks),
            contributions=assembled.contributions,
            compactions=self.session.trace(),
            compact_at_tokens=gauge.policy.compact_at.of(gauge.window.usable_tokens),
            last_call=last_call,
        )

    # What is added to the view ---------------------------------------------------------------------------

    def _pieces(self, view: list[Item]) -> Iterator[Piece]:
        compacted = any(item.message.origin is Origin.SUMMARY for item in view)
        yield from clauses_for(compacted=compacted, memory=bool(self.kit.tools))
        yield from self.instructed.pieces()
        told = (self.progressed.piece(), rehydrate(self.session.ledger, view, self._now()))
        yield from (piece for piece in told if piece)
        injected = self._injection(view)
        if injected:
            yield from remembered(injected)
        if allowed := sorted(self.approvals.always):
            leave = f"The user lets you use {', '.join(allowed)} without being asked in this session."
            yield Piece(PLAN, leave, "approvals", Trust.SEMI_TRUSTED, own=True)

    def _now(self) -> Now:
        usable = self.session.gauge.window.usable_tokens
        return Now(
            used_tokens=self.session.tokens,
            usable_tokens=usable,
            instructions=self.instructed.labels,
            skills=invoked_skills(item.message for item in self.session.view()),
            tools=self.kit.names,
        )

    def _injection(self, view: Sequence[Item]) -> Injection | None:
        """Return what memory brings back, looked for once for each turn of the user's."""
        last = last_words(view)
        if last is None:
            return None
        if self._injected is None or self._injected[0] != last.id:
            room = self.session.gauge.policy.memory.of(self.session.gauge.window.usable_tokens)
            self._injected = last.id, self.memory.inject(last.message.text, room)
        return self._injected[1]


def last_words(view: Sequence[Item]) -> Item | None:
    """Return what the user said last."""
    for item in reversed(view):
        message = item.message
        if message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results):
            return item
    return None
