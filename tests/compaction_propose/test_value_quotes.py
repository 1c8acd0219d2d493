from dataclasses import replace

import pytest

from clew.compaction.propose.scene import Scene
from clew.compaction.propose.value_quotes import LONGEST, quoted, value_quotes
from clew.message import Cite, Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from tests.compaction_propose.sessions import Living, spoken, step


def output(text: str) -> Message:
    return Message(Role.TOOL, (ToolResult("c1", (Text(text),), trust=Trust.UNTRUSTED),))


def quote(message: Message, value: str) -> str:
    claim = quoted(message, Cite("m1"), value)
    assert claim is not None
    assert claim.text == claim.sources[0].quote(message)
    return claim.text


def test_the_number_that_a_tool_put_before_a_line_is_left_out():
    assert quote(output("  85→def load_config(path):"), "load_config") == "def load_config(path):"


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


def test_of_what_the_model_says_no_half_sentence_stands_beside_a_whole_one():
    line = f"{'It was long. ' * 9}I moved load_config there. Now it reads the file once. {'And so on ' * 9}"
    whole = f"{'It was long. ' * 4}I moved load_config there. Now it reads the file once."
    assert quote(text_message(Role.ASSISTANT, line), "load_config") == whole
    assert quote(output(line), "load_config").startswith(f"long. {whole} And so")


def test_a_sentence_longer_than_a_quote_is_cut_between_words():
    line = f"{'before ' * 60}load_config {'after ' * 60}"
    assert quote(text_message(Role.ASSISTANT, line), "load_config") == quote(output(line), "load_config")


def test_what_a_person_said_is_never_cut():
    line = f"Never {'ever ' * 80}touch load_config."
    assert quote(text_message(Role.USER, line), "load_config") == line


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
        "cert_text = " + "QUJD" * 35,
        "cp path/to/my_file.py .",
    ],
)
def test_noise_is_not_quoted_from_tools(line: str):
    assert quoted(output(line), Cite("m1"), line.split(maxsplit=1)[0]) is None
    assert quote(text_message(Role.USER, line), line.split(maxsplit=1)[0]) == line.strip()


def test_a_line_without_spaces_is_not_cut_inside_a_number():
    line = f"{'1234.5678,' * 30}load_config{',8765.4321' * 30}"
    numbers = quote(output(f"x {line} y"), "load_config").split(",")
    assert {number for number in numbers if "load" not in number} <= {"1234.5678", "8765.4321"}


def test_an_argument_is_quoted_with_its_name():
    call = Message(Role.ASSISTANT, (ToolCall("c1", "run", '{"cmd": "make load_config", "dir": "."}'),))
    at = '{"cmd": "make load_config", "dir": "."}'.index("make")
    claim = quoted(call, Cite("m1", 0, at, at + len("make load_config")), "load_config")
    assert claim is not None
    assert claim.text == '"cmd": "make load_config"'


def test_a_place_that_a_smaller_form_does_not_have_is_not_quoted():
    stub = text_message(Role.USER, "[about 244 tokens, kept as m5]")
    assert quoted(stub, Cite("m5", 0, 0, 500), "src/a.py") is None
    assert quoted(stub, Cite("m5", 0, 0, 12), "src/a.py") is None


# Choosing values -------------------------------------------------------------------------------------


def chosen(messages: list[Message], most: int = 20, focus: str | None = None) -> list[str]:
    living = Living(messages)
    scene = Scene(replace(living.situation(1_000), focus=focus))
    gone = {item.id for item in living.view[:-1]}
    return [one.value for one in value_quotes(scene, gone, most)]


TALK = [
    text_message(Role.USER, "Please look at load_config first."),
    *step("c1", "run", {"cmd": "make all"}, "wrote cache_dir_1\nwrote cache_dir_2"),
    spoken("It calls read_table as well."),
    spoken("Done."),
]


def test_values_that_people_and_the_model_named_come_before_those_of_tools():
    values = chosen(TALK)
    assert values[0] == "load_config"
    assert values.index("read_table") < values.index("cache_dir_1")


def test_values_in_focus_come_first():
    assert chosen(TALK, 1, "the cache") in (["cache_dir_1"], ["cache_dir_2"])


def test_a_value_is_not_quoted_by_a_line_that_an_edit_replaced():
    edit = {"path": "a.py", "old_string": "retry_limit = 5", "new_string": "retry_limit = 7"}
    messages = [
        text_message(Role.USER, "Go on."),
        *step("c1", "read", {"path": "a.py"}, "retry_limit = 5"),
        *step("c2", "edit", edit, "ok"),
        spoken("Done."),
    ]
    living = Living(messages)
    gone = {item.id for item in living.view[:-1]}
    found = [one.claim.text for one in value_quotes(Scene(living.situation(1_000)), gone, 20)]
    assert not any("= 5" in text for text in found)
