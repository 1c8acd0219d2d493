"""Decide how a tool call ended: it succeeded, it failed, or the person refused it.

Every host words this differently, so three things are read: the first and last lines of the result
("Exit code 1", "The user doesn't want to proceed with this tool use"), the exit code printed there, and the
host's error flag. ``outcome(action, result)`` returns ``Outcome(Ended.FAILED, exit_code=1)``, for example.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.tool_actions import ActionKind, ToolAction
from clew.message import ToolResult
from clew.message.text import lazy_pattern


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
_LAST_LINES = 3
"""Lines at the end of an output that may name the error; chosen by hand."""
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


# What the patterns recognise ---------------------------------------------------------------------------

_SAID = r"\s*(?:<tool_use_error>|Error: )?\[?"
"""What a tool may print before its message."""
_WORDS = r"(?:[\w-]{1,40} ){0,4}"
"""Up to four words before "rejected by user"."""
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
"""A person did not allow the call: "The user doesn't want to proceed with this tool use"."""
_BROKEN_OFF = lazy_pattern(
    rf"{_SAID}(?:(?:The )?user (?:has )?(?:cancell?ed|aborted|interrupted|skipped|dismissed)\b"
    rf"|{_WORDS}(?:cancell?ed|aborted|interrupted) {_BY_USER})",
    re.IGNORECASE,
)
"""A person interrupted it, so that part of it may have been done: "Aborted by user after 3.2s"."""
_EXIT_AT_START = lazy_pattern(
    r"\s*(?:Exit code:? |<returncode>|Command failed with exit code "
    r"|(?:Chunk ID: \S+\n)?(?:Wall time: [\d.]+ seconds\n)?Process exited with code )(-?\d+)"
)
"""An exit code in the first lines: "Exit code 1", "Process exited with code 2"."""
_EXIT_AT_END = lazy_pattern(
    r"^(?:<(?:exited|[^\n<>]{0,80}completed) with exit code |Exit Code: "
    r"|\[(?:The command completed|Command finished) with exit code |\[?[Ee]xit (?:code|status):? "
    r"|Command exited with (?:code|non-zero status code:?) )(-?\d+)",
    re.MULTILINE,
)
"""An exit code in the last lines: "[Command finished with exit code 1]"."""
_EXIT_IN_JSON = lazy_pattern(r'"exit_code":\s?(-?\d{1,18})')
"""An exit code in a result that is JSON: ``{"exit_code": 1}``."""
_TOOL_ERROR = lazy_pattern(
    r"\s*(?:<tool_use_error>|<error>|Error\b|ERROR\b|error:|Failed\b|Invalid\b|Could not\b|Cannot\b"
    r"|No replacement was performed|Your proposed edit|File not found|File does not exist"
    r"|apply_patch verification failed|Tool execution aborted|Ran into \[Errno|MCP error"
    r"|File has (?:not been|been unexpectedly)|String to replace not found|The \w+ tool was called with"
    r"|Unknown (?:tool|skill)|old_str\w* (?:not found|did not)|ENOENT\b|Tool \S+ not found"
    r"|Permission denied\b)"
)
"""How the result of a failed call of a tool begins: "Error: …", "File not found"."""
_SHELL_ERROR = lazy_pattern(
    r"(?:fatal: |npm (?:ERR!|error) |(?:[^\s:]+: )+(?:line \d+: )?(?:\S+: )?command not found"
    r"|error: |error\[E\d+\]|panic: |\W*ELIFECYCLE\b|make: \*\*\* |FAILED \(|[\w.]*(?:Error|Exception)(?::|$)"
    r"|=* ?[1-9]\d* failed\b|FAIL\b|\s*× |Found [1-9]\d* errors?\b|\S+\(\d+,\d+\): error TS\d+"
    r"|[\w./-]+: [^\n]*(?:No such file or directory|Permission denied)\s*$)"
)
"""How the first or one of the last lines begins if a command failed."""
_FLAGS_FAILURE = frozenset(("Bash",))
"""Shell tools that flag every failed command as an error, so that unflagged results succeeded."""
_READS_OF_NOTHING = lazy_pattern(
    r"(?:^|[;&|(]\s*)(?:rg|grep|egrep|git grep|diff|cmp|git diff|test|which|command -v|pgrep|\[)\b[^;&]*$"
)
"""A command that ends with exit code 1 if it finds nothing or a difference: "grep -r todo src"."""
