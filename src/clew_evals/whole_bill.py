"""The whole bill of a real session, three ways: as it was, without compaction, and with clew.

The requests of a session are replayed with the prices of its models. What the provider reported is taken as
it is; the two other ways differ from it only in what was in view. They assume that the session went on
alike, that a request finds as much of its unchanged beginning in the cache as the real one did (all of it
within five minutes of the last request, if that is not known), and that the same share of the rest was
written to it. Sub-agents are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clew.budget import DEFAULT, Compact, Policy, Region
from clew.budget.cost import USUAL_OUTPUT, long_input, long_output
from clew.errors import BudgetExceeded, CompactionRefused
from clew.message import Message
from clew.session import compact
from clew.session.gauge import Gauge
from clew.tokens import ModelInfo, TokenCounter, counter_for
from clew.transcripts import Entry, Transcript
from clew_evals.session_requests import SessionRequest, session_requests

LEAST_POINTS = 4
"""Requests that are needed to fit how the provider counts; with fewer, clew's own count is taken."""
SCALES = (0.6, 2.0)
"""How far the provider's count of a message may lie from clew's before it is taken for something else."""

LEAST_TARGET = 2_000
"""Tokens that messages keep after a compaction where tools and system prompt alone fill the target."""


@dataclass(frozen=True, slots=True)
class SessionBill:
    """What a session cost, in US dollars; in millions of input tokens if a price is not known."""

    input: float = 0.0
    cache_reads: float = 0.0
    cache_writes: float = 0.0
    output: float = 0.0
    summaries: float = 0.0
    compactions: int = 0
    largest_request: int = 0
    over_window: int = 0
    """Requests that are larger than the model's window: they would have been refused."""
    refused: int = 0
    """Compactions that clew gave up."""

    @property
    def total(self) -> float:
        """Return the whole bill."""
        return self.input + self.cache_reads + self.cache_writes + self.output + self.summaries


@dataclass(frozen=True, slots=True)
class Bills:
    """One session, billed three ways."""

    session: str
    models: tuple[str, ...]
    requests: int
    reported: int
    """Requests whose tokens the provider reported; the others are estimated."""
    priced: bool
    """False if the price of a model is not known: everything is in millions of input tokens."""
    as_it_was: SessionBill
    uncompacted: SessionBill
    with_clew: SessionBill

    @property
    def saving(self) -> float:
        """Return what clew saves against the session as it was; below zero if it costs more."""
        return self.as_it_was.total - self.with_clew.total


class _Prompt(NamedTuple):
    """The tokens of one request by how they are billed."""

    tokens: float
    """All of them."""
    read: float = 0.0
    """Found in the provider's cache."""
    written: float = 0.0
    """Written to the cache."""

    @property
    def plain(self) -> float:
        """Return those that the cache has no part in."""
        return max(0.0, self.tokens - self.read - self.written)


def bills_of(session: Transcript, *, window: int | None = None, policy: Policy = DEFAULT) -> Bills | None:
    """Bill a session; None if it has no requests. ``window`` is the one that clew keeps to.

    By default clew compacts where the tool did: at the size of its first compaction, or, if it made none, as
    full as clew lets the model's window become.
    """
    messages = session.full()
    requests = list(session_requests(session))
    if not requests:
        return None
    real = _real_prompts(requests)
    named = dict.fromkeys(request.model.id for request in requests)
    window = window or _tool_window(requests, real, policy)
    return Bills(
        session=session.id,
        models=tuple(named),
        requests=len(requests),
        reported=sum(request.usage is not None for request in requests),
        priced=_is_priced(requests),
        as_it_was=_add_up(requests, real, compactions=sum(bool(item.compacted) for item in requests)),
        uncompacted=_bill_uncompacted(requests, real),
        with_clew=_bill_with_clew(requests, real, messages, window, policy),
    )


# As it was -------------------------------------------------------------------------------------------


def _real_prompts(requests: Sequence[SessionRequest]) -> list[_Prompt]:
    """Return the prompts as they were: reported, or estimated as if the cache had worked."""
    scale = _token_scale(requests)
    prompts: list[_Prompt] = []
    for request in requests:
        usage = request.usage
        if usage:
            prompts.append(_Prompt(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens))
            continue
        unchanged = prompts[-1].tokens if prompts and not request.compacted else scale.overhead
        tokens = scale.request_tokens(request.view_tokens)
        read = min(unchanged, tokens) if request.warm and prompts else 0.0
        prompts.append(_Prompt(tokens, read, _written(request.model, tokens - read)))
    return prompts


