"""The counter of unplain words reads prose only, and fails a tree that is over its limit."""

from pathlib import Path

from scripts import plain_words
from scripts.plain_words import Count


def test_docstrings_and_comments_are_counted_and_code_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('"""Tell whoever asks."""\n\ntold = "nobody"  # somebody reads this\n', encoding="utf-8")
    assert plain_words.count(file) == Count(words=6, markers=3)


def test_code_in_a_page_is_not_counted(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("This stands here, where `told` is code.\n\n```text\nnobody\n```\n", encoding="utf-8")
    assert plain_words.count(page) == Count(words=6, markers=2)


def test_a_tree_over_its_limit_fails_and_one_under_it_passes(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Nobody " + "word " * 99, encoding="utf-8")
    assert plain_words.check({"docs": 10}, tmp_path) == []
    failed = plain_words.check({"docs": 9.9}, tmp_path)
    assert failed == ["docs: 10.00 markers per 1,000 words, the limit is 9.9"]
