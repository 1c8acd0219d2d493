"""The turns of a history as the measure reads them: what was asked, what the agent reported, what is done.

A turn begins with what the user asks, "fix the login bug", and ends before the user speaks again; what the
agent said last by then, "Fixed, all tests pass.", is its report. Read from the messages alone by a few plain
rules, apart from the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.message import Text
from clew_evals.passages import PassageSpeaker, ReadablePassage
from clew_evals.words import content_words

GO_AHEAD_WORDS = 6
"""A longer message says something of its own."""
GIST = 240
"""Characters at either end of a request by which it is recognised."""
FEWEST_WORDS = 4
"""A request or sentence with fewer words that carry meaning cannot be told apart."""
STANDALONE_WORDS = 6
"""A request with fewer words that carry meaning leans on what was said before."""
LONGEST_SENTENCE = 600

_GO_AHEAD = re.compile(
    r"(?:(?:yes|yep|yeah|y|ok(?:ay)?|sure|fine|great|good|perfect|nice|cool|thanks|thank you|please|lgtm"
    r"|right|correct|exactly|continue|proceed|resume|go on|go ahead|keep going|carry on|do it|do that|do this"
    r"|go for it|go|next|ready|looks good|sounds good|try again|retry|again|approved?|agreed|start"
    r"|finish(?: it)?|implement(?: it| this| that| the plan)?|with (?:it|that|the implementation)|w/|now|then"
    r"|and|so|just|both|all|first|second|third|the|one|option|let['’]?s|done|do|give it a (?:try|go)"
    r"|try (?:it|that|this)|try|this|that|[a-d]|\d{1,2})(?:\W+|$))+",
    re.IGNORECASE,
)
_INTERRUPTED = re.compile(r"\[Request interrupted[^\]]*\]|stop\W*|wait\W*", re.IGNORECASE)
_PLAN = re.compile(
    r"\s*(?:please )?(?:implement|execute|follow) (?:the|this) (?:following )?plan\b", re.IGNORECASE
)
_HEADED = re.compile(
    r"^\W*(?:task|request|question|goal|objective)\W*$\n|^(?:task|request|question|goal): ",
    re.IGNORECASE | re.MULTILINE,
)
_COMMAND = re.compile(r"/[\w:-]+\s*")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|(?=\n)|$)")
_FENCED = re.compile(r"(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
_STEP = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|now|so|next|then)[,.!]?\s+)*(?:let me|let['’]s)\b(?! know)",
    re.IGNORECASE,
)
"""How a sentence begins that announces a step; "I will …" may be an offer."""
_DONE = re.compile(
    r"\b(?:done|fixed|added|implemented|completed?|committed|pushed|created|removed|deleted|updated|renamed"
    r"|merged|resolved|refactored|wrote|written|changed|moved|opened|all (?:tests|checks) pass"
    r"|tests? pass(?:es|ed)?|passing|ready|finished|now (?:works?|shows?|uses?|returns?|has|have))\b|✅|✓",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not (?:yet )?(?:done|finished|fixed|working)|still (?:fail|broken|open|to do)|could not|couldn't"
    r"|unable to|failed to|would you like|do you want|shall i|should i|let me know (?:if|which)"
    r"|which (?:one|option))",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"^\W*(?:no\b|nope|not\b|hmm+|still\b|but\b|wrong|that(?:'s| is) (?:not|wrong)|are you sure|why\b"
    r"|i (?:still|don't)|it (?:still|doesn't|does not|fails)|doesn't|does not|did(?:n't| not)|undo|revert"
    r"|there (?:is|are) (?:still|an?)|you (?:missed|forgot|did not|didn't)|wait)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EvalTurn:
    """What the user asked, and the last that the agent said before the user spoke again."""

    asked: str
    report: str
    """Empty if the agent said nothing."""
    ended: bool
    """The user spoke again: the agent's last words were its report."""

    @property
    def is_go_ahead(self) -> bool:
        """Whether it asks for nothing of its own: a consent, a choice, an interruption, a bare command."""
        text = self.asked.strip()
        if _INTERRUPTED.fullmatch(text) or _COMMAND.fullmatch(text):
            return True
        return len(text.split()) <= GO_AHEAD_WORDS and _GO_AHEAD.fullmatch(text) is not None


def turns_of(passages: Sequence[ReadablePassage]) -> list[EvalTurn]:
    """Return the turns of a history, in order; several messages of the user in a row are one."""
    turns: list[EvalTurn] = []
    asked: list[ReadablePassage] = []
    last_said: ReadablePassage | None = None
    has_acted = False
    for passage in passages:
        if is_request(passage):
            if has_acted and asked:
                turns.append(_turn(asked, last_said, ended=True))
                asked = []
            asked.append(passage)
            last_said, has_acted = None, False
        elif passage.speaker is PassageSpeaker.AGENT:
            has_acted = True
            if isinstance(passage.part, Text) and passage.text.strip():
                last_said = passage
    if asked:
        turns.append(_turn(asked, last_said, ended=False))
    return turns


