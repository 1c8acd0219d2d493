"""Approvals for tool calls that write: what is shown to the person, which rules apply, stored answers.

A person can also approve an instruction file (``AGENTS.md``, …) that the session itself wrote.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from clew.chat.events import Answer
from clew.chat.paths import relative_name, resolve_inside
from clew.errors import InputError
from clew.log import canonical
from clew.log.fold import APPROVAL
from clew.message import JsonObject
from clew.message.text import one_line
from clew.request.instructions import load
from clew.request.instructions.files import Disk, fold_path
from clew.request.instructions.parse import matches
from clew.rules.rule import Kind, Pin
from clew.secrets import mask
from clew.secrets.find import own_key
from clew.session import Session
from clew.session.request import InstructionFiles, files_of

LONGEST_TEXT = 300
"""Characters shown of a file's new content; a note or a rule is shown whole. Chosen by hand."""
CONFIG_FILES = frozenset(
    {
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "clew.md"),
        *("clew.toml", "pyproject.toml"),
    }
)
"""Files that configure agents and clew: writing to them is approved every time."""
CONFIG_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".claude", ".clew", ".codex", ".gemini", ".agents", ".github", ".vscode"),
        *(".cursor", ".windsurf", ".clinerules", ".roo", ".continue", ".zed", ".idea", ".devcontainer"),
        *(".husky", ".cargo", ".circleci", ".yarn"),
    }
)
EXECUTED_FILES = (
    *(".envrc", ".mcp.json", ".cursorrules", ".windsurfrules", ".clinerules", ".aider.conf.yml"),
    *(".pre-commit-config.yaml", "lefthook.y*ml", ".gitattributes", ".gitmodules", ".npmrc", ".yarnrc*"),
    *(
        ".pnpmfile.*js",
        ".tool-versions",
        "*mise.toml",
        "package.json",
        "*.config.[cm][jt]s",
        "*.config.[jt]s",
    ),
    *("makefile", "gnumakefile", "*.mk", "justfile", "rakefile", "gemfile", "cmakelists.txt", "build.rs"),
    *("build.gradle*", "settings.gradle*", "pom.xml", "dockerfile*", "*compose.y*ml", ".gitlab-ci.yml"),
    *(".travis.yml", "jenkinsfile", "conftest.py", "noxfile.py", "setup.py", "setup.cfg", "tox.ini"),
    *("pytest.ini", "sitecustomize.py", "usercustomize.py", "*.pth", ".bashrc", ".bash_profile", ".zshrc"),
    *(".profile", "cargo.toml", "deno.json*", "procfile", "vagrantfile"),
)
"""Files that other tools execute or that make them execute something: patterns in lower case."""


# Description of a call -------------------------------------------------------------------------------


def describe_call(name: str, arguments: Mapping[str, Any], root: Path | None = None) -> str:
    """Describe in one line what a call would do."""
    match name, dict(arguments):
        case "write_file", {"path": str(path), "text": str(text)}:
            return f"{_writing(path, root)} with {characters(len(text))}: {_short(text)}"
        case "remember", {"text": str(text)}:
            return f"save a note {_terms(arguments)}: {one_line(text)}"
        case "forget", {"note": str(note)}:
            why = one_line(arguments.get("why") or "no reason given")
            return f"forget the note {one_line(note)} (because: {why})"
        case "pin", {"quote": str(quote)}:
            return f"pin the rule for this session: {one_line(quote)}"
    return _short(f"{name} {arguments}")


def _writing(path: str, root: Path | None) -> str:
    """Say whether a file would be created or overwritten, with its current size."""
    shown = one_line(path) if path == path.strip() and ": " not in path else f'"{one_line(path)}"'
    try:
        place = resolve_inside(root, path) if root else None
        existing = place.stat().st_size if place and place.is_file() else None
        if place and root and relative_name(root, place) != normpath(path):
            shown = f"{shown} (which is {relative_name(root, place)})"
    except (InputError, OSError):
        return f"write {shown}"
    return f"create {shown}" if existing is None else f"overwrite {shown} ({existing:,} bytes)"


