"""A session of 100,000 messages: opened anywhere at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from clew.inspector import transcript
from clew.inspector.server import Server
from tests.inspector.conftest import visiting
from tests.inspector.house import House, long
from tests.inspector.test_browser import go, in_sight, until

MESSAGES = 100_000
PAINT_S = 0.2

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory):
    house = House(tmp_path_factory.mktemp("large"))
    long(house.store, MESSAGES)
    yield house
    house.close()


def test_any_page_of_a_long_session_is_read_in_a_moment(large: House):
    with large.shelf.book("long") as book:
        transcript.page(book, 1, 40)  # what is read once is read
        started = time.perf_counter()
        for first in (1, 50_000, 99_960):
            assert len(transcript.page(book, first, 40)["rows"]) == 40
        assert time.perf_counter() - started < 3 * PAINT_S


def test_a_reader_is_anywhere_in_a_long_session_at_once(browser, large: House, tmp_path: Path):
    server = Server.bind(large.shelf)
    with server.running(), visiting(browser, server) as page:
        go(page, "m73210", session="long")
        page.wait_for_selector("article.here[data-number='73210']")
        page.keyboard.press("Shift+G")
        page.wait_for_selector(f"article[data-number='{MESSAGES}']")
        page.get_by_label("go to message").fill("50000")
        page.keyboard.press("Enter")
        page.wait_for_selector("article[data-number='50000']")
        until(page, "() => document.querySelector('.scrubber').value > 49990")
        assert 50_000 in in_sight(page)
        assert page.locator(".pages article").count() <= 200
