"""What a session is after a thousand compactions, and with a million messages in it.

    uv run python bench/endurance.py                       100 and 1,000 compactions, 1,000,000 messages
    uv run python bench/endurance.py --compactions 100 --messages 20000 --print
    uv run python bench/endurance.py --compactions 100 --messages 1000000 --gigabytes 5

**Compactions.** Each round an agent reads files and the session is compacted to 3,000 tokens, on top of the
rounds before. After every round: each rule stands in the view byte for byte, and every source of every claim
of the digest can be looked up, with the very characters it cites. Drift: the share of the values told in the
first rounds (by the person, and by tools) that can still be read in the view; the log keeps all of them.

**Messages.** A session of short messages grows through ``Session.add``, a thousand at a time, compacted
whenever its view has more than 60,000 tokens. With ``--gigabytes``, one message in twenty is a screenshot,
all of those together so large. Then a new process opens it, and appends one message at a time: to it, and to
a new session in the same file. Times are by wall clock, for opening also CPU time. ``--keep FOLDER`` keeps
the file, and goes on with it where an earlier run was broken off.
"""

from __future__ import annotations

import argparse
import base64
import json
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.compaction.plan import Digest
from clew.log.store import SqliteStore
from clew.message import Media, Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session

RESULTS = Path(__file__).parent / "results" / "endurance.md"
RULES = (
    "Never modify files under legacy/.",
    "Always run the tests before you commit.",
    "Do not push to main.",
    "Answer in plain text, never in HTML.",
    "Don't touch the production database.",
)
EARLY = 10
"""Rounds whose values are looked for ever after."""
TARGET_TOKENS = 3_000
MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
BATCH = 1_000
SINGLES = 200
WINDOW = 60_000
EACH = 20
"""One message in so many tells a value, and one in so many is a screenshot."""


# Compactions -----------------------------------------------------------------------------------------


def told_by_person(n: int) -> str:
    return f"{7_000 + n * 13}"


def told_by_tool(n: int) -> str:
    return f"build-{n * 7_919 % 100_003:05d}"


def opening() -> Message:
    return text_message(Role.USER, "Tidy up the billing code. " + " ".join(RULES))


def round_of(n: int) -> Iterator[Message]:
    """Yield what is said and done between two compactions."""
    yield text_message(Role.USER, f"Look at part {n}. The port of service {n} is {told_by_person(n)}.")
    for k in range(3):
        call = ToolCall(f"t{n}-{k}", "read", {"path": f"src/part_{n}_{k}.py"})
        output = "\n".join(f"rate_{n}_{k}_{i} = {i * n}" for i in range(40))
        shown = f"{output}\nid = {told_by_tool(n)}" if k == 0 else output
        yield Message(Role.ASSISTANT, (Text(f"I read file {k} of part {n}."), call))
        yield Message(Role.TOOL, (ToolResult(call.call_id, (Text(shown),), name="read"),))
    yield text_message(Role.ASSISTANT, f"Part {n} reads its rates from a table; nothing there is wrong.")


@dataclass(slots=True)
class Endured:
    """What was found, round by round."""

    compactions: int = 0
    rules_changed: int = 0
    claims: int = 0
    sources: int = 0
    sources_lost: int = 0
    seconds: list[float] = field(default_factory=list)
    persons: dict[int, float] = field(default_factory=dict)
    tools: dict[int, float] = field(default_factory=dict)


def endure(session: Session, rounds: int) -> Endured:
    """Compact a session so many times, and look at it after each."""
    found = Endured()
    session.add(opening())
    for n in range(1, rounds + 1):
        session.add(*round_of(n))
        started = time.perf_counter()
        done = session.compact(target_tokens=TARGET_TOKENS)
        if done is not None:
            found.compactions += 1
            found.seconds.append(time.perf_counter() - started)
        look(session, done.digest if done else None, found)
        since = n - EARLY
        if since in MARKS:
            found.persons[since] = share(session, map(told_by_person, range(1, EARLY + 1)))
            found.tools[since] = share(session, map(told_by_tool, range(1, EARLY + 1)))
    return found


