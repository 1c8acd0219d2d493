"""The gentlest rung: prune what something later repeats, replaces or outdates.

Each rule yields stubs, oldest first. Nothing unique is lost: a stub names the turn that shows the same, or
keeps beginning, end and lines about errors. The original stays in the log under the id in the stub.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeAlias

from clew.compaction.plan import Shrink
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.lines import lines_backwards, lines_of
from clew.compaction.propose.near_duplicates import near_duplicates
from clew.compaction.propose.prune_calls import (
    acknowledged,
    confirmations,
    echoes,
    failed_edits,
    repeated_arguments,
)
from clew.compaction.propose.prune_edited import outdated_text
from clew.compaction.propose.prune_prompts import repeated_prompts
from clew.compaction.propose.prune_prose import replaced_plans
from clew.compaction.propose.shown_arguments import dumped, noted_list
from clew.compaction.propose.shrink import (
    REMINDER,
    REMINDER_END,
    REPEATED,
    ShrinkCollector,
    excerpted,
    pointer,
    without_remark,
)
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import (
    WORTH_A_POINTER,
    WORTH_A_STUB,
    WORTH_OF_PROSE,
    WORTH_TOKENS,
    Step,
    Stub,
    is_whole,
    long_results,
    short_path,
    steps_of,
)
from clew.ledger.tool_actions import ActionKind
from clew.message import Origin, Place, Role, Text, ToolCall, ToolResult, words
from clew.message.text import LINE_NUMBER

FEW_OWN = 0.15
"""Share of a recent output that its stub may have, with the lines that only it has; chosen by hand."""
LEAST_SHARED = 0.3
"""Share of a read's lines that a later read of the same part of a file has at least; chosen by hand."""
LEAST_COVERED = 0.9
"""Share of a read's line numbers that a later read has at least if it shows the same part; chosen by hand."""
LEAST_OF_EARLIER = 0.5
"""Share of an earlier output that the same call returns again if no file changed in between; otherwise it was
truncated, or returned another context. Chosen by hand."""
OVERSIZED_TOKENS = 4_000
"""About the 97th percentile of tool results in real coding sessions; larger ones are excerpted."""
EXCERPT_TOKENS = 1_000
LOG_CHARACTERS = 2_400
LOG_TOKENS = 300


Rule: TypeAlias = Callable[[ShrinkContext, Sequence[Step]], Iterator[Stub]]


