"""What a reader does in the tests: goes somewhere, waits, looks."""

from __future__ import annotations

import re
from urllib.parse import quote

from tests.inspector.house import TOUR

PATIENCE_MS = 60_000
"""How long a test waits for what must come. Nothing here measures time, and the computer may be slow."""
DRAWN = {"transcript": ".pages article", "timeline": ".plot svg", "chat": ".talk article"}
"""What is there once a view has its answer; elsewhere, all but the title waits for it."""


def go(page, *place: str, session: str = TOUR) -> None:
    """Go to a place of a session by its address."""
    hash_ = "/".join(["#", "s", quote(session, safe=""), *place])
    page.evaluate("hash => { location.hash = hash }", hash_)


def until(page, condition: str, arg: object = None) -> None:
    """Wait, frame by frame, until a function of the page says yes; the page's policy allows no other way."""
    page.evaluate(
        f"""async arg => {{
            const met = {condition}, end = performance.now() + {PATIENCE_MS};
            while (!met(arg)) {{
                if (performance.now() > end) throw new Error("it never came true");
                await new Promise(requestAnimationFrame);
            }}
        }}""",
        arg,
    )


def settle(page) -> None:
    """Wait until what came in is drawn, and what follows from that has begun."""
    page.evaluate(
        """async () => {
            for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
        }"""
    )


def read(page, view: str) -> None:
    """Wait until a view is the one that is shown, and has its answer."""
    name = "transcript" if re.fullmatch(r"m\d+", view) else view
    page.wait_for_selector(f"main.view-{name} {DRAWN.get(name, 'h2')}")
    until(page, "() => !document.querySelector('main').innerText.includes('Reading…')")


def in_sight(page) -> list[int]:
    """Return the numbers of the messages that are in sight."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".pages article")].filter(one => {
            const box = document.querySelector(".pages").getBoundingClientRect();
            const own = one.getBoundingClientRect();
            return own.bottom > box.top + 4 && own.top < box.bottom;
        }).map(one => Number(one.dataset.number))"""
    )


def in_document(page) -> list[int]:
    """Return the numbers of the messages that are in the document."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.pages article')].map(one => Number(one.dataset.number))"
    )


def scroll_on(page) -> None:
    """Scroll by less than a screen; at the end of what is drawn, wait until more is."""
    last = in_document(page)[-1]
    moved = page.evaluate(
        """() => {
            const box = document.querySelector('.pages'), before = box.scrollTop;
            box.scrollTop += 0.8 * box.clientHeight;
            return box.scrollTop !== before;
        }"""
    )
    if not moved:
        more = "last => [...document.querySelectorAll('.pages article')].at(-1).dataset.number > last"
        until(page, more, last)
    settle(page)
