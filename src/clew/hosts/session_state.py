"""Read a host's session, and extract what must stay in view when it is compacted.

A hook runs while its host waits. A file of ordinary size is read whole. Of a larger one with a record per
line (``.jsonl``), the lines that may hold a message of the user (which may state a rule) and the last
megabytes (the current work) are read; other lines are skipped without parsing. Databases and single documents
are read whole.

Rules, goal, open work, files and failures are quoted with their source turn, one line each. Only rules of the
user that the finder is sure of are included: a false rule in a host's session costs more than a missing one,
which the model can still find with ``rules`` or ``recall``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.errors import InputError, NotFound
from clew.hosts.reminder import SEARCH, ReminderLine, WorkState, plain
from clew.ledger.goal import GoalKind
from clew.ledger.ledger import Ledger
from clew.ledger.loop import LoopKind
from clew.message import Item, Message, Role, Trust, text_message
from clew.message.text import escape_tags
from clew.rules.rule import Kind, Lasts, MadeBy, Pin, Verdict
from clew.secrets import mask
from clew.transcripts.formats import FORMATS, detect
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import Source, open_source
from clew.transcripts.transcript import Transcript, collect

DIGEST_TOKENS = 4_000
"""Size of the digest of a session; chosen by hand."""
_DATABASES = (".db", ".sqlite", ".sqlite3", ".vscdb")
"""Endings of files that hold the sessions of all projects: the last one may be anybody's."""
_NOW = "(the conversation goes on here)"
"""Added as the last message, so that the digest covers all messages before it."""
WHOLE_BYTES = 6 << 20
"""Files up to this size are read whole: about 0.05 s of CPU per MiB."""
TAIL_BYTES = 2 << 20
"""The last bytes of a larger file, which are read too."""
MOST_USER_BYTES = 2 << 20
"""Limit on the user's lines between head and tail; of more, the newest that fit are read."""
_USER = (b'"type":"user"', b'"role":"user"', b'"user_message"', b'"queue-operation"')
"""Every line with a message of the user has one of these, in any host's format."""
_RESULT = b'"tool_result"'
"""Every line with a tool result has this."""
_ASIDES = (b"the user said", b"answered your question")
"""User text inside a tool result: a refusal with a reason, an answer to the model's question."""
_CALL_LINES = 5
"""A tool call that the user answered is at most this many lines before its result."""
_HEAD_LINES = 8
"""The first lines, which hold the session's id and metadata, are read whatever their size."""


@dataclass(frozen=True, slots=True)
class HostSession:
    """A session of a host, whole or in part."""

    transcript: Transcript
    entries: tuple[Entry, ...]
    """The conversation, oldest first."""
    whole: bool
    """False if parts of a large file were skipped."""

    @property
    def items(self) -> list[Item]:
        """Return the messages with the ids that ``clew`` gives them: ``m12``, or ``L345`` by line."""
        if self.whole:
            return [Item(f"m{place}", entry.message) for place, entry in enumerate(self.entries, start=1)]
        return [Item(f"L{entry.line}", entry.message) for entry in self.entries]

    def ledger(self) -> Ledger:
        """Return the session's rules and state of work; exact values and the story are costly to extract."""
        ledger = Ledger(story=False)
        ledger.extend(self.items)
        return ledger


def read_session(
    path: Path, format_name: str | None = None, session_id: str | None = None, whole_bytes: int | None = None
) -> HostSession:
    """Read the session of a file; ``session_id`` chooses one of a database that holds several.

    Files of at most ``whole_bytes`` are read whole: by default what a hook has time for.
    """
    most = WHOLE_BYTES if whole_bytes is None else whole_bytes
    whole = path.is_dir() or path.suffix != ".jsonl" or path.stat().st_size <= most
    return _read(open_source(path) if whole else _excerpt(path), format_name, session_id, whole=whole)


def session_of(data: bytes, format_name: str) -> HostSession:
    """Read a session that a host passed in its event."""
    return _read(Source("what the host sent", lambda: iter((data,))), format_name, None, whole=True)


def _read(source: Source, format_name: str | None, session_id: str | None, *, whole: bool) -> HostSession:
    format_ = FORMATS[format_name] if format_name else detect(source)
    transcripts = list(collect(format_.read(source), Start(source.name, format_.name)))
    if not transcripts:
        raise InputError(f"{source.name} holds no session")
    named = next((transcript for transcript in transcripts if transcript.id == session_id), None)
    if named is None and session_id and len(transcripts) > 1 and source.name.endswith(_DATABASES):
        raise NotFound(f"{source.name} holds no session {session_id!r}", "`clew sessions` lists them")
    transcript = named or transcripts[-1]  # a file of one session may give it another id than its host does
    return HostSession(transcript, tuple(transcript.full_entries()), whole)


