"""What a digest is made from, and its mandatory part: the request in progress, the goal, and open work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clew.compaction.asked import Asked
from clew.compaction.instructions import whole_lines
from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import Claim, ClaimKind, Digest, Topic
from clew.compaction.propose.pointed_to import orders_claim
from clew.compaction.propose.request_text import outline, request_excerpt
from clew.compaction.propose.tail import CHARACTERS_PER_TOKEN
from clew.compaction.quote_claims import LONGEST_QUOTE, beginning, shorten_claim
from clew.ledger.approvals import cut_lines
from clew.ledger.ledger import Ledger
from clew.ledger.loop import OF_THE_USER, LoopKind
from clew.ledger.non_requests import continues
from clew.message import Cite, Item, Message, Trust, words
from clew.message.text import once

LONGEST_IN_VIEW = 240
"""Characters of a long request in progress if the view shows the whole; a usual one is stated whole."""
LONGEST_TITLE, LONGEST_OUTLINE = 400, 1_500
"""Characters shown of a plan that a later one replaced, its title and what it was for; and of one that was
carried out, its headings and steps. Chosen by hand."""
EARLY_WORDS_SHARE = 0.4
"""Part of that share for early statements of the user; chosen by hand."""
NEVER_LEFT_OUT = (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.FACT)
"""Mandatory kinds among the ledger's claims; its only facts are those a person asked to keep."""
LONGEST_SCRAP = 200
NOTHING_ASKED = Asked(Ledger(), (), lambda _: None)
TASK = f"{LoopKind.TODO.value}: "
"""How a claim on a task begins."""


@dataclass(frozen=True, slots=True)
class MandatoryLimits:
    """Limits on the mandatory part of a digest."""

    for_changes: int = 0
    """Tokens up to which the names of changed files are mandatory."""
    longest: int | None = None
    """Characters shown of the goal and of each open item; None for the usual length."""


