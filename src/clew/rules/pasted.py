"""Find the parts of a message that are pasted documents or terminal output, not the speaker's words.

A log line may read like an order ("Keeping test repo at: …", "No checkpoints in the branch"); its neighbours
show that it is not. Three kinds: output of programs (``printed_spans``), a document or a prepared prompt
(``pasted_document``), and text that its own words announce as another person's (``foreign``): "Translate this
mail: …". ``own_words.py`` and the trackers of the ledger leave these parts out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from clew.message.text import AnyCasePattern, lazy_pattern

# Output of programs ----------------------------------------------------------------------------------

_LINE = lazy_pattern(r"[^\n]+")
_PRINTED = lazy_pattern(
    r"""[ \t]*(?:
      ={2,}\ .*\S\ ?={2,}[ \t]*$ | -{3,}\ .*\S\ -{3,}[ \t]*$
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d\b
    | \[?(?:ERROR|FATAL|INFO|DEBUG|TRACE|WARN)\b[\]:| ]
    | \[[A-Z][\w.-]{1,30}(?:\ [\w()-]{1,30}){0,2}\]:?\ \S
    | [⏺⎿✓✗✔✘│├└╭╰❯➜⏵●]
    | \d{1,5}\ {1,4}[-+]\s | (?:\$|%|>>>)\ \S
    | Traceback\ \(most | File\ "[^"]+",\ line | at\ [\w.$<>]+\s?\(
    | (?:create|delete)\ mode\ \d{6}\b | \d+\ files?\ changed
    | (?:[\w./-]+:\ ){1,3}[^\n]*\b(?:cannot|not\ found|[Nn]o\ such|[Ff]ailed|[Dd]enied|unknown)\b
    )""",
    re.VERBOSE,
)
"""How lines begin that only programs print: "=== 3 passed ===", "[INFO] …", "$ make", "Traceback (most …"."""
_LIKE_PRINTED = lazy_pattern(
    r"""[ \t]*(?:
      [A-Z]\w+ing\b[^.!?\n]{0,80}(?:\.\.\.|…|:[ ]\S+)[ \t]*$
    | [A-Z][\w ]{1,30}:[ ][^\s/]*+/\S++[ \t]*+$ | [\w.~-]*+/\S++[ \t]*+$
    | "[\w.-]+":\s.* | [{}\[\]]+,?[ \t]*$
    )""",
    re.VERBOSE,
)
"""Forms of lines that both programs and people write: "Installing the tools...", "Output: /tmp/x", "{"."""
_STATUS = lazy_pattern(r"[A-Z]\w+ing\b[^.!?\n]{0,80}:[ ][~.\w-]*/\S+[ \t]*$")
_LOOKED_AT = 300
"""Characters of a line by which it is judged."""
_FEWEST_LINES = 3
"""Lines that make a paste, two of them certain: people quote one or two in a sentence."""
_WIDEST_GAP = 12
"""Unindented lines between two printed ones, above which they belong to different pastes; chosen by hand."""
_MARGIN = 40
"""Characters around a span in which a blank line is looked for: a bound on time."""
_BLANK_BEFORE = lazy_pattern(r"\n[ \t]*\n[ \t]*\Z")
_BLANK_BEHIND = lazy_pattern(r"[ \t]*\n[ \t]*(?:\n|\Z)")


def is_status(line: str) -> bool:
    """Return True if a line is a program's status about a path: "Keeping the repo at: /tmp/x"."""
    return _STATUS.match(line) is not None


def printed_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of pasted output, from the first to the last recognised line."""
    if text.count("\n") + 1 < _FEWEST_LINES:
        return []
    return [(start, end) for start, end, sure, many in _runs(text) if sure > 1 and many >= _FEWEST_LINES]


def _runs(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield runs of lines that look printed: start, end, number of certain lines, number of likely lines."""
    start, end, sure, many, gap = -1, -1, 0, 0, 0
    for line in _LINE.finditer(text):
        said = line[0][:_LOOKED_AT]
        surely = _PRINTED.match(said) is not None
        if not surely and not _LIKE_PRINTED.match(said):
            gap += not said[0].isspace()
            continue
        if start >= 0 and gap > _WIDEST_GAP:
            yield start, end, sure, many
            start, sure, many = -1, 0, 0
        if start < 0:
            start = line.start()
        end, sure, many, gap = line.end(), sure + surely, many + 1, 0
    if start >= 0:
        yield start, end, sure, many


def is_own_paragraph(text: str, start: int, end: int) -> bool:
    """Return True if a span is a paragraph of its own, as people write between two pastes."""
    before, behind = text[max(0, start - _MARGIN) : start], text[end : end + _MARGIN]
    return _BLANK_BEFORE.search(before) is not None and _BLANK_BEHIND.match(behind) is not None


# A document or a prepared prompt ---------------------------------------------------------------------

