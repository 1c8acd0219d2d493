"""Have a model write the prose of a digest: ask, parse, retry if that may help, and always end.

What cannot be obtained is left out and reported: a failed portion is not in ``Written.read``; if nothing
could be obtained, ``SummaryFailed`` says why, and the digest is made without a model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from clew.compaction.plan import Claim
from clew.compaction.propose.brief import Outline, Written
from clew.compaction.propose.summary.claims import (
    Source,
    claims_of,
    claims_that_fit,
    distinct,
    read_answer,
    sources_of,
    without_open_steps,
)
from clew.compaction.propose.summary.prompt import (
    LIMITS,
    PROMPT_VERSION,
    Limits,
    SessionRequest,
    SummaryTask,
    ask_tokens,
    portion_room,
    question_room,
    session_ask,
    transcript_ask,
)
from clew.compaction.propose.summary.transcript import LEAST_ROOM, Portion, pieces_of, portions
from clew.errors import ContextTooLong, ModelError, ModelRefused, ModelTimeout, SummaryFailed
from clew.message import Message, Role, Thinking, words
from clew.providers.model import Ask, Reply, Steps, Stop
from clew.tokens import TokenCounter

LEAST_TOKENS = 60
"""Room for prose below which no model is asked..."""
LEAST_PORTION = 120
"""...and the least of it that each portion of the span gets."""
MOST_HALVINGS = {ContextTooLong: 6, ModelTimeout: 1}
"""How often a portion is split after such an error; a timeout is too slow to try often."""


def write(  # noqa: PLR0913 - the whole task in one call; it is one value from there on
    outline: Outline,
    *,
    model_name: str,
    window_tokens: int,
    counter: TokenCounter,
    focus: str | None = None,
    request: SessionRequest | None = None,
    misses: Sequence[str] = (),
    limits: Limits = LIMITS,
) -> Steps[Written]:
    """Ask a model for the claims of a digest; raise ``SummaryFailed`` if it returns none.

    ``request`` is the session's own request: if it contains all of the span and fits the window, the question
    is appended to it and read from the cache. ``misses`` are the findings about an earlier attempt.
    """
    task = SummaryTask(
        outline, model_name, window_tokens, counter, focus or "", request, tuple(misses), limits
    )
    effort = _Effort(limits)
    if not outline.span or outline.room_tokens < LEAST_TOKENS:
        raise SummaryFailed(f"{len(outline.span)} messages for {outline.room_tokens:,} tokens")
    claims, read = yield from _by_session(task, effort)
    if not read:
        claims, read = yield from _by_transcript(task, effort)
    brief = outline.brief
    known = (*(pin.quote for pin in brief.pins), *(claim.text for claim in brief.claims))
    written_claims = claims_that_fit(distinct(claims, known), outline.room_tokens, counter)
    if not written_claims:
        raise SummaryFailed("; ".join(effort.problems) or "it has nothing to say")
    return Written(written_claims, model_name, PROMPT_VERSION, read, tuple(effort.problems))


@dataclass(slots=True)
class _Effort:
    """Calls made so far, and what went wrong."""

    limits: Limits
    calls: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def spent(self) -> bool:
        return self.calls >= self.limits.calls


_Outcome: TypeAlias = list[Claim] | ModelError
"""The claims, or why there are none."""
_Read: TypeAlias = tuple[list[Claim], tuple[str, ...]]
"""Claims, and the ids of the messages they were written from."""


# Appended to the session's own request --------------------------------------------------------------


def _by_session(task: SummaryTask, effort: _Effort) -> Steps[_Read]:
    """Ask once after the session's own request, if possible; if that fails, the transcript is tried."""
    request = task.request
    if request is None or not _holds(request.messages, task):
        return [], ()
    ask = session_ask(task, request)
    if ask_tokens(ask, task) > question_room(task):
        return [], ()
    outcome = yield from _ask_for_claims(lambda _: ask, sources_of(task.outline), effort, tries=1)
    if isinstance(outcome, ModelError):
        effort.problems.append(f"behind the session: {_what_happened(outcome)}")
        return [], ()
    return outcome, tuple(item.id for item in task.outline.span)


