"""clew's digest of a host's session, as the text that takes the place of the host's own summary."""

from __future__ import annotations

from dataclasses import replace

from clew.budget import DEFAULT
from clew.hosts.reading import HostSession
from clew.hosts.reminder import SEARCH
from clew.message import Origin, Role, said
from clew.message.lookalike import escaped
from clew.secrets import mask
from clew.session import compact

DIGEST_TOKENS = 4_000
_NOW = "(the conversation goes on here)"


def summary_of(session: HostSession, focus: str | None = None) -> str:
    """Return what takes the place of a host's own summary: a digest, or all that was said if short."""
    text = digest_of(session, DIGEST_TOKENS, focus)
    if not text:
        spoken = [(f"m{place}", one.message) for place, one in enumerate(session.entries, start=1)]
        lines = [f"[{ref}, {one.role.value}] {escaped(one.text)}" for ref, one in spoken if one.text.strip()]
        text = mask("\n".join(["The conversation so far, word for word:", *lines])).text
    return f"{text}\n{SEARCH}"


def digest_of(session: HostSession, target_tokens: int, focus: str | None = None) -> str:
    """Return a digest of all that was said; nothing if there is nothing to shorten.

    The last message, which ``compact`` always keeps, is a stand-in: the host keeps the recent ones itself.
    """
    messages = [*(entry.message for entry in session.entries), said(Role.USER, _NOW)]
    policy = replace(DEFAULT, keep_messages=1)
    done = compact(messages, target_tokens=target_tokens, policy=policy, focus=focus)
    found = [one.text for one in done.messages if one.origin is Origin.SUMMARY and one.text]
    return found[-1] if done.plan and found else ""
