"""What the user asked for, quoted for a digest: the request in progress, the goal, and short answers.

"/review this branch" is one request, although a harness keeps the command and its arguments apart; "yes" says
something only with the offer that it accepts; and the user may answer a call instead of its tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from clew.compaction.plan import Claim, ClaimKind
from clew.ledger.announcements import changes_course
from clew.ledger.ledger import Ledger
from clew.ledger.loop import OF_THE_USER
from clew.ledger.non_requests import is_command
from clew.ledger.turns import Turn
from clew.message import Cite, Item, Message, Role, Text, ToolResult, Trust, words
from clew.message.text import lazy_pattern, once
from clew.rules.request_heading import request_span
from clew.rules.speech import command_before, is_prompt_of_command

SHORT_REQUEST, LONGEST_OFFER = 80, 1_000
"""Characters of a request that is shown with the offer it answers, and of that offer; chosen by hand."""
LONG_SINCE = 40
"""Messages after a change of course for which it must have lasted: it may have been about a detail. Chosen by
hand."""


@dataclass(frozen=True)
class Asked:
    """What the user asked for in a session."""

    ledger: Ledger
    view: Sequence[Item]
    find: Callable[[str], Message | None] = field(compare=False)
    """Finds any message of the session in its original form."""

    @once
    def request(self) -> Claim | None:
        """The user's last message that asks for something, whole; a command only if the agent works on it."""
        turns = (turn for turn in reversed(self.ledger.turns.all) if turn.asks)
        return next(filter(None, map(self._quote, turns)), None)

    @once
    def goal(self) -> Claim | None:
        """The goal, whole."""
        goal = self.ledger.goal
        if goal is None:
            return None
        turns = (turn for turn in self.ledger.turns.all if turn.ask.message == goal.source.message)
        whole_claim = next(filter(None, map(self._quote, turns)), None)
        if whole_claim is None or goal.quote not in whole_claim.text:  # of a plan, say
            whole_claim = Claim("", ClaimKind.GOAL, goal.quote, (goal.source,), goal.trust, verbatim=True)
        return whole_claim._replace(kind=ClaimKind.GOAL, trust=goal.trust)

    @once
    def said_to_call(self) -> Claim | None:
        """The user's last words if they refuse a call that has not been made since.

        They may be a question or say how to do it; the request in progress is still what they are about.
        """
        last = self.ledger.turns.all[-1:]
        cite = last[0].ask if last and last[0].asks else None
        if cite is None or cite.message not in self._waiting or not self._is_result(cite):
            return None
        in_force = {one.answered.message for one in self.ledger.refusals if one.answered}
        text = self._text_at(cite).strip()
        if not text or cite.message not in in_force:
            return None
        return Claim("", ClaimKind.NEXT, text, (cite,), Trust.USER, verbatim=True)

    @once
    def agreement(self) -> tuple[Claim, Claim] | None:
        """The user's last message if it only agrees, and the agent's offer that it accepts.

        None if the agent has answered it and was then asked for something by its harness.
        """
        last = self.ledger.turns.all[-1:]
        claim = self._quote(last[0]) if last and not last[0].asks else None
        if last and self._is_over(last[0]):
            return None
        offer = self._answered_by(claim) if claim else None
        return (claim, offer) if claim and offer else None

    @once
    def answered(self) -> Claim | None:
        """The end of the agent's report that a short request answers: "do that" says little without it."""
        return self._answered_by(self.request) if self.request else None

    @once
    def in_full(self) -> dict[str, Claim]:
        """The whole texts of request and goal, by message, if a tool wrote instructions around them."""
        said = ((one, self._with_surroundings(one)) for one in (self.request, self.goal) if one)
        return {one.sources[0].message: whole for one, whole in said if whole is not one}

    @once
    def prompt(self) -> tuple[str, Cite] | None:
        """The prompt that a harness put after the slash command of the user's last request."""
        if self.request is None:
            return None
        cite = self.request.sources[0]
        place = Cite(f"m{cite.number + 1}")
        before, message = self.find(cite.message), self.find(place.message)
        if before is None or message is None or not is_prompt_of_command(before, message):
            return None
        texts = ((n, part.text) for n, part in enumerate(message.parts) if isinstance(part, Text))
        return next(((text, place._replace(part=n)) for n, text in texts if text.strip()), None)

    @once
    def has_changed_course(self) -> bool:
        """Whether the agent has long since chosen another way than the one that the user agreed to last."""
        if self.agreement is None or not self.view:
            return False
        name = self.agreement[0].sources[0].message
        since = list(takewhile(lambda item: item.id != name, reversed(self.view)))[LONG_SINCE:]
        said = (item.message for item in since if item.message.role is Role.ASSISTANT)
        return any(changes_course(message.text) for message in said)

    def _is_over(self, turn: Turn) -> bool:
        """Whether the agent's last words of a turn came with no call, and it was told something since."""
        name = turn.report.message if turn.report else ""
        report = next((item.message for item in reversed(self.view) if item.id == name), None)
        if report is None or any(report.calls):
            return False
        later = reversed(list(takewhile(lambda item: item.id != name, reversed(self.view))))
        return any(item.message.role is Role.USER and not any(item.message.results) for item in later)

    def _quote(self, turn: Turn) -> Claim | None:
        """Return the words of a turn's request, with the command whose arguments they are."""
        cite = turn.ask
        message = self.find(cite.message)
        text = self._text_at(cite).strip()
        if message is None or not text or self._is_result(cite):
            return None  # the user's words in a result, such as the reason of a refusal, answer that call
        if is_command(text) and cite.message not in self._waiting:
            return None
        trust = min(message.parts[cite.part].trust, Trust.USER)
        if command := command_before(message, cite.part):
            return Claim("", ClaimKind.NEXT, f"{command} {text}", (cite,), trust)
        return Claim("", ClaimKind.NEXT, text, (cite,), trust, verbatim=True)

    def _with_surroundings(self, request: Claim) -> Claim:
        """Return the whole text that a request is the last section of, if a tool wrote the rest around it."""
        cite = request.sources[0]
        text = self._text_at(Cite(cite.message, cite.part)) if cite.start else ""
        asked = request_span(text)
        if asked is None or not asked[0] <= cite.start < asked[1]:
            return request
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return request._replace(text=text[start:end], sources=(Cite(cite.message, cite.part, start, end),))

    def _answered_by(self, request: Claim) -> Claim | None:
        """Return the offer that a short request ("yes, do that") accepts: the end of the report before it."""
        if len(request.text) > SHORT_REQUEST or is_command(request.text):
            return None
        turns = self.ledger.turns.all
        asked = next((i for i, turn in enumerate(turns) if turn.ask == request.sources[0]), 0)
        cite = turns[asked - 1].report if asked else None
        text = self._text_at(cite).rstrip() if cite else ""
        start = _offer_start(text)
        if not cite or not 0 < len(text) - start <= LONGEST_OFFER:
            return None
        if not _WORDS.search(_LINK.sub("", text[start:])):
            return None
        place = cite._replace(start=cite.start + start, end=cite.start + len(text))
        return Claim("", ClaimKind.NEXT, text[start:], (place,), Trust.ASSISTANT, verbatim=True)

    def _text_at(self, cite: Cite) -> str:
        message = self.find(cite.message)
        if message is None or cite.part >= len(message.parts):
            return ""
        return words(message.parts[cite.part])[cite.start : cite.end]

    def _is_result(self, cite: Cite) -> bool:
        message = self.find(cite.message)
        return message is not None and isinstance(message.parts[cite.part], ToolResult)

    @once
    def _waiting(self) -> frozenset[str]:
        """The messages with open requests and questions of the user."""
        loops = self.ledger.loops.open
        return frozenset(loop.source.message for loop in loops if loop.kind in OF_THE_USER)


