"""The growth of a context as SVG, for files that hold no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, HEIGHT = 960, 260
LEFT, TOP, BOTTOM = 52, 18, 24


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values stand in the picture."""

    first: int
    last: int
    most: float

    def x(self, value: int) -> float:
        return LEFT + (WIDTH - LEFT) * (value - self.first) / max(1, self.last - self.first)

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / self.most)

    def path(self, xs: Sequence[int], values: Sequence[int]) -> list[str]:
        return [f"{self.x(at):.1f} {self.y(value):.1f}" for at, value in zip(xs, values, strict=True)]


def growth(line: dict[str, Any]) -> str:
    """Return the tokens by region, stacked, with the mark and the compactions; of one point, nothing."""
    xs, regions, mark = line["x"], line["regions"], line["marks"]["compact"]
    if len(xs) < 2:
        return ""
    peak = max(sum(one["tokens"][i] for one in regions) for i in range(len(xs)))
    frame = _Frame(xs[0], xs[-1], max(peak, mark if peak > mark / 2 else 0, 1) * 1.06)
    shapes = [*_layers(frame, xs, regions), *_marks(frame, mark, line["events"]), *_labels(frame, peak)]
    label = f"tokens that the model saw, from message {xs[0]} to {xs[-1]}"
    legend = " ".join(f'<span><i class="{_css(one)}"></i> {escape(one["region"])}</span>' for one in regions)
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
        f"<figcaption>{legend}</figcaption></figure>"
    )


def _css(region: dict[str, Any]) -> str:
    return escape(region["region"]).replace(" ", "-")


def _layers(frame: _Frame, xs: Sequence[int], regions: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Draw each region on top of those before it."""
    below = [0] * len(xs)
    for one in regions:
        above = [low + tokens for low, tokens in zip(below, one["tokens"], strict=True)]
        outline = "L".join([*frame.path(xs, above), *reversed(frame.path(xs, below))])
        yield f'<path class="{_css(one)}" d="M{outline}Z"><title>{escape(one["region"])}</title></path>'
        below = above


def _marks(frame: _Frame, mark: int, events: Sequence[dict[str, Any]]) -> Iterator[str]:
    if mark < frame.most:
        height = f"{frame.y(mark):.1f}"
        yield f'<line class="mark" x1="{LEFT}" x2="{WIDTH}" y1="{height}" y2="{height}"/>'
    for event in events:
        at = frame.x(event["x"])
        yield f'<line class="cut" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text x="{at + 3:.1f}" y="{TOP - 4}">{escape(event["name"] or event["kind"])}</text>'


def _labels(frame: _Frame, peak: int) -> Iterator[str]:
    yield f'<text x="0" y="{frame.y(peak):.0f}">{peak:,}</text><text x="0" y="{frame.y(0):.0f}">0</text>'
    yield f'<text x="{LEFT}" y="{HEIGHT - 6}">m{frame.first}</text>'
    yield f'<text x="{WIDTH}" y="{HEIGHT - 6}" text-anchor="end">m{frame.last}</text>'
