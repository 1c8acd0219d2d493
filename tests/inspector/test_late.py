"""Answers that come late: what a reader does meanwhile stands, and nothing is drawn where it is not due."""

from __future__ import annotations

import pytest

from clew.inspector import timeline
from clew.inspector.server import Server
from clew.message import Role, text_message
from clew.session import Session
from tests.inspector.conftest import Tab
from tests.inspector.house import TOUR, Asking, House
from tests.inspector.steps import PATIENCE_MS, go, in_document, in_sight, read, settle, until

MOST_SETTLED = 1_000
"""How often to look whether something was asked for."""


class Held:
    """Answers to requests of the page that name something: they come when the test says so."""

    def __init__(self, page, part: str, *, stale: bool = True) -> None:
        """Hold them back; stale ones say what was so when they were asked for."""
        self._page, self._part, self._stale = page, part, stale
        self._held: list | None = []
        page.route(self._is_meant, self._hold)

    def _is_meant(self, url: str) -> bool:
        return self._part in url

    def _hold(self, route) -> None:
        answer = route.fetch() if self._stale else None
        if self._held is None:
            self._pass(route, answer)
        else:
            self._held.append((route, answer))

    def _pass(self, route, answer) -> None:
        if answer:
            route.fulfill(response=answer)
        else:
            route.continue_()

    def wait(self) -> None:
        """Wait until one was asked for."""
        for _ in range(MOST_SETTLED):
            if self._held:
                return
            settle(self._page)
        raise AssertionError(f"nobody asked for {self._part}")

    def come(self) -> None:
        """Let them come, and be drawn."""
        self.wait()
        held, self._held = self._held, None
        for route, answer in held:
            with self._page.expect_event(
                "requestfinished", lambda request, own=route.request: request == own
            ):
                self._pass(route, answer)
        settle(self._page)


# The transcript --------------------------------------------------------------------------------------


def test_a_number_being_typed_stands_while_pages_come_and_go(page):
    go(page, "m57")
    page.wait_for_selector("article.here[data-number='57']")
    place = page.locator(".scrubber").input_value()
    page.get_by_label("go to message").fill("3")
    page.evaluate("() => { document.querySelector('.pages').scrollTop += 900 }")
    until(page, "place => document.querySelector('.scrubber').value !== place", place)
    page.get_by_label("go to message").press("Enter")
    until(page, "() => document.querySelector('.scrubber').value < 5")
    assert 3 in in_sight(page)


def test_a_page_that_arrives_late_is_not_drawn_where_the_reader_went_meanwhile(page):
    held = Held(page, "&first=80&count=")
    go(page, "m57")
    page.wait_for_selector("article.here[data-number='57']")
    page.evaluate("() => { const box = document.querySelector('.pages'); box.scrollTop = box.scrollHeight }")
    held.wait()
    page.get_by_label("go to message").fill("1")
    page.get_by_label("go to message").press("Enter")
    page.wait_for_selector("article[data-number='1']")
    held.come()
    numbers = in_document(page)
    assert numbers == list(range(1, len(numbers) + 1))


def test_what_is_said_while_the_last_page_is_on_its_way_is_drawn_too(own_page, house: House):
    page = own_page
    session = Session.open(TOUR, house.store)
    told = house.store.head(session.ctx).seq + 1
    page.route("**/api/follow?*", lambda route: route.fulfill(body=f"data: {told}\n\n"))
    held = Held(page, "/api/page?")
    with page.expect_response("**/api/follow?*"):
        go(page, "m126")
    held.wait()
    session.add(text_message(Role.USER, "said meanwhile"))
    settle(page)
    held.come()
    assert "said meanwhile" in page.locator("article[data-number='127']").inner_text()


def search(page, words: str) -> None:
    box = page.get_by_label("search the transcript")
    box.fill(words)
    box.press("Enter")


def searching(page) -> Held:
    """Begin a search whose answer is held back."""
    go(page, "m1")
    page.wait_for_selector("article[data-number='1']")
    held = Held(page, "q=total_33")
    search(page, "total_33")
    held.wait()
    return held


def test_what_an_earlier_search_found_is_not_shown_for_a_later_one(page):
    held = searching(page)
    search(page, "round_half_up")
    page.get_by_text("with “round_half_up”").wait_for()
    held.come()
    assert "with “round_half_up”" in page.locator(".found [role=status]").inner_text()


def test_a_search_that_was_given_up_does_not_come_back(page):
    held = searching(page)
    search(page, "m57")
    page.wait_for_selector("article[data-number='57']")
    held.come()
    assert page.locator(".found").count() == 0


# The other views -------------------------------------------------------------------------------------


def test_a_slider_that_is_dragged_on_stands_when_an_earlier_map_arrives(page):
    go(page, "context")
    slider = page.locator("#time")
    held = Held(page, "&seq=10")
    slider.fill("10")
    held.wait()
    with page.expect_event("requestfinished", lambda request: "&seq=20" in request.url):
        slider.fill("20")
        held.come()
    settle(page)
    assert page.locator(".time label").inner_text() == "As it was after event 20"
    assert slider.input_value() == "20"


