"""Where settings are written: clew's home, the project, the environment, flags."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clew.errors import InputError
from clew.settings.values import KEYS, Holder, Key

FILE = "clew.toml"
PROJECT = "pyproject.toml"
_ELSEWHERE = frozenset({"CLEW_MODELS", "CLEW_MODEL_KEY", "CLEW_PAGER", "CLEW_TEST_DATA"})
"""Variables of clew's that are no settings."""


class Given(NamedTuple):
    """One setting as it was given, and where."""

    key: Key
    value: object
    origin: str
    """For people: ``clew.toml:3``, ``CLEW_WINDOW``, ``--window``."""
    ignored: str = ""
    """Why it does not count; empty where it does."""


def in_home(home: Path) -> list[Given]:
    """Return what the person's own file says; it may set all but where it lies itself."""
    return list(_in_file(home / FILE, None, Holder.PERSON))


def in_project(start: Path, trusted: Sequence[Path] = (), chose: bool = False) -> list[Given]:
    """Return what the project says: the nearest ``clew.toml``, then the nearest ``pyproject.toml``.

    Looks from ``start`` upwards and no further than the folder that holds ``.git``. What decides who reads a
    person's words is ignored where they ``chose`` that themselves, outside of the folders that they trust;
    and so is a file of somebody else's.
    """
    folders = list(_folders(start))
    plain = _first(folders, FILE)
    shared = next((file for folder in folders if _has_table(file := folder / PROJECT)), None)
    return [
        *(_of_project(plain, None, trusted, chose) if plain else ()),
        *(_of_project(shared, "tool.clew", trusted, chose) if shared else ()),
    ]


def _of_project(file: Path, table: str | None, trusted: Sequence[Path], chose: bool) -> Iterator[Given]:
    folder = file.resolve().parent
    if any(folder.is_relative_to(root.resolve()) for root in trusted):
        yield from _in_file(file, table, Holder.ANYBODY)
        return
    strangers = is_strangers(file)
    for given in _in_file(file, table, Holder.ANYBODY):
        if strangers:
            yield given._replace(ignored="the file is somebody else's")
        elif chose and given.key.holder is Holder.TRUSTED:
            yield given._replace(
                ignored="you chose who answers, and no trust_roots of yours holds this project"
            )
        else:
            yield given


def is_strangers(file: Path, me: int | None = None) -> bool:
    """Tell whether a file belongs to neither the person nor the administrator, where files have owners."""
    if not hasattr(os, "geteuid"):
        return False
    return file.stat().st_uid not in (0, os.geteuid() if me is None else me)


def in_environment(env: Mapping[str, str]) -> list[Given]:
    """Return what variables say; an empty one says nothing."""
    return [Given(key, env[key.variable], key.variable) for key in KEYS.values() if env.get(key.variable)]


def in_flags(flags: Mapping[str, object]) -> list[Given]:
    """Return what flags say; None says nothing."""
    return [
        Given(_known(name, "flags"), value, _known(name, "flags").flag)
        for name, value in flags.items()
        if value is not None
    ]


def misspelt(env: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that looks like a setting and is none."""
    known = {key.variable for key in KEYS.values()}
    strange = sorted(name for name in env if name.startswith("CLEW_") and name not in known | _ELSEWHERE)
    return [f"{name} is no setting{_did_you_mean(name, known)}" for name in strange]


def _folders(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _first(folders: Iterable[Path], name: str) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _has_table(file: Path) -> bool:
    return file.is_file() and "[tool.clew]" in file.read_text("utf-8", "replace")


def _in_file(file: Path, table: str | None, holder: Holder) -> Iterator[Given]:
    if not file.is_file():
        return
    text = file.read_text("utf-8", "replace")
    try:
        written: object = tomllib.loads(text)
    except RecursionError as cause:
        raise InputError(f"{file} is nested too deep", "no setting needs that") from cause
    except ValueError as cause:  # no TOML, or a number that no computer wants to read
        raise InputError(f"{file} is no TOML: {cause}", "mend that line") from cause
    for name in table.split(".") if table else ():
        written = written.get(name, {}) if isinstance(written, dict) else {}
    for name, value in written.items() if isinstance(written, dict) else ():
        origin = f"{file}:{_line(text, table, name)}"
        key = _known(name.replace("-", "_"), origin)
        _check_holder(key, value, holder, origin)
        yield Given(key, value, origin)


def _check_holder(key: Key, value: object, holder: Holder, origin: str) -> None:
    """Refuse what this file may not set: a cloned project must not send a person's words elsewhere."""
    if key.holder is Holder.ENVIRONMENT:
        raise InputError(f"{origin} sets {key.name}", f"only the variable {key.variable} can")
    address = key.name in ("model", "summariser") and "@" in str(value)
    if holder is Holder.ANYBODY and (key.holder is Holder.PERSON or address):
        what = f"the server of {key.name}" if address else key.name
        raise InputError(
            f"{origin} sets {what}, which no project may",
            f"set it in {FILE} in clew's home, with {key.variable} or with {key.flag}",
        )


def _known(name: str, origin: str) -> Key:
    key = KEYS.get(name)
    if key is None:
        raise InputError(f"{origin}: there is no setting {name!r}{_did_you_mean(name, KEYS)}", "")
    return key


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "; `clew config` lists them all"


def _line(text: str, table: str | None, name: str) -> int:
    """Return the line on which a key is set: TOML's reader does not tell."""
    start = text.find(f"[{table}]") if table else 0
    found = re.compile(rf"""^[ \t]*["']?{re.escape(name)}["']?[ \t]*[=.]""", re.M).search(text, max(0, start))
    return text.count("\n", 0, found.start() if found else start) + 1
