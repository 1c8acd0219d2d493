"""Putting settings together: the stronger place wins, and every value knows where it came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from clew.errors import InputError
from clew.settings.paths import clew_home, store_path
from clew.settings.readers import paths
from clew.settings.sources import Given, in_environment, in_flags, in_home, in_project, misspelt
from clew.settings.values import Settings

DEFAULT = "default"
"""The origin of what nobody set."""


WHO_ANSWERS = frozenset({"model", "summariser", "base_url", "offline"})
"""Settings by which a person has said who may read their words."""


@dataclass(frozen=True, slots=True)
class Configured:
    """What holds, and where each of it was set."""

    settings: Settings
    origins: Mapping[str, str]
    """By the name of the setting: ``default``, ``clew.toml:3``, ``CLEW_WINDOW``, ``--window``."""
    warnings: tuple[str, ...] = ()


def configured(
    flags: Mapping[str, object] = MappingProxyType({}),
    env: Mapping[str, str] = os.environ,
    start: Path | None = None,
) -> Configured:
    """Return what holds in a folder (the current one).

    From weak to strong: ``clew.toml`` in clew's home, the project's ``clew.toml``, ``[tool.clew]`` of its
    ``pyproject.toml``, variables ``CLEW_…``, flags. What makes no sense is an ``InputError`` that names the
    place, never ignored. Which model is asked is the person's where they chose: then what a project that is
    not trusted says of it is ignored, and a warning says so.
    """
    home = clew_home(env)
    own, said = in_home(home), [*in_environment(env), *in_flags(flags)]
    chose = any(one.key.name in WHO_ANSWERS for one in own)
    given = [*own, *in_project(start or Path.cwd(), _trusted([*own, *said]), chose), *said]
    origins: dict[str, str] = {}
    values: dict[str, object] = {}
    warnings = misspelt(env)
    for one in given:
        value = _read(one)
        if one.ignored:
            warnings.append(f"{one.origin}: {one.key.name} is ignored: {one.ignored}")
            continue
        values[one.key.name] = value
        origins[one.key.name] = one.origin
    settings = replace(Settings(), **{"home": home, "store": store_path(env), **values})  # type: ignore[arg-type]  # the readers give each field its type
    _check_together(settings, origins)
    return Configured(settings, origins, tuple(warnings))


def _trusted(given: Iterable[Given]) -> tuple[Path, ...]:
    """Return the folders that the person trusts, by their strongest word."""
    roots = [paths(one.value) for one in given if one.key.name == "trust_roots"]
    return roots[-1] if roots else ()


def _read(given: Given) -> object:
    try:
        return given.key.read(given.value)
    except ValueError as cause:
        raise InputError(f"{given.origin}: {given.key.name} is {given.value!r} and {cause}", "") from None


def _check_together(settings: Settings, origins: Mapping[str, str]) -> None:
    """Refuse values that make sense alone and none together."""
    high, low = settings.compact_at, settings.down_to
    if high is not None and low is not None and low >= high:
        where = " and ".join(origins[name] for name in ("compact_at", "down_to"))
        raise InputError(
            f"{where}: compacting at {high:.0%} down to {low:.0%} frees nothing", "lower down_to"
        )
