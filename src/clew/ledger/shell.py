"""What command lines and patches do to files and URLs, without running them.

``effects("cd api && sed -i s/a/b/ app.py")`` returns ``[Touch(MODIFIED, "api/app.py")]``. Each known program
has a small parser from its words to what it does (``_PROGRAMS`` at the end); unknown programs touch nothing.
``tool_actions`` uses it for shell calls and patches, so that ``artifacts`` knows which files changed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import NamedTuple

from clew.ledger.command_line import simple_commands, without_prefixes
from clew.message.text import lazy_pattern


class Action(StrEnum):
    """What was done to a file, a command line or a URL."""

    READ = "read"
    CREATED = "created"
    MODIFIED = "modified"
    WRITTEN = "written"
    """Created or overwritten, depending on whether it existed."""
    DELETED = "deleted"
    MOVED = "moved"
    RAN = "ran"
    FETCHED = "fetched"
    RESTORED = "restored"
    """As it was in the last commit: ``git checkout -- a.py``; "." is every file."""
    STASHED = "stashed"
    UNSTASHED = "unstashed"
    FOLDER = "folder"
    """A folder was made."""


_MAY_BE_ALL = frozenset({Action.FETCHED, Action.RESTORED, Action.STASHED, Action.UNSTASHED})
"""Actions on no file with a name: on an address, or on every file."""
CHANGES = frozenset({Action.CREATED, Action.MODIFIED, Action.DELETED, Action.MOVED})
"""Actions after which a file is not what it was."""


class Touch(NamedTuple):
    """One action on one file or URL."""

    action: Action
    name: str
    to: str = ""
    """Of a move: the new path."""


def touches_of_patch(text: str) -> Iterator[Touch]:
    """Yield the action on each file of a patch; supports ``*** Begin Patch`` and unified diffs."""
    waiting: Touch | None = None  # until it is known whether "Move to" follows
    for verb, name in _HEADER.findall(text):
        if verb == "Move to":
            if waiting is not None:
                yield Touch(Action.MOVED, waiting.name, name)
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = Touch(_PATCH_ACTIONS[verb], name)
    if waiting is not None:
        yield waiting
    elif "\n+++ " in text and "*** " not in text:
        yield from _touches_of_diff(text)


def _touches_of_diff(text: str) -> Iterator[Touch]:
    for old, new in _DIFF.findall(text):
        if new == _NOWHERE:
            yield Touch(Action.DELETED, old)
        else:
            yield Touch(Action.CREATED if old == _NOWHERE else Action.MODIFIED, new)


def effects(line: str, folder: str = "") -> list[Touch]:
    """Return what a command line does to files and which URLs it fetches, in order."""
    if "*** Begin Patch" in line:
        return [_inside(touch, folder) for touch in touches_of_patch(line)]
    if "\\" in line and (_OF_WINDOWS.search(line) or _OF_WINDOWS.match(folder)):
        line = _SEPARATOR.sub("/", line)
    found: list[Touch] = []
    piped = ""
    for command in simple_commands(line):
        document = command.document or piped
        piped = document if command.then == "|" else ""
        words = without_prefixes(command.words)
        program = words[0].rsplit("/", 1)[-1].lower() if words else ""
        if program in ("cd", "pushd") and len(words) > 1 and not _NO_PATH.search(words[1]):
            folder = _joined(folder, words[1])
            continue
        read = _PROGRAMS.get(program)
        touches = list(read(words)) if read else []
        touches += _from_document(program, words, document) if document else ()
        # If prose was taken for a command, ">" is not a redirection; a real target has a dot or a slash.
        touches += [Touch(Action.WRITTEN, name) for name in command.outputs if "." in name or "/" in name]
        found += [_inside(touch, folder) for touch in touches if _is_named(touch)]
    return found


def _is_named(touch: Touch) -> bool:
    """Return True if a touch has real names, no variables, wildcards or numbers."""
    return touch.action in _MAY_BE_ALL or not (
        _NO_PATH.search(touch.name) or (touch.to and _NO_PATH.search(touch.to))
    )


def _inside(touch: Touch, folder: str) -> Touch:
    """Return a touch with its paths relative to the session's start folder."""
    if not folder or touch.action is Action.FETCHED:
        return touch
    to = _joined(folder, touch.to) if touch.to else ""
    return Touch(touch.action, _joined(folder, touch.name), to)


