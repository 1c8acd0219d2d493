"""What a reader does: reads, searches, follows a line to its source, previews, takes the tour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import zstandard

from clew.cli.inspect import EXAMPLE_NAME, _with_others, own_pool
from clew.inspector import history, transcript
from clew.inspector.server import Server
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.message import Origin, Role, text_message
from clew.session import Session
from tests.cli.homes import MOVED
from tests.conftest import real_data
from tests.inspector.conftest import Tab
from tests.inspector.house import SCRIPT, TOUR, House
from tests.inspector.steps import go, in_sight, read, until
from tests.inspector.test_browser import VIEWS
from tests.inspector.test_computer import ARGS
from tests.session.talk import RULE

MARKDOWN = f"""# Result
The **cause** is `parse_row`, see [the log](https://example.com/x) and ![a chart](x.png).

- first *point*
  - inner point
1. numbered

| file | lines |
|---|---|
| a.py | 12 |

```python
x = "**not bold**"
```
> quoted
{SCRIPT} total_3 and total_33
"""


@pytest.fixture
def notes(house: House) -> None:
    session = Session.open("notes", house.store)
    session.add(text_message(Role.SYSTEM, "You are an agent. " * 60))
    session.add(text_message(Role.USER, "<env>linux</env>" * 40, Origin.INJECTED))
    session.add(text_message(Role.USER, "Find the cause."), text_message(Role.ASSISTANT, MARKDOWN))


@pytest.fixture
def handle(house: House, notes: None) -> Iterator[OpenSession]:
    """Return the session, locked: not for tests with a page."""
    with house.pool.open("notes") as handle:
        yield handle


# Reading ---------------------------------------------------------------------------------------------


def test_markdown_is_drawn_and_markup_stays_text(own_page, notes: None):
    page = own_page
    go(page, "m1", session="notes")
    page.wait_for_selector("article[data-number='4'] .markdown")
    shown = page.locator("article[data-number='4'] .markdown")
    assert shown.locator("strong").all_inner_texts() == ["cause"]
    assert shown.locator("code").first.inner_text() == "parse_row"
    assert shown.locator("pre").inner_text() == 'x = "**not bold**"'
    assert shown.locator("td").all_inner_texts() == ["a.py", "12"]
    assert shown.locator(".md-link").first.get_attribute("title") == "https://example.com/x"
    assert SCRIPT in shown.inner_text()
    assert shown.locator("a, img, script").count() == 0


def test_a_transcript_begins_with_the_users_words(own_page, notes: None):
    page = own_page
    go(page, session="notes")
    page.wait_for_selector("article[data-number='4']")
    assert page.locator("details.harness").count() == 2
    assert page.locator("details.harness[open]").count() == 0
    assert page.locator("article[data-number='3']").bounding_box()["y"] < 400
    page.locator("details.harness summary").first.click()
    assert "You are an agent." in page.locator("article[data-number='1'] .words").inner_text()


def test_deeply_nested_marks_do_not_hang_the_page(own_page, house: House):
    nasty = "*" * 9_000 + "`" * 9_000 + "[" * 9_000 + "| " * 5_000 + "\n" + "> " * 5_000 + "\n- " * 3_000
    Session.open("nasty", house.store).add(text_message(Role.ASSISTANT, nasty))
    go(own_page, session="nasty")
    own_page.get_by_role("button", name=re.compile("more characters")).click()
    until(own_page, "() => document.querySelector('.markdown').innerText.length > 30000")


def test_the_outline_lists_turns_and_compactions_and_leads_there(page, shared: House):
    go(page, "m1")
    turns = page.locator(".outline li button")
    turns.first.wait_for()
    assert turns.count() == 3
    cuts = [one.get_attribute("href").rpartition("/")[2] for one in page.locator(".outline .cut").all()]
    with shared.pool.open(TOUR) as handle:
        assert cuts == [one.name for one in history.compactions_of(handle)]
    turns.last.click()
    until(page, "() => [...document.querySelectorAll('.outline button')].at(-1).ariaCurrent === 'true'")
    assert max(in_sight(page)) > 80


def test_the_outline_reads_only_what_is_new(handle: OpenSession):
    before = transcript.outline(handle)["rows"]
    handle.session.add(text_message(Role.USER, "Now fix it."))
    handle.message_index.catch_up()
    assert [one["text"] for one in transcript.outline(handle)["rows"]] == ["Find the cause.", "Now fix it."]
    assert before[0]["number"] == 3


# Searching -------------------------------------------------------------------------------------------


def test_whole_words_are_found_and_parts_on_request(handle: OpenSession):
    assert [one["count"] for one in transcript.search(handle, "TOTAL_3", 0)["found"]] == [1]
    assert [one["count"] for one in transcript.search(handle, "total_3", 0, part_words=True)["found"]] == [2]
    assert transcript.search(handle, "an  agent.", 0)["found"][0]["number"] == 1
    assert transcript.search(handle, "  ", 0)["found"] == []


def test_a_search_covers_the_whole_session_and_marks_every_hit(page):
    go(page, "m1")
    page.wait_for_selector("article[data-number='1']")
    box = page.get_by_label("search the transcript")
    box.fill("total_3")
    box.press("Enter")
    until(page, "() => /^[0-9,]+ hits? in/.test(document.querySelector('.found [role=status]')?.innerText)")
    until(page, "() => !document.querySelector('.found .waiting')")
    whole = page.locator(".found mark").all_inner_texts()
    assert whole
    assert {one.lower() for one in whole} == {"total_3"}
    page.get_by_label("parts of words").check()
    box.press("Enter")
    until(page, "count => document.querySelectorAll('.found li').length > count", len(whole))
    page.locator(".found li button").last.click()
    page.wait_for_selector(".pages mark")


# Figures ---------------------------------------------------------------------------------------------


def test_every_view_has_the_header_with_the_same_figures(page):
    go(page, "context")
    page.wait_for_selector(".fill .big strong")
    wanted = page.locator(".fill .big strong").inner_text()
    for view in VIEWS:
        go(page, view)
        read(page, view)
        head = page.locator("header.about")
        head.locator(".now strong").wait_for()
        assert head.locator(".now strong").inner_text() == wanted, view
        assert "126 messages" in head.inner_text()
        assert re.search(r"\d\s+compactions", head.inner_text())


@pytest.mark.parametrize("view", [*VIEWS, "sessions"])
def test_a_view_that_waits_for_its_answer_says_so(tab: Tab, server, view: str):
    with tab.visiting(server) as page:
        page.route(lambda url: "/api/" in url, lambda _route: None)  # no answer comes
        if view == "sessions":
            page.evaluate("() => { location.hash = '#/s/x' }")
            page.evaluate("() => { location.hash = '#/' }")
        else:
            go(page, view)
        page.locator("main [role=status]", has_text=re.compile("…")).first.wait_for()


# Digests ---------------------------------------------------------------------------------------------


def test_a_source_is_shown_between_its_neighbours(page):
    go(page, "digests")
    page.locator(".claim", has_text=RULE).first.click()
    page.locator(".sources mark").first.wait_for()
    assert page.locator(".sources .neighbour .turn").all_inner_texts() == ["m3", "m5"]
    page.locator(".claim.chosen").click()
    page.locator(".sources").wait_for(state="detached")


def test_a_digest_has_the_headings_that_the_model_sees_and_no_ticks(page):
    go(page, "digests")
    page.locator(".section").first.wait_for()
    headings = page.locator(".section h4").all_inner_texts()
    assert headings[0].lower().startswith("rules that hold, word for word")
    assert all(re.search(r"\d$", one) for one in headings)
    assert "✓" not in page.locator(".claims").inner_text()


def test_a_rule_is_edited_and_revoked_in_the_digest(own_page, house: House):
    page = own_page
    go(page, "digests")
    page.get_by_role("button", name="edit rule p1").click()
    page.get_by_label("the rule p1").fill("Never modify legacy/ or vendor/.")
    page.keyboard.press("Enter")
    page.get_by_text("p1 is now p2; the next digest shows it.").wait_for()
    quotes = [pin.quote for pin in Session.open(TOUR, house.store).ledger.pins.active]
    assert quotes == ["Never modify legacy/ or vendor/."]


def test_a_preview_speaks_of_turns_findings_and_files(own_page, house: House):
    page = own_page
    Session.open(TOUR, house.store).undo()
    go(page, "digests", "new")
    page.get_by_label("Down to, in tokens").fill("1500")
    page.get_by_role("button", name="Preview").click()
    page.locator(".preview .leaves").wait_for()
    said = page.locator(".preview .leaves").inner_text()
    assert re.search(r"Would leave the view: .*\d+ of \d+ (turns|findings|files)", said)
    assert "rules" in said.partition("All ")[2]
    assert page.locator(".preview .lost:visible").count() == 0
    assert page.get_by_label("Down to, in tokens").input_value() == "1500"


# Sessions of other tools, and the tour ---------------------------------------------------------------


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home folder."""
    for name in MOVED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pool(computer: Path) -> Iterator[SessionPool]:
    with own_pool(ARGS) as pool, _with_others(pool, ARGS, {}):
        yield pool


REAL = {
    "claude-code": (
        "claude-code-entire-cli/1a289c77-a9da-491d-954a-2df7f0dd6a17",
        ".claude/projects/-p/{id}.jsonl",
    ),
    "codex": (
        "codex-session-bridge/019d7372-a0bb-72c0-847d-5e4439ef5efd",
        ".codex/sessions/2026/11/01/rollout-2026-11-01T08-00-00-{id}.jsonl",
    ),
    "copilot-cli": (
        "copilot-cli-starcar/70b173ed-7b83-485a-b71a-5adb0591db07",
        ".copilot/session-state/{id}/events.jsonl",
    ),
}


@pytest.mark.parametrize("tool", REAL)
def test_a_real_compacted_session_shows_what_the_model_saw(
    tool: str, computer: Path, pool: SessionPool, tab: Tab
):
    source, place = REAL[tool]
    packed = real_data("transcripts") / f"{source}.jsonl.zst"
    id_ = source.rpartition("/")[2]
    path = computer / place.format(id=id_)
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.ZstdDecompressor().stream_reader(packed.read_bytes()).read())
    server = Server.bind(pool)
    with server.running(), tab.visiting(server) as page:
        row = page.locator(".session", has_text=tool)
        tokens = re.search(r"([\d,]+) tokens", row.inner_text())[1]
        row.click()
        page.locator(".losses .big, .losses h3").first.wait_for()
        page.locator("header.about .now strong").wait_for()
        assert page.locator("header.about .now strong").inner_text() == tokens
        assert "by its tool" in page.locator("header.about").inner_text()
        step = page.locator(".about-digest .big strong").inner_text()
        go(page, "timeline", session=f"{tool}:{id_}")
        page.locator(".events td", has_text=step).wait_for()
        go(page, "context", session=f"{tool}:{id_}")
        page.locator(".fill .big strong").wait_for()
        assert page.locator(".fill .big strong").inner_text() == tokens
        go(page, session=f"{tool}:{id_}")
        page.locator(".outline .cut").first.wait_for()
        page.wait_for_selector(".pages article")


