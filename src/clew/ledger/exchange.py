"""Match tool calls with their results, one message at a time, and decide how each call ended.

Whether a call succeeded, failed, or was refused by the person is judged by the result's text and exit code,
and by the host's error flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from clew.ledger.tool_actions import ActionKind, ToolAction, action_of
from clew.message import Cite, Item, Json, ToolCall, ToolResult
from clew.message.patterns import lazy_pattern
from clew.rules.speech import Utterance, utterances


class Ended(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    """A person did not allow it, so nothing was done."""


class Outcome(NamedTuple):
    """How a call ended, and its exit code if known."""

    ended: Ended
    exit_code: int | None = None


_SIDES = 700
"""Characters at both ends of a result where tools print their status (chosen by hand); the rest is output."""
_SAID = r"\s*(?:<tool_use_error>|Error: )?\[?"
_WORDS = r"(?:[\w-]{1,40} ){0,4}"
_BY_USER = r"by (?:the )?user(?=\s*$|\s*[][.,;:!()\n]| after \d)"
"""At the end of a sentence, so that "user agent" or "user policy" does not match."""
_REFUSED = lazy_pattern(
    rf"{_SAID}(?:The user doesn['’]t want to (?:proceed with this tool use|take this action)"
    r"|(?:The )?user (?:has )?(?:rejected|denied|declined|refused|disallowed|chose not to|chosen to disallow"
    r"|did not (?:allow|approve)|specified a rule which prevents)\b"
    rf"|{_WORDS}(?:rejected|denied|declined|refused|disallowed) {_BY_USER}"
    r"|exec_command failed[^\n]*rejected by user"
    r"|Request interrupted by user for tool use|Operation Cancelled\]|Action rejected:"
    r"|Permission to use .{1,80} has been denied|Permission for this tool use was denied"
    r"|Tool (?:use|call|execution) (?:was )?(?:rejected|denied))",
    re.IGNORECASE,
)
_BROKEN_OFF = lazy_pattern(
    rf"{_SAID}(?:(?:The )?user (?:has )?(?:cancell?ed|aborted|interrupted|skipped|dismissed)\b"
    rf"|{_WORDS}(?:cancell?ed|aborted|interrupted) {_BY_USER})",
    re.IGNORECASE,
)
"""A person interrupted it; part of it may have been done."""
_EXIT_AT_START = lazy_pattern(
    r"\s*(?:Exit code:? |<returncode>|Command failed with exit code "
    r"|(?:Chunk ID: \S+\n)?(?:Wall time: [\d.]+ seconds\n)?Process exited with code )(-?\d+)"
)
_EXIT_AT_END = lazy_pattern(
    r"^(?:<(?:exited|[^\n<>]{0,80}completed) with exit code |Exit Code: "
    r"|\[(?:The command completed|Command finished) with exit code |\[?[Ee]xit (?:code|status):? "
    r"|Command exited with (?:code|non-zero status code:?) )(-?\d+)",
    re.MULTILINE,
)
_EXIT_IN_JSON = lazy_pattern(r'"exit_code":\s?(-?\d{1,18})')
_TOOL_ERROR = lazy_pattern(
    r"\s*(?:<tool_use_error>|<error>|Error\b|ERROR\b|error:|Failed\b|Invalid\b|Could not\b|Cannot\b"
    r"|No replacement was performed|Your proposed edit|File not found|File does not exist"
    r"|apply_patch verification failed|Tool execution aborted|Ran into \[Errno|MCP error"
    r"|File has (?:not been|been unexpectedly)|String to replace not found|The \w+ tool was called with"
    r"|Unknown (?:tool|skill)|old_str\w* (?:not found|did not)|ENOENT\b|Tool \S+ not found"
    r"|Permission denied\b)"
)
_SHELL_ERROR = lazy_pattern(
    r"(?:fatal: |npm (?:ERR!|error) |(?:[^\s:]+: )+(?:line \d+: )?(?:\S+: )?command not found"
    r"|error: |error\[E\d+\]|panic: |\W*ELIFECYCLE\b|make: \*\*\* |FAILED \(|[\w.]*(?:Error|Exception)(?::|$)"
    r"|=* ?[1-9]\d* failed\b|FAIL\b|\s*× |Found [1-9]\d* errors?\b|\S+\(\d+,\d+\): error TS\d+"
    r"|[\w./-]+: [^\n]*(?:No such file or directory|Permission denied)\s*$)"
)
"""How the first or one of the last lines begins if a command failed."""
_LAST_LINES = 3
_FLAGS_FAILURE = frozenset(("Bash",))
"""Shell tools that flag every failed command as an error, so that unflagged results succeeded."""
_READS_OF_NOTHING = lazy_pattern(
    r"(?:^|[;&|(]\s*)(?:rg|grep|egrep|git grep|diff|cmp|git diff|test|which|command -v|pgrep|\[)\b[^;&]*$"
)
_SHORT_ANSWER = 600
"""Characters of an error message (chosen by hand): a longer result of a reading tool is the file itself."""


def outcome(action: ToolAction, result: ToolResult) -> Outcome:
    """Return how a call ended."""
    text = result.text
    if (result.is_error or len(text) < 2 * _SIDES) and _REFUSED.match(text):
        # Any tool can print these words; only the host can flag the result as an error.
        return Outcome(Ended.REFUSED if result.is_error else Ended.FAILED)
    # "ser" is part of "user" and "User", without which the slow pattern cannot match.
    if len(text) < 2 * _SIDES and "ser" in text[:_SIDES] and _BROKEN_OFF.match(text):
        return Outcome(Ended.FAILED)
    if action.kind is ActionKind.SHELL:
        return _of_command(action, result, text)
    if result.is_error:
        return Outcome(Ended.FAILED)
    if action.kind is ActionKind.PATCH and (code := _EXIT_IN_JSON.search(text)):
        return Outcome(Ended.FAILED if int(code[1]) else Ended.OK, int(code[1]))
    if (
        action.kind in (ActionKind.READ, ActionKind.FETCH, ActionKind.SEARCH, ActionKind.OTHER)
        and len(text) > _SHORT_ANSWER
    ):
        return Outcome(Ended.OK)
    return Outcome(Ended.FAILED if _TOOL_ERROR.match(text) else Ended.OK)


def _of_command(action: ToolAction, result: ToolResult, text: str) -> Outcome:
    code = _exit_code(text)
    if code is None:
        failed = result.is_error or (action.tool not in _FLAGS_FAILURE and _looks_failed(text))
        return Outcome(Ended.FAILED if failed else Ended.OK)
    found_nothing = code == 1 and _READS_OF_NOTHING.search(action.subject[-_SIDES:])
    return Outcome(Ended.FAILED if code and not found_nothing else Ended.OK, code)


def _looks_failed(text: str) -> bool:
    """Return True if the first and last lines of a command without exit code look like a failure."""
    lines = text[-_SIDES:].rstrip().rsplit("\n", _LAST_LINES)[-_LAST_LINES:]
    return bool(_TOOL_ERROR.match(text) or _SHELL_ERROR.match(text)) or any(map(_SHELL_ERROR.match, lines))


def _exit_code(text: str) -> int | None:
    """Return the exit code that a shell tool printed with its output."""
    head, tail = text[:_SIDES], text[-_SIDES:]
    code = _EXIT_AT_START.match(head)
    if code is None:
        if head.startswith("{"):
            code = _EXIT_IN_JSON.search(tail) or _EXIT_IN_JSON.search(head)
        elif "xit" in tail:  # "exit", "Exit" or "exited": without it the slow pattern cannot match
            code = _EXIT_AT_END.search(tail)
    return int(code[1]) if code else None


MOST_OPEN = 256
"""Calls waiting for a result, above which the oldest counts as abandoned; chosen by hand."""


class Asked(NamedTuple):
    """A call and its position."""

    call: ToolCall
    cite: Cite
    action: ToolAction


class Exchange(NamedTuple):
    """A call and its result."""

    call: ToolCall
    asked: Cite
    action: ToolAction
    result: ToolResult
    answered: Cite
    outcome: Outcome


class Reading(NamedTuple):
    """A message, parsed once for all trackers."""

    number: int
    """Index of the message in the session, from 0."""
    item: Item
    said: list[Utterance]
    calls: list[Asked]
    exchanges: list[Exchange]


class OpenCalls:
    """The calls that have no result yet.

    A result answers the nearest earlier unanswered call with its id: real sessions reuse ids.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[Asked]] = {}
        self._count = 0

    def read(self, item: Item, index: int) -> Reading:
        """Parse a message: who says what, which calls it makes, which calls it answers."""
        calls: list[Asked] = []
        exchanges: list[Exchange] = []
        for number, part in enumerate(item.message.parts):
            if isinstance(part, ToolCall):
                asked = Asked(part, Cite(item.id, number), action_of(part))
                calls.append(asked)
                self._add(asked)
            elif isinstance(part, ToolResult):
                asked_for = self._take(part.call_id)
                if asked_for is not None:
                    call, cite, action = asked_for
                    call_outcome = outcome(action, part)
                    exchanges.append(Exchange(call, cite, action, part, Cite(item.id, number), call_outcome))
        return Reading(index, item, utterances(item), calls, exchanges)

    def _add(self, asked: Asked) -> None:
        self._open.setdefault(asked.call.call_id, []).append(asked)
        self._count += 1
        if self._count > MOST_OPEN:
            self._abandon_oldest()

    def _take(self, call_id: str) -> Asked | None:
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        nearest = waiting[-1].cite.message
        place = next(i for i, asked in enumerate(waiting) if asked.cite.message == nearest)
        open_call = waiting.pop(place)
        if not waiting:
            del self._open[call_id]
        self._count -= 1
        return open_call

    def _abandon_oldest(self) -> None:
        oldest = next(iter(self._open))
        self._open[oldest].pop(0)
        if not self._open[oldest]:
            del self._open[oldest]
        self._count -= 1

    def __iter__(self) -> Iterator[Asked]:
        for waiting in self._open.values():
            yield from waiting

    def copy(self) -> OpenCalls:
        """Return an independent copy."""
        twin = OpenCalls()
        twin._open = {call_id: waiting.copy() for call_id, waiting in self._open.items()}
        twin._count = self._count
        return twin

    def to_json(self) -> list[Json]:
        """Return the open calls as JSON."""
        return [[*cite, call.call_id, call.name, call.arguments] for call, cite, _ in self]

    @classmethod
    def from_json(cls, rows: Any) -> OpenCalls:  # noqa: ANN401  # JSON on its way in
        """Return the object that ``to_json`` wrote."""
        keeper = cls()
        for message, part, start, end, call_id, name, arguments in rows:
            call = ToolCall(call_id, name, arguments)
            keeper._add(Asked(call, Cite(message, part, start, end), action_of(call)))
        return keeper
