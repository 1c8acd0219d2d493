"""The gentlest rung: prune what something later repeats, replaces or outdates.

Each rule yields stubs, oldest first. Nothing unique is lost: a stub names the turn that shows the same, or
keeps beginning, end and lines about errors. The original stays in the log under the id in the stub.
"""

from __future__ import annotations

import heapq
import json
import posixpath
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from clew.compaction.plan import Shrink
from clew.compaction.propose.edits import edits
from clew.compaction.propose.prune_prose import acknowledgements, replaced_plans
from clew.compaction.propose.stubs import Page, Stubs, excerpted
from clew.ledger.exchange import Ended, outcome
from clew.ledger.shell import CHANGES, Action
from clew.ledger.tool_actions import ActionKind, ToolAction, action_of, touches
from clew.message import Item, Origin, Place, Role, Text, ToolCall, ToolResult, pair, words
from clew.message.once import once
from clew.message.parts import json_strings
from clew.message.patterns import LINE_NUMBER

NEAR_SHARE = 0.8
"""Share of an output's characters that must be in the later one line by line; chosen by hand."""
FEW_OWN = 0.15
"""Share of a recent output that its stub may have, with the lines that only it has; chosen by hand."""
LEAST_LINES = 8
LEAST_SHARED = 0.3
"""Share of a read's lines that a later read of the same part of a file has at least; chosen by hand."""
ANCHORS = 4
"""Lines by which candidate pairs are found: those with the smallest checksums (MinHash)."""
FAR_LONGER = 1_000
"""An output this many times longer than any other is not examined: it cannot be near one."""
SHORTEST_ANCHOR = 12
"""Characters; shorter lines occur everywhere."""


class Near(NamedTuple):
    """An output that a later one nearly contains."""

    number: int
    later: int
    own: list[str]
    """The lines that only the earlier one has, in order."""


def near_duplicates(texts: Sequence[str]) -> Iterator[Near]:
    """Yield the outputs that a later one nearly contains, latest first. Takes linear time."""
    by_anchor: dict[int, int] = {}
    held: dict[int, frozenset[str]] = {}
    longest = FAR_LONGER * heapq.nlargest(2, map(len, (*texts, "")))[-1]
    for number in range(len(texts) - 1, -1, -1):
        if len(texts[number]) > longest:
            continue
        lines = texts[number].split("\n")
        if len(lines) < LEAST_LINES:
            continue
        anchors = _anchors(lines)
        for later in dict.fromkeys(by_anchor[one] for one in anchors if one in by_anchor):
            own = [line for line in lines if line not in held[later]]
            if sum(map(len, own)) <= (1 - NEAR_SHARE) * len(texts[number]):
                yield Near(number, later, [line for line in own if line.strip()])
                break
        held[number] = frozenset(lines)
        by_anchor.update(dict.fromkeys(anchors, number))


def _anchors(lines: Sequence[str]) -> list[int]:
    sums = {
        zlib.crc32(line.encode("utf-8", "surrogatepass")) for line in lines if len(line) >= SHORTEST_ANCHOR
    }
    return heapq.nsmallest(ANCHORS, sums)


WORTH_CHARACTERS = 120
"""Shorter outputs stay as they are: a stub takes about as much."""
WORTH_A_POINTER = 400
"""Characters from which a repeated output is replaced by a pointer: a shorter one mostly says whether a call
worked, and that should be readable in its place. Chosen by hand."""
OVERSIZED_TOKENS = 4_000
"""About the 97th percentile of tool results in real coding sessions; larger ones are excerpted."""
EXCERPT_TOKENS = 1_000
LOG_CHARACTERS = 2_400
LOG_TOKENS = 300
LONGEST_NAME = 80


class Stub(NamedTuple):
    """A proposed smaller text for a part."""

    place: Place
    text: str
    reason: str
    instead: Place | None = None
    """Another part that says as much or more."""