def _offer_start(text: str) -> int:
    """Return where the offer at the end of a report begins: its last paragraph, with the options above it.

    "Would you like to: 1. … 2. …", then "What next?" as a paragraph of its own: "1" answers both.
    """
    starts = [0, *(found.end() for found in _BETWEEN_PARAGRAPHS.finditer(text))]
    start = starts.pop()
    for above in reversed(starts):
        introduces = _OPTION.match(text, start) and text[:start].rstrip().endswith((":", "?"))
        if len(text) - above > LONGEST_OFFER or not (introduces or _OPTION.search(text, above, start)):
            break
        start = above
    return start


_LINK = lazy_pattern(r"https?://\S+")
_WORDS = lazy_pattern(r"[^\W\d_]+[\s,]+[^\W\d_]+|[?？]|[\u3040-\u30ff\u4e00-\u9fff]{6}")
"""Two words in a row, or a question: what has neither offers nothing, such as a list of links."""
_BETWEEN_PARAGRAPHS = lazy_pattern(r"\n[ \t]*\n\s*")
_OPTION = lazy_pattern(
    r"^[ \t]*(?:[-*•] )?\**(?:\(?(?:\d{1,2}|[A-Za-z])[.):]\**\s"
    r"|(?:Option|Approach|Choice|Alternative) (?:\d|[A-Z])\b)",
    re.MULTILINE,
)
"""The beginning of a line with a numbered or lettered option."""
