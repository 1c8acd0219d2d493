"""A session of a million messages: what the tiers cost as it grows, and how far its first hour is.

    python bench/retrieval_tiers.py [MESSAGES ...]

Messages are made up, 12 words each, 30 seconds apart; every 200 a compaction condenses them into a digest of
its own six lines, on top of the one before. After each the memory catches up and makes its moves. At the
end a value of the first hour is looked for, and the way from the archive to the turns is walked. Times are
the processor's, which a busy machine does not blur.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Plan
from clew.compaction.plan.codec import plan_to_json, shown_messages
from clew.compaction.plan.digest import spans
from clew.log import COMPACTION, iso_time, message_event, message_to_json
from clew.log.protocol import Ctx, Event
from clew.log.store import SqliteStore
from clew.memory import Memory
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.tiers import Tier
from clew.message import Cite, Role, Trust, text_message

CTX = Ctx(workspace="w", session="long")
SPAN = 200
EVERY_MS = 30_000
BEGUN_MS = 1_700_000_000_000
LINES = 6
WORDS = ("kiln", "oven", "glaze", "clay", "firing", "shelf", "wheel", "invoice", "report", "server", "queue")


def message(rng, number):
    """Return the event of one message; each has a value of its own."""
    words = " ".join(rng.choices(WORDS, k=12))
    role = Role.USER if number % 2 else Role.ASSISTANT
    event = message_event(text_message(role, f"{words} REF-{number:07}"))
    return Event(
        f"{number:026}", event.kind, event.version, iso_time(BEGUN_MS + number * EVERY_MS), event.body
    )


def compaction(number):
    """Return the event of the compaction that condenses the span of this number, counted from 1."""
    first, last = (number - 1) * SPAN + 1, number * SPAN
    name, own = f"d{number}", tuple(f"m{n}" for n in range(first, last + 1))
    claims = tuple(
        Claim(
            f"{name}.{n + 1}",
            ClaimKind.DECISION,
            f"span {number} settled point {n}",
            (Cite(own[n]),),
            Trust.USER,
        )
        for n in range(LINES)
    )
    older = f"d{number - 1}" if number > 1 else ""
    digest = Digest(name, number - 1, own, "sha256:0", claims, folds=(older,) if older else ())
    plan = Plan((Condense((older, *own) if older else own, digest),), 9, 1, 1, "pressure", "full")
    shown = shown_messages(plan)
    body = {
        "splices": [],
        "names": [one for one, _ in shown],
        "messages": [message_to_json(one) for _, one in shown],
        "plan": plan_to_json(plan),
    }
    time_ms = BEGUN_MS + last * EVERY_MS
    return Event(f"c{number:025}", COMPACTION.name, COMPACTION.version, iso_time(time_ms), body)


def measured(function):
    begin = time.process_time()
    value = function()
    return value, round(1000 * (time.process_time() - begin), 2)


def middle(times):
    return round(sorted(times)[len(times) // 2], 2)


def measure(count):
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        with SqliteStore(path) as store, SqliteIndex(path) as index:
            memory = Memory(store, CTX, index, clock=lambda: BEGUN_MS + count * EVERY_MS)
            catching, moving = [], []
            for number in range(1, count // SPAN + 1):
                first = (number - 1) * SPAN + 1
                events = [message(rng, n) for n in range(first, first + SPAN)]
                store.append(CTX, [*events, compaction(number)], None)
                catching.append(measured(memory.catch_up)[1])
                moving.append(measured(memory.moves)[1])
            memory.catch_up()
            return report(count, path, memory, catching, moving)


def report(count, path, memory, catching, moving):
    tiers = memory.tiers
    (hit, *_), searched = measured(lambda: memory.search("where was REF-0000042?", limit=5))
    archive, one = measured(lambda: memory.open("a1"))
    digest, two = measured(lambda: memory.open(archive.holds[0]))
    turn = memory.open(digest.holds[41], 0).quotations[0]
    assert (memory.ref(hit.entry), turn.ref) == ("m42", "m42"), "the first hour was not reached"
    edge = max(1, len(moving) // 20)
    by_tier = {tier.value: sum(span.tier is tier for span in tiers.spans.values()) for tier in Tier}
    return {
        "messages": count,
        "compactions": len(moving),
        "spans": by_tier,
        "archive_digests": len(tiers.archived()),
        "found_ms": searched,
        "archive_to_digest_ms": one,
        "digest_to_turns_ms": two,
        "catch_up_ms_per_200": {"first": middle(catching[:edge]), "last": middle(catching[-edge:])},
        "moves_ms_per_compaction": {"first": middle(moving[:edge]), "last": middle(moving[-edge:])},
        "reopened_ms": measured(lambda: Memory(memory.store, CTX, memory.index).tiers)[1],
        "first_span": spans(digest.holds),
        "bytes_per_message": round(path.stat().st_size / count),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", type=int, nargs="*", default=[100_000])
    for count in parser.parse_args().messages:
        print(json.dumps(measure(count)), flush=True)
