"""A session of 100,000 messages: opened anywhere at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.inspector import transcript
from clew.inspector.server import Server
from tests.inspector.conftest import visiting
from tests.inspector.house import Counting, House, long
from tests.inspector.steps import go, in_document, in_sight, until

MESSAGES = 100_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory):
    house = House(tmp_path_factory.mktemp("large"))
    long(house.store, MESSAGES)
    yield house
    house.close()


@pytest.mark.parametrize("first", [1, 50_000, 99_961])
def test_any_page_of_a_long_session_is_all_that_is_read_for_it(large: House, first: int):
    with large.pool.open("long") as handle:
        handle.store = read = Counting(large.store)
        assert len(transcript.page(handle, first, 40)["rows"]) == 40
        handle.store = large.store
    assert read.events == 40


def test_a_reader_is_anywhere_in_a_long_session_at_once(browser, large: House, tmp_path: Path):
    server = Server.bind(large.pool)
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
        assert len(in_document(page)) <= 200
