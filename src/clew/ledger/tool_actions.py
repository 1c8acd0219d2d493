"""What a tool call does: by the tool's name if it is known, otherwise by the shape of its arguments.

``action_of(call)`` of ``Edit(file_path="a.py", …)`` is ``ToolAction(EDIT, "Edit", "a.py", …)``;
``touches(action, result)`` then returns which files it changed. Every tracker that reads calls uses the
first, ``artifacts`` and ``failures`` the second. To add a tool, add its name to ``_NAMES`` in lower case; a
prefix ending in ``__``, ``.`` or ``/`` is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from clew.ledger.shell import Action, Touch, effects, touches_of_patch
from clew.message import Json, JsonObject, ToolCall
from clew.message.text import lazy_pattern


class ActionKind(Enum):
    """What a tool does."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    PATCH = "patch"
    SHELL = "shell"
    FETCH = "fetch"
    SEARCH = "search"
    TODO = "todo"
    """Replaces a whole task list."""
    NEW_TASK = "new task"
    TASK_CHANGE = "task change"
    TASK_LIST = "task list"
    """Shows the tasks, also what other agents changed."""
    ASK = "ask"
    """Asks the person a question."""
    PROPOSE = "propose"
    """Presents a plan to the person."""
    OTHER = "other"


CHANGING = frozenset((ActionKind.EDIT, ActionKind.WRITE, ActionKind.PATCH))
"""Kinds that write text into files."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_WEB_SEARCHES = frozenset(_words("websearch web_search google_web_search"))
"""Tools that search the web; the others of their kind search files."""

_NAMES: Mapping[ActionKind, tuple[str, ...]] = MappingProxyType(
    {
        ActionKind.READ: _words("""
            read read_file readfile view view_file open open_file cat notebookread read_many_files
            file_read fs_read inspect_file_as_text get_file_contents
        """),
        ActionKind.WRITE: _words("""
            write write_file writefile create create_file write_to_file file_write fs_write save_file
        """),
        ActionKind.EDIT: _words("""
            edit multiedit multi_edit edit_file replace replace_in_file str_replace insert search_replace
            notebookedit notebook_edit edit_notebook apply_diff insert_content file_edit insert_edit_into_file
            replace_string_in_file search_and_replace
        """),
        ActionKind.DELETE: _words("delete_file remove_file file_delete"),
        ActionKind.MOVE: _words("move_file rename_file file_move"),
        ActionKind.PATCH: _words("apply_patch applypatch patch"),
        ActionKind.SHELL: _words("""
            bash shell sh shell_command exec exec_command local_shell local_shell_call run run_command
            run_shell_command execute_command execute_bash terminal run_terminal_cmd run_in_terminal
            powershell command
        """),
        ActionKind.FETCH: _words("""
            webfetch web_fetch fetch fetch_url fetch_webpage url_fetch open_url read_url visit_page
            web_browser_go browser_navigate
        """),
        ActionKind.SEARCH: _words("""
            grep glob ls list rg search find_file search_dir search_file search_files list_dir list_files
            list_directory grep_search file_search websearch web_search google_web_search codesearch
            toolsearch
        """),
        ActionKind.TODO: _words("""
            todowrite todo_write todo update_plan write_todos update_todo_list manage_todo_list task_tracker
        """),
        ActionKind.NEW_TASK: _words("taskcreate"),
        ActionKind.TASK_CHANGE: _words("taskupdate"),
        ActionKind.TASK_LIST: _words("tasklist"),
        ActionKind.ASK: _words("""
            askuserquestion request_user_input ask_user ask_followup_question ask_question question
            askquestions
        """),
        ActionKind.PROPOSE: _words("exitplanmode exit_plan_mode plan_exit plan_mode_respond"),
    }
)
BY_NAME: Mapping[str, ActionKind] = MappingProxyType(
    {name: does for does, names in _NAMES.items() for name in names}
)

PATH_KEYS = _words("""
    file_path filePath path file filename notebook_path target_file absolute_path relative_path abs_path
    filepath file_name uri old_path source