@dataclass(frozen=True)
class Step:
    """A tool result with the call it answers."""

    name: str
    """The id of the result's message."""
    result: Place
    call: Place
    told: ToolResult
    asked: ToolCall

    @once
    def text(self) -> str:
        """The tool's output."""
        return self.told.text

    @once
    def key(self) -> str:
        """The call in a normal form: the same call made again has the same key."""
        given = self.asked.input
        written = json.dumps(given, sort_keys=True) if given is not None else self.asked.input_text
        return f"{self.asked.name} {written}"

    @once
    def action(self) -> ToolAction:
        """What the call does."""
        return action_of(self.asked)

    @once
    def succeeded(self) -> bool:
        """Whether the call succeeded."""
        return outcome(self.action, self.told).ended is Ended.OK

    @once
    def files(self) -> tuple[str, list[str]]:
        """The file whose content the result shows, if any, and the files the call changed."""
        done = touches(self.action, self.text)
        changed = [
            posixpath.normpath(one.name)
            for one in done
            if one.action in CHANGES or one.action is Action.WRITTEN
        ]
        read = [posixpath.normpath(one.name) for one in done if one.action is Action.READ]
        return (read[0] if len(done) == 1 and read else ""), changed


Rule: TypeAlias = Callable[[Page, Sequence[Step]], Iterator[Stub]]


def steps_of(view: Sequence[Item], start: int = 0) -> list[Step]:
    """Return every answered call whose result is at the index ``start`` or later, in order of the results."""
    steps = []
    for result, call in sorted(_answers_from(view, start)):
        name, message = view[result.message]
        told, asked = message.parts[result.part], view[call.message].message.parts[call.part]
        if isinstance(told, ToolResult) and isinstance(asked, ToolCall):
            steps.append(Step(name, result, call, told, asked))
    return steps


def _answers_from(view: Sequence[Item], start: int) -> Iterator[tuple[Place, Place]]:
    """Yield the results from an index on, each with the place of its call."""
    since, found = start, pair([item.message for item in view[start:]])
    while since > 0 and any(since + orphan.message >= start for orphan in found.orphans):
        since = max(0, since - (len(view) - since) - CALLS_BEFORE)  # their calls are mostly just before
        found = pair([item.message for item in view[since:]])
    for result, call in found.answers.items():
        if since + result.message >= start:
            yield _later(result, since), _later(call, since)


CALLS_BEFORE = 8
"""Messages before a result in which its call is looked for first; chosen by hand."""


def _later(place: Place, messages: int) -> Place:
    return Place(place.message + messages, place.part)


