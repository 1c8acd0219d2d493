"""What a view must not present as open or as valid: finished requests, overruled words, deleted files.

If the user said "use tabs" and later "use spaces instead, after all", a view that lists ``use tabs`` among
the rules makes the agent undo its work. What is over is read from the messages by plain rules of the
measure's own; see ``docs/concepts/measure.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from clew.message import ToolCall
from clew_evals.layout import DONE, GOAL, OPEN, VALID, SummaryLayout, bare
from clew_evals.obligations import ToolExchange, ended_tasks, open_tasks
from clew_evals.passages import with_forward_slashes
from clew_evals.turns import EvalTurn, finished_turns, gists, goals_of, is_distinct, plain, sentences
from clew_evals.words import Survival, content_words, key_of, places

SAME_SHARE = 0.8
"""Of a request's words on a line, for the line to state it."""
GOAL_SHARE = 0.7
"""Of the goal's words in a text, for the text to state it."""
OVERRULING_SHARE = 0.4
"""Of an earlier sentence's words in one that overrules it..."""
SHARED_WORDS = 2
"""...and never fewer than these."""
LONGEST_SENTENCE = 300

_RULING = re.compile(
    r"\b(?:never|always|must|do not|don't|should(?: not|n't)?|let's|let us|use|only|make sure|keep|avoid"
    r"|we(?:'ll| will))\b",
    re.I,
)
_OVERRULING = re.compile(
    r"^\W*(?:ok\w*\W+|no\W+|hmm+\W+)?actually\b|\b(?:instead|thinking again|on second thoughts?|never ?mind"
    r"|scrap (?:the|that)|(?<!n['’]t )(?<!not )forget (?:about|the|that|what)|no longer|changed my mind"
    r"|rather than|not any ?more|ignore (?:the|that|my)|revert (?:that|the)|after all|you (?:may|can) now"
    r"|it(?:'s| is) (?:ok|fine) now to)\b",
    re.I,
)
REPEATED_SHARE = 0.85
"""A sentence with more of an earlier one's words repeats it."""
_REMOVAL = re.compile(r"(?:^|[\s;&|(])(?:git\s+rm|rm|unlink|Remove-Item)\s+((?:-\w+\s+)*)([^;&|\n)]+)")
_LINK = re.compile(r"&&|\|\||[;|\n]")
_NO_USE = re.compile(r"\s*(?:git|rm|ls|test|echo|cd)\b")
"""Commands that may name a file after its deletion."""
_WRITING = r"(?:>>?|\b(?:tee|touch|cp|mv|checkout|restore)\b[^;&|\n]*?)\s*['\"]?(?:[\w./~-]*/)?"
"""How a shell command writes a file, up to its name."""
_PATCHED_AWAY = re.compile(r"\*\*\* Delete File: ([^\s\"\\]+)")
_DELETION = re.compile(
    r"\b(?:deleted?|removed?|removing|deleting|rm|unlink|gone|no longer|Remove-Item|Delete File"
    r"|cleaned? up)\b",
    re.I,
)
_PATH = re.compile(r"[\w.@+~/-]*\w/[\w.@+-]*\w|[\w-][\w.-]*\.\w{1,5}")
_PATH_AT_END = re.compile(r"[\w.@+~/-]+$")
_NO_NAMES = ("", ".", "..", "~")
_WRITES = re.compile(r"write|create|edit|multiedit|str_replace|patch|notebookedit", re.I)


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """What is over at a cut."""

    goals: tuple[str, ...] = ()
    """Texts of which each states what the agent works on; empty if that cannot be said."""
    finished: tuple[EvalTurn, ...] = ()
    ended: tuple[str, ...] = ()
    """Tasks that the agent's plan marks as completed."""
    overruled: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    @property
    def is_asked(self) -> bool:
        """Whether anything could be presented wrongly."""
        return bool(self.finished or self.ended or self.overruled or self.deleted)


NOTHING_SETTLED = FinishedWork()


def find_finished_work(
    turns: Sequence[EvalTurn], done: Sequence[ToolExchange], later: str, *, new_request: bool
) -> FinishedWork:
    """Return what is over; ``later`` is what the agent does next, unless the user asks for something new."""
    still = Survival("\n".join(open_tasks(done)))
    ended = (task for task in ended_tasks(done) if is_distinct(task) and still.share(task) < GOAL_SHARE)
    return FinishedWork(
        () if new_request else goals_of(turns),
        tuple(finished_turns(turns, later)),
        tuple(ended),
        tuple(overruled_sentences(turns)),
        tuple(deleted_files(done)),
    )


def overruled_sentences(turns: Sequence[EvalTurn]) -> Iterator[str]:
    """Yield sentences of the user's that decide or rule something and that a later one takes back.

    The later sentence says so (instead, never mind, no longer, …) and shares the rarer of its words.
    """
    asked = [(i, sentence) for i, turn in enumerate(turns) for sentence in sentences(turn.asked)]
    asked = [(i, sentence) for i, sentence in asked if len(sentence) <= LONGEST_SENTENCE]
    overruling = [(i, set(content_words(text))) for i, text in asked if _OVERRULING.search(text)]
    for at, earlier in asked:
        words = set(content_words(earlier))
        if len(words) >= 3 and _RULING.search(earlier):
            later = (other for i, other in overruling if i > at)
            if any(_overrules(other, words) for other in later):
                yield earlier


