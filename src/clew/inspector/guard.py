"""Access control: only pages that this server sent to the person at this computer may make requests.

Another site can make a browser send requests to this computer, or point its own host name here. So every
request must name this host and come from this origin, and everything except static files needs the token. The
token is sent in a header that only our own page sets, not in a cookie, because browsers send cookies to all
ports of a computer. Changes must be POSTs that, according to the browser, our own page made.
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
"""The header with the token. Another site cannot set it without a CORS preflight, which is refused."""
HEADERS: Mapping[str, str] = {
    # Only our own files are executed; no text can become a script.
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
class RequestGate:
    """The conditions that a request must meet."""

    token: str
    """A random token, new at every start."""
    host: str
    """The only accepted host name, for example ``127.0.0.1:8710``."""

    @property
    def origin(self) -> str:
        """Return the origin of our own pages."""
        return f"http://{self.host}"

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None if it is allowed."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self.host]:
            return "the Host header is not the address of this server"
        if headers.get("origin", self.origin) != self.origin:
            return "the Origin header names another site"
        if not self._from_here(scope, headers):
            return "the browser says that another site made this request"
        if not _is_public(scope) and not self._is_token(headers.getlist(TOKEN)):
            return "open the address that clew printed: it contains the access token"
        return None

    def _from_here(self, scope: Scope, headers: Headers) -> bool:
        """Return whether our own page made the request; the start page may also be opened by a link."""
        site = headers.get("sec-fetch-site")
        if scope["method"] not in READS:
            return headers.get("origin") == self.origin if site is None else site == "same-origin"
        return site in (None, "same-origin", "none") or scope["path"] == "/"

    def _is_token(self, values: list[str]) -> bool:
        return len(values) == 1 and hmac.compare_digest(values[0].encode(), self.token.encode())


def _is_public(scope: Scope) -> bool:
    """Return whether a request is for a static file, which reveals nothing about sessions."""
    return scope["method"] in READS and (scope["path"] == "/" or scope["path"].startswith("/static/"))


class Guard:
    """Middleware that refuses requests and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, gate: RequestGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and answer a request."""
        if scope["type"] != "http":
            return  # no web sockets, and no lifespan events

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._gate.refusal(scope)
        app = self._app if refusal is None else PlainTextResponse(f"clew: {refusal}\n", 403)
        await app(scope, receive, with_headers)
