"""Judge what the finder pins by sentences of real sessions, labelled by the guideline of four labels.

    uv run python bench/constraints_rules.py FOLDER [--misses] [--raters]

``tests/rules/rules.jsonl`` holds the labels without the text: the split, the repository and the hash of the
sentence. FOLDER holds the session files of these repositories, one folder each, named owner+name (SpecStory
pages, aider histories, Claude Code logs, ``history.jsonl`` of Claude Code and Codex). Prints precision and
recall for each split, tool and repository, labelled sentences that the files no longer hold, pins without a
label, and the time of the search. ``--raters`` compares the labels with those of the second rater (field
``second``), and the pins with both. Where two raters differ on *standing*, ``agreed`` is the label after both
were read again; ``blind`` is a later rating among many others, and counts first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from constraints import wilson

from clew.errors import InputError
from clew.message import Origin, Role, Text, text_message
from clew.rules import find
from clew.rules.sentences import sentences
from clew.transcripts import load, open_source

LABELS = Path(__file__).parents[1] / "tests" / "rules" / "rules.jsonl"
RIGHT = ("standing", "temporary")
FOUR = ("standing", "decision", "request", "none")
LONGEST = 240_000


def key(sentence: str) -> str:
    return hashlib.sha256(" ".join(sentence.lower().split()).encode()).hexdigest()[:12]


def prompts_of(history: Path) -> list[str]:
    """Return the prompts in a ``history.jsonl`` of Claude Code or Codex; damaged lines are skipped."""
    prompts: list[str] = []
    for line in history.read_text("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        text = (value.get("display") or value.get("text")) if isinstance(value, dict) else None
        if isinstance(text, str):
            prompts.append(text)
    return prompts


def texts_of(folder: Path) -> list[str]:
    """Return the different texts that users wrote in the session files of a folder; long ones are pastes."""
    found: dict[str, None] = {}
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        if file.name.endswith("history.jsonl"):
            found.update(dict.fromkeys(prompts_of(file)))
            continue
        try:
            sessions = load(open_source(file))
        except InputError:
            continue
        spoken = (
            part.text
            for session in sessions
            for entry in session.entries
            if entry.message.role is Role.USER and entry.message.origin is Origin.SPOKEN
            for part in entry.message.parts
            if isinstance(part, Text) and len(part.text) <= LONGEST
        )
        found.update(dict.fromkeys(spoken))
    return list(found)


def groups_of(row: dict[str, str]) -> list[str]:
    """Return the names of the groups in which a labelled sentence is counted."""
    split = row["split"]
    tool = [f"*{split}, {row['tool']}*"] if "tool" in row else []
    return [f"**{split}**", f"{split}: {row['source']}", *tool]


def kappa(pairs: list[tuple[str, str]]) -> tuple[float, float]:
    """Return the share of pairs with equal labels, and Cohen's kappa."""
    total = len(pairs)
    equal = sum(one == other for one, other in pairs) / total
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[label] * second[label] for label in first) / total**2
    return equal, (equal - chance) / (1 - chance) if chance < 1 else 1.0


def rates(judged: Iterable[tuple[bool, bool]]) -> str:
    """Return precision and recall as cells of a table, from pairs of pinned and standing."""
    count = Counter(judged)
    hit = count[True, True]
    return f"{wilson(hit, hit + count[True, False])} | {wilson(hit, hit + count[False, True])}"


def standing(label: str) -> str:
    return "standing" if label in RIGHT else "not"


