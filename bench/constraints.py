"""Measure the constraint finder on sentences labelled by reading, on invented ones, and its speed.

    uv run python bench/constraints.py [FOLDER] [--misses]

FOLDER holds the transcripts (default: the folder ``CLEW_TEST_DATA`` names). The labels hold no text: a
sentence is found again by its place and its hash. Writes results/constraints.md; ``--misses`` prints the
sentences that were got wrong instead.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from clew.errors import InputError
from clew.message import Message, Role, Text, text_message
from clew.rules import find_candidates, retire
from clew.transcripts import load, open_source

HERE = Path(__file__).parent
LABELS = HERE.parent / "tests" / "rules" / "labels.jsonl"
INVENTED = HERE.parent / "tests" / "rules" / "invented.jsonl"
FRESH = INVENTED.with_name("fresh.jsonl")
ENDS = INVENTED.with_name("ends.jsonl")
RESULTS = HERE / "results" / "constraints.md"
NAMES = {"s": "standing", "d": "decision", "u": "unsure", "n": "none"}
SPLITS = ("held-out", "test", "second-test", "first-test", "dev")
"""The first was labelled when the finder stood as it is, and nobody tunes on it or on the second. The other
tests were cold once; they were learnt from afterwards."""
COLD = SPLITS[:2]


@dataclass(frozen=True)
class Labelled:
    """A sentence with its label, where it was found again."""

    split: str
    source: str
    label: str
    text: str
    start: int
    end: int

    @property
    def sentence(self) -> str:
        """Return its words on one line."""
        return " ".join(self.text[self.start : self.end].split())


def labelled(root: Path, lost: Counter[str], splits: Sequence[str] = SPLITS) -> Iterator[Labelled]:
    """Yield the labelled sentences that the readers give back; count the others in ``lost``."""
    for line in LABELS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["split"] not in splits:
            continue
        name = row["file"]
        texts = user_texts(root / name)
        for _session, _message, start, length, digest, label in row["sentences"]:
            text = next((t for t in texts if sha(t[start : start + length]) == digest), None)
            if text is None:
                lost[NAMES[label]] += 1
            else:
                source = name.split("/")[0]
                yield Labelled(row["split"], source, NAMES[label], text, start, start + length)


@cache
def user_texts(path: Path) -> list[str]:
    """Return what stands in the user's name in the sessions of a file, machine text too."""
    try:
        sessions = load(open_source(path))
    except InputError:
        return []
    entries = (entry for session in sessions for entry in session.entries)
    messages = (entry.message for entry in entries if entry.message.role is Role.USER)
    return [part.text for message in messages for part in message.parts if isinstance(part, Text)]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Finder:
    """Runs the finder once for each text."""

    def __init__(self) -> None:
        self.spans: dict[str, list[tuple[int, int]]] = {}

    def hits(self, one: Labelled) -> bool:
        """Tell whether a found span covers most of a labelled sentence, or is mostly inside it."""
        if one.text not in self.spans:
            found = find_candidates(text_message(Role.USER, one.text))
            self.spans[one.text] = [(f.span.start, f.span.end) for f in found]
        for start, end in self.spans[one.text]:
            shared = min(end, one.end) - max(start, one.start)
            if shared * 2 > min(end - start, one.end - one.start):
                return True
        return False


