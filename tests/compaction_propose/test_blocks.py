"""A text is divided into nested blocks by its indentation, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.propose.block_choice import BlockChoice
from clew.compaction.propose.blocks import Blocks
from clew.compaction.propose.excerpt import ExcerptSource
from clew.compaction.propose.lines import lines_of

TYPESCRIPT = """\
import a from 'a';

/**
 * Reads one rate.
 */
@cached({
  seconds: 1,
})
export async function rate(
  day: string
): Promise<number> {
  const all = load();
  if (all) {
    return all[day];
  } else {
    warn();
  }
  return 0;
}
"""
PYTHON = """\
# Adds up.
@cached
def total(rows,
          rates):
    try:
        return add(rows)
    except ValueError:
        return 0

def rate():
    return 1
"""
DOCUMENT = """\
# Plan

Words.

## Rates

- read them
  - from disk

```py
# no heading
def rate(): ...
```

## Checks
"""


def _blocks(text: str, line: str) -> list[str]:
    blocks = Blocks(text)
    number = text.split("\n").index(line)
    return [
        "\n".join(text.split("\n")[blocks.all[one].start : blocks.all[one].end])
        for one in blocks.around(number)
    ]


@pytest.mark.parametrize(
    ("text", "line"), [(TYPESCRIPT, "    return all[day];"), (PYTHON, "        return add(rows)")]
)
@pytest.mark.parametrize("number", ["", "{:>4}→", "{}: ", "{}. "])
def test_a_function_begins_with_its_comment_and_ends_with_what_closes_it(text: str, line: str, number: str):
    lines = text.split("\n")
    numbered = [f"{number.format(n)}{one}" for n, one in enumerate(lines, start=1)]
    *_, function = _blocks("\n".join(numbered), numbered[lines.index(line)])
    first, last = (2, 19) if text is TYPESCRIPT else (0, 8)
    assert function == "\n".join(numbered[first:last])


def test_the_branches_of_a_statement_are_one_block():
    own, statement, _function = _blocks(TYPESCRIPT, "    warn();")
    assert own == "    warn();"
    assert statement == "  if (all) {\n    return all[day];\n  } else {\n    warn();\n  }"


def test_the_signature_has_all_arguments_and_the_comment():
    for text, line, signature in (
        (TYPESCRIPT, "    warn();", range(2, 11)),
        (PYTHON, "        return 0", range(4)),
    ):
        blocks = Blocks(text)
        *_, function = blocks.around(text.split("\n").index(line))
        assert blocks.signature(function) == signature


def test_a_merge_conflict_does_not_end_a_function():
    text = "def f():\n    a\n<<<<<<< ours\n    b\n=======\n    c\n>>>>>>> theirs\n    d"
    assert _blocks(text, "    d")[-1] == text


def test_a_section_holds_what_is_below_its_heading_and_a_code_example_is_one_block():
    headings = [line for line in lines_of(DOCUMENT) if DOCUMENT.startswith("#", line[0])]
    blocks = Blocks(DOCUMENT, headings)
    assert blocks.is_document
    numbers = list(blocks.around(DOCUMENT.split("\n").index("def rate(): ...")))
    found = [DOCUMENT.split("\n")[blocks.all[number].head] for number in numbers]
    assert found == ["def rate(): ...", "```py", "## Rates", "# Plan"]
    assert [blocks.defines[number] for number in numbers] == [False, False, True, True]


def test_a_comment_in_a_code_example_is_no_heading():
    text = f"{DOCUMENT}\nWords.\n"
    assert ExcerptSource(text).outline(80) == "Plan, Rates, Checks"


def test_in_source_files_lines_that_look_like_headings_are_comments():
    text = "## Helpers\n" + "\n".join(f"def step_{n}():\n    pass" for n in range(9))
    assert not Blocks(text, list(lines_of(text))).is_document


_LINES = st.lists(
    st.sampled_from(["", "a", "  b", "    c", "}", "  }", "# d", "## e", "```", "\tf", "1: g"]), max_size=30
)


@given(_LINES)
def test_blocks_are_nested_and_every_line_is_in_one(lines: list[str]):
    blocks = Blocks("\n".join(lines))
    for number, block in enumerate(blocks.all):
        assert block.start <= block.head < block.end <= len(lines)
        assert block.parent < number
        if block.parent >= 0:
            around = blocks.all[block.parent]
            assert around.start <= block.start
            assert block.end <= around.end
    for at, line in enumerate(lines):
        if line:
            innermost = blocks.all[blocks.of_line[at]]
            assert innermost.start <= at < innermost.end


@given(_LINES, st.integers(0, 300), st.lists(st.integers(0, 29), max_size=4))
def test_what_is_chosen_fits(lines: list[str], room: int, wanted: list[int]):
    text = "\n".join(lines)
    choice = BlockChoice(Blocks(text, list(lines_of(text))), room, 400)
    choice.show(line for line in wanted if line < len(lines))
    assert sum(len(lines[line]) + 1 for line in choice.shown if lines) <= room


def test_if_no_whole_block_fits_the_beginning_of_the_next_one_is_shown():
    body = "\n".join(f"    row_{n} = read(table, {n})" for n in range(90))
    blocks = Blocks(f"def load(table):\n{body}\n    return rows\n", [(0, len("def load(table):"))])
    choice = BlockChoice(blocks, 800, 200)
    choice.show([])
    assert 0 <= choice.left < 800 * 0.3
    assert choice.shown == set(range(len(choice.shown)))
