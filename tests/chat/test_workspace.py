"""The workspace tools: inside the root all that is promised, outside nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.chat import paths
from clew.chat.paths import resolve_inside, write_text
from clew.chat.workspace import (
    MOST_LINES,
    MOST_SEARCHED,
    MOST_SEARCHED_BYTES,
    MOST_SHOWN,
    MOST_WRITTEN,
    workspace_tools,
)
from clew.errors import InputError
from clew.memory.tools.tool import ToolAnswer
from clew.secrets import mask
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
    return new_chat(root=root).toolset.run(tool, given)


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
        assert resolve_inside(root, path).is_relative_to(root.resolve())


def test_a_search_finds_lines_and_follows_no_link(root: Path):
    assert run(root, "search_files", text="TWO").text == "src/a.py:2: two"
    assert run(root, "search_files", text="outside").text == "no file contains 'outside'"


@contextmanager
def as_nobody() -> Iterator[Path]:
    """Give a folder of a user without special rights, and run as that user: root may read everything."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        try:
            if is_root:
                os.chown(folder, 65534, 65534)
                os.seteuid(65534)
            yield Path(folder)
        finally:
            if is_root:
                os.seteuid(0)


def search(root: Path, text: str) -> ToolAnswer:
    (tool,) = (tool for tool in workspace_tools(root) if tool.name == "search_files")
    return tool.does(None, {"text": text, "path": None})


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_search_goes_on_after_what_cannot_be_read_and_says_so():
    with as_nobody() as folder:
        (folder / "a.txt").write_text("no access")
        (folder / "a.txt").chmod(0)
        for name, mode in (("b", 0), ("c", 0o400)):
            (folder / name).mkdir()
            (folder / name / "x.txt").write_text("no access")
            (folder / name).chmod(mode)
        (folder / "d.txt").write_text("the text")
        try:
            assert search(folder, "the text").text == (
                "d.txt:1: the text\n(3 files or folders could not be read)"
            )
            told = search(folder, "no access").text
            assert told == "no searched text contains 'no access'; 3 files or folders could not be read"
        finally:
            for name in ("b", "c"):
                (folder / name).chmod(0o700)


def test_a_search_that_did_not_see_everything_does_not_deny_anything(root: Path):
    (root / "large.txt").write_text("x\n" * (MOST_SEARCHED_BYTES // 2) + "needle")
    told = run(root, "search_files", text="needle").text
    assert told.endswith("contains 'needle'; only the first 1,000,000 bytes of 1 file were searched")
    (root / "large.txt").unlink()
    (root / "many").mkdir()
    for number in range(MOST_SEARCHED):
        (root / "many" / f"{number}.txt").touch()
    told = run(root, "search_files", text="two").text
    assert told == "no searched text contains 'two'; only the first 5,000 files were searched"


@pytest.mark.parametrize("before", ["x" * 5_000, "ß" * 5_000, " " * 300 + "x" * 100])
def test_a_hit_far_to_the_right_is_shown(root: Path, before: str):
    (root / "wide.txt").write_text(f"{before}Needle{'y' * 5_000}")
    told = run(root, "search_files", text="needle").text
    assert "Needle" in told
    assert len(told) < 300


def test_a_hard_link_to_a_file_outside_is_neither_read_nor_searched(root: Path):
    (root / "hard.txt").hardlink_to(root.parent / "secret.txt")
    told = run(root, "read_file", path="hard.txt")
    assert told.is_error
    assert "hard link" in told.text
    assert run(root, "search_files", text="outside").text == "no file contains 'outside'"
    write_text(root, "hard.txt", "mine")
    assert (root.parent / "secret.txt").read_text() == "outside"
    assert run(root, "read_file", path="hard.txt").text.endswith("mine")


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
    (root / "wide.txt").write_text("y" * (MOST_SEARCHED_BYTES + 10))
    assert run(root, "read_file", path="long.txt").text.endswith(
        f"[lines 1-{MOST_LINES} of {MOST_LINES + 100}]"
    )
    shown, _, told = run(root, "read_file", path="wide.txt").text.partition("\n")
    assert (len(shown), told) == (MOST_SHOWN, "[lines 1-1 of 1; line 1 has 988,010 bytes more]")
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


# What is left out, and what is never lost ------------------------------------------------------------


def test_lines_far_behind_are_within_reach(root: Path):
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 200_001)))
    told = run(root, "read_file", path="long.txt", start_line=199_999).text
    assert told == "line 199999\nline 200000\n[lines 199999-200000 of 200000]"
    assert run(root, "read_file", path="long.txt", start_line=200_001).text.endswith("it has 200,000")


