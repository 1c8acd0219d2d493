"""The flows that the pages are for, in a real browser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.inspector.context import MOST_BLOCKS
from clew.inspector.server import Server
from clew.inspector.session_pool import PoolOptions
from clew.message import Message, Role, ToolCall, Usage, text_message
from clew.proxy.stats import Stats
from clew.session import Session
from tests.inspector.conftest import Tab, visiting
from tests.inspector.house import EVIL, MODEL, TOUR, WINDOW, Asking, House, long
from tests.inspector.steps import go, in_document, in_sight, read, scroll_on, until
from tests.session.talk import RULE

VIEWS = ("m1", "context", "digests", "timeline", "ledger", "memory", "chat")


# Looking ---------------------------------------------------------------------------------------------


def test_the_list_leads_to_a_session_and_the_address_has_no_token(page):
    assert "token" not in page.url
    assert page.locator(".session").count() == 2
    page.get_by_text(TOUR).click()
    page.wait_for_selector("article[data-number='1']")
    assert page.locator(".session-name").inner_text() == TOUR


def test_a_deep_link_leads_to_its_message(page):
    go(page, "m57")
    page.wait_for_selector("article.here[data-number='57']")
    assert in_sight(page)[0] in (56, 57)


def test_a_reader_scrolls_through_a_whole_session_with_few_messages_in_the_document(tab: Tab, house: House):
    long(house.store, 300)
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        go(page, "m1", session="long")
        page.wait_for_selector("article[data-number='1']")
        seen, most = set(in_sight(page)), 0
        while 300 not in seen:
            scroll_on(page)
            seen.update(in_sight(page))
            most = max(most, len(in_document(page)))
    assert seen == set(range(1, 301))
    assert most <= 200


@pytest.mark.parametrize("width", [390, 900])
def test_on_a_narrow_screen_a_transcript_stays_where_it_opened(browser, house: House, width: int):
    long(house.store, 400)
    server = Server.bind(house.pool)
    with server.running(), visiting(browser, server, viewport={"width": width, "height": 800}) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/api/page" in request.url else None)
        go(page, "m1", session="long")
        page.wait_for_selector("article[data-number='1']")
        scroll_on(page)
        assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight + 1")
        assert in_document(page)[0] == 1
        assert len(in_document(page)) < 100  # the list scrolls inside the screen, so it needs few pages
        assert len(asked) < 4


def test_what_a_reader_opened_stays_open_while_pages_come_and_go(page):
    go(page, "m57")
    page.wait_for_selector("article.here[data-number='57']")
    page.evaluate("() => { document.querySelector('article.here').witness = true }")
    page.evaluate("() => { document.querySelector('.pages').scrollTop = 0 }")
    page.wait_for_selector("article[data-number='1']", state="attached")
    assert page.evaluate("() => document.querySelector('article.here').witness") is True


def test_what_left_the_view_is_marked_and_compactions_are_told_in_the_transcript(page):
    go(page, "m1")
    page.wait_for_selector(".visibility-left")
    assert page.locator("article[data-number='4'] .visibility").inner_text() == "○ not in view"
    go(page, "m126")
    page.wait_for_selector("article.here[data-number='126']")
    assert "compacted here" in page.locator(".marker-compaction").last.inner_text()


def test_search_finds_words_and_leads_there(page):
    go(page, "m1")
    page.wait_for_selector("article[data-number='1']")
    page.keyboard.press("/")
    page.keyboard.type("total_33")
    page.keyboard.press("Enter")
    number = int(page.locator(".found li strong").first.inner_text()[1:])
    page.locator(".found li button").first.click()
    page.wait_for_selector(f"article[data-number='{number}'] mark")
    assert number in in_sight(page)


def test_a_message_that_is_not_there_is_said_and_old_results_go(page):
    go(page, "m1")
    page.wait_for_selector("article[data-number='1']")
    box = page.get_by_label("search the transcript")
    box.fill("total_33")
    box.press("Enter")
    page.wait_for_selector(".found li")
    box.fill("m9999")
    box.press("Enter")
    assert "There is no such message: there are 126." in page.locator(".found .problem").inner_text()
    assert page.locator(".found li").count() == 0
    box.fill("m57")
    box.press("Enter")
    page.wait_for_selector("article[data-number='57']")
    page.wait_for_selector(".found", state="detached")


def test_the_totals_of_a_long_session_say_what_they_leave_out(tab: Tab, house: House):
    long(house.store, MOST_BLOCKS + 50)
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        go(page, "context", session="long")
        told = page.locator(".fill .big").inner_text()
    assert "in the last 4,000 messages; 50 earlier ones are not counted" in " ".join(told.split())


def test_the_dashed_marks_of_the_window_are_explained(page):
    go(page, "context")
    page.wait_for_selector(".bar .mark")
    told = page.locator(".fill .legend li").all_inner_texts()
    assert [one.split(", ", 1)[1] for one in told] == ["at which clew compacts", "at which clew warns"]
    assert page.locator(".bar .mark").count() == len(told)


def test_the_slider_shows_what_the_model_saw_at_any_time(page):
    go(page, "context")
    now = page.locator(".fill .big strong").inner_text()
    assert page.locator(".blocks .block").count() > 5
    page.locator("#time").fill("10")
    page.wait_for_url("**/context/10")
    until(page, "now => document.querySelector('.fill .big strong').innerText !== now", now)
    assert page.locator(".time label").inner_text() == "As it was after event 10"
    assert page.locator(".regions").inner_text().count("digest") == 0


def test_before_and_after_a_compaction_block_by_block(page):
    go(page, "digests")
    page.get_by_role("link", name="Before and after").click()
    page.wait_for_selector(".group")
    assert "condensed into" in page.locator(".does-condensed summary").first.inner_text()
    assert "none left the log" in page.locator(".saved").inner_text()


def test_a_line_of_a_digest_shows_the_very_words_it_comes_from(page):
    go(page, "digests")
    page.locator(".claim", has_text=RULE).first.click()
    assert page.locator(".sources mark").first.inner_text() == RULE
    assert page.locator(".sources header .turn").first.inner_text() == "m4"
    page.locator(".sources header .turn").first.click()
    page.wait_for_selector("article.here[data-number='4']")


def test_the_timeline_is_drawn_and_told_in_words(page):
    go(page, "timeline")
    page.wait_for_selector(".plot svg")
    areas = page.evaluate(
        """() => [...document.querySelectorAll('.plot path')].map(path => {
            const { width, height } = path.getBBox();
            return [getComputedStyle(path).fill, width, height] })"""
    )
    filled = [fill for fill, width, height in areas if width > 200 and height > 20]
    assert len(set(filled)) >= 3
    assert page.get_by_label("changes of the context").locator("tbody tr").count() >= 2


def test_everything_can_be_done_with_keys(page):
    go(page, "m1")
    page.wait_for_selector("article[data-number='1']")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.number") == "2"
    page.keyboard.press("Shift+G")
    page.wait_for_selector("article[data-number='126']")
    page.keyboard.press("3")
    page.wait_for_selector(".claim")
    page.locator(".claim").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".sources mark")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("0")
    page.wait_for_selector(".session")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_readable_on_a_narrow_screen(tab: Tab, server, scheme: str):
    with tab.visiting(server, viewport={"width": 320, "height": 640}, color_scheme=scheme) as page:
        for view in VIEWS:
            go(page, view)
            read(page, view)
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, view


def test_the_blocks_of_before_and_after_are_readable_on_a_phone(tab: Tab, server):
    with tab.visiting(server, viewport={"width": 390, "height": 800}) as page:
        go(page, "digests")
        page.get_by_role("link", name="Before and after").click()
        words = page.locator(".group[open] li .excerpt").first
        words.wait_for()
        assert words.bounding_box()["width"] > 250


def test_the_chat_and_the_reasons_of_the_timeline_are_in_sight_on_a_phone(tab: Tab, server):
    with tab.visiting(server, viewport={"width": 390, "height": 800}) as page:
        go(page, "chat")
        page.wait_for_selector("article[data-number='126']")
        box = page.get_by_label("your message").bounding_box()
        assert box["y"] + box["height"] <= 800
        go(page, "timeline")
        why = page.locator(".events td.excerpt").first
        assert why.bounding_box()["width"] > 250


TABS = """text => {
    const words = document.createElement('div'), mark = document.createElement('mark');
    words.className = 'words machine';
    mark.textContent = text;
    words.append(mark);
    document.querySelector('main').append(words);
    const beyond = [];
    for (let width = 150; width < 400; width += 5) {
        words.style.width = `${width}px`;
        const edge = words.getBoundingClientRect().right;
        if ([...mark.getClientRects()].some(line => line.right > edge + 1)) beyond.push(width);
    }
    return beyond;
}"""


def test_tabs_that_are_quoted_stay_inside_their_card_however_wide_it_is(page):
    assert page.evaluate(TABS, "?\tcmd/entire\t\t[no test files]\nok\tcmd/entire/cli\t1.965s\n") == []


def test_the_names_in_the_timeline_do_not_lie_upon_each_other(own_page, house: House):
    session = Session.open(TOUR, house.store)
    session.undo()
    session.switch_off()
    session.switch_on()
    page = own_page
    go(page, "timeline")
    page.wait_for_selector(".plot text.name")
    names = page.evaluate(
        """() => [...document.querySelectorAll('.plot text.name')].map(text => {
            const { x, y, width } = text.getBBox();
            return [text.textContent, x, y, width] })"""
    )
    assert len(names) >= 3
    right = page.evaluate("document.querySelector('.plot svg').width.baseVal.value")
    for n, (_text, x, y, width) in enumerate(names):
        assert not [
            other
            for m, (_, other, row, _) in enumerate(names)
            if m != n and row == y and x <= other < x + width
        ]
        assert x + width <= right


def test_every_control_has_a_name(page):
    for view in VIEWS:
        go(page, view)
        read(page, view)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll('button, a, input, select, textarea')].filter(one =>
                !(one.innerText.trim() || one.ariaLabel || one.labels?.length)
            ).map(one => one.outerHTML.slice(0, 80))"""
        )
        assert nameless == [], view


