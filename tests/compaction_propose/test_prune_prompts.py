"""Of a prompt that is given again with other arguments, only what differs is shown; other words stay."""

from __future__ import annotations

import pytest

import clew
from clew.compaction.plan import ClaimKind
from clew.compaction.propose.prune import prune_repeated
from clew.compaction.propose.prune_prompts import MOST_LINES, repeated_prompts
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.story import Story
from clew.message import Message, Role, text_message
from tests.compaction_propose.sessions import COUNTER, items, read, spoken, step

STEPS = [
    f"{n}. Do step {n} of the workflow, then write down in the notes what it changed." for n in range(20)
]
RULE = "Never modify files under legacy/."


def prompt(argument: str) -> str:
    lines = ("## User Input", "", "```text", argument, "```", "", "## Outline", "", *STEPS, RULE)
    return "\n".join(lines)


def asked(*texts: str) -> list[Message]:
    return [text_message(Role.USER, text) for text in texts]


def test_a_prompt_given_again_with_another_argument_keeps_only_its_argument():
    view = items(asked(prompt("T001"), "Go on.", prompt("T002"), prompt("T003")))
    found = {one.place.message: one.text for one in repeated_prompts(view)}
    short = "## User Input\n\n```text\n{}\n```\n[… 24 lines, as in m4]"
    assert found == {0: short.format("T001"), 2: short.format("T002")}
    shrunk = prune_repeated(ShrinkContext(view, COUNTER), 0, len(view))
    assert {one.id: one.message.text for one in shrunk} == {
        "m1": short.format("T001"),
        "m3": short.format("T002"),
    }


def test_a_prompt_without_an_argument_is_repeated_by_one_that_has_it_and_keeps_its_first_line():
    (without, *_) = repeated_prompts(items(asked(prompt(""), prompt("T002"))))
    assert without.text.startswith("## User Input\n")
    assert "as in m2]" in without.text
    same, *_ = repeated_prompts(items(asked(prompt("T002"), prompt("T002"))))
    assert same.text == "## User Input\n[… 28 lines, as in m2]"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Please fix the login.", "Please fix the login."),
        ("\n".join(STEPS[:8]), "\n".join(STEPS[:8])),
        ("word " * 1_000, "word " * 1_000),
        ("\n".join(STEPS), "\n".join(line.replace("notes", "log") for line in STEPS)),
        ("\n".join([*STEPS, *(f"My own remark number {n}. " * 8 for n in range(20))]), "\n".join(STEPS)),
        ("\n".join(STEPS), "\n".join(reversed(STEPS))),
        ("\n".join(STEPS * MOST_LINES), "\n".join(STEPS * MOST_LINES)),
    ],
    ids=["a sentence", "few lines", "one line", "other words", "mostly its own", "another order", "a log"],
)
def test_other_words_of_the_user_are_never_shortened(first: str, second: str):
    assert list(repeated_prompts(items(asked(first, second)))) == []


def test_what_the_agent_says_twice_is_no_prompt():
    assert list(repeated_prompts(items([spoken(prompt("a")), spoken(prompt("b"))]))) == []


def test_the_story_quotes_the_argument_and_not_the_prompt():
    view = items(
        [
            message
            for n in range(4)
            for message in (*asked(prompt(f"T00{n}")), spoken(f"T00{n} is complete and all tests pass."))
        ]
    )
    by_id = {item.id: item.message for item in view}
    story = Story(read(view).turns, {item.id for item in view[:6]}, by_id.get)
    quotes = [claim for entry in story.entries(8_000) for claim in entry if claim.kind is ClaimKind.USER]
    short = "## User Input\n\n```text\n{}\n```\n[… 24 lines]"
    assert [quote.text for quote in quotes] == [short.format(f"T00{n}") for n in range(3)]
    assert not any(quote.verbatim for quote in quotes)


@pytest.mark.parametrize("target", [1_500, 4_000, 9_000])
def test_a_rule_in_a_repeated_prompt_stays_and_the_checks_accept_the_result(target: int):
    messages = []
    for n in range(12):
        messages += asked(prompt(f"T{n:03}"))
        for k in range(3):
            said = "\n".join(f"value {n} {k} {line} = {line * n}" for line in range(60))
            messages += step(f"c{n}{k}", "read_file", {"path": f"part_{n}_{k}.py"}, said)
        messages.append(spoken(f"T{n:03} is complete: part_{n}.py has the new column."))
    result = clew.compact(messages, target_tokens=target)
    shown = "\n".join(message.text for message in result.messages)
    assert RULE in shown
    assert shown.count(STEPS[7]) <= 2  # the newest, and the first if it is the goal and no digest states it
    assert "lines, as in m" in shown
    assert {one.level.value for one in result.report.findings} <= {"note"}