def _joined(folder: str, path: str) -> str:
    return path if _ABSOLUTE.match(path) else posixpath.join(folder, path)


def normal_path(path: str) -> str:
    """Return a path in its shortest form, with slashes; an address as it is."""
    path = path.strip()
    if "://" in path:
        if not path.startswith("file://"):
            return path
        path = path.removeprefix("file://")
    if "\\" in path and _OF_WINDOWS.match(path):
        path = path.replace("\\", "/")
    return posixpath.normpath(path) if path else path


def _operands(words: Sequence[str], valued: str = "") -> list[str]:
    """Return the words that are not options; ``valued`` lists the option letters that take the next word."""
    found: list[str] = []
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = len(word) == 2 and word[1] in valued
        else:
            found.append(word)
    return found


def _each(action: Action, valued: str = "") -> Callable[[Sequence[str]], Iterator[Touch]]:
    """Return a parser for programs that do the same to each of their operands: ``rm a b``."""

    def read(words: Sequence[str]) -> Iterator[Touch]:
        return (Touch(action, name) for name in _operands(words, valued))

    return read


def _moves(words: Sequence[str]) -> Iterator[Touch]:
    *sources, target = _operands(words, "tS") or [""]
    for source in sources:
        yield Touch(Action.MOVED, source, _landing(source, target, len(sources)))


def _copies(words: Sequence[str]) -> Iterator[Touch]:
    *sources, target = _operands(words, "tS") or [""]
    for source in sources:
        yield Touch(Action.WRITTEN, _landing(source, target, len(sources)))


def _landing(source: str, target: str, sources: int) -> str:
    """Return the path of a moved or copied file: in the target if that is a folder."""
    into_folder = sources > 1 or target.endswith("/") or target == "."
    return posixpath.join(target, posixpath.basename(source)) if into_folder else target


def _in_place_edits(words: Sequence[str]) -> Iterator[Touch]:
    """Parse ``sed`` and ``perl``: with ``-i`` they change files, otherwise ``sed`` reads them."""
    options = [word for word in words[1:] if word.startswith("-") and not word.startswith("--")]
    in_place = any("i" in word for word in options) or any(word.startswith("--in-place") for word in words)
    scripted = any(word[-1] in "ef" for word in options)
    names = [name for name in _operands(words, "efl") if name]  # macOS writes -i ''
    names = names if scripted else names[1:]
    if in_place or words[0].endswith("sed"):
        yield from (Touch(Action.MODIFIED if in_place else Action.READ, name) for name in names)


def _git(words: Sequence[str]) -> Iterator[Touch]:
    match list(words[1:2]):
        case ["mv"]:
            yield from _moves(words[1:])
        case ["rm"] if "--cached" not in words:
            yield from _each(Action.DELETED)(words[1:])
        case ["restore"] if not {"--staged", "-S"} & set(words):
            is_other = any(word.startswith(("-s", "--source")) for word in words)
            yield from _each(Action.MODIFIED if is_other else Action.RESTORED, "s")(words[1:])
        case ["checkout"] if "--" in words:
            at = words.index("--")
            is_other = bool(_operands(words[1:at])) and "HEAD" not in words[:at]
            action = Action.MODIFIED if is_other else Action.RESTORED
            yield from (Touch(action, name) for name in words[at + 1 :])
        case ["checkout"] if words[2:] == ["."]:
            yield Touch(Action.RESTORED, ".")
        case ["reset"] if "--hard" in words and _operands(words[1:]) in ([], ["HEAD"]):
            yield Touch(Action.RESTORED, ".")
        case ["stash"] if len(words) == 2 or words[2] in ("push", "save") or words[2].startswith("-"):
            yield Touch(Action.STASHED, ".")
        case ["stash"] if words[2] in ("pop", "apply"):
            yield Touch(Action.UNSTASHED, ".")
        case ["checkout"] if not {"-b", "-B", "--orphan"} & set(words):
            names = (name for name in words[2:] if _HAS_SUFFIX.search(name))
            is_of_head = len(words) > 2 and _HAS_SUFFIX.search(words[2]) is not None
            action = Action.RESTORED if is_of_head else Action.MODIFIED
            yield from (Touch(action, name) for name in names)
        case _:
            pass


