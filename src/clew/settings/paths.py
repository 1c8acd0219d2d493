"""Where clew keeps its files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from clew.errors import InputError


def clew_home(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the directory of clew's own data: ``CLEW_HOME``, else the platform's place for such things.

    Nothing is created; that is for whoever writes there.
    """
    if chosen := env.get("CLEW_HOME"):
        path = Path(chosen).expanduser()
        if not path.is_absolute():
            raise InputError(f"CLEW_HOME is {chosen!r}, which is not an absolute path")
        return path
    if platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "clew"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "clew"
    xdg = env.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".local" / "share") / "clew"


def store_path(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the file that holds the logs: ``CLEW_STORE``, else one in clew's home."""
    if chosen := env.get("CLEW_STORE"):
        return Path(chosen).expanduser()
    return clew_home(env, platform) / "clew.db"