def is_request(passage: ReadablePassage) -> bool:
    """Whether this is the user's word: spoken, or a plan that a harness put in their place."""
    if not isinstance(passage.part, Text) or not passage.text.strip():
        return False
    return passage.speaker is PassageSpeaker.USER or (
        passage.speaker is PassageSpeaker.MACHINE and _PLAN.match(passage.text) is not None
    )


def _turn(asked: Sequence[ReadablePassage], report: ReadablePassage | None, *, ended: bool) -> EvalTurn:
    words = "\n".join(passage.text.strip() for passage in asked)
    return EvalTurn(words, report.text.strip() if report else "", ended)


def goals_of(turns: Sequence[EvalTurn]) -> tuple[str, ...]:
    """Return what the agent works on at the end, as texts of which each states it: the last request first.

    A go-ahead ("yes, do it") means the request that it continues, or what the agent had just proposed. A
    request of a few words ("commit this") says little alone: the one before states the goal, too.
    """
    asked: list[str] = []
    proposed: list[str] = []
    for i in range(len(turns) - 1, -1, -1):
        turn = turns[i]
        if not turn.is_go_ahead:
            asked.append(turn.asked)
            if len(set(content_words(turn.asked))) >= STANDALONE_WORDS:
                break
        elif i and turns[i - 1].report:
            texts = sentences(turns[i - 1].report)
            proposed += [text for text in (*texts[:2], *texts[-3:]) if is_distinct(text)]
    return tuple(dict.fromkeys((*asked, *proposed))) if asked else ()


def finished_turns(turns: Sequence[EvalTurn], later: str) -> list[EvalTurn]:
    """Return the turns whose request was done: reported so, not objected to, not worked on afterwards.

    ``later`` is what the agent says and does next. The last request is never among them.
    """
    goals = set(goals_of(turns))
    words = frozenset(content_words(later))
    result = []
    for turn, following in pairwise(turns):
        asked = set(content_words(turn.asked[: 2 * GIST]))
        worked_on = len(asked & words) * 2 >= len(asked)
        if (
            turn.asked not in goals
            and not turn.is_go_ahead
            and is_distinct(turn.asked)
            and is_done(turn.report)
            and not _COMPLAINT.match(following.asked)
            and not following.is_go_ahead
            and not worked_on
        ):
            result.append(turn)
    return result


def is_done(report: str) -> bool:
    """Whether a report says that the work is done, and asks for nothing more."""
    if report.endswith(":"):
        return False  # the beginning of something
    return _DONE.search(report) is not None and _NOT_DONE.search(report[-2 * GIST :]) is None


def gists(request: str) -> list[str]:
    """Return the texts by which a request is recognised: its beginning, and its end if it is long.

    Of one that has a heading for it, also what comes after: the rest is a frame.
    """
    flat = " ".join(request.split())
    names = [flat[:GIST]] if len(flat) <= 2 * GIST else [flat[:GIST], flat[-GIST:]]
    headed = _HEADED.search(request)
    return [*names, " ".join(request[headed.end() :].split())[:GIST]] if headed else names


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of prose, without code blocks, marks of lists and emphasis."""
    result = []
    for match in _SENTENCE.finditer(_FENCED.sub("", text)):
        line = plain(match[0])
        if line:
            result.append(line)
    return result


def plain(text: str) -> str:
    """Return a text without the marks of lists, headings and emphasis, on one line."""
    flat = " ".join(text.replace("**", "").replace("__", "").replace("`", "").split())
    return re.sub(r"^(?:[-*+•#>|~]+|\d+[.)])\s*", "", flat).strip()


def is_distinct(text: str) -> bool:
    """Whether a text has enough words to be recognised by."""
    return len(set(content_words(text))) >= FEWEST_WORDS


def reports_of(turns: Sequence[EvalTurn]) -> list[list[str]]:
    """Return the agent's end-of-turn reports, each as its sentences of enough words."""
    ended = (sentences(turn.report) for turn in turns if turn.ended and turn.report)
    said = (report[:-1] if _announces(report) else report for report in ended)
    split = (
        [text for text in report if len(text) <= LONGEST_SENTENCE and is_distinct(text)] for report in said
    )
    return [report for report in split if report]


def _announces(report: Sequence[str]) -> bool:
    """Whether a text ends with what the agent is about to do: then the user interrupted it."""
    return bool(report) and (report[-1].endswith(":") or _STEP.match(report[-1]) is not None)


def later_words(passages: Sequence[ReadablePassage], most: int) -> Iterator[str]:
    """Yield what the agent says and does next: up to so many messages, or until the user speaks."""
    first = passages[0].turn if passages else 0
    for passage in passages:
        if passage.turn - first >= most or is_request(passage):
            return
        if passage.speaker is PassageSpeaker.AGENT:
            yield passage.text
