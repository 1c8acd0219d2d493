"""The next action: what the first calls after the cut are about, as far as the history says it.

After "Now I fix the rounding in the tax table" the agent calls ``Edit`` on ``shop/tax_table.py``: the file is
a target and "rounding tax table" the reason. A view that names neither leaves the agent to search for them
again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.message import Json, Text, ToolCall
from clew_evals.obligations import COMMAND_ARGUMENTS
from clew_evals.passages import PassageSpeaker, Readable, ReadablePassage, with_forward_slashes
from clew_evals.turns import is_request, sentences
from clew_evals.words import Survival, content_words, first_place, key_of, spot

CALLS = 3
"""After the cut; calls that only change the agent's plan are passed over."""
LONGEST_ARGUMENT = 300
"""Longer ones are bodies of files, not what a call is about."""
MOST_TARGETS = 6
"""Of a call: a long command must not outweigh the others."""
FEWEST_WORDS = 4
HISTORY_SHARE = 0.5
"""Of a reason's words that are close together in the history; with fewer it was not taken from there."""
HABITUAL_SHARE = 0.2
"""Of the agent's texts that have a word, for it to say nothing about one step."""
SHORTEST_COMMAND = 6
_LINK = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_HEREDOC = re.compile(r"(?ms)<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)")
_REDIRECTED = re.compile(r"\s*\d?>+\s*(?:&\d|\S+)")
_EVERYDAY = re.compile(
    r"(?:(?:import|from|def|class|print|return|if|for|while|else|try|cd|ls|cat|nl|less|more|pwd|echo|printf|head|tail|sed"
    r"|awk|grep|rg|find|wc|sort|uniq|cut|tr|xargs|true|sleep|mkdir|touch|rm|cp|mv|chmod|which|export|set"
    r"|select-object|select-string|get-content|get-childitem"
    r"|git (?:status|diff|log|add|show|branch|stash|commit|push|pull|fetch|checkout|restore))\b.*"
    r"|.*\$\([^)]*)",
    re.IGNORECASE,
)
"""Commands that need no memory (their files are targets anyway), lines of a script that are none, and the
beginning of a command that a here-document fills."""
_PLANS = re.compile(r"todo_?write|write_todos|update_?plan|task(?:create|update|list|get)", re.I)
_PROCESS = frozenset(
    re.findall(
        r"\S+",
        """let's let now need check look see read run verify make sure first next also then try find update
        add fix test tests file files code change changes understand continue start i'll i'm i've okay
        good great let’s i’ll i’m how where what more some other each here work works working get view
        show search thought thoughts script line lines around content command commands insert after before
        create new one updated plan step steps seems place apply existing different approach""",
    )
)
"""Words that agents say of any step."""


