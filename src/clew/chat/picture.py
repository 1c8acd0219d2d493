"""The window as a picture of plain characters: by region, and by contributor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from clew.budget import Fill, Region, TokenBudget
from clew.request.assembled import Assembled
from clew.request.sections import Contribution

BAR = 40
MOST_SOURCES = 5
LETTERS = {
    Region.SYSTEM: "s",
    Region.TOOLS: "t",
    Region.PINNED: "p",
    Region.INSTRUCTIONS: "i",
    Region.MEMORY: "m",
    Region.HISTORY: "h",
    Region.TOOL_OUTPUTS: "o",
    Region.SUMMARY_CALL: "-",
    Region.NEXT_RESULT: "-",
    Region.REPLY: "r",
}
"""One for each region; what is only kept free is drawn as a dash."""


def meter(budget: TokenBudget) -> str:
    """Return how full the window is in a few characters: ``h 61% o 20% · 83%``."""
    fill = Fill.of(budget.allotment)
    usable = max(1, fill.window.usable_tokens)
    told = [
        f"{LETTERS[slice_.region]}{slice_.asked / usable:.0%}"
        for slice_ in budget.allotment.slices
        if slice_.asked / usable >= 0.01 and LETTERS[slice_.region] not in "-r"
    ]
    return f"{fill.used_tokens / usable:.0%} {' '.join(told)}".rstrip()


def bar(budget: TokenBudget, width: int = BAR) -> str:
    """Return the window as a bar: a letter for what is used, a dash for what is kept free."""
    window = max(1, budget.allotment.window_tokens)
    cells = ""
    given = 0
    for slice_ in budget.allotment.slices:
        given += slice_.given
        cells += LETTERS[slice_.region] * max(0, round(given / window * width) - len(cells))
    return f"[{cells:.<{width}}]"


def budget_lines(budget: TokenBudget) -> Iterator[str]:
    """Yield how the window is split, region by region, and what follows from it."""
    yield f"{bar(budget)} {Fill.of(budget.allotment)}"
    for slice_ in budget.allotment.slices:
        if slice_.asked:
            cut = f", {slice_.cut:,} cut" if slice_.cut else ""
            letter = LETTERS[slice_.region]
            yield f"  {letter} {slice_.region.value:<13}{slice_.given:>9,}{cut}  {slice_.why}"
    free, window = budget.allotment.free_tokens, budget.allotment.window_tokens
    yield f"  . {'free':<13}{free:>9,}  of a window of {window:,}"
    yield f"{type(budget.verdict).__name__.lower()}: {budget.verdict.why}"


def context_lines(assembled: Assembled, budget: TokenBudget) -> Iterator[str]:
    """Yield what the next request holds: who contributed what, the largest first."""
    yield f"{bar(budget)} {Fill.of(budget.allotment)}"
    sections: defaultdict[str, list[Contribution]] = defaultdict(list)
    for one in assembled.contributions:
        sections[one.section.name].append(one)
    for name, parts in sections.items():
        tokens = sum(one.given for one in parts)
        yield f"  {name:<13}{tokens:>9,}  {len(parts):,} {'source' if len(parts) == 1 else 'sources'}"
        for one in sorted(parts, key=lambda one: -one.given)[:MOST_SOURCES]:
            why = f"  {one.why}" if one.why else ""
            yield f"    {one.source:<24}{one.given:>7,}  {one.trust.label}{why}"
        if len(parts) > MOST_SOURCES:
            yield f"    … and {len(parts) - MOST_SOURCES:,} more"
