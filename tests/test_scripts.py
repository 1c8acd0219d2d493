"""Benchmarks and scripts are run by hand: what they import of clew must still be there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path for folder in ("bench", "scripts", "examples") for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each ``from clew… import …`` of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("clew", "clew_evals"):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_that_is_imported_exists(path: Path):
    for module, name in imported(path):
        if module.startswith("clew.integrations"):  # needs a framework that may not be installed
            assert find_spec(module), module
        elif not hasattr(import_module(module), name):
            assert find_spec(f"{module}.{name}"), f"{module} has no {name}"
