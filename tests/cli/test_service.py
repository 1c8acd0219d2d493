"""``clew serve --store``: the tokens of the workspaces, and deletions that go on after a failure."""

import io
import json
import threading

import pytest

from clew.cli import service
from clew.cli.service import _retention, _tokens
from clew.cli.terminal import Terminal
from clew.errors import InputError

NORTH, SOUTH = "n" * 20, "s" * 20


def terminal():
    return Terminal(io.StringIO(), io.StringIO())


def test_each_token_of_a_file_belongs_to_its_workspace(tmp_path):
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"north": NORTH, "south": SOUTH}))
    assert _tokens(file, terminal()) == {NORTH: "north", SOUTH: "south"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"north": NORTH, "south": NORTH}, "the workspaces north and south have the same token"),
        ({"north": [NORTH, SOUTH]}, "the token of the workspace north in .* is not a string"),
        ({"north": "short"}, "too short"),
        ([NORTH], "is not a JSON object"),
        ({}, "missing"),
    ],
)
def test_tokens_that_do_not_tell_workspaces_apart_are_refused(given, message, tmp_path):
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps(given))
    with pytest.raises(InputError, match=message) as raised:
        _tokens(file, terminal())
    assert NORTH not in str(raised.value)


@pytest.mark.parametrize("given", ["", None])
def test_a_token_that_is_made_for_this_run_is_printed(given, monkeypatch):
    if given is None:
        monkeypatch.delenv("CLEW_TOKEN", raising=False)
    else:
        monkeypatch.setenv("CLEW_TOKEN", given)
    term = terminal()
    (token,) = _tokens(None, term)
    assert token in term.err.getvalue()


def test_old_sessions_are_looked_for_again_after_any_error(monkeypatch):
    monkeypatch.setattr(service, "RETENTION_S", 0.001)
    tried, again, notes = [], threading.Event(), []

    def retire():
        tried.append(1)
        if len(tried) > 1:
            again.set()
        raise OSError("the disk is full")

    with _retention(retire, notes.append):
        assert again.wait(20)
    assert "the disk is full" in notes[0]
