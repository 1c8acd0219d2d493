"""Judge what the finder pins by sentences of real sessions, labelled by the guideline of four labels.

    uv run python bench/constraints_rules.py FOLDER [--misses]

``tests/rules/rules.jsonl`` holds the labels without the text: the split, the repository and the hash of the
sentence. FOLDER holds the session files of these repositories, one folder each, named owner+name (SpecStory
pages, aider histories, Claude Code logs). Prints precision and recall for each split, tool and repository,
labelled sentences that the files no longer hold, pins without a label, and the time of the search.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from constraints import wilson

from clew.errors import InputError
from clew.message import Origin, Role, Text, text_message
from clew.rules import find
from clew.rules.sentences import sentences
from clew.transcripts import load, open_source

LABELS = Path(__file__).parents[1] / "tests" / "rules" / "rules.jsonl"
RIGHT = ("standing", "temporary")
LONGEST = 240_000


def key(sentence: str) -> str:
    return hashlib.sha256(" ".join(sentence.lower().split()).encode()).hexdigest()[:12]


def texts_of(folder: Path) -> list[str]:
    """Return the different texts that users wrote in the session files of a folder; long ones are pastes."""
    found: dict[str, None] = {}
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
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


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--misses", action="store_true")
    given = arguments.parse_args()
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    labels = {(row["source"], row["sentence"]): row for row in rows}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: set[tuple[str, str]] = set()
    unlabelled: set[tuple[str, str]] = set()
    characters, seconds = 0, 0.0
    for source in sorted({row["source"] for row in rows}):
        folder = given.folder / source.replace("/", "+", 1)
        if not folder.is_dir():
            print(f"{source}: no such folder", file=sys.stderr)
            continue
        for text in texts_of(folder):
            began = time.process_time()
            rules = find(text_message(Role.USER, text))
            seconds, characters = seconds + time.process_time() - began, characters + len(text)
            pinned = {key(found.quote): found.quote for found in rules}
            spoken = {key(sentence.text): sentence.text for sentence in sentences(text)}
            for name, words in {**spoken, **pinned}.items():
                row = labels.get((source, name))
                if row is None and name in pinned:
                    unlabelled.add((source, name))
                if row is None or (source, name) in seen or row["label"] == "unsure":
                    continue
                seen.add((source, name))
                right = row["label"] in RIGHT
                outcome = ("tp" if right else "fp") if name in pinned else ("fn" if right else "tn")
                for group in groups_of(row):
                    counts[group][outcome] += 1
                if given.misses and outcome in ("fp", "fn"):
                    print(f"{outcome} {row['split']:9} {row['label']:9} {' '.join(words.split())[:150]}")
    for group, count in sorted(counts.items()):
        precision = wilson(count["tp"], count["tp"] + count["fp"])
        recall = wilson(count["tp"], count["tp"] + count["fn"])
        print(f"| {group} | {sum(count.values())} | {precision} | {recall} |")
    lost = sum(row["label"] != "unsure" for row in rows) - len(seen)
    print(f"{lost} labelled sentences not found in the files, {len(unlabelled)} pins without a label")
    print(f"{characters:,} characters searched in {seconds:.1f} s")


if __name__ == "__main__":
    main()
