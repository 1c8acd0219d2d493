"""Errors say what happened and what to do next, in whatever process they are read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from clew import errors
from clew.errors import ClewError, PinsDoNotFit

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ClewError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_in_another_process(kind: type[ClewError]):
    try:
        error = kind("it broke")
    except TypeError:
        pytest.skip(f"{kind.__name__} is made in its own way")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


def test_advice_of_ones_own_is_said_once():
    error = pickle.loads(pickle.dumps(PinsDoNotFit("too much", "ask for more")))
    assert str(error) == "too much: ask for more"
    assert error.detail == "too much"


@pytest.mark.parametrize(
    ("origin", "installer", "is_tool", "command"),
    [
        (
            {"url": "file:///src/my%20clew", "dir_info": {}},
            "uv",
            True,
            "uv tool install --force '/src/my clew[exact]'",
        ),
        (
            {"url": "file:///src/clew", "dir_info": {"editable": True}},
            "uv",
            False,
            "uv pip install -e '/src/clew[exact]'",
        ),
        (None, "pip", False, "pip install 'clew[exact]'"),
        (
            {"url": "https://host/clew.git", "vcs_info": {"vcs": "git"}},
            "pip",
            False,
            "pip install 'clew[exact] @ git+https://host/clew.git'",
        ),
    ],
)
def test_a_missing_extra_names_the_command_of_this_installation(
    origin: object,
    installer: str,
    is_tool: bool,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    files = {"INSTALLER": f"{installer}\n", "direct_url.json": json.dumps(origin) if origin else None}
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: SimpleNamespace(read_text=files.get))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    if is_tool:
        (tmp_path / "uv-receipt.toml").touch()
    assert (
        str(errors.MissingExtra("it needs clew[exact]"))
        == f"it needs clew[exact]: install it with `{command}`"
    )
