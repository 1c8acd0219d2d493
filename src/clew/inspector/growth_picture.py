"""The growth of a session's context as an SVG picture, for the exported HTML file, which runs no script.

Tokens by region are stacked over the messages; the threshold and the compactions are lines. ``plot.js`` draws
the same for the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, HEIGHT = 960, 260
"""Size of the picture of growth, in its own units: it scales with the page."""
LEFT, TOP, BOTTOM = 52, 18, 24
"""Margins: a token count fits on the left, names of compactions above, message numbers below."""


@dataclass(frozen=True, slots=True)
class _PictureScale:
    """The scales of the picture: from messages and tokens to coordinates."""

    first: int
    last: int
    most: float

    def x(self, value: int) -> float:
        return LEFT + (WIDTH - LEFT) * (value - self.first) / max(1, self.last - self.first)

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / self.most)

    def path(self, xs: Sequence[int], values: Sequence[int]) -> list[str]:
        return [f"{self.x(at):.1f} {self.y(value):.1f}" for at, value in zip(xs, values, strict=True)]


def growth_picture(line: dict[str, Any]) -> str:
    """Return the growth of the context as SVG: tokens by region, threshold and compactions.

    ``line`` is what ``timeline.timeline`` returns; "" if there are fewer than two points to connect.
    """
    xs, regions, threshold = line["x"], line["regions"], line["marks"]["compact"]
    if len(xs) < 2:
        return ""
    peak = max(sum(region["tokens"][i] for region in regions) for i in range(len(xs)))
    shown_threshold = threshold if peak > threshold / 2 else 0  # far above the curve it would flatten it
    frame = _PictureScale(xs[0], xs[-1], max(peak, shown_threshold, 1) * 1.06)  # 6 % of space above
    shapes = [*_layers(frame, xs, regions), *_marks(frame, threshold, line["events"]), *_labels(frame, peak)]
    label = f"tokens that the model saw, from message {xs[0]} to {xs[-1]}"
    legend = " ".join(
        f'<span><i class="{_css(region)}"></i> {escape(region["region"])}</span>' for region in regions
    )
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
        f"<figcaption>{legend}</figcaption></figure>"
    )


def _css(region: dict[str, Any]) -> str:
    return escape(region["region"]).replace(" ", "-")


def _layers(frame: _PictureScale, xs: Sequence[int], regions: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one area per region, stacked."""
    below = [0] * len(xs)
    for region in regions:
        above = [low + tokens for low, tokens in zip(below, region["tokens"], strict=True)]
        outline = "L".join([*frame.path(xs, above), *reversed(frame.path(xs, below))])
        yield f'<path class="{_css(region)}" d="M{outline}Z"><title>{escape(region["region"])}</title></path>'
        below = above


def _marks(frame: _PictureScale, threshold: int, events: Sequence[dict[str, Any]]) -> Iterator[str]:
    if threshold < frame.most:
        height = f"{frame.y(threshold):.1f}"
        yield f'<line class="mark" x1="{LEFT}" x2="{WIDTH}" y1="{height}" y2="{height}"/>'
    for event in events:
        at = frame.x(event["x"])
        yield f'<line class="cut" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text x="{at + 3:.1f}" y="{TOP - 4}">{escape(event["name"] or event["kind"])}</text>'


def _labels(frame: _PictureScale, peak: int) -> Iterator[str]:
    yield f'<text x="0" y="{frame.y(peak):.0f}">{peak:,}</text><text x="0" y="{frame.y(0):.0f}">0</text>'
    yield f'<text x="{LEFT}" y="{HEIGHT - 6}">m{frame.first}</text>'
    yield f'<text x="{WIDTH}" y="{HEIGHT - 6}" text-anchor="end">m{frame.last}</text>'