def test_an_empty_file_has_no_second_line(root: Path):
    (root / "empty.txt").write_text("")
    assert run(root, "read_file", path="empty.txt").text == "(the file is empty)"
    assert run(root, "read_file", path="empty.txt", start_line=2).text.endswith("it has 0")


def test_a_file_with_one_blank_line_is_not_called_empty(root: Path):
    (root / "blank.txt").write_text("\n")
    assert run(root, "read_file", path="blank.txt").text == "\n[lines 1-1 of 1]"


def test_a_line_that_does_not_fit_is_told_and_stands_first_in_the_next_excerpt(root: Path):
    (root / "t.txt").write_text("head\n" + "y" * (MOST_SHOWN + 5))
    assert run(root, "read_file", path="t.txt").text == "head\n[lines 1-1 of 2]"
    assert run(root, "read_file", path="t.txt", start_line=2).text.endswith(
        "[lines 2-2 of 2; line 2 has 5 characters more]"
    )


def test_a_tool_that_breaks_is_an_answer(root: Path):
    told = run(root, "write_file", path="x.txt", text="bad \ud800 half")
    assert (told.is_error, "UnicodeEncodeError" in told.text) == (True, True)
    assert not (root / "x.txt").exists()


KEY = "ghp_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2b4C"


def test_a_secret_that_the_model_saw_masked_is_not_lost_when_it_writes_the_file(root: Path):
    (root / "prod.env").write_text(f"DEBUG=1\nGITHUB_TOKEN={KEY}\n")
    seen = mask(f"DEBUG=1\nGITHUB_TOKEN={KEY}\n").text
    told = run(root, "write_file", path="prod.env", text=seen.replace("DEBUG=1", "DEBUG=0"))
    assert (root / "prod.env").read_text() == f"DEBUG=0\nGITHUB_TOKEN={KEY}\n"
    assert not told.is_error
    assert KEY not in told.text


@pytest.mark.parametrize("path", ["new.env", "src/a.py"])
def test_a_mask_that_stands_for_nothing_in_the_file_is_refused(root: Path, path: str):
    told = run(root, "write_file", path=path, text=mask(f"GITHUB_TOKEN={KEY}").text)
    assert (told.is_error, "does not match exactly one secret" in told.text) == (True, True)
    assert not (root / "new.env").exists()
    assert (root / "src" / "a.py").read_text() == "one\ntwo\nthree\n"


def test_a_link_that_is_put_in_the_way_leads_nowhere(root: Path, monkeypatch: pytest.MonkeyPatch):
    def swapped(base: Path, path: str) -> Path:  # between the look at a path and its use
        place = resolve_inside(base, path)
        (root / "src").rename(root / "moved")
        (root / "src").symlink_to(root.parent)
        return place

    (root / "src" / "secret.txt").write_text("inside")
    monkeypatch.setattr(paths, "resolve_inside", swapped)
    with pytest.raises(OSError, match=r"directory|links"):
        paths.read_bytes(root, "src/secret.txt", 100)
    (root / "src").unlink()
    (root / "moved").rename(root / "src")
    with pytest.raises(OSError, match=r"directory|links"):
        paths.write_text(root, "src/secret.txt", "x")
    assert (root.parent / "secret.txt").read_text() == "outside"
