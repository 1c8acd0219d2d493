"""Export a session as a single HTML file: digests, growth, transcript; no script, secrets masked."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.errors import InputError
from clew.inspector import history, timeline, transcript
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.secrets import mask

PAGE = 100
"""Messages read at a time, so that memory does not grow with the session."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Only inline style is allowed: no script runs and nothing is loaded."""
KEY = secrets.token_bytes(32)
"""The key of masks: new in each process, so that masks of two files cannot be compared."""
PRIVATE = 0o600
"""The mode of the written file: a session may hold what only its owner should read."""
LISTED = 40
"""Most dropped items that are listed for a compaction."""
TRUST_SIGNS = {
    "system": "▣",
    "developer": "◆",
    "user": "●",
    "assistant": "○",
    "semi-trusted": "◇",
    "untrusted": "△",
}


def export_session(pool: SessionPool, name: str, path: Path) -> int:
    """Write a session as one HTML file and return its size; an existing file is an ``InputError``."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise InputError(f"{path} already exists", "choose another name") from None
    with (
        pool.open(name) as handle,
        os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as out,
    ):
        for piece in html_pieces(handle):
            out.write(piece)
    return path.stat().st_size


def html_pieces(handle: OpenSession) -> Iterator[str]:
    """Yield the HTML in pieces, so that memory does not grow with the session."""
    style = files("clew.inspector").joinpath("static/story.css").read_text(encoding="utf-8")
    name = _safe(handle.ctx.session)
    past = history.compactions_of(handle)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{name}</title><style>{style}</style></head><body><main>"
        f"<h1>{name}</h1><p class=quiet>{handle.message_index.messages:,} messages, {len(past)} compactions. "
        "Written by clew; what looked like a secret is masked.</p>"
    )
    yield growth_picture(timeline.timeline(handle))
    for compaction in past:
        yield from _compaction(history.compaction(handle, compaction.name))
    yield "<h2>Transcript</h2>"
    yield from _transcript(handle)
    yield "</main></body></html>\n"


def _safe(text: object) -> str:
    """Return a text of the session, masked and escaped for HTML."""
    return escape(mask(str(text), KEY).text)


# Compactions -----------------------------------------------------------------------------------------


def _compaction(item: dict[str, Any]) -> Iterator[str]:
    state = "undone" if item["undone"] else "in force"
    yield (
        f"<section id={escape(item['name'])}><h2>{escape(item['name'])} <small>{state}, at "
        f"<a href=#m{item['at']}>m{item['at']}</a></small></h2>"
        f"<p>{item['before']:,} → {item['after']:,} tokens. {_safe(item['reason'])}</p>"
    )
    if item["rules"]:
        yield f"<h3>Rules, word for word</h3><ul>{''.join(map(_rule, item['rules']))}</ul>"
    if item["lines"]:
        lines = "".join(map(_line, item["lines"]))
        summary = f"<summary>{len(item['lines'])} lines of the digest</summary>"
        yield f"<details>{summary}<ul>{lines}</ul></details>"
    yield _report(item["report"])
    yield "</section>"


def _rule(rule: dict[str, Any]) -> str:
    return f"<li><q>{_safe(rule['quote'])}</q> {_turns([rule['source']])}</li>"


def _line(line: dict[str, Any]) -> str:
    text = _safe(line["text"])
    sentence = f"<q>{text}</q>" if line["verbatim"] else text
    return (
        f"<li><b>{escape(line['kind'])}</b> {sentence} {_trust(line['trust'])} {_turns(line['sources'])}</li>"
    )


def _turns(ids: list[str]) -> str:
    return " ".join(f'<a class=turn href="#{escape(id_)}">{escape(id_)}</a>' for id_ in ids)


def _trust(label: str) -> str:
    return f'<span class="trust {escape(label)}">{TRUST_SIGNS.get(label, "?")} {escape(label)}</span>'


def _report(report: dict[str, Any]) -> str:
    kept = "".join(
        f"<tr><td>{escape(item['matter'])}</td><td>{item['visible']:,} of {item['before']:,}</td>"
        f"<td>{item['reachable']:,}</td><td>{item['gone']:,}</td></tr>"
        for item in report["kept"]
    )
    lost = "".join(
        f"<li>{escape(item['matter'])} {_safe(item['text'])} {_turns([item['source']])}</li>"
        for item in report["lost"][:LISTED]
    )
    verdict = "✓ every check passed" if report["accepted"] else "! the checks had objections"
    head = "<tr><th></th><th>in view</th><th>one step away</th><th>only in the log</th></tr>"
    left = f"<details><summary>What left the view</summary><ul>{lost}</ul></details>" if lost else ""
    return f"<p>{verdict}</p><table>{head}{kept}</table>{left}"


# The transcript --------------------------------------------------------------------------------------


def _transcript(handle: OpenSession) -> Iterator[str]:
    for first in range(1, handle.message_index.messages + 1, PAGE):
        page: Any = transcript.page(handle, first, PAGE, whole=True)
        yield from (_marker(row) if "event" in row else _message(row) for row in page["rows"])


def _marker(row: dict[str, Any]) -> str:
    names = (row["about"] or {}).get("names", [])
    links = " ".join(f'<a href="#{escape(name)}">≡ {escape(name)}</a>' for name in names)
    return f"<p class=marker>{escape(row['event'])}: {_safe(row['text'])} {links}</p>"


def _message(row: dict[str, Any]) -> str:
    number, role = row["number"], escape(row["role"])
    parts = "".join(map(_part, row["parts"]))
    return (
        f'<article id="m{number}" class="{role}"><header>{_turns([f"m{number}"])} <b>{role}</b> '
        f"{_trust(row['trust'])} <span class=quiet>{row['tokens']:,} tokens</span></header>{parts}</article>"
    )


def _part(part: dict[str, Any]) -> str:
    text = _safe(part["text"])
    if part["kind"] == "text":
        return f"<div class=words>{text}</div>"
    title = _safe(" ".join(filter(None, (part["kind"], part["heading"]))))
    return f"<details><summary>{title}, {len(part['text']):,} characters</summary><pre>{text}</pre></details>"


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