# What a transcript may not do ------------------------------------------------------------------------


def test_markup_in_a_transcript_is_only_ever_text(page):
    page.evaluate(
        """() => {
            window.broken = [];
            addEventListener('securitypolicyviolation', one => broken.push(one.violatedDirective));
        }"""
    )
    for view in (*VIEWS, "diff"):
        place = (view,)
        if view == "diff":
            go(page, "digests", session=EVIL)
            link = page.get_by_role("link", name="Before and after")
            place = tuple(link.get_attribute("href").split("/")[3:])
        go(page, *place, session=EVIL)
        read(page, view)
        assert (
            page.evaluate(
                """document.querySelectorAll(
                    'main :is(script, img, iframe), main svg:not(.plot > svg), .plot :is(a, image)'
                ).length"""
            )
            == 0
        )
        assert page.evaluate("[...document.querySelectorAll('main a')].filter(one => !one.hash).length") == 0
    assert page.title() == f"{EVIL} · clew"
    assert page.evaluate("broken") == []


# Doing -----------------------------------------------------------------------------------------------


def test_undo_and_redo(own_page, house: House):
    page = own_page
    shown = len(Session.open(TOUR, house.store).view())
    go(page, "digests")
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone:").wait_for()
    assert len(Session.open(TOUR, house.store).view()) > shown
    page.get_by_role("button", name="Redo").click()
    until(page, "() => document.querySelectorAll('.node').length >= 3")
    until(page, "() => document.querySelector('.node .state').innerText === '✓ in force'")
    assert len(Session.open(TOUR, house.store).view()) == shown


