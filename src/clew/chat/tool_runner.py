"""The tools of a chat, and running the calls of a model: writes need approval, every call gets a result."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from clew.budget import Asker, CompactionRequested, Pause, Paused, Phase, PhaseChanged, ResultArrived, Signal
from clew.chat.approvals import (
    ApprovalStore,
    InstructionTracker,
    describe_call,
    forbidding_rules,
    is_sensitive,
    target_paths,
)
from clew.chat.events import Answer, ApprovalRequested, ChatEvent, ToolFinished, ToolStarted, TurnStopped
from clew.errors import ClewError
from clew.memory.tools.tool import (
    Consent,
    Tool,
    ToolAnswer,
    ToolContext,
    WriteRequest,
    ask_later,
    read_arguments,
)
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust
from clew.secrets import mask, mask_json
from clew.session import Session


class Toolset:
    """The tools of a chat: memory, diagnostics, workspace, in a fixed order."""

    def __init__(self, context: ToolContext, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)
        """Always in the same order, because a changed list of tools misses the provider's cache."""
        self._context = context
        self._named = {tool.name: tool for tool in self.tools}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools."""
        return tuple(self._named)

    def writes(self, name: str) -> bool:
        """Return whether a tool changes something and so needs an approval."""
        return name in self._named and not self._named[name].read_only

    def asks(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call needs an approval; one that is refused or quarantined anyway does not."""
        if not self.writes(name):
            return False
        tool = self._named[name]
        try:
            return tool.asks(self._context, read_arguments(tool.parameters, arguments))
        except ClewError:
            return True

    def run(self, name: str, arguments: Mapping[str, Any] | str, *, approved: bool = True) -> ToolAnswer:
        """Run a call. A bad call returns an error text for the model instead of raising."""
        tool = self._named.get(name)
        context = self._context if approved else replace(self._context, approve=ask_later)
        if tool is None:
            return ToolAnswer(f"unknown tool {name!r}; available: {', '.join(self.names)}", is_error=True)
        try:
            return tool.does(context, read_arguments(tool.parameters, arguments))
        except ClewError as error:
            return ToolAnswer(str(error), is_error=True)
        except Exception as error:  # noqa: BLE001  # arguments come from a model: no call may end the chat
            return ToolAnswer(f"{name} failed: {type(error).__name__}: {error}", is_error=True)


def always_consent(_wish: WriteRequest) -> Consent:
    """Consent: the turn has already asked a person before it runs a tool that writes."""
    return Consent.GIVEN


COMPACT = "compact"
"""The tool by which the model asks for a compaction."""
NOT_RUN = "The user interrupted; this was not run."
NOT_KNOWN = "The session ended before this was answered; it is not known whether it took effect."
ALWAYS_ASKED = "asked every time, because it configures tools, agents or clew"
DENIED = "The user refused: this was not done. Do not try it another way."

Running: TypeAlias = Generator[ChatEvent, Answer | None, ToolAnswer]
Answering: TypeAlias = Generator[ChatEvent, Answer | None, tuple[Signal, ...] | None]


@dataclass(frozen=True, slots=True)
class ToolRunner:
    """Runs the tool calls of one session and stores their results."""

    session: Session
    toolset: Toolset
    approvals: ApprovalStore
    instructions: InstructionTracker

    def settle(self, why: str = NOT_KNOWN) -> None:
        """Add a result to calls without one, for example after a crashed process."""
        view = self.session.view()
        if view:
            self._keep([], view[-1].message.calls, why)

    def answer(self, calls: Sequence[ToolCall]) -> Answering:
        """Run the calls of a reply and store their results in one message.

        Return the signals for the next measurement of the window: each result, an approval that was waited
        for, the model's own request, the first change of a file. None if interrupted.
        """
        stored_results: list[ToolResult] = []
        signals: list[Signal] = []
        planning = not self.session.ledger.artifacts.changed
        try:
            for call in calls:
                yield ToolStarted(call.call_id, call.name, mask_json(call.input or {}))
                answer = yield from self._run(call, signals)
                stored_results.append(_result(call, answer))
                shown = mask(answer.text).text  # a screen and its recording show no secret either
                yield ToolFinished(call.call_id, call.name, shown, answer.trust, answer.is_error)
        except KeyboardInterrupt:
            self._keep(stored_results, calls[len(stored_results) :], NOT_RUN)
            yield TurnStopped()
            return None
        except GeneratorExit:
            self._keep(stored_results, calls[len(stored_results) :], NOT_RUN)
            raise
        self._keep(stored_results, (), "")
        count = self.session.counter.count_text
        results = [ResultArrived(count(result.text), result.name or "") for result in stored_results]
        if any(result.name == COMPACT and not result.is_error for result in stored_results):
            signals.append(CompactionRequested(Asker.AGENT))
        if planning and self.session.ledger.artifacts.changed:
            signals.append(PhaseChanged(Phase.PLANNING, Phase.EXECUTION))
        return (*results, *signals)

    def _run(self, call: ToolCall, signals: list[Signal]) -> Running:
        """Run one call; if it writes, ask a person first."""
        arguments = call.input
        if arguments is None:
            return ToolAnswer("the arguments are not a JSON object; call it again", is_error=True)
        if not self.toolset.asks(call.name, arguments):
            return self.toolset.run(call.name, arguments, approved=False)
        root = self.instructions.root
        forbidding = forbidding_rules(self.session.pins, arguments, root)
        rules = tuple(f'{pin.id} "{pin.quote}"' for pin in forbidding)
        places = target_paths(arguments, root)
        steering = is_sensitive(arguments, root) or any(map(self.instructions.in_force, places))
        described = mask(describe_call(call.name, arguments, root)).text
        what = f"{described}{f' ({ALWAYS_ASKED})' if steering else ''}"
        # Writes that a rule forbids, or to sensitive files, need an approval even after "always".
        if rules or steering or not self.approvals.allows(call.name):
            answer = (yield ApprovalRequested(call.call_id, call.name, what, rules)) or Answer.NO
            if answer is Answer.ALWAYS and (rules or steering):
                answer = Answer.YES  # what is asked every time says nothing of the other writes
            self.approvals.record(call.name, call.call_id, what, answer, *places[-1:])
            signals.append(Paused(Pause.APPROVAL))
            if answer is Answer.NO:
                return ToolAnswer(DENIED, is_error=True)
        return self.toolset.run(call.name, arguments)

    def _keep(self, results: Sequence[ToolResult], remaining_calls: Iterable[ToolCall], why: str) -> None:
        """Store tool results; calls that were not run get the reason as their result."""
        not_run = ToolAnswer(why, is_error=True)
        open_ = [_result(call, not_run) for call in remaining_calls if not call.server_side]
        if results or open_:
            self.session.add(Message(Role.TOOL, (*results, *open_)))
            self.instructions.refresh()


def _result(call: ToolCall, answer: ToolAnswer) -> ToolResult:
    text = Text(answer.text, trust=answer.trust)
    trust = min(answer.trust, Trust.SEMI_TRUSTED)
    return ToolResult(call.call_id, (text,), answer.is_error, call.name, trust=trust)
