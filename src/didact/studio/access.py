"""Who may come in: only this server's own pages, in a browser that was given the token.

Every request must name this server as its host, or another site could point its own name here. What
changes something must come from a page of this server (Origin). The token of the first link is
exchanged for a cookie that scripts cannot read and other sites cannot send. Nothing else is served,
and what is served may run only the server's own scripts.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse, Response

METHODS = {"GET", "HEAD", "POST"}
LONGEST_QUERY = 300
LARGEST_HEADERS = 16 * 1024

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer. Neither scripts nor styles are inline."""


class Access:
    """An ASGI application in front of another one.

    hosts: what the Host header may be, with the port. token: admits one browser; None where every
    visitor may come in, as in a study. cookie: the name of the cookie. proxied: names of a proxy
    with TLS that hands the Host header on; its pages may come from there. let_in: called with the
    address of a client whose request is passed on.
    """

    def __init__(
        self,
        app: Any,
        hosts: Iterable[str],
        token: str | None,
        *,
        cookie: str = "didact",
        proxied: Iterable[str] = (),
        let_in: Callable[[Any], None] = lambda client: None,
    ):
        self._app = app
        self._proxied = frozenset(host.lower() for host in proxied)
        self._hosts = frozenset(host.lower() for host in hosts) | self._proxied
        self._token = token
        self._cookie = cookie
        self._told = let_in
        self._secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it; every answer has the headers."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                names = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in own if name not in names),
                ]
            await send(message)

        answer = self._refused(scope) or self._let_in(scope)
        if answer is None or answer.status_code < 400:
            self._told(scope.get("client"))
        await (answer or self._app)(scope, receive, guarded)

    def _refused(self, scope: Any) -> Response | None:
        """Why a request is no request of this server's pages; None where it is one."""
        if scope["method"] not in METHODS:
            return PlainTextResponse("only GET and POST are answered", 405)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEADERS:
            return PlainTextResponse("the headers are too large", 431)
        hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("this server does not answer to that name", 421)
        changes = scope["method"] == "POST"
        if (changes or origins) and not self._is_own(origins, hosts[0]):
            return PlainTextResponse("requests of other sites are not answered", 403)
        return None

    def _is_own(self, origins: list[str], host: str) -> bool:
        own = [[f"http://{host}"]]
        if host.lower() in self._proxied:
            own.append([f"https://{host}"])
        return origins in own

    def _let_in(self, scope: Any) -> Response | None:
        """The answer to a visitor who has no cookie yet; None for one who may come in."""
        if self._token is None:
            return None
        given = _token_in(scope)
        if given is not None and scope["path"] == "/" and scope["method"] == "GET":
            if not _same(given, self._token):
                return PlainTextResponse("this token is not the right one", 403)
            answer = Response(status_code=303, headers={"Location": "/"})
            if _header(scope, b"sec-fetch-site") == ["cross-site"]:
                # A strict cookie is not sent to where another site redirects, as the file does that
                # opens the browser; a page of this server may go there.
                answer = HTMLResponse('<meta http-equiv="refresh" content="0;url=/">')
            answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
            return answer
        if not any(_same(value, self._secret) for value in self._cookies(scope)):
            return PlainTextResponse(
                "open the link that the command printed: it has the token that lets you in", 403
            )
        return None

    def _cookies(self, scope: Any) -> list[str]:
        values = []
        for line in _header(scope, b"cookie"):
            try:
                found = SimpleCookie(line).get(self._cookie)
            except CookieError:
                continue
            values += [] if found is None else [found.value]
        return values


def _header(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _token_in(scope: Any) -> str | None:
    query = scope["query_string"][:LONGEST_QUERY].decode("latin-1")
    found = parse_qs(query, max_num_fields=20).get("token") if query.count("&") < 20 else None
    return None if found is None else found[0]


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
