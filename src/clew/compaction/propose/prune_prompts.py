"""Prompts given again with other arguments: the text of a slash command is shown once, in its latest message.

Of the earlier ones stays what differs, such as the argument::

    ## Task
    T009
    [… 63 lines, as in m313]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from clew.compaction.propose.lines import Span, gap_note
from clew.compaction.propose.prune_prose import Replaced
from clew.compaction.propose.steps import WORTH_CHARACTERS
from clew.message import Item, Origin, Place, Role, Text

LEAST_LINES, LEAST_CHARACTERS = 10, 1_000
"""Lines and characters that a later text must repeat: what a person types is shorter..."""
LEAST_SHARE = 0.5
"""...and share of the text that they must be; all three chosen by hand."""
MOST_LINES = 1_000
"""A longer text is a log or a file; comparing two takes time with the square of their lines."""
MOST_COMPARED = 12
"""Texts without a later like that earlier ones are compared with, latest first: it bounds the time."""


class Prompt(NamedTuple):
    """A long text that the agent was given."""

    place: Place
    name: str
    text: str


def repeated_prompts(view: Sequence[Item], start: int = 0) -> Iterator[Replaced]:
    """Find long texts that the agent was given, from an index on, most of which a later one repeats."""
    prompts = [
        Prompt(Place(i, j), item.id, part.text)
        for i, item in enumerate(view[start:], start)
        if item.message.role is Role.USER and item.message.origin is not Origin.SUMMARY
        for j, part in enumerate(item.message.parts)
        if isinstance(part, Text) and may_repeat(part.text)
    ]
    later = latest_likes([prompt.text for prompt in prompts])
    for n, (number, runs) in sorted(later.items()):
        prompt, same = prompts[n], prompts[number]
        text = without_lines(prompt.text, runs, f", as in {same.name}")
        yield Replaced(prompt.place, text, f"a prompt repeated in {same.name}", same.place)


def may_repeat(text: str) -> bool:
    """Whether a text is long enough to be a prompt that another may repeat."""
    return len(text) >= LEAST_CHARACTERS and LEAST_LINES <= text.count("\n") + 1 <= MOST_LINES


def latest_likes(texts: Sequence[str]) -> dict[int, tuple[int, list[Span]]]:
    """Return the texts most of which a later one repeats, by index: its index, and the runs of lines in both.

    The later one is always a text that no other repeats.
    """
    found: dict[int, tuple[int, list[Span]]] = {}
    whole: list[int] = []
    for n in range(len(texts) - 1, -1, -1):
        runs: list[Span] = []
        for later in whole[:MOST_COMPARED]:
            if runs := _runs_in_both(texts[n], texts[later]):
                found[n] = later, runs
                break
        if not runs:
            whole.append(n)
    return found


def _runs_in_both(text: str, later: str) -> list[Span]:
    """Return the long runs of lines that a later text repeats; none if they are not most of the text."""
    lines, others = text.split("\n"), later.split("\n")
    known = set(others)
    if sum(len(line) for line in lines if line in known) < LEAST_SHARE * len(text):
        return []
    blocks = SequenceMatcher(None, lines, others).get_matching_blocks()
    runs = [(block.a, block.a + block.size) for block in blocks]
    sizes = {run: sum(map(len, lines[slice(*run)])) for run in runs}
    runs = [run for run in runs if sizes[run] >= WORTH_CHARACTERS]
    count, size = sum(end - start for start, end in runs), sum(sizes[run] for run in runs)
    is_most = size >= max(LEAST_CHARACTERS, LEAST_SHARE * len(text))
    return runs if is_most and count >= LEAST_LINES else []


def without_lines(text: str, runs: Sequence[Span], where: str = "") -> str:
    """Return a text with a note instead of each run of lines; at least its first line stays."""
    lines, done = text.split("\n"), 0
    shown: list[str] = []
    for start, end in runs:
        first = max(start, 1)
        first += lines[first].strip() == "```"  # it may close the block with the argument
        shown += [*lines[done:first], gap_note(end - first).replace("]", f"{where}]")]
        done = end
    return "\n".join([*shown, *lines[done:]])