def test_a_preview_shows_what_would_be_lost_and_keeps_it_once_it_was_read(own_page, house: House):
    page = own_page
    Session.open(TOUR, house.store).undo()
    go(page, "digests")
    page.get_by_role("button", name="Compact…").click()
    page.get_by_label("What matters now").fill("the rule on legacy")
    page.get_by_label("Down to, in tokens").fill("1200")
    page.get_by_role("button", name="Preview").click()
    page.locator(".preview summary", has_text="exact values").click()
    assert "miss the provider's cache" in page.get_by_label("cost in prompt cache").inner_text()
    page.get_by_role("button", name="keep verbatim the passage", exact=False).first.click()
    asked = page.get_by_role("group", name="keep this passage")
    passage = asked.locator("blockquote").inner_text()
    assert Session.open(TOUR, house.store).ledger.facts.all == ()
    asked.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_text("Kept verbatim as k1").wait_for()
    page.get_by_role("button", name="Compact now").click()
    until(page, "() => document.querySelector('.node .state').innerText === '✓ in force'")
    (fact,) = Session.open(TOUR, house.store).ledger.facts.all
    assert passage.split() == fact.quote.split()
    go(page, "ledger")
    page.get_by_role("button", name="keep k1 no longer").click()
    until(page, "() => !document.querySelector('[aria-label=\"kept facts\"]')")


def test_a_folded_call_names_its_file_not_its_first_argument(tab: Tab, house: House):
    edit = {"replace_all": False, "file_path": "src/tax.py", "new_string": "rate = 7\n" * 60}
    Session.open("edits", house.store).add(Message(Role.ASSISTANT, (ToolCall("e1", "Edit", edit),)))
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        go(page, "m1", session="edits")
        page.locator(".folded.part-call .first").wait_for()
        assert page.locator(".folded.part-call .first").inner_text() == "file_path: src/tax.py"


