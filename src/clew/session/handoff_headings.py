"""The Compaction Handoff: what the next assistant needs, under fourteen headings filled from the session.

If the session has nothing for a heading, one line says so, because an empty heading would be ambiguous: "no
permission was asked for" or "it was not recorded".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from clew.ledger.artifacts import Artifact
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.tool_actions import BY_NAME, ActionKind
from clew.message import Cite, Item, Origin, Role
from clew.request.rehydration import invoked_skills
from clew.rules.rule import Kind
from clew.rules.sentences import sentences
from clew.session.handoff import (
    LONGEST_COMMAND,
    LONGEST_LINE,
    MOST_LISTED,
    HandoffLine,
    HandoffTopic,
    Quotes,
    Sections,
    flat,
    open_items,
)

TITLE = "# Compaction Handoff"
NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Handoff:
    """What one assistant hands to the next. Each field is a list of lines; empty ones are rendered too."""

    current_objective: tuple[str, ...] = ()
    user_constraints_and_preferences: tuple[str, ...] = ()
    authoritative_instructions_loaded: tuple[str, ...] = ()
    active_plan: tuple[str, ...] = ()
    active_workflow: tuple[str, ...] = ()
    active_goal_and_done_condition: tuple[str, ...] = ()
    approval_state: tuple[str, ...] = ()
    resources_inspected: tuple[str, ...] = ()
    key_facts_and_decisions: tuple[str, ...] = ()
    actions_already_taken: tuple[str, ...] = ()
    errors_blockers_and_attempted_fixes: tuple[str, ...] = ()
    pending_tasks: tuple[str, ...] = ()
    next_recommended_step: tuple[str, ...] = ()
    do_not_redo: tuple[str, ...] = ()


def _heading(name: str) -> str:
    words = name.replace("_", " ").capitalize()
    return words.replace("Errors blockers", "Errors, blockers,")


HEADINGS = {field.name: _heading(field.name) for field in fields(Handoff)}
_FIELDS = {heading: name for name, heading in HEADINGS.items()}


def render_handoff(handoff: Handoff) -> str:
    """Write a handoff as Markdown."""
    return "\n".join(_markdown(handoff))


def _markdown(handoff: Handoff) -> Iterator[str]:
    yield TITLE
    for name, heading in HEADINGS.items():
        yield f"\n## {heading}\n"
        lines = getattr(handoff, name)
        yield from (f"- {line}".replace("\n", "\n  ") for line in lines)
        if not lines:
            yield NOTHING


def parse_handoff(text: str) -> Handoff | None:
    """Parse a rendered handoff; return None if the text is not one."""
    if not text.startswith(TITLE):
        return None
    result: dict[str, list[str]] = {name: [] for name in HEADINGS}
    name: str | None = None
    for line in text.split("\n"):
        heading = re.fullmatch(r"## (.+)", line)
        if heading:
            name = _FIELDS.get(heading[1])
        elif name and line.startswith("- "):
            result[name].append(line[2:])
        elif name and line.startswith("  ") and result[name]:
            result[name][-1] += f"\n{line[2:]}"
    return Handoff(**{key: tuple(lines) for key, lines in result.items()})


# The headings filled from a session ----------------------------------------------------------------------

_INSTRUCTION_FILE = re.compile(
    r"(?:^|/)(?:(?:CLAUDE|AGENTS|GEMINI|QWEN)(?:\.local)?\.md|\.(?:cursor|cline|windsurf)rules)$"
)
_DONE_WHEN = re.compile(
    r"\b(?:done (?:when|if|once)|finished when|make sure|(?<!would )ensure"
    r"|(?<!would )verify that(?! claim))\b|\bacceptance criteri(?:a|on)(?: is\b| are\b|:)",
    re.IGNORECASE,
)
"""Wordings by which a user says when the work is done..."""
_MAY_SAY_WHEN = re.compile(
    r"\b(?:(?:keep|continue|repeat|iterate|work|try|run|stop|rest|do|fix|not done)\b.*\buntil"
    r"|(?:must|should) (?:still )?(?:pass|work(?! on\b)|succeed|compile)"
    r"|all (?:the )?tests\b.*\b(?:pass|succeed|green|work)|tests? (?:are|is) green)\b",
    re.IGNORECASE | re.DOTALL,
)
"""...others that do so unless the sentence reports what goes wrong..."""
_OBSERVED = re.compile(
    r"\b(?:tries|tried|fail(?:s|ed)|crash(?:es|ed)|hangs?|hung|breaks|broke|stop(?:s|ped)|no longer|worked"
    r"|(?:does|do|did|is|are|was|were|could|can)(?:n['’]t| not))\b",
    re.IGNORECASE,
)
"""...by these words: "it works until the file is closed, then it fails"."""
_GIVEN_PLAN = re.compile(r"\A\W*(?:\w+\W+){0,6}?(?:following|this|attached) plan\W+", re.IGNORECASE)
"""The opening of a request that hands over a plan."""
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|<!--|\"\"\")")
"""The start of a comment in code that was pasted without a fence."""
_PHASES = {
    ActionKind.EDIT: "changing files",
    ActionKind.WRITE: "changing files",
    ActionKind.PATCH: "changing files",
    ActionKind.READ: "reading",
    ActionKind.SEARCH: "reading",
}
_RECENT_CALLS = 12
"""Tool calls that show what the agent is doing now (chosen by hand)."""
_SHORTEST_INSTRUCTION = 200
"""Characters of a text from the harness that is an instruction and not a reminder (chosen by hand)."""


def handoff_headings(sections: Sections, items: Sequence[Item], ledger: Ledger) -> Handoff:
    """Return the content of a handoff under the fourteen headings; none of them is empty."""
    failed = [line for line in sections.findings if line.topic in (HandoffTopic.FAILED, HandoffTopic.FIXED)]
    last = [line for line in sections.now if line.topic is HandoffTopic.REQUEST]
    goal = list(_goal(ledger))
    asked = sum(item.message.role is Role.USER and item.message.origin is Origin.SPOKEN for item in items)
    return Handoff(
        current_objective=_lines(last or goal, "No request was made."),
        user_constraints_and_preferences=_lines(
            sections.rules, f"No lasting rule was found in the messages of the user ({asked})."
        ),
        authoritative_instructions_loaded=_lines(
            _instructions(items, ledger), "No system prompt and no instruction file is in the session."
        ),
        active_plan=_lines(_plan(items, ledger), "No plan or task list was written."),
        active_workflow=_lines(_workflow(items, ledger), "The agent has called no tools."),
        active_goal_and_done_condition=_lines([*goal, *_done_when(items, ledger)], "No goal was stated."),
        approval_state=_lines(_approvals(ledger), "No permission was asked for."),
        resources_inspected=_lines(_inspected_items(ledger), "No file or page was read."),
        key_facts_and_decisions=_lines(
            [line for line in sections.findings if line not in failed], "No finding or decision was stated."
        ),
        actions_already_taken=_lines(
            [*sections.story, *sections.files, *_commands(ledger)], "Nothing was changed or run."
        ),
        errors_blockers_and_attempted_fixes=_lines(failed, "No relevant failure was found."),
        pending_tasks=_lines(
            [line for line in sections.now if line.topic is HandoffTopic.OPEN], "Nothing else is open."
        ),
        next_recommended_step=_lines(sections.next_step, "Ask the user."),
        do_not_redo=_lines(_finished_items(ledger, failed), "Nothing was finished, refused or fixed yet."),
    )


def _lines(lines: Iterable[HandoffLine], otherwise: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, lines))) or (otherwise,)


def _goal(ledger: Ledger) -> Iterator[HandoffLine]:
    if goal := ledger.goal:
        yield HandoffLine(f"Goal: “{flat(goal.quote, LONGEST_LINE)}”", (goal.source.message,))


_NO_CONDITIONS = (Kind.PROHIBITION, Kind.SCOPE, Kind.LIMIT)
"""Kinds of rules that say how to work, whatever else is done."""
_SAYS_DONE = re.compile(
    r"\b(?:done (?:when|if|once)|finished when|acceptance|until|pass(?:es)?)\b", re.IGNORECASE
)
_STANDS = re.compile(
    r"\b(?:always|never|every|each|whenever|any ?time|from now on|do not|don[’']t)\b"
    r"|^(?:for|when|while|before)\s[^,.]{3,60},\s(?:please\s)?(?:ensure|make sure|verify)\b|^consider\b"
    r"|\b(?:carefully|yourself|approach|before (?:you|continuing)|(?:to|you) (?:point|use|ask|follow|review))"
    r"\b",
    re.IGNORECASE,
)
"""Wordings of a rule of method: "for test cases, ensure a data-driven approach"."""


def _is_rule(sentence: str, rules: Collection[str]) -> bool:
    """Whether a sentence states how to work, not when the work is done."""
    if _SAYS_DONE.search(sentence):
        return False
    return bool(_STANDS.search(sentence)) or any(rule in sentence or sentence in rule for rule in rules)


def _done_when(items: Sequence[Item], ledger: Ledger) -> Iterator[HandoffLine]:
    """Yield what the user said about the end of the work; else what is still open."""
    quotes, found = Quotes(items), 0
    asks = [turn.ask for turn in ledger.turns.all]
    goal = [ledger.goal.source] if ledger.goal else []
    rules = {pin.quote for pin in ledger.pins.all if pin.kind in _NO_CONDITIONS}
    for cite in dict.fromkeys((*goal, *reversed(asks))):
        for sentence in sentences(quotes.text(cite)):  # the user's own: no code, logs or quotations
            if found < 3 and _is_condition(sentence.text) and not _is_rule(sentence.text, rules):
                found += 1
                yield HandoffLine(f"Done when: “{flat(sentence.text, LONGEST_LINE)}”", (cite.message,))
    if not found:
        left = len(ledger.loops.collapsed)
        run = ledger.last_run
        tests = f" and `{flat(run.command, LONGEST_COMMAND)}` passes" if run else ""
        sources = tuple(dict.fromkeys(source.message for source in ([run.source] if run else asks[-1:])))
        if sources:
            text = f"No condition was stated; assumed done when nothing is open ({left} now){tests}"
            yield HandoffLine(text, sources)


def _is_condition(text: str) -> bool:
    """Whether a sentence says when the work is done; not a question, a heading or a comment in code."""
    says = _DONE_WHEN.search(text) or (_MAY_SAY_WHEN.search(text) and not _OBSERVED.search(text))
    return bool(says) and not text.endswith(("?", ":")) and not _COMMENT.match(text)


def _instructions(items: Sequence[Item], ledger: Ledger) -> Iterator[HandoffLine]:
    for item in items:
        text = item.message.text
        if item.message.role is Role.SYSTEM:
            yield HandoffLine(
                f"system prompt, {len(text):,} characters: {flat(text, LONGEST_COMMAND)}", (item.id,)
            )
        elif item.message.origin is Origin.INJECTED and len(text) >= _SHORTEST_INSTRUCTION:
            yield HandoffLine(
                f"given by the tool: {flat(text, LONGEST_COMMAND)}", (item.id,), quotes_tool=True
            )
            break  # the first one; later ones are reminders and attachments
    yield from _file_lines(
        artifact for artifact in ledger.artifacts.files if _INSTRUCTION_FILE.search(artifact.name)
    )


def _plan(items: Sequence[Item], ledger: Ledger) -> Iterator[HandoffLine]:
    """Yield the task list; without one, the plan that the user approved or gave, or the last notes."""
    tasks = [loop for loop in open_items(ledger) if loop.kind is LoopKind.TODO]
    if tasks:
        for loop in tasks:
            text = f"{flat(loop.text, LONGEST_LINE)} ({loop.status or 'open'})"
            yield HandoffLine(text, (loop.source.message,))
    elif ledger.plan:
        plan = flat(ledger.plan.plan, 2 * LONGEST_LINE)
        yield HandoffLine(f"approved by the user: {plan}", (ledger.plan.asked.message,))
    elif ledger.goal and (opening := _GIVEN_PLAN.search(ledger.goal.quote)):
        plan = flat(ledger.goal.quote[opening.end() :], 2 * LONGEST_LINE)
        yield HandoffLine(f"given by the user: {plan}", (ledger.goal.source.message,))
    elif ledger.turns.notes:
        note = ledger.turns.notes[-1]
        yield HandoffLine(f"last notes: {flat(Quotes(items).text(note), 2 * LONGEST_LINE)}", (note.message,))
    elif steps := [loop for loop in ledger.loops.closed if loop.kind is LoopKind.TODO]:
        yield HandoffLine(f"all {len(steps)} tasks of the last list are closed", (steps[-1].source.message,))


def _workflow(items: Sequence[Item], ledger: Ledger) -> Iterator[HandoffLine]:
    """Yield what the agent is doing now, by its last tool calls, and how far its task list is."""
    calls = [(item.id, call) for item in items[-10 * _RECENT_CALLS :] for call in item.message.calls]
    recent = calls[-_RECENT_CALLS:]
    if recent:
        name, last = recent[-1]
        kind = BY_NAME.get(last.name.lower())
        phase = _PHASES.get(kind, "running commands and tools") if kind else "running commands and tools"
        used = ", ".join(dict.fromkeys(call.name for _, call in recent))
        yield HandoffLine(f"phase: {phase}; last tools: {used}", (name,))
    tasks = [loop for loop in (*ledger.loops.closed, *ledger.loops.open) if loop.kind is LoopKind.TODO]
    if tasks:
        done = sum(loop.closed is Closed.DONE for loop in tasks)
        yield HandoffLine(f"task list: {done} of {len(tasks)} done", (tasks[-1].source.message,))
    if skills := invoked_skills(item.message for item in items):
        at = next(item.id for item in items if invoked_skills([item.message]))
        yield HandoffLine(f"skills in use: {', '.join(skills)}", (at,))


def _approvals(ledger: Ledger) -> Iterator[HandoffLine]:
    for approval in ledger.approvals[-MOST_LISTED:]:
        yield HandoffLine(
            f"{approval.answer.value}: {flat(approval.what, LONGEST_LINE)}", (approval.asked.message,)
        )


def _inspected_items(ledger: Ledger) -> Iterator[HandoffLine]:
    artifacts = [file for file in ledger.artifacts.files if not file.changed]
    yield from _file_lines([*artifacts[-MOST_LISTED:], *ledger.artifacts.urls[-MOST_LISTED:]])
    if not artifacts and not ledger.artifacts.urls:
        yield from _file_lines(ledger.artifacts.files[-MOST_LISTED:])


def _commands(ledger: Ledger) -> Iterator[HandoffLine]:
    for command in ledger.artifacts.commands[-MOST_LISTED:]:
        failed = " (failed)" if command.ended is Ended.FAILED else ""
        yield HandoffLine(
            f"ran: {flat(command.name, LONGEST_COMMAND)}{failed}", (command.last.message,), True
        )


def _finished_items(ledger: Ledger, failed: Sequence[HandoffLine]) -> Iterator[HandoffLine]:
    for refusal in ledger.refusals[-MOST_LISTED:]:
        yield HandoffLine(f"refused: {flat(refusal.what, LONGEST_LINE)}", (refusal.asked.message,))
    yield from (line for line in failed if line.topic is HandoffTopic.FIXED)
    closed = [loop for loop in ledger.loops.closed if loop.closed in (Closed.DONE, Closed.REPORTED)]
    for loop in closed[-MOST_LISTED:]:
        at: Cite = loop.closed_by or loop.source
        how = "done" if loop.closed is Closed.DONE else "reported on"
        if any(_is_part(part, loop) for part in ledger.loops.open):
            how = f"{how} in part (the rest is open)"
        yield HandoffLine(f"{how}: {flat(loop.text, LONGEST_LINE)}", (loop.source.message, at.message))
    for file in list(ledger.artifacts.changed)[-MOST_LISTED:]:
        yield HandoffLine(f"changed: {flat(file.name, LONGEST_LINE)}", (file.last.message,), True)


def _is_part(part: Loop, whole: Loop) -> bool:
    """Whether an item is a part of what another one asks for."""
    return part.source.message == whole.source.message and part.text in whole.text


def _file_lines(artifacts: Iterable[Artifact]) -> Iterator[HandoffLine]:
    for file in artifacts:
        yield HandoffLine(f"{file.action.value}: {flat(file.name, LONGEST_LINE)}", (file.last.message,), True)