def test_a_line_that_is_looked_at_stands_when_another_digest_becomes_the_latest(own_page, house: House):
    page = own_page
    go(page, "digests")
    page.locator(".claim").first.click()
    page.wait_for_selector(".sources mark")
    chosen = page.locator(".claim.chosen").inner_text()
    Session.open(TOUR, house.store).undo()
    page.wait_for_selector(".node.undone")
    settle(page)
    assert page.locator(".claim.chosen").inner_text() == chosen


@pytest.mark.parametrize(
    ("view", "label", "told"), [("ledger", "a new rule", "Pinned as"), ("memory", "a new note", "is kept")]
)
def test_what_is_typed_while_the_words_before_are_on_their_way_stands(
    own_page, view: str, label: str, told: str
):
    page = own_page
    go(page, view)
    box = page.get_by_label(label)
    held = Held(page, "/api/act", stale=False)
    box.fill("First things first.")
    box.press("Enter")
    held.wait()
    box.fill("Second things second.")
    held.come()
    page.get_by_text(told).wait_for()
    assert box.input_value() == "Second things second."


# The chat --------------------------------------------------------------------------------------------


def times_said(page, words: str) -> int:
    return page.locator(".talk").inner_text().count(words)


def test_what_is_said_in_a_chat_is_drawn_once_while_its_turn_is_under_way(tab: Tab, house: House):
    server = Server.bind(house.pool, model_factory=lambda _session: Asking())
    with server.running(), tab.visiting(server) as page:
        go(page, "chat")
        page.wait_for_selector("article[data-number='126']")
        held = Held(page, "/api/size?", stale=False)
        page.get_by_label("your message").fill("Set rules.")
        page.keyboard.press("Enter")
        page.get_by_role("alertdialog").wait_for()
        with page.expect_event("requestfinished", lambda request: "/api/page?" in request.url):
            held.come()  # the log has the words by now
        settle(page)
        assert times_said(page, "Set rules.") == 1


def test_what_was_said_in_a_chat_stays_until_the_log_shows_it(own_page):
    page = own_page
    go(page, "chat")
    page.wait_for_selector("article[data-number='126']")
    held = Held(page, "/api/page?")
    words = "What must I never modify?"
    page.get_by_label("your message").fill(words)
    page.keyboard.press("Enter")
    page.locator(".talk [aria-busy]").wait_for()
    page.get_by_role("button", name="Send").wait_for()
    assert times_said(page, words) == 1
    held.come()
    page.wait_for_selector("article[data-number='128']")
    assert times_said(page, words) == 1


SLOW_MS = 600
"""How long every answer takes in the test of what is shown meanwhile: twice what may be blank."""
BLANK_MS = 300
WATCH = f"""
    const real = window.fetch;
    window.fetch = async (...given) => {{
        await new Promise((go) => setTimeout(go, {SLOW_MS}));
        return real(...given);
    }};
    window.blank = {{ longest: 0, since: null, frames: 0 }};
    const alive = () => {{
        const root = document.querySelector("main") ?? document.body;
        if (!root) return false;
        if ([...root.querySelectorAll("[role=status]")].some((one) => one.innerText.trim())) return true;
        const own = [...root.children].filter((one) => !one.matches("header, nav, a.skip"));
        return own.some((one) => one.innerText.trim() || one.querySelector("svg"));
    }};
    const watch = (now) => {{
        const seen = window.blank;
        seen.frames += 1;
        seen.since = alive() ? null : (seen.since ?? now);
        if (seen.since !== null) seen.longest = Math.max(seen.longest, now - seen.since);
        requestAnimationFrame(watch);
    }};
    requestAnimationFrame(watch);
"""
"""Makes every answer late, and measures frame by frame how long a page shows neither content nor a sign."""


def test_nothing_is_blank_for_long_without_a_sign_of_life(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(server.address())
    page.wait_for_selector(".session")
    longest = {"sessions": page.evaluate("window.blank.longest")}
    seq = next(event["seq"] for event in _events(server) if event["kind"] == "compaction")
    for view in ("transcript", "context", "digests", f"diff/{seq}", "timeline", "ledger", "memory", "chat"):
        page.evaluate("() => { Object.assign(window.blank, { longest: 0, since: null, frames: 0 }) }")
        go(page, *view.split("/"))
        page.wait_for_timeout(3 * SLOW_MS)
        read(page, view.partition("/")[0])
        assert page.evaluate("window.blank.frames") > 10
        longest[view] = page.evaluate("window.blank.longest")
    context.close()
    assert max(longest.values()) < BLANK_MS, longest


def _events(server: Server) -> list[dict]:
    with server.pool.open(TOUR) as handle:
        return timeline.timeline(handle)["events"]
