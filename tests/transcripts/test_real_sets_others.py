"""Every file of the public sets that these readers are for: what it is, and what is in it, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from clew.errors import UnknownFormat
from clew.message import Origin, pair
from clew.transcripts.formats import detect
from clew.transcripts.records import Boundary, Entry, Problem, Start
from clew.transcripts.source import open_source
from tests.conftest import real_data
from tests.transcripts.test_every_format import assert_sound


@dataclass(slots=True)
class Counts:
    """What a set holds."""

    files: int = 0
    sessions: int = 0
    messages: int = 0
    calls: int = 0
    dangling: int = 0
    orphans: int = 0
    injected: int = 0
    summaries: int = 0
    boundaries: int = 0
    hidden: int = 0
    problems: int = 0


NOT_A_SESSION = Counts(files=1)
EXPECTED = {
    # 984 chats in one file, and pages that show one; the page that lists them is none. Six were cleared.
    "aider-md": {
        "aider": Counts(14, 997, 5430, injected=2691, boundaries=6),
        "unknown": NOT_A_SESSION,
    },
    "aider-swe-bench-md": {"aider": Counts(40, 227, 2737, injected=1466)},
    "gemini-cli-entire": {"gemini-cli": Counts(3, 3, 34, 12, injected=1)},
    "gemini-cli-session-bridge": {"gemini-cli": Counts(2, 2, 26, 9)},
    # Six files are tests of Inspect's own, without a log.
    "inspect-logs": {"inspect": Counts(8, 9, 34, 4), "unknown": Counts(6)},
    # 4,947 replies less the 216 that had no or several commands: those the harness refused, so nothing ran.
    "mini-swe-agent": {"mini-swe-agent": Counts(90, 90, 10074, 4731, injected=216)},
    # 201 dialogues in objects and 54 that are bare lists; one file has queries only.
    "mt-eval": {"dialogue": Counts(4, 255, 3588), "unknown": NOT_A_SESSION},
    # A step's results are one message here, however many tools it called. One answer of 948 is empty.
    "opencode-gatomia": {"opencode": Counts(34, 34, 1895, 1441)},
    # The ids of 23 sessions were redacted to one word, which is told once in each.
    "opencode-nimbus": {"opencode": Counts(30, 30, 1892, 1366, injected=30, hidden=207, problems=23)},
    # Each of the ten logged requests ends with a reply that calls a tool. One event lacks its call.
    "openhands-sdk-llm-logs": {
        "openhands": Counts(12, 12, 77, 33, dangling=10, orphans=1),
        "openai": Counts(2, 2, 24, 10),
    },
    # Recorded HTTP traffic in YAML is not a session.
    "pydantic-ai-cassettes": {"unknown": Counts(136)},
    # Only a tag that opens a line is a tool's use: outputs show pages like these, with their tags.
    "specstory-md": {"specstory": Counts(37, 37, 9076, 3141, injected=119, summaries=5, boundaries=5)},
    "structflowbench": {"dialogue": Counts(1, 104, 870)},
    # 17 runs end with the command that submits them.
    "swe-agent": {"swe-agent": Counts(22, 22, 489, 230, dangling=17, injected=2)},
    "tau-bench-airline": {"tau-bench": Counts(1, 136, 3628, 784)},
    "tau2-retail-toolorchestra": {"tau2": Counts(1, 114, 2648, 873)},
    "tau2-retail-whissle": {"tau2": Counts(1, 5, 113, 23)},
    # 46 agents end with a call, and two calls were answered twice.
    "trail-gaia": {"trail-otel": Counts(50, 147, 2074, 592, dangling=46, orphans=2, injected=111)},
}


def counted(path: Path) -> tuple[str, Counts]:
    """Read one file as what it is, and count; nothing of it is printed or kept."""
    try:
        kind = detect(open_source(path))
    except UnknownFormat:
        return "unknown", Counts(files=1)
    records = list(kind.read(open_source(path)))
    assert_sound(records)
    sessions: list[list[Entry]] = []
    for record in records:
        if isinstance(record, Start):
            sessions.append([])
        elif isinstance(record, Entry):
            sessions[-1].append(record)
    counts = Counts(1, len(sessions))
    counts.boundaries = sum(isinstance(record, Boundary) for record in records)
    counts.problems = sum(isinstance(record, Problem) for record in records)
    for entries in sessions:
        add(counts, entries)
    return kind.name, counts


def add(counts: Counts, entries: list[Entry]) -> None:
    messages = [entry.message for entry in entries]
    pairing = pair(messages)
    counts.messages += len(messages)
    counts.calls += sum(1 for message in messages for _ in message.calls)
    counts.dangling += len(pairing.dangling)
    counts.orphans += len(pairing.orphans)
    origins = Counter(message.origin for message in messages)
    counts.injected += origins[Origin.INJECTED]
    counts.summaries += origins[Origin.SUMMARY]
    counts.hidden += sum(len(entry.hidden_results) for entry in entries)


def table(folder: Path) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for path in sorted(folder.glob("*.zst")):
        name, counts = counted(path)
        totals = zip(astuple(found.get(name, Counts())), astuple(counts), strict=True)
        found[name] = Counts(*map(sum, totals))
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_a_public_set_is_read_whole(name):
    assert table(real_data("transcripts") / name) == EXPECTED[name]
