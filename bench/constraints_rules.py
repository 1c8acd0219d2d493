"""Judge what the finder pins by sentences of real sessions, labelled by the guideline of four labels.

    uv run python bench/constraints_rules.py FOLDER [--misses]

``tests/rules/rules.jsonl`` holds the labels without the text: the split, the repository and the hash of the
sentence. FOLDER holds the session files of these repositories, one folder each, named owner+name (SpecStory
pages, aider histories, Claude Code logs). Prints precision and recall for each split and repository.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path

from constraints import user_texts, wilson

from clew.message import Role, said
from clew.rules import find
from clew.rules.sentences import sentences

LABELS = Path(__file__).parents[1] / "tests" / "rules" / "rules.jsonl"
RIGHT = ("standing", "temporary")
LONGEST = 60_000


def key(sentence: str) -> str:
    return hashlib.sha256(" ".join(sentence.lower().split()).encode()).hexdigest()[:12]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--misses", action="store_true")
    given = arguments.parse_args()
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    labels = {(row["source"], row["sentence"]): row for row in rows}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: set[tuple[str, str]] = set()
    for folder in sorted(path for path in given.folder.iterdir() if path.is_dir()):
        source = folder.name.replace("+", "/", 1)
        for text in {text for file in folder.iterdir() for text in user_texts(file) if len(text) <= LONGEST}:
            pinned = {key(found.quote): found.quote for found in find(said(Role.USER, text))}
            spoken = {key(sentence.text): sentence.text for sentence in sentences(text)}
            for name, words in {**spoken, **pinned}.items():
                row = labels.get((source, name))
                if row is None or (source, name) in seen or row["label"] == "unsure":
                    continue
                seen.add((source, name))
                right = row["label"] in RIGHT
                outcome = ("tp" if right else "fp") if name in pinned else ("fn" if right else "tn")
                for group in (f"**{row['split']}**", f"{row['split']}: {source}"):
                    counts[group][outcome] += 1
                if given.misses and outcome in ("fp", "fn"):
                    print(f"{outcome} {row['split']:9} {row['label']:9} {' '.join(words.split())[:150]}")
    for group, count in sorted(counts.items()):
        precision = wilson(count["tp"], count["tp"] + count["fp"])
        recall = wilson(count["tp"], count["tp"] + count["fn"])
        print(f"| {group} | {sum(count.values())} | {precision} | {recall} |")


if __name__ == "__main__":
    main()
