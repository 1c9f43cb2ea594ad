"""The server: on this machine alone unless it is told otherwise, and patient only for a while.

Only this server's own pages come in, in a browser that was given the token. Every request must name
this server as its host, or another site could point its own name here. What changes something must
come from a page of this server (Origin). The token of the first link is exchanged for a cookie that
scripts cannot read and other sites cannot send. Nothing else is served, and what is served may run
only the server's own scripts.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from didact.errors import InvalidParameter
from didact.inputs import shown

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


IDLE = 10.0
"""Seconds that a connection may take for the headers of its next request."""
MAX_CONNECTIONS = 500
MAX_STRANGERS = 100
"""Connections without a request that was let in. When one more comes, the one that is idle for
longest is closed: whoever opens many and says nothing takes nobody else's place."""
GRACE, MAX_NEW = 1.0, 400
"""A class opens its pages at once, and no request of theirs has been read yet: connections younger
than GRACE seconds are closed only where there are more than MAX_NEW."""


class Connections:
    """Open connections of strangers by their address, the oldest first."""

    def __init__(self) -> None:
        self._strangers: dict[Any, tuple[Any, float]] = {}

    def protocol(self) -> type[Any]:
        """Uvicorn's protocol, which tells of connections that come and go."""
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        connections = self

        class Counted(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                connections.came(self)

            def connection_lost(self, error: Exception | None) -> None:
                connections.let_in(self.client)
                super().connection_lost(error)

        return Counted

    def came(self, connection: Any) -> None:
        """A connection was opened; too many strangers lose the oldest that is idle."""
        self._strangers[connection.client] = connection, time.monotonic()
        self.close_one()

    def close_one(self) -> bool:
        """Close the stranger that is idle for longest where there are too many; whether it did."""
        n, now = len(self._strangers), time.monotonic()
        if n > MAX_STRANGERS:
            for client, (other, since) in self._strangers.items():
                if _is_idle(other) and (n > MAX_NEW or now - since > GRACE):
                    del self._strangers[client]
                    other.transport.abort()
                    return True
        return False

    def let_in(self, client: Any) -> None:
        """A client is no stranger any more, or has gone."""
        self._strangers.pop(None if client is None else tuple(client), None)


def _is_idle(connection: Any) -> bool:
    """Whether no request of a connection is being answered."""
    cycle = getattr(connection, "cycle", None)
    return cycle is None or bool(cycle.response_complete)


def host_names(host: str, port: int, also: Iterable[str] = ()) -> list[str]:
    """What the Host header may be for a server that listens there; also: names given by hand."""
    names = [host, *also]
    if _is_loopback(host):
        names += ["localhost", "127.0.0.1", "::1"]
    elif host in ("0.0.0.0", "::"):
        name = socket.gethostname()
        names += ["localhost", "127.0.0.1", "::1", name, socket.getfqdn(), *_addresses(name)]
    written = [f"[{name}]" if ":" in name else name for name in names]
    return [f"{name}:{port}" for name in written] + ([*written] if port == 80 else [])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _addresses(name: str) -> list[str]:
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    except OSError:
        return []


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # By its protocol asyncio knows that what is sent must not wait for an acknowledgement.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(256)
    except (OSError, OverflowError) as error:
        raise InvalidParameter(
            f"the server cannot listen on {shown(host)}, port {port}: {error}; take another --port"
        ) from None
    made.setblocking(False)
    return made


def run(
    site: Any,
    *,
    host: str,
    port: int,
    open_to_all: bool = False,
    names: Iterable[str] = (),
    ready: Callable[[str], None],
    ending: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve a site until it is interrupted; ready(link): called when it listens.

    open_to_all: no token is asked for. names: other names under which it is reached. ending: called
    when it is interrupted, before it waits for what is still being answered.
    """
    sock = listening(host, port)
    port = sock.getsockname()[1]
    token = None if open_to_all else secrets.token_urlsafe(24)
    shown_host = "localhost" if host in ("0.0.0.0", "::") else host
    shown_host = f"[{shown_host}]" if ":" in shown_host else shown_host
    link = f"http://{shown_host}:{port}/" + ("" if token is None else f"?token={token}")
    names = list(names)
    allowed = host_names(host, port, names)
    connections = Connections()
    access = Access(
        site,
        allowed,
        token,
        cookie=f"didact-{port}",
        proxied=names,
        let_in=connections.let_in,
    )
    config = uvicorn.Config(
        access,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        http=connections.protocol(),
        limit_concurrency=MAX_CONNECTIONS + MAX_STRANGERS,
        timeout_keep_alive=int(IDLE),
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16 * 1024,
    )
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # how a server is ended
        asyncio.run(_serve(server, sock, connections, lambda: ready(link), ending))


async def _serve(
    server: uvicorn.Server,
    sock: socket.socket,
    connections: Connections,
    ready: Callable[[], None],
    ending: Callable[[], Awaitable[None]] | None,
) -> None:
    besides = [
        asyncio.create_task(_close_idle(server, connections)),
        asyncio.create_task(_tell(server, ready)),
        asyncio.create_task(_end(server, ending)),
    ]
    try:
        await server.serve(sockets=[sock])
    finally:
        for task in besides:
            task.cancel()


async def _end(server: uvicorn.Server, ending: Callable[[], Awaitable[None]] | None) -> None:
    """Stop the work as soon as the server is told to end: nobody waits for it any more."""
    while not server.should_exit:
        await asyncio.sleep(0.05)
    if ending is not None:
        await ending()


async def _tell(server: uvicorn.Server, ready: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.005)
    ready()


async def _close_idle(server: uvicorn.Server, connections: Connections) -> None:
    """Close connections that have had no request for too long, whatever they trickle."""
    idle: dict[Any, tuple[int, float]] = {}
    while True:
        await asyncio.sleep(IDLE / 5)
        while connections.close_one():
            pass
        now, seen = time.monotonic(), {}
        for connection in list(server.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if not _is_idle(connection):
                continue
            request, since = idle.get(connection, (id(cycle), now))
            seen[connection] = (request, since) if request == id(cycle) else (id(cycle), now)
            if now - seen[connection][1] > IDLE:
                connection.transport.abort()
        idle = seen
