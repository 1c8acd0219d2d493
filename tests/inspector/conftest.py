"""A house with a server, and a browser to visit it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.inspector.server import Server
from tests.inspector.house import House, evil, toured
from tests.inspector.steps import PATIENCE_MS

VIEWPORT = {"width": 1280, "height": 800}
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str:
    """Return the browser's path, or skip."""
    found = os.environ.get("CLEW_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no Chromium on this machine; install one, or name it in CLEW_CHROMIUM")
    return found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with both sessions, made once; tests that change something work on a copy."""
    folder = tmp_path_factory.mktemp("template")
    house = House(folder)
    toured(house.store)
    evil(house.store)
    house.close()
    return folder / "clew.db"


@pytest.fixture(scope="module")
def shared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house that all tests of a module visit."""
    house = House(tmp_path_factory.mktemp("shared"), template)
    yield house
    house.close()


@pytest.fixture
def house(template: Path, tmp_path: Path) -> Iterator[House]:
    """A house of one's own."""
    house = House(tmp_path, template)
    yield house
    house.close()


@pytest.fixture(scope="module")
def server(shared: House) -> Iterator[Server]:
    server = Server.bind(shared.pool)
    with server.running():
        yield server


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = chromium()
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visiting(browser, server: Server, **options) -> Iterator:
    """A page that was let in, in a window of its own; what it complains about fails the test."""
    context = browser.new_context(viewport=options.pop("viewport", VIEWPORT), **options)
    page = context.new_page()
    try:
        with _let_in(page, server):
            yield page
    finally:
        context.close()


@contextmanager
def _let_in(page, server: Server) -> Iterator:
    complaints: list[str] = []
    heard = {
        "pageerror": lambda error: complaints.append(str(error)),
        "console": lambda said: complaints.append(said.text) if said.type == "error" else None,
    }
    for event, listener in heard.items():
        page.on(event, listener)
    page.set_default_timeout(PATIENCE_MS)
    page.goto(server.address())
    page.wait_for_selector(".session")
    yield
    for event, listener in heard.items():
        page.remove_listener(event, listener)
    assert complaints == []


class Tab:
    """A window that tests use one after the other: opening one takes longer than loading a page."""

    def __init__(self, browser) -> None:
        self._context = browser.new_context(viewport=VIEWPORT)
        self._page = None

    @contextmanager
    def visiting(self, server: Server, viewport=VIEWPORT, color_scheme: str = "light") -> Iterator:
        """A page that was let in and knows nothing of the page before."""
        if self._page is None or self._page.is_closed():
            self._page = self._context.new_page()
        page = self._page
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        try:
            with _let_in(page, server):
                yield page
        finally:
            if not page.is_closed():
                page.unroute_all(behavior="ignoreErrors")
                page.evaluate("() => sessionStorage.clear()")
                page.goto("about:blank")
                page.mouse.move(0, 0)


@pytest.fixture(scope="module")
def tab(browser) -> Tab:
    return Tab(browser)


@pytest.fixture
def page(tab: Tab, server: Server):
    """A page of the shared house, for tests that only look."""
    with tab.visiting(server) as page:
        yield page


@pytest.fixture
def own_page(tab: Tab, house: House):
    """A page of a house of one's own, for tests that change something."""
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        yield page
