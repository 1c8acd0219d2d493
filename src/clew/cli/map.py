"""Draw what fills a session's window: which kinds of content, how it grew, what weighs most, what repeats.

Every cell of the thread is the same number of tokens, in the order of the conversation; its letter
says what they are. Nothing is changed and nothing is sent anywhere.

examples:
  clew map examples/sphinx-9229.traj.json.zst
  clew map session.jsonl --model claude-sonnet-4-5 --window 200000
  clew map session.jsonl --json
"""

from __future__ import annotations

import argparse
import json

from rich.text import Text as Styled

from clew.cli.anatomy import KINDS, Anatomy, Heavy, anatomy
from clew.cli.inputs import add_input
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line
from clew.tokens import counter_for, model_named
from clew.transcripts import Transcript, load, open_source

THREAD_ROWS = 5
BAR = "█"
PARTIAL = " ▏▎▍▌▋▊▉"
RISING = "▁▂▃▄▅▆▇█"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_input(parser)
    parser.add_argument(
        "--model", metavar="NAME", help="count and price for this model (default: the session's)"
    )
    parser.add_argument("--window", metavar="TOKENS", type=int, help="the window to draw against")
    parser.add_argument("--json", action="store_true", help="the figures, for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Draw each session of the file."""
    for session in load(open_source(args.file), args.format):
        name = args.model or session.model
        counter = counter_for(name or "")
        found = anatomy(session.full(), counter)
        window = args.window or model_named(name or "").window_tokens
        if args.json:
            term.write(json.dumps({"session": session.id, "window": window, **found.to_json()}))
        else:
            term.print(*_picture(session, found, window, counter.exact, term.console().width))
    return 0


def _picture(session: Transcript, found: Anatomy, window: int, exact: bool, width: int) -> list[Styled | str]:
    total = found.tokens
    about = " tokens" if exact else " tokens (estimated)"
    head = Styled.assemble(
        (one_line(session.title or session.id, 60), "bold"),
        f" · {session.format} · {count(found.messages, 'message')} · {count(found.calls, 'tool call')}",
    )
    return [
        head,
        Styled.assemble((f"{total:,}{about}", "bold"), f", {total / window:.0%} of a window of {window:,}"),
        "",
        *_bars(found, width),
        "",
        Styled("the thread, oldest first: each cell is the same number of tokens", style="dim"),
        *_thread(found, width),
        "",
        *_growth(found, width),
        *_remarks(found),
        "",
        Styled("heaviest", style="bold"),
        *(_heavy_line(heavy, total, width) for heavy in found.heaviest),
    ]


def _bars(found: Anatomy, width: int) -> list[Styled]:
    room = max(10, width - 44)
    rows = []
    for kind in KINDS:
        tokens = found.by_kind.get(kind.name, 0)
        if not tokens:
            continue
        share = tokens / max(1, found.tokens)
        row = Styled(f"{kind.letter} {kind.name:<15} {tokens:>9,} {share:>6.1%}  ")
        row.append(_bar(share * room), style=kind.colour)
        rows.append(row)
    return rows


def _bar(cells: float) -> str:
    whole = int(cells)
    return BAR * whole + PARTIAL[int((cells - whole) * 8)].strip()


def _thread(found: Anatomy, width: int) -> list[Styled]:
    """Draw the session as a strip of cells: the kind that fills most of a cell gives it letter and colour."""
    cells = found.cells(THREAD_ROWS * (width - 2))
    by_name = {kind.name: kind for kind in KINDS}
    rows = []
    for start in range(0, len(cells), width - 2):
        row = Styled("  ")
        for name in cells[start : start + width - 2]:
            kind = by_name[name]
            row.append(kind.letter, style=f"{kind.colour} reverse")
        rows.append(row)
    return rows


def _growth(found: Anatomy, width: int) -> list[Styled]:
    columns = found.growth(min(width - 30, 120))
    line = "".join(RISING[min(7, 8 * tokens // max(1, found.tokens))] for tokens in columns)
    half = found.message_at(found.tokens // 2) + 1
    return [Styled.assemble("growth    ", (line, "green"), f" half by #{half}")]


def _heavy_line(heavy: Heavy, total: int, width: int) -> Styled:
    line = Styled(f"{heavy.tokens:>9,} {heavy.tokens / max(1, total):>6.1%}  ")
    line.append(f"#{heavy.message + 1:<5}", style="dim")
    line.append(f"{heavy.kind}  ", style=next(kind.colour for kind in KINDS if kind.name == heavy.kind))
    line.append(one_line(heavy.label, max(20, width - 46)))
    return line


def _remarks(found: Anatomy) -> list[Styled]:
    cuts = f"safe at {found.cuts:,} of {count(found.messages + 1, 'boundary')}"
    widest = count(found.widest_atom, "message")
    lines = [Styled(f"cuts      {cuts}; at most {widest} must stay together")]
    if found.repeated_tokens:
        share = found.repeated_tokens / max(1, found.tokens)
        times = count(found.repeated, "tool result")
        lines.append(Styled(f"repeated  {times} repeat an earlier one exactly: {share:.1%} of all tokens"))
    if found.unpaired:
        lines.append(
            Styled(f"unpaired  {count(found.unpaired, 'tool call')} without a result, or the reverse")
        )
    return lines
