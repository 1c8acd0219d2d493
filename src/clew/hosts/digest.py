"""clew's digest of a host's session, as the text that replaces the host's own summary."""

from __future__ import annotations

from dataclasses import replace

from clew.budget import DEFAULT
from clew.hosts.reading import HostSession
from clew.hosts.reminder import SEARCH
from clew.message import Origin, Role, said
from clew.message.text import escaped
from clew.secrets import mask
from clew.session import compact

DIGEST_TOKENS = 4_000
_NOW = "(the conversation goes on here)"


def summary_of(session: HostSession, focus: str | None = None) -> str:
    """Return the replacement of a host's own summary: a digest, or the whole conversation if it is short."""
    text = digest_of(session, DIGEST_TOKENS, focus)
    if not text:
        spoken = [(f"m{place}", one.message) for place, one in enumerate(session.entries, start=1)]
        lines = [f"[{ref}, {one.role.value}] {escaped(one.text)}" for ref, one in spoken if one.text.strip()]
        text = mask("\n".join(["The conversation so far, word for word:", *lines])).text
    return f"{text}\n{SEARCH}"


def digest_of(session: HostSession, target_tokens: int, focus: str | None = None) -> str:
    """Return a digest of the whole conversation; empty if there is nothing to shorten.

    A placeholder is added as last message, which ``compact`` always keeps: the host keeps the recent ones.
    """
    messages = [*(entry.message for entry in session.entries), said(Role.USER, _NOW)]
    policy = replace(DEFAULT, keep_messages=1)
    done = compact(messages, target_tokens=target_tokens, policy=policy, focus=focus)
    found = [one.text for one in done.messages if one.origin is Origin.SUMMARY and one.text]
    return found[-1] if done.plan and found else ""
