"""Who may speak to the server: the person at this computer, through a page that the server itself sent.

A page of another site can make a browser send requests to this computer, and a name that such a site controls
can be made to point here. So every request must name this host and must come from this origin, and whatever
asks for more than the pages' own files must carry the token. It travels in a header that only our own page
sets, never in a cookie: browsers show the cookies of a computer to the servers of all its ports. What changes
something is a POST that the browser itself says was made by our own page.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READS = ("GET", "HEAD")
TOKEN = "x-clew-token"
"""The header that holds the token. Another site cannot set it: its browser would have to ask here first."""
HEADERS: Mapping[str, str] = {
    # Only our own files run; no text can become a script, whatever a page does with it.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """What a request must show."""

    token: str
    """Random, new at every start."""
    host: str
    """The only name that this server goes by: ``127.0.0.1:8710``."""

    @property
    def origin(self) -> str:
        """Return where our own pages come from."""
        return f"http://{self.host}"

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request may not pass; None where it may."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self.host]:
            return "this server goes by another name"
        if headers.get("origin", self.origin) != self.origin:
            return "this request comes from another site"
        if not self._from_here(scope, headers):
            return "this request was made by another site"
        if not _is_public(scope) and not self._is_token(headers.getlist(TOKEN)):
            return "open the address that clew printed: it holds the token that lets you in"
        return None

    def _from_here(self, scope: Scope, headers: Headers) -> bool:
        """Tell whether our own page made the request; one that is only opened may come from a link."""
        site = headers.get("sec-fetch-site")
        if scope["method"] not in READS:
            return headers.get("origin") == self.origin if site is None else site == "same-origin"
        return site in (None, "same-origin", "none") or scope["path"] == "/"

    def _is_token(self, given: list[str]) -> bool:
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self.token.encode())


def _is_public(scope: Scope) -> bool:
    """Tell whether only a file of clew's own is asked for, which says nothing of any session."""
    return scope["method"] in READS and (scope["path"] == "/" or scope["path"].startswith("/static/"))


class Guard:
    """Passes on what may pass, and puts on every answer what keeps a browser strict."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return  # there are no web sockets here, and nothing to do at start and end

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._gate.refusal(scope)
        app = self._app if refusal is None else PlainTextResponse(f"clew: {refusal}\n", 403)
        await app(scope, receive, with_headers)
