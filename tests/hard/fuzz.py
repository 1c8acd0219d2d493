"""Fuzz one reader or parser, guided by what its code does.

    python tests/hard/fuzz.py --seconds 60 claude-code
    python tests/hard/fuzz.py --list
    python tests/hard/fuzz.py --seconds 60 all

Needs ``atheris`` (``pip install atheris``); it is no dependency of clew. What breaks a promise is written to
``--found`` as a file and ends the run of that target: make it a test, then mend it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
SLOW_SECONDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", default="all", help="a format, a parser, or all")
    parser.add_argument("--seconds", type=int, default=60, help="how long for each")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="where findings are written")
    parser.add_argument("--list", action="store_true", help="name the targets")
    args = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    if args.list or args.target == "all":
        from tests.hard.hostile import TARGETS

        if args.list:
            print("\n".join(TARGETS))
            return 0
        return max(_in_process(name, args.seconds, args.found) for name in TARGETS)
    return fuzz(args.target, args.seconds, args.found)


def _in_process(name: str, seconds: int, found: Path) -> int:
    """Fuzz in a process of its own: the fuzzer ends the one it runs in."""
    command = [sys.executable, __file__, "--seconds", str(seconds), "--found", str(found), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [
        line
        for line in done.stderr.splitlines()
        if line.startswith(("Done", "==", "   ", "    #", "SUMMARY"))
    ]
    print(f"{name}: {'sound' if not done.returncode else 'BROKEN'}", *told[-3:], sep="\n  ", flush=True)
    return done.returncode


def fuzz(name: str, seconds: int, found: Path) -> int:
    import atheris

    with atheris.instrument_imports(include=["clew"]):
        from tests.hard.hostile import TARGETS
        from tests.hard.mutate import mutated
        from tests.hard.seeds import of_parsers, of_readers

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        chance = Random(seed)
        made = mutated(data, chance) if chance.random() < 0.6 else atheris.Mutate(data, max_size)
        return made[:max_size]

    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for i, seed in enumerate((of_readers() | of_parsers()).get(name, [])):
            Path(corpus, f"seed-{i}").write_bytes(seed)
        options = [
            f"-max_total_time={seconds}",
            f"-timeout={SLOW_SECONDS}",
            "-max_len=65536",
            "-rss_limit_mb=2048",
            f"-artifact_prefix={found}{os.sep}{name}-",
            "-print_final_stats=1",
        ]
        atheris.Setup([name, *options, corpus], TARGETS[name], custom_mutator=change)
        atheris.Fuzz()  # does not return
    return 0


if __name__ == "__main__":
    sys.exit(main())
