"""Which instruction files the calls of a session may have written, beyond those that the ledger knows.

The ledger reads which files a call changes as far as that is certain. A file that gives the model orders
needs the other direction: every call counts that *may* have written it. Those are the calls that name the
file, or a pattern that it matches, and do not only read (``find . -name AGENTS.md -exec sed -i …``), and the
commands that may change any file of the folder (``git pull``, ``patch``, ``cp -r``, unpacking). Not
recognised are a name that the call does not spell (``f=AGENTS; echo x > $f.md``) and what a script writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from clew.ledger.command_line import LONGEST, Simple, simple_commands, without_prefixes
from clew.ledger.tool_actions import ActionKind, ToolAction, action_of, touches
from clew.log.fold import INSTRUCTION, MESSAGE
from clew.message import ToolCall
from clew.message.parts import json_strings
from clew.providers.shapes import as_object, as_text
from clew.request.instructions.files import fold_path

if TYPE_CHECKING:
    from clew.log.protocol import StoredEvent
    from clew.session.session import Session

_ONLY_READING = frozenset(
    {
        *(ActionKind.READ, ActionKind.SEARCH, ActionKind.FETCH, ActionKind.ASK, ActionKind.PROPOSE),
        *(ActionKind.TODO, ActionKind.NEW_TASK, ActionKind.TASK_CHANGE, ActionKind.TASK_LIST),
    }
)
"""Kinds of calls that write no file of the project."""
_READERS = frozenset(
    """
    cat head tail less more bat batcat grep egrep fgrep rg ag ls ll dir tree wc stat file diff cmp md5sum
    sha1sum sha256sum shasum nl od xxd hexdump strings du test [ [[ realpath readlink basename dirname cd
    pushd popd pwd echo printf cut tr column sort awk true false jq which type find sed git get-content sleep
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Programs that only read, if their output is not redirected and they are given none of ``_WRITES``."""
_WRITES = {
    "awk": re.compile(r".*(?:[>|]|system|getline)|-[if]"),
    "find": re.compile(r"-(?:exec|ok|delete|fprint|fls)"),
    "git": re.compile(r"--output|-o$"),
    "sed": re.compile(r"(?!-[nErs]+$|--quiet$|(?:[\d$,+;p]|/[^/;]*/)+$)(?=-|.*[^\w./~-])"),
    "sort": re.compile(r"-\w*o|--output"),
    "tree": re.compile(r"-o"),
}
"""Words by which a program that reads also writes or runs another one; of ``sed``, what does not print."""
_READING_GIT = frozenset(
    ("log", "show", "diff", "status", "blame", "add", "commit", "grep", "ls-files", "rev-parse", "branch")
)
"""Commands of git that change no file of the folder."""
_HIDES_COMMANDS = re.compile(r"\$\(|`|<\(|>\(")
"""Commands inside a command, which are not read."""
_ANY_FILE = re.compile(
    r"""(?x)\b(?:
        git\s(?:\S+\s){0,6}?(?:pull|apply|am|reset|checkout|restore|switch|merge|rebase|stash|cherry-pick|revert
            |clone|submodule|worktree|read-tree|checkout-index)\b
      | (?:hg|svn|bzr)\s+(?:up|update|pull|checkout|co|revert|merge|switch)\b
      | patch\b | rsync\b | scp\b | robocopy\b | xcopy\b
      | (?:cp|mv)\s+(?:\S{1,200}\s+){0,9}?(?:-\w*[rRa]|--recursive|--archive|\S{0,200}[*?\[])
      | (?:cp|mv|install|ln)\s+[^\n;|&]{0,500}\s\.{1,2}/?(?=\s|$)
      | (?:bsd)?tar\s+(?:-?\w*x|--extract|--get)\w*\b | 7z[ar]?\s+[xe]\b
      | unzip\b | unrar\b | cpio\b | Expand-Archive\b
      | (?:curl|wget)\b[^\n]{0,500}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b
    )"""
)
"""Commands that may replace any file of the folder, named or not."""
_WORD = re.compile(r"[^\s,;|&<>()=:{}]+")
_PATTERN = re.compile(r"[*?\[]")
_OPEN = re.compile(r"\{[^{}\s]*\}|\$\{?\w+\}?")
"""A part of a word that may be anything: ``{AGENTS,CLAUDE}``, ``$name``."""
_LETTERS = re.compile(r"\w\w")
"""What a pattern has that is more than a variable or a sign of arithmetic."""
_QUOTES = str.maketrans("", "", "\"'`")


class InstructionWriters:
    """What the calls of a session may have written, read from its log as it grows."""

    def __init__(self, session: Session) -> None:
        """Read nothing yet."""
        self._session = session
        self._read = 0
        self._named: dict[str, float] = {}
        """The last components of what calls named that did not only read, and when the first one did."""
        self._patterns: dict[str, float] = {}
        """The same of patterns of names: ``agent*.md``."""
        self._any_file = float("inf")
        """When the first command ran that may have changed any file."""
        self._loaded: set[tuple[str, str]] = set()
        """The files that were loaded before, each with its hash."""

    def may_have_written(self, path: str, sha256: str = "") -> bool:
        """Whether a call may have written this file, and it changed since, or that is not known.

        A file that was loaded with this content did not change, nor one that is older than the call.
        """
        self._catch_up()
        if sha256 and (path, sha256) in self._loaded:
            return False
        name = fold_path(path).rpartition("/")[2]
        times = [time for pattern, time in self._patterns.items() if fnmatchcase(name, pattern)]
        first = min((self._any_file, self._named.get(name, self._any_file), *times))
        return first < float("inf") and _changed_at(path) >= first

    def _catch_up(self) -> None:
        kinds = [MESSAGE.name, INSTRUCTION.name]
        for stored in self._session.store.read(self._session.ctx, self._read, kinds=kinds):
            self._read = stored.seq
            if stored.event.kind == INSTRUCTION.name:
                self._loaded.update(_files_of(stored))
                continue
            for message in MESSAGE.messages(MESSAGE.current(stored).event.body):
                for part in message.parts:
                    if isinstance(part, ToolCall):
                        self._take(part, stored)

    def _take(self, call: ToolCall, stored: StoredEvent) -> None:
        action = action_of(call)
        if action.kind in _ONLY_READING or (action.kind is not ActionKind.SHELL and touches(action, "")):
            return  # it writes nothing, or the ledger says what
        texts = [call.input_text] if call.input is None else [*filter(None, json_strings(call.input))]
        if action.kind is ActionKind.SHELL:
            if _only_reads(action.subject):
                return
            if _ANY_FILE.search(action.subject):
                self._any_file = min(self._any_file, _time_of(stored, stored.event.time))
        for word in _words(texts, action):
            held = self._patterns if _PATTERN.search(word) else self._named
            held[word] = min(held.get(word, float("inf")), _time_of(stored))


def _files_of(stored: StoredEvent) -> Iterator[tuple[str, str]]:
    """Yield the files of an instruction that was loaded, each with its hash."""
    body = stored.event.body
    if as_text(body.get("does")) in ("load", "change"):
        yield as_text(body.get("path")) or "", as_text(body.get("sha256")) or ""
        yield from ((path, as_text(sha) or "") for path, sha in as_object(body.get("includes")).items())


def _words(texts: Iterable[str], action: ToolAction) -> Iterator[str]:
    """Yield the last components of what a call names, in the form in which names are compared."""
    for text in texts:
        plain = text.replace("\\", "/" if action.kind is not ActionKind.SHELL else "").translate(_QUOTES)
        for word in _WORD.findall(f"{plain}\n{_OPEN.sub('*', plain)}" if _OPEN.search(plain) else plain):
            last = fold_path(word.rstrip("/.")).rpartition("/")[2]
            if ("." in last or _PATTERN.search(last)) and _LETTERS.search(last):
                yield last


def _time_of(stored: StoredEvent, added: str = "") -> float:
    """Return when an imported message was written, as its file says; else ``added``; 0 if that is empty.

    When a message was added says less: an application may add a whole conversation after it took place.
    """
    source = stored.event.body.get("source")
    written = as_text(as_object(source).get("time")) if source else added
    try:
        return datetime.fromisoformat(written or "").timestamp()
    except ValueError:
        return 0.0


def _changed_at(path: str) -> float:
    """Return when a file or its name last changed; no program can set that time."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return float("inf")
    return max(status.st_ctime, status.st_mtime)


# Commands that only read ------------------------------------------------------------------------------


def _only_reads(line: str) -> bool:
    """Whether a command line is known to write no file."""
    is_read_whole = len(line) <= LONGEST and not _HIDES_COMMANDS.search(line)
    return is_read_whole and all(map(_reads, simple_commands(line)))


def _reads(command: Simple) -> bool:
    if command.document or any(not name.startswith("/dev/") for name in command.outputs):
        return False
    words = [word for word in command.words if not word.startswith("2>")]
    if "xargs" in words or "tee" in words:
        return False
    words = without_prefixes(words)
    program = words[0].rpartition("/")[2].lower() if words else "true"
    writes = _WRITES.get(program)
    if program not in _READERS or (writes and any(map(writes.match, words[1:]))):
        return False
    return program != "git" or _git_command(words) in _READING_GIT


def _git_command(words: Sequence[str]) -> str:
    """Return the command in ``git -C folder --no-pager log``."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-C", "-c"):
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""
