"""Install clew in a host and remove it: which files are written, and their content before.

If a host loads a folder or file of our own, only that is written. If it has one file for everything (Codex),
our part is added to it. The previous content of a file is kept, so that uninstalling restores it byte for
byte; if the file was changed since, only our part is removed.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from clew.errors import InputError
from clew.hosts.codex_files import add_hooks, add_server, remove_hooks, remove_server
from clew.hosts.session_notes import hosts_home, write_whole
from clew.transcripts.discover import Computer


@dataclass(frozen=True, slots=True)
class HostFilePart:
    """Our part of a file that belongs to the host: how to add and how to remove it."""

    path: Path
    add: Callable[[bytes | None], bytes]
    remove: Callable[[bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class Host:
    """An agent that clew can be installed in."""

    name: str
    title: str
    program: str
    """The name of its command."""
    tried: str
    """The version that clew was tested with."""
    folder: Callable[[Computer], Path] | None = None
    """Where the files of ``plugins/<name>`` go."""
    parts: Callable[[Computer], Sequence[HostFilePart]] = lambda _: ()
    then: str = ""
    """What the user has to do after installing."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None if it does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = (_lines(text) for text in (self.before, self.after))
        names = ("/dev/null" if self.before is None else str(self.path), str(self.path))
        return "".join(difflib.unified_diff(old, new, *names))


