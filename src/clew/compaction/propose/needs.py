"""Which parts of recent messages the next steps need, with weights: they get room before others.

The weights say what to read if not all fits. A file counts by what names it: the last reply, the request,
what went wrong last (``topics.py``). A search or a run counts until a file is changed. The report of another
agent and the agent's own answers say what many results say, and stay before these::

    of_running_work(steps, topics, unread=19)  # {Place(14, 0): 8.0, Place(18, 0): 1.0}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from clew.compaction.propose.steps import Step
from clew.compaction.propose.tail import opens_turn
from clew.compaction.propose.topics import NAMED_LAST, Topics
from clew.message import Item, Place, Role, Text, ToolCall, words

OTHER_WEIGHT = 1.0
"""Weight of a search or a run; a file that only the request names has 4. Chosen by hand."""
UNNAMED_WEIGHT = 0.5
"""Weight of a file that was read for the running work, and that nothing names now."""
REPORT_WEIGHT, MEANT_WEIGHT = 16.0, 64.0
"""Weight of the report of another agent, and of an answer of the agent that the user refers to by numbers."""
ANSWER_WEIGHT = 2.0
"""Weight of an answer of the agent that ended a turn. Both chosen by hand."""
MOST_REPORTS, MOST_ANSWERS = 4, 4
"""Last reports of other agents and last answers of the agent that count; chosen by hand."""
RARE_WEIGHT, MOST_RARE = 2.0, 4
"""Weight of a rare word of the newest message of the user in a text, and the most words that count."""
FEW_TEXTS = 3
"""Texts that a rare word is in at most; chosen by hand."""
LONGEST_ASKED = 2_000
"""Characters of the newest message that count: a longer one is a plan, with words of all kinds."""
MOST_MESSAGES = 200
"""Last messages among which answers are looked for: it bounds the cost of a compaction."""
SHORT_REQUEST = 300
"""Characters of a message that may refer to items by their numbers; a longer one has numbers of all kinds."""
FEWEST_ITEMS, LEAST_LIST = 4, 600
"""Numbered items, and characters, that a text has at least for the user to refer to them; chosen by hand."""
_ITEM = re.compile(r"^\s*(?:[-*+]\s+|#{1,6}\s+)?\**\(?#?(\d{1,3})(?:\)|\.(?=\s)|:)", re.MULTILINE)
"""The number that an item begins with: ``- (68) ...``, ``3. ...``, ``### 4: ...``."""
_NUMBER = re.compile(r"(?<![\w.,:/\-])#?(\d{1,3})(?![\w:/%]|[.,]\d)")
_WORD = re.compile(r"[^\W\d_]{5,}|\w*[\d_]\w{3,}")


def of_running_work(steps: Iterable[Step], topics: Topics, unread: int) -> dict[Place, float]:
    """Return what was read and not changed since, and what was searched and run since the last change.

    ``steps`` are those of the running work, latest first; from the index ``unread`` on, the model has not
    answered the messages.
    """
    found: dict[Place, float] = {}
    changed: set[str] = set()
    for step in steps:
        read, changes = step.files if step.action.subject else ("", [])
        if changes:
            changed.update(changes)
        elif read and read not in changed:
            found[step.result] = max(UNNAMED_WEIGHT * topics.of_kind(read), topics.of_file(read))
        elif not read and not changed:
            found[step.result] = OTHER_WEIGHT * (NAMED_LAST if step.result.message >= unread else 1.0)
    return found


def told(view: Sequence[Item], steps: Sequence[Step], work: int) -> dict[Place, float]:
    """Return reports, answers, and what shares rare words with the request that opens the running work.

    ``steps`` are the recent ones, latest first; ``work`` is the index at which the running work begins.
    """
    reports = islice((step.result for step in steps if step.asks_agent), MOST_REPORTS)
    found = dict.fromkeys(reports, REPORT_WEIGHT) | _answers(view, len(view) - MOST_MESSAGES)
    before = [step for step in steps if step.result.message < work]
    for place, weight in _shared_words(view, before, found, work).items():
        found[place] = found.get(place, 0.0) + weight
    return found


def _answers(view: Sequence[Item], start: int) -> dict[Place, float]:
    """Return the last answers of the agent, and those with numbered items that the user refers to later."""
    found: dict[Place, float] = {}
    listed: dict[Place, set[int]] = {}
    left = MOST_ANSWERS
    for i in reversed(range(max(0, start), len(view))):
        parts = view[i].message.parts
        if view[i].message.role is not Role.ASSISTANT or not parts or isinstance(parts[-1], ToolCall):
            continue
        for number, part in enumerate(parts):
            if isinstance(part, Text) and left > 0:
                found[Place(i, number)] = ANSWER_WEIGHT
            if isinstance(part, Text) and len(part.text) >= LEAST_LIST:
                listed[Place(i, number)] = set(map(int, _ITEM.findall(part.text)))
        left -= 1
    listed = {place: items for place, items in listed.items() if len(items) >= FEWEST_ITEMS}
    meant: set[int] = set()
    for i in reversed(range(min(listed, default=Place(len(view), 0)).message, len(view))):
        if any(not meant.isdisjoint(items) for place, items in listed.items() if place.message == i):
            found |= {place: MEANT_WEIGHT for place in listed if place.message == i}
        message = view[i].message
        if message.role is Role.USER and opens_turn(message) and len(said := message.text) <= SHORT_REQUEST:
            meant.update(map(int, _NUMBER.findall(said)))
    return found


def _shared_words(
    view: Sequence[Item], steps: Sequence[Step], places: Iterable[Place], before: int
) -> dict[Place, float]:
    """Return weights of earlier results and answers for rare words of the user's newest message."""
    asked = view[before].message.text if before < len(view) and opens_turn(view[before].message) else ""
    wanted = set(_WORD.findall(asked[:LONGEST_ASKED].lower()))
    texts = {step.result: step.text.lower() for step in steps if wanted}
    for place in places:
        if wanted and place.message < before:
            texts[place] = words(view[place.message].message.parts[place.part]).lower()
    having = {word: [place for place, text in texts.items() if word in text] for word in sorted(wanted)}
    rare = Counter(place for places in having.values() if len(places) <= FEW_TEXTS for place in places)
    return {place: RARE_WEIGHT * min(count, MOST_RARE) for place, count in rare.items()}