def _fetches(words: Sequence[str]) -> Iterator[Touch]:
    """Parse ``curl`` and ``wget``: the addresses, and the files that the answers are written to."""
    for word, following in zip_longest(words[1:], words[2:], fillvalue=""):
        if match := _URL.match(word):
            yield Touch(Action.FETCHED, match[0])
        elif word in ("-o", "-O", "--output", "--output-document") and not _URL.match(following):
            yield Touch(Action.WRITTEN, following)
        elif word.startswith(("--output=", "--output-document=")):
            yield Touch(Action.WRITTEN, word.partition("=")[2])


def _dd(words: Sequence[str]) -> Iterator[Touch]:
    return (Touch(Action.WRITTEN, word[3:]) for word in words[1:] if word.startswith("of="))


def _scripts(words: Sequence[str]) -> Iterator[Touch]:
    """Parse ``python -c`` and ``node -e``: the files that a script which writes names in quotes."""
    for option, script in pairwise(words):
        if option in ("-c", "-e") and _WRITES.search(script):
            yield from (Touch(Action.WRITTEN, name[1]) for name in _QUOTED_FILE.finditer(script))


def _from_document(program: str, words: Sequence[str], text: str) -> Iterator[Touch]:
    """Yield what a here-document does to files: a script that a program runs, or a patch."""
    if program in ("python", "python3", "node") and all(word == "-" for word in words[1:]):
        action = Action.MODIFIED if _READS_TOO.search(text) else Action.WRITTEN
        yield from (Touch(action, name) for name in _written_by_script(text))
    elif program == "patch" or words[:2] == ["git", "apply"]:
        yield from touches_of_patch(text)


def _written_by_script(text: str) -> Iterator[str]:
    """Yield the files that a script writes: named where it writes, or by a variable that is written."""
    named = {name: _QUOTED_FILE.findall(value) for name, value in _FILE_NAMES.findall(text)}
    found: dict[str, None] = {}
    for match in _SCRIPT_WRITES.finditer(text):
        target = match["opened"] or match["written"] or match["node"]
        found.update(dict.fromkeys(_QUOTED_FILE.findall(target) or named.get(target, [])))
    yield from found


def _powershell(action: Action) -> Callable[[Sequence[str]], Iterator[Touch]]:
    """Return a parser for a PowerShell command that does something to its first operand."""

    def read(words: Sequence[str]) -> Iterator[Touch]:
        names = [word for word in words[1:] if not word.startswith("-")]
        return (Touch(action, name) for name in names[:1])

    return read


# What the patterns recognise ---------------------------------------------------------------------------

