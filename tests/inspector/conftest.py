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
    """A page that was let in; what it complains about fails the test."""
    context = browser.new_context(viewport=options.pop("viewport", {"width": 1280, "height": 800}), **options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(server.address())
    page.wait_for_selector(".session")
    try:
        yield page
    finally:
        context.close()
    assert complaints == []


@pytest.fixture
def page(browser, server: Server):
    """A page of the shared house, for tests that only look."""
    with visiting(browser, server) as page:
        yield page


@pytest.fixture
def own_page(browser, house: House):
    """A page of a house of one's own, for tests that change something."""
    server = Server.bind(house.pool)
    with server.running(), visiting(browser, server) as page:
        yield page