def _overrules(later: set[str], earlier: set[str]) -> bool:
    """Whether a sentence speaks of the same as an earlier one without repeating it, by their words."""
    shared = len(earlier & later)
    return max(SHARED_WORDS, OVERRULING_SHARE * len(earlier)) <= shared < REPEATED_SHARE * len(earlier)


def deleted_files(done: Sequence[ToolExchange]) -> list[str]:
    """Return the files that calls deleted and no later call wrote again."""
    gone: dict[str, str] = {}
    """The paths by the name of the file alone."""
    for exchange in done:
        if exchange.failed:
            continue
        removed = {PurePosixPath(path).name: path for path in _removed_paths(exchange.call)}
        gone |= removed
        written = exchange.call.input_text
        for name in [name for name in gone if name in written and name not in removed]:
            if _is_written(exchange.call, name):
                del gone[name]
    return list(gone.values())


def _is_written(call: ToolCall, name: str) -> bool:
    """Whether a call writes a file of this name."""
    if _WRITES.search(call.name) or "*** Add File" in call.input_text:
        return True
    text = "\n".join(_strings(call)) if _is_shell(call) else ""
    return re.search(rf"{_WRITING}{re.escape(name)}(?![\w.-])", text) is not None


def _removed_paths(call: ToolCall) -> Iterator[str]:
    text = with_forward_slashes(call.input_text if call.input is None else "\n".join(_strings(call)))
    for match in _PATCHED_AWAY.finditer(text):
        yield match[1]
    for match in _REMOVAL.finditer(text) if _is_shell(call) else ():
        for word in match[2].split():
            path = word.strip("\"'")
            if (
                _PATH.fullmatch(path)
                and "*" not in path
                and "." in PurePosixPath(path).name
                and not _is_used(path, text[match.end() :])
            ):
                yield path


def _is_used(path: str, rest: str) -> bool:
    """Whether the rest of a command uses a file: then it was deleted to be made again."""
    return any(path in piece and not _NO_USE.match(piece) for piece in _LINK.split(rest))


def _is_shell(call: ToolCall) -> bool:
    data = call.input or {}
    return any(isinstance(data.get(name), str | list) for name in ("command", "cmd", "script"))


def _strings(call: ToolCall) -> Iterator[str]:
    for value in (call.input or {}).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield " ".join(str(value) for value in value)


# What a view says -------------------------------------------------------------------------------------


def states_goal(settled: FinishedWork, view: SummaryLayout) -> bool:
    """Whether the view states the goal: under a title of its own, or as the last that the user asks."""
    stated = [Survival(text) for text in (*(section.text for section in view.under(GOAL)), *view.requested)]
    return any(_states(survival, goal, GOAL_SHARE) for survival in stated for goal in settled.goals)


def presents_finished(settled: FinishedWork, view: SummaryLayout) -> list[str]:
    """Return the finished requests and tasks that the view lists as open, or as the goal."""
    lines = _lines_under(view, OPEN)
    presented = [turn.asked for turn in settled.finished if any(_states(line, turn.asked) for line in lines)]
    presented += [text for text in settled.ended if any(line.share(text) >= SAME_SHARE for line in lines)]
    if settled.goals and not states_goal(settled, view):
        texts = [section.text for section in view.under(GOAL)] or view.requested[:1]
        goals = [Survival(text) for text in texts]
        flat = plain(view.text)
        presented += [
            turn.asked
            for turn in settled.finished
            if any(_states(goal, turn.asked) for goal in goals) and not _is_reported(turn, flat)
        ]
    return list(dict.fromkeys(presented))


def _lines_under(view: SummaryLayout, titles: re.Pattern[str]) -> list[Survival]:
    """Return the lines of such sections that do not say themselves that something is over."""
    lines = (line for section in view.under(titles) for line in section.lines)
    return [Survival(plain(bare(line))) for line in lines if not DONE.search(line)]


def _states(text: Survival, request: str, share: float = SAME_SHARE) -> bool:
    return any(text.share(gist) >= share for gist in gists(request))


def _is_reported(turn: EvalTurn, flat: str) -> bool:
    """Whether the view also says what came of it: a sentence of its report."""
    return any(sentence in flat for sentence in sentences(turn.report) if is_distinct(sentence))


def presents_overruled(settled: FinishedWork, view: SummaryLayout) -> list[str]:
    """Return the overruled sentences that the view lists among what holds."""
    lines = _lines_under(view, VALID)
    return [text for text in settled.overruled if any(line.share(text) >= SAME_SHARE for line in lines)]


def presents_deleted(settled: FinishedWork, view: SummaryLayout) -> list[str]:
    """Return the deleted files that the view names without a word, on any line, of their deletion."""
    return [path for path in settled.deleted if _is_presented(view.text, path)]


def _is_presented(text: str, path: str) -> bool:
    key = key_of("path", path)
    lines = []
    for place in places(text, "path", key):
        start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        if _is_same(path, text[start : place + len(key)]):
            lines.append(text[start : end if end >= 0 else len(text)])
    return bool(lines) and not any(_DELETION.search(line) for line in lines)


def _is_same(path: str, line: str) -> bool:
    """Whether the path at the end of a line may be this one: ``a/src/x.ts`` is not ``b/src/x.ts``."""
    match = _PATH_AT_END.search(line)
    named = [name for name in (match[0] if match else "").split("/") if name not in _NO_NAMES]
    own = [name for name in path.split("/") if name not in _NO_NAMES]
    shared = min(len(named), len(own))
    return named[-shared:] == own[-shared:]