def _lines(data: bytes | None) -> list[str]:
    lines = (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def command() -> list[str]:
    """Return the command that starts this installation of clew, independent of the host's PATH."""
    script = Path(sys.executable).with_name("clew.exe" if os.name == "nt" else "clew")
    return [str(script)] if script.exists() else [sys.executable, "-m", "clew"]


def _codex_parts(computer: Computer) -> Sequence[HostFilePart]:
    home = computer.folder("CODEX_HOME", ".codex")
    hook, server = shlex.join([*command(), "hook", "codex"]), [*command(), "mcp"]
    return (
        HostFilePart(home / "hooks.json", lambda base: add_hooks(base, hook), remove_hooks),
        HostFilePart(home / "config.toml", lambda base: add_server(base, server), remove_server),
    )


HOSTS = {
    host.name: host
    for host in (
        Host(
            "claude-code", "Claude Code", "claude", "2.1.325",
            lambda item: item.folder("CLAUDE_CONFIG_DIR", ".claude") / "skills" / "clew",
            then="start a new session; `claude plugin list` shows clew@skills-dir",
        ),
        Host(
            "codex", "Codex", "codex", "0.166.0", parts=_codex_parts,
            then="open /hooks in Codex once and trust clew's hooks: until then Codex skips them silently",
        ),
        Host(
            "gemini", "Gemini CLI", "gemini", "0.61.0",
            lambda item: item.home / ".gemini" / "extensions" / "clew",
            then="start a new session; /extensions list shows clew",
        ),
        Host(
            "opencode", "opencode", "opencode", "1.18.33",
            lambda item: item.folder("XDG_CONFIG_HOME", ".config") / "opencode" / "plugins",
            then="start a new session",
        ),
        Host(
            "pi", "pi", "pi", "0.73.1",
            lambda item: item.folder("PI_CODING_AGENT_DIR", ".pi", "agent") / "extensions",
            then="start a new session, or /reload",
        ),
        Host(
            "hermes", "Hermes", "hermes", "0.19.0",
            lambda item: item.folder("HERMES_HOME", ".hermes") / "plugins" / "clew",
            then="`hermes plugins enable clew` and `hermes config set context.engine clew`",
        ),
        Host(
            "openclaw", "OpenClaw", "openclaw", "2026.9.6",
            lambda item: item.folder("OPENCLAW_STATE_DIR", ".openclaw") / "extensions" / "clew",
            then="`openclaw plugins enable clew` and "
            "`openclaw config set agents.defaults.compaction.provider clew`, then restart its gateway",
        ),
    )
}  # fmt: skip
"""The hosts that clew can be installed in, by name."""


def host_named(name: str) -> Host:
    """Return a host by its name."""
    if name not in HOSTS:
        raise InputError(f"clew cannot be installed in {name!r}", f"use one of {', '.join(HOSTS)}")
    return HOSTS[name]


# Changes ---------------------------------------------------------------------------------------------


def to_install(host: Host, computer: Computer) -> list[FileChange]:
    """Return what installing would change; empty if it is installed."""
    targets = _target_files(host, computer)
    changes = [FileChange(target.path, _current(target.path), target.with_clew) for target in targets]
    return [change for change in changes if change.before != change.after]


def install(host: Host, computer: Computer) -> list[FileChange]:
    """Write the files, and record their previous content."""
    changes = to_install(host, computer)
    if changes:
        record = [
            _WrittenFile(target.path, target.without, _digest(target.with_clew))
            for target in _target_files(host, computer)
        ]
        new_folders = {folder for change in changes for folder in change.path.parents if not folder.exists()}
        _write_record(host.name, record, new_folders | _made_folders(host.name))
    for change in changes:
        if change.after is not None:
            write_whole(change.path, change.after)
    return changes


def to_uninstall(host: Host, computer: Computer) -> list[FileChange]:
    """Return what uninstalling would change."""
    without = {target.path: target.without for target in _target_files(host, computer)}
    for written_file in _read_record(host.name):
        if written_file.path not in without:  # written by an older version
            without[written_file.path] = _without_clew(
                written_file.path, written_file, lambda current: current
            )
    changes = [FileChange(path, _current(path), content) for path, content in without.items()]
    return [change for change in changes if change.before != change.after]


def uninstall(host: Host, computer: Computer) -> list[FileChange]:
    """Restore every file, and remove the folders that installing made, if they are empty then."""
    changes = to_uninstall(host, computer)
    for change in changes:
        if change.after is None:
            change.path.unlink()
        else:
            write_whole(change.path, change.after)
    for folder in sorted(_made_folders(host.name), key=lambda path: -len(path.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    _record_path(host.name).unlink(missing_ok=True)
    return changes


class _TargetFile(NamedTuple):
    """A file of a host that clew is installed in."""

    path: Path
    without: bytes | None
    """Its content without clew; None if it does not exist then."""
    with_clew: bytes


def _target_files(host: Host, computer: Computer) -> Iterator[_TargetFile]:
    """Yield the files that an installation consists of."""
    record = {written_file.path: written_file for written_file in _read_record(host.name)}
    if host.folder:
        folder = host.folder(computer)
        for name, data in _template(host.name):
            path = folder / name
            # A file that clew wrote is all clew's, also if it was changed since; another one stays as it is.
            remove = (lambda _current: None) if path in record else (lambda current: current)
            yield _TargetFile(path, _without_clew(path, record.get(path), remove), data)
    for part in host.parts(computer):
        without = _without_clew(part.path, record.get(part.path), part.remove)
        yield _TargetFile(part.path, without, part.add(without))


def _without_clew(
    path: Path, written_file: _WrittenFile | None, remove: Callable[[bytes], bytes | None]
) -> bytes | None:
    """Return a file's content without clew: the recorded one, or what ``remove`` leaves if it was changed."""
    current = _current(path)
    if written_file and current is not None and _digest(current) == written_file.digest:
        return written_file.before
    return None if current is None else remove(current)


def _template(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a plug-in, with the command of this installation filled in."""
    for path, file in _walk(resources.files("clew.hosts") / "plugins" / name):
        yield path, _fill_in(name, file.read_text("utf-8")).encode()


def _walk(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder, each with its path from there."""
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if file.is_dir():
            yield from _walk(file, f"{above}{file.name}/")
        else:  # a template of Python code that must not be imported as our module
            yield f"{above}{file.name.removesuffix('.txt')}", file


def _fill_in(host: str, text: str) -> str:
    """Return a template with the path of this clew for the bare command, and with its tools."""
    own = command()
    hook = json.dumps(shlex.join([*own, "hook", host]))
    server = f'"command": {json.dumps(own[0])}, "args": {json.dumps([*own[1:], "mcp"])}'
    text = text.replace(f'"clew hook {host}"', hook).replace('"command": "clew", "args": ["mcp"]', server)
    text = text.replace('CLEW = ["clew"]', f"CLEW = {json.dumps(own)}")
    tools = "const TOOLS: any[] = "
    if f"{tools}[];" in text:
        from clew.hosts.tools import definitions

        listed = [block for block in definitions() if block["annotations"]["readOnlyHint"]]
        text = text.replace(f"{tools}[];", f"{tools}{json.dumps(listed, indent=2)};")
    return text


# The record ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _WrittenFile:
    """A file that an installation wrote, as its record says."""

    path: Path
    before: bytes | None
    """Its content before; None if it did not exist."""
    digest: str
    """Hash of what was written."""


def _current(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _record_path(name: str) -> Path:
    return hosts_home() / "installed" / f"{name}.json"


def _write_record(name: str, files: Sequence[_WrittenFile], folders: Iterable[Path]) -> None:
    listed: list[dict[str, Any]] = []
    for file in files:
        before = None if file.before is None else base64.b64encode(file.before).decode()
        listed.append({"path": str(file.path), "before": before, "digest": file.digest})
    record = {"version": 1, "files": listed, "folders": sorted(map(str, folders))}
    write_whole(_record_path(name), json.dumps(record, indent=1).encode())


def _made_folders(name: str) -> set[Path]:
    """Return the folders that installing made; two around each file if an older version wrote the record."""
    try:
        record = json.loads(_record_path(name).read_bytes())
    except FileNotFoundError:
        return set()
    if "folders" in record:
        return set(map(Path, record["folders"]))
    written_paths = [Path(file["path"]) for file in record["files"] if file["before"] is None]
    return {folder for path in written_paths for folder in path.parents[:2]}


def _read_record(name: str) -> list[_WrittenFile]:
    """Return the files that an installation wrote, with their content from before it."""
    files = []
    try:
        for file in json.loads(_record_path(name).read_bytes())["files"]:
            before = None if file["before"] is None else base64.b64decode(file["before"])
            files.append(_WrittenFile(Path(file["path"]), before, file["digest"]))
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as cause:
        raise InputError(
            f"{_record_path(name)} cannot be read ({cause})", "move it away and install again"
        ) from cause
    return files
