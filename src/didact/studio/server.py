"""The server: on this machine alone unless it is told otherwise, and patient only for a while."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

import uvicorn

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.studio.gate import Gate

IDLE = 10.0
"""Seconds that a connection may take for the headers of its next request."""
MOST_CONNECTIONS = 500


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
    gate = Gate(site, allowed, token, cookie=f"didact-{port}", proxied=names)
    config = uvicorn.Config(
        gate,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=int(IDLE),
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16 * 1024,
    )
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # how a server is ended
        asyncio.run(_serve(server, sock, lambda: ready(link), ending))


async def _serve(
    server: uvicorn.Server,
    sock: socket.socket,
    ready: Callable[[], None],
    ending: Callable[[], Awaitable[None]] | None,
) -> None:
    besides = [
        asyncio.create_task(_close_idle(server)),
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


async def _close_idle(server: uvicorn.Server) -> None:
    """Close connections that have had no request for too long, whatever they trickle."""
    idle: dict[Any, tuple[int, float]] = {}
    while True:
        await asyncio.sleep(IDLE / 5)
        now, seen = time.monotonic(), {}
        for connection in list(server.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            request, since = idle.get(connection, (id(cycle), now))
            seen[connection] = (request, since) if request == id(cycle) else (id(cycle), now)
            if now - seen[connection][1] > IDLE:
                connection.transport.abort()
        idle = seen