class ActionTarget(NamedTuple):
    """A file, test, symbol, number or command that a call is about."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class NextCall:
    """One call after the cut: what it is about, and the sentence that the agent said with it."""

    targets: tuple[ActionTarget, ...]
    reason: str
    """Its telling words; empty if it says none, or none that the history bears out."""
    reason_share: float
    """The largest share of its words that is within 40 words of the history."""


def next_calls(before: Readable, later: Sequence[ReadablePassage]) -> list[NextCall]:
    """Return the first calls after the cut that ask for something the history holds."""
    commands = frozenset(_commands_before(before))
    history = Survival(before.text)
    habitual = _habitual_words(before)
    shown = ""
    """What tools have shown since the cut: it needs no memory."""
    last_sentence = ""
    """What the agent said just before the call."""
    calls = []
    for passage in _until_three_calls(later):
        if isinstance(passage.part, ToolCall):
            targets = _targets(passage.part, before.text, shown, commands)
            reason = " ".join(_telling_words(last_sentence, habitual))
            share = history.share(reason)
            if targets or share >= HISTORY_SHARE:
                reason = reason if share >= HISTORY_SHARE else ""
                calls.append(NextCall(targets[:MOST_TARGETS], reason, share))
            last_sentence = ""
        elif passage.speaker is PassageSpeaker.AGENT and isinstance(passage.part, Text):
            last_sentence = (sentences(passage.text) or [""])[-1]
        elif passage.speaker is not PassageSpeaker.AGENT:
            shown += f"\n{passage.text}"
    return calls


def _telling_words(sentence: str, habitual: frozenset[str]) -> list[str]:
    """Return the words of a sentence that say what this step is about; none if they are too few."""
    words = [word for word in content_words(sentence) if word not in _PROCESS and word not in habitual]
    names = list(dict.fromkeys(words))
    return names if len(names) >= FEWEST_WORDS else []


def _habitual_words(before: Readable) -> frozenset[str]:
    """Return the words that the agent says again and again in this session, whatever it does."""
    passages = [
        passage
        for passage in before.passages
        if passage.speaker is PassageSpeaker.AGENT and isinstance(passage.part, Text)
    ]
    counts = Counter(word for passage in passages for word in set(content_words(passage.text)))
    return frozenset(word for word, count in counts.items() if count > max(4, HABITUAL_SHARE * len(passages)))


def _until_three_calls(later: Sequence[ReadablePassage]) -> Iterator[ReadablePassage]:
    """Yield what comes up to the third call; none after the user has asked for something else."""
    left = CALLS
    for passage in later:
        if left == 0 or is_request(passage):
            return
        if isinstance(passage.part, ToolCall):
            if _PLANS.fullmatch(passage.part.name):
                continue
            left -= 1
        yield passage


def _targets(call: ToolCall, before: str, shown: str, commands: frozenset[str]) -> tuple[ActionTarget, ...]:
    """Return the values and commands of a call that the history has and nothing has shown since."""
    targets: dict[ActionTarget, None] = {}
    for name, text in _arguments(call.input if call.input is not None else call.input_text, ""):
        if name in COMMAND_ARGUMENTS:
            for command in _simple_commands(text):
                if command in commands and command not in shown:
                    targets[ActionTarget("command", command)] = None
        if len(text) <= LONGEST_ARGUMENT:
            for value in spot(with_forward_slashes(text)):
                target = ActionTarget(value.kind, key_of(value.kind, value.value))
                if first_place(before, *target) >= 0 and first_place(shown, *target) < 0:
                    targets[target] = None
    return tuple(targets)


def _arguments(value: Json, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every argument, nested ones too."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _arguments(child, key)
    elif isinstance(value, list):
        if value and all(isinstance(child, str) for child in value):
            yield name, " ".join(map(str, value))  # a command as its words
        else:
            for child in value:
                yield from _arguments(child, name)
    elif isinstance(value, str):
        yield name, value


def _simple_commands(text: str) -> Iterator[str]:
    """Yield the commands of a line that are worth remembering: of ``cd x && uv run pytest`` the second."""
    for piece in _LINK.split(_HEREDOC.sub("", text)):
        flat = " ".join(_REDIRECTED.sub("", piece).split())
        if SHORTEST_COMMAND <= len(flat) <= LONGEST_ARGUMENT and not _EVERYDAY.fullmatch(flat):
            yield flat


def _commands_before(before: Readable) -> Iterator[str]:
    for passage in before.passages:
        if isinstance(passage.part, ToolCall):
            for name, text in _arguments(passage.part.input if passage.part.input is not None else "", ""):
                if name in COMMAND_ARGUMENTS:
                    yield from _simple_commands(text)


def targets_in_view(calls: Sequence[NextCall], text: str) -> list[bool]:
    """Return for each target whether the view names it."""
    flat = " ".join(text.split())
    asked = dict.fromkeys(target for call in calls for target in call.targets)
    return [key in flat if kind == "command" else first_place(text, kind, key) >= 0 for kind, key in asked]


def reasons_in_view(calls: Sequence[NextCall], survival: Survival) -> list[float]:
    """Return for each stated reason how much of what the history holds of it the view holds, too."""
    asked = (call for call in calls if call.reason)
    return [min(1.0, survival.share(call.reason) / call.reason_share) for call in asked]
