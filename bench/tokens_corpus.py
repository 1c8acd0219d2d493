"""Texts by class, for measuring token counters: real ones from transcripts, generated ones for the rest.

Every text belongs to the file it came from, and a file's name decides its half: weights may be fitted on
one half and are reported on the other.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import random
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import zstandard
from tokens_sentences import ACCENTED, CJK, SCRIPTS

DATA = Path(os.environ.get("CLEW_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
CLAUDE_CODE = ("claude-code-context-evaluator", "claude-code-entire-cli")
CHARS_PER_CLASS = 1_000_000
"""Of each class and half; more only takes longer."""
CHARS_PER_TEXT = 20_000


class Sample(NamedTuple):
    """One text."""

    kind: str
    file: str
    text: str

    @property
    def held_out(self) -> bool:
        """Tell whether this text is for reporting; the others are for fitting."""
        return bool(hashlib.blake2b(self.file.encode(), digest_size=1).digest()[0] & 1)


def samples() -> list[Sample]:
    """Return the whole corpus, in a fixed order, each class and half up to its size."""
    found = list(_distinct(_real()))
    random.Random(7).shuffle(found)
    taken: Counter[tuple[str, bool]] = Counter()
    chosen = []
    for sample in found:
        place = sample.kind, sample.held_out
        if taken[place] < CHARS_PER_CLASS:
            taken[place] += len(sample.text)
            chosen.append(sample)
    return chosen + list(_generated())


def records(path: Path) -> Iterator[dict]:
    """Yield the JSON objects of a ``.jsonl.zst`` file."""
    with path.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as stream:
        for line in io.TextIOWrapper(stream, encoding="utf-8", errors="replace"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def result_text(content: object) -> str:
    """Return the words of a tool result's content."""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def _distinct(found: Iterator[Sample]) -> Iterator[Sample]:
    seen = set()
    for kind, file, text in found:
        if len(text) >= 200 and text not in seen:
            seen.add(text)
            yield Sample(kind, file, text[:CHARS_PER_TEXT])


def _real() -> Iterator[Sample]:
    for name in CLAUDE_CODE:
        for path in sorted((DATA / "transcripts" / name).glob("*.zst")):
            yield from _claude_code(path)
    for name in ("tau-bench-airline", "tau2-retail-toolorchestra"):
        for path in sorted((DATA / "transcripts" / name).glob("*.zst")):
            packed = zstandard.ZstdDecompressor().stream_reader(path.read_bytes())
            for text in _tool_answers(json.loads(packed.read())):
                yield Sample("json", f"{name}{len(text)}", text)


def _claude_code(path: Path) -> Iterator[Sample]:
    tools: dict[str, str] = {}
    for record in records(path):
        if record.get("type") not in ("user", "assistant"):
            continue
        content = record["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                tools[block["id"]] = block["name"]
            if sample := _block(block, tools):
                yield Sample(sample[0], path.name, sample[1])


def _block(block: dict, tools: dict[str, str]) -> tuple[str, str] | None:
    match block["type"]:
        case "text" | "thinking" as kind:
            return "prose", block[kind]
        case "tool_use" if block["name"] in ("Write", "Edit"):
            return "code", block["input"].get("content") or block["input"].get("new_string") or ""
        case "tool_use":
            return "json", json.dumps(block["input"])
        case "tool_result":
            kinds = {"Read": "code", "Bash": "logs", "Grep": "search", "Glob": "search"}
            kind = kinds.get(tools.get(block["tool_use_id"], ""))
            return (kind, result_text(block.get("content"))) if kind else None
    return None


def _tool_answers(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        content = value.get("content")
        if value.get("role") == "tool" and isinstance(content, str) and content[:1] in "[{":
            yield content
        for inner in value.values():
            yield from _tool_answers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tool_answers(inner)


def _generated() -> Iterator[Sample]:
    for i in range(40):
        for kind, make in _MAKERS.items():
            file = f"{kind}-{i}"
            yield Sample(kind, file, make(random.Random(file)))
        for kind, languages in _WRITTEN.items():
            for language, sentences in languages.items():
                blank = Sample(kind, f"{language}-{i}", "")
                # Every other sentence belongs to a half, so that the halves share none.
                chosen = random.Random(blank.file).choices(sentences[blank.held_out :: 2], k=12)
                yield blank._replace(text=" ".join(chosen))


def _base64(r: random.Random) -> str:
    encode = r.choice([base64.b64encode, base64.encodebytes, base64.urlsafe_b64encode])
    return encode(r.randbytes(r.randint(300, 8000))).decode()


def _hex(r: random.Random) -> str:
    plain = r.randbytes(r.randint(300, 4000)).hex()
    dumped = "\n".join(f"{16 * i:08x}: {r.randbytes(16).hex(' ', 2)}" for i in range(100))
    hashed = "\n".join(f"{r.randbytes(20).hex()}  src/{r.choice(['main', 'lib'])}.py" for _ in range(80))
    return r.choice([plain, dumped, hashed])


def _ids(r: random.Random) -> str:
    return "\n".join(
        f"2026-11-{r.randint(1, 30):02d}T04:{r.randint(0, 59):02d}:07.{r.randint(0, 999):03d}Z"
        f" INFO req={uuid.UUID(int=r.getrandbits(128))} ip=10.{r.randint(0, 255)}.{r.randint(0, 255)}.1"
        f" status={r.choice([200, 404, 500])} bytes={r.randint(10, 99999)} GET /v1/items/{r.randint(1, 9999)}"
        for _ in range(80)
    )


def _numbers(r: random.Random) -> str:
    return "\n".join(
        ",".join(f"{r.gauss(0, 1000):.{r.randint(0, 6)}f}" for _ in range(8)) for _ in range(100)
    )


def _space(r: random.Random) -> str:
    makers = [
        lambda: " " * r.randint(1, 60),
        lambda: "\n" * r.randint(1, 5),
        lambda: "\t" * r.randint(1, 8),
        lambda: "-" * r.randint(1, 50),
        lambda: r.choice("x|"),
    ]
    return "".join(r.choice(makers)() for _ in range(800))


def _runs(r: random.Random) -> str:
    return "\n".join(r.choice(" .=-*#xA7") * r.randint(20, 2000) for _ in range(30))


_MAKERS = {
    "base64": _base64,
    "hex": _hex,
    "ids": _ids,
    "numbers": _numbers,
    "white space": _space,
    "long runs": _runs,
}
_WRITTEN = {"CJK": CJK, "other scripts": SCRIPTS, "accented Latin": ACCENTED}
