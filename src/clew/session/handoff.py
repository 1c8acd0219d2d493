"""Write a handoff: what a new session or another agent needs to continue, with the source of each line.

No model is called: everything is quoted or counted, and each line names the messages it comes from::

    Last request: “fix the login page” [m41]
    ~ Last test run: pytest -q: 12 passed, 1 failed [m57]

The mark ``~`` says that a line quotes a tool: data, not an instruction.
Rules, the state of the work and the next step are always included; the story and the findings share the rest
of the token budget. All limits below were chosen by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.agent_findings import STRONG, WEAK
from clew.ledger.artifacts import Artifact
from clew.ledger.ledger import Ledger
from clew.ledger.loop import OF_THE_USER, Loop, LoopKind
from clew.ledger.non_requests import asks_nothing_new
from clew.ledger.questions import LONGEST_REQUEST, NO_TASK
from clew.ledger.tool_actions import BY_NAME, ActionKind
from clew.message import Cite, Item, Origin, Role, Trust
from clew.message.text import lazy_pattern, one_line
from clew.secrets import mask

LONGEST_LINE = 300
LONGEST_RULE = 600
LONGEST_COMMAND = 120
LONGEST_FINDING = 420
"""Characters; a finding is a whole sentence, so it gets more room than other lines."""
MOST_FAILURES = 6
SHORTEST_TASK = 60
"""Characters: a text from the harness must be at least this long to count as a task."""
MOST_LISTED = 10
STORY_SHARE = 0.65
"""The share of the remaining tokens for the story: findings are hard to understand without it."""
_SENTENCE_END = re.compile(r"(?<!\d[.!?])(?<=[.!?])\s")
"""The end of a sentence, but not after the number of a list item."""
_REFUSED_CHANGES = (ActionKind.EDIT, ActionKind.WRITE, ActionKind.PATCH, ActionKind.READ, ActionKind.SEARCH)
"""A refusal by these tools means a malformed call, which says nothing about the work."""
_PLANNED = (LoopKind.TODO, LoopKind.PROMISE)


class _Limits(NamedTuple):
    """Length limits of the mandatory sections."""

    request: int
    """Characters of a request..."""
    report: int
    """...of the last report, which says most about where the work is..."""
    line: int
    """...and of anything else."""
    open: int
    files: int


_USUAL = _Limits(request=500, report=700, line=300, open=10, files=40)
_TIGHT = _Limits(request=160, report=200, line=120, open=4, files=8)
"""For a handoff that is too small for the usual limits."""


class HandoffTopic(StrEnum):
    """The topic of a line, for the fourteen headings of ``handoff_headings``."""

    REQUEST = "request"
    OPEN = "open"
    FAILED = "failed"
    FIXED = "fixed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class HandoffLine:
    """One line of a handoff."""

    text: str
    sources: tuple[str, ...]
    """The messages it comes from."""
    quotes_tool: bool = False
    """It quotes a tool or a file: data, not an instruction."""
    topic: HandoffTopic = HandoffTopic.OTHER

    def __str__(self) -> str:
        mark = "~ " if self.quotes_tool else ""
        return f"{mark}{self.text} [{', '.join(self.sources)}]"


@dataclass(slots=True)
class Sections:
    """The lines of a handoff, by section."""

    now: list[HandoffLine] = field(default_factory=list)
    """The state of the work: goal, last request and report, open items, last test run."""
    story: list[HandoffLine] = field(default_factory=list)
    """What was asked and reported, turn by turn."""
    findings: list[HandoffLine] = field(default_factory=list)
    """Conclusions, failures and decisions."""
    files: list[HandoffLine] = field(default_factory=list)
    rules: list[HandoffLine] = field(default_factory=list)
    next_step: list[HandoffLine] = field(default_factory=list)

    def named(self) -> dict[str, list[HandoffLine]]:
        """Return the sections under their headings, in order."""
        return {
            "Now": self.now,
            "Story": self.story,
            "Findings": self.findings,
            "Files": self.files,
            "Rules": self.rules,
            "Next step": self.next_step,
        }


def sections_of(
    items: Sequence[Item], ledger: Ledger, room: int, count: Callable[[str], int], folder: str = ""
) -> Sections:
    """Return the handoff of a session, in at most ``room`` tokens unless the mandatory sections need more.

    ``items`` is the whole session and ``ledger`` what was extracted from it; ``count`` counts the tokens of a
    text. Files are named relative to ``folder``.
    """
    turns = _turns(items, ledger)
    for limits in (_USUAL, _TIGHT):
        sections = Sections(
            now=list(_state_lines(ledger, turns, limits)),
            files=list(_files(ledger, folder, limits.files)),
            rules=list(_rules(ledger)),
            next_step=list(_next_step(ledger, turns)),
        )
        spare = room - _size((line for lines in sections.named().values() for line in lines), count)
        if spare >= 0:
            break
    sections.story = _latest(list(_story(turns)), int(spare * STORY_SHARE), count)
    shown = " ".join(line.text for line in (*sections.now, *sections.story))
    findings = (line for line in _findings(ledger, Quotes(items)) if line.text not in shown)
    sections.findings = _fitting_lines(findings, spare - _size(sections.story, count), count)
    return sections


def _size(lines: Iterable[HandoffLine], count: Callable[[str], int]) -> int:
    return sum(count(f"- {line}\n") for line in lines)


# Turns -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """A user request, and the agent's last text before the next request."""

    asked: str
    """The text of the request..."""
    ask: str
    """...and the id of its message."""
    report: str = ""
    """The text of the report..."""
    reported: str = ""
    """...and the id of its message."""
    busy: bool = False
    """The agent called tools after its last text."""
    by_user: bool = True
    """False for a task given by the harness."""


