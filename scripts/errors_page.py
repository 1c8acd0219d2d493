"""Write docs/reference/errors.md from the errors themselves.

uv run python scripts/errors_page.py
"""

from __future__ import annotations

from pathlib import Path

from clew import errors

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
HEAD = """\
# Errors

Written by `scripts/errors_page.py`. Every error that clew raises on purpose is a `clew.ClewError`; catching
that one catches them all. A message says what happened, then what to do next; `error.detail` is the first
half alone.
"""


def page() -> str:
    """Return the page as it should be."""
    drawn = (errors.__doc__ or "").split("\n\n")[1]
    return "\n".join([HEAD, f"```text\n{drawn}\n```\n", *_sections(errors.ClewError)])


def _sections(error: type[errors.ClewError]) -> list[str]:
    parent = error.__base__.__name__ if error.__base__ else ""
    own = f"## {error.__name__}\n\nKind of `{parent}`. Its advice: {error.__doc__}.\n"
    return [own, *(section for child in error.__subclasses__() for section in _sections(child))]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
