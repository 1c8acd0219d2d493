"""What pages of others, and tabs of our own, can reach in a real browser."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.inspector.conftest import visiting
from tests.inspector.house import TOUR, House


def test_another_name_for_this_computer_is_refused(browser, server):
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(server.address().replace("127.0.0.1", "localhost"))
    assert answer.status == 403
    context.close()


ATTACK = """<script type=module>
const told = [];
const send = (path, options) => fetch(`http://HOST${path}`, { credentials: "include", ...options })
    .then(answer => told.push([answer.type, answer.status]), () => told.push("refused"));
const body = JSON.stringify({ session: SESSION, does: "undo" });
const headers = { "content-type": "application/json", "x-clew-token": "guess" };
await send("/api/act", { method: "POST", mode: "no-cors", body });
await send("/api/act", { method: "POST", body, headers });
await send("/api/sessions", {});
await send("/api/sessions", { mode: "no-cors" });
await send("/api/sessions", { headers });
told.push(Object.keys(sessionStorage).length + Object.keys(localStorage).length, document.cookie);
document.body.dataset.told = JSON.stringify(told);
</script>"""


def test_a_page_of_another_port_learns_nothing_and_changes_nothing(browser, server, shared: House):
    """Browsers show the cookies of a computer to every port of it, so nothing may depend on one."""
    with shared.pool.open(TOUR) as handle:
        before = handle.message_index.upto
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.address())
    page.wait_for_selector(".session")
    page_html = ATTACK.replace("HOST", server.host).replace("SESSION", json.dumps(TOUR))
    heard: list[str] = []
    with serving(page_html.encode(), heard) as address:
        page.goto(address)
        page.wait_for_selector("body[data-told]")
    told = json.loads(page.locator("body").get_attribute("data-told"))
    cookies = context.cookies()
    context.close()
    assert told == [*["refused"] * 5, 0, ""]
    assert (cookies, [one for one in heard if server.token in one]) == ([], [])
    with shared.pool.open(TOUR) as handle:
        assert handle.message_index.upto == before


def test_a_page_that_was_opened_from_another_tab_is_let_in_and_one_that_was_not_is_told(browser, server):
    with visiting(browser, server) as page:
        other = page.context.new_page()
        other.goto(f"http://{server.host}/")
        other.wait_for_selector(".session")
        page.reload()
        page.wait_for_selector(".session")
    context = browser.new_context()
    stranger = context.new_page()
    stranger.goto(f"http://{server.host}/")
    assert "open the address that clew printed" in stranger.locator("main .problem").first.inner_text()
    stranger.goto(server.address(TOUR))
    stranger.wait_for_selector("article[data-number='1']")
    assert "token" not in stranger.url
    context.close()


def test_a_tab_that_is_answered_late_is_let_in_all_the_same(browser, server):
    with visiting(browser, server) as page:
        page.evaluate(
            """() => {
                const channel = BroadcastChannel.prototype, post = channel.postMessage;
                channel.postMessage = function (what) { window.answer = () => post.call(this, what) };
            }"""
        )
        other = page.context.new_page()
        other.goto(f"http://{server.host}/")
        other.wait_for_selector("main .problem")
        page.evaluate("() => answer()")
        other.wait_for_selector(".session")


@contextmanager
def serving(html: bytes, heard: list[str]) -> Iterator[str]:
    """Serve one page from another port of this computer; note all that is said to it."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.requestline} {self.headers}")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as attacker:
        thread = threading.Thread(target=attacker.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{attacker.server_port}/"
        attacker.shutdown()
        thread.join()
