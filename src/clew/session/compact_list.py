"""``clew.compact``: make a plain message list fit a window, for any agent loop.

Nothing is stored. Messages are numbered by position (``m1``, ``m2``, …); a digest of an earlier call is
recognised by its text and keeps the numbers it covers, so that its references stay valid.

Pass the last result to the next call (``previous=``), with either the list that it returned or the caller's
own whole list, which then stays compacted as it was until the window fills up again. Without ``previous=``,
the state is recovered from the text of the digest.

Here are the public functions and the order of the steps (``_compacting``); ``ListCall`` takes the steps.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from clew.budget import DEFAULT, Policy, Trigger
from clew.compaction.plan.plan import paused_gc
from clew.errors import InputError
from clew.providers.model import AsyncModel, Model, Steps
from clew.session.conversation import ConversationState
from clew.session.list_call import ListCall
from clew.session.result import CompactResult, Options
from clew.session.summariser import (
    AsyncSummariser,
    Summariser,
    as_async_model,
    as_model,
    run_steps,
    run_steps_async,
)
from clew.tokens import UNKNOWN


def compact(  # noqa: PLR0913  # the front door: all but the list and the window are keywords with defaults
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    target_tokens: int | None = None,
    model: str | None = None,
    summariser: Summariser | None = None,
    summarizer: Summariser | None = None,
    focus: str | None = None,
    policy: Policy = DEFAULT,
    fixed_tokens: int = 0,
    wire: str | None = None,
    mask_secrets: bool = True,
) -> CompactResult:
    """Make a message list fit a context window; while there is room, return it unchanged.

    One new tool result that alone takes more than half of the usable window is shortened even then.

    Call it before every request, each time with the last result::

        fitted = clew.compact(messages, window=200_000, previous=fitted)
        reply = client.messages.create(messages=fitted.messages, ...)
        messages.append({"role": "assistant", "content": reply.content})

    Args:
        messages: A provider's list or a whole request body as any SDK takes it, a framework's message
            objects, or a list of ``clew.Message``.
        window: The context window of the model that receives the list; by default that of ``model``.
        previous: The result of the last call. Without it, the list is compacted from its beginning.
        target_tokens: Compact now to this size, system prompt excluded; by default only when the window is
            nearly full.
        model: The model that receives the list; decides how tokens are counted. By default the body's model.
        summariser: Writes the prose of the digest: a ``clew.Model``, a function ``str -> str``, or a name
            such as ``anthropic/claude-sonnet-4-5``. Without one the digest is written by code alone.
        summarizer: The same as ``summariser``.
        focus: What matters now, in a person's words.
        policy: When to compact and how far down.
        fixed_tokens: Tokens sent with every request in addition to the list, such as tool definitions.
        wire: The format of the list: anthropic, openai, responses or gemini; detected by default.
        mask_secrets: Mask keys, tokens and passwords in everything clew writes.

    Raises:
        InputError: an argument or a message cannot be used.
        BudgetExceeded: what must be sent does not fit the window.
        CompactionRefused: no proposal passed the checks; nothing was changed. Neither this nor the error
            above is raised while the list fits the window as it is, unless ``target_tokens`` is given.
    """
    options = Options(window, target_tokens, model, focus, policy, fixed_tokens, wire, mask_secrets)
    _warn_without_window(options, messages)
    _check(previous, summariser, summarizer)
    writer = as_model(summariser or summarizer)
    steps = _compacting(messages, options, previous, writer)
    if writer is None:  # a model may take a minute, in which others need the collector
        with paused_gc():
            return run_steps(steps, None)
    return run_steps(steps, writer)


async def compact_async(  # noqa: PLR0913  # as above
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    target_tokens: int | None = None,
    model: str | None = None,
    summariser: AsyncSummariser | None = None,
    summarizer: AsyncSummariser | None = None,
    focus: str | None = None,
    policy: Policy = DEFAULT,
    fixed_tokens: int = 0,
    wire: str | None = None,
    mask_secrets: bool = True,
) -> CompactResult:
    """Do the same as ``compact`` in a thread, so that the event loop is not blocked.

    The summariser may also be an asynchronous model or function.
    """
    options = Options(window, target_tokens, model, focus, policy, fixed_tokens, wire, mask_secrets)
    _warn_without_window(options, messages)
    _check(previous, summariser, summarizer)
    writer = as_async_model(summariser or summarizer)
    messages = list(messages) if isinstance(messages, list) else messages  # may grow while this waits
    return await run_steps_async(_compacting(messages, options, previous, writer), writer)


def _check(previous: object, summariser: object, summarizer: object) -> None:
    if previous is not None and not isinstance(previous, CompactResult):
        what = f"previous is an object of type {type(previous).__name__}"
        raise InputError(what, "pass the CompactResult that the last call returned")
    if summariser is not None and summarizer is not None:
        raise InputError("both summariser and summarizer are given", "pass one of them")


def _warn_without_window(options: Options, messages: object) -> None:
    """Warn if the window has to be guessed."""
    named = options.model or (isinstance(messages, Mapping) and messages.get("model"))
    if options.window is None and options.target_tokens is None and not named:
        warnings.warn(
            f"neither window nor model is given: clew assumes a window of {UNKNOWN.window_tokens:,} tokens. "
            "Pass window=, or model= with a known model",
            UserWarning,
            stacklevel=3,
        )


def _compacting(
    messages: Iterable[Any] | Mapping[str, Any],
    options: Options,
    previous: CompactResult | None,
    summariser: Model | AsyncModel | None,
) -> Steps[CompactResult]:
    """Return what ``compact`` returns; a generator of questions to the summariser."""
    call = ListCall.of(messages, options, previous)  # parses only what was appended since ``previous``
    goal = call.goal()
    if goal is None:
        return call.unchanged  # most calls: there is room left
    call.read_changed_entries()
    if previous is None and goal.trigger is not Trigger.MANUAL:
        warn_if_forgotten(call.conversation)
    return (yield from call.compacting(goal, summariser))


# A warning for callers that forget previous= --------------------------------------------------------

KEPT = 32
"""How many lists that were compacted without ``previous=`` are remembered; chosen by hand."""
ADVICE = (
    "clew.compact was given a longer version of a list that it compacted before, without previous=: every "
    "call compacts from the beginning and the prompt cache is lost. Pass the last result as previous=, or "
    "use clew.Compactor"
)
_seen: OrderedDict[int, list[int]] = OrderedDict()
"""The message sizes of lists that were compacted without ``previous=``, by a hash of their first message."""
_lock = Lock()


def warn_if_forgotten(conversation: ConversationState) -> None:
    """Warn if a list begins with one that was compacted before; lists are compared by message sizes."""
    view = conversation.view
    if view.digest is not None or not view.items:
        return  # the caller keeps the compacted list, whose digest carries the state
    key = hash((view.items[0].message.role, view.items[0].message.text[:1_000]))
    with _lock:
        before = _seen.pop(key, None)
        _seen[key] = list(view.sizes)
        while len(_seen) > KEPT:
            _seen.popitem(last=False)
    if before and len(before) < len(view.sizes) and view.sizes[: len(before)] == before:
        warnings.warn(ADVICE, UserWarning, stacklevel=8)


def forget() -> None:
    """Clear the remembered lists, as in a new process."""
    with _lock:
        _seen.clear()
