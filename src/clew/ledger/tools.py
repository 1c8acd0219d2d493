"""What a tool call does: by the tool's name if it is known, otherwise by the shape of its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from clew.ledger.patch import patched
from clew.ledger.shell import effects
from clew.ledger.tool_names import BODY_KEYS, BY_NAME, CHANGE_KEYS, PATH_KEYS, TARGET_KEYS, Does
from clew.ledger.touch import Action, Touch
from clew.message import Json, JsonObject, ToolCall


class Deed(NamedTuple):
    """A parsed call: what it does and to what."""

    does: Does
    tool: str
    subject: str
    """The command line, the path or the URL."""
    given: JsonObject
    """The arguments."""
    folder: str = ""
    """The working directory of a command, if the call names one."""

    @property
    def title(self) -> str:
        """Return the subject in one line; of a patch, its files."""
        if self.does is Does.PATCH:
            return ", ".join(touch.name for touch in patched(self.subject))
        return self.subject.strip().split("\n", 1)[0]


_EDITOR_COMMANDS = MappingProxyType(
    {
        "view": Does.READ,
        "create": Does.WRITE,
        "str_replace": Does.EDIT,
        "insert": Does.EDIT,
        "undo_edit": Does.EDIT,
        "delete": Does.DELETE,
        "rename": Does.MOVE,
    }
)
_COMMAND_KEYS = ("command", "cmd", "commands")
_FOLDER_KEYS = ("workdir", "cwd", "working_directory", "dir_path", "directory")
_QUALIFIED = re.compile(r".*(?:__|[.:/])")
_SHELL_WRAPPER = re.compile(r"(?:bash|sh|zsh|/bin/\w+)$")


def deed(call: ToolCall) -> Deed:
    """Return what a call does."""
    given = call.input
    if given is None:
        text = call.arguments if isinstance(call.arguments, str) else ""
        given = {"patch": text} if "*** Begin Patch" in text[:200] else {}
    does = _does(call.name, given)
    folder = _text(given, _FOLDER_KEYS) if does is Does.SHELL else ""
    return Deed(does, call.name, _subject(does, given), given, folder)


def _does(name: str, given: JsonObject) -> Does:
    plain = name.lower()
    known = BY_NAME.get(plain) or BY_NAME.get(_QUALIFIED.sub("", plain))
    command = given.get("command")
    if isinstance(command, str) and command in _EDITOR_COMMANDS and ("path" in given or "file_text" in given):
        return _EDITOR_COMMANDS[command]  # str_replace_editor and similar tools have a command argument
    if known is not None:
        return known
    return _by_shape(plain, given)


def _by_shape(name: str, given: JsonObject) -> Does:
    """Classify an unknown tool by the shape of its arguments."""
    if _is_task_list(given.get("todos")) or _is_task_list(given.get("plan")):
        return Does.TODO
    if _patch_text(given):
        return Does.PATCH
    if _text(given, _COMMAND_KEYS) and not _text(given, PATH_KEYS):
        return Does.SHELL
    if _text(given, PATH_KEYS):
        return _by_file_arguments(name, given)
    url = _text(given, ("url",))
    return Does.FETCH if url.startswith(("http://", "https://")) else Does.OTHER


def _by_file_arguments(name: str, given: JsonObject) -> Does:
    if CHANGE_KEYS & given.keys():
        return Does.EDIT
    if re.search(r"delete|remove", name):
        return Does.DELETE
    if re.search(r"move|rename", name):
        return Does.MOVE
    if re.search(r"write|create|save", name) and BODY_KEYS & given.keys():
        return Does.WRITE
    return Does.READ if re.search(r"read|view|open|cat\b|show", name) else Does.OTHER


def _is_task_list(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and "status" in row for row in value)
    )


def _subject(does: Does, given: JsonObject) -> str:
    match does:
        case Does.SHELL:
            return command_line(given)
        case Does.FETCH:
            return _text(given, ("url", "uri", "prompt"))
        case Does.PATCH:
            return _patch_text(given)
        case Does.READ | Does.WRITE | Does.EDIT | Does.DELETE | Does.MOVE:
            return _text(given, PATH_KEYS)
        case _:
            return ""


def command_line(given: JsonObject) -> str:
    """Return the command line of a shell call, given as text or as words; ``bash -lc`` is removed."""
    for key in _COMMAND_KEYS:
        value = given.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            words = [str(word) for word in value]
            if len(words) == 3 and _SHELL_WRAPPER.match(words[0]):
                return words[2]
            return " ".join(words)
    return ""


def _text(given: JsonObject, keys: Iterable[str]) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _patch_text(given: JsonObject) -> str:
    text = _text(given, ("patchText", "patch", "input", "diff"))
    return text if "*** Begin Patch" in text or "\n+++ " in text else ""


# What a successful call did -------------------------------------------------------------------------------

_IN_RESULT = re.compile(
    r"^The file (?P<edited>\S.*?) has been (?:updated|created)"
    r"|^File created successfully at: (?P<made>.+?)\s*$"
    r"|^\(Open file: (?P<open>[^)\n]+)\)",
    re.MULTILINE,
)
_OVERWRITTEN = re.compile(r"\b(?:overwr\w+|updated|modified)\b")
_MADE = re.compile(r"\b(?:creat\w+|new file)\b", re.IGNORECASE)
_SAMPLE = 400


def touches(done: Deed, result: str) -> list[Touch]:
    """Return what a successful call did to files and which URLs it fetched; commands are not included."""
    match done.does:
        case Does.SHELL:
            line = done.subject.replace("\\", "/") if "powershell" in done.tool.lower() else done.subject
            return effects(line, done.folder)
        case Does.PATCH:
            return list(patched(done.subject))
        case Does.FETCH:
            return [Touch(Action.FETCHED, done.subject)] if done.subject.startswith("http") else []
        case Does.READ | Does.WRITE | Does.EDIT | Does.DELETE | Does.MOVE:
            return list(_file_touches(done, result))
        case _:
            return []


def _file_touches(done: Deed, result: str) -> Iterator[Touch]:
    name = done.subject or _named_in(result)
    if not name:
        return
    match done.does:
        case Does.READ:
            yield Touch(Action.READ, name)
        case Does.WRITE:
            yield Touch(_written(result), name)
        case Does.DELETE:
            yield Touch(Action.DELETED, name)
        case Does.MOVE:
            yield Touch(Action.MOVED, name, _text(done.given, TARGET_KEYS))
        case _:
            yield Touch(Action.MODIFIED, name)


def _written(result: str) -> Action:
    start = result[:_SAMPLE]
    if _OVERWRITTEN.search(start):
        return Action.MODIFIED
    return Action.CREATED if _MADE.search(start) else Action.WRITTEN


def _named_in(result: str) -> str:
    """Return the file that a result names, if the call did not name one."""
    found = _IN_RESULT.search(result[:_SAMPLE]) or _IN_RESULT.search(result[-_SAMPLE:])
    name = (found["edited"] or found["made"] or found["open"]) if found else ""
    return "" if name == "n/a" else name
