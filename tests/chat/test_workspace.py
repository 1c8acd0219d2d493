"""The workspace tools: inside the root all that is promised, outside nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.chat.places import inside, write_text
from clew.chat.workspace import MOST_BYTES, MOST_LINES, MOST_SHOWN, MOST_WRITTEN
from clew.errors import InputError
from clew.memory.tools import ToolAnswer
from tests.chat.talk import new_chat


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("outside")
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (root / "way_out").symlink_to(tmp_path)
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


def run(root: Path, tool: str, **given: object) -> ToolAnswer:
    return new_chat(root=root).kit.run(tool, given)


def test_a_file_is_read_whole_or_by_lines(root: Path):
    assert run(root, "read_file", path="src/a.py").text == "one\ntwo\nthree"
    assert run(root, "read_file", path="src/a.py", start_line=2, lines=1).text == "two\n[lines 2-2 of 3]"


@pytest.mark.parametrize(
    "path", ["../secret.txt", "way_out/secret.txt", "link.txt", "src/../../secret.txt", "~/x"]
)
def test_no_path_leads_out(root: Path, path: str):
    read, wrote = run(root, "read_file", path=path), run(root, "write_file", path=path, text="x")
    assert (read.is_error, "outside" in read.text) == (True, False)
    assert wrote.is_error or path == "~/x"  # which is a folder called ~, below the root
    assert (root.parent / "secret.txt").read_text() == "outside"


def test_an_absolute_path_outside_is_refused_and_one_inside_is_not(root: Path):
    assert run(root, "read_file", path=str(root.parent / "secret.txt")).is_error
    assert run(root, "read_file", path=str(root / "src" / "a.py")).text == "one\ntwo\nthree"


@given(path=st.text(alphabet="./ab~\\\0way_out", max_size=24))
def test_whatever_a_path_is_it_stays_inside_or_is_refused(path: str, tmp_path_factory):
    root = tmp_path_factory.getbasetemp() / "law"
    root.mkdir(exist_ok=True)
    with suppress(InputError):
        assert inside(root, path).is_relative_to(root.resolve())


def test_a_search_finds_lines_and_follows_no_link(root: Path):
    assert run(root, "search_files", text="TWO").text == "src/a.py:2: two"
    assert run(root, "search_files", text="outside").text == "no file has 'outside'"


def test_a_listing_names_what_is_there(root: Path):
    assert run(root, "list_files").text.splitlines() == [
        "./",
        "  link.txt (a link)",
        "  src/",
        "  way_out (a link)",
    ]


def test_what_is_large_is_cut(root: Path):
    (root / "big.txt").write_text("x" * 99 + "\n" * 1)
    (root / "long.txt").write_text("line\n" * (MOST_LINES + 100))
    (root / "wide.txt").write_text("y" * (MOST_BYTES + 10))
    assert run(root, "read_file", path="long.txt").text.endswith(
        f"[lines 1-{MOST_LINES} of {MOST_LINES + 100}]"
    )
    assert len(run(root, "read_file", path="wide.txt").text) == MOST_SHOWN
    assert run(root, "write_file", path="x.txt", text="z" * (MOST_WRITTEN + 1)).is_error


def test_what_is_not_text_is_refused(root: Path):
    (root / "image.png").write_bytes(b"\x89PNG\0\0")
    assert run(root, "read_file", path="image.png").text.startswith("'image.png' is not text")


def test_writing_is_all_or_nothing_and_leaves_no_draft(root: Path):
    assert not write_text(root, "deep/er/b.txt", "hello")
    assert write_text(root, "deep/er/b.txt", "again")
    assert [path.name for path in (root / "deep" / "er").iterdir()] == ["b.txt"]
    assert (root / "deep" / "er" / "b.txt").read_text() == "again"


def test_a_folder_is_not_written_over(root: Path):
    assert run(root, "write_file", path="src", text="x").is_error


def test_what_a_file_says_is_not_trusted(root: Path):
    assert run(root, "read_file", path="src/a.py").trust.label == "untrusted"
