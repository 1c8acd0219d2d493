"""Whether a call succeeded."""

from __future__ import annotations

import pytest

from clew.ledger import Ended
from clew.ledger.outcome import Outcome, outcome
from clew.ledger.tool_actions import action_of
from clew.message import Text, ToolCall, ToolResult

OK, FAILED, REFUSED = Ended.OK, Ended.FAILED, Ended.REFUSED


def ended(name, arguments, text, error=False):
    return outcome(action_of(ToolCall("1", name, arguments)), ToolResult("1", (Text(text),), error))


@pytest.mark.parametrize(
    ("text", "error", "found"),
    [
        ("hello", False, Outcome(OK)),
        ("Exit code 2\nboom", True, Outcome(FAILED, 2)),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nok", False, Outcome(OK, 0)),
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\nno", False, Outcome(FAILED, 1)),
        ('{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.0}}', False, Outcome(FAILED, 1)),
        ("<returncode>127</returncode>\n<output>\nnope\n</output>", False, Outcome(FAILED, 127)),
        ("out\n<exited with exit code 0>", False, Outcome(OK, 0)),
        ("out\n<shellId: 5 completed with exit code 3>", False, Outcome(FAILED, 3)),
        ("Command: x\nOutput: y\nExit Code: 1\nSignal: 0", False, Outcome(FAILED, 1)),
        ("hi\n[Command finished with exit code 0]", False, Outcome(OK, 0)),
        (
            "Chunk ID: a1\nWall time: 0.05 seconds\nProcess exited with code 1\nOutput:\n",
            False,
            Outcome(FAILED, 1),
        ),
        ("bash: foo: command not found", False, Outcome(FAILED)),
        ("fatal: not a git repository", False, Outcome(FAILED)),
        ("Traceback (most recent call last):\n  File\nValueError: no", False, Outcome(FAILED)),
        ("reading\n ELIFECYCLE  Command failed with exit code 1.", False, Outcome(FAILED)),
        ("src/a.ts(3,7): error TS2339: no such property\nsrc/b.ts(9,1): error TS2", False, Outcome(FAILED)),
        ("cat: docs/a.md: No such file or directory\n", False, Outcome(FAILED)),
        ("  × Some errors were emitted while running checks.\n  \n\n", False, Outcome(FAILED)),
        ("Checked 665 files in 2s.\nFound 4 errors.\n", False, Outcome(FAILED)),
        ("Checked 665 files in 2s.\nFound 0 errors.\n", False, Outcome(OK)),
        ("a log that mentions error: handling\nand goes on\nfor\na while", False, Outcome(OK)),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            True,
            Outcome(REFUSED),
        ),
    ],
)
def test_how_a_command_ended_is_read_from_what_tools_write(text, error, found):
    assert ended("bash", {"command": "make"}, text, error) == found


@pytest.mark.parametrize("tool", ["shell", "Write", "apply_patch", "some_tool"])
@pytest.mark.parametrize(
    "text",
    [
        "exec command rejected by user",
        "patch rejected by user",
        "Rejected by the user.",
        "Command was rejected by the user: use rg instead",
        "Permission denied by user",
        "User refused to run this command",
        "The user refused permission.",
        "The user doesn't want to take this action right now. STOP what you are doing",
        "The user doesn’t want to proceed with this tool use.",
        "The user has declined to run this tool.",
        "The user chose not to run this command.",
        "User did not allow tool call",
        "Error: The user rejected permission to use this specific tool call.",
        "The user has specified a rule which prevents you from using this specific tool call.",
    ],
)
def test_what_a_person_did_not_allow_is_refused_however_the_tool_says_so(tool, text):
    assert ended(tool, {"file_path": "a", "command": "make"}, text, True) == Outcome(REFUSED)
    # Without the host's mark these may be the words of any tool.
    assert ended(tool, {"file_path": "a", "command": "make"}, text) == Outcome(FAILED)


@pytest.mark.parametrize(
    "text",
    [
        "aborted by user after 12.3s",
        "Operation cancelled by user",
        "The user cancelled this tool call.",
        "[Request interrupted by user]",
        "Permission denied",
    ],
)
def test_what_a_person_or_the_system_stopped_has_failed(text):
    assert ended("Write", {"file_path": "a"}, text) == Outcome(FAILED)


@pytest.mark.parametrize(
    "text",
    [
        "request denied by user agent policy in 3 of 12 runs",
        "! [rejected] main -> main was rejected by user-defined hook",
        "users rejected: 4",
        "The user table has 3 columns",
    ],
)
def test_output_that_speaks_of_users_is_no_refusal(text):
    assert ended("shell", {"command": "make"}, text) == Outcome(OK)


def test_a_search_that_finds_nothing_has_not_failed():
    assert ended("shell", {"command": "cd x && rg foo src"}, "Exit code: 1\nOutput:\n") == Outcome(OK, 1)
    assert ended("shell", {"command": "rg foo src && make"}, "Exit code: 1\nOutput:\n") == Outcome(FAILED, 1)


def test_a_tool_that_marks_its_failures_is_believed():
    assert ended("Bash", {"command": "bun test"}, "error: expected in this test") == Outcome(OK)


@pytest.mark.parametrize(
    ("name", "arguments", "text", "error", "found"),
    [
        ("Edit", {"file_path": "a"}, "The file a has been updated.", False, OK),
        ("Edit", {"file_path": "a"}, "<tool_use_error>String to replace not found", True, FAILED),
        ("edit", {"filePath": "a"}, "Could not find oldString in the file.", False, FAILED),
        ("edit", {"search": "a"}, "Your proposed edit has introduced new syntax error(s).", False, FAILED),
        ("create", {"path": "a"}, "Ran into [Errno 2] No such file", False, FAILED),
        ("apply_patch", "*** Begin Patch", '{"output":"","metadata":{"exit_code":1}}', False, FAILED),
        ("apply_patch", "*** Begin Patch", f'{{"metadata":{{"exit_code":{"9" * 5_000}}}}}', False, FAILED),
        ("apply_patch", "*** Begin Patch", "apply_patch verification failed: Error", False, FAILED),
        ("read", {"filePath": "a"}, "Error: File not found: a", False, FAILED),
        ("read", {"filePath": "a"}, "Error handling\n" + "long page " * 100, False, OK),
        ("WebFetch", {"url": "https://x"}, "Error 404", False, FAILED),
        ("Write", {"file_path": "a"}, "User rejected the change", True, REFUSED),
        ("TodoWrite", {"todos": []}, "Todos have been modified", False, OK),
    ],
)
def test_how_a_call_ended_is_read_from_its_result(name, arguments, text, error, found):
    assert ended(name, arguments, text, error).ended is found
