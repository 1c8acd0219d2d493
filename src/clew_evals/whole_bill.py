"""The whole bill of a real session, three ways: as it was, without compaction, and with clew.

The requests of a session are replayed with the prices of its models. What the provider reported is taken as
it is; the two other ways differ from it only in what was in view. They assume that the session went on
alike, that a request finds as much of its unchanged beginning in the cache as the real one did (all of it
within five minutes of the last request, if that is not known), and that the same share of the rest was
written to it. Sub-agents are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clew.budget import DEFAULT, Compact, Policy, Region
from clew.budget.cost import FIVE_MINUTES, USUAL_OUTPUT, long_input, long_output
from clew.errors import BudgetExceeded, CompactionRefused
from clew.message import Message, Origin, Role
from clew.session import compact
from clew.session.fit import Gauge
from clew.tokens import ModelInfo, TokenCounter, counter_for, model_named
from clew.transcripts import Boundary, Entry, Record, Transcript, Usage
from clew.transcripts.transcript import tool_compactions

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


@dataclass(frozen=True, slots=True)
class _Request:
    """One call of the model."""

    reply: tuple[Entry, ...]
    model: ModelInfo
    said: int
    """The messages of the whole conversation before it."""
    view_tokens: int
    """Of what the model saw, as clew counts."""
    new_tokens: int
    """Of the messages since the request before, as clew counts."""
    idle_seconds: float | None
    compacted: Boundary | None = None
    """The tool compacted since the request before."""
    summary_tokens: int = 0

    @property
    def usage(self) -> Usage | None:
        """Return what the provider reported of the prompt, if it did."""
        reported = (entry.usage for entry in self.reply)
        return next((usage for usage in reported if usage and usage.input_tokens), None)

    @property
    def warm(self) -> bool:
        return self.idle_seconds is None or self.idle_seconds < FIVE_MINUTES


@dataclass(slots=True)
class _Prompt:
    """What is billed for one request."""

    tokens: float
    read: float = 0.0
    written: float = 0.0

    @property
    def plain(self) -> float:
        return max(0.0, self.tokens - self.read - self.written)


def bills_of(session: Transcript, *, window: int | None = None, policy: Policy = DEFAULT) -> Bills | None:
    """Bill a session; None if it has no requests. ``window`` is the one that clew keeps to.

    By default clew compacts where the tool did: at the size of its first compaction, or, if it made none, as
    full as clew lets the model's window become.
    """
    messages = session.full()
    requests = list(_requests(session))
    if not requests:
        return None
    real = _as_it_was(requests)
    named = dict.fromkeys(request.model.id for request in requests)
    window = window or _tool_window(requests, real, policy)
    return Bills(
        session.id,
        tuple(named),
        len(requests),
        sum(request.usage is not None for request in requests),
        all(request.model.input_price is not None for request in requests),
        _billed(requests, real, compactions=sum(bool(request.compacted) for request in requests)),
        _uncompacted(requests, real),
        _with_clew(requests, real, messages, window, policy),
    )


# The requests of a session ---------------------------------------------------------------------------


def _requests(session: Transcript) -> Iterator[_Request]:
    """Yield the calls of the main conversation."""
    counter = counter_for(session.model or "")
    created = {item.boundary.id: item for item in tool_compactions(session)}
    view = new = said = summary = 0
    compacted: Boundary | None = None
    last_time: str | None = None
    replies = _replies(session)
    for record in _in_view(session):
        if isinstance(record, Boundary):
            compaction, compacted = created[record.id], record
            summary = counter.count_all(entry.message for entry in compaction.summary)
            view = summary + counter.count_all(entry.message for entry in compaction.kept)
            continue
        assert isinstance(record, Entry)
        if reply := replies.get(record.id):
            model = model_named(record.model or session.model or "")
            idle = _seconds(last_time, record.time)
            yield _Request(reply, model, said, view, new, idle, compacted, summary)
            compacted, summary, new, last_time = None, 0, 0, reply[-1].time or last_time
        said += 1
        size = counter.count(record.message)
        view, new = view + size, new + size


def _in_view(session: Transcript) -> Iterator[Record]:
    """Yield the whole conversation, and the tool's compactions where they were."""
    whole = {entry.id for entry in session.full_entries()}
    gone = session.dropped
    for record in session.records:
        if (isinstance(record, Boundary) and record.id not in gone) or (
            isinstance(record, Entry) and record.id in whole
        ):
            yield record


