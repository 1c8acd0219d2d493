"""The finder takes time in proportion to the text: four times the list takes about four times as long."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from clew.message import Message, Role, text_message
from clew.rules import Rule, find_candidates, retire
from clew.rules.subject import scope_of

ITEMS = {
    "replacements": "- Use parser{i} instead of lexer{i}.\n",
    "bans": "- Never edit `src/module{i}.py`.\n",
    "limits": "- Use at most {i} widgets per page.\n",
    "unclosed quotes": "- '''note {i}\n",
    "announcements": "- Please fix this issue:\n",
    "texts on one line": "- translate this: note {i}\n",
    "one long line": "- never ",
    "brackets": "(never ",
}
SHORT, LONG = 400, 1_600
MOST = 8
"""Four times the items take at most this many times the CPU time; quadratic growth takes sixteen times."""


def cost(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def listed(item: str, count: int, start: int = 0) -> Message:
    return text_message(Role.USER, "".join(item.format(i=start + i) for i in range(count)))


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_finding_grows_with_the_text(item: str) -> None:
    find_candidates(listed(item, 10))  # compile the patterns
    short = min(cost(partial(find_candidates, listed(item, SHORT, n))) for n in (1, 2, 3))
    long = min(cost(partial(find_candidates, listed(item, LONG, n))) for n in (4, 5, 6))
    assert long < MOST * max(short, 0.02)


def test_a_word_without_end_is_read_in_linear_time() -> None:
    scope_of("x", (), ())  # compile the patterns
    assert cost(lambda: scope_of("x" * 40_000, (), ())) < MOST * max(
        cost(lambda: scope_of("x" * 10_000, (), ())), 0.02
    )


def rules(message: Message) -> list[Rule]:
    return [replace(rule, id=f"p{n}") for n, rule in enumerate(find_candidates(message))]


def test_ending_rules_grows_with_the_text() -> None:
    item = ITEMS["replacements"]
    few, many = rules(listed(item, SHORT)), rules(listed(item, LONG))
    assert len(many) == LONG
    short = min(cost(partial(retire, few, listed(item, SHORT, n))) for n in (10_000, 20_000, 30_000))
    long = min(cost(partial(retire, many, listed(item, LONG, n))) for n in (40_000, 50_000, 60_000))
    assert long < MOST * max(short, 0.02)


def test_a_replacement_is_found_among_many_rules() -> None:
    many = rules(listed(ITEMS["replacements"], SHORT))
    (end,) = retire(many, text_message(Role.USER, "Use bison instead of parser7 from now on."))
    assert end.rule == "p7"


def test_lines_of_spaces_below_a_line_of_dashes_are_read_in_linear_time() -> None:
    """The start of a file with settings, as it seems; a form for the terminal has hundreds of such lines."""
    find_candidates(listed(ITEMS["replacements"], 10))  # compile the patterns
    text = "---\n" + f"{' ' * 76}\n" * 60 + "Never touch legacy/.\n" * 3
    assert cost(lambda: find_candidates(text_message(Role.USER, text))) < 1.0
