"""What a tool call does, by name and by shape."""

from __future__ import annotations

import pytest

from clew.ledger import Action
from clew.ledger.shell import Touch
from clew.ledger.tool_actions import ActionKind, action_of, touches
from clew.message import ToolCall

PATCH = (
    "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n@@\n-x\n"
    "*** Update File: e.py\n@@\n*** Delete File: d.py\n*** End Patch"
)
PATCHED = [
    Touch(Action.CREATED, "a.py"),
    Touch(Action.MOVED, "b.py", "c.py"),
    Touch(Action.MODIFIED, "e.py"),
    Touch(Action.DELETED, "d.py"),
]


@pytest.mark.parametrize(
    ("name", "arguments", "does", "subject"),
    [
        ("Read", {"file_path": "/a.py"}, ActionKind.READ, "/a.py"),
        ("Write", {"file_path": "/a.py", "content": "x"}, ActionKind.WRITE, "/a.py"),
        ("MultiEdit", {"file_path": "/a.py", "edits": []}, ActionKind.EDIT, "/a.py"),
        ("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": ""}, ActionKind.EDIT, "/a.ipynb"),
        ("Bash", {"command": "ls"}, ActionKind.SHELL, "ls"),
        ("shell", {"command": ["bash", "-lc", "ls -l"]}, ActionKind.SHELL, "ls -l"),
        ("exec_command", {"cmd": "ls"}, ActionKind.SHELL, "ls"),
        ("local_shell", {"command": ["ls", "-l"]}, ActionKind.SHELL, "ls -l"),
        ("read", {"filePath": "/a.py"}, ActionKind.READ, "/a.py"),
        ("replace", {"file_path": "a.py", "old_string": "x"}, ActionKind.EDIT, "a.py"),
        ("run_shell_command", {"command": "ls"}, ActionKind.SHELL, "ls"),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, ActionKind.READ, "/a.py"),
        (
            "str_replace_editor",
            {"command": "create", "path": "/a.py", "file_text": ""},
            ActionKind.WRITE,
            "/a.py",
        ),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "/a.py"}, ActionKind.EDIT, "/a.py"),
        ("mcp__fs__write_file", {"path": "a.py", "content": ""}, ActionKind.WRITE, "a.py"),
        ("functions.exec_command", {"cmd": "ls"}, ActionKind.SHELL, "ls"),
        ("WebFetch", {"url": "https://x.org", "prompt": "p"}, ActionKind.FETCH, "https://x.org"),
        ("TodoWrite", {"todos": []}, ActionKind.TODO, ""),
        ("ExitPlanMode", {"plan": "x"}, ActionKind.PROPOSE, ""),
        # by shape
        ("custom_plan", {"plan": [{"step": "a", "status": "pending"}]}, ActionKind.TODO, ""),
        ("amend", {"path": "a.py", "old_str": "x", "new_str": "y"}, ActionKind.EDIT, "a.py"),
        ("save_note", {"path": "a.md", "content": "x"}, ActionKind.WRITE, "a.md"),
        ("show_source", {"path": "a.py"}, ActionKind.READ, "a.py"),
        ("delete_thing", {"path": "a.py"}, ActionKind.DELETE, "a.py"),
        ("rename_thing", {"path": "a.py", "new_path": "b.py"}, ActionKind.MOVE, "a.py"),
        ("do_in_vm", {"command": "ls"}, ActionKind.SHELL, "ls"),
        ("crawl", {"url": "https://x.org"}, ActionKind.FETCH, "https://x.org"),
        ("crawl", {"url": "not an address"}, ActionKind.OTHER, ""),
        ("get_order", {"order_id": "#1"}, ActionKind.OTHER, ""),
        ("index", {"path": "a.py"}, ActionKind.OTHER, ""),
        ("anything", {}, ActionKind.OTHER, ""),
    ],
)
def test_a_call_is_known_by_name_or_by_shape(name, arguments, does, subject):
    done = action_of(ToolCall("1", name, arguments))
    assert (done.kind, done.subject) == (does, subject)


@pytest.mark.parametrize(
    ("name", "arguments", "result", "found"),
    [
        ("Read", {"file_path": "/a.py"}, "x", [Touch(Action.READ, "/a.py")]),
        (
            "Write",
            {"file_path": "/a.py"},
            "File created successfully at: /a.py",
            [Touch(Action.CREATED, "/a.py")],
        ),
        (
            "Write",
            {"text": ""},
            "File created successfully at: /a.py (file state is current in your context)",
            [Touch(Action.CREATED, "/a.py")],
        ),
        (
            "Write",
            {"file_path": "/a.py"},
            "The file /a.py has been updated.",
            [Touch(Action.MODIFIED, "/a.py")],
        ),
        ("write_file", {"file_path": "a"}, "Successfully overwrote file: a", [Touch(Action.MODIFIED, "a")]),
        ("write", {"filePath": "a"}, "Wrote file successfully.", [Touch(Action.WRITTEN, "a")]),
        ("rename_file", {"path": "a", "new_path": "b"}, "", [Touch(Action.MOVED, "a", "b")]),
        ("apply_patch", {"patchText": PATCH}, "Success.", PATCHED),
        ("apply_patch", PATCH, "Success.", PATCHED),
        ("shell", {"command": ["apply_patch", PATCH]}, "", PATCHED),
        (
            "Edit",
            {"text": ""},
            "The file /x/a.go has been updated successfully.",
            [Touch(Action.MODIFIED, "/x/a.go")],
        ),
        (
            "edit",
            {"search": "x"},
            "Replaced.\n(Open file: /r/a.py)\nbash-$",
            [Touch(Action.MODIFIED, "/r/a.py")],
        ),
        ("edit", {"search": "x"}, "Replaced.\n(Open file: n/a)\nbash-$", []),
        ("WebFetch", {"url": "https://x.org"}, "page", [Touch(Action.FETCHED, "https://x.org")]),
        ("powershell", {"command": "Get-Content docs\\a.md"}, "", [Touch(Action.READ, "docs/a.md")]),
        ("Grep", {"pattern": "x", "path": "/r"}, "/r/a.py", []),
    ],
)
def test_what_a_call_did_is_told_by_its_arguments_and_its_result(name, arguments, result, found):
    assert touches(action_of(ToolCall("1", name, arguments)), result) == found


def test_a_unified_diff_is_a_patch_too():
    text = "--- a/x.py\n+++ b/x.py\n@@\n--- /dev/null\n+++ b/new.py\n@@\n--- a/old.py\n+++ /dev/null\n"
    assert touches(action_of(ToolCall("1", "patch", {"patch": text})), "") == [
        Touch(Action.MODIFIED, "x.py"),
        Touch(Action.CREATED, "new.py"),
        Touch(Action.DELETED, "old.py"),
    ]


def test_a_title_is_one_line():
    assert action_of(ToolCall("1", "Bash", {"command": "cd a\nls"})).title == "cd a"
    assert action_of(ToolCall("1", "apply_patch", PATCH)).title == "a.py, b.py, e.py, d.py"