""")
"""Arguments with the path of a file."""
TARGET_KEYS = _words("new_path destination target new_name to")
"""Arguments with the new path of a moved file."""
BODY_KEYS = frozenset(_words("content contents file_text fileText text body"))
"""Arguments with the content of a file."""
CHANGE_KEYS = frozenset(
    _words(
        "old_string oldString old_str new_string newString new_str edits diff search insert_line new_source"
    )
)
"""Arguments that describe a change of a file."""


class ToolAction(NamedTuple):
    """A parsed call: what it does and to what."""

    kind: ActionKind
    tool: str
    subject: str
    """The command line, the path or the URL."""
    arguments: JsonObject
    folder: str = ""
    """The working directory of a command, if the call names one."""

    @property
    def reads_web(self) -> bool:
        """Whether its result is text of the web, which may imitate anything, also a person's words."""
        return self.kind is ActionKind.FETCH or self.tool.lower() in _WEB_SEARCHES

    @property
    def may_bring_outside_text(self) -> bool:
        """The same for all tools that may pass on text from outside: of the web, servers and other models."""
        return self.reads_web or self.kind is ActionKind.OTHER or self.tool.startswith("mcp__")

    @property
    def title(self) -> str:
        """Return the subject in one line; of a patch, its files."""
        if self.kind is ActionKind.PATCH:
            return ", ".join(touch.name for touch in touches_of_patch(self.subject))
        return self.subject.strip().split("\n", 1)[0]


_EDITOR_COMMANDS = MappingProxyType(
    {
        "view": ActionKind.READ,
        "create": ActionKind.WRITE,
        "str_replace": ActionKind.EDIT,
        "insert": ActionKind.EDIT,
        "undo_edit": ActionKind.EDIT,
        "delete": ActionKind.DELETE,
        "rename": ActionKind.MOVE,
    }
)
"""The commands of ``str_replace_editor`` and similar tools."""
_COMMAND_KEYS = ("command", "cmd", "commands")
"""Arguments with a command line."""
_FOLDER_KEYS = ("workdir", "cwd", "working_directory", "dir_path", "directory")
"""Arguments with a working directory."""
_QUALIFIED = lazy_pattern(r".*(?:__|[.:/])")
"""A prefix of a tool's name: "mcp__files__" in "mcp__files__read"."""
_SHELL_WRAPPER = lazy_pattern(r"(?:bash|sh|zsh|/bin/\w+|(?:.*[/\\])?(?:powershell|pwsh|cmd)(?:\.exe)?)$")
"""The shell in ``["bash", "-lc", "make"]`` and in ``["powershell.exe", "-Command", "make"]``."""


def action_of(call: ToolCall) -> ToolAction:
    """Return what a call does."""
    arguments = call.input
    if arguments is None:
        text = call.arguments if isinstance(call.arguments, str) else ""
        arguments = {"patch": text} if "*** Begin Patch" in text[:200] else {}
    kind = _kind(call.name, arguments)
    folder = _text(arguments, _FOLDER_KEYS) if kind is ActionKind.SHELL else ""
    return ToolAction(kind, call.name, _subject(kind, arguments), arguments, folder)


def _kind(name: str, arguments: JsonObject) -> ActionKind:
    plain = name.lower()
    known_kind = BY_NAME.get(plain) or BY_NAME.get(_QUALIFIED.sub("", plain))
    command = arguments.get("command")
    if (
        isinstance(command, str)
        and command in _EDITOR_COMMANDS
        and ("path" in arguments or "file_text" in arguments)
    ):
        return _EDITOR_COMMANDS[command]  # str_replace_editor and similar tools have a command argument
    if known_kind is not None:
        return known_kind
    return _by_shape(plain, arguments)


def _by_shape(name: str, arguments: JsonObject) -> ActionKind:
    """Classify an unknown tool by the shape of its arguments."""
    if _is_task_list(arguments.get("todos")) or _is_task_list(arguments.get("plan")):
        return ActionKind.TODO
    if _patch_text(arguments):
        return ActionKind.PATCH
    if _text(arguments, _COMMAND_KEYS) and not _text(arguments, PATH_KEYS):
        return ActionKind.SHELL
    if _text(arguments, PATH_KEYS):
        return _by_file_arguments(name, arguments)
    url = _text(arguments, ("url",))
    return ActionKind.FETCH if url.startswith(("http://", "https://")) else ActionKind.OTHER


def _by_file_arguments(name: str, arguments: JsonObject) -> ActionKind:
    if CHANGE_KEYS & arguments.keys():
        return ActionKind.EDIT
    if re.search(r"delete|remove", name):
        return ActionKind.DELETE
    if re.search(r"move|rename", name):
        return ActionKind.MOVE
    if re.search(r"write|create|save", name) and BODY_KEYS & arguments.keys():
        return ActionKind.WRITE
    return ActionKind.READ if re.search(r"read|view|open|cat\b|show", name) else ActionKind.OTHER


def _is_task_list(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and "status" in row for row in value)
    )


