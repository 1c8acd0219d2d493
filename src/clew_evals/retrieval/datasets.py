"""Read public memory benchmarks as entries and questions, for ``clew bench retrieval``.

LoCoMo, LongMemEval, REALTALK and BEAM each become pools: turns that are searched together, and questions with
the turns that hold the answer.
"""

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
from clew.memory.index import Entry
from clew.message import Trust

LOCOMO_TUNED_ON = ("conv-26", "conv-30", "conv-41", "conv-42")
"""The conversations that the weights were fitted on. Results are reported on the others."""
LONGMEMEVAL_TUNED_ON = "0123"
"""The same for LongMemEval: questions whose id's SHA-256 begins with one of these digits."""
REALTALK_TUNED_ON = ("Chat_1_", "Chat_2_", "Chat_3_", "Chat_4_", "Chat_5_")
"""The same for REALTALK: prefixes of chat names. Nothing of BEAM was used for fitting."""


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """A question of a benchmark, and the turns that contain its answer."""

    id: str
    text: str
    at: str
    evidence: frozenset[tuple[str, str]]
    """The turns that contain the answer: session and reference of each."""
    kind: str
    """What sort of question it is: ``temporal``, ``multi-hop``."""
    tuned_on: bool
    """The search's weights were fitted on it: not counted as held out."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Turns that are searched together, and the questions about them."""

    name: str
    entries: tuple[Entry, ...]
    questions: tuple[BenchmarkQuestion, ...]


def datasets(folder: Path) -> dict[str, list[Pool]]:
    """Return the benchmarks found in a folder, by name."""
    result: dict[str, list[Pool]] = {}
    for path in sorted(folder.rglob("locomo10.json")):
        result["locomo"] = list(_locomo(json.loads(path.read_bytes())))
    for path in sorted(folder.rglob("longmemeval_oracle.json*")):
        result["longmemeval"] = [_longmemeval(_read(path))]
    for path in sorted(folder.rglob("longmemeval_s*.json*")):
        result["longmemeval-s"] = [_longmemeval([question]) for question in _read(path)]
    for root in sorted(folder.rglob("REALTALK")):
        paths = sorted(root.rglob("Chat_*.json"))
        # REALTALK's repository contains a copy of LoCoMo.
        result["realtalk"] = [_realtalk(path) for path in paths if path.parent.name != "locomo"]
    for root in sorted(folder.rglob("BEAM")):
        for path in sorted(root.rglob("chat.json")):
            result.setdefault(f"beam-{path.parent.parent.name}", []).append(_beam(path))
    if not result:
        detail = f"neither locomo10.json nor longmemeval_oracle.json is in {folder}"
        raise NotFound(detail, "see `clew help bench`")
    return result


def _read(path: Path) -> Any:  # noqa: ANN401  # whatever JSON the benchmark has
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def _locomo(conversations: list[dict[str, Any]]) -> Iterator[Pool]:
    """Yield one pool per conversation; only categories 1 to 4, which have an answer."""
    for conversation in conversations:
        name = conversation["sample_id"]
        entries = tuple(_locomo_turns(conversation["conversation"]))
        tuned_on = name in LOCOMO_TUNED_ON
        questions = _cited_questions(name, conversation["qa"], entries, tuned_on=tuned_on)
        yield Pool(name, entries, tuple(questions))


def _cited_questions(
    name: str, asked_of: list[dict[str, Any]], entries: tuple[Entry, ...], *, tuned_on: bool
) -> Iterator[BenchmarkQuestion]:
    """Yield the questions of LoCoMo and REALTALK that have an answer and cite turns that exist."""
    # By reference alone: REALTALK divides some days into two sessions, so that turn D3:30 is in session_4.
    there = {entry.ref: (entry.session, entry.ref) for entry in entries}
    for n, asked in enumerate(asked_of):
        cited = re.findall(r"D\s?:?(\d+):0*(\d+)", " ".join(asked["evidence"]))
        refs = (f"D{session}:{turn}" for session, turn in cited)
        evidence = frozenset(there[ref] for ref in refs if ref in there)
        if evidence and asked["category"] != 5:
            kind = _LOCOMO_KINDS[asked["category"]]
            yield BenchmarkQuestion(
                f"{name}.{n}", asked["question"], entries[-1].time, evidence, kind, tuned_on
            )


_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Entry]:
    numbers = sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
    for number in numbers:
        time = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in conversation[f"session_{number}"]:
            yield Entry(
                ref=turn["dia_id"],
                session=f"session_{number}",
                time=f"{time.isoformat()}Z",
                role="user",
                trust=Trust.USER,
                text=_with_caption(turn["text"], turn),
                speaker=turn["speaker"],
            )


def _with_caption(text: str, turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{text} [image: {caption}]" if caption else text


def _longmemeval(questions: list[dict[str, Any]]) -> Pool:
    """Return all evidence sessions as one pool; questions without an answer are left out."""
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
            asked.append(
                BenchmarkQuestion(name, question["question"], at, frozenset(evidence), kind, tuned_on)
            )
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


def _realtalk(path: Path) -> Pool:
    """Return a chat of REALTALK: two people, three weeks; questions cite turns as in LoCoMo."""
    chat = _read(path)
    numbers = sorted(int(m[1]) for key in chat if (m := re.fullmatch(r"session_(\d+)", key)))
    entries = tuple(
        Entry(
            ref=turn["dia_id"],
            session=f"session_{number}",
            time=f"{datetime.strptime(turn['date_time'], '%d.%m.%Y, %H:%M:%S').isoformat()}Z",
            role="user",
            trust=Trust.USER,
            text=_with_caption(turn["clean_text"], turn),
            speaker=turn["speaker"],
        )
        for number in numbers
        for turn in chat[f"session_{number}"]
    )
    tuned_on = path.name.startswith(REALTALK_TUNED_ON)
    questions = _cited_questions(path.stem, chat["qa"], entries, tuned_on=tuned_on)
    return Pool(path.stem, entries, tuple(questions))


def _beam(path: Path) -> Pool:
    """Return a chat of BEAM, each question-answer pair a session, without questions that have no source."""
    name = f"{path.parent.parent.name}.{path.parent.name}"
    entries: dict[int, Entry] = {}
    time = "2024-01-01T00:00:00Z"
    for batch in _read(path):
        for n, turn in enumerate(batch["turns"]):
            for message in turn:
                time = _anchor(message.get("time_anchor")) or time
                entries[message["id"]] = Entry(
                    ref=f"m{message['id']}",
                    session=f"{batch['batch_number']}.{n}",
                    time=time,
                    role=message["role"],
                    trust=Trust.USER,
                    text=re.sub(r"\s*->->\s*[\d,N/A ]+$", "", message["content"]),
                )
    questions = []
    for kind, asked_of in _read(path.parent / "probing_questions" / "probing_questions.json").items():
        for n, asked in enumerate(asked_of):
            sources = [
                entries[number] for number in _numbers(asked.get("source_chat_ids")) if number in entries
            ]
            if sources:
                evidence = frozenset((entry.session, entry.ref) for entry in sources)
                id_ = f"{name}.{kind}.{n}"
                questions.append(
                    BenchmarkQuestion(id_, asked["question"], time, evidence, kind, tuned_on=False)
                )
    return Pool(name, tuple(entries.values()), tuple(questions))


def _anchor(written: str | None) -> str:
    try:
        return f"{datetime.strptime(written or '', '%B-%d-%Y').isoformat()}Z"
    except ValueError:
        return ""


def _numbers(value: object) -> Iterator[int]:
    """Yield the message numbers in BEAM's nested lists of sources."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        yield int(value)
