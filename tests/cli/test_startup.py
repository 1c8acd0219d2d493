"""Help is fast: the arguments of a command are declared without importing what the command works with."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clew.cli import arguments
from clew.cli.arguments import apps, memory, sessions
from clew.cli.commands import COMMANDS
from clew.hosts.install import HOSTS
from clew.memory.documents.split import REFERENCE, topics
from clew.memory.index import EntryKind
from clew.memory.notes.note import Category, NoteScope, Priority
from clew.message import Trust
from clew.providers import WIRES, Unverified

LEAN = {"clew", "clew.errors", "clew.cli.commands", "clew.cli.terminal", "clew.cli.text"}
"""What the help of a command may import of clew."""


def test_help_imports_no_package_of_clew_but_the_command_line():
    code = (
        "import sys, contextlib, io\n"
        "from clew.cli import main\n"
        f"for name in {[*COMMANDS]}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main([name, '--help'])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.split(".")[0] in ("clew", "clew_evals", "rich")}
    allowed = {name for name in loaded if name == "clew.cli" or name.startswith("clew.cli.arguments")}
    assert loaded - allowed == LEAN


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_every_command_names_a_function_that_exists(command):
    assert callable(command.load())


def test_names_that_are_repeated_for_help_are_those_of_their_packages():
    assert sorted(WIRES) == [*arguments.WIRES]
    assert [choice.value for choice in Unverified] == [*sessions.UNVERIFIED]
    assert [*HOSTS] == [*apps.AGENTS]
    assert [str(kind) for kind in EntryKind] == [*memory.ENTRY_KINDS]
    assert [trust.label for trust in Trust] == [*memory.TRUST_LABELS]
    assert [*(topic.name for topic in topics()), REFERENCE] == [*memory.TOPICS]
    assert [category.value for category in Category] == [*memory.CATEGORIES]
    assert [scope.value for scope in NoteScope] == [*memory.SCOPES]
    assert [one.name.lower() for one in Priority] == [*memory.PRIORITIES]
