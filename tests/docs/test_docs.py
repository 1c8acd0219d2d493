"""What the documentation shows is what happens."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import docs  # noqa: E402 - the script is not a package


@pytest.mark.parametrize("page", docs.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_blocks_of_a_page_run_and_print_what_it_says(page: Path):
    assert docs.check(page) == []


def test_a_block_that_prints_something_else_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert [(s.expected, s.printed) for s in docs.check(page)] == [("3\n", "2\n")]


def test_writing_puts_the_real_output_into_the_page(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ echo three\nthree\n```\n")
    docs.check(page, write=True)
    assert page.read_text() == "```console\n$ echo one\none\n$ echo three\nthree\n```\n"
    assert docs.check(page) == []
