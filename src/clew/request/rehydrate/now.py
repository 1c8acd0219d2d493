"""State that only the harness knows: budget, instructions, skills, references, tools, workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.message import Message, Trust

_SKILL_TOOLS = frozenset({"skill", "use_skill", "useskill", "activate_skill", "load_skill", "invoke_skill"})
_SKILL_ARGUMENTS = ("skill", "name", "skill_name", "command")


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that was retrieved: its exact reference, and a short description."""

    ref: str
    about: str = ""
    trust: Trust = Trust.UNTRUSTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """Current state that is not in the ledger."""

    used_tokens: int | None = None
    usable_tokens: int | None = None
    compact_at_tokens: int | None = None
    instructions: tuple[str, ...] = ()
    """The labels of the active instruction files."""
    skills: tuple[str, ...] = ()
    """Skills that were invoked and still apply; see ``invoked_skills``."""
    references: tuple[Reference, ...] = ()
    tools: tuple[str, ...] = ()
    """The offered tools: shown only if they changed, because the request defines them anyway."""
    tools_new: tuple[str, ...] = ()
    tools_gone: tuple[str, ...] = ()
    """Tools that the session used and no longer has."""
    workspace: tuple[str, ...] = ()
    """Facts about it, one each: ``root /p``, ``branch main``."""


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
