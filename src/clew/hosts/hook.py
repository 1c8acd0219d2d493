"""``clew hook TOOL``: answer one event of a host, read from standard input, by the host's own protocol.

For example, before Claude Code compacts, it sends ``{"hook_event_name": "PreCompact", "session_id": …,
"transcript_path": …}``, and gives the text that is printed here to its summariser. ``_HANDLERS`` at the end
lists the events of every host. The host waits for it, so it imports little, prints nothing if there is
nothing to add, and never fails: any error is logged and the exit status is 0.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.hosts.session_notes import (
    CurrentSession,
    SessionNote,
    format_of,
    log_failure,
    read_note,
    write_note,
)

if TYPE_CHECKING:
    from clew.hosts.reminder import WorkState
    from clew.hosts.session_state import ManualRules

Event = dict[str, Any]
"""What a host sends, as JSON."""
FRESH_SECONDS = 900.0
"""Seconds after the event before a compaction within which its reminder is reused; chosen by hand."""
GEMINI_WINDOW = 1_048_576
"""Tokens of the window of Gemini's models."""
GEMINI_SHARE = 0.5
"""Share of the window from which Gemini CLI compresses by default."""
GEMINI_TAIL_BYTES = 256 << 10
"""Bytes at the end of a transcript in which its last token count is looked for; a reply rarely has more."""
OFF = "CLEW_HOOK"
"""Environment variable that disables every hook if set to ``off``."""


def main(words: Sequence[str]) -> int:
    """Answer the event on standard input; always return 0."""
    gc.disable()  # a short-lived process: garbage collection would cost a tenth of its time
    try:
        if os.environ.get(OFF, "").lower() != "off":
            output = answer(words[0], json.loads(sys.stdin.buffer.read() or b"{}"))
            sys.stdout.buffer.write(output.encode("utf-8", "backslashreplace"))  # whatever the locale is
            sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001 - inside another program: log it, never block
        log_failure(f"{' '.join(words)}: {traceback.format_exc(limit=-4)}")
    gc.freeze()  # nor at exit, where it would cost another tenth
    return 0


def answer(tool: str, event: Event) -> str:
    """Return the answer for the host; empty for an event that needs none."""
    handler = _HANDLERS.get((tool, str(event.get("hook_event_name", ""))))
    return handler(tool, event) if handler else ""


# State of the session --------------------------------------------------------------------------------


def _updated_note(tool: str, event: Event) -> SessionNote:
    """Return the note of the event's session, with what the event says about it; not written yet."""
    note = read_note(tool, str(event.get("session_id", "")))
    return replace(
        note,
        transcript=str(event.get("transcript_path") or note.transcript),
        directory=str(event.get("cwd") or note.directory),
        host_pid=_host_pid(),
    )


def _host_pid() -> int:
    """Return the process id of the host: our parent, or the parent of the shell that it started us with."""
    parent = os.getppid()
    try:
        name, _, fields = Path(f"/proc/{parent}/stat").read_text("utf-8").rpartition(")")
        return int(fields.split()[1]) if name.endswith(("(sh", "(bash", "(dash", "(zsh")) else parent
    except (OSError, ValueError, IndexError):
        return parent


def _compute_state(note: SessionNote) -> tuple[SessionNote, WorkState]:
    """Read the transcript and write a note with what must stay in view."""
    from clew.hosts.reminder import reminder
    from clew.hosts.session_state import read_session, work_state

    session = read_session(Path(note.transcript), format_of(note.tool), note.session)
    state = work_state(session, _manual_rules(note))
    note = replace(note, reminder=reminder(state), state=asdict(state))
    write_note(note)
    return note, state


def _manual_rules(note: SessionNote) -> ManualRules:
    from clew.hosts.reminder import plain
    from clew.hosts.session_state import ManualRules

    return ManualRules(note.pinned, frozenset(map(plain, note.taken_off)))


def _fresh(note: SessionNote) -> SessionNote:
    """Return the note with the reminder; computed now unless that was done just before."""
    is_fresh = note.state and note.pending and note.age_seconds < FRESH_SECONDS
    return note if is_fresh else _compute_state(note)[0]


def _hook_output(event_name: str, text: str, line: str = "") -> str:
    """Return the JSON that adds a text to the model's context and shows a line to the user."""
    if not text:
        return ""
    output = {"hookEventName": event_name, "additionalContext": text}
    shown = {"systemMessage": line} if line else {}
    return json.dumps({"hookSpecificOutput": output, **shown}, ensure_ascii=False)


# Events ----------------------------------------------------------------------------------------------


def _before_compaction(tool: str, event: Event) -> str:
    """Before a compaction, compute what must stay in view; Claude Code gives the output to its summariser."""
    from clew.hosts.reminder import summary_request

    _, state = _compute_state(replace(_updated_note(tool, event), pending=True))
    return summary_request(state) if tool == "claude-code" else ""


def _session_starts(tool: str, event: Event) -> str:
    """After a compaction, inject what must stay in view; otherwise note which session this is."""
    note = _updated_note(tool, event)
    if event.get("source") != "compact":
        write_note(note)
        return ""
    note = _fresh(note)
    write_note(replace(note, pending=False))
    line = _left_out(note, _last_summary(note)) if tool == "codex" else ""
    return _hook_output("SessionStart", note.reminder, line)


def _after_compaction(tool: str, event: Event) -> str:
    """Check the summary that Claude Code passes; it shows the output to the user."""
    return _left_out(_updated_note(tool, event), event.get("compact_summary"))


def _left_out(note: SessionNote, summary: object) -> str:
    """Return one line on what a summary left out."""
    from clew.hosts.reminder import missing, state_from

    return missing(state_from(note.state), summary) if note.state and isinstance(summary, str) else ""