def _excerpt(path: Path) -> Source:
    """Return the file with skipped lines left empty, so that line numbers stay the same."""

    def lines() -> Iterator[bytes]:
        tail = path.stat().st_size - TAIL_BYTES
        with path.open("rb") as file:
            kept = _kept_lines(file, tail)
            file.seek(0)
            place = 0
            for number, line in enumerate(file):
                yield line if place >= tail or number in kept else b"\n"
                place += len(line)

    return Source(str(path), lines, path)


def _kept_lines(file: Iterator[bytes], tail: int) -> set[int]:
    """Return the numbers of the lines to read before the tail: the head and what the user may have said."""
    sizes: dict[int, int] = {}  # of the lines that are worth reading, by number
    previous: list[tuple[int, int]] = []  # the last lines, by number and size
    place = 0
    for number, line in enumerate(file):
        if place >= tail:
            break
        place += len(line)
        is_result = _RESULT in line
        if number < _HEAD_LINES or any(mark in line for mark in (_ASIDES if is_result else _USER)):
            sizes[number] = len(line)
            if is_result:  # it is only readable together with its call
                sizes.update(previous)
        previous = [*previous[-_CALL_LINES:], (number, len(line))]
    room = MOST_USER_BYTES
    kept = {number for number in sizes if number < _HEAD_LINES}
    for number in sorted(sizes.keys() - kept, reverse=True):
        if sizes[number] <= room:  # a pasted image may be larger than the room; older lines still fit
            room -= sizes[number]
            kept.add(number)
    return kept


SURE = 0.8
"""Confidence of a rule that is injected. On the labelled Claude Code, Codex and opencode sessions this and
the kinds below leave out most statements about code that only sound like rules."""
RULE_KINDS = frozenset((Kind.PROHIBITION, Kind.REQUIREMENT, Kind.LIMIT, Kind.SCOPE))
"""Kinds of rules that are injected."""
PASSING = frozenset((Lasts.TURN, Lasts.TASK))
"""Rules that end with their turn or task are not injected."""
LONGEST_RULE = 300
"""Characters of a rule; a longer one is mostly explanation. Chosen by hand."""
LONGEST_LINE = 200
"""Characters of any other line; chosen by hand."""
MOST_OPEN = 6
MOST_FILES = 12
MOST_FAILURES = 3
"""Items of each list that are injected; chosen by hand."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
"""Control characters, changes of text direction, and broken surrogates."""
_MAY_BEGIN_TAG = re.compile(r"[<&\\%]|[^\x00-\x7f]")
"""A text without such a character has no bracket; a hook does not wait for ``escape_tags`` to load."""
_OPEN_ORDER = {LoopKind.TODO: 0, LoopKind.REQUEST: 1, LoopKind.LEFT: 2, LoopKind.PROMISE: 3, LoopKind.TEST: 4}
"""The kinds of open work that are shown, the most reliable first."""


@dataclass(frozen=True, slots=True)
class ManualRules:
    """The user's changes to the rules of a session: added and removed ones."""

    pinned: tuple[str, ...] = ()
    """The added ones, as typed."""
    taken_off: frozenset[str] = field(default_factory=frozenset)
    """The removed ones, normalised with ``reminder.plain``."""


def work_state(session: HostSession, by_hand: ManualRules = ManualRules()) -> WorkState:  # noqa: B008 - frozen
    """Return what must stay in view of a session."""
    return ledger_state(session.ledger(), session.transcript.start.directory or "", by_hand)


def ledger_state(ledger: Ledger, directory: str = "", by_hand: ManualRules = ManualRules()) -> WorkState:  # noqa: B008 - frozen
    """Return what must stay in view, of a ledger."""
    run = ledger.last_run
    return WorkState(
        rules=tuple(_rule_lines(ledger, by_hand)),
        goal=_goal_line(ledger),
        open=tuple(_open_lines(ledger))[:MOST_OPEN],
        files=tuple(_changed_files(ledger, directory))[:MOST_FILES],
        failures=tuple(_failure_lines(ledger)),
        tests=flat(f"{run.command}: {run.failed} failed", LONGEST_LINE) if run else "",
    )


