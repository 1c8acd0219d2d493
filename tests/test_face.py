"""The public face: what can be had from ``import clew``, and what importing it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import clew
from clew import errors

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "clew"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", clew.__all__)
def test_every_public_name_is_there(name: str):
    assert getattr(clew, name) is not None


def test_the_type_checker_sees_the_names_that_are_there():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen | {"__version__"} == set(clew.__all__)


def test_importing_clew_imports_no_room_no_package_and_opens_nothing():
    loaded = run(
        "import sys; before = set(sys.modules); import clew; "
        "new = set(sys.modules) - before; "
        "print(sorted(m for m in new if m.split('.')[0] not in sys.stdlib_module_names))"
    )
    assert loaded.strip() == "['clew']"


def test_using_every_room_needs_neither_rich_nor_a_tokenizer_nor_the_network():
    loaded = run(
        "import sys, clew; [getattr(clew, n) for n in clew.__all__]; "
        "heavy = ('rich', 'tiktoken', 'regex', 'requests', 'socket', 'zstandard'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_there_are_at_most_three_hard_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= 3


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        clew.nothing  # noqa: B018 - looking is the point


def tree(error: type[errors.ClewError]) -> list[type[errors.ClewError]]:
    return [error, *(found for child in error.__subclasses__() for found in tree(child))]


@pytest.mark.parametrize("error", tree(errors.ClewError), ids=lambda error: error.__name__)
def test_every_error_stands_in_the_drawn_tree_and_on_its_page(error: type[errors.ClewError]):
    assert error.__name__ in (errors.__doc__ or "")
    assert f"## {error.__name__}" in (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def test_an_error_says_what_happened_and_what_to_do_next():
    assert str(errors.StoreBusy("clew.db")) == (
        "clew.db: another process is writing; try again, or raise the busy timeout"
    )


@pytest.mark.parametrize("room", [path.parent.name for path in sorted(SOURCE.glob("*/__init__.py"))])
def test_every_room_has_a_short_readme(room: str):
    lines = (SOURCE / room / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {room}"
    assert len(lines) <= 60
