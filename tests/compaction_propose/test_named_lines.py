"""Lines that a plan, a request or a linter names are found, and excerpts show them first."""

from __future__ import annotations

import clew
from clew.compaction.propose.named_lines import NamedLines
from clew.compaction.propose.wanted_lines import wanted_spans
from clew.message import Role, text_message
from tests.compaction_propose.sessions import step

CODE = "\n".join(f"def part_{n}(day):\n    first = load(day, {n})\n    return first\n" for n in range(300))


def numbered(text: str) -> str:
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(text.split("\n"), start=1))


def test_lines_are_named_in_the_forms_of_people_and_of_tools():
    for text, lines in (
        ("`rate` (src/rates.py:40-75)", (40, 75)),
        ("see src/rates.py#L40-L75", (40, 75)),
        ("**File:** `src/rates.py` (lines 40 to 75)", (40, 75)),
        ("**File:** `rates.py`\n\nAdd a field (after line 40)", (40, 40)),
        ('File "/app/src/rates.py", line 40, in rate', (40, 40)),
        ("/app/src/rates.py\n  40:5  error  no such name", (40, 40)),
        ("src/rates.py(40,5): error TS1005", (40, 40)),
    ):
        assert NamedLines(text).of_file("src/rates.py") == [lines]
    assert NamedLines("time.Time at line 40 of other/rates.py:7").of_file("src/rates.py") == []


def test_a_definition_that_is_named_is_shown_to_its_end():
    text = numbered(CODE)
    ((start, end),) = wanted_spans(text, [], {"part_200"})
    assert text[start:end].split("\n")[0].endswith("def part_200(day):")
    assert text[start:end].split("\n")[-1].endswith("return first")


def test_an_excerpt_shows_the_lines_that_the_request_names():
    others = [message for n in range(6) for message in step(f"o{n}", "Read", {"file_path": f"o{n}.py"}, CODE)]
    messages = [
        text_message(Role.USER, "Change shop/rates.py:601-640 as agreed."),
        *step("r", "Read", {"file_path": "shop/rates.py"}, numbered(CODE)),
        *others,
    ]
    made = clew.compact(messages, window=100_000, target_tokens=8_000)
    shown = "\n".join(result.text for message in made.messages for result in message.results)
    assert all(f"{n:6}\t" in shown for n in range(601, 641))
