"""One session's life, in steps that are acknowledged one by one, with a disk that fails at a chosen moment.

Run as ``python -m tests.hard.life TASK FOLDER COUNT SEED``, the fault library preloaded. Each life runs in
a fork of this process, so that a thousand of them cost what they do and not what starting Python does.
Nothing here is a test.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.errors import ClewError
from clew.log.protocol import Ctx
from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, text_message
from clew.session import Session

CTX = Ctx(workspace="local", session="main")
KILL = -1
NO_SPACE, IO_ERROR, READ_ONLY, QUOTA = 28, 5, 30, 122
RULE = "Never modify files under legacy/."
LARGE = "\n".join(f"{n:05} a line of a large output" for n in range(4_000))


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the disk, and when."""

    at: int = 0
    does: int = KILL
    lasts: bool = False


# What is done ----------------------------------------------------------------------------------------


def exchange(n: int, output: str) -> list[Message]:
    call = ToolCall(f"t{n}", "read", {"path": f"src/part_{n}.py"})
    return [
        Message(Role.ASSISTANT, (Text(f"I look at part {n}."), call)),
        Message(Role.TOOL, (ToolResult(f"t{n}", (Text(output),), name="read"),)),
    ]


def steps() -> Iterator[Callable[[Session], object]]:
    """Yield what a session does: appends small and large, compactions, undos, pins, switches, budgets."""
    yield lambda session: session.add(text_message(Role.USER, f"Tidy up the billing code. {RULE}"))
    for n in range(8):
        output = "\n".join(f"rate_{n}_{i} = {i * n}" for i in range(80))
        yield lambda session, n=n, output=output: session.add(*exchange(n, output))
    yield lambda session: session.fit()
    yield lambda session: session.compact(target_tokens=2_500)
    yield lambda session: session.add(*exchange(100, LARGE))
    yield lambda session: session.pin("Answer in French.")
    yield lambda session: session.undo()
    yield lambda session: session.compact(target_tokens=2_000)
    yield lambda session: session.switch_off()
    yield lambda session: session.switch_on()
    yield lambda session: session.add(text_message(Role.USER, "Go on."))


STEPS = tuple(steps())


def fingerprint(session: Session) -> str:
    """Return what the session looks like, as one word."""

    def told(item: Item) -> list[str]:
        return [item.id, str(item.message.role), repr(item.message.parts)]

    state = [list(map(told, session.view())), [pin.quote for pin in session.pins], session.is_off]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]


# A disk that fails -----------------------------------------------------------------------------------


class Disk:
    """The library in front of libc."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.fault_steps.restype = ctypes.c_long

    def fails(self, folder: Path, fault: Fault, undo: str = "") -> None:
        """Begin to count, and fail as told."""
        name, log = str(folder).encode(), undo.encode()
        self._library.fault_begin(name, ctypes.c_long(fault.at), fault.does, int(fault.lasts), log)

    @property
    def steps(self) -> int:
        """Return how many steps were counted."""
        return int(self._library.fault_steps())


DISK = Disk() if os.environ.get("LD_PRELOAD") else None


def live(folder: Path, say: Callable[[object], None]) -> None:
    """Do all the steps from where the session stands; say each once it is done."""
    with SqliteStore(folder / "clew.db") as store, Session.open("main", store, window=20_000) as session:
        for n, step in enumerate(STEPS):
            step(session)
            say(["done", n, *store.head(session.ctx)])


def in_fork(work: Callable[[Callable[[object], None]], None]) -> tuple[int, list[list]]:
    """Run in a child; return how it ended, and what it said: one line each, whole or not at all."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            work(lambda told: os.write(writer, json.dumps(told).encode() + b"\n"))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as said_lines:
        lines = [json.loads(line) for line in said_lines if line.endswith(b"\n")]
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines


# What is found afterwards ----------------------------------------------------------------------------


def states(folder: Path) -> tuple[list[str], int]:
    """Return what the session looks like before and after each step, and how often the disk is used."""
    assert DISK
    DISK.fails(folder, Fault())
    looks = []
    with SqliteStore(folder / "clew.db") as store, Session.open("main", store, window=20_000) as session:
        looks.append(fingerprint(session))
        for step in STEPS:
            step(session)
            looks.append(fingerprint(session))
    return looks, DISK.steps


def verdict(folder: Path, told: list[list], looks: list[str]) -> str:
    """Return what is wrong with a session whose writer died: nothing acknowledged may be gone."""
    done = [line for line in told if line[0] == "done"]
    with SqliteStore(folder / "clew.db") as store:
        for _, n, seq, digest in done[-3:]:
            kept = next(store.read(CTX, seq - 1, seq), None)
            if kept is None or kept.hash != digest:
                return f"step {n} was acknowledged and is gone"
        with Session.open("main", store, window=20_000) as session:
            if fingerprint(session) not in looks[len(done) : len(done) + 2]:
                return f"after step {len(done)} it looks like neither before nor after the next"
            session.add(text_message(Role.USER, "once more"))
    flaws = audit(folder / "clew.db").flaws
    return f"unsound: {flaws[0]}" if flaws else ""


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# Tasks -----------------------------------------------------------------------------------------------