def wilson(part: int, whole: int) -> str:
    """Return a share with its 95 % interval."""
    if not whole:
        return "–"
    z, p = 1.96, part / whole
    middle = (p + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return f"{100 * p:.0f} % ({part}/{whole}, {100 * (middle - half):.0f}–{100 * (middle + half):.0f})"


def row(name: str, counts: Counter[tuple[str, bool]]) -> str:
    """Return a line of the table from counts by label and whether it was found."""
    total = sum(n for (label, _), n in counts.items() if label != "unsure")
    standing, decision, none = (counts[label, True] for label in ("standing", "decision", "none"))
    found = standing + decision + none
    return (
        f"| {name} | {total:,} | {wilson(standing, standing + counts['standing', False])} "
        f"| {wilson(standing + decision, found)} | {wilson(standing, found)} "
        f"| {wilson(decision, decision + counts['decision', False])} |"
    )


HEAD = (
    "| sentences | labelled | recall of standing | precision: a rule or a product decision "
    "| precision: a rule | recall of decisions |\n|---|---|---|---|---|---|"
)


def natural_table(sentences: list[Labelled], finder: Finder) -> str:
    by_split: defaultdict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    by_source: defaultdict[tuple[str, str], Counter[tuple[str, bool]]] = defaultdict(Counter)
    for one in sentences:
        hit = finder.hits(one)
        by_split[one.split][one.label, hit] += 1
        by_source[one.split, one.source][one.label, hit] += 1
    lines = [HEAD]
    for split in SPLITS:
        lines.append(row(f"**{split}**", by_split[split]))
        lines += [
            row(source, counts) for (where, source), counts in sorted(by_source.items()) if where == split
        ]
    return "\n".join(lines)


def invented_table() -> str:
    by_name: defaultdict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for line in INVENTED.read_text("utf-8").splitlines():
        one = json.loads(line)
        hit = bool(find_candidates(text_message(Role.USER, one["text"])))
        for name in (f"**all, {one['split']}**", one["language"]):
            by_name[name][one["label"], hit] += 1
    return "\n".join([HEAD, *(row(name, counts) for name, counts in sorted(by_name.items()))])


def is_met(one: dict[str, str]) -> bool:
    """Tell whether an invented sentence is found, in the message it stands in where it has one."""
    text = one.get("message", one["text"])
    start = text.index(one["text"])
    return Finder().hits(Labelled("", "", one["label"], text, start, start + len(one["text"])))


def fresh_table() -> str:
    """Return what is found of sentences written afresh, round by round; the last were never learnt from."""
    by_name: defaultdict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for line in FRESH.read_text("utf-8").splitlines():
        one = json.loads(line)
        hit = is_met(one)
        tongue = "English" if one["language"] == "en" else "others"
        names = [f"**{one['split']}**", f"{one['split']}, {tongue}", f"round {one['round']:02}"]
        if one["split"] == "cold":
            names.append(f"cold, {one['family']}")
        for name in names:
            by_name[name][one["label"], hit] += 1
    return "\n".join([HEAD, *(row(name, counts) for name, counts in sorted(by_name.items()))])


def ends_line() -> str:
    """Return how many invented ends of rules are seen, and how often one is seen where nothing ends."""
    seen: Counter[tuple[bool, bool]] = Counter()
    for line in ENDS.read_text("utf-8").splitlines():
        one = json.loads(line)
        active = [
            replace(found, id=one["rule"]) for found in find_candidates(text_message(Role.USER, one["rule"]))
        ]
        how = [end.how for end in retire(active, text_message(Role.USER, one["text"]))]
        seen[bool(one["ends"]), how == ([one["ends"]] if one["ends"] else [])] += 1
    ends, others = (seen[True, True], seen[True, False]), (seen[False, True], seen[False, False])
    return (
        f"- an end is seen: {wilson(ends[0], sum(ends))}\n"
        f"- nothing ends, and none is seen: {wilson(others[0], sum(others))}"
    )


def seed_table(root: Path, finder: Finder) -> str:
    """Return the recall on the sentences the labelling began with, by the labels they came with."""
    counts: Counter[tuple[str, bool]] = Counter()
    for line in (root / "_labels" / "user_constraints.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        for text in user_texts(root / one["file"].removeprefix("public/")):
            start = text.find(one["text"])
            if start >= 0:
                end = start + len(one["text"])
                counts[one["label"], finder.hits(Labelled("", "", one["label"], text, start, end))] += 1
                break
    return "\n".join(
        f"- {label}: {wilson(counts[label, True], counts[label, True] + counts[label, False])}"
        for label in ("standing", "decision")
    )


SHORT = (
    *(
        "yes",
        "looks good, thanks",
        "the parser reads the header of the file",
        "I ran it again and it prints 42",
    ),
    *("here is the log from the build server", "Great work, that fixed the login page", "done, what is next"),
)
"""Messages as people send them between two thoughts: none holds a cue."""


def speed(root: Path) -> str:
    """Return how fast the finder reads the files that hold labels, and short messages that hold no cue."""
    names = {json.loads(line)["file"] for line in LABELS.read_text("utf-8").splitlines()}
    texts = [text for name in sorted(names) for text in user_texts(root / name)]
    size = sum(len(text.encode()) for text in texts)
    rate = size / seconds([text_message(Role.USER, text) for text in texts], runs=3) / 1e6
    short = [text_message(Role.USER, f"{text} ({number})") for number in range(200) for text in SHORT]
    each = seconds(short, runs=20) / len(short)
    return (
        f"{len(texts):,} texts, {size / 1e6:.1f} MB, {rate:.1f} MB/s of CPU time (best of three). "
        f"A short message without a cue: {each * 1e6:.1f} µs (best of twenty)."
    )


def seconds(messages: list[Message], *, runs: int) -> float:
    """Return the CPU time that the finder takes for messages, the best of several runs."""
    find_candidates(messages[0])
    best = math.inf
    for _ in range(runs):
        begun = time.process_time()
        for message in messages:
            find_candidates(message)
        best = min(best, time.process_time() - begun)
    return best


def main(root: Path, *, misses: bool) -> None:
    lost: Counter[str] = Counter()
    finder = Finder()
    sentences = list(labelled(root, lost))
    if misses:
        for one in sentences:
            wrong = finder.hits(one) != (one.label == "standing")
            if wrong and one.label in ("standing", "none"):
                print(f"{one.split:10} {one.label:8} {one.sentence[:150]}")
        return
    text = (
        "# Constraints found\n\n"
        "`uv run python bench/constraints.py` · shares with their 95 % Wilson interval\n\n"
        f"## Labelled sentences of real sessions\n\n{natural_table(sentences, finder)}\n\n"
        f"Not found again in what the readers give: {dict(lost)}.\n\n"
        f"## The sentences the labelling began with\n\n{seed_table(root, finder)}\n\n"
        f"## Invented sentences\n\n{invented_table()}\n\n"
        f"## Sentences written afresh\n\n{fresh_table()}\n\n"
        f"## Ends of rules, invented\n\n{ends_line()}\n\n## Speed\n\n{speed(root)}\n"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    data = Path(os.environ.get("CLEW_TEST_DATA", HERE.parent.parent / "shared" / "data"))
    main(Path(folders[0]) if folders else data / "transcripts", misses="--misses" in sys.argv)