def characters(count: int) -> str:
    """Return a number of characters as text."""
    return "1 character" if count == 1 else f"{count:,} characters"


def _terms(arguments: Mapping[str, Any]) -> str:
    """Return the scope, category, priority, key and lifetime of a note."""
    lines = [f"for the {arguments.get('scope') or 'workspace'}"]
    lines += [str(arguments[name]).replace("_", " ") for name in ("category",) if arguments.get(name)]
    lines += [f"{arguments['priority']} priority"] if arguments.get("priority") else []
    lines += [f"called {arguments['key']}"] if arguments.get("key") else []
    lines += [f"for {arguments['expires_in_days']} days"] if arguments.get("expires_in_days") else []
    return one_line(", ".join(lines))


def _short(text: str) -> str:
    flat = one_line(text)
    more = len(flat) - LONGEST_TEXT
    return f"{flat[:LONGEST_TEXT]}… and {characters(more)} more" if more > 0 else flat


# Rules and sensitive files ---------------------------------------------------------------------------


def forbidding_rules(
    pins: tuple[Pin, ...], arguments: Mapping[str, Any], root: Path | None = None
) -> Iterator[Pin]:
    """Yield the prohibitions that name the path a call would write to, as given or through a link."""
    places = target_paths(arguments, root)
    for pin in pins:
        # A file without an ending is a name: "Never modify `.env`."
        scopes = (*pin.scope.paths, *pin.scope.names) if pin.kind is Kind.PROHIBITION else ()
        if any(path_covers(scope, place) for scope in scopes for place in places):
            yield pin


def is_sensitive(arguments: Mapping[str, Any], root: Path | None = None) -> bool:
    """Return whether a call would write to a file that configures agents, clew or git, or is executed."""
    for place in target_paths(arguments, root):
        *folders, name = PurePosixPath(fold_path(place)).parts or ("",)
        if name in CONFIG_FILES or not CONFIG_FOLDERS.isdisjoint((*folders, name)):
            return True
        if any(fnmatchcase(name, pattern) for pattern in EXECUTED_FILES):
            return True
    return False


def target_paths(arguments: Mapping[str, Any], root: Path | None) -> tuple[str, ...]:
    """Return the path that a call would write to, as given and with links resolved."""
    path = arguments.get("path")
    if not isinstance(path, str):
        return ()
    try:
        leads = relative_name(root, resolve_inside(root, path)) if root else path
    except InputError:  # outside the root: the tool itself reports it
        leads = path
    return tuple(dict.fromkeys((normpath(path), leads)))


def path_covers(scope: str, path: str) -> bool:
    """Return whether a rule's path or pattern covers another path, in any folder and with all below it.

    ``legacy/`` covers ``legacy/a.py``, ``src/gen_*`` covers ``src/gen_api.py``. Case is ignored, as on many
    file systems; elsewhere this only means one more question.
    """
    place, text = (fold_path(normpath(item)).strip("/") for item in (path, scope))
    if not text.strip("./*"):
        return False  # it names no place
    is_named = f"/{text}/" in f"/{place}/"  # also ``app/[id]``, which as a pattern would mean ``app/i``
    return is_named or matches(place, f"**/{text}/**")


INSTRUCTIONS = "instructions:"
"""Prefix of approvals without a tool: a file that the session wrote may be used as instructions."""


