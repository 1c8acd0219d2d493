"""Public memory benchmarks as entries and questions: what ``clew bench retrieval`` measures on."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.errors import NotFound
from clew.message import Trust
from clew.ports.index import Entry

LOCOMO_TUNED_ON = ("conv-26", "conv-30", "conv-41", "conv-42")
"""The conversations that the weights were chosen on. Results are reported on the others."""
LONGMEMEVAL_TUNED_ON = "0123"
"""Questions whose id's SHA-256 begins with one of these digits, for the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a benchmark, and where its answer stands."""

    id: str
    text: str
    at: str
    evidence: frozenset[tuple[str, str]]
    """The turns that hold the answer: session and reference of each."""
    kind: str
    tuned_on: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """Turns that are searched together, and the questions about them."""

    name: str
    entries: tuple[Entry, ...]
    questions: tuple[Asked, ...]


def datasets(folder: Path) -> dict[str, list[Pool]]:
    """Return the benchmarks that lie in a folder, by name."""
    found: dict[str, list[Pool]] = {}
    for path in sorted(folder.rglob("locomo10.json")):
        found["locomo"] = list(_locomo(json.loads(path.read_bytes())))
    for path in sorted(folder.rglob("longmemeval_oracle.json*")):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found["longmemeval"] = [_longmemeval(json.loads(raw))]
    if not found:
        detail = f"neither locomo10.json nor longmemeval_oracle.json is in {folder}"
        raise NotFound(detail, "see `clew help bench`")
    return found


def _locomo(conversations: list[dict[str, Any]]) -> Iterator[Pool]:
    """Yield one pool for each conversation; categories 1 to 4, which have an answer."""
    for conversation in conversations:
        name = conversation["sample_id"]
        entries = tuple(_locomo_turns(conversation["conversation"]))
        there = {(entry.session, entry.ref) for entry in entries}
        questions = []
        for n, asked in enumerate(conversation["qa"]):
            cited = re.findall(r"D:?(\d+):0*(\d+)", " ".join(asked["evidence"]))
            evidence = frozenset((f"session_{s}", f"D{s}:{t}") for s, t in cited) & there
            if evidence and asked["category"] != 5:
                at, kind = entries[-1].time, _LOCOMO_KINDS[asked["category"]]
                tuned_on = name in LOCOMO_TUNED_ON
                questions.append(Asked(f"{name}.{n}", asked["question"], at, evidence, kind, tuned_on))
        yield Pool(name, entries, tuple(questions))


_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Entry]:
    numbers = sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
    for number in numbers:
        time = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in conversation[f"session_{number}"]:
            caption = turn.get("blip_caption")
            yield Entry(
                ref=turn["dia_id"],
                session=f"session_{number}",
                time=f"{time.isoformat()}Z",
                role="user",
                trust=Trust.USER,
                text=f"{turn['text']} [image: {caption}]" if caption else turn["text"],
                speaker=turn["speaker"],
            )


def _longmemeval(questions: list[dict[str, Any]]) -> Pool:
    """Return all evidence sessions as one pool; questions that have no answer are left out."""
    entries: dict[tuple[str, str], Entry] = {}
    asked = []
    for question in questions:
        evidence = set()
        for session, when, turns in _sessions(question):
            for n, turn in enumerate(turns):
                place = (session, f"{session}:{n}")
                entries.setdefault(place, _longmemeval_turn(place, when, turn))
                if turn.get("has_answer"):
                    evidence.add(place)
        name = question["question_id"]
        if evidence and not name.endswith("_abs"):
            tuned_on = hashlib.sha256(name.encode()).hexdigest()[0] in LONGMEMEVAL_TUNED_ON
            at, kind = _time(question["question_date"]), question["question_type"]
            asked.append(Asked(name, question["question"], at, frozenset(evidence), kind, tuned_on))
    return Pool("oracle", tuple(entries.values()), tuple(asked))


def _sessions(question: dict[str, Any]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    fields = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    return zip(*(question[field] for field in fields), strict=True)


def _longmemeval_turn(place: tuple[str, str], when: str, turn: dict[str, Any]) -> Entry:
    trust = Trust.USER if turn["role"] == "user" else Trust.ASSISTANT
    return Entry(
        ref=place[1], session=place[0], time=_time(when), role=turn["role"], trust=trust, text=turn["content"]
    )


def _time(words: str) -> str:
    """Return ``2023/04/10 (Mon) 17:50`` as ISO 8601."""
    return datetime.strptime(re.sub(r" \(\w+\)", "", words), "%Y/%m/%d %H:%M").isoformat() + "Z"
