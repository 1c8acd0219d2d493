"""Count words that plain engineering English rarely needs, and fail if a tree has more than its limit.

    uv run python scripts/plain_words.py              check every tree of scripts/plain_words.toml
    uv run python scripts/plain_words.py PATH…        count there, and list the most marked files

Docstrings, comments and the prose of Markdown pages are read; code and inline code are not. The rate is
markers per 1,000 words. About 1 is normal: httpx has 0.6, structlog 0.7, the OpenHands SDK 1.3.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMITS = ROOT / "scripts" / "plain_words.toml"
MARKERS = re.compile(
    r"\b(?:stands?|stood|tells?|told|telling|whoever|whatever|wherever|somebody|nobody|anybody"
    r"|is no (?!longer|such)\w+|are no (?!longer|such)\w+|anew|beside|besides|mends?|mended|let go|lets go"
    r"|leave to|came to nothing|as it is|goes on|in one go)\b|, where\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
LISTED = 10


@dataclass(frozen=True)
class Count:
    """The words and the markers of one file or tree."""

    words: int = 0
    markers: int = 0

    @property
    def rate(self) -> float:
        """Return the markers per 1,000 words."""
        return 1000 * self.markers / max(1, self.words)

    def __add__(self, other: Count) -> Count:
        """Return both counts together."""
        return Count(self.words + other.words, self.markers + other.markers)

    def __str__(self) -> str:
        """Return the count in words."""
        return f"{self.words} words, {self.markers} markers, {self.rate:.1f} per 1,000"


def count(path: Path) -> Count:
    """Return the count of one Python file or Markdown page."""
    text = path.read_text(encoding="utf-8")
    prose = CODE.sub("", text) if path.suffix == ".md" else "\n".join(_prose(text))
    return Count(len(WORD.findall(prose)), len(MARKERS.findall(prose)))


def counts(root: Path) -> dict[Path, Count]:
    """Return the count of every Python file and Markdown page in a folder, or of one file."""
    paths = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.suffix in {".py", ".md"})
    return {path: count(path) for path in paths if ".venv" not in path.parts}


def check(limits: dict[str, float], root: Path = ROOT) -> list[str]:
    """Print the rate of every tree; return a line for each that is over its limit."""
    failed: list[str] = []
    for name, limit in limits.items():
        total = sum(counts(root / name).values(), Count())
        print(f"{name}: {total} (limit {limit:g})")
        if total.rate > limit:
            failed.append(f"{name}: {total.rate:.2f} markers per 1,000 words, the limit is {limit:g}")
    return failed


def _prose(source: str) -> Iterator[str]:
    """Yield the docstrings, then the comments of a Python file."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for item in body if isinstance(body, list) else ():
            text = (
                item.value.value
                if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
                else None
            )
            if isinstance(text, str):
                yield text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def _report(root: Path) -> None:
    """Print the count of a tree and its most marked files."""
    found = counts(root)
    print(f"{root}: {sum(found.values(), Count())}")
    for path, each in sorted(found.items(), key=lambda item: -item[1].markers)[:LISTED]:
        if each.markers:
            print(f"    {each.markers:4d}  {path}")


def main(paths: list[str]) -> int:
    """Report on the paths, or check the limits."""
    if paths:
        for path in paths:
            _report(Path(path))
        return 0
    failed = check(tomllib.loads(LIMITS.read_text(encoding="utf-8"))["limits"])
    for line in failed:
        print(f"too many markers: {line}")
    if failed:
        print("list the most marked files with: uv run python scripts/plain_words.py PATH")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