def _cycles(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs in which the same lines repeat again and again, or with colours."""
    for step in _long(steps):
        if page.may_free(step.result, WORTH_A_STUB):
            yield from _folded(page, step.result, step.text)


def _folded(page: Page, place: Place, text: str) -> Iterator[Stub]:
    shorter, _ = page.folded(text, page.spans(place))
    if shorter is not text:
        yield Stub(place, shorter, "the same lines again and again")


def _repeated(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one repeats exactly."""
    long = [step for step in steps if len(step.text) >= WORTH_A_POINTER]
    last = {step.text: step for step in long}
    for step in long:
        later = last[step.text]
        if later is not step:
            yield Stub(
                step.result,
                f"[the same output as further down, in {later.name}]",
                f"repeated in {later.name}",
                later.result,
            )


def _asked_again(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs of a call that was made again later: the later output is the current one.

    Not if the same call means something else: a step through pages, or a run before and after a change.
    """
    long = [step for step in _long(steps) if page.may_free(step.result, WORTH_A_STUB)]
    tools = {step.asked.name for step in long}
    last = {step.key: step for step in steps if step.asked.name in tools}
    changes = [step.result for step in steps if step.action.kind in _CHANGES_FILES and step.succeeded]
    for step in long:
        later = last[step.key]
        if (
            later is not step
            and step.asked.name.lower() not in _AGENTS
            and step.action.kind in _ASKED_AGAIN
            and not _shows_other_lines(step, later)
            and not (step.action.kind is ActionKind.SHELL and _differs_by_a_change(step, later, changes))
        ):
            text = f"[outdated: the same call was made again in {later.name}; kept as {step.name}]"
            if verdict := page.telling(step.text).verdict:
                text = f"{verdict}\n{text}"
            yield Stub(step.result, text, f"asked again in {later.name}", later.result)


_ASKED_AGAIN = frozenset((ActionKind.READ, ActionKind.SEARCH, ActionKind.FETCH, ActionKind.SHELL))
"""What a call does whose result depends on its arguments and on the files alone. Of other tools that is not
known: the same ``page_down`` shows another page."""
_CHANGES_FILES = frozenset((ActionKind.WRITE, ActionKind.EDIT, ActionKind.PATCH, ActionKind.DELETE))


def _differs_by_a_change(step: Step, later: Step, changes: Sequence[Place]) -> bool:
    """Whether files changed between two runs with different outcomes: an experiment, no repetition."""
    first = bisect_right(changes, step.result)
    changed = first < len(changes) and changes[first] < later.call
    return changed and step.text != later.text


def _shows_other_lines(step: Step, later: Step) -> bool:
    """Whether two reads that look alike show different parts of a file: some logs leave out the range."""
    if not step.files[0] and not NUMBERED_LINE.match(step.text):
        return False
    lines, others = (set(map(str.strip, one.text.split("\n"))) - {""} for one in (step, later))
    return len(lines & others) < LEAST_SHARED * len(lines)


_AGENTS = frozenset(("task", "agent", "dispatch_agent", "spawn_agent", "delegate"))
"""Tools that ask another agent: each answer has findings of its own."""


def _read_again(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was read whole later."""
    return (stub for stub in _outdated_reads(page, steps) if _READ_AGAIN in stub.reason)


def _changed_since(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was changed later: what the change left alone may be shown nowhere else."""
    return (stub for stub in _outdated_reads(page, steps) if _READ_AGAIN not in stub.reason)


_READ_AGAIN = "read again in"


def _outdated_reads(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was read whole or changed later."""
    if not any(page.may_free(step.result, WORTH_A_STUB) for step in steps):
        return
    again: dict[str, tuple[str, Place]] = {}
    changes: dict[str, tuple[str, Place]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not (step.action.subject and step.succeeded):
            continue
        read, changed = step.files
        later = again.get(read) or changes.get(read)
        if later and not changed:
            why, place = later
            text = f"[outdated: {_short(read)} was {why}; kept as {step.name}]"
            found.append(Stub(step.result, text, f"{_short(read)} {why}", place))
        for path in changed:
            changes[path] = (f"changed in {step.name}", step.result)
        if read and not changed and is_whole(step):
            again.setdefault(read, (f"{_READ_AGAIN} {step.name}", step.result))
    yield from reversed(found)


_PART_OF_FILE = re.compile(r"offset|limit|range|start|end|line")
_WHOLE_FILE = re.compile(r"\s*(?:cat|nl|bat)(?:\s+-\w+)*\s+[^\s|;&<>]+\s*")


def is_whole(step: Step) -> bool:
    """Whether a read asked for the whole file: no offset, limit, range or pipe."""
    if step.action.kind is ActionKind.SHELL:
        return _WHOLE_FILE.fullmatch(step.action.subject) is not None
    return not any(_PART_OF_FILE.search(key) for key in step.action.arguments)


def _nearly_repeated(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one contains except for a few lines, and keep those lines."""
    candidates = list(_long(steps))
    found = list(near_duplicates([step.text for step in candidates]))
    for near in reversed(found):
        step, later = candidates[near.number], candidates[near.later]
        note = f"[all but these lines are in the output in {later.name}; kept as {step.name}]"
        text = "\n".join([note, *near.own])
        yield Stub(step.result, text, f"nearly repeated in {later.name}", later.result)


def _differ_little(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one contains except for very few lines; reads have rules of their own."""
    outputs = [step for step in steps if not step.files[0] and not NUMBERED_LINE.match(step.text)]
    sizes = {step.result: len(step.text) for step in outputs}
    for stub in _nearly_repeated(page, outputs):
        if len(stub.text) <= FEW_OWN * sizes[stub.place]:
            yield stub


def _old_plans(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find plans that a later plan replaces; each call's arguments hold the whole list."""
    plans = [step for step in steps if step.action.kind is ActionKind.TODO and step.succeeded]
    last = {step.asked.name: step for step in plans}
    for step in plans:
        later = last[step.asked.name]
        if later is not step:
            name = page.view[later.call.message].id
            note = json.dumps({"outdated": f"replaced by the plan in {name}"})
            yield Stub(step.call, note, f"replaced by the plan in {name}", later.call)


def _rewritten(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls that write a whole file which a later call writes or reads whole."""
    if not _with_long_argument(steps, WORTH_A_POINTER):
        return
    current: dict[str, str] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not (step.action.subject and step.succeeded):
            continue
        read, changed = step.files
        path = changed[0] if step.action.kind is ActionKind.WRITE and len(changed) == 1 else ""
        if path in current:
            found += _without_content(page, step, current[path])
        if path:
            current[path] = f"written again in {page.view[step.call.message].id}"
        elif read and not changed and is_whole(step):
            current[read] = f"read in {step.name}"
    yield from reversed(found)


def _without_content(page: Page, step: Step, later: str) -> Iterator[Stub]:
    """Yield a call that writes a file without the file's text."""
    given, name = step.asked.arguments, page.view[step.call.message].id
    if not isinstance(given, dict):
        return
    long = [key for key, text in given.items() if isinstance(text, str) and len(text) >= WORTH_A_POINTER]
    if long:
        note = f"[outdated: {later}; kept as {name}]"
        yield Stub(step.call, json.dumps({**given, **dict.fromkeys(long, note)}), f"the file was {later}")


SHORTEST_PROMPT = 800
"""Characters from which an argument that another call repeats is worth a pointer."""


def _repeated_arguments(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls whose long argument a later call repeats: a prompt for another agent, say."""
    last: dict[str, Step] = {}
    found: list[Stub] = []
    for step in reversed(_with_long_argument(steps, SHORTEST_PROMPT)):
        given = step.asked.arguments
        if not isinstance(given, dict) or step.action.kind in _WRITES:
            continue
        shorter = dict(given)
        for key, text in given.items():
            if isinstance(text, str) and len(text) >= SHORTEST_PROMPT:
                later = last.setdefault(text, step)
                if later is not step:
                    shorter[key] = f"{text[:WORTH_CHARACTERS]} [… as in {page.view[later.call.message].id}]"
        if shorter != given:
            found.append(Stub(step.call, json.dumps(shorter, ensure_ascii=False), "repeated by a later call"))
    yield from reversed(found)


_EDITS = frozenset((ActionKind.EDIT, ActionKind.PATCH))
DONE_SHARE = 0.5
"""Share of the lines of a failed edit that later edits inserted if it was made in another way."""


def _inserted(step: Step) -> set[str]:
    """Return the lines that an edit inserts."""
    added = (text for _, new in edits(step.asked.arguments) for text in new)
    return {line.strip() for text in added for line in text.split("\n")} - {""}


def _failed_edits(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find edits that failed and were mostly made later."""
    long = (step for step in steps if page.may_free(step.call, WORTH_A_STUB))
    if not any(step.action.kind in _EDITS and not step.succeeded for step in long):
        return
    changed: dict[str, str] = {}
    inserted: dict[str, set[str]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if step.succeeded:
            for path in step.files[1]:
                changed[path] = step.name
                inserted.setdefault(path, set()).update(_inserted(step))
            continue
        path = posixpath.normpath(step.action.title) if step.action.kind in _EDITS else ""
        wanted = _inserted(step) if path in changed else set()
        if wanted and len(wanted & inserted[path]) >= DONE_SHARE * len(wanted):
            later = changed[path]
            name = page.view[step.call.message].id
            note = {
                "file": path,
                "outdated": f"this edit failed; the file was changed in {later}; kept as {name}",
            }
            found.append(Stub(step.call, json.dumps(note), f"failed, and done in {later}"))
    yield from reversed(found)


_ACKNOWLEDGE = frozenset(
    (
        ActionKind.WRITE,
        ActionKind.EDIT,
        ActionKind.PATCH,
        ActionKind.DELETE,
        ActionKind.MOVE,
        ActionKind.TODO,
        ActionKind.NEW_TASK,
        ActionKind.TASK_CHANGE,
    )
)


def _acknowledged(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that only confirm the call and repeat its arguments."""
    for step in _long(steps):
        if step.action.kind in _ACKNOWLEDGE and step.succeeded:
            first = step.text.strip().split("\n", 1)[0][:WORTH_CHARACTERS]
            yield Stub(step.result, f"{first}\n[the rest is kept as {step.name}]", "only confirms the call")


_WRITES = frozenset((ActionKind.WRITE, ActionKind.EDIT, ActionKind.PATCH))
NUMBERED_LINE = re.compile(rf"^\s*{LINE_NUMBER}")
"""The beginning of a line that quotes a file with line numbers."""
ECHO_SHARE = 0.5
"""Share of a result from which it counts as an echo of its call; chosen by hand."""


def _echoes(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that show again what their call wrote; lines that only the result has stay."""
    for step in _long(steps):
        if step.action.kind in _WRITES and step.succeeded:
            lines = step.text.split("\n")
            written = {line.strip() for text in json_strings(step.asked.input) for line in text.split("\n")}
            own = [
                line for line in lines if not (NUMBERED_LINE.match(line) or line.strip("+- \t") in written)
            ]
            if sum(map(len, own)) <= (1 - ECHO_SHARE) * len(step.text):
                note = f"[… {len(lines) - len(own):,} lines that repeat the change, kept as {step.name}]"
                yield Stub(step.result, "\n".join([*own, note]), "repeats what its call wrote")


_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|TRACE|NOTICE|WARN(?:ING)?)\b"
    r"|(?:Download|Compil|Fetch|Install|Collect|Build|Unpack|Extract|Resolv|Prepar)(?:ed|ing)\b"
    r"|Requirement already|Get:\d|npm (?:WARN|http)|\d{1,3}%)"
)
_LOG_SHARE = 0.6
_SAMPLED_LINES = 40


def _raw_logs(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find logs: long outputs most of whose lines begin with a time, a level or a progress step."""
    for step in steps:
        if len(step.text) < LOG_CHARACTERS:
            continue
        lines = step.text.split("\n")
        sample = lines[:: max(1, len(lines) // _SAMPLED_LINES)]
        if sum(_LOG_LINE.match(line) is not None for line in sample) >= _LOG_SHARE * len(sample):
            yield Stub(step.result, excerpted(page, step.result, LOG_TOKENS), "a log, shown in excerpt")


def _oversized(page: Page, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs too large to keep whole."""
    for step in steps:
        if page.counter.count_part(step.told) >= OVERSIZED_TOKENS:
            text = excerpted(page, step.result, EXCERPT_TOKENS)
            yield Stub(step.result, text, "a large output, shown in excerpt")


def _prose(page: Page, start: int = 0) -> Iterator[Stub]:
    """Find acknowledgements of the agent, and plans in prose that a later one replaces, from an index on."""
    for found in chain(acknowledgements(page.view, start), replaced_plans(page.view, start)):
        yield Stub(*found)


RULES: tuple[Rule, ...] = (
    *(_cycles, _repeated, _asked_again, _read_again, _nearly_repeated, _old_plans, _failed_edits),
    _rewritten,
)
"""Rules about what something later repeats or outdates; they look at every step."""
IN_RECENT: tuple[Rule, ...] = (
    *(_repeated, _asked_again, _read_again, _old_plans, _failed_edits, _rewritten),
)
"""Those for recent messages; a faded output is smaller than a stub with the lines that only it has."""
ALONE: tuple[Rule, ...] = (_acknowledged, _raw_logs, _oversized)
"""Rules about output that says little for its size; they look only at the step itself."""


def _long(steps: Sequence[Step]) -> Iterator[Step]:
    return (step for step in steps if len(step.text) >= WORTH_CHARACTERS)


def _with_long_argument(steps: Sequence[Step], characters: int) -> list[Step]:
    """Return the calls whose arguments have at least so many characters, as JSON."""
    return [step for step in steps if len(step.asked.input_text) >= characters]


def _short(path: str) -> str:
    return path if len(path) <= LONGEST_NAME else f"…{path[-LONGEST_NAME:]}"


WORTH_TOKENS = 40
"""A stub costs about 20 tokens; a part of a tool that frees less than this stays as it is..."""
WORTH_A_STUB = WORTH_TOKENS + 10
"""...so the part of a smaller message has no stub: each has ten words..."""
WORTH_OF_PROSE = 8
"""...and a text of the agent that frees less than this; both chosen by hand."""


def prune(page: Page, stop: int, excess_tokens: int) -> list[Shrink]:
    """Propose smaller forms of messages before index ``stop`` until this many tokens are freed."""
    stubs = Stubs(page)
    steps = steps_of(page.view)
    old = [step for step in steps if step.result.message < stop]
    freed = 0
    every = chain(
        *(rule(page, steps) for rule in RULES),
        _prose(page),
        _changed_since(page, steps),
        *(rule(page, old) for rule in ALONE),
    )
    for stub in every:
        # Counts are rounded per message, so up to one token per message may be missing.
        if freed >= excess_tokens + len(stubs):
            break
        if stub.place.message < stop:
            freed += _take(stubs, page, stub)
    return stubs.shrinks()


def prune_repeated(page: Page, start: int, stop: int, last: int | None = None) -> list[Shrink]:
    """Propose stubs for all that is repeated or replaced later, in messages between two indices.

    Results that show again what their call wrote are replaced up to the index ``last``, if given.
    """
    stubs = Stubs(page)
    steps = steps_of(page.view, start)
    rules = (rule(page, steps) for rule in IN_RECENT)
    for stub in chain(*rules, _prose(page, start), _repeated_arguments(page, steps)):
        if start <= stub.place.message < stop:
            _take(stubs, page, stub)
    for stub in _echoes(page, steps):
        if start <= stub.place.message < (stop if last is None else last):
            _take(stubs, page, stub)
    return stubs.shrinks()


def prune_repeated_outputs(page: Page, start: int, stop: int, least_tokens: int) -> list[Shrink]:
    """Propose stubs for large outputs that a later one repeats, but for few lines, between two indices."""
    stubs = Stubs(page)
    steps = steps_of(page.view, start)
    for stub in chain(_repeated(page, steps), _differ_little(page, steps)):
        if stub.place.message < stop and page.counter.count_part(page.shown(stub.place)) >= least_tokens:
            _take(stubs, page, stub)
    return stubs.shrinks()


def prune_cycles(page: Page, start: int, stop: int) -> list[Shrink]:
    """Propose a smaller form for output in which the same lines repeat, in messages between two indices."""
    stubs = Stubs(page)
    for i in range(start, stop):
        message = page.view[i].message
        if not page.may_free(Place(i, 0), WORTH_A_STUB) or message.role is Role.ASSISTANT:
            continue
        for j, part in enumerate(message.parts):
            if isinstance(part, ToolResult) or (
                isinstance(part, Text) and message.origin is not Origin.SPOKEN
            ):
                for stub in _folded(page, Place(i, j), words(part)):
                    _take(stubs, page, stub)
    return stubs.shrinks()


def _take(stubs: Stubs, page: Page, stub: Stub) -> int:
    worth = WORTH_OF_PROSE if isinstance(page.shown(stub.place), Text) else WORTH_TOKENS
    return stubs.take(stub.place, stub.text, stub.reason, worth, stub.instead)