def _subject(kind: ActionKind, arguments: JsonObject) -> str:
    match kind:
        case ActionKind.SHELL:
            return command_line(arguments)
        case ActionKind.FETCH:
            return _text(arguments, ("url", "uri", "prompt"))
        case ActionKind.PATCH:
            return _patch_text(arguments)
        case ActionKind.READ | ActionKind.WRITE | ActionKind.EDIT | ActionKind.DELETE | ActionKind.MOVE:
            return _text(arguments, PATH_KEYS)
        case _:
            return ""


def command_line(arguments: JsonObject) -> str:
    """Return the command line of a shell call, given as text or as words; ``bash -lc`` is removed."""
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            words = [str(word) for word in value]
            if len(words) == 3 and _SHELL_WRAPPER.match(words[0]):
                return words[2]
            return " ".join(words)
    return ""


def _text(arguments: JsonObject, keys: Iterable[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _patch_text(arguments: JsonObject) -> str:
    text = _text(arguments, ("patchText", "patch", "input", "diff"))
    return text if "*** Begin Patch" in text or "\n+++ " in text else ""


# What a successful call did -------------------------------------------------------------------------------

_IN_RESULT = lazy_pattern(
    r"^The file (?P<edited>\S.*?) has been (?:updated|created|overwritten)"
    r"|^File created successfully at: (?P<made>.+?)(?:[ \t]+\([^()\n]*\))?\s*$"
    r"|^\(Open file: (?P<open>[^)\n]+)\)",
    re.MULTILINE,
)
"""A line of a result that names the file: "The file a.py has been updated"."""
_SCHEME = lazy_pattern(r"(\w[\w+.-]+)://")
"""What precedes an address: "https://", "agent://"."""
_LINES_ASKED = lazy_pattern(r"(?<=\w):\d+(?:[-,+]\d+)*$")
"""Lines behind a path: "README.md:301-420"."""
_OVERWRITTEN = lazy_pattern(r"\b(?:overwr\w+|updated|modified)\b")
"""A result that says that the file existed."""
_MADE = lazy_pattern(r"\b(?:creat\w+|new file)\b", re.IGNORECASE)
"""A result that says that the file is new."""
_SAMPLE = 400
"""Characters at the start and end of a result where tools name the file; chosen by hand."""


def touches(action: ToolAction, result: str) -> list[Touch]:
    """Return what a successful call did to files and which URLs it fetched; commands are not included."""
    match action.kind:
        case ActionKind.SHELL:
            line = (
                action.subject.replace("\\", "/") if "powershell" in action.tool.lower() else action.subject
            )
            return effects(line, action.folder)
        case ActionKind.PATCH:
            return list(touches_of_patch(action.subject))
        case ActionKind.FETCH:
            return [Touch(Action.FETCHED, action.subject)] if action.subject.startswith("http") else []
        case ActionKind.READ | ActionKind.WRITE | ActionKind.EDIT | ActionKind.DELETE | ActionKind.MOVE:
            return list(_file_touches(action, result))
        case _:
            return []


def _file_touches(action: ToolAction, result: str) -> Iterator[Touch]:
    name = action.subject or _named_in(result)
    if not name:
        return
    match action.kind:
        case ActionKind.READ:
            yield from _read(name)
        case ActionKind.WRITE:
            yield Touch(_write_action(result), name)
        case ActionKind.DELETE:
            yield Touch(Action.DELETED, name)
        case ActionKind.MOVE:
            yield Touch(Action.MOVED, name, _text(action.arguments, TARGET_KEYS))
        case _:
            yield Touch(Action.MODIFIED, name)


def _read(name: str) -> Iterator[Touch]:
    """Yield the file or page that a call read: without the lines it asked for, and nothing of a harness."""
    scheme = _SCHEME.match(name)
    if scheme is None or scheme[1].lower() == "file":
        yield Touch(Action.READ, _LINES_ASKED.sub("", name))
    elif scheme[1].lower() in ("http", "https"):
        yield Touch(Action.FETCHED, name)


def _write_action(result: str) -> Action:
    start = result[:_SAMPLE]
    if _OVERWRITTEN.search(start):
        return Action.MODIFIED
    return Action.CREATED if _MADE.search(start) else Action.WRITTEN


def changed_file(result: str) -> str:
    """Return the file that a result says was changed: "The file a.py has been updated."; "" if none."""
    match = _IN_RESULT.match(result[:_SAMPLE])
    return (match["edited"] or match["made"] or "") if match else ""


def _named_in(result: str) -> str:
    """Return the file that a result names, if the call did not name one."""
    match = _IN_RESULT.search(result[:_SAMPLE]) or _IN_RESULT.search(result[-_SAMPLE:])
    name = (match["edited"] or match["made"] or match["open"]) if match else ""
    return "" if name == "n/a" else name