def look(session: Session, digest: Digest | None, found: Endured) -> None:
    """Check the rules and the sources of one digest."""
    shown = text_of(session)
    found.rules_changed += sum(rule not in shown for rule in RULES)
    for claim in digest.claims if digest else ():
        found.claims += 1
        for cite in claim.sources:
            found.sources += 1
            original = next(iter(session.originals([cite.message])), None)
            if original is None or not cite.quote(original.message):
                found.sources_lost += 1


def share(session: Session, values: Iterator[str]) -> float:
    shown, wanted = text_of(session), list(values)
    return sum(value in shown for value in wanted) / len(wanted)


def text_of(session: Session) -> str:
    return "\n".join(
        f"{item.message.text}\n" + "\n".join(result.text for result in item.message.results)
        for item in session.view()
    )


# Messages --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grown:
    """What a long session costs."""

    messages: int
    fresh_append_ms: float
    append_ms: float
    open_s: float
    open_cpu_s: float
    view_ms: float
    peak_mb: float
    shown: int
    file_gb: float


def grow(path: Path, count: int, gigabytes: float = 0.0) -> None:
    """Write a long session, or the rest of one."""
    screen_bytes = int(gigabytes * 1e9 / count * EACH)
    with SqliteStore(path) as store, Session.open("main", store, window=WINDOW) as session:
        there = session.number(store.head(session.ctx).seq)
        for start in range(there, count, BATCH):
            session.add(*(message(n, screen_bytes) for n in range(start, min(start + BATCH, count))))
            if session.tokens > WINDOW:
                session.compact(target_tokens=TARGET_TOKENS)


def message(n: int, screen_bytes: int) -> Message:
    """Return the n-th message of a long session."""
    if screen_bytes and n % EACH == 1:
        return Message(Role.ASSISTANT, (ToolCall(f"t{n}", "look", {"page": f"orders/{n}"}),))
    if screen_bytes and n % EACH == 2:
        return Message(Role.TOOL, (ToolResult(f"t{n - 1}", screen(n, screen_bytes), name="look"),))
    return short(n)