def is_sure(pin: Pin) -> bool:
    """Whether a rule is the user's, in force, and certain enough to be injected."""
    if not pin.is_active or pin.trust is not Trust.USER:
        return False
    if pin.made_by is MadeBy.PERSON:
        return True
    lasting = pin.scope.duration.lasts not in PASSING
    sure = pin.kind in RULE_KINDS and pin.confidence >= SURE
    return lasting and (sure or pin.verdict is Verdict.STANDING) and len(pin.quote) <= LONGEST_RULE


def _rule_lines(ledger: Ledger, by_hand: ManualRules) -> Iterator[ReminderLine]:
    for quote in by_hand.pinned:
        yield ReminderLine("", f'"{flat(quote, LONGEST_RULE)}"')
    named = by_hand.taken_off | set(map(plain, by_hand.pinned))
    for pin in ledger.pins.active:
        if is_sure(pin) and plain(mask(pin.quote).text) not in named:  # notes hold quotes masked
            ref = pin.source.message if pin.source else ""
            yield ReminderLine(ref, f'"{flat(pin.readable, LONGEST_RULE)}"')


def _goal_line(ledger: Ledger) -> ReminderLine | None:
    if ledger.goal is None:
        return None
    kind = "the approved plan: " if ledger.goal.kind is GoalKind.PLAN else ""
    return ReminderLine(ledger.goal.source.message, f'{kind}"{flat(ledger.goal.quote, LONGEST_LINE)}"')


def _open_lines(ledger: Ledger) -> Iterator[ReminderLine]:
    goal = ledger.goal.quote if ledger.goal else ""
    loops = [loop for loop in ledger.loops.open if loop.kind in _OPEN_ORDER and loop.text not in goal]
    for loop in sorted(loops, key=lambda loop: _OPEN_ORDER[loop.kind]):
        status = f" ({loop.status})" if loop.status else ""
        yield ReminderLine(loop.source.message, f"{loop.kind.value}: {flat(loop.text, LONGEST_LINE)}{status}")


def _changed_files(ledger: Ledger, directory: str) -> Iterator[str]:
    """Yield the changed files, latest first; paths inside the project are relative to it."""
    for artifact in reversed(ledger.artifacts.changed):
        inside = directory and artifact.name.startswith(f"{directory}/")
        yield flat(artifact.name[len(directory) + 1 :] if inside else artifact.name, LONGEST_LINE)


def _failure_lines(ledger: Ledger) -> Iterator[ReminderLine]:
    for item in [failure for failure in ledger.failures if not failure.is_fixed][-MOST_FAILURES:]:
        text = " / ".join(line.strip() for line in item.lines[:2])
        source = item.sources[-1] if item.sources else item.attempts[-1]
        yield ReminderLine(source.message, flat(f"{item.subject or item.tool}: {text}", LONGEST_LINE))


def flat(text: str, most: int) -> str:
    """Return a text on one line: secrets masked, unable to close the reminder's fence or control a terminal.

    Secrets are masked before the text is cut, because the beginning of one is not recognised.
    """
    line = " ".join(_CONTROL.sub(" ", mask(text[: most * 4]).text).split())
    short = line if len(line) <= most and len(text) <= most * 4 else f"{line[: most - 1]}…"
    return escape_tags(short) if _MAY_BEGIN_TAG.search(short) else short


def indented(text: str) -> str:
    """Return a text line by line, all but the first indented: none of them looks like a line of clew's."""
    lines = (_CONTROL.sub(" ", line).rstrip() for line in text.expandtabs(4).strip().splitlines())
    return escape_tags("\n    ".join(filter(None, lines)))


def summary_of(session: HostSession, focus: str | None = None) -> str:
    """Return the replacement of a host's own summary."""
    return f"{digest_text([entry.message for entry in session.entries], focus)}\n{SEARCH}"


def digest_text(messages: Sequence[Message], focus: str | None = None) -> str:
    """Return a digest of messages, or the shortened conversation, with secrets masked.

    A placeholder is added as last message, which ``compact`` always keeps: the host keeps the recent ones.
    """
    from clew.budget import DEFAULT
    from clew.session import compact
    from clew.session.view import view_text

    policy = replace(DEFAULT, keep_messages=0)
    whole_messages = [*messages, text_message(Role.USER, _NOW)]
    result = compact(whole_messages, target_tokens=DIGEST_TOKENS, policy=policy, focus=focus)
    return mask(view_text(result.items[:-1], compacted=result.plan is not None)).text
