"""Cut real sessions for a reader: what came before, what really came next, and clew's view of the first part.

    uv run python bench/reader/cuts.py short OUT.jsonl.gz FOLDER    # histories of 9k-24k tokens, 10 and 20 %
    uv run python bench/reader/cuts.py long OUT.jsonl.gz FOLDER     # 50k-200k tokens, views of 5 and 10 %
    uv run python bench/reader/cuts.py real OUT.jsonl.gz FOLDER     # compactions of tools, at their own size
    uv run python bench/reader/cuts.py chain OUT.jsonl.gz FOLDER    # 30k -> 10k again and again, and at once

Which cuts are taken depends on the seed and the sessions alone, so another version of clew is read at the
same cuts. No model reads anything here: that is ``score.py``, on another machine if need be.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import clew
from clew.errors import ClewError
from clew.message import Item, Message, Origin, Part, Role, Text, ToolCall, ToolResult
from clew.transcripts import Boundary, Entry, Transcript
from clew_evals.chains import TARGET, WINDOW, grow_view
from clew_evals.policies import POLICIES
from clew_evals.sessions import COUNTER, Cut, session_files
from clew_evals.words import spot

Row = dict[str, Any]

CHARACTERS = 3.6
"""To a token, about: sizes of cuts need no exact count."""
CUT_AT = (0.5, 0.75, 0.9)
FEWEST_MESSAGES = 30
SESSIONS_PER_FILE = 3
CONTINUED = 14
"""Messages of the continuation that are written."""
LEAST_SAID = 400
"""Characters of the agent's in the continuation."""
SLACK = 1.15
REAL_MESSAGES = 400
"""Of a history before a real compaction, the last so many are written."""


class Kind(NamedTuple):
    """A kind of cut: how long its history is, and which views are made of it."""

    least: int
    most: int
    shares: tuple[float, ...]
    per_set: int


KINDS = {
    "short": Kind(9_000, 24_000, (0.10, 0.20), 8),
    "long": Kind(50_000, 200_000, (0.05, 0.10), 8),
    "chain": Kind(60_000, 200_000, (), 2),
}
REAL_PER_SET = 20


# Messages as rows ---------------------------------------------------------------------------------------


def text_of(parts: Sequence[Part]) -> str:
    """Return what parts say, tool calls and results in tags."""
    pieces = []
    for part in parts:
        if isinstance(part, Text):
            pieces.append(part.text)
        elif isinstance(part, ToolResult):
            pieces.append(f"<tool_response>\n{text_of(part.parts)}\n</tool_response>")
        elif isinstance(part, ToolCall):
            given = part.input if part.input is not None else part.input_text
            said = json.dumps({"name": part.name, "arguments": given}, ensure_ascii=False, default=str)
            pieces.append(f"<tool_call>\n{said}\n</tool_call>")
    return "\n".join(pieces)


def rows_of(messages: Sequence[Message]) -> list[Row]:
    """Return messages as rows; those that say nothing are left out."""
    rows = []
    for message in messages:
        text = text_of(message.parts)
        if text.strip():
            spoken = message.origin is Origin.SPOKEN
            rows.append({"role": _role(message.role), "text": text, "spoken": spoken})
    return rows


def _role(role: Role) -> str:
    if role in (Role.SYSTEM, Role.DEVELOPER):
        return "system"
    return "user" if role is Role.TOOL else role.value


def size(rows: Sequence[Row]) -> float:
    """Return the tokens of rows, about."""
    return sum(len(row["text"]) for row in rows) / CHARACTERS


def with_values(prefix: Sequence[Row], continuation: Sequence[Row]) -> list[Row]:
    """Return the continuation with the places of exact values that the prefix holds and nothing since."""
    before = "\n".join(row["text"] for row in prefix)
    seen = ""
    found = []
    for row in continuation:
        text = row["text"]
        values = spot(text) if row["role"] == "assistant" else []
        fresh = (one for one in values if one.value in before and one.value not in seen)
        places = [[one.start, one.end] for one in fresh if one.value not in text[: one.start]]
        found.append({**row, "values": places})
        seen += "\n" + text
    return found


def said(rows: Sequence[Row]) -> int:
    """Return how much the agent says."""
    return sum(len(row["text"]) for row in rows if row["role"] == "assistant")


def clew_view(messages: Sequence[Message], tokens: int) -> list[Row] | None:
    """Return clew's view of messages in this many tokens, with no model; None if it refuses."""
    try:
        done = clew.compact(list(messages), window=2_000_000, target_tokens=tokens, mask_secrets=False)
    except ClewError as problem:
        print(f"refused: {problem}")
        return None
    return rows_of(list(done.messages))


# Which cuts ---------------------------------------------------------------------------------------------


def sessions_in(folder: Path, source: random.Random) -> Iterator[tuple[Path, Transcript]]:
    """Yield the sessions of a folder in a random order, at most three of a file."""
    files = session_files([folder])
    source.shuffle(files)
    for path, _ in files:
        try:
            sessions = clew.load(path)
        except ClewError:
            continue
        for session in sessions[:SESSIONS_PER_FILE]:
            yield path, session


def cut_at(messages: Sequence[Message], kind: Kind, source: random.Random) -> int | None:
    """Return where a session is cut: before a reply, with every call answered; None if nowhere."""
    sizes = [0.0]
    for message in messages:
        sizes.append(sizes[-1] + len(text_of(message.parts)) / CHARACTERS)
    shares = list(CUT_AT)
    source.shuffle(shares)
    for share in shares:
        wanted = min(sizes[-1] * share, kind.most)
        at = next((i for i in range(len(messages)) if sizes[i] >= wanted), None)
        if at is None:
            continue
        while at < len(messages) - 3 and not _is_reply(messages, at):
            at += 1
        if at >= len(messages) - 3 or not kind.least <= sizes[at] <= kind.most * SLACK:
            continue
        if _all_answered(messages[:at]) and said(rows_of(messages[at : at + CONTINUED])) >= LEAST_SAID:
            return at
    return None


