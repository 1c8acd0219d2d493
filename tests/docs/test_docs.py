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


def test_a_block_may_print_fences_if_its_own_is_longer(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("````console\n$ printf '```\\nx\\n```\\n'\n```\nx\n```\n````\n")
    assert docs.check(page) == []


@pytest.mark.parametrize("page", docs.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_is_closed_by_what_it_prints(page: Path):
    text = page.read_text(encoding="utf-8")
    for block in docs.FENCE.finditer(text):
        closing = [line.strip() for line in block["code"].splitlines() if line.strip("`") != line]
        assert [line for line in closing if set(line) == {"`"} and len(line) >= len(block["fence"])] == []


def test_writing_puts_the_real_output_into_the_page(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ echo three\nthree\n```\n")
    docs.check(page, write=True)
    assert page.read_text() == "```console\n$ echo one\none\n$ echo three\nthree\n```\n"
    assert docs.check(page) == []
