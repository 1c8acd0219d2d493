"""Commands that only look: how full the window is, by whom, and what happened."""

from __future__ import annotations

from clew.chat.happenings import Told, Turn
from clew.chat.loop import Chat
from clew.chat.picture import budget_lines, context_lines
from clew.chat.stats import stats_lines, stats_of
from clew.request.diagnostics import context_budget, context_snapshot, list_contributors, trace_summaries
from clew.session import Compaction


def context(chat: Chat, _words: str) -> Turn:
    """Draw the request by region and by contributor."""
    assembled = chat.requests.assembled()
    yield Told("\n".join(context_lines(assembled, chat.session.gauge.measure(assembled.asks))))


def budget(chat: Chat, _words: str) -> Turn:
    """Tell how the window is split, in one line and then region by region."""
    yield Told("\n".join([context_budget(chat.scene()).text, *budget_lines(chat.budget())]))


def snapshot(chat: Chat, _words: str) -> Turn:
    """Tell the tokens of every region and section."""
    yield Told(context_snapshot(chat.scene()).text)


def contributors(chat: Chat, words: str) -> Turn:
    """List what is in the next request, and what was left out."""
    yield Told(list_contributors(chat.scene(), words or None).text)


def summaries(chat: Chat, words: str) -> Turn:
    """Tell where each summary in force comes from."""
    yield Told(trace_summaries(chat.scene(), words or None).text)


def trace(chat: Chat, words: str) -> Turn:
    """Tell the compactions in force, or why one thing is shown as it is."""
    if words:
        yield Told(str(chat.session.explain(words.split(maxsplit=1)[0])))
        return
    rows = "\n".join(map(_row, chat.session.trace()))
    yield Told(rows or "no compaction is in force: every message is in view as it was said")


def _row(made: Compaction) -> str:
    plan = made.plan
    when = made.time[:16].replace("T", " ")
    sizes = f"{plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    return f"{made.name:<4} {when}  {sizes}, {plan.trigger}: {plan.reason}"


def stats(chat: Chat, _words: str) -> Turn:
    """Count what compactions did in this session."""
    yield Told("\n".join(stats_lines(stats_of(chat.session.events()))))
