"""Requests in the form of a list: which list items are work, and lines such as "1) login 2) logout".

``WorkLists`` decides for the items of a list whether each is a thing to do, though it begins with no verb:
"Please add:" above "- a login form" makes that item work, "We have:" does not. ``numbered_lines`` finds lines
that number several parts. Only ``request_parts`` uses both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.ledger.request_words import ADVERBS, DETERMINER, MAKING_VERBS, OPENER, POLITE, begins_request
from clew.message.text import lazy_pattern
from clew.rules.sentences import Sentence, sentences


class WorkLists:
    """Which items of the lists in a text are work, though they begin with no verb."""

    def __init__(self, text: str, *, reads_verbs: bool) -> None:
        """Take a text; with ``reads_verbs``, the other items of a list may show that it asks for work."""
        self._text = text
        self._reads_verbs = reads_verbs
        self._items_asking: dict[tuple[str, str], list[bool]] | None = None
        """By the line and heading above a list: for each of its items, whether it begins with a request."""
        self._above: tuple[str, str] | None = None
        """The line and heading above the list of the last item; the next two describe this list."""
        self._is_work = False
        self._indent = 0

    def opens_item_of_work(self, sentence: Sentence) -> bool:
        """Return True if a sentence opens an item of a list of work; call it for all items in order."""
        line_start = self._text.rfind("\n", 0, sentence.start) + 1
        before = self._text[line_start : sentence.start]
        indent = len(before) - len(before.lstrip())
        if self._above != (sentence.lead, sentence.heading):
            self._above, self._indent = (sentence.lead, sentence.heading), indent
            self._is_work = self._is_list_of_work(sentence)
        is_first = sum(map(str.isalnum, before)) <= 2  # its number, and nothing said before
        return self._is_work and indent <= self._indent and is_first

    def _is_list_of_work(self, sentence: Sentence) -> bool:
        """Return True if the line above an item says so, or if the text begins with a list of no replies."""
        above = sentence.lead or sentence.heading
        if sentence.lead and self._reads_verbs and self._mostly_asks(sentence):
            return True
        if above:
            return _LISTS_WORK.match(above) is not None
        spoken = list(sentences(self._text))
        if spoken[0].start != sentence.start:
            return False
        items = [one for one in spoken if one.item]
        lines = {self._text.rfind("\n", 0, item.start) for item in items}
        return len(lines) > 1 and not any(_IS_REPLY.match(item.text) for item in items)

    def _mostly_asks(self, first: Sentence) -> bool:
        """Return True if most items of a list, of which this is one, begin with a verb of work."""
        if self._items_asking is None:
            self._items_asking = self._read_items()
        asking = self._items_asking.get((first.lead, first.heading), [])
        return sum(asking) > 1 and sum(asking) * 2 > len(asking)

    def _read_items(self) -> dict[tuple[str, str], list[bool]]:
        """Return for the items of each list whether they begin with a request; one entry for each line."""
        found: dict[tuple[str, str], list[bool]] = {}
        last_line = -1
        for sentence in sentences(self._text):
            if not sentence.item:
                continue
            line = self._text.rfind("\n", 0, sentence.start)
            if line != last_line:
                asks = begins_request(sentence.text)
                found.setdefault((sentence.lead, sentence.heading), []).append(asks)
            last_line = line
        return found


class NumberedLine(NamedTuple):
    """A line with several numbered parts, "1) login 2) logout"."""

    start: int
    end: int
    parts: list[tuple[int, int]]


def numbered_lines(text: str) -> list[NumberedLine]:
    """Return the lines that number several parts."""
    if text.count(")") < 2 and "2. " not in text:
        return []
    labels_by_line: dict[int, list[re.Match[str]]] = {}
    for label in _LABEL.finditer(text):
        labels_by_line.setdefault(text.rfind("\n", 0, label.start()) + 1, []).append(label)
    found: list[NumberedLine] = []
    for start, labels in labels_by_line.items():
        if len(labels) < 2 or not _count_up([label[1].lower() for label in labels]):
            continue
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        parts = _parts_of_line(text, labels, line_end)
        if _introduces_work(text[start : labels[0].start()]) and not _are_replies(text, parts):
            found.append(NumberedLine(start, line_end, parts))
    return found


def _parts_of_line(text: str, labels: list[re.Match[str]], line_end: int) -> list[tuple[int, int]]:
    """Return the span after each label up to the next one, without the words that join them."""
    ends = [*(label.start() for label in labels[1:]), line_end]
    parts: list[tuple[int, int]] = []
    for label, end in zip(labels, ends, strict=True):
        joint = _LAST_JOINT.search(text[label.end() : end])
        parts.append((label.end(), label.end() + joint.start() if joint else end))
    return parts


def _introduces_work(before: str) -> bool:
    """Return True if the words before the first number ask for work or name it, or are none."""
    words = before.strip()
    return not words or _LISTS_WORK.match(words) is not None or _NAMES_WORK.search(words) is not None


def _are_replies(text: str, parts: list[tuple[int, int]]) -> bool:
    """Return True if one of these numbered parts answers a question."""
    return any(_IS_REPLY.match(text, start, end) for start, end in parts)


def _count_up(labels: list[str]) -> bool:
    """Return True for 1, 2, 3 and a, b, c."""
    if labels[0] == "1":
        return labels == [str(number) for number in range(1, len(labels) + 1)]
    return labels == [chr(ord("a") + number) for number in range(len(labels))]


# What the patterns recognise --------------------------------------------------------------------------

_LABEL = lazy_pattern(r"(?<![\w.(])\(?(\d{1,2}|[a-h])(?:\)|(?<=\d)\.)[ \t]+(?=[^\W\d_])", re.IGNORECASE)
"""A number or letter before a part, anywhere in a line: "1)", "(b)", "2."."""
_LAST_JOINT = lazy_pattern(r"(?:[\s,;(]|\b(?:and|then|plus)\b)*\Z", re.IGNORECASE)
"""What joins a part to the next one: ", and then" at its end."""
_LISTS_WORK = lazy_pattern(
    rf"""(?!.*\b(?:example|e\.g|such\ as)\b)
    (?:{OPENER}(?:{POLITE})?{ADVERBS}(?:{MAKING_VERBS}|do(?!\ not)|handle|work\ on|take\ care\ of|get)
      (?=\W*\Z|\s+(?:{DETERMINER}|following|\(?[1a][.)])\b|\W*\()
    | (?:\w+\W+){{0,4}}?(?:to-?dos?|tasks?)\W*\Z | please\W*\Z
    | {OPENER}(?:\d+|two|three|four|five|six|some|several|a\ few|a\ couple\ of)\ (?:more\ |other\ )?things
      (?:\ to\ (?:do|fix|change))?(?:,?\ please)?\W*\Z)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line above a list of work: "Please add the following:", "TODO", "three things to fix"."""
_NAMES_WORK = lazy_pattern(
    r"\b(?:things|tasks|to-?dos?|requests|changes|steps|points|problems|issues|bugs)\b[^.!?]{0,30}:\Z",
    re.IGNORECASE,
)
"""Words before the first of several numbers in a line: "two bugs in the parser:"."""
_IS_REPLY = lazy_pattern(
    r"(?:i|we|it|that|this|yes|yeah|yup|no|nope|ok|okay|sure|option|neither)\b", re.IGNORECASE
)
"""How a numbered answer begins: "1) yes 2) the second option"."""
