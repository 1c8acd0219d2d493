"""Words for terminals, and files that commands write."""

import pytest

from clew.cli.terminal import private_file
from clew.cli.text import columns, escaped, fit_name, one_line, printable

LONG = "/home/me/sessions/of/a/tool/that/likes/long/folders/2026-01-01-019d7372.jsonl"


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        (LONG, 30, "…ers/2026-01-01-019d7372.jsonl"),
        ("codex:019d7372-a0bb-72c0-847d", 20, "codex:019d7372-a0bb…"),
        ("a/b.json", 20, "a/b.json"),
        ("a/\x1b[31m.json", 30, "a/\\x1b[31m.json"),
    ],
)
def test_of_a_long_path_the_end_is_shown_and_of_a_long_name_the_beginning(name, width, shown):
    assert fit_name(name, width) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("修复解析器", 10, "修复解析器"),
        ("修复解析器", 9, "修复解析…"),
        ("修复解析器", 8, "修复解…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("fix the parser", 8, "fix the…"),
    ],
)
def test_a_line_is_cut_to_the_columns_that_it_takes(text: str, width: int, shown: str):
    assert one_line(text, width) == shown
    assert columns(one_line(text, width)) <= width


def test_a_file_is_written_beside_an_unfinished_one_and_only_its_owner_reads_it(tmp_path):
    other = tmp_path / "out.json.part"
    other.write_text("of another process")
    with private_file(tmp_path / "out.json") as file:
        file.write(b"done")
    assert (tmp_path / "out.json").read_bytes() == b"done"
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600
    assert other.read_text() == "of another process"
    with pytest.raises(RuntimeError), private_file(tmp_path / "new.json") as file:
        raise RuntimeError("in the middle")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.json.part"]


def test_clews_own_token_is_printed_whole():
    address = "http://127.0.0.1:8000/#token=_lgvfahBesA3TF9zAzrj-P3ZOZVUrp2xHD5BtzG9b9M/s/x"
    assert "[secret:" in printable(f"token={'aB3dE5gH7jK9' * 3}")
    assert escaped(f"{address}\x1b") == f"{address}\\x1b"
