"""A range of messages that a person names to compact only these: ``m1-m20``, ``m5 to m9``, ``m30-``.

``split_range`` finds it in what was typed after ``/compact``, and ``choose_range`` finds its messages in the
view of a session: ``m5-m10`` may become ``m5-m11``, because a call and its results stay together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from clew.compaction.plan.digest import Digest, spans
from clew.errors import InputError
from clew.message import Item, cut_points, fixed_prefix, message_number
from clew.message.text import lazy_pattern

RANGE = lazy_pattern(r"\s*m(\d{1,9})\s*(?:-|–|\.\.+|:|to\b|,)\s*m?(\d{0,9})(?=\s|$)\s*", re.IGNORECASE)
"""A range of messages such as m1-m20 or m30-."""


def split_range(text: str) -> tuple[str | None, str | None]:
    """Return the range at the start of what a person typed after ``/compact``, and the focus after it."""
    match = RANGE.match(text)
    chosen, focus = (match[0].strip(), text[match.end() :]) if match else (None, text)
    return chosen, focus.strip() or None


def check_focus(focus: str | None) -> None:
    """Raise ``InputError`` if a focus is a range of messages."""
    if focus and RANGE.fullmatch(focus):
        what = f"{focus.strip()!r} is a range of messages, not a focus"
        raise InputError(what, "pass it to a session as messages=, to clew compact as --range")


class ChosenRange(NamedTuple):
    """The messages of a view that a person chose."""

    start: int
    """The index in the view of the first message..."""
    stop: int
    """...and that after the last one."""
    description: str
    """Their ids, and in what they differ from the range that was named."""


def choose_range(
    named: str, view: Sequence[Item], shown_digest: tuple[str, Digest] | None, newest: int
) -> ChosenRange:
    """Find the range ``named`` in the view of a session whose last message has the number ``newest``."""
    match = RANGE.fullmatch(named)
    if match is None:
        raise InputError(
            f"{named!r:.60} is not a range of messages", "write it as m1-m20, or m30- to the end"
        )
    first, last = int(match[1]), int(match[2] or newest)
    if match[2] and first > last:
        raise InputError(f"the range {named.strip()} ends before it begins", "write it as m1-m20")
    start, stop = _indices(named, first, last, view, shown_digest)
    last = last if match[2] else message_number(view[stop - 1].id)
    remarks = _remarks(first, last, view, (start, stop), newest)
    description = spans(item.id for item in view[start:stop])
    return ChosenRange(start, stop, description + (f" ({'; '.join(remarks)})" if remarks else ""))


def range_of(items: Sequence[Item]) -> str | None:
    """Return the range that names these messages; one that begins with a digest is named from m1 on."""
    numbers = [number for item in items if (number := message_number(item.id))]
    if not numbers:
        return None
    first = 1 if items[0].id.startswith("d") else min(numbers)
    return f"m{first}-m{max(numbers)}"


def _indices(
    named: str, first: int, last: int, view: Sequence[Item], shown_digest: tuple[str, Digest] | None
) -> tuple[int, int]:
    """Return the indices of the messages ``first`` to ``last``, with the results of the calls among them."""
    prompt = fixed_prefix(view)
    covered = {message_number(name) for name in shown_digest[1].covers} if shown_digest else set()
    inside = [i for i in range(prompt, len(view)) if first <= message_number(view[i].id) <= last]
    if not inside:
        where = f"in {shown_digest[0]}" if shown_digest and last in covered else "not in the view"
        raise InputError(
            f"the messages {named.strip()} are {where}", "`clew show` lists the messages of the view"
        )
    points = [point for point in cut_points([item.message for item in view]) if point < len(view)]
    start = prompt if first in covered else max(point for point in points if point <= inside[0])
    start = max(start, prompt)
    stop = min((point for point in points if point > inside[-1]), default=points[-1])
    if stop <= start:
        raise InputError("the last turn is not compacted", "choose a range that ends before it")
    return start, stop


def _remarks(first: int, last: int, view: Sequence[Item], chosen: tuple[int, int], newest: int) -> list[str]:
    """Return in what the chosen messages differ from a range from the message ``first`` to ``last``."""
    remarks = []
    start, stop = chosen
    numbers = {item.id: message_number(item.id) for item in view[start:stop]}
    if added := [name for name, number in numbers.items() if 0 < number < first or number > last]:
        remarks.append(f"with {spans(added)}: a call and its results stay together")
    if last > newest:
        remarks.append(f"m{last} does not exist, the last message is m{newest}")
    if any(0 < message_number(item.id) <= last for item in view[stop:]):
        remarks.append(f"{spans(item.id for item in view[stop:])} stays: the last turn is not compacted")
    return remarks