def screen(n: int, size: int) -> tuple[Text, Media]:
    """Return what an agent sees of a page: some words, and a picture that cannot be packed."""
    words = "\n".join(f"Row {row} of page {n} is ready to be sent." for row in range(40))
    picture = base64.b64encode(random.Random(n).randbytes(size * 3 // 4)).decode()
    return Text(words), Media("image", "image/png", data=picture)


def short(n: int) -> Message:
    """Return a few words; one message in twenty tells a value that no other has."""
    words = f"Part {n % 97} is fine now." if n % EACH else f"The id of the build is {n * 7_919 + 100_003}."
    return text_message(Role.USER if n % 2 else Role.ASSISTANT, words)


def open_anew(path: Path) -> dict[str, float]:
    """Open a session as a new process does."""
    started, cpu = time.perf_counter(), time.process_time()
    with SqliteStore(path) as store, Session.open("main", store, window=WINDOW) as session:
        opened, cpu = time.perf_counter(), time.process_time() - cpu
        shown = len(session.view())
        viewed = time.perf_counter()
        append = append_ms(session)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with Session.open(f"new-{started}", store, window=WINDOW) as new:
            fresh = append_ms(new)
    told = {"open": opened - started, "cpu": cpu, "view": viewed - opened, "shown": shown, "peak": peak}
    return {**told, "append": append, "fresh": fresh}


def append_ms(session: Session) -> float:
    """Return what one more message takes, at the median."""
    spent = []
    for n in range(SINGLES):
        began = time.perf_counter()
        session.add(short(n))
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1e3


def grown(folder: Path, count: int, gigabytes: float) -> Grown:
    path = folder / "long.db"
    grow(path, count, gigabytes)
    command = [sys.executable, __file__, "--open", str(path)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Grown(
        count,
        told["fresh"],
        told["append"],
        told["open"],
        told["cpu"],
        told["view"] * 1e3,
        told["peak"],
        int(told["shown"]),
        path.stat().st_size / 1e9,
    )


# The page --------------------------------------------------------------------------------------------


def page(endured: Sequence[Endured], long: Grown | None, command: str) -> str:
    lines = ["# Endurance", "", f"`{command}`, Python {platform.python_version()}, {platform.machine()}.", ""]
    lines += chained(endured) if endured else []
    lines += lengthy(long) if long else []
    return "\n".join(lines) + "\n"


def chained(endured: Sequence[Endured]) -> list[str]:
    """Return what became of sessions that were compacted over and over."""
    lines = [
        "| compactions | rules changed | claims | sources | of them lost | ms each, first and last tenth |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for one in endured:
        tenth = max(1, len(one.seconds) // 10)
        first, last = (statistics.median(part) * 1e3 for part in (one.seconds[:tenth], one.seconds[-tenth:]))
        lines.append(
            f"| {one.compactions:,} | {one.rules_changed} | {one.claims:,} | {one.sources:,} |"
            f" {one.sources_lost} | {first:.0f}, {last:.0f} |"
        )
    most = endured[-1]
    lines += ["", f"Values of the first {EARLY} rounds that can still be read in the view:", ""]
    lines += ["| compactions since | " + " | ".join(f"{mark:,}" for mark in most.persons) + " |"]
    lines += ["|---" * (len(most.persons) + 1) + "|"]
    for who, shares in (("told by the person", most.persons), ("told by a tool", most.tools)):
        lines.append(f"| {who} | " + " | ".join(f"{share:.0%}" for share in shares.values()) + " |")
    return [*lines, ""]


def lengthy(long: Grown) -> list[str]:
    """Return what a long session costs."""
    one_more = f"{long.fresh_append_ms:.2f}, {long.append_ms:.2f}"
    return [
        "| messages | file, GB | one more, ms, in a new session and in this one | open, s (CPU) | view, ms |"
        " peak, MB |",
        "|---|---|---|---|---|---|",
        f"| {long.messages:,} | {long.file_gb:.2f} | {one_more} | {long.open_s:.2f} ({long.open_cpu_s:.2f}) |"
        f" {long.view_ms:.0f} | {long.peak_mb:.0f} |",
        "",
        f"Wanted: open < 2 s, view < 200 ms, peak < 500 MB. The view shows {long.shown:,} messages.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--compactions", type=int, nargs="*", default=[100, 1_000], help="0 for none")
    parser.add_argument("--messages", type=int, default=1_000_000, help="0 for none")
    parser.add_argument("--gigabytes", type=float, default=0.0, help="of screenshots among the messages")
    parser.add_argument("--keep", type=Path, help="a folder for the long session, to go on with")
    parser.add_argument("--print", action="store_true", help="write nothing to bench/results")
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.open:
        print(json.dumps(open_anew(args.open)))
        return
    with tempfile.TemporaryDirectory() as folder:
        endured = []
        for rounds in filter(None, args.compactions):  # 0 for none
            with SqliteStore(Path(folder, f"{rounds}.db")) as store:
                endured.append(endure(Session.open("main", store, window=WINDOW), rounds))
        long = grown(args.keep or Path(folder), args.messages, args.gigabytes) if args.messages else None
    rounds_told = " ".join(map(str, args.compactions))
    command = f"uv run python bench/endurance.py --compactions {rounds_told} --messages {args.messages}"
    command += f" --gigabytes {args.gigabytes:g}" if args.gigabytes else ""
    told = page(endured, long, command)
    print(told)
    if not args.print:
        RESULTS.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