def test_a_session_that_was_never_compacted_offers_a_preview_at_once(tab: Tab, house: House):
    long(house.store, 60)
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        go(page, "digests", session="long")
        page.get_by_text("Neither its tool nor clew has compacted this session").wait_for()
        assert page.get_by_role("button", name="Show the whole history").count() == 0
        page.get_by_role("button", name="Compact now").click()
        page.get_by_role("button", name="Undo d1").wait_for()
        assert page.get_by_role("button", name="Preview").count() == 0  # the form is closed


def test_a_rule_is_set_changed_and_taken_off(own_page, house: House):
    page = own_page
    go(page, "ledger")
    page.get_by_label("a new rule").fill("Always run the tests.")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="edit rule p2").click()
    page.get_by_label("the rule p2").fill("Always run all the tests.")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="revoke rule p3").click()
    page.get_by_text("p3 is no longer in force.").wait_for()
    page.get_by_text("2 rules no longer in force").wait_for()
    assert [pin.quote for pin in Session.open(TOUR, house.store).ledger.pins.active] == [RULE]


def test_memory_recalls_and_keeps_notes(own_page):
    page = own_page
    go(page, "memory")
    page.get_by_label("what to recall").fill("total_7")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits .score")
    page.get_by_label("a new note").fill("Use uv, never pip.")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Forget note").click()
    page.get_by_text("is forgotten").wait_for()


def test_a_turn_of_the_chat_comes_in_as_it_is_said(own_page):
    page = own_page
    go(page, "chat")
    page.get_by_label("your message").fill("What must I never modify?")
    page.keyboard.press("Enter")
    page.wait_for_selector("article[data-number='128']")
    assert "What must I never modify?" in page.locator("article[data-number='127']").inner_text()


def test_a_command_is_answered_in_the_chat_of_the_page(own_page):
    page = own_page
    go(page, "chat")
    page.get_by_label("your message").fill("!contextBudget")
    page.keyboard.press("Enter")
    page.locator("pre.output", has_text="usable tokens are in use").wait_for()
    assert page.get_by_text("!contextBudget").is_visible()


@pytest.mark.parametrize("auto", [False, True])
def test_whether_the_chat_compacts_by_itself_is_what_the_settings_say(tab: Tab, house: House, auto: bool):
    server = Server.bind(replace(house.pool, options=PoolOptions(MODEL, WINDOW, auto=auto)))
    with server.running(), tab.visiting(server) as page:
        go(page, "chat")
        page.locator("input[type=checkbox]:enabled").wait_for()  # what the settings say has come
        assert page.get_by_label("compact automatically").is_checked() is auto


def test_a_page_follows_a_session_that_another_process_writes(own_page, house: House):
    page = own_page
    go(page, "m126")
    page.wait_for_selector("article.here[data-number='126']")
    Session.open(TOUR, house.store).add(text_message(Role.USER, "said elsewhere"))
    page.wait_for_selector("article[data-number='127']")
    assert "said elsewhere" in page.locator("article[data-number='127']").inner_text()


def test_a_page_that_is_closed_stops_its_turn_and_the_next_may_speak(browser, house: House):
    server = Server.bind(house.pool, model_factory=lambda _session: Asking())
    with server.running():
        with visiting(browser, server) as page:
            go(page, "chat")
            page.get_by_label("your message").fill("Set rules.")
            page.keyboard.press("Enter")
            page.get_by_role("alertdialog").wait_for()
        with visiting(browser, server) as page:
            go(page, "chat")
            page.get_by_label("your message").fill("Set rules again.")
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Yes").click()
            page.get_by_role("button", name="Send").wait_for()
    assert [pin.quote for pin in Session.open(TOUR, house.store).pins] == [RULE, "Rule 2."]


def test_conversations_of_a_proxy_are_shown_as_they_go(tab: Tab, house: House):
    stats = Stats()
    house.pool.live = stats.report
    server = Server.bind(house.pool)
    with server.running(), tab.visiting(server) as page:
        page.get_by_text("No conversation yet").wait_for()
        stats.count("requests")
        with stats.conversation("c1") as one:
            one.model, one.session = "claude-sonnet-4-5", TOUR
            one.add_usage(Usage(100_000, 100, 0, 100_000), 1.0, rewritten=False)
            one.add_compaction(100_000, 5_000, answered=True)
        row = page.locator("section[aria-label='the proxy'] tbody tr")
        row.wait_for()
        text = row.inner_text()
        assert "1 (last: 100,000 to 5,000)" in text
        assert "$0.38" in text  # 100,000 tokens written to the cache, and 100 of output
        assert "$0.44" in text  # and a summary of 2,000 tokens that reads them
        assert row.get_by_role("link").get_attribute("href").endswith("/digests")