def _turns(items: Sequence[Item], ledger: Ledger) -> list[_Turn]:
    """Return the turns of the session; if the user said nothing, one turn for the harness's task."""
    quotes = Quotes(items)
    turns: list[_Turn] = []
    for ledger_turn in ledger.turns.all:
        turn = _Turn(quotes.text(ledger_turn.ask), ledger_turn.ask.message)
        if report := ledger_turn.report:
            turn.report, turn.reported = quotes.text(report), report.message
        turns.append(turn)
    speech = [item for item in items if item.message.role is Role.ASSISTANT]
    if not turns and (task := _harness_task(items)):
        turns.append(_Turn(task.message.text, task.id, by_user=False))
        reports = [item for item in speech if item.message.text.strip()]
        if reports:
            turns[0].report, turns[0].reported = reports[-1].message.text.strip(), reports[-1].id
    while len(turns) > 1 and not turns[-1].report and NO_TASK.fullmatch(turns[-1].asked[:LONGEST_REQUEST]):
        turns.pop()  # thanks and praise after the last report
    if turns and speech:
        turns[-1].busy = any(speech[-1].message.calls)
    return turns


class Quotes:
    """Looks up the cited words of a session."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._messages = {item.id: item.message for item in items}

    def text(self, cite: Cite) -> str:
        """Return the cited words; empty if the message is unknown."""
        message = self._messages.get(cite.message)
        known = message is not None and cite.part < len(message.parts)
        return cite.quote(message).strip() if message and known else ""


def _harness_task(items: Sequence[Item]) -> Item | None:
    """Return the message with the task given by the harness, for a session without user messages."""
    for item in items:
        if item.message.origin is Origin.INJECTED and len(item.message.text) >= SHORTEST_TASK:
            return item
    return None


def _story(turns: Sequence[_Turn]) -> Iterator[HandoffLine]:
    """Yield the turns; the last one is omitted because ``_state_lines`` shows it."""
    for turn in turns[:-1]:
        request = f"asked: “{flat(turn.asked, LONGEST_LINE)}”"
        if turn.report:
            yield HandoffLine(f"{request} → {_gist(turn.report, LONGEST_LINE)}", (turn.ask, turn.reported))
        else:
            yield HandoffLine(request, (turn.ask,))


def _gist(report: str, most: int) -> str:
    """Return the first sentences of a report, up to a length."""
    text = flat(report, 4 * most)
    kept = ""
    for sentence in _SENTENCE_END.split(text):
        if kept and len(kept) + len(sentence) > most:
            break
        kept = f"{kept} {sentence}".strip()
    return flat(kept, most)


# Sections --------------------------------------------------------------------------------------------


def _state_lines(ledger: Ledger, turns: Sequence[_Turn], limits: _Limits) -> Iterator[HandoffLine]:
    """Yield the state of the work: goal, last request and report, open items, last test run and check."""
    last = turns[-1] if turns else None
    goal = ledger.goal
    if goal and not (last and goal.source.message == last.ask):
        yield HandoffLine(f"Goal: “{flat(goal.quote, limits.request)}”", (goal.source.message,))
    if last:
        by = "Last request" if last.by_user else "Task, given by the tool"
        request = f"{by}: “{flat(last.asked, limits.request)}”"
        yield HandoffLine(request, (last.ask,), topic=HandoffTopic.REQUEST)
        if last.report:
            yield HandoffLine(f"Last report: {flat(last.report, limits.report)}", (last.reported,))
    for loop in (*_open_parts(ledger, last), *open_items(ledger))[: limits.open]:
        status = f" ({loop.status})" if loop.status else ""
        text = f"Open {loop.kind.value}: {flat(loop.text, limits.line)}{status}"
        yield HandoffLine(text, (loop.source.message,), loop.kind is LoopKind.TEST, HandoffTopic.OPEN)
    if run := ledger.last_run:
        passed = "" if run.passed is None else f"{run.passed} passed, "
        text = f"Last test run: {flat(run.command, LONGEST_COMMAND)}: {passed}{run.failed} failed"
        yield HandoffLine(text, (run.source.message,), quotes_tool=True)
    if check := ledger.last_check:
        text = f"Last check: {flat(check.command, LONGEST_COMMAND)}: {flat(check.verdict, LONGEST_COMMAND)}"
        yield HandoffLine(text, (check.source.message,), quotes_tool=True)


def open_items(ledger: Ledger) -> list[Loop]:
    """Return the open items other than requests, work in progress first."""
    loops = [loop for loop in ledger.loops.collapsed if loop.kind is not LoopKind.REQUEST]
    return sorted(loops, key=lambda loop: (loop.status != "in_progress", loop.kind not in _PLANNED))


def _open_parts(ledger: Ledger, last: _Turn | None) -> list[Loop]:
    """Return the open requests that the lines on the goal and the last request do not show."""
    goal = ledger.goal
    shown = [(last.ask, last.asked)] if last else []
    shown += [(goal.source.message, goal.quote)] if goal else []
    return [
        loop
        for loop in ledger.loops.collapsed
        if loop.kind is LoopKind.REQUEST
        and not any(loop.source.message == ask and text.startswith(loop.text) for ask, text in shown)
    ]


def _rules(ledger: Ledger) -> Iterator[HandoffLine]:
    for pin in ledger.pins.active:
        if pin.trust is Trust.USER:
            source = pin.source.message if pin.source else pin.id  # one set by hand is in no message
            yield HandoffLine(f"“{flat(pin.readable, LONGEST_RULE)}”", (source,))


def _files(ledger: Ledger, folder: str, most: int) -> Iterator[HandoffLine]:
    """Yield the changed files, latest last; earlier ones beyond ``most`` as a count."""
    slash = "\\" if "\\" in folder else "/"
    inside = f"{folder.rstrip(slash)}{slash}" if folder else ""
    changed = list(ledger.artifacts.changed)
    for artifact in changed[-most:]:
        times = f", {artifact.changes} times" if artifact.changes > 1 else ""
        name = flat(artifact.name.removeprefix(inside), LONGEST_LINE)
        text = f"{_what_happened(artifact)}{times}: {name}"
        sources = tuple(dict.fromkeys(cite.message for cite in artifact.sources))
        yield HandoffLine(text, sources, quotes_tool=True)
    if earlier := changed[:-most]:
        ends = _last_change(earlier[0]), _last_change(earlier[-1])
        yield HandoffLine(f"and {len(earlier)} earlier ones", ends)


def _what_happened(artifact: Artifact) -> str:
    if not artifact.exists:
        return "deleted"
    return "created" if artifact.created else "modified"


def _last_change(artifact: Artifact) -> str:
    return (artifact.last_change or artifact.last).message


def _findings(ledger: Ledger, quotes: Quotes) -> Iterator[HandoffLine]:
    """Yield findings, failures and decisions, the latest first."""
    yield from _finding_lines(ledger, quotes, STRONG)
    failures = [
        failure for failure in ledger.failures if BY_NAME.get(failure.tool.lower()) not in _REFUSED_CHANGES
    ]
    failures = failures[-MOST_FAILURES:]
    for failure in sorted(failures, key=lambda failure: failure.is_fixed):
        lines = flat(" / ".join(failure.lines), LONGEST_LINE)
        tries = f", {failure.count} times" if failure.count > 1 else ""
        end = "fixed since" if failure.is_fixed else "not fixed"
        subject = flat(failure.subject or failure.tool, LONGEST_COMMAND)
        sources = tuple(dict.fromkeys(cite.message for cite in failure.sources))
        topic = HandoffTopic.FIXED if failure.is_fixed else HandoffTopic.FAILED
        yield HandoffLine(f"{subject} failed{tries} ({end}): {lines}", sources, True, topic)
    for decision in reversed(ledger.decisions):
        text = f"{decision.by.value} decided: “{flat(decision.quote, LONGEST_LINE)}”"
        yield HandoffLine(text, (decision.source.message,))
    for fact in ledger.facts.all:
        yield HandoffLine(
            f"“{flat(fact.quote, LONGEST_LINE)}”", (fact.source.message,), fact.trust < Trust.ASSISTANT
        )
    yield from _finding_lines(ledger, quotes, WEAK)


def _finding_lines(ledger: Ledger, quotes: Quotes, rank: int) -> Iterator[HandoffLine]:
    """Yield the latest sentences with a conclusion or a reason, as ``rank`` says, without duplicates."""
    findings = (finding for finding in reversed(ledger.turns.findings) if finding.rank == rank)
    lines = {
        flat(quotes.text(finding.source), LONGEST_FINDING): finding.source.message for finding in findings
    }
    yield from (HandoffLine(text, (name,)) for text, name in list(lines.items())[:MOST_LISTED] if text)


def _next_step(ledger: Ledger, turns: Sequence[_Turn]) -> Iterator[HandoffLine]:
    """Yield the agent's planned step; without one, what follows from the last test run or request."""
    planned = [
        loop
        for loop in open_items(ledger)
        if loop.kind in _PLANNED and not _is_outdated(ledger.loops.tasks.as_of(loop), turns)
    ]
    left_by_report = [loop for loop in ledger.loops.open if loop.kind is LoopKind.LEFT and not loop.status]
    if planned:
        yield HandoffLine(flat(planned[0].text, LONGEST_LINE), (planned[0].source.message,))
    elif left_by_report:
        loop = left_by_report[0]
        text = f"Do what the last report left: “{flat(loop.text, LONGEST_LINE)}”"
        yield HandoffLine(text, (loop.source.message,))
    elif (run := ledger.last_run) and run.failed and not _is_outdated(run.source, turns):
        yield HandoffLine(
            f"Make the failing tests pass: {flat(run.command, LONGEST_COMMAND)}", (run.source.message,)
        )
    elif turns and turns[-1].busy and turns[-1].report:
        report = flat(turns[-1].report, LONGEST_LINE)
        yield HandoffLine(f"Continue where the agent was interrupted: {report}", (turns[-1].reported,))
    elif turns and not turns[-1].report:
        yield HandoffLine(f"Do what was asked: “{flat(turns[-1].asked, LONGEST_LINE)}”", (turns[-1].ask,))
    elif left := [loop for loop in ledger.loops.open if loop.kind in OF_THE_USER]:
        loop = next((loop for loop in left if loop.kind is LoopKind.REQUEST), left[0])
        what = "Do what is still open" if loop.kind is LoopKind.REQUEST else "Settle the open question"
        yield HandoffLine(f"{what}: “{flat(loop.text, LONGEST_LINE)}”", (loop.source.message,))
    elif turns:
        yield HandoffLine(
            "Nothing is open: the last request was reported on. Ask the user.", (turns[-1].reported,)
        )


