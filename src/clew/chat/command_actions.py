"""The functions behind the chat commands: compaction, diagnostics, rules, notes and recall."""

from __future__ import annotations

from clew.budget import Cache, Calm
from clew.chat.events import ChatWarning, CommandOutput, Turn
from clew.chat.loop import Chat
from clew.chat.reports import budget_lines, compaction_notice, context_lines, stats_lines, stats_of
from clew.chat.sessions import Choices
from clew.errors import BudgetExceeded, InputError
from clew.memory.notes import Draft
from clew.memory.notes.note import LIVE, key_of
from clew.message.text import one_line
from clew.request.diagnostics import context_budget, context_snapshot, list_contributors, trace_summaries
from clew.session import Compaction
from clew.session.gauge import undo_price_of
from clew.session.message_range import split_range


def compact(chat: Chat, words: str) -> Turn:
    """Compact the view."""
    if chat.session.is_off:
        raise InputError("compaction is switched off", _how_to_switch_on(chat))
    try:
        events = list(chat.compact(words))
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        events = []  # only mandatory content is left
    yield from events or [CommandOutput("nothing to gain: the view is unchanged")]


def _how_to_switch_on(chat: Chat) -> str:
    return "unset CLEW_OFF, --off or off in clew.toml" if chat.session.is_off_here else "type /on first"


def _is_calm(chat: Chat) -> bool:
    """Return whether the window has room, so that a compaction that frees nothing is not an error."""
    return isinstance(chat.budget().verdict, Calm)


def preview(chat: Chat, words: str) -> Turn:
    """Show what a compaction would do and drop."""
    try:
        messages, focus = split_range(words)
        outcome = chat.session.preview(focus=focus, messages=messages)
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        outcome = None
    if outcome is None or not outcome.plan.operations:
        yield CommandOutput("nothing to gain: the view would not change")
        return
    lines = [*compaction_notice(outcome).lines()]
    lines.append(f"  cache: {chat.session.price(outcome, cache_age_seconds=chat.cache_age_seconds)}")
    lost = [f"    {loss.matter}: {loss.text} [{loss.source}]" for loss in outcome.report.lost]
    yield CommandOutput("\n".join([*lines, *(["  would leave the view:", *lost[:20]] if lost else [])]))


def undo(chat: Chat, words: str) -> Turn:
    """Undo compactions."""
    if chat.session.is_off_here:  # the chat records nothing of compactions, and shows none
        raise InputError("compaction is switched off: every message is in view", _how_to_switch_on(chat))
    before, view = chat.session.tokens, chat.session.view()
    undone = chat.session.undo(number(words, 1))
    cache = Cache(chat.session.gauge.model, chat.cache_age_seconds)
    price = undo_price_of(view, chat.session.view(), chat.session.counter, cache)
    names = ", ".join(compaction.name for compaction in undone)
    back = f"{before:,} → {chat.session.tokens:,} tokens"
    left = [compaction.name for compaction in chat.session.trace()]
    now = f"still in force: {', '.join(left)}" if left else "every message is in view again"
    yield CommandOutput(f"undone: {names}; {back}, {now}\n  cache: {price}")


def number(words: str, default: int) -> int:
    """Parse a number above zero; empty text is the default."""
    if not words:
        return default
    if not words.isdecimal() or not int(words):
        raise InputError(f"{words!r} is not a number", "type a number above zero")
    return int(words)


def auto(chat: Chat, words: str) -> Turn:
    """Switch automatic compaction on or off, or show its state."""
    match words.lower():
        case "on" | "off":
            chat.choose(Choices(auto=words.lower() == "on"))
        case "":
            pass
        case _:
            raise InputError(f"{words!r} is neither on nor off", "type /auto on or /auto off")
    now = "on: clew compacts when needed and shows a notice" if chat.auto else "off: only /compact compacts"
    yield CommandOutput(f"automatic compaction is {now}")
    if chat.auto and chat.session.is_off:
        yield ChatWarning("everything is switched off; /on first")


def off(chat: Chat, _words: str) -> Turn:
    """Switch everything off."""
    chat.session.switch_off()
    yield CommandOutput(
        "off: requests are those of a plain client, without tools, notes or compaction; /on ends that"
    )


def on(chat: Chat, _words: str) -> Turn:
    """Switch everything on again."""
    chat.session.switch_on()
    yield CommandOutput(f"on: the compacted view is sent again, {chat.session.tokens:,} tokens")


PARTS = ("budget", "snapshot", "contributors", "summaries")
"""What ``/context`` can show: the split of the window, every section, every source, every summary."""


def context(chat: Chat, words: str) -> Turn:
    """Show the next request by region and source, or one part of it."""
    part, _, of = words.partition(" ")
    scope = of.strip() or None
    match part:
        case "":
            assembled = chat.requests.assembled()
            lines = [*context_lines(assembled, chat.session.measure(assembled))]
        case "budget":
            lines = [context_budget(chat.request_state()).text, *budget_lines(chat.budget())]
        case "snapshot":
            lines = [context_snapshot(chat.request_state()).text]
        case "contributors":
            lines = [list_contributors(chat.request_state(), scope).text]
        case "summaries":
            lines = [trace_summaries(chat.request_state(), scope).text]
        case _:
            raise InputError(f"/context has no part {part!r}", f"use one of {', '.join(PARTS)}")
    yield CommandOutput("\n".join(lines))