_HEADING = lazy_pattern(r"^ {0,3}#{1,6}\s+\S", re.MULTILINE)
_PLAN = AnyCasePattern(
    r"^.*\b(?:plan|spec|specification|design|proposal|prd|rfc|ticket|story|issue|brief|document|doc)s?\b"
    r".{0,80}:\s*$",
    re.MULTILINE,
)
"""A line that introduces a plan to be carried out: "Implement this plan:"."""
_MATERIAL = AnyCasePattern(
    r"^.*\b(?:this|these|following|below|here(?:'s| is| are)|attached|pasted)\b.{0,40}"
    r"\b(?:reviews?|comments?|feedback|findings?|audit|analysis|assessment|critique|article|e-?mail|text"
    r"|passage|paragraphs?|logs?|output"
    r"|errors?|message|transcript|report|snippet|content|letter|readme|sentences?|story|document)\b.{0,40}:\s*$",
    re.MULTILINE,
)
"""A line that introduces a text to be worked on: "Here is the review feedback:"."""
_TO_THE_AGENT = lazy_pattern(
    r"(?<![\"'`“‘])\b(?:you are (?:an?|the|now|taking|working|going)|you're an?"
    r"|your (?:name|task|job|role|goal|mission) is|act as"
    r"|tu es|du bist|eres|sei un)\b|你是|あなたは|당신은",
    re.IGNORECASE,
)
"""Words that assign the agent its role: "You are a careful reviewer", "your task is"."""
_FILE = r"[\w./-]*[\w-]\.(?:md|mdc|mdx|ya?ml|toml|json|txt|cfg|ini|rules)"
_FILE_SHOWN = AnyCasePattern(
    r"^.*\b(?:this|these|following|below|here(?:'s| is| are)|attached|pasted|my|our|the)\b.{0,60}"
    r"\b(?:workflow|pipeline|config(?:uration)?|settings|manifest|template|prompt|skill|playbook|runbook|policy"
    rf"|file|script|action|{_FILE})s?`?\b.{{0,40}}:[ \t]*$",
    re.MULTILINE,
)
"""A line that introduces the content of a file."""
_PLACE_NAMED = lazy_pattern(r"\b(?:under|in|at|within|inside|into|from|to)\s*:[ \t]*\Z")
"""End of a line that names where to work, not what is shown: "update only the files under:"."""
_FRONT_MATTER = lazy_pattern(
    r"^---[ \t]*+\n(?:[\w-]++:[^\n]*+\n|[ \t]++[^\n]*+\n){1,80}+---[ \t]*+$", re.MULTILINE
)
"""The settings that a Markdown file opens with, between two lines of dashes. Possessive: a line of spaces has
one way to match, or eighty of them would take for ever."""
TAKEN_UP = lazy_pattern(
    r"\b(?:follow|obey|respect|adhere|comply|stick|abide|apply|observe|honou?r|according to"
    r"|your (?:rules|instructions)|these are (?:the|our|my) rules)\b",
    re.IGNORECASE,
)
"""Words before a file by which a person adopts its rules."""
_SKILL = "Base directory for this skill:"
"""Text that an agent's tool puts before a page that it loads in the name of the user."""
_COMMAND = lazy_pattern(
    r"\s*(?:Generate a file named AGENTS\.md that serves as a contributor guide"
    r"|Please analyze this codebase and create (?:a|an) (?:CLAUDE|AGENTS)\.md"
    r"|Create or update `AGENTS\.md` for this repository"
    r"|You are an AI agent that brings the power of Gemini directly into the terminal"
    r"|You are (?:a|an expert) (?:senior )?(?:code|security) (?:reviewer|engineer)[^\n]{0,200}"
    r"\b(?:review|pull request|branch)\b"
    r"|Analyze this codebase to generate or update `?\.github/copilot-instructions"
    r"|Review the current code changes \(staged, unstaged, and untracked files\)"
    r"|Your task is to create a detailed summary of the conversation so far"
    r"|For the code present, we get this error:"
    r"|Implement the plan as specified, it is attached for your reference"
    r"|Implement the following to-dos from the plan \(the plan is attached"
    r"|\[\d+\] (?:assistant|user|tool|system)\b[^\n]{0,60}:"
    r"|You must fully embody this agent's persona"
    r"|\[SUGGESTION MODE:|Based on the above changes, create a single git commit)"
)
"""How the texts begin that agent tools send in the user's name for their own commands (/init, /review, …)."""
_OF_THE_USER = lazy_pattern(
    r"\b(?:ask|tell|inform|prompt|notify|remind|warn|report (?:back )?to|wait for|return to|confirm with"
    r"|suggest to) the user\b|\buser(?:['’]s)? (?:input|arguments?|typed|provided|supplied)\b|\$ARGUMENTS\b"
    r"|\{\{ ?args ?\}\}|^#+ /[\w-]+|^Invocation:",
    re.IGNORECASE | re.MULTILINE,
)
"""Words of a prompt that somebody prepared for agents: a person who types does not write of "the user"."""
_MOST_OF_THE_USER = 2
"""Such words from which on a prompt is a prepared one: once, a person may write so too."""
_REQUEST = lazy_pattern(r"^#{1,3}\s+My request for \w+:?[ \t]*$", re.MULTILINE)
"""The heading by which an editor separates its own additions from the person's request."""
_REPORTED = lazy_pattern(r"Verify (?:this issue exists and fix it|these issues exist and fix them):[ \t]*\n")
"""The line by which an editor hands over its reviewer's findings."""
_TASK = lazy_pattern(
    r"^(?:#{1,3} )?(?:your |the )?(?:task|question|problem):[ \t]*\n", re.MULTILINE | re.IGNORECASE
)
"""The heading of the task that a briefing hands on."""
_TASK_ENDS = lazy_pattern(r"\n[ \t]*(?:\n|-{3,}|={3,}|#)")
# Characters, all chosen by hand:
LONG = 600
"""From this length on a text may be a document or a briefing."""
_VERY_LONG = 1_500
"""From this length on its middle is far from what a person adds: from the first..."""
_FIRST_WORDS = 500
"""...and from the last words."""
_LAST_WORDS = 400
_FRONT_WITHIN = 2_000
"""Where the settings of a pasted file may begin."""
_ADDRESS_WITHIN = 400
"""Where a briefing addresses the agent."""
REMEMBERED = 32
"""Texts whose pasted parts are cached: several trackers ask about each, a block of messages at a time."""