BESIDE_TOUR = """name => {
    const part = document.querySelector(`main .${name}`)?.getBoundingClientRect();
    const tour = document.querySelector(".tour").getBoundingClientRect();
    return part && part.top >= 0 && part.top < tour.top - 120 && tour.bottom <= innerHeight && tour.left >= 0;
}"""
"""Whether the part that a step speaks of begins in sight, well above the tour."""


def test_on_a_phone_each_step_of_the_tour_shows_what_it_speaks_of(pool: SessionPool, browser):
    server = Server.bind(pool)
    with server.running():
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(server.address())
        page.get_by_role("button", name="Take the tour").click()
        for step, part in enumerate(("claims", "sources", "compacting", "controls", "plot")):
            page.get_by_text(f"Tour, {step + 1} of 5").wait_for()
            until(page, BESIDE_TOUR, part)
            page.get_by_role("dialog", name="tour").get_by_role("button").first.click()
        page.get_by_role("dialog", name="tour").wait_for(state="detached")
        context.close()


def test_the_tour_leads_from_a_line_to_an_undo(pool: SessionPool, browser):
    server = Server.bind(pool)
    with server.running():
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(server.address())
        page.get_by_role("button", name="Take the tour").click()
        tour = page.get_by_role("dialog", name="tour")
        page.locator(".claims .claim").first.wait_for()
        tour.get_by_role("button", name="Next").click()
        page.locator(".sources mark").first.wait_for()
        tour.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Preview").click()
        page.locator(".preview .leaves").wait_for()
        assert "Nothing would leave" not in page.locator(".preview").inner_text()  # messages would
        tour.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Undo d1").click()
        page.get_by_text("Undone:").wait_for()
        tour.get_by_role("button", name="Next").click()
        page.locator(".plot svg").first.wait_for()
        tour.get_by_role("button", name="Finish").click()
        tour.wait_for(state="detached")
        assert quote(EXAMPLE_NAME, safe="") in page.url
        context.close()