@dataclass(frozen=True)
class DigestInput:
    """The input of a digest: its messages, the ledger's claims, and the earlier digest."""

    span: Sequence[Item]
    brief: MandatoryContent
    earlier: Digest | None
    """The digest that is folded into it."""
    terms: MandatoryLimits
    hidden: Sequence[Claim] = ()
    """The ledger's claims about recent messages whose words are not in the excerpts shown of these."""
    shortened: Mapping[str, Message] = field(default_factory=dict)
    """Recent messages with tool results that are shown shortened, by id."""
    asked: Asked = NOTHING_ASKED
    """What the user asked for."""
    for_request: int = 0
    """Characters for the request that the agent is working on, if it leaves the view."""
    instructions: Sequence[Claim] = ()
    """What system and developer messages behind the prompt say, oldest first."""

    @property
    def request(self) -> Claim | None:
        """The user's last message that asks for something, whole."""
        return self.asked.request

    @property
    def goal(self) -> Claim | None:
        """The goal, whole."""
        return self.asked.goal

    @once
    def gone(self) -> frozenset[str]:
        """The ids of the messages that leave the view, including those the earlier digest covers."""
        covered = self.earlier.covers if self.earlier else ()
        return frozenset((*covered, *[item.id for item in self.span]))

    @once
    def must(self) -> list[Claim]:
        """The mandatory claims."""
        changes = [claim for claim in self.brief.claims if claim.topic is Topic.FILES_CHANGED]
        few = sum(len(claim.text) for claim in changes) <= self.terms.for_changes * CHARACTERS_PER_TOKEN
        few_changes = changes if few else ()
        return [
            *self._instructions,
            *self._open_work(),
            *self._prompt,
            *self._plan,
            *self._decided,
            *self._early_words,
            *few_changes,
        ]

    @once
    def _instructions(self) -> list[Claim]:
        """What leaves the view of instructions, as far as the room for changed files allows."""
        left = self.terms.for_changes * CHARACTERS_PER_TOKEN
        kept = []
        for claim in reversed(self.instructions):
            shown = whole_lines(claim, left) if claim.sources[0].message in self.gone else None
            if shown:
                kept.append(shown)
                left -= len(shown.text)
        return kept[::-1]

    def _open_work(self) -> list[Claim]:
        """Return the goal and the open items; the request in progress as fully as its room allows."""
        claims = [claim for claim in self.brief.claims if claim.kind in NEVER_LEFT_OUT]
        if self.terms.longest is not None:
            claims = [shorten_claim(claim, self.terms.longest) for claim in claims]
        else:
            claims = [self._goal_in_room(one) for one in claims if not self._is_said_last(one)]
        request, last = self._request_in_room, self._said_last
        if request is None:
            past = [one for one in claims if self._is_earlier_goal(one)]
            rest = [*last, *(one for one in claims if one not in past)]
            if self._agreed or not past:
                return rest
            return [*self._last_request, *rest, *self._as_words(past)]
        same = [one for one in claims if self._is_past_goal(one, request)]
        said = self.request.text if self.request else ""
        again = [one for one in claims if one.kind is ClaimKind.OPEN and _repeats(one, request, said)]
        rest = [one for one in claims if one not in same and one not in again]
        past = [] if request.kind is ClaimKind.GOAL else self._as_words(same)
        return [*last, request, *self._offer, *rest, *past]

    def _as_words(self, goals: Iterable[Claim]) -> list[Claim]:
        """Return goals that were reported done as what the user said: they may say how to work, too.

        None if even the least does not fit otherwise: then the report names them as lost.
        """
        longest = self.terms.longest
        if longest is not None and not self.terms.for_changes:
            return []
        sources = {goal.sources[0].message for goal in goals}
        quotes = (
            claim
            for claim in self.brief.claims
            if claim.kind is ClaimKind.GOAL and claim.topic is None and claim.sources[0].message in sources
        )
        return [_as_said(quote, longest) for quote in quotes]

    @property
    def _last_request(self) -> list[Claim]:
        """What the user asked for last, as the goal: it was reported done, like the goal before it."""
        if self.request is None:
            return []
        return [
            shorten_claim(self.request._replace(kind=ClaimKind.GOAL), self.terms.longest or LONGEST_QUOTE)
        ]

    @once
    def _said_last(self) -> list[Claim]:
        """What the user said since the request: to a call, or agreeing to an offer of the agent."""
        if self.terms.longest is not None:
            return []
        to_call = self.asked.said_to_call
        return [shorten_claim(to_call, LONGEST_QUOTE)] if to_call else self._agreed

    @once
    def _agreed(self) -> list[Claim]:
        """The user's last message if it only agrees, and the offer it accepts if that leaves the view.

        Once the agent has chosen another way, they are part of the story.
        """
        if self.asked.agreement is None or self.terms.longest is not None:
            return []
        agreed, offer = self.asked.agreement
        if not self.asked.has_changed_course:
            return [agreed, *self._if_gone(offer)]
        said = (agreed._replace(kind=ClaimKind.USER), offer._replace(kind=ClaimKind.REPORT))
        return [claim for one in said for claim in self._if_gone(one)]

    def _is_said_last(self, claim: Claim) -> bool:
        """Whether an open item repeats what the user said last."""
        if not self._said_last:
            return False
        now = (one for one in self._said_last if one.kind is ClaimKind.NEXT)
        return claim.kind is ClaimKind.OPEN and any(
            _of_turn(claim, one.sources[0]) and _repeats(claim, one, one.text) for one in now
        )

    def _is_earlier_goal(self, claim: Claim) -> bool:
        """Whether a claim states a past goal, and the user has asked for something else since."""
        last = self.request
        if last is None or continues(last.text):
            return False
        return not _of_turn(claim, last.sources[0]) and self._is_past_goal(claim, last)

    @property
    def _offer(self) -> list[Claim]:
        """The agent's offer that a short request answers, if it leaves the view."""
        return self._if_gone(self.asked.answered) if self.terms.longest is None else []

    def _if_gone(self, claim: Claim | None) -> list[Claim]:
        return [claim] if claim and claim.sources[0].message in self.gone else []

    def _goal_in_room(self, claim: Claim) -> Claim:
        """Return the goal more fully than the ledger quotes it, if it leaves the view."""
        goal = self.goal
        if goal is None or claim.kind is not ClaimKind.GOAL or claim.topic is not None:
            return claim
        if self._is_replaced(claim):
            return shorten_claim(claim, LONGEST_TITLE)
        if self._is_carried_out(claim):
            steps = outline(goal.text, LONGEST_OUTLINE)
            return goal._replace(text=steps, verbatim=steps == goal.text, trust=claim.trust)
        if claim.verbatim:
            return claim
        room = max(self.for_request // 2, self.for_request - len(self.request.text if self.request else ""))
        whole = self._whole(goal)
        text = request_excerpt(whole.text, room) if goal.sources[0].message in self.gone else None
        if text is None or len(text) <= len(claim.text) or not _of_turn(claim, goal.sources[0]):
            return claim
        return whole._replace(text=text, verbatim=text == whole.text, trust=claim.trust)

    def _is_replaced(self, goal: Claim) -> bool:
        """Whether a goal is a plan of the agent for which a later one was approved."""
        return goal.trust < Trust.USER and self.asked.ledger.plan is not None

    def _is_carried_out(self, goal: Claim) -> bool:
        """Whether a goal is a plan that was reported done, and what was asked since may contradict it."""
        is_last = self.request is None or _of_turn(goal, self.request.sources[0])
        return goal.trust < Trust.USER and not is_last and not self._is_open(goal)

    def _whole(self, claim: Claim) -> Claim:
        """Return a request or goal with what a tool wrote around it; of both only the latest instructions."""
        if (
            self.request
            and claim is not self.request
            and self.request.sources[0].message in self.asked.in_full
        ):
            return claim
        whole = self.asked.in_full.get(claim.sources[0].message)
        return whole._replace(kind=claim.kind) if whole else claim

    def _is_past_goal(self, claim: Claim, request: Claim) -> bool:
        """Whether a claim states a goal that the request in progress repeats, or that was reported done."""
        if claim.kind is not ClaimKind.GOAL or claim.topic is not None:
            return False
        if request.kind is ClaimKind.GOAL:
            return True
        if self._is_open(claim):
            return False
        return claim.trust >= Trust.USER and claim.sources[0].message in self.gone

    def _is_open(self, goal: Claim) -> bool:
        """Whether a goal was not reported done, or a task set since is still on its list."""
        is_open = any(_of_turn(goal, item.source) for item in self.brief.open_items)
        return is_open or self._last_task > goal.sources[0].number

    @once
    def _last_task(self) -> int:
        """The number of the last message with a task that is still on its list; 0 if there is none."""
        tasks = (one for one in self.brief.claims if one.kind is ClaimKind.OPEN and one.text.startswith(TASK))
        return max((one.sources[0].number for one in tasks), default=0)

    @once
    def _request_in_room(self) -> Claim | None:
        """The request in progress as fully as its room allows; a short one if the view shows the whole.

        None if it is neither the goal nor open: then it was reported done.
        """
        if self.request is None:
            return None
        kinds = {
            one.kind for one in self.brief.claims if not one.topic and _of_turn(one, self.request.sources[0])
        }
        if kinds.isdisjoint((ClaimKind.GOAL, ClaimKind.OPEN)):
            return None
        request = self.request._replace(kind=ClaimKind.GOAL if ClaimKind.GOAL in kinds else ClaimKind.NEXT)
        if request.kind is ClaimKind.GOAL and self._is_replaced(request):
            return shorten_claim(request, self.terms.longest or LONGEST_TITLE)
        is_gone = request.sources[0].message in self.gone
        if is_gone and self.terms.longest is None:
            whole = self._whole(self.request)._replace(kind=request.kind)
            if text := request_excerpt(whole.text, self.for_request):
                return whole._replace(text=text, verbatim=text == whole.text)
        in_view = LONGEST_QUOTE if len(request.text) <= LONGEST_QUOTE else LONGEST_IN_VIEW
        return shorten_claim(request, self.terms.longest or (self.for_request if is_gone else in_view))

    @once
    def _prompt(self) -> list[Claim]:
        """The prompt of the slash command that the agent works on, if it leaves the view; as data."""
        prompt = self.asked.prompt if self.terms.longest is None and self._request_in_room else None
        return (
            [orders_claim(*prompt, self.for_request // 2)]
            if prompt and prompt[1].message in self.gone
            else []
        )

    @once
    def _plan(self) -> list[Claim]:
        """The approved plan: as many lines as fit into the room for changed files, at least its title."""
        if not self.terms.for_changes:
            return []
        most = max(self.terms.for_changes * CHARACTERS_PER_TOKEN, LONGEST_SCRAP)
        plans = (claim for claim in self.brief.claims if claim.topic is Topic.PLAN)
        return [claim._replace(text=cut_lines(claim.text, most)) for claim in plans]

    @once
    def _decided(self) -> list[Claim]:
        """What people decided, the latest first, as far as it fits into the room for changed files."""
        left = self.terms.for_changes * CHARACTERS_PER_TOKEN
        kept = []
        for claim in reversed(self.brief.claims):
            is_choice = claim.kind is ClaimKind.DECISION and claim.trust >= Trust.USER and claim.verbatim
            if is_choice and len(claim.text) <= left and not self.asks(claim):
                kept.append(claim)
                left -= len(claim.text)
        return kept[::-1]

    @once
    def _early_words(self) -> list[Claim]:
        """The user's early statements, as many as fit into a part of the room for names of changed files."""
        left = int(self.terms.for_changes * EARLY_WORDS_SHARE) * CHARACTERS_PER_TOKEN
        goals = "\n".join(one.text for one in self._open_work() if one.kind is ClaimKind.GOAL)
        kept = []
        for claim in self.brief.claims:
            if claim.kind is not ClaimKind.USER or claim.text.strip() in goals:
                continue
            if len(claim.text) <= left and not self.asks(claim):
                kept.append(claim)
                left -= len(claim.text)
        return kept

    def asks(self, claim: Claim) -> bool:
        """Whether a claim quotes the request in progress, which the digest states anyway."""
        return self._request_in_room is not None and claim.text in self._request_in_room.text


def _as_said(goal: Claim, longest: int | None) -> Claim:
    """Return the words of a goal as the user's, or their beginning: a quote has no omission note."""
    start = goal.text.partition("[… ")[0].rstrip()
    start = beginning(start, longest or len(start)).rstrip()
    cite = goal.sources[0]
    sources = goal.sources if start == goal.text else (cite._replace(end=cite.start + len(start)),)
    return goal._replace(kind=ClaimKind.USER, text=start, verbatim=True, sources=sources)


def _of_turn(claim: Claim, cite: Cite) -> bool:
    """Whether a claim comes from the message of a citation."""
    return claim.sources[0].message == cite.message


def _repeats(claim: Claim, request: Claim, whole_request: str) -> bool:
    """Whether an open item only repeats what a request says, or its beginning."""
    kind, _, text = claim.text.partition(": ")
    whole, shown = text.rstrip("…"), request.text.rstrip("…")
    if kind not in OF_THE_USER:
        return False
    is_beginning = text.endswith("…") or whole_request.startswith(whole)
    return whole in shown or (is_beginning and whole.startswith(shown))


def last_words(span: Iterable[Item]) -> list[Claim]:
    """Return a line of the last message that has words, for a digest with nothing else in it."""
    for item in span:
        for j, part in enumerate(item.message.parts):
            text = words(part).strip().split("\n", 1)[0][:LONGEST_SCRAP].strip()
            if text:
                return [Claim("", ClaimKind.FACT, text, (Cite(item.id, j),), part.trust, verbatim=True)]
    return []
