"""Running the tools that a model calls: a person is asked where one writes, and every call is answered."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clew.budget import ResultArrived, Signal
from clew.chat.approvals import Approvals
from clew.chat.asking import against, places_of, steers, what_of
from clew.chat.happenings import Answer, ApprovalWanted, Happening, Stopped, ToolAsked, ToolDone
from clew.chat.instructed import Instructed
from clew.chat.kit import Kit
from clew.memory.tools import ToolAnswer
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust
from clew.session import Session

NOT_RUN = "The user interrupted; this was not run."
NOT_KNOWN = "The session ended before this was answered; it is not known whether it took effect."
STEERING = "asked every time, since it says what tools, agents or clew do here"
DENIED = "The user said no: this was not done. Do not try it another way."

Running: TypeAlias = Generator[Happening, Answer | None, ToolAnswer]
Answering: TypeAlias = Generator[Happening, Answer | None, tuple[Signal, ...] | None]


@dataclass(frozen=True, slots=True)
class Hands:
    """The tools at work in one session."""

    session: Session
    kit: Kit
    approvals: Approvals
    instructed: Instructed

    def settle(self, why: str = NOT_KNOWN) -> None:
        """Answer the calls that were left open, be it by a process that ended."""
        view = self.session.view()
        if view:
            self._keep([], view[-1].message.calls, why)

    def answer(self, calls: Sequence[ToolCall]) -> Answering:
        """Run the calls of a reply and keep all answers together; None where somebody interrupted.

        What it returns are the results that arrived, for whoever measures the window next.
        """
        done: list[ToolResult] = []
        try:
            for call in calls:
                yield ToolAsked(call.call_id, call.name, call.input or {})
                answer = yield from self._run(call)
                done.append(_result(call, answer))
                yield ToolDone(call.call_id, call.name, answer.text, answer.trust, answer.is_error)
        except KeyboardInterrupt:
            self._keep(done, calls[len(done) :], NOT_RUN)
            yield Stopped()
            return None
        except GeneratorExit:
            self._keep(done, calls[len(done) :], NOT_RUN)
            raise
        self._keep(done, (), "")
        return tuple(ResultArrived(self.session.counter.count_text(one.text), one.name or "") for one in done)

    def _run(self, call: ToolCall) -> Running:
        """Run one call, after a person was asked where it writes."""
        arguments = call.input
        if arguments is None:
            return ToolAnswer("the arguments are not a JSON object; call it again", is_error=True)
        if not self.kit.writes(call.name):
            return self.kit.run(call.name, arguments)
        root = self.instructed.root
        rules = tuple(f'{pin.id} "{pin.quote}"' for pin in against(self.session.pins, arguments, root))
        places = places_of(arguments, root)
        steering = steers(arguments, root) or any(map(self.instructed.holds, places))
        what = f"{what_of(call.name, arguments, root)}{f' ({STEERING})' if steering else ''}"
        # What a rule stands against, or what steers agents, is asked about whatever was said before.
        if rules or steering or not self.approvals.holds(call.name):
            answer = (yield ApprovalWanted(call.call_id, call.name, what, rules)) or Answer.NO
            self.approvals.record(call.name, call.call_id, what, answer, *places[-1:])
            if answer is Answer.NO:
                return ToolAnswer(DENIED, is_error=True)
        return self.kit.run(call.name, arguments)

    def _keep(self, done: Sequence[ToolResult], left: Iterable[ToolCall], why: str) -> None:
        """Keep the answers of tools; the calls that were not run are answered with the reason."""
        open_ = [_result(call, ToolAnswer(why, is_error=True)) for call in left if not call.server_side]
        if done or open_:
            self.session.add(Message(Role.TOOL, (*done, *open_)))
            self.instructed.refresh()


def _result(call: ToolCall, answer: ToolAnswer) -> ToolResult:
    text = Text(answer.text, trust=answer.trust)
    trust = min(answer.trust, Trust.SEMI_TRUSTED)
    return ToolResult(call.call_id, (text,), answer.is_error, call.name, trust=trust)
