"""What only the harness knows: budget, instructions, skills, references, tools, workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.message import Message, Trust

_SKILL_TOOLS = frozenset({"skill", "use_skill", "useskill", "activate_skill", "load_skill", "invoke_skill"})
_SKILL_ARGUMENTS = ("skill", "name", "skill_name", "command")


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that was retrieved: its exact reference, and what it is in a few words."""

    ref: str
    about: str = ""
    trust: Trust = Trust.UNTRUSTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What holds now and stands in no ledger."""

    used_tokens: int | None = None
    usable_tokens: int | None = None
    compact_at_tokens: int | None = None
    instructions: tuple[str, ...] = ()
    """The labels of the instruction files in force."""
    skills: tuple[str, ...] = ()
    """Skills that were invoked and still apply: ``invoked_skills`` finds them."""
    references: tuple[Reference, ...] = ()
    tools: tuple[str, ...] = ()
    """The tools that are offered: told where that changed, for the request defines them anyway."""
    tools_new: tuple[str, ...] = ()
    tools_gone: tuple[str, ...] = ()
    """Tools that the session used and no longer has."""
    workspace: tuple[str, ...] = ()
    """What is known of it, a fact each: ``root /p``, ``branch main``."""


def invoked_skills(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the skills that a session invoked, in the order of their first use."""
    found: dict[str, None] = {}
    for message in messages:
        for call in message.calls:
            given = call.input if call.name.lower() in _SKILL_TOOLS else None
            name = next((given[key] for key in _SKILL_ARGUMENTS if given.get(key)), None) if given else None
            if isinstance(name, str):
                found[name] = None
    return tuple(found)
