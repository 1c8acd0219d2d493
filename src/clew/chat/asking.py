"""What a person is asked before a tool changes something: what it would do, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from unicodedata import normalize

from clew.chat.places import called, inside
from clew.errors import InputError
from clew.rules.pins import Pin
from clew.rules.values import Kind

LONGEST_TEXT = 300
"""Characters of what a file is to hold; a note or a rule is shown whole."""
STEERING = frozenset(
    {
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "clew.md"),
        *("clew.toml", "pyproject.toml"),
    }
)
"""Files that say what agents and clew do here."""
STEERING_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".claude", ".clew", ".codex", ".gemini", ".agents", ".github", ".vscode"),
        *(".cursor", ".windsurf", ".clinerules", ".roo", ".continue", ".zed", ".idea", ".devcontainer"),
        *(".husky", ".cargo", ".circleci", ".yarn"),
    }
)
RUNNING = (
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
"""Files that tools run, or run something because of: names and patterns, in lower case."""


# What it would do ------------------------------------------------------------------------------------


def what_of(name: str, arguments: Mapping[str, Any], root: Path | None = None) -> str:
    """Say in one line what a call would do."""
    match name, dict(arguments):
        case "write_file", {"path": str(path), "text": str(text)}:
            return f"{_writing(path, root)} with {characters(len(text))}: {_short(text)}"
        case "remember", {"text": str(text)}:
            return f"keep a note {_terms(arguments)}: {_flat(text)}"
        case "forget", {"note": str(note)}:
            return (
                f"forget the note {_flat(note)} (because: {_flat(arguments.get('why') or 'no reason given')})"
            )
        case "pin", {"quote": str(quote)}:
            return f"pin the rule for this session: {_flat(quote)}"
    return _short(f"{name} {arguments}")


def _writing(path: str, root: Path | None) -> str:
    """Say whether a file would be made or overwritten, and how much of it there is."""
    shown = _flat(path) if path == path.strip() and ": " not in path else f'"{_flat(path)}"'
    try:
        place = inside(root, path) if root else None
        there = place.stat().st_size if place and place.is_file() else None
        if place and root and called(root, place) != normpath(path):
            shown = f"{shown} (which is {called(root, place)})"
    except (InputError, OSError):
        return f"write {shown}"
    return f"create {shown}" if there is None else f"overwrite {shown} ({there:,} bytes)"


def characters(count: int) -> str:
    """Return a number of characters in words."""
    return "1 character" if count == 1 else f"{count:,} characters"


def _terms(arguments: Mapping[str, Any]) -> str:
    """Say for how wide a note would hold, as what, and how long."""
    told = [f"for the {arguments.get('scope') or 'workspace'}"]
    told += [str(arguments[name]).replace("_", " ") for name in ("category",) if arguments.get(name)]
    told += [f"{arguments['priority']} priority"] if arguments.get("priority") else []
    told += [f"called {arguments['key']}"] if arguments.get("key") else []
    told += [f"for {arguments['expires_in_days']} days"] if arguments.get("expires_in_days") else []
    return _flat(", ".join(told))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    flat = _flat(text)
    more = len(flat) - LONGEST_TEXT
    return f"{flat[:LONGEST_TEXT]}… and {characters(more)} more" if more > 0 else flat


# What stands against it ------------------------------------------------------------------------------


def against(pins: tuple[Pin, ...], arguments: Mapping[str, Any], root: Path | None = None) -> Iterator[Pin]:
    """Yield the prohibitions that name the place which a call would write to, as given or by a link."""
    places = places_of(arguments, root)
    for pin in pins:
        scopes = pin.scope.paths if pin.kind is Kind.PROHIBITION else ()
        if any(covers(scope, place) for scope in scopes for place in places):
            yield pin


def steers(arguments: Mapping[str, Any], root: Path | None = None) -> bool:
    """Return whether a call would write to a file that says what agents, clew or git do here, or runs."""
    return any(
        parts and (parts[-1] in STEERING or not STEERING_FOLDERS.isdisjoint(parts) or _runs(parts[-1]))
        for parts in (PurePosixPath(folded(place)).parts for place in places_of(arguments, root))
    )


def _runs(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in RUNNING)


def places_of(arguments: Mapping[str, Any], root: Path | None) -> tuple[str, ...]:
    """Return the place that a call would write to: as it is named, and where that leads below the root."""
    path = arguments.get("path")
    if not isinstance(path, str):
        return ()
    try:
        leads = called(root, inside(root, path)) if root else path
    except InputError:  # it leads nowhere, and the tool will say so
        leads = path
    return tuple(dict.fromkeys((normpath(path), leads)))


def covers(scope: str, path: str) -> bool:
    """Tell whether a path as a rule names it holds another: ``legacy/`` holds ``legacy/a.py``.

    Letters count the same in either case: on many disks they are, and elsewhere it is only asked once more.
    """
    place, scope = folded(normpath(path)).strip("/"), folded(scope)
    if "*" in scope.rstrip("/*"):
        return fnmatchcase(place, scope) or fnmatchcase(place.rpartition("/")[2], scope)
    held = scope.removeprefix("./").strip("/*")
    return bool(held) and f"/{held}/" in f"/{place}/"


def folded(path: str) -> str:
    """Return a path so that two names of one file on any disk are the same."""
    return normalize("NFC", path).casefold()
