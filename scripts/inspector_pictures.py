"""Take the pictures of the inspector that the docs show, from a real session, in a real browser.

    uv run python scripts/inspector_pictures.py [FOLDER]

The session is ``examples/sphinx-9229.traj.json.zst``, compacted as a host with a small window would. Needs
Chromium (``CLEW_CHROMIUM``, or on the path) and Playwright.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

from clew.inspector.server import Server
from clew.inspector.session_pool import PoolOptions, SessionPool
from clew.log.store import SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.notes import Author, Category, Draft, Notebook, NoteSource
from clew.message import Trust
from clew.session import Session
from clew.transcripts import Start, open_source, read
from clew.transcripts.transcript import collect

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"
FOLDER = ROOT / "docs" / "guides" / "inspector"
NAME = "mini-swe-agent:sphinx-9229"
MODEL, WINDOW = "claude-sonnet-4-5", 40_000
SIZE = {"width": 1280, "height": 800}
SETTLED_MS = 700
Set = Callable[[Page], None]


def compacted(store: SqliteStore) -> None:
    """Add the example as a host would, and a few notes."""
    (found,) = collect(read(open_source(str(EXAMPLE))), Start(NAME, "unknown"))
    session = Session.open(NAME, store, model=MODEL, window=WINDOW)
    for entry in found.full_entries():
        session.add(entry.message)
        session.fit(auto=True)
    notebook = Notebook(store, "local", NAME)
    notebook.add(Draft(key="tests", text="Run the tests of sphinx with tox -e py39.", tags=("tests",)))
    agent = NoteSource(Author.AGENT, NAME, ("m40",))
    convention = Category.PROJECT_CONVENTION
    notebook.add(
        Draft(
            key="docs",
            text="Build docs with make html.",
            category=convention,
            source=agent,
            trust=Trust.UNTRUSTED,
        )
    )
    notebook.add(
        Draft(
            key="autodoc",
            text="Aliases go through GenericAliasMixin.",
            category=convention,
            source=agent,
            trust=Trust.ASSISTANT,
        )
    )


# What each picture shows -----------------------------------------------------------------------------


def nothing(_page: Page) -> None:
    """Show the view as it opens."""


def a_claim(page: Page) -> None:
    """Choose a line of the digest."""
    page.locator(".claim", has_text="sphinx-quickstart").first.click()
    page.wait_for_selector(".sources mark")


def a_preview(page: Page) -> None:
    """Ask what a compaction would lose."""
    page.get_by_role("button", name="Compact…").click()
    page.get_by_label("Down to, in tokens").fill("9000")
    page.get_by_role("button", name="Preview").click()
    page.wait_for_selector(".preview .leaves")


def a_block(page: Page) -> None:
    """Point at a block of the map."""
    page.locator(".blocks .block").nth(1).focus()


def a_question(page: Page) -> None:
    """Recall something that left the view."""
    page.get_by_label("what to recall").fill("which method documents a GenericAlias?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits .score")


def a_turn(page: Page) -> None:
    """Ask the offline model."""
    page.get_by_label("your message").fill("Which files must I not modify?")
    page.keyboard.press("Enter")
    page.wait_for_selector("article[data-number='288']")


VIEWS: tuple[tuple[str, str, str, Set], ...] = (
    ("transcript", "m47", "article.here", nothing),
    ("context", "context", ".blocks", a_block),
    ("digests", "digests", ".claim", a_claim),
    ("preview", "digests", ".claim", a_preview),
    ("diff", "diff/{seq}", ".group", nothing),
    ("timeline", "timeline", ".plot svg", nothing),
    ("ledger", "ledger", ".pins", nothing),
    ("memory", "memory", ".notes", a_question),
    ("chat", "chat", ".speak", a_turn),
)


IN_DARK = {"digests", "timeline"}
"""The views that are shown in dark as well."""


def take(browser: Browser, server: Server, folder: Path, seq: int) -> None:
    """Take every picture in light, and some in dark."""
    for scheme, wanted in (("light", {name for name, *_ in VIEWS}), ("dark", IN_DARK)):
        context = browser.new_context(viewport=SIZE, color_scheme=scheme, locale="en-GB", timezone_id="UTC")  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(server.address())
        page.get_by_text(re.compile("[0-9] messages")).wait_for()
        if scheme == "light":
            page.screenshot(path=folder / "sessions-light.png")
        for name, place, ready, set_up in (view for view in VIEWS if view[0] in wanted):
            page.evaluate(
                "hash => { location.hash = hash }", f"#/s/{quote(NAME, safe='')}/{place.format(seq=seq)}"
            )
            page.wait_for_selector(ready)
            set_up(page)
            page.locator("main", has_text="Reading…").wait_for(state="detached")
            page.wait_for_timeout(SETTLED_MS)  # the page follows its session, so its network is never idle
            page.screenshot(path=folder / f"{name}-{scheme}.png")
        context.close()


def main(arguments: list[str]) -> None:
    """Make the session, serve it, and take the pictures."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CLEW_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "clew.db"
        with SqliteStore(path) as store, SqliteIndex(path) as index:
            compacted(store)
            seq = Session.open(NAME, store).trace()[-1].seq
            server = Server.bind(SessionPool(store, "local", index, PoolOptions(MODEL, WINDOW)))
            with server.running(), sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                take(browser, server, folder, seq)
                browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
