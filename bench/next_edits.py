"""Whether a compacted view still shows the text that the agent is about to edit.

    nice uv run python bench/next_edits.py FOLDER                     # half of the sessions, 12,000 tokens
    nice uv run python bench/next_edits.py FOLDER --half judge --policy clew --policy tail
    nice uv run python bench/next_edits.py FOLDER --share 0.1 --cache /tmp/edits.pickle

Sessions are cut while the agent reads: at least three results since the last edit and the last request, and
an edit follows before the next request. Of the first three edits after the cut, what counts is the text to
replace that the history shows and nothing after the cut shows before the edit: without that text in its view,
an agent would have to read the file again.

*lines* is the share of these lines that the view shows whole, *edits* the share of edits of which it shows
all, *definition* the share of edits for which it shows the line that defines what they are in. Intervals are
by session.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import random
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from clew.compaction.propose.edits import edits, patch_blocks
from clew.compaction.propose.line_kinds import NUMBERED_LINE, STRUCTURE
from clew.compaction.propose.tail import opens_turn
from clew.ledger.tool_actions import ActionKind, action_of
from clew.message import Item, Message, Part, Role, ToolCall, cut_points, words
from clew.message.parts import json_strings
from clew_evals.policies import POLICIES
from clew_evals.sessions import COUNTER, Cut, SessionFile, session_files
from clew_evals.study import sessions_of

SEED = 23
LEAST, MOST = 36_000, 140_000
"""Tokens of a history."""
TARGET = 12_000
FEWEST_READS, EDITS = 3, 3
LOOKED_AT = 40
"""Messages after the cut in which edits are looked for."""
CUTS_PER_SESSION = 2
SHORTEST_LINE = 6
"""Characters of a line that counts: shorter ones are brackets and the like."""
COMPARED = ("clew", "tail", "first-and-tail", "masked", "story-calls-recent", "graded-40", "graded-60")
DRAWS = 2_000


class Wanted(NamedTuple):
    """What an edit after the cut needs of the history."""

    lines: tuple[str, ...]
    definition: str
    """The line that defines what they are in; "" if there is none."""


class EditCut(NamedTuple):
    """A session cut while the agent reads, and the edits that follow."""

    cut: Cut
    wanted: tuple[Wanted, ...]


class Shown(NamedTuple):
    """How much of what the next edits need is in a view."""

    lines: float
    edits: float
    definition: float | None


# Cuts -------------------------------------------------------------------------------------------------


def replaced(call: ToolCall) -> list[str]:
    """Return the lines that an edit replaces, as far as they say something."""
    if action_of(call).kind is ActionKind.PATCH:
        old = [block.old for block in patch_blocks(action_of(call).subject) if not block.is_whole_file]
    else:
        old = [text for gone, new in edits(call.arguments) if new for text in gone]
    return _telling(old)


def _telling(texts: Iterable[str]) -> list[str]:
    lines = (line.strip() for text in texts for line in text.split("\n"))
    return list(dict.fromkeys(line for line in lines if len(line) >= SHORTEST_LINE))


def shown_lines(messages: Iterable[Message]) -> set[str]:
    """Return the lines that messages show, without line numbers."""
    found = set()
    for message in messages:
        for part in message.parts:
            for text in _texts(part):
                for line in text.split("\n"):
                    found.add(line.strip())
                    found.add(NUMBERED_LINE.sub("", line).strip())
    return found


def _texts(part: Part) -> Iterator[str]:
    if isinstance(part, ToolCall) and part.input is not None:
        yield from json_strings(part.input)
    else:
        yield words(part)


def reading_cuts(messages: Sequence[Message]) -> Iterator[list[int]]:
    """Yield the indices at which a session may be cut before each run of edits, while the agent reads."""
    legal = set(cut_points(messages))
    since: list[int] = []
    for i, message in enumerate(messages):
        if opens_turn(message):
            since = []
        if any(replaced(call) for call in message.calls):
            if len(since) >= FEWEST_READS:
                asked = range(since[FEWEST_READS - 1] + 1, i + 1)
                yield [at for at in asked if at in legal and messages[at].role is Role.ASSISTANT]
            since = []
        elif any(message.results):
            since.append(i)


def wanted_at(messages: Sequence[Message], at: int) -> Iterator[Wanted]:
    """Yield what the first edits after a cut need of the history."""
    before = shown_lines(messages[:at])
    since: set[str] = set()
    left = EDITS
    for message in messages[at : at + LOOKED_AT]:
        if opens_turn(message):
            return
        for call in message.calls:
            lines = replaced(call)
            needed = tuple(line for line in lines if line in before and line not in since)
            if lines and left:
                left -= 1
                if needed:
                    yield Wanted(needed, _definition(messages[:at], needed[0]))
        since |= shown_lines([message])


def _definition(messages: Sequence[Message], line: str) -> str:
    """Return the line that defines what a line is in, by the latest result that shows it."""
    for message in reversed(messages):
        for result in message.results:
            if line in result.text:
                texts = result.text[: result.text.find(line)].split("\n")[:-1]
                defined = (
                    NUMBERED_LINE.sub("", one).strip() for one in reversed(texts) if STRUCTURE.match(one)
                )
                return next(defined, "")
    return ""


def cuts_of(file: SessionFile, source: random.Random) -> Iterator[EditCut]:
    """Yield the cuts of the sessions of a file, at most so many of each."""
    for session in sessions_of(file):
        messages = session.full()
        sizes = [0]
        for message in messages:
            sizes.append(sizes[-1] + COUNTER.count(message))
        if sizes[-1] < LEAST:
            continue
        places = [
            inside
            for ats in reading_cuts(messages)
            if (inside := [at for at in ats if LEAST <= sizes[at] <= MOST])
        ]
        source.shuffle(places)
        left = CUTS_PER_SESSION
        for ats in places:
            at = source.choice(ats)
            wanted = tuple(wanted_at(messages, at))
            if wanted and left:
                left -= 1
                items = tuple(Item(f"m{n}", one) for n, one in enumerate(messages[:at], start=1))
                first = next(
                    (n for n, one in enumerate(items) if one.message.role not in _SYSTEM), len(items)
                )
                name = f"{file.path.name}#{session.id}"
                cut = Cut(name, file.set, session.format, items[:first], items[first:], at=at / len(messages))
                yield EditCut(cut, wanted)


_SYSTEM = (Role.SYSTEM, Role.DEVELOPER)


def is_in_half(name: str, half: str) -> bool:
    """Whether a file belongs to the sessions to look at or to those that judge."""
    odd = hashlib.sha256(name.encode()).digest()[0] % 2 == 1
    return half == "all" or odd == (half == "judge")


def sampled(folder: Path, half: str) -> list[EditCut]:
    """Return the cuts of half of the sessions."""
    source = random.Random(SEED)
    files = [file for file in session_files([folder]) if is_in_half(file.path.name, half)]
    return [cut for file in files for cut in cuts_of(file, source)]


# Figures ----------------------------------------------------------------------------------------------


def shown_of(wanted: Sequence[Wanted], view: Sequence[Item]) -> Shown:
    """Return how much of what edits need a view shows."""
    shown = shown_lines(item.message for item in view)
    needed = dict.fromkeys(line for one in wanted for line in one.lines)
    named = [one.definition in shown for one in wanted if one.definition]
    return Shown(
        statistics.mean(line in shown for line in needed),
        statistics.mean(all(line in shown for line in one.lines) for one in wanted),
        statistics.mean(named) if named else None,
    )


def interval(values: Sequence[tuple[str, float]]) -> tuple[float, float, float]:
    """Return mean and 95 % interval; sessions are drawn again, not cuts."""
    by_session: dict[str, list[float]] = {}
    for session, value in values:
        by_session.setdefault(session, []).append(value)
    groups = list(by_session.values())
    source = random.Random(SEED)
    means = []
    for _ in range(DRAWS):
        drawn = source.choices(groups, k=len(groups))
        means.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    means.sort()
    return statistics.mean(v for _, v in values), means[DRAWS // 40], means[-DRAWS // 40]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("look", "judge", "all"), default="look")
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    parser.add_argument("--tokens", type=int, default=TARGET)
    parser.add_argument("--share", type=float, help="share of the history instead of a number of tokens")
    parser.add_argument(
        "--cache", type=Path, help="keep the cuts here; delete it when the choice of cuts changes"
    )
    parser.add_argument("--out", type=Path, help="write the figures of each cut here")
    asked = parser.parse_args()
    if asked.cache and asked.cache.exists():
        cuts: list[EditCut] = pickle.loads(asked.cache.read_bytes())
    else:
        cuts = sampled(asked.folder, asked.half)
        if asked.cache:
            asked.cache.write_bytes(pickle.dumps(cuts))
    print(f"{len(cuts)} cuts of {len({one.cut.session for one in cuts})} sessions")
    rows: dict[str, list[Shown]] = {}
    for name in asked.policy or COMPARED:
        found = rows.setdefault(name, [])
        for one in cuts:
            tokens = int(one.cut.tokens * asked.share) if asked.share else asked.tokens
            view = POLICIES[name].compact(replace(one.cut, budget_tokens=tokens))
            found.append(shown_of(one.wanted, view))
        told = []
        for field in Shown._fields:
            values = [(one.cut.session, getattr(row, field)) for one, row in zip(cuts, found, strict=True)]
            mean, low, high = interval([(session, v) for session, v in values if v is not None])
            told.append(f"{field} {mean:.3f} [{low:.3f}, {high:.3f}]")
        print(f"{name:20}", "  ".join(told), flush=True)
    if asked.out:
        asked.out.write_bytes(pickle.dumps((cuts, rows)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