def trace(chat: Chat, words: str) -> Turn:
    """List the compactions in force, or explain why one item is shown as it is."""
    if words:
        yield CommandOutput(str(chat.session.explain(words.split(maxsplit=1)[0])))
        return
    rows = "\n".join(map(_row, chat.session.trace()))
    yield CommandOutput(rows or "no compaction is in force: every message is in view unchanged")


def _row(compaction: Compaction) -> str:
    plan = compaction.plan
    when = compaction.time[:16].replace("T", " ")
    sizes = f"{plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    return f"{compaction.name:<4} {when}  {sizes}, {plan.trigger}: {plan.reason}"


def stats(chat: Chat, _words: str) -> Turn:
    """Show the counters of this session."""
    yield CommandOutput("\n".join(stats_lines(stats_of(chat.session.events()))))


MOST_QUOTED = 6
LONGEST = 600


def pin(chat: Chat, words: str) -> Turn:
    """Set a rule by hand."""
    rule = chat.session.pin(require_argument(words, "the rule", "/pin never touch legacy/"))
    yield CommandOutput(f'{rule.id} is pinned: "{rule.quote}"')


def unpin(chat: Chat, words: str) -> Turn:
    """Remove a rule."""
    id_, _, why = require_argument(words, "a rule's id", "/unpin p2").partition(" ")
    ended_rule = chat.session.unpin(id_, why.strip() or "revoked by hand")
    yield CommandOutput(f'{ended_rule.id} is no longer in force: "{ended_rule.quote}"')


def rules(chat: Chat, _words: str) -> Turn:
    """List the rules in force."""
    rows = []
    for rule in chat.session.pins:
        origin = f"[{rule.source.message}] {rule.certainty}: {rule.found_because}" if rule.source else ""
        judged = f"; {rule.judgement}" if rule.judgement else ""
        rows.append(f'{rule.id:<4} "{rule.quote}" {origin or "(by hand)"}{judged}')
    none = "no rules are in force; /pin sets one, and clew finds those in your messages"
    yield CommandOutput("\n".join(rows) or none)


def remember(chat: Chat, words: str) -> Turn:
    """Save a note for later sessions."""
    text = require_argument(words, "what to keep", "/remember Use uv, never pip.")
    note = chat.memory.notebook.add(Draft(key=key_of(text), text=text))
    yield CommandOutput(f"{note.id} is {note.status}: {note.text}")


def forget(chat: Chat, words: str) -> Turn:
    """Retire a note."""
    wanted, _, why = require_argument(words, "a note's id or key", "/forget w3").partition(" ")
    note = chat.memory.notebook.forget(chat.memory.notebook.find(wanted).id, why=why.strip())
    yield CommandOutput(f"{note.id} is forgotten: {note.text}")


def notes(chat: Chat, _words: str) -> Turn:
    """List the approved and pending notes."""
    live = [note for note in chat.memory.notebook.notes() if note.status in LIVE]
    rows = [f"{note.id:<4} {note.status:<11} {note.text}" for note in live]
    yield CommandOutput("\n".join(rows) or "no notes; /remember saves one")


def recall(chat: Chat, words: str) -> Turn:
    """Search all messages."""
    query = require_argument(words, "what to look for", "/recall deploy token")
    arguments = {"query": query, "limit": MOST_QUOTED, "where": None}
    yield CommandOutput(chat.toolset.run("recall_search", arguments).text)


def expand(chat: Chat, words: str) -> Turn:
    """Show the sources of a reference."""
    ref = require_argument(words, "a reference", "/expand d1").split()[0]
    expansion = chat.session.expand(ref)
    lines = [f"{ref} is a {expansion.what}{f': {expansion.text}' if expansion.text else ''}"]
    if expansion.what == "digest":
        lines += _digest_lines(chat, ref)
    elif expansion.quotes:
        lines += [f'  [{quote.cite.message}] "{quote.words}"' for quote in expansion.quotes]
    else:
        lines += _messages(chat, expansion.ids)
    yield CommandOutput("\n".join(lines))


def _digest_lines(chat: Chat, ref: str) -> list[str]:
    """Return the lines of a digest, each with its id for ``/expand``."""
    compaction = next((item for item in chat.session.trace() if item.digest and item.digest.id == ref), None)
    if compaction is None or compaction.digest is None:
        return [str(chat.session.explain(ref))]
    rules = [f'  {item.id:<6} rule "{item.quote}" [{item.source.message}]' for item in compaction.digest.pins]
    return rules + [
        f"  {claim.id:<6} {claim.kind.value}: {one_line(claim.text, 200)} [{claim.sources[0].message}]"
        for claim in compaction.digest.claims
    ]


def _messages(chat: Chat, ids: tuple[str, ...]) -> list[str]:
    shown_items = list(chat.session.originals(ids[:MOST_QUOTED]))
    lines = []
    for item in shown_items:
        text = item.message.text or "\n".join(result.text for result in item.message.results)
        calls = [f"{call.name} {call.input_text}" for call in item.message.calls]
        lines.append(f"  [{item.id}] {item.message.role}: {one_line(' '.join([text, *calls]), LONGEST)}")
    more = len(ids) - len(shown_items)
    return [*lines, f"  … and {more:,} more"] if more > 0 else lines


def trust(chat: Chat, words: str) -> Turn:
    """Trust an instruction file that this session wrote."""
    path = require_argument(words, "a file", "/trust AGENTS.md")
    chat.trust(path)
    yield CommandOutput(f"{path} is trusted as instructions from now on, with its current content")


def require_argument(words: str, what: str, example: str) -> str:
    """Return the argument of a command; raise ``InputError`` with an example if it is missing."""
    if not words:
        raise InputError(f"this command needs {what}", f"for example: {example}")
    return words