_GOES_ON = lazy_pattern(
    r"\W*(?:(?:ok|okay|yes|yeah|good|great|please|now)\W+)*"
    r"(?:go\ on|continue|keep\ going|carry\ on|proceed|resume|next)\b",
    re.IGNORECASE | re.VERBOSE,
)


def _is_outdated(planned: Cite, turns: Sequence[_Turn]) -> bool:
    """Whether the user asked for something else after a plan or a test run: then it is not the next step."""
    new = (
        turn for turn in reversed(turns) if not (_GOES_ON.match(turn.asked) or asks_nothing_new(turn.asked))
    )
    last = next(new, None)
    return last is not None and last.by_user and planned.number < Cite(last.ask).number


# Helpers ---------------------------------------------------------------------------------------------


def flat(text: str, most: int) -> str:
    """Return a text on one line of at most ``most`` characters, secrets masked."""
    return one_line(mask(text[: 4 * most]).text, most)


def _fitting_lines(lines: Iterable[HandoffLine], room: int, count: Callable[[str], int]) -> list[HandoffLine]:
    """Return the first lines that fit the token budget."""
    kept_lines: list[HandoffLine] = []
    for line in lines:
        room -= _size((line,), count)
        if room < 0:
            break
        kept_lines.append(line)
    return kept_lines


def _latest(lines: Sequence[HandoffLine], room: int, count: Callable[[str], int]) -> list[HandoffLine]:
    """Return the first line (how the session began) and as many of the latest as fit, in order."""
    first = _fitting_lines(lines[:1], room, count)
    room -= _size(first, count)
    latest = _fitting_lines(reversed(lines[1:]), room, count)
    left = len(lines) - len(first) - len(latest)
    turns = f"{left} turns" if left > 1 else "1 turn"
    gap = [HandoffLine(f"({turns} left out)", (lines[1].sources[0],))] if left and latest else []
    return [*first, *gap, *reversed(latest)]
