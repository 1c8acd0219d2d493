"""Write the page that lists every rule of the validators.

uv run python scripts/rules_page.py            check that the page is fresh
uv run python scripts/rules_page.py --write    update it
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from clew.providers import WIRES
from clew.providers.rules import ApiRule, CheckScope

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "rules.md"

INTRODUCTION = """\
# Rules of the validators

What each provider's API refuses, as far as it is recorded, specified or reported. `clew check` and
`Wire.check` run these rules over a request body, or over a bare message list.

- **refuse**: the API answers with an error. **warn**: it accepts the request, against its own documentation.
- **unverified** rules are widely reported but neither recorded nor documented in a source. They count as
  warnings unless you ask for more (`Unverified.REFUSE`) or less (`Unverified.OFF`).
- **whole request**: the rule is skipped if only a message list is checked (`CheckScope.MESSAGES`).
- A model that clew does not know is never refused by a rule that depends on the model.

This page is written by `scripts/rules_page.py`.
"""


def page() -> str:
    """Return the page's text."""
    return INTRODUCTION + "".join(section(wire.title, wire.rules) for wire in WIRES.values())


def section(title: str, rules: Sequence[ApiRule]) -> str:
    """Return the part of the page about one format: a table of its rules, then each of them."""
    table = "".join(f"| {rule.id} | {rule.name} | {marks(rule)} |\n" for rule in rules)
    return f"\n## {title}\n\n| rule | asks that | level |\n|---|---|---|\n{table}" + "".join(
        map(entry, rules)
    )


def marks(rule: ApiRule) -> str:
    """Return how a rule counts, in words."""
    words = [rule.level, *([] if rule.verified else ["unverified"])]
    return ", ".join([*words, "whole request"] if rule.scope is CheckScope.BODY else words)


def entry(rule: ApiRule) -> str:
    """Return the part of the page about one rule."""
    return f"\n### {rule.id}: {rule.name}\n\nTo fix it: {rule.advice}.\n\nSource: {rule.source}\n"


def main(arguments: list[str]) -> int:
    """Check the page, or write it; return the exit code."""
    if "--write" in arguments:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.stderr.write(f"{PAGE.name} is stale: run scripts/rules_page.py --write\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
