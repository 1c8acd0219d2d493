"""Plots as SVG text, drawn by hand: lines with bands, and dots with whiskers. No library, no script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

COLOURS = (
    "#0b5fa5", "#c2410c", "#3f7d20", "#7a3e9d", "#b8860b", "#0f766e", "#9d174d", "#57606a", "#5b4636",
    "#2f4b7c",
)  # fmt: skip
"""Distinct in print and for most eyes; the first is for what is to be seen first."""
QUIET = "#9aa3ab"
WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 104, 14, 44
"""Of a plot and its margins, in pixels; the names of the lines are in the right one."""
LABEL_GAP = 12.5


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A measured value with its interval."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """A line of points under a name."""

    name: str
    points: tuple[ChartPoint, ...]
    is_quiet: bool = False
    """Drawn thin and grey: a cheat, a ceiling, whatever is not in the contest."""
    has_band: bool = False
    """Its interval is shaded, and its line is thick; one or two of a plot, or none can be seen."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The title of an axis and its ticks."""

    title: str
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value between the first tick (0) and the last (1)."""
        first, last, here = (self._scaled(one) for one in (self.ticks[0], self.ticks[-1], value))
        return min(1.0, max(0.0, (here - first) / (last - first)))

    def _scaled(self, value: float) -> float:
        return math.log(max(value, 1e-9)) if self.is_log else value


SHARES = Axis("", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), ("0", "0.2", "0.4", "0.6", "0.8", "1"))


def colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name, the same in every plot."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def lines(series: Sequence[Series], x: Axis, y: Axis, colour: dict[str, str]) -> str:
    """Draw lines with bands for their intervals; each is named at its right end."""
    marks = [*_grid(x, y)]
    ends = []
    for item in sorted(series, key=lambda entry: (entry.has_band, not entry.is_quiet)):
        tint = QUIET if item.is_quiet else colour.get(item.name, QUIET)
        places = [(_x(x.place(p.x)), _y(y.place(p.y))) for p in item.points]
        if item.has_band and len(places) > 1:
            upper = [f"{_x(x.place(p.x)):.1f},{_y(y.place(p.high)):.1f}" for p in item.points]
            lower = [f"{_x(x.place(p.x)):.1f},{_y(y.place(p.low)):.1f}" for p in reversed(item.points)]
            marks.append(f'<polygon points="{" ".join(upper + lower)}" fill="{tint}" opacity="0.12"/>')
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        dash = ' stroke-dasharray="3 3"' if item.is_quiet else ""
        width = 2.4 if item.has_band else 1.3
        marks.append(f'<polyline points="{path}" fill="none" stroke="{tint}" stroke-width="{width}"{dash}/>')
        marks += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6" fill="{tint}"/>' for px, py in places]
        ends.append(_EndLabel(places[-1][1], item.name, tint))
    marks += _end_labels(ends)
    return _figure(marks, HEIGHT)


def dots(rows: Sequence[tuple[str, Sequence[ChartPoint]]], x: Axis, colour: dict[str, str]) -> str:
    """Draw one row for each name: a dot for its value, a whisker for its interval."""
    step, top, left = 19, 8, 116
    height = top + step * len(rows) + 34
    room = WIDTH - left - 20
    marks = []
    for tick, label in zip(x.ticks, x.labels, strict=True):
        px = left + room * x.place(tick)
        marks.append(f'<line x1="{px:.1f}" y1="{top}" x2="{px:.1f}" y2="{height - 34}" class="grid"/>')
        marks.append(f'<text x="{px:.1f}" y="{height - 20}" text-anchor="middle">{label}</text>')
    for i, (name, points) in enumerate(rows):
        py = top + step * (i + 0.5)
        tint = colour.get(name, QUIET)
        marks.append(f'<text x="{left - 10}" y="{py + 3.5:.1f}" text-anchor="end">{escape(name)}</text>')
        for point in points:
            low, mid, high = (left + room * x.place(v) for v in (point.low, point.y, point.high))
            whisker = f'x1="{low:.1f}" y1="{py:.1f}" x2="{high:.1f}" y2="{py:.1f}"'
            marks.append(f'<line {whisker} stroke="{tint}" stroke-width="1.4"/>')
            marks.append(f'<circle cx="{mid:.1f}" cy="{py:.1f}" r="3.4" fill="{tint}"/>')
    middle = left + room / 2
    marks.append(f'<text x="{middle}" y="{height - 4}" text-anchor="middle">{escape(x.title)}</text>')
    return _figure(marks, height)


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    for tick, label in zip(y.ticks, y.labels, strict=True):
        py = _y(y.place(tick))
        yield f'<line x1="{LEFT}" y1="{py:.1f}" x2="{WIDTH - RIGHT}" y2="{py:.1f}" class="grid"/>'
        yield f'<text x="{LEFT - 7}" y="{py + 3.5:.1f}" text-anchor="end">{label}</text>'
    base = HEIGHT - BOTTOM
    yield f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" class="axis"/>'
    for tick, label in zip(x.ticks, x.labels, strict=True):
        px = _x(x.place(tick))
        yield f'<line x1="{px:.1f}" y1="{base}" x2="{px:.1f}" y2="{base + 4}" class="axis"/>'
        yield f'<text x="{px:.1f}" y="{base + 16}" text-anchor="middle">{label}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.title)}</text>'
    up = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'x="12" y="{up}" text-anchor="middle" transform="rotate(-90 12 {up})"'
    yield f"<text {turned}>{escape(y.title)}</text>"


class _EndLabel(NamedTuple):
    y: float
    name: str
    tint: str


def _end_labels(ends: Sequence[_EndLabel]) -> Iterator[str]:
    """Name the lines at their ends, moved apart if they would cover each other."""
    labels = sorted(ends)
    places: list[float] = []
    for label in labels:
        places.append(max(label.y, places[-1] + LABEL_GAP) if places else label.y)
    lowest = float(HEIGHT - BOTTOM)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], lowest)
        lowest = places[i] - LABEL_GAP
    for place, label in zip(places, labels, strict=True):
        at = f'x="{WIDTH - RIGHT + 8}" y="{place + 3.5:.1f}"'
        yield f'<text {at} style="fill:{label.tint}">{escape(label.name)}</text>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT - 6)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _figure(marks: Sequence[str], height: float) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(marks)}</svg>'