def _cycles(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs in which the same lines repeat again and again, or with colours."""
    for step in long_results(steps):
        if context.may_free(step.result, WORTH_A_STUB):
            for stub in _folded(context, step.result, step.text):
                if context.counter.count_text(stub.text) < OVERSIZED_TOKENS:  # else an excerpt is smaller
                    yield stub


def _folded(context: ShrinkContext, place: Place, text: str) -> Iterator[Stub]:
    shorter, _ = context.folded(text, context.protected_spans(place))
    if shorter is not text:
        yield Stub(place, shorter, "the same lines again and again")


def _said_again(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one repeats exactly, then those of calls that were made again later.

    What a pointer leads to stays: another output that is outdated may be the only one with its text.
    """
    outdated = {stub.place: stub for stub in _asked_again(context, steps)}
    for stub in _repeated(context, steps):
        if stub.place not in outdated and stub.instead is not None:
            outdated.pop(stub.instead, None)
            yield stub
    yield from outdated.values()


def _repeated(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one repeats exactly."""
    long = [step for step in steps if len(step.text) >= WORTH_A_POINTER]
    last = {step.text: step for step in long}
    for step in long:
        later = last[step.text]
        if later is not step:
            yield Stub(step.result, pointer(later.name), f"{REPEATED}{later.name}", later.result)


def _asked_again(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs of a call that was made again later: the later output is the current one.

    Not if the same call means something else: a step through pages, or a run before and after a change. Nor
    if the later output is no better: the call failed, or returned nothing or a part of what it did before.
    """
    long = [step for step in long_results(steps) if context.may_free(step.result, WORTH_A_STUB)]
    tools = {step.asked.name for step in long}
    calls: dict[str, list[Step]] = {}
    for step in steps:
        if step.asked.name in tools:
            calls.setdefault(step.key, []).append(step)
    repeated = [step for step in long if calls[step.key][-1] is not step]
    if not repeated:
        return
    changes = [step.result for step in steps if step.action.kind in _CHANGES_FILES and step.succeeded]
    for step in repeated:
        if step.asks_agent or step.action.kind not in _ASKED_AGAIN or not step.is_told:
            continue
        later = next((one for one in reversed(calls[step.key]) if _replaces(one, step, changes)), None)
        if (
            later is not None
            and later.text != step.text
            and not (step.action.kind is ActionKind.SHELL and _is_experiment(context, step, later, changes))
        ):
            text = f"[outdated: the same call was made again in {later.name}; kept as {step.name}]"
            if verdict := context.excerpt_source(step.text).verdict:
                text = f"{verdict}\n{text}"
            yield Stub(step.result, text, f"asked again in {later.name}", later.result)


def _replaces(later: Step, step: Step, changes: Sequence[Place]) -> bool:
    """Whether the later output of a call is as good as an earlier one."""
    if later.result <= step.result or (step.succeeded and not later.succeeded):
        return False
    if len(later.text) < LEAST_OF_EARLIER * len(step.text) and not _changed_between(step, later, changes):
        return False
    return not _shows_other_lines(step, later)


def _changed_between(step: Step, later: Step, changes: Sequence[Place]) -> bool:
    """Whether files changed between two calls."""
    first = bisect_right(changes, step.result)
    return first < len(changes) and changes[first] < later.call


_ASKED_AGAIN = frozenset((ActionKind.READ, ActionKind.SEARCH, ActionKind.FETCH, ActionKind.SHELL))
"""What a call does whose result depends on its arguments and on the files alone. Of other tools that is not
known: the same ``page_down`` shows another context."""
_CHANGES_FILES = frozenset((ActionKind.WRITE, ActionKind.EDIT, ActionKind.PATCH, ActionKind.DELETE))


def _is_experiment(context: ShrinkContext, step: Step, later: Step, changes: Sequence[Place]) -> bool:
    """Whether files changed between two runs with different outcomes; not if both passed or say the same."""
    if not _changed_between(step, later, changes) or (_passed(context, step) and _passed(context, later)):
        return False
    return not (step.succeeded and later.succeeded and _say_the_same(step.text, later.text))


def _say_the_same(text: str, later: str) -> bool:
    """Whether a later output has all lines of an earlier one, but for times, sizes and ids."""
    lines, others = ({*_OF_ONE_RUN.sub("0", one).split("\n")} - {""} for one in (text, later))
    return lines <= others


_OF_ONE_RUN = re.compile(
    r"\b\d+(?:\.\d+)?[ ]?(?:ms|s|sec|seconds|m|min|[kKM]i?B)\b|\b\d\d?:\d\d(?::\d\d(?:\.\d+)?)?\b"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{8,}\b"
)
"""What differs between two runs that did the same: durations, times, sizes, ids with digits in them."""


def _passed(context: ShrinkContext, step: Step) -> bool:
    """Whether a run says that it passed."""
    told = context.excerpt_source(step.text)
    return step.succeeded and bool(told.verdict) and not told.has_failed


def _shows_other_lines(step: Step, later: Step) -> bool:
    """Whether two reads that look alike show different parts of a file: some logs leave out the range."""
    if not step.files[0] and not NUMBERED_LINE.match(step.text):
        return False
    if _numbers(step.text)[0]:
        return _has_other_numbers(step, later)
    lines, others = (set(map(str.strip, one.text.split("\n"))) - {""} for one in (step, later))
    return len(lines & others) < LEAST_SHARED * len(lines)


def _has_other_numbers(step: Step, later: Step) -> bool:
    """Whether two reads show different parts of a file by their line numbers: a tool may cut a long file."""
    first, last = _numbers(step.text)
    least, most = _numbers(later.text)
    shared = min(last, most) - max(first, least) + 1
    return bool(first and least) and shared < LEAST_COVERED * (last - first + 1)


def _numbers(text: str) -> tuple[int, int]:
    """Return the first and the last line number of a listing; zeros if it has none."""
    lines = (*islice(lines_of(text), MOST_AROUND), *reversed([*islice(lines_backwards(text), MOST_AROUND)]))
    found = [int(number[1]) for start, end in lines if (number := _NUMBER.match(text, start, end))]
    return (found[0], found[-1]) if found else (0, 0)


_NUMBER = re.compile(rf"\s*(?={LINE_NUMBER})(\d{{1,7}})")
MOST_AROUND = 8
"""Lines that a tool puts around the text of a file, at most; chosen by hand."""


def _read_again(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was read whole later."""
    return (stub for stub in _outdated_reads(context, steps) if _READ_AGAIN in stub.reason)


def _changed_since(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was changed later: what the change left alone may be shown nowhere else."""
    return (stub for stub in _outdated_reads(context, steps) if _READ_AGAIN not in stub.reason)


_READ_AGAIN = "read again in"


def _outdated_reads(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was read whole or changed later."""
    if not any(context.may_free(step.result, WORTH_A_STUB) for step in steps):
        return
    again: dict[str, Step] = {}
    changes: dict[str, tuple[str, Place]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not (step.action.subject and step.succeeded):
            continue
        read, changed = step.files
        later = changes.get(read)
        if (whole := again.get(read)) and not _has_other_numbers(step, whole):
            later = f"{_READ_AGAIN} {whole.name}", whole.result
        if later and not changed:
            why, place = later
            text = f"[outdated: {short_path(read)} was {why}; kept as {step.name}]"
            found.append(Stub(step.result, text, f"{short_path(read)} {why}", place))
        for path in changed:
            changes[path] = (f"changed in {step.name}", step.result)
        if read and not changed and is_whole(step):
            again.setdefault(read, step)
    yield from reversed(found)


def _nearly_repeated(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one contains except for a few lines, and keep those lines."""
    candidates = list(long_results(steps))
    found = list(near_duplicates([step.text for step in candidates]))
    for near in reversed(found):
        step, later = candidates[near.number], candidates[near.later]
        note = f"[all but these lines are in the output in {later.name}; kept as {step.name}]"
        text = "\n".join([note, *near.own])
        yield Stub(step.result, text, f"nearly repeated in {later.name}", later.result)


def _differ_little(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one contains except for very few lines; reads have rules of their own."""
    outputs = [step for step in steps if not step.files[0] and not NUMBERED_LINE.match(step.text)]
    sizes = {step.result: len(step.text) for step in outputs}
    for stub in _nearly_repeated(context, outputs):
        if len(stub.text) <= FEW_OWN * sizes[stub.place]:
            yield stub


def _old_plans(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find plans that a later plan replaces; each call's arguments hold the whole list."""
    plans = [step for step in steps if step.action.kind is ActionKind.TODO and step.succeeded]
    last = {step.asked.name: step for step in plans}
    for step in plans:
        later = last[step.asked.name]
        if later is not step:
            name = context.view[later.call.message].id
            own = context.view[step.call.message].id
            note = dumped(noted_list(step.given, f"[… replaced by the plan in {name}; kept as {own}]"))
            yield Stub(step.call, note, f"replaced by the plan in {name}", later.call)


_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|TRACE|NOTICE|WARN(?:ING)?)\b"
    r"|(?:Download|Compil|Fetch|Install|Collect|Build|Unpack|Extract|Resolv|Prepar)(?:ed|ing)\b"
    r"|Requirement already|Get:\d|npm (?:WARN|http)|\d{1,3}%)"
)
_LOG_SHARE = 0.6
_SAMPLED_LINES = 40


def _raw_logs(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find logs: long outputs most of whose lines begin with a time, a level or a progress step."""
    for step in steps:
        if len(step.text) < LOG_CHARACTERS:
            continue
        lines = step.text.split("\n")
        sample = lines[:: max(1, len(lines) // _SAMPLED_LINES)]
        if sum(_LOG_LINE.match(line) is not None for line in sample) >= _LOG_SHARE * len(sample):
            yield Stub(step.result, excerpted(context, step.result, LOG_TOKENS), "a log, shown in excerpt")


def _oversized(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs too large to keep whole."""
    for step in steps:
        if context.counter.count_part(step.told) >= OVERSIZED_TOKENS:
            text = excerpted(context, step.result, EXCERPT_TOKENS)
            yield Stub(step.result, text, "a large output, shown in excerpt")


def _prose(context: ShrinkContext, start: int = 0) -> Iterator[Stub]:
    """Find plans in prose and prompts that a later one replaces or repeats, from an index on."""
    for found in chain(replaced_plans(context.view, start), repeated_prompts(context.view, start)):
        yield Stub(*found)


def _reminders(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find what a harness adds to a result and adds to a later one, too."""
    seen: set[str] = set()
    found: list[Stub] = []
    for step in reversed(steps):
        if step.text.rstrip().endswith(REMINDER_END) and (reminder := REMINDER.search(step.text)):
            if reminder[0].strip() in seen:
                found.append(Stub(step.result, step.text[: reminder.start()], "a later result has it, too"))
            seen.add(reminder[0].strip())
    yield from reversed(found)


def _remarks(steps: Sequence[Step]) -> Iterator[Stub]:
    """Find what a harness says of the context at the end of a result; a compaction makes it untrue."""
    for step in steps:
        if (text := without_remark(step.text)) is not step.text and text:
            yield Stub(step.result, text, "a remark on the context, which is no longer true")


def _outdated_in_calls(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls with text of files that is no longer current; old reads of them leave as a whole."""
    stubs = outdated_text(context, steps)
    return (stub for stub in stubs if isinstance(context.shown_part(stub.place), ToolCall))


RULES: tuple[Rule, ...] = (
    *(_cycles, _said_again, _read_again, _nearly_repeated, _old_plans, failed_edits),
    _outdated_in_calls,
)
"""Rules about what something later repeats or outdates; they look at every step."""
IN_RECENT: tuple[Rule, ...] = (_said_again, _read_again, _old_plans, failed_edits)
"""Those for recent messages; a faded output is smaller than a stub with the lines that only it has."""
ALONE: tuple[Rule, ...] = (acknowledged, _raw_logs, _oversized)
"""Rules about output that says little for its size; they look only at the step itself."""


def prune(context: ShrinkContext, stop: int, excess_tokens: int) -> list[Shrink]:
    """Propose smaller forms of messages before index ``stop`` until this many tokens are freed."""
    collector = ShrinkCollector(context)
    steps = steps_of(context.view)
    old = [step for step in steps if step.result.message < stop]
    freed = 0
    every = chain(
        *(rule(context, steps) for rule in RULES),
        _prose(context),
        _changed_since(context, steps),
        *(rule(context, old) for rule in ALONE),
    )
    for stub in every:
        # Counts are rounded per message, so up to one token per message may be missing.
        if freed >= excess_tokens + len(collector):
            break
        if stub.place.message < stop:
            freed += _add(collector, context, stub)
    return collector.shrinks()


def prune_repeated(context: ShrinkContext, start: int, stop: int, last: int | None = None) -> list[Shrink]:
    """Propose stubs for all that is repeated or replaced later, in messages between two indices.

    Results that show again what their call wrote are replaced up to the index ``last``, if given.
    """
    collector = ShrinkCollector(context)
    steps = steps_of(context.view, start)
    rules = (rule(context, steps) for rule in IN_RECENT)
    for stub in chain(*rules, _prose(context, start), repeated_arguments(context, steps)):
        if start <= stub.place.message < stop:
            _add(collector, context, stub)
    for stub in chain(outdated_text(context, steps), echoes(context, steps), _reminders(context, steps)):
        if start <= stub.place.message < (stop if last is None else last):
            _add(collector, context, stub)
    for stub in chain(confirmations(steps), _remarks(steps)):
        if start <= stub.place.message < (stop if last is None else last):
            collector.add(stub.place, stub.text, stub.reason)
    return collector.shrinks()


def prune_repeated_outputs(context: ShrinkContext, start: int, stop: int, least_tokens: int) -> list[Shrink]:
    """Propose stubs for large outputs that a later one repeats, but for few lines, between two indices."""
    collector = ShrinkCollector(context)
    steps = steps_of(context.view, start)
    for stub in chain(_repeated(context, steps), _differ_little(context, steps)):
        if (
            stub.place.message < stop
            and context.counter.count_part(context.shown_part(stub.place)) >= least_tokens
        ):
            _add(collector, context, stub)
    return collector.shrinks()


def prune_cycles(context: ShrinkContext, start: int, stop: int) -> list[Shrink]:
    """Propose a smaller form for output in which the same lines repeat, in messages between two indices."""
    collector = ShrinkCollector(context)
    for i in range(start, stop):
        message = context.view[i].message
        if message.role is Role.ASSISTANT or not context.may_free(Place(i, 0), WORTH_A_STUB):
            continue
        for j, part in enumerate(message.parts):
            if isinstance(part, ToolResult) or (
                isinstance(part, Text) and message.origin is not Origin.SPOKEN
            ):
                for stub in _folded(context, Place(i, j), words(part)):
                    _add(collector, context, stub)
    return collector.shrinks()


def _add(collector: ShrinkCollector, context: ShrinkContext, stub: Stub) -> int:
    worth = WORTH_OF_PROSE if isinstance(context.shown_part(stub.place), Text) else WORTH_TOKENS
    return collector.add(stub.place, stub.text, stub.reason, worth, stub.instead)
