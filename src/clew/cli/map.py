"""``clew map``: draw what fills a session's context window."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text as Styled

from clew.cli.anatomy import KINDS, Anatomy, HeavyPart, anatomy
from clew.cli.inputs import LONGEST_ID, OWN_FORMAT, conversation, open_arguments
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.message import JsonObject
from clew.tokens import TokenCounter, counter_for, model_named
from clew.transcripts import Transcript
from clew.transcripts.transcript import tool_compactions

THREAD_ROWS = 5
MOST_DRAWN = 3
BAR = "█"
PARTIAL = " ▏▎▍▌▋▊▉"
RISING = "▁▂▃▄▅▆▇█"
COMPACTED = "X"


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Draw each session of the file."""
    transcripts = open_arguments(args).sessions(term)
    if len(transcripts) > MOST_DRAWN and not args.all and not args.json:
        holds = f"{args.file} holds {len(transcripts)} sessions"
        term.say(printable(f"{holds}; --session ID draws one, --all draws every one:"))
        for session in transcripts:
            term.say(f"  {one_line(session.id, LONGEST_ID):<72}{count(len(session.entries), 'message'):>16}")
        return 0
    for number, session in enumerate(transcripts):
        name = args.model or session.model
        counter = counter_for(name or "")
        model = model_named(name or "")
        weighed = anatomy(conversation(session), session.full_entries(), counter)
        sight = _WindowUse(
            window=args.window or model.window_tokens,
            model=name if model.known or name is None else f"{name}, guessed",
            now=sum(map(counter.count, session.current())) if session.boundaries else weighed.tokens,
            exact=counter.exact,
            reported=_last_reported(session),
        )
        if args.json:
            own: JsonObject = {"tool_compactions": len(tool_compactions(session))}
            term.write_json({"session": session.id, **sight.to_json(), **own, **weighed.to_json()})
        else:
            if number:
                term.print("")
            term.print(*_picture(session, weighed, sight, counter, term.console().width))
    return 0


@dataclass(frozen=True, slots=True)
class _WindowUse:
    """How much of the context window is used now."""

    window: int
    model: str | None
    now: int
    exact: bool
    reported: int | None
    """Input tokens of the last call, as reported by the provider."""

    def to_json(self) -> JsonObject:
        return {"window": self.window, "model": self.model, "tokens_now": self.now, "reported": self.reported}


def _last_reported(session: Transcript) -> int | None:
    own_usages = (entry.usage for entry in reversed(session.entries) if entry.sidechain is None)
    # Some tools log only the output tokens, which do not show how full the window was.
    return next(
        (usage.input_tokens + usage.output_tokens for usage in own_usages if usage and usage.input_tokens),
        None,
    )


def _picture(
    session: Transcript, result: Anatomy, sight: _WindowUse, counter: TokenCounter, width: int
) -> list[Styled | str]:
    about = f" · {session.format} · {count(result.messages, 'message')} · {count(result.calls, 'tool call')}"
    return [
        Styled.assemble((one_line(session.label, max(16, width - len(about))), "bold"), about),
        *_sizes(session, result, sight, counter),
        "",
        *_bars(result, width),
        "",
        *_legend(session, width),
        *_thread(result, width, _compacted_at(session, result)),
        "",
        *_growth(session, result, width),
        *_remarks(result),
        "",
        Styled("heaviest", style="bold"),
        *(_heavy_line(session, heavy, result.tokens, width) for heavy in result.heaviest),
    ]


def _sizes(session: Transcript, result: Anatomy, sight: _WindowUse, counter: TokenCounter) -> list[Styled]:
    """Return how full the window is now, and the size of the whole session."""
    kind = "" if sight.exact else " (estimated)"
    model = one_line(sight.model or "an unknown model", 60)
    share = f"{sight.now / sight.window:.0%} of the {sight.window:,} of {model}"
    lines = [Styled.assemble((f"{sight.now:,} tokens", "bold"), f"{kind}, {share}")]
    if sight.reported:
        text = f"the provider reported {sight.reported:,} for the last call, tool definitions included"
        lines.append(Styled(text, "dim"))
    compactions = tool_compactions(session)
    if compactions:
        times, whole = count(len(compactions), "time"), f"{result.tokens:,} tokens in the whole thread"
        lines.append(Styled(f"compacted {times} by its tool; {whole}, drawn below"))
    names = session.names()
    for compaction in compactions:
        sizes = str(compaction.sizes(counter))
        when = (compaction.boundary.time or "")[:16].replace("T", " ")
        last = [name for entry in compaction.before if (name := names.get(entry.id))][-1:]
        after = f"after {last[0]}" if last else ""
        text = ", ".join(filter(None, (sizes, compaction.boundary.trigger, after, when)))
        lines.append(Styled(f"  {compaction.name}  {text}", "dim"))
    return lines