def _written(model: ModelInfo, tokens: float) -> float:
    """Return what of new tokens is billed as written to the cache: all, if that has a price of its own."""
    return tokens if model.cache_write > 1.0 else 0.0


class _TokenScale(NamedTuple):
    """How the provider's count of a request follows from clew's count of its messages."""

    factor: float
    overhead: float
    """Tokens of what is sent with the messages: the system prompt and the tools."""

    def request_tokens(self, message_tokens: float) -> float:
        """Return what the provider counts for a request with so many tokens of messages by clew's count."""
        return self.factor * message_tokens + self.overhead


def _token_scale(requests: Sequence[SessionRequest]) -> _TokenScale:
    """Fit a straight line through the requests before the first compaction, by least squares."""
    points: list[tuple[float, float]] = []
    for request in requests:
        if request.compacted:
            break
        if usage := request.usage:
            points.append((request.view_tokens, usage.input_tokens))
    factor = 1.0
    if len(points) >= LEAST_POINTS:
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        if spread:
            factor = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    factor = min(SCALES[1], max(SCALES[0], factor))
    overhead = sum(y - factor * x for x, y in points) / len(points) if points else 0.0
    return _TokenScale(factor, max(0.0, overhead))


# Other ways ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Replay:
    """A session that goes on as it did, but with something else in view: not compacted, or by clew."""

    scale: _TokenScale
    prompts: list[_Prompt] = field(default_factory=list)
    """Of the requests so far, as they would have been."""
    has_diverged: bool = False
    """From here on, something else is in view than was."""

    def send(
        self,
        request: SessionRequest,
        real: _Prompt,
        real_before: _Prompt | None,
        compacted_to: float | None = None,
    ) -> None:
        """Add a request: larger by what the real one grew, or compacted to so many tokens just before.

        Real requests of 50,000 and 52,000 tokens make one of 80,000 here grow to 82,000.
        """
        self.has_diverged = self.has_diverged or bool(request.compacted) or compacted_to is not None
        if real_before is None or not self.has_diverged:
            self.prompts.append(real)
            return
        if compacted_to is None:
            last = self.prompts[-1].tokens
            new = real.tokens - real_before.tokens
            grown = self.scale.factor * request.new_tokens if request.compacted else new
            tokens = max(self.scale.overhead, last + grown)
            unchanged = min(tokens, last)
        else:
            tokens = compacted_to
            unchanged = min(tokens, self.scale.overhead)
        read = unchanged * self._cached_share(request, real, real_before)
        not_read = real.tokens - real.read
        share = real.written / not_read if not_read > 0 and request.usage else _written(request.model, 1.0)
        self.prompts.append(_Prompt(tokens, read, (tokens - read) * min(1.0, share)))

    @staticmethod
    def _cached_share(request: SessionRequest, real: _Prompt, before: _Prompt) -> float:
        """Return how much of an unchanged beginning the real request found in the cache."""
        if request.usage and not request.compacted and before.tokens:
            return min(1.0, real.read / min(before.tokens, real.tokens))
        return 1.0 if request.warm else 0.0


def _bill_uncompacted(requests: Sequence[SessionRequest], real: Sequence[_Prompt]) -> SessionBill:
    """Bill the session as if its tool had never compacted it."""
    replay = _Replay(_token_scale(requests))
    for number, request in enumerate(requests):
        replay.send(request, real[number], real[number - 1] if number else None)
    return _add_up([replace(request, compacted=None) for request in requests], replay.prompts)


def _bill_with_clew(
    requests: Sequence[SessionRequest],
    real: Sequence[_Prompt],
    messages: Sequence[Message],
    window: int | None,
    policy: Policy,
) -> SessionBill:
    """Bill the session as if clew had compacted it, with no model, whenever the window was too full."""
    replay = _Replay(_token_scale(requests))
    previous = None
    compactions = refused = 0
    for number, request in enumerate(requests):
        before = real[number - 1] if number else None
        replay.send(request, real[number], before)
        target = _target(replay, Gauge(request.model, policy, window))
        if before is None or target is None:
            continue
        try:
            tried = compact(
                list(messages[: request.messages_before]),
                previous=previous,
                target_tokens=target,
                model=request.model.id,
                policy=policy,
            )
        except (BudgetExceeded, CompactionRefused):
            refused += 1
            continue
        if tried.changed:
            previous, compactions = tried, compactions + 1
            replay.prompts.pop()
            replay.send(request, real[number], before, replay.scale.request_tokens(tried.tokens_after))
    bill = _add_up(
        [replace(request, compacted=None) for request in requests], replay.prompts, compactions=compactions
    )
    return replace(bill, refused=refused)