def _replies(session: Transcript) -> dict[str, tuple[Entry, ...]]:
    """Return the replies of the model by their first entry.

    Tools record one reply in several entries and report its tokens with the first or the last of them.
    """
    replies: list[list[Entry]] = []
    open_reply = False
    for entry in session.full_entries():
        is_reply = entry.message.role is Role.ASSISTANT and entry.message.origin is Origin.SPOKEN
        if is_reply and not (open_reply and replies and not (entry.usage and _reported(replies[-1]))):
            replies.append([])
        if is_reply:
            replies[-1].append(entry)
        open_reply = is_reply
    return {reply[0].id: tuple(reply) for reply in replies}


def _reported(reply: Sequence[Entry]) -> bool:
    return any(entry.usage for entry in reply)


def _seconds(before: str | None, now: str | None) -> float | None:
    try:
        return (
            (datetime.fromisoformat(now) - datetime.fromisoformat(before)).total_seconds()
            if before and now
            else None
        )
    except (ValueError, TypeError):
        return None


def _as_it_was(requests: Sequence[_Request]) -> list[_Prompt]:
    """Return the prompts as they were: reported, or estimated as if the cache had worked."""
    scale, besides = _scale(requests)
    prompts: list[_Prompt] = []
    for request in requests:
        usage = request.usage
        if usage:
            prompts.append(_Prompt(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens))
            continue
        before = prompts[-1].tokens if prompts and not request.compacted else besides
        tokens = scale * request.view_tokens + besides
        read = min(before, tokens) if request.warm and prompts else 0.0
        prompts.append(_Prompt(tokens, read, _written(request.model, tokens - read)))
    return prompts


def _written(model: ModelInfo, tokens: float) -> float:
    """Return what of new tokens is billed as written to the cache: all, if that has a price of its own."""
    return tokens if model.cache_write > 1.0 else 0.0


def _scale(requests: Sequence[_Request]) -> tuple[float, float]:
    """Return how the provider's count follows from clew's: times a scale, plus what is sent besides.

    A straight line through the requests before the first compaction.
    """
    points: list[tuple[float, float]] = []
    for request in requests:
        if request.compacted:
            break
        if usage := request.usage:
            points.append((request.view_tokens, usage.input_tokens))
    scale = 1.0
    if len(points) >= LEAST_POINTS:
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        if spread:
            scale = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    scale = min(SCALES[1], max(SCALES[0], scale))
    besides = sum(y - scale * x for x, y in points) / len(points) if points else 0.0
    return scale, max(0.0, besides)


# Other ways ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Replay:
    """A session that goes on alike with something else in view."""

    scale: float
    besides: float
    prompts: list[_Prompt] = field(default_factory=list)
    parted: bool = False
    """From here on, something else is in view than was."""

    def send(
        self, request: _Request, real: _Prompt, before: _Prompt | None, reset: float | None = None
    ) -> None:
        """Add a request: grown as the real one did, or cut down to ``reset`` tokens."""
        self.parted = self.parted or bool(request.compacted) or reset is not None
        if before is None or not self.parted:
            self.prompts.append(real)
            return
        mine = self.prompts[-1]
        grown = self.scale * request.new_tokens if request.compacted else real.tokens - before.tokens
        tokens = max(self.besides, mine.tokens + grown) if reset is None else reset
        same = min(tokens, mine.tokens if reset is None else self.besides)
        read = same * self._hits(request, real, before)
        fresh = real.tokens - real.read
        share = real.written / fresh if fresh > 0 and request.usage else _written(request.model, 1.0)
        self.prompts.append(_Prompt(tokens, read, (tokens - read) * min(1.0, share)))

    @staticmethod
    def _hits(request: _Request, real: _Prompt, before: _Prompt) -> float:
        """Return how much of an unchanged beginning the real request found in the cache."""
        if request.usage and not request.compacted and before.tokens:
            return min(1.0, real.read / min(before.tokens, real.tokens))
        return 1.0 if request.warm else 0.0


def _uncompacted(requests: Sequence[_Request], real: Sequence[_Prompt]) -> SessionBill:
    replay = _Replay(*_scale(requests))
    for number, request in enumerate(requests):
        replay.send(request, real[number], real[number - 1] if number else None)
    return _billed([replace(request, compacted=None) for request in requests], replay.prompts)