def _bars(result: Anatomy, width: int) -> list[Styled]:
    room = max(4, width - 38)
    rows = []
    for kind in KINDS:
        tokens = result.by_kind.get(kind.name, 0)
        if not tokens:
            continue
        share = tokens / max(1, result.tokens)
        row = Styled(f"{kind.letter} {kind.name:<15} {tokens:>9,} {share:>6.1%}  ")
        whole, eighths = divmod(int(share * room * 8), 8)
        row.append(BAR * whole + PARTIAL[eighths].strip(), style=kind.colour)
        rows.append(row)
    return rows


def _legend(session: Transcript, width: int) -> list[Styled]:
    marks = f"; {COMPACTED} is a compaction by its tool" if session.boundaries else ""
    text = f"the thread, oldest first: each cell is the same number of tokens{marks}"
    return [Styled(text if len(text) <= width else f"the thread, oldest first{marks}", style="dim")]


def _compacted_at(session: Transcript, result: Anatomy) -> list[float]:
    """Return where in the thread its tool compacted, as shares of the tokens."""
    numbers = {entry.id: number for number, entry in enumerate(session.full_entries(), start=1)}
    lasts = [
        max((numbers[entry.id] for entry in compaction.before if entry.id in numbers), default=0)
        for compaction in tool_compactions(session)
    ]
    return [
        sum(piece.tokens for piece in result.pieces if piece.message <= last) / max(1, result.tokens)
        for last in lasts
    ]


def _thread(result: Anatomy, width: int, compacted: Sequence[float]) -> list[Styled]:
    """Draw the session as cells with the letter and colour of the kind that fills most of each."""
    cells = result.cells(THREAD_ROWS * (width - 2))
    by_name = {kind.name: kind for kind in KINDS}
    marked = {min(len(cells) - 1, int(share * len(cells))) for share in compacted}
    rows = []
    for start in range(0, len(cells), width - 2):
        row = Styled("  ")
        for place, name in enumerate(cells[start : start + width - 2], start=start):
            kind = by_name[name]
            letter, colour = (COMPACTED, "bold red") if place in marked else (kind.letter, kind.colour)
            row.append(letter, style=f"{colour} reverse")
        rows.append(row)
    return rows


def _message_name(session: Transcript, number: int) -> str:
    """Return the name of a message, as in ``clew show``."""
    own = session.format == OWN_FORMAT and 0 < number <= len(session.entries)
    return session.entries[number - 1].id if own else f"m{number}"


def _growth(session: Transcript, result: Anatomy, width: int) -> list[Styled]:
    columns = result.growth(min(width - 30, 120))
    line = "".join(RISING[min(7, 8 * tokens // max(1, result.tokens))] for tokens in columns)
    half = _message_name(session, result.message_at(result.tokens // 2))
    return [Styled.assemble("growth    ", (line, "green"), f" half by {half}")]


def _heavy_line(session: Transcript, heavy: HeavyPart, total: int, width: int) -> Styled:
    line = Styled(f"{heavy.tokens:>9,} {heavy.tokens / max(1, total):>6.1%}  ")
    line.append(f"{_message_name(session, heavy.message):<6}", style="dim")
    line.append(f"{heavy.kind}  ", style=next(kind.colour for kind in KINDS if kind.name == heavy.kind))
    line.append(one_line(heavy.label, max(12, width - len(line) - 1)))
    return line


def _remarks(result: Anatomy) -> list[Styled]:
    cuts = f"safe at {result.cuts:,} of {count(result.messages + 1, 'boundary')}"
    widest = count(result.widest_atom, "message")
    lines = [Styled(f"cuts      {cuts}; at most {widest} must stay together")]
    if result.repeated_tokens:
        share = result.repeated_tokens / max(1, result.tokens)
        times = count(result.repeated, "tool result")
        lines.append(Styled(f"repeated  {times} repeat an earlier one exactly: {share:.1%} of all tokens"))
    if result.unpaired:
        lines.append(
            Styled(f"unpaired  {count(result.unpaired, 'tool call')} without a result, or the reverse")
        )
    return lines
