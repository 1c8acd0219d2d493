"""The folder in which the agent works."""

from __future__ import annotations

import pytest

from clew.message import Origin, Trust
from tests.ledger.sessions import assistant, did, ledger_of, user


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Today is Monday, and the current working directory is '~/app'.", "~/app"),
        ("<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>", "/srv/app"),
        ("Working directory: C:\\work\\app", "C:\\work\\app"),
        ("Working directory layout (sorted by name):\n.", ""),
        (" - Primary working directory: /srv/app", "/srv/app"),
        ("Log `[Job] Working directory: /path (clone|local)` first.", ""),
        ("Print: [Job] Working directory: /path", ""),
    ],
)
def test_the_folder_is_what_the_harness_says(text: str, path: str):
    told = user(text, origin=Origin.INJECTED)
    (part,) = told.parts
    assert part.trust < Trust.USER
    folder = ledger_of(told).folder
    assert folder.path == path
    if folder.source is not None:
        assert text[folder.source.start : folder.source.end] == path


def test_what_others_say_of_a_folder_does_not_count_and_the_last_one_holds():
    words = "The working directory is '/other'."
    told = [user(f"The working directory is '/r{n}'.", origin=Origin.INJECTED) for n in range(3)]
    assert (
        ledger_of(*told, user(words), assistant(words), *did("Read", {"path": "a"}, words)).folder.path
        == "/r2"
    )
