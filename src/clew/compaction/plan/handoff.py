"""The Compaction Handoff: what the next assistant needs, under fourteen fixed headings. Parses back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from clew.compaction.plan.digest import Claim, ClaimKind, Digest

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


def handoff_of(digest: Digest) -> Handoff:
    """Return the content of a digest under the handoff's headings; fields only the host knows stay empty."""

    def said(*kinds: ClaimKind) -> tuple[str, ...]:
        return tuple(_with_sources(claim) for claim in digest.claims if claim.kind in kinds)

    return Handoff(
        current_objective=said(ClaimKind.GOAL),
        user_constraints_and_preferences=tuple(
            f'"{pin.quote}" [{pin.source.message}, {pin.trust.label}]' for pin in digest.pins
        ),
        resources_inspected=said(ClaimKind.ARTIFACT),
        key_facts_and_decisions=said(ClaimKind.DECISION, ClaimKind.FACT, ClaimKind.USER),
        errors_blockers_and_attempted_fixes=said(ClaimKind.ERROR),
        pending_tasks=said(ClaimKind.OPEN),
        next_recommended_step=said(ClaimKind.NEXT),
    )


def _with_sources(claim: Claim) -> str:
    turns = ", ".join(dict.fromkeys(cite.message for cite in claim.sources))
    return f"{claim.text} [{turns}]"


def render_handoff(handoff: Handoff) -> str:
    """Write a handoff as Markdown."""
    return "\n".join(_lines(handoff))


def _lines(handoff: Handoff) -> Iterator[str]:
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