def compare_raters(name: str, rows: list[dict[str, str]], done: Search) -> None:
    """Print the agreement of the two raters, and the pins judged by each of them."""
    rated = [row for row in rows if "second" in row]
    pairs = [("standing" if row["label"] in RIGHT else row["label"], row["second"]) for row in rated]
    sure = [pair for pair in pairs if pair[0] != "unsure"]
    for kind, chosen in (
        ("four labels", sure),
        ("standing or not", [(standing(one), standing(other)) for one, other in sure]),
        ("standing or not, unsure as not", [(standing(one), standing(other)) for one, other in pairs]),
    ):
        equal, value = kappa(chosen)
        print(f"{name}, {kind}: {len(chosen)} sentences, {100 * equal:.0f} % equal, kappa {value:.2f}")
    table = Counter(pairs)
    for label in (*FOUR, "unsure"):
        print(f"| {label} | {' | '.join(str(table[label, other]) for other in FOUR)} |")
    found = [
        (done.found[row["source"], row["sentence"]][1], one, other)
        for row, (one, other) in zip(rated, pairs, strict=True)
        if (row["source"], row["sentence"]) in done.found
    ]
    known = [one for one in found if one[1] != "unsure"]
    same = [one for one in known if standing(one[1]) == standing(one[2])]
    print(f"| {name}: first rater | {len(known)} | {rates((pin, one in RIGHT) for pin, one, _ in known)} |")
    print(f"| {name}: second rater | {len(known)} | {rates((pin, two in RIGHT) for pin, _, two in known)} |")
    print(f"| {name}: second, all | {len(found)} | {rates((pin, two in RIGHT) for pin, _, two in found)} |")
    print(f"| {name}: both agree | {len(same)} | {rates((pin, two in RIGHT) for pin, _, two in same)} |")


@dataclass
class Search:
    """What the finder did with the labelled sentences: the words of each, and whether it is pinned."""

    found: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)
    unlabelled: set[tuple[str, str]] = field(default_factory=set)
    characters: int = 0
    seconds: float = 0.0

    def read(self, source: str, text: str, labelled: set[tuple[str, str]]) -> None:
        """Search one text of a user."""
        began = time.process_time()
        rules = find(text_message(Role.USER, text))
        self.seconds += time.process_time() - began
        self.characters += len(text)
        pinned = {key(found.quote): found.quote for found in rules}
        spoken = {key(sentence.text): sentence.text for sentence in sentences(text)}
        for name, words in {**spoken, **pinned}.items():
            if (source, name) in labelled:
                self.found.setdefault((source, name), (words, name in pinned))
            elif name in pinned:
                self.unlabelled.add((source, name))


def search(folder: Path, rows: list[dict[str, str]]) -> Search:
    """Run the finder over the session files of all labelled repositories."""
    labelled = {(row["source"], row["sentence"]) for row in rows}
    done = Search()
    for source in sorted({row["source"] for row in rows}):
        files = folder / source.replace("/", "+", 1)
        if not files.is_dir():
            print(f"{source}: no such folder", file=sys.stderr)
            continue
        for text in texts_of(files):
            done.read(source, text, labelled)
    return done


def report_pins(rows: list[dict[str, str]], done: Search, misses: bool) -> None:
    """Print precision and recall for each group of labelled sentences."""
    counts: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    rows = [{**row, "label": row.get("blind", row.get("agreed", row["label"]))} for row in rows]
    sure = [row for row in rows if row["label"] != "unsure"]
    found = [row for row in sure if (row["source"], row["sentence"]) in done.found]
    for row in found:
        words, pinned = done.found[row["source"], row["sentence"]]
        right = row["label"] in RIGHT
        for group in groups_of(row):
            counts[group].append((pinned, right))
        if misses and pinned != right:
            name = "fp" if pinned else "fn"
            print(f"{name} {row['split']:9} {row['label']:9} {' '.join(words.split())[:150]}")
    for group, judged in sorted(counts.items()):
        print(f"| {group} | {len(judged)} | {rates(judged)} |")
    lost = len(sure) - len(found)
    print(f"{lost} labelled sentences not found in the files, {len(done.unlabelled)} pins without a label")
    print(f"{done.characters:,} characters searched in {done.seconds:.1f} s")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--misses", action="store_true")
    arguments.add_argument("--raters", action="store_true")
    given = arguments.parse_args()
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    done = search(given.folder, rows)
    if not given.raters:
        report_pins(rows, done, given.misses)
        return
    for splits in (
        ("second",),
        ("third",),
        ("second", "third"),
        ("untouched",),
        ("second", "third", "untouched"),
        ("learnt", "fourth"),
    ):
        compare_raters(" + ".join(splits), [row for row in rows if row["split"] in splits], done)


if __name__ == "__main__":
    main()
