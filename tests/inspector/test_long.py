"""A session of many thousand messages: opened anywhere at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.inspector import transcript
from clew.inspector.server import Server
from tests.conftest import tries
from tests.inspector.conftest import visiting
from tests.inspector.house import Counting, House, long
from tests.inspector.steps import go, in_document, in_sight, until

MESSAGES = tries(20_000, 100_000)
MIDDLE, FAR = MESSAGES // 2, MESSAGES * 7 // 10

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory):
    house = House(tmp_path_factory.mktemp("large"))
    long(house.store, MESSAGES)
    yield house
    house.close()


@pytest.mark.parametrize("first", [1, MIDDLE, MESSAGES - 39])
def test_any_page_of_a_long_session_is_all_that_is_read_for_it(large: House, first: int):
    with large.pool.open("long") as handle:
        handle.store = read = Counting(large.store)
        assert len(transcript.page(handle, first, 40)["rows"]) == 40
        handle.store = large.store
    assert read.events == 40


def test_a_reader_is_anywhere_in_a_long_session_at_once(browser, large: House, tmp_path: Path):
    server = Server.bind(large.pool)
    with server.running(), visiting(browser, server) as page:
        go(page, f"m{FAR}", session="long")
        page.wait_for_selector(f"article.here[data-number='{FAR}']")
        page.keyboard.press("Shift+G")
        page.wait_for_selector(f"article[data-number='{MESSAGES}']")
        page.get_by_label("go to message").fill(str(MIDDLE))
        page.keyboard.press("Enter")
        page.wait_for_selector(f"article[data-number='{MIDDLE}']")
        until(page, f"() => document.querySelector('.scrubber').value > {MIDDLE - 10}")
        assert MIDDLE in in_sight(page)
        assert len(in_document(page)) <= 200
