"""A session's story as one HTML file: no script, nothing to fetch, made to be kept or shared.

Every word is escaped, and what looks like a secret is masked: a file that is shared goes far.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.errors import InputError
from clew.inspector import history, timeline, transcript
from clew.inspector.picture import growth
from clew.inspector.shelf import Book, Shelf
from clew.secrets import mask

PAGE = 100
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The file's own style, and nothing else: no script runs in it, nothing is fetched."""
KEY = secrets.token_bytes(32)
"""For masks: new in each process, so that those of two files cannot be compared."""
PRIVATE = 0o600
LISTED = 40
"""Things that left with a compaction which are written out."""
SIGNS = {
    "system": "▣",
    "developer": "◆",
    "user": "●",
    "assistant": "○",
    "semi-trusted": "◇",
    "untrusted": "△",
}


def write_story(shelf: Shelf, name: str, path: Path) -> int:
    """Write a session's story; return its bytes. A file that is there is never overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise InputError(f"{path} is there already", "choose another name") from None
    with shelf.book(name) as book, os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
        for piece in story(book):
            out.write(piece)
    return path.stat().st_size


def story(book: Book) -> Iterator[str]:
    """Yield the page, piece by piece: a session of any length is written with the memory of one page."""
    style = files("clew.inspector").joinpath("static/story.css").read_text(encoding="utf-8")
    name = _safe(book.ctx.session)
    past = history.past_of(book)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{name}</title><style>{style}</style></head><body><main>"
        f"<h1>{name}</h1><p class=quiet>{book.places.messages:,} messages, {len(past)} compactions. "
        "Told by clew; what looked like a secret is masked.</p>"
    )
    yield growth(timeline.timeline(book))
    for one in past:
        yield from _compaction(history.whole(book, one.name))
    yield "<h2>Transcript</h2>"
    yield from _transcript(book)
    yield "</main></body></html>\n"


def _safe(text: object) -> str:
    """Return a text of the session as it may stand in the file."""
    return escape(mask(str(text), KEY).text)


# Compactions -----------------------------------------------------------------------------------------


def _compaction(one: dict[str, Any]) -> Iterator[str]:
    state = "undone" if one["undone"] else "in force"
    yield (
        f"<section id={escape(one['name'])}><h2>{escape(one['name'])} <small>{state}, at "
        f"<a href=#m{one['at']}>m{one['at']}</a></small></h2>"
        f"<p>{one['before']:,} → {one['after']:,} tokens. {_safe(one['reason'])}</p>"
    )
    if one["rules"]:
        yield f"<h3>Rules, word for word</h3><ul>{''.join(map(_rule, one['rules']))}</ul>"
    if one["lines"]:
        lines = "".join(map(_line, one["lines"]))
        yield f"<details><summary>{len(one['lines'])} lines of the digest</summary><ul>{lines}</ul></details>"
    yield _report(one["report"])
    yield "</section>"


def _rule(rule: dict[str, Any]) -> str:
    return f"<li><q>{_safe(rule['quote'])}</q> {_turns([rule['source']])}</li>"


def _line(line: dict[str, Any]) -> str:
    text = _safe(line["text"])
    said = f"<q>{text}</q>" if line["verbatim"] else text
    return f"<li><b>{escape(line['kind'])}</b> {said} {_trust(line['trust'])} {_turns(line['sources'])}</li>"


def _turns(ids: list[str]) -> str:
    return " ".join(f'<a class=turn href="#{escape(one)}">{escape(one)}</a>' for one in ids)


def _trust(label: str) -> str:
    return f'<span class="trust {escape(label)}">{SIGNS.get(label, "?")} {escape(label)}</span>'


def _report(report: dict[str, Any]) -> str:
    kept = "".join(
        f"<tr><td>{escape(one['matter'])}</td><td>{one['stand']:,} of {one['before']:,}</td>"
        f"<td>{one['reachable']:,}</td><td>{one['gone']:,}</td></tr>"
        for one in report["kept"]
    )
    lost = "".join(
        f"<li>{escape(one['matter'])} {_safe(one['text'])} {_turns([one['source']])}</li>"
        for one in report["lost"][:LISTED]
    )
    verdict = "✓ every check passed" if report["accepted"] else "! the checks had objections"
    head = "<tr><th></th><th>stands</th><th>one step away</th><th>only in the log</th></tr>"
    left = f"<details><summary>What left</summary><ul>{lost}</ul></details>" if lost else ""
    return f"<p>{verdict}</p><table>{head}{kept}</table>{left}"


# The transcript --------------------------------------------------------------------------------------


def _transcript(book: Book) -> Iterator[str]:
    for first in range(1, book.places.messages + 1, PAGE):
        page: Any = transcript.page(book, first, PAGE, whole=True)
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