def _target(replay: _Replay, gauge: Gauge) -> int | None:
    """Return what the messages may take after a compaction, in clew's own count; None if none is due."""
    overhead = min(replay.scale.overhead, replay.prompts[-1].tokens)
    sizes = {Region.TOOLS: round(overhead), Region.HISTORY: round(replay.prompts[-1].tokens - overhead)}
    try:
        verdict = gauge.measure(sizes).verdict
    except BudgetExceeded:  # tools and system prompt alone do not fit: nothing that clew could do
        return None
    if not isinstance(verdict, Compact):
        return None
    return max(LEAST_TARGET, round((verdict.target_tokens - overhead) / replay.scale.factor))


def _tool_window(requests: Sequence[SessionRequest], real: Sequence[_Prompt], policy: Policy) -> int | None:
    """Return the window in which clew compacts at the size at which the tool first did."""
    for number, request in enumerate(requests):
        if request.compacted and number:
            size = request.compacted.tokens_before or real[number - 1].tokens
            gauge = Gauge(request.model, policy, None)
            share = policy.compact_at.share or 1.0
            return min(gauge.window.tokens, round(size / share + gauge.window.reply_tokens))
    return None


# Prices ----------------------------------------------------------------------------------------------


def _add_up(
    requests: Sequence[SessionRequest], prompts: Sequence[_Prompt], *, compactions: int = 0
) -> SessionBill:
    """Add up what the prompts, the replies and the tool's summaries cost.

    In dollars if the prices of all models are known; otherwise all of it in input tokens of their models.
    """
    in_dollars = _is_priced(requests)
    plain = reads = writes = output = summaries = 0.0
    largest = over = 0
    counters: dict[str, TokenCounter] = {}
    for number, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
        model = request.model
        price, output_price = _prices(model, in_dollars=in_dollars)
        long_price = price * long_input(model, round(prompt.tokens))
        plain += prompt.plain * long_price
        reads += prompt.read * long_price * model.cache_read
        writes += prompt.written * long_price * model.cache_write
        counter = counters.setdefault(model.id, counter_for(model))
        output += (
            _output_tokens(request.reply, counter) * output_price * long_output(model, round(prompt.tokens))
        )
        largest = max(largest, round(prompt.tokens))
        over += prompt.tokens > model.window_tokens
        if request.compacted and number:
            # The tool's own summary was a request too: the whole view was sent, and the summary written.
            sent = request.compacted.tokens_before or prompts[number - 1].tokens
            read = model.cache_read if request.warm else 1.0
            summaries += sent * price * long_input(model, round(sent)) * read
            summaries += request.summary_tokens * output_price * long_output(model, round(sent))
    return SessionBill(
        input=plain,
        cache_reads=reads,
        cache_writes=writes,
        output=output,
        summaries=summaries,
        compactions=compactions,
        largest_request=largest,
        over_window=over,
    )


def _is_priced(requests: Sequence[SessionRequest]) -> bool:
    return all(request.model.input_price is not None for request in requests)


def _prices(model: ModelInfo, *, in_dollars: bool) -> tuple[float, float]:
    """Return the prices of a token of input and of one of output, in dollars or millions of tokens."""
    known_input, known_output = model.input_price, model.output_price
    if in_dollars and known_input is not None:
        output = known_input * USUAL_OUTPUT if known_output is None else known_output
        return known_input / 1e6, output / 1e6
    ratio = known_output / known_input if known_input and known_output is not None else USUAL_OUTPUT
    return 1 / 1e6, ratio / 1e6


def _output_tokens(reply: Sequence[Entry], counter: TokenCounter) -> int:
    """Return the tokens of a reply: as reported, or more if more was recorded.

    Claude Code records the count with which a stream begins, which is too low.
    """
    reported = sum(entry.usage.output_tokens for entry in reply if entry.usage)
    return max(reported, counter.count_all(entry.message for entry in reply))
