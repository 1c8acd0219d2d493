"""Read every session of a folder of data sets and report what was found, set by set.

    uv run python bench/sessions.py ../shared/data/transcripts

A set is a folder; every file in it is read, whatever its format. Nothing may crash; what clew does not
recognise is counted as such.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from clew.errors import InputError
from clew.transcripts import load, open_source

RESULTS = Path(__file__).parent / "results" / "sessions.md"
NOT_SESSIONS = ("SOURCE.txt", "LICENSE", "README.md")
COLUMNS = (
    "files",
    "unrecognised",
    "sessions",
    "messages",
    "tool_calls",
    "unpaired",
    "compactions",
    "problems",
)


def read_set(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the counts of a set, and how many files had which format."""
    found: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if path.name in NOT_SESSIONS:
            continue
        found["files"] += 1
        try:
            sessions = load(open_source(path))
        except InputError:
            found["unrecognised"] += 1
            continue
        formats.update({session.format for session in sessions})
        found["sessions"] += len(sessions)
        for session in sessions:
            stats = session.stats()
            found.update({name: getattr(stats, name) for name in COLUMNS[3:]})
    return found, formats


def main(root: Path) -> None:
    rows = [f"| set | format | {' | '.join(name.replace('_', ' ') for name in COLUMNS)} |", "|---" * 10 + "|"]
    started = time.process_time()
    total: Counter[str] = Counter()
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("_")):
        found, formats = read_set(folder)
        total += found
        cells = " | ".join(f"{found[name]:,}" for name in COLUMNS)
        rows.append(f"| {folder.name} | {', '.join(sorted(formats)) or '-'} | {cells} |")
        print(rows[-1])
    rows.append(f"| **all** | | {' | '.join(f'{total[name]:,}' for name in COLUMNS)} |")
    seconds = time.process_time() - started
    text = (
        "# Sessions read\n\n`uv run python bench/sessions.py FOLDER`\n\n"
        f"{chr(10).join(rows)}\n\nRead in {seconds:.0f} s of CPU time. Nothing crashed.\n"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