class ApprovalStore:
    """The stored approvals of one session for one root.

    An approval grants something only if its record has a valid seal, a keyed hash made by clew on this
    computer: an imported log cannot bring approvals along.
    """

    def __init__(self, session: Session, root: Path | None = None) -> None:
        """Read the approvals that were recorded before."""
        self._session = session
        self._root = root.resolve().as_posix() if root else ""
        self.always: set[str] = set()
        """The tools approved for the rest of the session."""
        self.written_paths: set[str] = set()
        """The files that a tool was allowed to write to, by any record of an approval."""
        self._instructions: set[str] = set()
        for stored in session.store.read(session.ctx, kinds=[APPROVAL.name]):
            self._take(stored.event.body)

    def _take(self, body: JsonObject) -> None:
        tool, answer = str(body.get("tool")), str(body.get("answer"))
        place = body.get("place")
        if isinstance(place, str) and answer != Answer.NO:
            self.written_paths.add(place)
        if not hmac.compare_digest(str(body.get("seal")).encode(), self._seal(tool, answer).encode()):
            return
        if tool.startswith(INSTRUCTIONS):
            self._instructions.add(tool)
        elif answer == Answer.ALWAYS:
            self.always.add(tool)

    def _seal(self, tool: str, answer: str) -> str:
        """Return a keyed hash that proves that clew on this computer recorded the answer."""
        ctx = self._session.ctx
        data: JsonObject = {"for": [ctx.workspace, ctx.session, self._root], "tool": tool, "answer": answer}
        return blake2b(canonical(data), key=own_key(), digest_size=16, person=b"clew-approval").hexdigest()

    def allows(self, tool: str) -> bool:
        """Return whether a person approved this tool for the rest of the session."""
        return tool in self.always

    def trusts(self, path: str, sha256: str) -> bool:
        """Return whether a person trusts this content of a file that the session wrote."""
        return _as_instructions(path, sha256) in self._instructions

    def trust_file(self, path: str, sha256: str) -> None:
        """Record that a person trusts a file as instructions, with exactly this content."""
        self.record(_as_instructions(path, sha256), "", f"follow {path}", Answer.YES)

    def record(self, tool: str, call_id: str, what: str, answer: Answer, place: str = "") -> None:
        """Record an answer; ``place`` is the file that the tool would write to."""
        body: JsonObject = {
            "tool": tool,
            "call": call_id,
            "what": mask(what).text,
            "answer": answer.value,
            "by": "person",
            **({"place": place} if place else {}),
            "seal": self._seal(tool, answer.value),
        }
        self._session.record(APPROVAL.name, body)
        self._take(body)


def _as_instructions(path: str, sha256: str) -> str:
    """Return the approval's name for a trusted file: a hash that does not reveal the path."""
    data: JsonObject = {"path": path, "sha256": sha256}
    return f"{INSTRUCTIONS}{blake2b(canonical(data), digest_size=16).hexdigest()}"


class InstructionTracker(InstructionFiles):
    """The instruction files of a chat: a person can trust files that the session itself wrote."""

    def __init__(self, session: Session, root: Path | None, *, trusted: bool) -> None:
        """Read what is in force now. A root that the user does not trust has only data."""
        self.approvals = ApprovalStore(session, root)
        super().__init__(session, root, trusted=trusted)

    def trust(self, path: str) -> None:
        """Trust a file that the session wrote, with its current content only."""
        if self.root is None or self._roots is None:
            raise InputError("this chat has no root", "begin it with --root")
        if not self._roots.trusted:
            advice = f"add {self.root} to trust_roots in your clew.toml and begin the chat again"
            raise InputError(f"{self.root} is not trusted, so none of its files can be", advice)
        place = resolve_inside(self.root, path).as_posix()
        loaded = load(Disk(), self._roots, self._touched_files())
        hashes = {where: sha for instruction in loaded.instructions for where, sha in files_of(instruction)}
        if place not in hashes:
            raise InputError(f"{path!r} is not an instruction file here", "name one, such as AGENTS.md")
        self.approvals.trust_file(place, hashes[place])
        self._take(self._load())

    def in_force(self, path: str) -> bool:
        """Return whether a file is one of the instructions in force, or included by one."""
        if self.root is None:
            return False
        with suppress(InputError):
            place = fold_path(resolve_inside(self.root, path).as_posix())
            return any(
                place == fold_path(where)
                for instruction in self.loaded.instructions
                for where, _ in files_of(instruction)
            )
        return False

    def _written_names(self) -> Iterable[str]:
        """Return the files that the session changed, or was allowed to change."""
        return (*super()._written_names(), *self.approvals.written_paths)

    def _is_trusted(self, path: str, sha256: str) -> bool:
        return self.approvals.trusts(path, sha256)
