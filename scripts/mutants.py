"""Change the code in small ways, one at a time, and see whether the tests notice.

    uv run python scripts/mutants.py                     a sample of each file, about half an hour
    uv run python scripts/mutants.py --only guard --all  every mutant of one file
    uv run python scripts/mutants.py --list              what would be tried

Each mutant is one change of one expression or statement: a comparison turned, a condition negated, ``and``
for ``or``, a call or a ``raise`` left out, another constant, nothing returned. It is written into a copy of
the repository, and only the tests that ``TARGETS`` names for its file are run there, up to the first failure.
A mutant is killed if a test fails or hangs. Survivors that change nothing a caller could see are listed in
``EQUIVALENT`` with the reason; they count as survivors.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "clew"
TIMEOUT_S = 300
CODECS = ("anthropic", "gemini", "openai_chat", "openai_responses")
CODEC_TESTS = "providers/test_parse.py providers/test_touched.py providers/test_convert.py"
TARGETS: dict[str, tuple[int, str]] = {
    "log/fold.py": (3, "log/test_fold.py log/test_view.py"),
    "log/view.py": (4, "log/test_fold.py log/test_view.py"),
    "log/store/memory.py": (4, "log_store/test_conformance.py"),
    "log/store/sqlite.py": (
        11,
        "log_store/test_conformance.py log_store/test_blobs.py "
        "log_store/test_sqlite.py log_store/test_disks.py session/test_saved.py",
    ),
    "session/changes.py": (6, "session/test_by_hand.py session/test_imported_rules.py"),
    "session/history.py": (
        5,
        "session/test_by_hand.py session/test_session.py session/test_saved.py session/test_record.py",
    ),
    "session/replay.py": (
        5,
        "session/test_by_hand.py session/test_saved.py session/test_rules_reach_the_model.py "
        "session/test_session.py session/test_request.py",
    ),
    "rules/findings.py": (6, "rules/test_finder_version.py session/test_by_hand.py"),
    "compaction/verify/structure.py": (
        4,
        "compaction_verify/test_structure.py compaction_verify/test_repair.py "
        "compaction_verify/test_report.py compaction_verify/test_hostile.py",
    ),
    "compaction/verify/survival.py": (
        4,
        "compaction_verify/test_survival.py compaction_verify/test_repair.py "
        "compaction_verify/test_report.py compaction_verify/test_hostile.py",
    ),
    "providers/anthropic/rules_turns.py": (
        4,
        "providers/test_rules_anthropic.py providers/test_rules_mutations.py",
    ),
    "providers/openai_chat/rules.py": (3, "providers/test_rules_openai.py providers/test_rules_mutations.py"),
    **{f"providers/{name}/codec.py": (4, CODEC_TESTS) for name in CODECS},
    "inspector/guard.py": (7, "inspector/test_guard.py"),
}
"""For each file: how many mutants a sample has, and the tests that must notice."""
EQUIVALENT: dict[tuple[str, str], str] = {
    ("log/store/memory.py", "True → False"): "zip(strict=True) of two sequences that always have one length",
    ("log/fold.py", "1 → 2"): "one event more is read, and skipped",
    ("log/store/sqlite.py", "3 → 4"): "the level of compression: only the size of the file differs",
    (
        "log/store/sqlite.py",
        "len(packed) < len(content) → (len(packed)) <= (len(content))",
    ): "at equal length, packed or plain: both are read back as the same content",
}
"""By file and change: why no test can detect it."""


class Mutant(NamedTuple):
    """One change of one file."""

    file: str
    line: int
    start: int
    end: int
    """Where in the bytes of the file the change is."""
    old: str
    new: str

    @property
    def change(self) -> str:
        """Return the change in one line."""
        old, new = (" ".join(one.split()) for one in (self.old, self.new))
        return f"{old[:70]} → {new[:70]}"


_COMPARED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


class _Finder:
    """Finds what can be changed in a file."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self._bytes = source.encode()
        self._lines = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._tree = ast.parse(source)

    def find(self) -> Iterator[Mutant]:
        for function in ast.walk(self._tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in function.body:
                    yield from self._in(statement)

    def _in(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return  # found on its own
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        for old, new in self._changes(node):
            yield self._mutant(old, new)
        skipped = (ast.JoinedStr,)  # words for people
        for child in ast.iter_child_nodes(node):
            raises = isinstance(node, ast.Raise)
            annotation = isinstance(node, ast.AnnAssign) and child is node.annotation
            if not raises and not annotation and not isinstance(child, skipped):
                yield from self._in(child)

    def _changes(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:  # noqa: C901  # one case for each change
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield node, f"({self._text(left)}) {_COMPARED[type(op)]} ({self._text(right)})"
            case ast.BoolOp(op=op, values=values):
                word = " or " if isinstance(op, ast.And) else " and "
                yield node, f"({word.join(f'({self._text(one)})' for one in values)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, f"bool({self._text(operand)})"
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                    yield test, f"not ({self._text(test)})"
            case ast.Expr(value=ast.Call()) | ast.Raise():
                yield node, "pass"
            case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
                yield node, "return None"
            case ast.Constant(value=bool(value)):
                yield node, str(not value)
            case ast.Constant(value=int(value)):
                yield node, str(value + 1)
            case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
                sign = "-" if isinstance(op, ast.Add) else "+"
                yield node, f"({self._text(left)} {sign} {self._text(right)})"

    def _text(self, node: ast.AST) -> str:
        start, end = self._place(node)
        return self._bytes[start:end].decode()

    def _place(self, node: ast.AST) -> tuple[int, int]:
        line, column, end_line, end_column = (
            getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self._lines[line - 1] + column, self._lines[end_line - 1] + end_column

    def _mutant(self, node: ast.AST, new: str) -> Mutant:
        start, end = self._place(node)
        return Mutant(self.file, getattr(node, "lineno", 0), start, end, self._bytes[start:end].decode(), new)


def mutants_of(file: str) -> list[Mutant]:
    """Return every mutant of a file, in its order."""
    return sorted(
        set(_Finder(file, (SOURCE / file).read_text()).find()), key=lambda one: (one.start, one.new)
    )


def sample(file: str, count: int, seed: int) -> list[Mutant]:
    """Return some mutants of a file, no two on one line."""
    chance, chosen = random.Random(f"{seed} {file}"), dict[int, Mutant]()
    for mutant in chance.sample(found := mutants_of(file), len(found)):
        if len(chosen) < count:
            chosen.setdefault(mutant.line, mutant)
    return sorted(chosen.values(), key=lambda one: one.line)


class Copy:
    """A copy of the repository to change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._time = int(time.time())
        for name in ("src", "tests", "examples", "docs", "bench", "scripts"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "AGENTS.md"):
            shutil.copy(ROOT / name, folder / name)

    def tests_pass(self, tests: str) -> bool:
        """Run tests up to the first failure, in a fork that need not load pytest again; a hang fails."""
        process = os.fork()
        if process == 0:
            code = 3
            try:
                code = self._run_tests([f"tests/{one}" for one in tests.split()])
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

    def _run_tests(self, tests: list[str]) -> int:
        signal.alarm(TIMEOUT_S)
        os.chdir(self._folder)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.path[:0] = [str(self._folder / "src"), str(self._folder)]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        os.environ.setdefault("CLEW_TEST_DATA", str(ROOT.parent / "shared" / "data"))
        return int(
            pytest.main(["-o", "addopts=", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])
        )

    def survives(self, mutant: Mutant, tests: str) -> bool:
        """Return whether the tests pass with a mutant in place of the code."""
        path = self._folder / "src" / "clew" / mutant.file
        whole = path.read_bytes()
        try:
            self._write(path, whole[: mutant.start] + mutant.new.encode() + whole[mutant.end :])
            return self.tests_pass(tests)
        finally:
            self._write(path, whole)

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file with a time of its own, so that compiled code of another version is not used."""
        self._time += 2
        path.write_bytes(content)
        os.utime(path, (self._time, self._time))


def run(chosen: dict[str, list[Mutant]]) -> tuple[int, list[Mutant]]:
    """Try the mutants; return how many there were, and those that no test noticed."""
    tried, survivors = 0, list[Mutant]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        for file, mutants in chosen.items():
            tests = TARGETS[file][1]
            if not copy.tests_pass(tests):
                sys.exit(f"{file}: its tests fail without any change")
            for mutant in mutants:
                begun = time.monotonic()
                lives = copy.survives(mutant, tests)
                tried += 1
                survivors += [mutant] if lives else []
                verdict = "SURVIVED" if lives else "killed"
                print(
                    f"{verdict:8} {time.monotonic() - begun:4.0f}s {file}:{mutant.line}: {mutant.change}",
                    flush=True,
                )
    return tried, survivors


def main() -> int:
    """Run, and say what was not noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="files with this in their path")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample")
    parser.add_argument("--list", action="store_true", help="say what would be tried")
    args = parser.parse_args()
    chosen = {
        file: mutants_of(file) if args.all else sample(file, count, args.seed)
        for file, (count, _) in TARGETS.items()
        if args.only in file
    }
    if args.list:
        for file, mutants in chosen.items():
            for one in mutants:
                print(f"{file}:{one.line}: {one.change}")
        return 0
    tried, survivors = run(chosen)
    killed = tried - len(survivors)
    print(f"\n{killed} of {tried} mutants killed ({killed / max(1, tried):.0%})")
    for one in survivors:
        reason = EQUIVALENT.get((one.file, one.change), "no reason on record: a test is missing")
        print(f"survived: {one.file}:{one.line}: {one.change}\n  {reason}")
    return 0 if all((one.file, one.change) in EQUIVALENT for one in survivors) else 1


if __name__ == "__main__":
    sys.exit(main())
