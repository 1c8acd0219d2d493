"""Measure what a summariser adds to the finder: which sentences it calls rules, against labelled sentences.

    uv run python bench/constraints_judge.py FOLDER --prompts DIR     write the questions, as clew asks them
    uv run python bench/constraints_judge.py FOLDER --record DIR      read the answers beside them
    uv run python bench/constraints_judge.py FOLDER [--misses]        precision and recall with and without

FOLDER is that of ``constraints_rules.py``. The questions are about the labelled sentences of people in no
tuning split, in the messages in which they were said, and made by the code that asks a summariser; what is
not labelled is only shown around them. ``tests/rules/judged.jsonl`` holds the recorded answers without the
text: the repository, the hash of the sentence and the label. An answer is a file ``NAME.json`` beside the
question ``NAME.txt``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from constraints import wilson
from constraints_rules import LABELS, RIGHT, key, texts_of

from clew.compaction.judge import MOST_SENTENCES, RuleQuestion, read_answer
from clew.message import Item, Role, text_message
from clew.rules import find
from clew.rules.candidates import AskedSentence, sentences_to_judge
from clew.rules.protected import is_protected
from clew.rules.sentences import sentences

ANSWERS = LABELS.parent / "judged.jsonl"
SPLITS = ("thirteenth", "untouched", "fourteenth")


class Labelled(NamedTuple):
    """A labelled sentence of a person, as the finder and the candidates see it."""

    split: str
    source: str
    sentence: str
    label: str
    pinned: bool
    asked: AskedSentence | None
    tool: str = ""

    @property
    def right(self) -> bool:
        """Whether it is a standing rule."""
        return self.label in RIGHT


def labels() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Return split, label and tool of each sentence of the judging splits with a sure label."""
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    found = {}
    for row in rows:
        label = row.get("blind", row.get("agreed", row["label"]))
        if row["split"] in SPLITS and label != "unsure":
            found[row["source"], row["sentence"]] = row["split"], label, row.get("tool", "")
    return found


def labelled(folder: Path) -> Iterator[Labelled]:
    """Yield the labelled sentences that the session files hold, by person, in the order of the messages."""
    known = labels()
    for source in sorted({source for source, _ in known}):
        files = folder / source.replace("/", "+", 1)
        wanted = {name for one, name in known if one == source}
        for number, text in enumerate(texts_of(files) if files.is_dir() else (), start=1):
            if not wanted:
                break
            message = text_message(Role.USER, text)
            pinned = {key(rule.quote) for rule in find(message)}
            asked = {key(one.rule.quote): one for one in sentences_to_judge(Item(f"m{number}", message))}
            names = dict.fromkeys((*(key(one.text) for one in sentences(text)), *pinned, *asked))
            for name in (name for name in names if name in wanted):
                wanted.discard(name)
                split, label, tool = known[source, name]
                yield Labelled(split, source, name, label, name in pinned, asked.get(name), tool)


def questions(rows: Sequence[Labelled]) -> Iterator[tuple[str, RuleQuestion, list[Labelled]]]:
    """Yield the questions about each person's sentences, with a name and the rows in their order."""
    people: defaultdict[str, list[Labelled]] = defaultdict(list)
    for row in rows:
        if row.asked:
            people[row.source].append(row)
    for number, own in enumerate(people.values(), start=1):
        own.sort(key=lambda row: (row.asked.rule.source.number, row.asked.rule.span))  # type: ignore[union-attr]
        for part in range(0, len(own), MOST_SENTENCES):
            some = own[part : part + MOST_SENTENCES]
            asked = tuple(row.asked for row in some if row.asked)
            yield f"{number:02}-{part // MOST_SENTENCES}", RuleQuestion((), asked, 0), some


def write_prompts(rows: Sequence[Labelled], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, asked, _ in questions(rows):
        ask = asked.ask()
        (folder / f"{name}.txt").write_text(f"{ask.system}\n\n{ask.instruction}\n", "utf-8")
        print(name, len(asked.sentences), "sentences")


def record(rows: Sequence[Labelled], folder: Path) -> None:
    """Read the answers and keep what they say about each sentence."""
    with ANSWERS.open("w", encoding="utf-8") as out:
        for name, asked, own in questions(rows):
            file = folder / f"{name}.json"
            answer = read_answer(file.read_text("utf-8"), asked) if file.exists() else None
            if answer is None:
                print(f"{name}: no usable answer")
                continue
            for number, row in zip(asked.numbers, own, strict=True):
                if number in answer.verdicts:
                    one = {
                        "source": row.source,
                        "sentence": row.sentence,
                        "is": answer.verdicts[number].value,
                    }
                    out.write(json.dumps(one) + "\n")
            print(f"{name}: {len(answer.verdicts)} of {len(own)}")


def is_pinned(row: Labelled, verdict: str | None) -> bool:
    """Return whether a sentence is pinned after the judgement, as ``Pins.judge`` decides."""
    if verdict is None:
        return row.pinned
    protects = row.pinned and row.asked is not None and is_protected(row.asked.rule)
    return verdict == "standing" or protects


def score(rows: Sequence[Labelled], misses: bool) -> None:
    """Print precision and recall of the pins with and without the judgement, by split."""
    answers = {
        (one["source"], one["sentence"]): one["is"]
        for one in map(json.loads, ANSWERS.read_text("utf-8").splitlines())
    }
    groups: defaultdict[str, list[tuple[Labelled, bool]]] = defaultdict(list)
    for row in rows:
        now = is_pinned(row, answers.get((row.source, row.sentence)))
        tool = f"all, {row.tool or 'tool not recorded'}"
        for group in (row.split, "all", "all, likely rules of the tables", "all, the others", tool):
            is_rule = row.asked is not None and row.asked.rank == 0
            if (group.endswith("tables") and not is_rule) or (group.endswith("others") and is_rule):
                continue
            groups[group].append((row, now))
        if misses and now != row.right and row.asked:
            name = "fp" if now else "fn"
            print(f"{name} {row.split:10} {row.label:9} {' '.join(row.asked.rule.quote.split())[:150]}")
    judged = sum((row.source, row.sentence) in answers for row in rows)
    print(f"{len(rows)} labelled sentences of {len({row.source for row in rows})} people, {judged} judged")
    print("| people | sentences | | right pins | standing rules that are pinned |")
    for group, found in groups.items():
        for name, pins in (
            ("without a model", [(row.pinned, row.right) for row, _ in found]),
            ("with the judge", [(now, row.right) for row, now in found]),
        ):
            count = Counter(pins)
            hit = count[True, True]
            cells = f"{wilson(hit, hit + count[True, False])} | {wilson(hit, hit + count[False, True])}"
            print(f"| {group} | {len(found)} | {name} | {cells} |")
    table = Counter((row.label, answers.get((row.source, row.sentence), "not asked")) for row in rows)
    print("label and judgement:", dict(sorted(table.items())))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--prompts", type=Path)
    arguments.add_argument("--record", type=Path)
    arguments.add_argument("--misses", action="store_true")
    given = arguments.parse_args()
    rows = list(labelled(given.folder))
    if given.prompts:
        write_prompts(rows, given.prompts)
    elif given.record:
        record(rows, given.record)
    else:
        score(rows, given.misses)


if __name__ == "__main__":
    main()
