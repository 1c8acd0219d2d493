"""Where tools keep their sessions on this computer: folders and patterns for each platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = ("rooveterinaryinc.roo-cline", "saoudrizwan.claude-dev", "kilocode.kilo-code")
_REMOTE_EDITORS = (".vscode-server", ".cursor-server", ".windsurf-server")


class Place(NamedTuple):
    """A folder, and the file pattern of one format's sessions in it."""

    format: str
    folder: Path
    pattern: str
    is_database: bool = False
    """One file holds many sessions."""


@dataclass(frozen=True, slots=True)
class Computer:
    """What determines the places. The default is this computer and the current folder."""

    home: Path = field(default_factory=Path.home)
    directory: Path = field(default_factory=Path.cwd)
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform

    def folder(self, variable: str, *otherwise: str) -> Path:
        """Return the folder that a variable names, else one in the home folder."""
        named = self.variables.get(variable)
        return Path(named) if named else self.home.joinpath(*otherwise)

    @property
    def data(self) -> Path:
        """Return where programs keep their data."""
        return self.folder("XDG_DATA_HOME", ".local", "share")


def places(computer: Computer) -> Iterator[Place]:
    """Yield every place where sessions may be."""
    yield from _of_command_lines(computer)
    yield from _of_databases(computer)
    yield from _of_editors(computer)
    yield from _of_projects(computer)


def _of_command_lines(computer: Computer) -> Iterator[Place]:
    home = computer.home
    yield Place("claude-code", computer.folder("CLAUDE_CONFIG_DIR", ".claude"), "projects/*/*.jsonl")
    codex = computer.folder("CODEX_HOME", ".codex")
    yield Place("codex", codex, "sessions/*/*/*/rollout-*.jsonl*")
    yield Place("codex", codex, "archived_sessions/rollout-*.jsonl*")
    yield Place("copilot-cli", home / ".copilot", "session-state/*/events.jsonl")
    yield Place("copilot-cli", home / ".copilot", "session-state/*.jsonl")
    yield Place("qwen-code", home / ".qwen", "projects/*/chats/*.jsonl")
    yield Place("gemini-cli", home / ".gemini", "tmp/*/chats/session-*.json*")
    yield Place("pi", home / ".pi", "agent/sessions/*/*.jsonl")
    yield Place("openhands", home / ".openhands", "conversations/*/base_state.json")
    yield Place("cline", home / ".cline", "data/sessions/*/*.messages.json")


def _of_databases(computer: Computer) -> Iterator[Place]:
    named = computer.variables.get("OPENCODE_DB")
    if named:
        path = Path(named)
        yield Place("opencode", path.parent, path.name, True)
    yield Place("opencode", computer.data / "opencode", "opencode.db", True)
    yield Place("goose", computer.data / "goose", "sessions/sessions.db", True)
    if computer.platform == "win32":
        roaming = computer.folder("APPDATA", "AppData", "Roaming")
        yield Place("goose", roaming / "Block" / "goose" / "data", "sessions/sessions.db", True)


def _of_editors(computer: Computer) -> Iterator[Place]:
    for storage in _editor_storages(computer):
        for extension in _EXTENSIONS:
            yield Place("roo-cline", storage / extension, "tasks/*/api_conversation_history.json")


def _editor_storages(computer: Computer) -> Iterator[Path]:
    match computer.platform:
        case "darwin":
            settings = computer.home / "Library" / "Application Support"
        case "win32":
            settings = computer.folder("APPDATA", "AppData", "Roaming")
        case _:
            settings = computer.folder("XDG_CONFIG_HOME", ".config")
    for editor in _EDITORS:
        yield settings / editor / "User" / "globalStorage"
    for editor in _REMOTE_EDITORS:
        yield computer.home / editor / "data" / "User" / "globalStorage"


def _of_projects(computer: Computer) -> Iterator[Place]:
    """Yield what tools keep inside a project: in the current folder and its parents."""
    for folder in (computer.directory, *computer.directory.parents):
        yield Place("aider", folder, ".aider.chat.history.md")
        yield Place("specstory", folder, ".specstory/history/*.md")
        yield Place("crush", folder, ".crush/crush.db", True)