def points(count: int, most: int, seed: int) -> list[int]:
    """Return the steps to fail at: all of them, or as many as wanted."""
    every = range(1, most + 1)
    return sorted(random.Random(seed).sample(every, min(count, most)))


def die(root: Path, count: int, seed: int) -> Iterator[str]:
    """Kill the writer at steps of the disk, and look at what it leaves."""
    looks, most = states(fresh(root / "whole"))
    yield f"steps {most}"
    for at in points(count, most, seed):
        folder = fresh(root / "life")

        def work(say: Callable[[object], None], folder: Path = folder, at: int = at) -> None:
            assert DISK
            DISK.fails(folder, Fault(at))
            live(folder, say)

        status, told = in_fork(work)
        if status != -9:
            yield f"wrong: the writer was to die at {at}, and ended with {status}"
        if wrong := verdict(folder, told, looks):
            yield f"wrong: killed at {at}: {wrong}"


def break_down(root: Path, count: int, seed: int) -> Iterator[str]:
    """Let the disk fail, see that it is said and that nothing is lost; mend it, and go on."""
    looks, most = states(fresh(root / "whole"))
    yield f"steps {most}"
    chance = random.Random(seed)
    for at in points(count, most, seed):
        fault = Fault(at, chance.choice([NO_SPACE, IO_ERROR, READ_ONLY, QUOTA]), chance.random() < 0.5)
        folder = fresh(root / "life")
        status, told = in_fork(lambda say, folder=folder, fault=fault: _endure(folder, fault, looks, say))
        if status or ["whole"] not in told:
            yield f"wrong: {fault}: ended with {status}, {told[-1:]}"


def _endure(folder: Path, fault: Fault, looks: list[str], say: Callable[[object], None]) -> None:
    """Live with a disk that fails once or for a while, as a program would: be told, look, mend, try again."""
    assert DISK
    DISK.fails(folder, fault)
    done = 0
    while done < len(STEPS):
        try:
            with (
                SqliteStore(folder / "clew.db") as store,
                Session.open("main", store, window=20_000) as session,
            ):
                now = looks.index(fingerprint(session), done)  # a step that failed may have been done
                if now > done + 1:
                    say(["wrong", f"{now} steps after {done}"])
                    return
                for done in range(now, len(STEPS)):
                    STEPS[done](session)
                done = len(STEPS)
        except ClewError as error:
            say(["told", type(error).__name__])
            DISK.fails(folder, Fault())
    DISK.fails(folder, Fault())
    say(["whole"] if not audit(folder / "clew.db").flaws else ["unsound"])


def lose_power(root: Path, count: int, seed: int) -> Iterator[str]:
    """Kill the writer, then take back some of what was not synced, whole or torn."""
    looks, most = states(fresh(root / "whole"))
    yield f"steps {most}"
    chance = random.Random(seed)
    for at in points(count, most, seed):
        folder, undo = fresh(root / "life"), root / "undo"
        undo.unlink(missing_ok=True)

        def work(
            say: Callable[[object], None], folder: Path = folder, at: int = at, undo: Path = undo
        ) -> None:
            assert DISK
            DISK.fails(folder, Fault(at), str(undo))
            live(folder, say)

        _, told = in_fork(work)
        take_back(undo, chance)
        if wrong := verdict(folder, told, looks):
            yield f"wrong: power lost at {at}: {wrong}"


def take_back(undo: Path, chance: random.Random) -> None:
    """Restore some of what stood where unsynced writes went; of the last one, maybe only a part."""
    pending: dict[str, list[tuple[int, int, int, bytes]]] = {}
    data, place = undo.read_bytes() if undo.exists() else b"", 0
    while place < len(data):
        end = data.index(b"\n", place)
        head, place = data[place:end].decode(), end + 1
        if head.startswith("sync "):
            pending.pop(head[5:], None)
            continue
        _, kept, offset, length, size, path = head.split(" ", 5)
        pending.setdefault(path, []).append(
            (int(offset), int(length), int(size), data[place : place + int(kept)])
        )
        place += int(kept)
    for path, writes in pending.items():
        if Path(path).exists() and not path.endswith("-shm"):
            _take_back(Path(path), [one for one in writes if chance.random() < 0.6], chance)


def _take_back(path: Path, writes: list[tuple[int, int, int, bytes]], chance: random.Random) -> None:
    with path.open("r+b") as file:
        for offset, length, _size, old in reversed(writes):
            torn = chance.choice([0, 0, chance.randrange(length + 1)])  # a write may have got through in part
            here = old[torn:] + b"\0" * (length - max(torn, len(old)))
            file.seek(offset + torn)
            file.write(here)


if __name__ == "__main__":
    task, root, count, seed = sys.argv[1:]
    tasks = {"die": die, "break_down": break_down, "lose_power": lose_power}
    for line in tasks[task](Path(root), int(count), int(seed)):
        print(line, flush=True)
    print("ended")
