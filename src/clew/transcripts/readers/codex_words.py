"""Label Codex items in the user's role: typed by the user, inserted by the harness, or a summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from clew.message import Message, Origin, Part, Role, Text, Trust
from clew.transcripts.labels import relabelled
from clew.transcripts.typed import MACHINE, user_message

_SCAFFOLDING = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<INSTRUCTIONS>|<(?:user_instructions|environment_context|turn_aborted"
    r"|user_shell_command|user_action|skill|subagent_notification|agent_message_board_notification"
    r"|codex_internal_context|goal_context|recommended_plugins|hook_prompt|personality_spec|model_switch"
    r"|collaboration_mode|permissions instructions|apps_instructions|skills_instructions"
    r"|plugins_instructions|multi_agent_mode|app-context)\b)"
)
_SUMMARY = re.compile(
    r"\s*(?:Another language model started to solve this problem and produced a summary"
    r"|You were originally given instructions from a user over one or more turns)"
)
_IMAGE_WRAPPER = re.compile(r"\s*</?image\b[^<>]*>\s*")
_EDITOR_CONTEXT = re.compile(
    r"\s*# (?:Context from my IDE setup|Files mentioned by the user|Review findings):"
)
_REQUEST = "## My request for Codex:"


def with_speakers(message: Message) -> Message:
    """Label a message in the user's role by its real author; others are returned unchanged."""
    if message.role is not Role.USER:
        return message
    if any(isinstance(part, Text) and _SUMMARY.match(part.text) for part in message.parts):
        return relabelled(message, Origin.SUMMARY)
    labelled = user_message(piece for part in message.parts for piece in _pieces(part))
    return replace(labelled, native=message.native)


def _pieces(part: Part) -> Iterator[Part]:
    if not isinstance(part, Text):
        yield part
    elif _SCAFFOLDING.match(part.text) or _IMAGE_WRAPPER.fullmatch(part.text):
        yield replace(part, trust=MACHINE)
    elif _EDITOR_CONTEXT.match(part.text) and _REQUEST in part.text:
        # The editor's context comes first; the user's words follow the last such heading, because an open
        # file that the editor quotes may contain one too.
        cut = part.text.rindex(_REQUEST) + len(_REQUEST)
        yield Text(part.text[:cut], trust=MACHINE)
        yield Text(part.text[cut:], trust=Trust.USER)
    else:
        yield part
