"""Finds where a message stops being talk and becomes a document that was pasted in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r"^ {0,3}#{1,6}\s+\S", re.MULTILINE)
_PLAN = re.compile(
    r"^.*\b(?:plan|spec|specification|design|proposal|prd|rfc|ticket|story|issue|brief|document|doc)s?\b"
    r".{0,80}:\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_MATERIAL = re.compile(
    r"^.*\b(?:this|these|following|below|here(?:'s| is| are)|attached|pasted)\b.{0,40}"
    r"\b(?:reviews?|comments?|feedback|findings?|audit|analysis|assessment|critique|article|e-?mail|text"
    r"|passage|paragraphs?|logs?|output"
    r"|errors?|message|transcript|report|snippet|content|letter|readme|sentences?|story|document)\b.{0,40}:\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_TO_THE_AGENT = re.compile(
    r"(?<![\"'`“‘])\b(?:you are (?:an?|the|now|taking|working|going)|you're an?"
    r"|your (?:name|task|job|role|goal|mission) is|act as"
    r"|tu es|du bist|eres|sei un)\b|你是|あなたは|당신은",
    re.IGNORECASE,
)
_FILE = r"[\w./-]*[\w-]\.(?:md|mdc|mdx|ya?ml|toml|json|txt|cfg|ini|rules)"
_FILE_SHOWN = re.compile(
    r"^.*\b(?:this|these|following|below|here(?:'s| is| are)|attached|pasted|my|our|the)\b.{0,60}"
    r"\b(?:workflow|pipeline|config(?:uration)?|settings|manifest|template|prompt|skill|playbook|runbook|policy"
    rf"|file|script|action|{_FILE})s?`?\b.{{0,40}}:[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line by which a file is shown."""
_PLACE_NAMED = re.compile(r"\b(?:under|in|at|within|inside|into|from|to)\s*:[ \t]*\Z")
"""How a line ends that names where to work, not what is shown: "update only the files under:"."""
_FRONT_MATTER = re.compile(r"^---[ \t]*\n(?:[\w-]+:[^\n]*\n|[ \t]+[^\n]*\n){1,80}---[ \t]*$", re.MULTILINE)
_TAKEN_UP = re.compile(
    r"\b(?:follow|obey|respect|adhere|comply|stick|abide|apply|observe|honou?r|according to"
    r"|your (?:rules|instructions)|these are (?:the|our|my) rules)\b",
    re.IGNORECASE,
)
"""By these words in front of it a person makes the rules of a file their own."""
_SKILL = "Base directory for this skill:"
"""What an agent's tool puts before the page that it loads in the name of the user."""
_REQUEST = re.compile(r"^#{1,3}\s+My request for \w+:?[ \t]*$", re.MULTILINE)
"""The heading by which an editor parts what it adds from what the person asks."""
_REPORTED = re.compile(r"Verify (?:this issue exists and fix it|these issues exist and fix them):[ \t]*\n")
"""By this an editor hands over what its reviewer found."""
_TASK = re.compile(
    r"^(?:#{1,3} )?(?:your |the )?(?:task|question|problem):[ \t]*\n", re.MULTILINE | re.IGNORECASE
)
_TASK_ENDS = re.compile(r"\n[ \t]*(?:\n|-{3,}|={3,}|#)")
_FRONT_WITHIN = 2_000
LONG = 600
"""Characters from which on a text may be a document or a briefing."""
_ADDRESS_WITHIN = 400
_LAST_WORDS = 400
_FIRST_WORDS = 500
_VERY_LONG = 1_500


class Pasted(NamedTuple):
    """The document in a text, from ``start`` to ``end``; ``material`` where it is just to be worked on."""

    start: int
    end: int
    material: bool = False


NOTHING_PASTED = Pasted(0, 0)


def pasted(text: str) -> Pasted:
    """Tell which part of a text is a pasted document.

    A plan to be carried out may hold rules for the work in a section of its own; a text to be reviewed,
    translated or explained holds none at all, but people like to add their own words below it.
    """
    if text.startswith(_SKILL) or _REPORTED.match(text):
        return Pasted(0, len(text), material=True)
    if len(text) < LONG:
        return NOTHING_PASTED
    if request := _REQUEST.search(text):
        return Pasted(0, request.end(), material=True)
    if file := _file(text):
        return file
    headings = [match.start() for match in _HEADING.finditer(text)]
    if plan := _opener(_PLAN, text, len(text)):
        if any(start >= plan for start in headings):
            return Pasted(plan, len(text))
    elif (material := _opener(_MATERIAL, text, len(text))) and not headings and not is_briefing(text):
        return Pasted(material, _last_words(text), material=True)
    if len(headings) >= 3 and not _TO_THE_AGENT.search(text[: headings[0] + _ADDRESS_WITHIN]):
        return Pasted(headings[0], len(text))
    return NOTHING_PASTED


def _file(text: str) -> Pasted | None:
    """Return the file that a message opens with, unless the words in front say that it is to be followed.

    What is addressed to the agent from the first is no file, whatever it shows further on.
    """
    front = _FRONT_MATTER.search(text, 0, _FRONT_WITHIN)
    start = front.start() if front else _opener(_FILE_SHOWN, text[:LONG], len(text))
    if not front and _PLACE_NAMED.search(text, 0, start):
        return None
    if (not start and not front) or _TO_THE_AGENT.search(text, 0, start) or "```" in text[:start]:
        return None
    return None if _TAKEN_UP.search(text, 0, start) else Pasted(start, _last_words(text), material=True)


def _opener(pattern: re.Pattern[str], text: str, length: int) -> int:
    """Return where the line that announces a document ends, if much follows it; else 0."""
    opener = pattern.search(text)
    return opener.end() if opener and length - opener.end() >= LONG else 0


def _last_words(text: str) -> int:
    """Return where a short last paragraph begins; the end of the text where the last one is long."""
    body = text.rstrip()
    start = body.rfind("\n\n")
    return start if start > 0 and len(body) - start <= _LAST_WORDS else len(text)


def is_deep(text: str, start: int, end: int) -> bool:
    """Tell whether a place is far from both ends of a long text: people add their own words at the ends."""
    return len(text) >= _VERY_LONG and start >= _FIRST_WORDS and len(text) - end >= _LAST_WORDS


def tasks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a briefing hands on a task, from the line "Task:" to the end of its paragraph."""
    for opened in _TASK.finditer(text):
        ended = _TASK_ENDS.search(text, opened.end())
        yield opened.end(), ended.start() if ended else len(text)


def is_briefing(text: str) -> bool:
    """Tell whether a long text tells the agent who it is and what it is to do."""
    return len(text) >= LONG and bool(_TO_THE_AGENT.search(text[:_ADDRESS_WITHIN]))


def foreign(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text is announced as somebody else's: pasted, forwarded, quoted, to be worked on."""
    document = pasted(text)
    if document.material:
        yield document.start, document.end