def _holds(messages: Iterable[Message], task: SummaryTask) -> bool:
    """Whether a request shows every message of the span, in order; its thinking may be missing."""
    sent = map(_spoken, messages)
    return all(_spoken(item.message) in sent for item in task.outline.span)


def _spoken(message: Message) -> tuple[Role, list[str]]:
    return message.role, [words(part) for part in message.parts if not isinstance(part, Thinking)]


# With the transcript in the question -----------------------------------------------------------------


def _by_transcript(task: SummaryTask, effort: _Effort) -> Steps[_Read]:
    """Show the span under marks, in as many portions as needed."""
    room = portion_room(task)
    if room < LEAST_ROOM:
        raise SummaryFailed(f"a window of {task.window_tokens:,} tokens has no room for the question")
    planned = portions(pieces_of(task.outline), room, task.counter.count_text)
    skipped = max(0, len(planned) - (task.limits.calls - effort.calls))
    unread, waiting = planned[:skipped], deque(planned[skipped:])
    known = sources_of(task.outline)
    total = sum(portion.tokens for portion in planned)
    claims: list[Claim] = []
    lost = 0
    while waiting and lost < task.limits.losses and not effort.spent:
        portion = waiting.popleft()
        room = max(LEAST_PORTION, task.outline.room_tokens * portion.tokens // total)
        shown = {piece.name: known[piece.name] for piece in portion.pieces if piece.name in known}
        ask = partial(transcript_ask, task, portion, room)
        outcome = yield from _ask_for_claims(ask, shown, effort, tries=1 + task.limits.retries)
        if isinstance(outcome, list):
            claims += outcome if portion.ends else without_open_steps(outcome)
            lost = 0
        elif smaller := _smaller(portion, outcome, task):
            waiting.extendleft(reversed(smaller))
        else:
            effort.problems.append(f"{_names(portion)}: {_what_happened(outcome)}")
            unread.append(portion)
            lost += 1
    if unasked := skipped + len(waiting):
        effort.problems.append(f"{unasked} of the parts were not asked about")
    missing = {piece.owner for portion in (*unread, *waiting) for piece in portion.pieces}
    return claims, tuple(item.id for item in task.outline.span if item.id not in missing)


def _smaller(portion: Portion, error: ModelError, task: SummaryTask) -> Sequence[Portion]:
    """Split a portion that was too long in two, if that may still help."""
    if portion.halvings >= MOST_HALVINGS.get(type(error), 0):
        return ()
    return portion.halves(task.counter.count_text)


def _names(portion: Portion) -> str:
    return "–".join(dict.fromkeys((portion.pieces[0].name, portion.pieces[-1].name)))


def _what_happened(error: ModelError) -> str:
    """Return what happened, without the advice."""
    return str(error).partition(";")[0]


# One question ----------------------------------------------------------------------------------------


def _ask_for_claims(
    ask: Callable[[Sequence[str]], Ask], shown: Mapping[str, Source], effort: _Effort, tries: int
) -> Steps[_Outcome]:
    """Ask until there are claims or no calls left; each time with what was wrong before."""
    problem = ModelError("no call is left", advice="")
    more: list[str] = []
    for _ in range(tries):
        if effort.spent:
            break
        effort.calls += 1
        try:
            reply = yield ask(more)
        except (ContextTooLong, ModelTimeout, ModelRefused) as error:
            return error  # a retry would fail the same way
        except ModelError as error:
            problem = error
            continue
        written_claims = read_answer(reply.text)
        claims = list(claims_of(written_claims or (), shown))
        if claims or written_claims == []:
            return claims
        problem = ModelError(_useless(reply, written_claims is not None), advice="")
        more = [f"The answer could not be used: {problem.detail}."]
    return problem


def _useless(reply: Reply, claimed: bool) -> str:
    """Say why an answer could not be used."""
    if claimed:
        return "none of its claims cites a message that was shown, or quotes the user word for word"
    if reply.stop is Stop.REFUSED:
        return "it declined"
    if reply.called:
        return "it called a tool"
    if not reply.text.strip():
        return "it thought and said nothing" if reply.thought else "it said nothing"
    if reply.stop is Stop.MAX_TOKENS:
        return "it was cut before its first claim ended"
    return "it holds no claims in JSON"