def _last_summary(note: SessionNote) -> str | None:
    """Return the last summary in a host's transcript."""
    from clew.hosts.session_state import read_session
    from clew.message import Origin

    transcript = read_session(Path(note.transcript), format_of(note.tool), note.session).transcript
    summaries = [entry.message.text for entry in transcript.entries if entry.message.origin is Origin.SUMMARY]
    return summaries[-1] if transcript.boundaries and summaries else None


# Hosts with a plug-in of ours, which names the action and reads JSON ----------------------------------


def _own_compaction(tool: str, event: Event) -> str:
    """Return clew's digest, which pi uses as its compaction, without a model call."""
    from clew.hosts.session_state import read_session, summary_of

    note = _updated_note(tool, event)
    write_note(note)
    focus = event.get("focus")
    session = read_session(Path(note.transcript), note.tool, note.session)
    summary = summary_of(session, focus if isinstance(focus, str) else None)
    return _json(summary=summary, line=f"clew compacted {len(session.entries)} messages without a model call")


def _list_compaction(_: str, event: Event) -> str:
    """Return a compacted message list, which Hermes uses as its compaction, without a model call."""
    from clew.session import compact

    focus, target = event.get("focus"), int(event.get("target_tokens", 0))
    result = compact(event["messages"], target_tokens=target, focus=focus if isinstance(focus, str) else None)
    return json.dumps({"messages": result.messages}, ensure_ascii=False)


def _messages_compaction(_: str, event: Event) -> str:
    """Return the digest of messages, which OpenClaw uses as its compaction, without a model call."""
    from clew.hosts.session_state import digest_text
    from clew.message import Origin, Role, text_message
    from clew.transcripts.readers.pi import message_of

    earlier = event.get("previous_summary")
    messages = [text_message(Role.USER, earlier, Origin.SUMMARY)] if isinstance(earlier, str) else []
    messages += [message for one in event["messages"] if (message := message_of(one)) is not None]
    return _json(summary=digest_text(messages))


def _tool_call(tool: str, event: Event) -> str:
    """Run a tool that a plug-in registered, for a host without MCP."""
    from clew.errors import ClewError
    from clew.hosts.tools import SessionTools

    note = _updated_note(tool, event)
    session = CurrentSession(tool, note.session, Path(note.transcript), note.directory)
    name, arguments = str(event.get("name")), event.get("arguments")
    with closing(SessionTools(note.directory, session)) as tools:
        try:
            return _json(text=tools.call(name, arguments if isinstance(arguments, dict) else {}))
        except ClewError as error:
            return _json(text=str(error))


def _opencode_compacts(tool: str, event: Event) -> str:
    """Return what opencode's summary must keep, and what goes into every request after it."""
    from clew.hosts.reminder import reminder, summary_request
    from clew.hosts.session_state import session_of, work_state

    note = _updated_note(tool, event)
    exported = json.dumps(event.get("export")).encode()
    state = work_state(session_of(exported, "opencode"), _manual_rules(note))
    write_note(replace(note, reminder=reminder(state)))
    return _json(context=summary_request(state), reminder=reminder(state))


def _opencode_resumes(tool: str, event: Event) -> str:
    """Return the reminder that a compaction in an earlier run of opencode left."""
    return _json(reminder=_updated_note(tool, event).reminder)


def _gemini_compresses(tool: str, event: Event) -> str:
    """On ``/compress``, note what must stay in view; the event also comes each turn without it."""
    return _before_compaction(tool, event) if event.get("trigger") == "manual" else ""


def _gemini_before_prompt(tool: str, event: Event) -> str:
    """Add what must stay in view to the prompt, after a compression and before one that the prompt triggers.

    Gemini CLI compresses the history just before it sends a prompt, and fires no event for it.
    """
    note = _updated_note(tool, event)
    if not note.pending and not _gemini_will_compress(Path(note.transcript)):
        return ""
    note = _fresh(note)
    write_note(replace(note, pending=False))
    return _hook_output("BeforeAgent", note.reminder)


def _gemini_will_compress(transcript: Path) -> bool:
    """Whether the last reply's input was so long that the next prompt triggers a compression."""
    with transcript.open("rb") as file:
        file.seek(max(0, transcript.stat().st_size - GEMINI_TAIL_BYTES))
        counted = re.findall(rb'"tokens":\s*\{\s*"input":\s*(\d+)', file.read())
    share = GEMINI_SHARE
    with suppress(OSError, ValueError, KeyError, TypeError):
        settings = json.loads((Path.home() / ".gemini" / "settings.json").read_bytes())
        share = float(settings["model"]["compressionThreshold"])
    return bool(counted) and int(counted[-1]) >= share * GEMINI_WINDOW


def _json(**output: str) -> str:
    return json.dumps(output, ensure_ascii=False)


Handler = Callable[[str, Event], str]
"""Takes the name of the host and its event; returns what to print."""
_HANDLERS: dict[tuple[str, str], Handler] = {
    ("claude-code", "PreCompact"): _before_compaction,
    ("claude-code", "SessionStart"): _session_starts,
    ("claude-code", "PostCompact"): _after_compaction,
    ("codex", "PreCompact"): _before_compaction,
    ("codex", "SessionStart"): _session_starts,
    ("gemini", "SessionStart"): _session_starts,
    ("gemini", "PreCompress"): _gemini_compresses,
    ("gemini", "BeforeAgent"): _gemini_before_prompt,
    ("hermes", "compress"): _list_compaction,
    ("openclaw", "summarize"): _messages_compaction,
    ("opencode", "compacting"): _opencode_compacts,
    ("opencode", "resumed"): _opencode_resumes,
    ("pi", "session_before_compact"): _own_compaction,
    ("pi", "tool"): _tool_call,
}