_OF_WINDOWS = lazy_pattern(
    r"(?<![\w\\])[A-Za-z]:\\(?=[\w.\\])"
    r"|(?:^|[|;(\n])[ \t]*(?:Get|Set|New|Remove|Add|Out|Copy|Move|Test|Select)-[A-Z][a-z]"
)
"""A path with a drive, or a command of PowerShell: in such a line a backslash separates folders."""
_SEPARATOR = lazy_pattern(r"\\+(?=[\w.~-])")
"""Backslashes before a name; not those that escape a quote, a space or the end of a line."""
_ABSOLUTE = lazy_pattern(r"[/\\~]|[A-Za-z]:[/\\]|\w+://")
"""How a path begins that is not in the working directory."""
_HEADER = lazy_pattern(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
"""The line before a file in a patch of ``apply_patch``."""
_DIFF = lazy_pattern(r"^--- (?:a/)?(\S+).*\n\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
"""The two lines before a file in a unified diff."""
_PATCH_ACTIONS = {"Add File": Action.CREATED, "Update File": Action.MODIFIED, "Delete File": Action.DELETED}
"""What these lines say is done to the file."""
_NOWHERE = "/dev/null"
"""The name of a file that a diff creates or deletes, on its other side."""
_NO_PATH = lazy_pattern(r"[$*?{}<>|`\n\"']|^-|^/dev/|^&|^\d+$|^$|^\.{1,2}$")
"""What is no path: a variable, a wildcard, an option, a number."""
_WRITES = lazy_pattern(r"[\"'][wax]b?\+?[\"']|\bwrite|\brename|\bcopy")
"""What a script contains that writes files."""
_QUOTED_FILE = lazy_pattern(r"[\"']([\w./~-]+\.\w{1,8})[\"']")
"""What a script does, and names, that may be files which it writes."""
_HAS_SUFFIX = lazy_pattern(r"\w\.[A-Za-z]\w{0,7}$")
"""A file rather than a branch."""
_URL = lazy_pattern(r"https?://[^\s\"'<>)\]}`,\\|]+")
"""A web address."""
_FILE_NAMES = lazy_pattern(r"\b(\w+)[ \t]*(?:=(?!=)|\bin\b)[ \t]*(\[[^\]]*\]|\([^)\n]*\)|[^\n]*)")
"""A name of a script, and the value or list that may be the paths of files."""
_READS_TOO = lazy_pattern(r"\bread(?:_text|lines|FileSync|File)?\(|[\"']r\+b?[\"']")
"""A script that reads a file before it writes: it modifies the file."""
_SCRIPT_WRITES = lazy_pattern(
    r"""\bopen\(\s*(?P<opened>\w+|["'][^"'\n]+["'])\s*,\s*(?:mode=)?["'](?:[wax]b?\+?|r\+b?)["']"""
    r"""|(?P<written>\b\w+|\bPath\(\s*["'][^"'\n]+["']\s*\))\.(?:write_(?:text|bytes)\(|open\(["'][wax])"""
    r"""|\bwriteFile(?:Sync)?\(\s*(?P<node>\w+|["'][^"'\n]+["'])\s*,"""
)
"""A place where a script writes a file: ``open("a", "w")``, ``path.write_text(``, ``writeFileSync("a",``."""
_PROGRAMS: Mapping[str, Callable[[Sequence[str]], Iterator[Touch]]] = MappingProxyType(
    {
        "rm": _each(Action.DELETED),
        "unlink": _each(Action.DELETED),
        "mkdir": _each(Action.FOLDER, "m"),
        "mv": _moves,
        "cp": _copies,
        "touch": _each(Action.WRITTEN, "dtr"),
        "tee": _each(Action.WRITTEN),
        "sed": _in_place_edits,
        "gsed": _in_place_edits,
        "perl": _in_place_edits,
        "cat": _each(Action.READ),
        "head": _each(Action.READ, "nc"),
        "tail": _each(Action.READ, "nc"),
        "nl": _each(Action.READ),
        "less": _each(Action.READ),
        "bat": _each(Action.READ),
        "git": _git,
        "curl": _fetches,
        "wget": _fetches,
        "dd": _dd,
        "ln": _copies,
        "install": _copies,
        "rsync": _copies,
        "python": _scripts,
        "python3": _scripts,
        "node": _scripts,
        "get-content": _powershell(Action.READ),
        "set-content": _powershell(Action.WRITTEN),
        "add-content": _powershell(Action.MODIFIED),
        "out-file": _powershell(Action.WRITTEN),
        "remove-item": _powershell(Action.DELETED),
        "new-item": _powershell(Action.CREATED),
    }
)
