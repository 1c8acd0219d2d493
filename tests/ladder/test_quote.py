import pytest

from clew.ladder.quote import LONGEST, quoted
from clew.message import Cite, Message, Role, Text, ToolResult, Trust, said


def output(text: str) -> Message:
    return Message(Role.TOOL, (ToolResult("c1", (Text(text),), trust=Trust.UNTRUSTED),))


def quote(message: Message, value: str, root: str = "") -> str:
    claim = quoted(message, Cite("m1"), value, root)
    assert claim is not None
    assert claim.text == claim.sources[0].quote(message)
    return claim.text


def test_the_number_that_a_tool_put_before_a_line_is_left_out():
    assert quote(output("  85→def load_config(path):"), "load_config") == "def load_config(path):"


def test_the_folder_where_the_session_works_is_left_out():
    line = "/home/me/app/src/a.py holds load_config"
    assert quote(output(line), "load_config", "/home/me/app/") == "src/a.py holds load_config"


def test_where_a_search_found_a_line_is_left_out_unless_it_is_what_matters():
    line = "src/app/a.py:12: def load_config"
    assert quote(output(line), "load_config") == "def load_config"
    assert quote(output(line), "src/app/a.py") == line
    assert quote(output("src/app/a.py-13-    return load_config()"), "load_config") == "return load_config()"


def test_a_long_line_is_cut_around_the_value_between_words():
    line = f"{'before ' * 60}load_config {'after ' * 60}"
    text = quote(output(line), "load_config")
    assert len(text) <= LONGEST
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert "load_config" in text


def test_what_a_person_said_is_never_cut():
    line = f"Never {'ever ' * 80}touch load_config."
    assert quote(said(Role.USER, line), "load_config") == line


def test_where_there_are_no_words_there_is_no_quote():
    assert quoted(output("   "), Cite("m1"), "x") is None
    assert quoted(output("words"), Cite("m1", 3), "x") is None
    assert quoted(None, Cite("m1"), "x") is None


@pytest.mark.parametrize("cue", ["do not", "never", "don't", "must not ever", "bitte nicht"])
def test_a_cut_quote_does_not_begin_right_after_a_negation(cue: str):
    for width in range(60, 100):  # wherever the cut falls
        line = f"{'a' * 200} {cue} delete {'y' * width} load_config {'b ' * 200}"
        assert not quote(output(line), "load_config").startswith(("delete", "ever"))


@pytest.mark.parametrize(
    "line",
    [
        "  </li></ul></app-main_menu>",
        '<path id="icon_main" d="M12.5 3.1l4 4"/>',
        "url(data:image/png;base64,iVBORw0KGgo)",
        "cert_text = " + "QUJD" * 50,
        "cp path/to/my_file.py .",
    ],
)
def test_noise_is_not_quoted_from_tools(line: str):
    assert quoted(output(line), Cite("m1"), line.split(maxsplit=1)[0]) is None
    assert quote(said(Role.USER, line), line.split(maxsplit=1)[0]) == line.strip()