class Pasted(NamedTuple):
    """The document in a text, from ``start`` to ``end``; ``material`` if it is only to be worked on."""

    start: int
    end: int
    material: bool = False


NOTHING_PASTED = Pasted(0, 0)


@lru_cache(maxsize=REMEMBERED)
def pasted_document(text: str) -> Pasted:
    """Return the part of a text that is a pasted document.

    A plan to be carried out may contain rules for the work in its own section; a text to be reviewed,
    translated or explained contains none, but people often add their own words below it.
    """
    if text.startswith(_SKILL) or _REPORTED.match(text) or _COMMAND.match(text):
        return Pasted(0, len(text), material=True)
    if len(text) < LONG:
        return NOTHING_PASTED
    if _is_prepared_prompt(text):
        return Pasted(0, len(text), material=True)
    if request := _REQUEST.search(text):
        return Pasted(0, request.end(), material=True)
    if file := _file(text):
        return file
    headings = [match.start() for match in _HEADING.finditer(text)]
    if plan := _opener(_PLAN, text, len(text)):
        if any(start >= plan for start in headings):
            return Pasted(plan, len(text))
    elif (material := _opener(_MATERIAL, text, len(text))) and not headings and not is_briefing(text):
        return Pasted(material, last_words(text), material=True)
    if len(headings) >= 3 and not _TO_THE_AGENT.search(text[: headings[0] + _ADDRESS_WITHIN]):
        return Pasted(headings[0], len(text))
    return NOTHING_PASTED


def _is_prepared_prompt(text: str) -> bool:
    """Return True for the body of a command that a tool sends in the user's name."""
    return sum(1 for _ in islice(_OF_THE_USER.finditer(text), _MOST_OF_THE_USER)) >= _MOST_OF_THE_USER


def _file(text: str) -> Pasted | None:
    """Return the file that a message opens with, unless the words before it say to follow it.

    Text addressed to the agent from the start is not a file.
    """
    front = _FRONT_MATTER.search(text, 0, _FRONT_WITHIN)
    start = front.start() if front else _opener(_FILE_SHOWN, text[:LONG], len(text))
    if not front and _PLACE_NAMED.search(text, 0, start):
        return None
    if (not start and not front) or _TO_THE_AGENT.search(text, 0, start) or "```" in text[:start]:
        return None
    return None if TAKEN_UP.search(text, 0, start) else Pasted(start, last_words(text), material=True)


def _opener(pattern: AnyCasePattern, text: str, length: int) -> int:
    """Return the end of the line that announces a document, if much text follows it; else 0."""
    opener = pattern.search(text)
    return opener.end() if opener and length - opener.end() >= LONG else 0


def last_words(text: str) -> int:
    """Return the start of a short last paragraph; the end of the text if the last one is long."""
    body = text.rstrip()
    start = body.rfind("\n\n")
    return start if start > 0 and len(body) - start <= _LAST_WORDS else len(text)


def is_deep(text: str, start: int, end: int) -> bool:
    """Return True for a position far inside a long text: people add words at its start or its very end."""
    if len(text) < _VERY_LONG or start < _FIRST_WORDS:
        return False
    return len(text) - end >= _LAST_WORDS or start < text.rstrip().rfind("\n\n")


def tasks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of tasks in a briefing, from the line "Task:" to the end of its paragraph."""
    for opened in _TASK.finditer(text):
        ended = _TASK_ENDS.search(text, opened.end())
        yield opened.end(), ended.start() if ended else len(text)


def is_briefing(text: str) -> bool:
    """Return True if a long text assigns the agent its role and task."""
    return len(text) >= LONG and assigns_role(text)


def assigns_role(text: str) -> bool:
    """Return True if a text tells the agent near its beginning who it is, or what its task is."""
    return _TO_THE_AGENT.search(text[:_ADDRESS_WITHIN]) is not None
