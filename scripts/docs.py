"""Run the code blocks of README, docs and bench, and compare or update their output.

    uv run python scripts/docs.py            check every page
    uv run python scripts/docs.py --write    put the real output into the pages

A ``python`` block runs in its page's namespace; a ``text`` block right after it is what it prints. In a
``console`` block each ``$ `` line is run from the root of the repository and followed by what it prints.
A line ``...`` in expected output matches any number of lines. A block under a comment
``<!-- not run: why -->`` is not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n+)?^(?P<fence>`{3,})(?P<lang>\w+)[^\n]*\n(?P<code>.*?)^(?P=fence)$"
    r"(?:\n+^```text\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)


@dataclass(frozen=True)
class Stale:
    """A block whose output differs from its page."""

    page: Path
    line: int
    expected: str
    printed: str


def pages() -> list[Path]:
    """Return README, all pages of the docs, and the pages about measurements."""
    measured = sorted((ROOT / "bench").glob("*.md"))
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *measured]


def check(page: Path, write: bool = False) -> list[Stale]:
    """Run a page's blocks; return the stale blocks, or update the page."""
    text = page.read_text(encoding="utf-8")
    stale: list[Stale] = []
    namespace: dict[str, object] = {"__name__": "__docs__"}
    pieces: list[str] = []
    last = 0
    with tempfile.TemporaryDirectory() as home:
        for block in FENCE.finditer(text):
            if block["skip"]:
                continue
            line = text.count("\n", 0, block.start()) + 1
            for span, expected, printed in _run(block, namespace, home):
                if not _alike(expected, printed):
                    stale.append(Stale(page, line, expected, printed))
                    pieces += [text[last : span[0]], printed]
                    last = span[1]
    if write and stale:
        page.write_text("".join([*pieces, text[last:]]), encoding="utf-8")
    return stale


Span = tuple[int, int]


def _run(block: re.Match[str], namespace: dict[str, object], home: str) -> Iterator[tuple[Span, str, str]]:
    if block["lang"] == "python":
        printed = _run_python(block["code"], namespace)
        if block["output"] is not None:
            yield block.span("output"), block["output"], printed
    elif block["lang"] == "console":
        for found in re.finditer(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block["code"], re.M):
            start = block.start("code") + found.start(2)
            yield (start, start + len(found[2])), found[2], _run_shell(found[1], home)


def _run_python(code: str, namespace: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.chdir(ROOT):
        exec(compile(code, "<docs>", "exec"), namespace)
    return out.getvalue()


def _run_shell(command: str, home: str) -> str:
    env = {**os.environ, "CLEW_HOME": home, "HOME": home, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    # The pages say what people type; here the environment is already the right one.
    typed = command.removeprefix("uv run ")
    done = subprocess.run(typed, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _alike(expected: str, printed: str) -> bool:
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in expected.splitlines(True))
    return re.fullmatch(pattern, printed, re.S) is not None


def main(arguments: list[str]) -> int:
    """Check every page, or update it with ``--write``."""
    write = "--write" in arguments
    stale = [found for page in pages() for found in check(page, write)]
    for found in stale:
        verdict = "rewritten" if write else "prints something else"
        print(f"{found.page.relative_to(ROOT)}:{found.line}: {verdict}")
        if not write:
            print(found.printed)
    return 0 if write or not stale else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