def _is_reply(messages: Sequence[Message], at: int) -> bool:
    before = messages[at - 1].role if at else Role.SYSTEM
    return messages[at].role is Role.ASSISTANT and before in (Role.USER, Role.TOOL)


def _all_answered(messages: Sequence[Message]) -> bool:
    called = {call.call_id for message in messages for call in message.calls}
    return called <= {result.call_id for message in messages for result in message.results}


def cuts(folders: Sequence[Path], name: str, seed: int, per_set: int | None) -> Iterator[Row]:
    """Yield cuts of a kind, at most one to a session and so many to a set."""
    kind = KINDS[name]
    source = random.Random(seed)
    for folder in folders:
        left = per_set or kind.per_set
        for path, session in sessions_in(folder, source):
            if not left:
                break
            messages = session.full()
            at = cut_at(messages, kind, source) if len(messages) >= FEWEST_MESSAGES else None
            if at is None:
                continue
            left -= 1
            prefix = rows_of(messages[:at])
            label = f"{folder.name}/{path.name[:40]}/{at}"
            row = _row(label, folder.name, session, name, prefix, messages[at : at + CONTINUED])
            row["views"] = (
                _chain_views(messages[:at]) if name == "chain" else _views(messages[:at], prefix, kind)
            )
            yield row


def _row(
    label: str, set_name: str, session: Transcript, kind: str, prefix: list[Row], later: Sequence[Message]
) -> Row:
    continuation = with_values(prefix, rows_of(later))
    return {
        "id": f"{kind}/{label}",
        "set": set_name,
        "tool": session.format,
        "kind": kind,
        "prefix": prefix,
        "continuation": continuation,
    }


def _views(messages: Sequence[Message], prefix: Sequence[Row], kind: Kind) -> dict[str, list[Row]]:
    views = {f"clew@{share:g}": clew_view(messages, int(size(prefix) * share)) for share in kind.shares}
    return {label: view for label, view in views.items() if view is not None}


def _chain_views(messages: Sequence[Message]) -> dict[str, list[Row]]:
    """Return clew's last view of a session that outgrew its window again and again, and one made at once."""
    items = tuple(Item(f"m{n}", message) for n, message in enumerate(messages, start=1))
    cut = Cut("chain", "chain", "", (), items, budget_tokens=TARGET)
    chained = grow_view(cut, POLICIES["clew"], WINDOW)
    room = COUNTER.count_all(item.message for item in chained.view)
    once = POLICIES["clew"].compact(Cut("once", "chain", "", (), items, budget_tokens=room))
    both = {"chain@once": chained.view, "clew@once": once}
    return {label: rows_of([item.message for item in view]) for label, view in both.items()}


def real(folders: Sequence[Path], seed: int, per_set: int | None) -> Iterator[Row]:
    """Yield compactions that tools made: their own view, and clew's in as many tokens."""
    source = random.Random(seed)
    for folder in folders:
        left = per_set or REAL_PER_SET
        for path, session in sessions_in(folder, source):
            for row in islice(_compactions(folder.name, path, session), left):
                left -= 1
                yield row
            if not left:
                break


def _compactions(set_name: str, path: Path, session: Transcript) -> Iterator[Row]:
    records = session.records
    for i, record in enumerate(records):
        if not isinstance(record, Boundary) or record.id in session.dropped:
            continue
        summary = next((j for j in range(i, min(i + 12, len(records))) if _is_summary(records[j])), None)
        if summary is None:
            continue
        before = _answered_only(Transcript(session.start, records[:i]).full())
        later = [
            one.message
            for one in records[summary + 1 :]
            if isinstance(one, Entry) and one.sidechain is None and one.id not in session.dropped
        ][: CONTINUED + 2]
        if len(before) < 20 or said(rows_of(later)) < LEAST_SAID:
            continue
        left = rows_of(Transcript(session.start, records[: summary + 1]).current())
        room = int(size([row for row in left if row["role"] != "system"]))
        ours = clew_view(before, room)
        if ours is not None:
            prefix = rows_of(before)[-REAL_MESSAGES:]
            row = _row(f"{set_name}/{path.name[:40]}/{i}", set_name, session, "real", prefix, later)
            yield {**row, "views": {"clew@own": ours, "own summary@own": left}}


def _is_summary(record: object) -> bool:
    return isinstance(record, Entry) and record.message.origin is Origin.SUMMARY


def _answered_only(messages: Sequence[Message]) -> list[Message]:
    called = {call.call_id for message in messages for call in message.calls}
    open_calls = called - {result.call_id for message in messages for result in message.results}
    return [one for one in messages if not any(call.call_id in open_calls for call in one.calls)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=(*KINDS, "real"))
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path, help="a folder of sets, each a folder of sessions")
    parser.add_argument("--per-set", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--sets", nargs="+", help="only these")
    asked = parser.parse_args()
    named = (path for path in sorted(asked.folder.iterdir()) if path.is_dir() and path.name[0] != "_")
    folders = [path for path in named if not asked.sets or path.name in asked.sets]
    found = (
        real(folders, asked.seed, asked.per_set)
        if asked.kind == "real"
        else cuts(folders, asked.kind, asked.seed, asked.per_set)
    )
    count = 0
    with gzip.open(asked.out, "wt", encoding="utf-8") as out:
        for row in found:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
            print(f"{count} {row['id']}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