def _with_clew(
    requests: Sequence[_Request],
    real: Sequence[_Prompt],
    messages: Sequence[Message],
    window: int | None,
    policy: Policy,
) -> SessionBill:
    scale, besides = _scale(requests)
    replay = _Replay(scale, besides)
    fitted = None
    compactions = refused = 0
    for number, request in enumerate(requests):
        before = real[number - 1] if number else None
        replay.send(request, real[number], before)
        target = _target(replay, Gauge(request.model, policy, window))
        if before is None or target is None:
            continue
        try:
            tried = compact(
                list(messages[: request.said]),
                previous=fitted,
                target_tokens=target,
                model=request.model.id,
                policy=policy,
            )
        except (BudgetExceeded, CompactionRefused):
            refused += 1
            continue
        if tried.changed:
            fitted, compactions = tried, compactions + 1
            replay.prompts.pop()
            replay.send(request, real[number], before, besides + scale * tried.tokens_after)
    bill = _billed(
        [replace(request, compacted=None) for request in requests], replay.prompts, compactions=compactions
    )
    return replace(bill, refused=refused)


def _target(replay: _Replay, gauge: Gauge) -> int | None:
    """Return what the messages may take after a compaction, in clew's own count; None if none is due."""
    besides = min(replay.besides, replay.prompts[-1].tokens)
    sizes = {Region.TOOLS: round(besides), Region.HISTORY: round(replay.prompts[-1].tokens - besides)}
    try:
        verdict = gauge.measure(sizes).verdict
    except BudgetExceeded:  # tools and system prompt alone do not fit: nothing that clew could do
        return None
    if not isinstance(verdict, Compact):
        return None
    return max(LEAST_TARGET, round((verdict.target_tokens - besides) / replay.scale))


def _tool_window(requests: Sequence[_Request], real: Sequence[_Prompt], policy: Policy) -> int | None:
    """Return the window in which clew compacts at the size at which the tool first did."""
    for number, request in enumerate(requests):
        if request.compacted and number:
            size = request.compacted.tokens_before or real[number - 1].tokens
            gauge = Gauge(request.model, policy, None)
            share = policy.compact_at.share or 1.0
            return min(gauge.window.tokens, round(size / share + gauge.window.reply_tokens))
    return None


# Prices ----------------------------------------------------------------------------------------------


def _billed(requests: Sequence[_Request], prompts: Sequence[_Prompt], *, compactions: int = 0) -> SessionBill:
    """Add up what the prompts, the replies and the tool's summaries cost."""
    plain = reads = writes = output = summaries = 0.0
    largest = over = 0
    counters: dict[str, TokenCounter] = {}
    for number, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
        model = request.model
        price = (1.0 if model.input_price is None else model.input_price) / 1e6
        dear = price * long_input(model, round(prompt.tokens))
        plain += prompt.plain * dear
        reads += prompt.read * dear * model.cache_read
        writes += prompt.written * dear * model.cache_write
        counter = counters.setdefault(model.id, counter_for(model))
        output += _output_tokens(request.reply, counter) * _output(model, price, prompt.tokens)
        largest, over = max(largest, round(prompt.tokens)), over + (prompt.tokens > model.window_tokens)
        if request.compacted and number:
            sent = request.compacted.tokens_before or prompts[number - 1].tokens
            read = model.cache_read if request.warm else 1.0
            summaries += sent * price * long_input(model, round(sent)) * read
            summaries += request.summary_tokens * _output(model, price, sent)
    return SessionBill(plain, reads, writes, output, summaries, compactions, largest, over)


def _output(model: ModelInfo, price: float, request_tokens: float) -> float:
    """Return the price of a token of output."""
    usual = price * USUAL_OUTPUT if model.output_price is None else model.output_price / 1e6
    return usual * long_output(model, round(request_tokens))


def _output_tokens(reply: Sequence[Entry], counter: TokenCounter) -> int:
    """Return the tokens of a reply: as reported, or more if more was recorded.

    Claude Code records the count with which a stream begins, which is too low.
    """
    reported = sum(entry.usage.output_tokens for entry in reply if entry.usage)
    return max(reported, counter.count_all(entry.message for entry in reply))
