"""The studio's web site: its page, its modules and styles, and the questions that it answers.

What is served is a table of names that is read once: nothing in a request is ever a path.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from didact.report.page.templates import STATIC as SHARED
from didact.report.page.templates import render, with_imported
from didact.studio.forks import DONE, REFUSED
from didact.studio.pool import Limits, Reply, WorkerPool
from didact.studio.questions import PRESETS, QUESTIONS

OWN = Path(__file__).parent / "static"
KINDS = {".js": "text/javascript", ".css": "text/css"}
LARGEST_QUESTION = 4 * 2**20
"""Bytes of a question; a task file of some thousand states fits."""
STATUS = {"too late": 504, "died": 503, "too many": 429, "busy": 503}
WORDS = {
    "too late": "this took too long and was stopped; try a smaller world",
    "died": "the process that worked on this ended, perhaps for want of memory; try it again",
    "too many": "too much is asked at once; wait for an answer",
    "busy": "the server is busy; try it again",
}
_PAGE = re.compile(r"[a-z0-9]{8,40}")


@cache
def assets() -> Mapping[str, tuple[str, bytes]]:
    """What the page loads: type and content by name; the lesson page's own modules among them."""
    return {
        path.name: (KINDS[path.suffix], path.read_bytes())
        for folder in (SHARED, OWN)
        for path in sorted(folder.iterdir())
        if path.suffix in KINDS
    }


def modules() -> list[str]:
    """The modules of the studio's page, so that it need not find one after the other."""
    return list(with_imported("studio.js", lambda name: assets()[name][1].decode()))


def studio_site(limits: Limits, first: Mapping[str, Any]) -> Starlette:
    """The application; first: the world that the page shows when its link names none."""
    pool = WorkerPool(limits)

    @cache
    def laid_out() -> str:
        return render(
            "studio.html.jinja",
            first=json.dumps(first),
            presets=json.dumps([list(each) for each in PRESETS]),
            modules=modules(),
            is_static=False,
        )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await pool.start()
        early = asyncio.create_task(asyncio.to_thread(laid_out))  # while a browser gets ready
        yield
        await pool.stop()
        await early

    async def page(request: Request) -> Response:
        return Response(await asyncio.to_thread(laid_out), media_type="text/html")

    async def question(request: Request) -> Response:
        sender, kind = _asked(request)
        body = await read_body(request, LARGEST_QUESTION)
        return _response(await _while_connected(request, pool.ask(sender, kind, body)))

    async def stage(request: Request) -> Response:
        return JSONResponse({"stage": pool.stage(*_asked(request))})

    app = Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/static/{name}", asset, methods=["GET"]),
            Route("/ask/{kind}", question, methods=["POST"]),
            Route("/stage/{kind}", stage, methods=["GET"]),
        ],
        exception_handlers={HTTPException: refusal},
        lifespan=lifespan,
    )
    app.state.pool = pool
    return app


async def asset(request: Request) -> Response:
    """A module or a style by its name."""
    found = assets().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "there is no such file")
    return Response(found[1], media_type=found[0])


def _asked(request: Request) -> tuple[str, str]:
    """The page that asks, and the question's name."""
    kind, sender = request.path_params["kind"], request.headers.get("x-didact-page", "")
    if kind not in QUESTIONS:
        raise HTTPException(404, "there is no such question")
    if not _PAGE.fullmatch(sender):
        raise HTTPException(400, "X-Didact-Page must name the page that asks")
    return sender, kind


async def _while_connected(request: Request, asked: Any) -> Reply | None:
    """The reply, or None when the page goes away first: then the work is dropped."""
    work = asyncio.ensure_future(asked)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else None
    finally:
        gone.cancel()
        work.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _response(reply: Reply | None) -> Response:
    if reply is None or reply.outcome == "superseded":
        return Response(status_code=204)
    if reply.outcome != "answered":
        return JSONResponse({"error": WORDS[reply.outcome]}, STATUS[reply.outcome])
    kind, body = reply.body[:1], reply.body[1:]
    status = 200 if kind == DONE else 422 if kind == REFUSED else 500
    return Response(body, status, media_type="application/json")


async def refusal(request: Request, error: Exception) -> Response:
    """Why a request was refused, as JSON."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


BODY_SECONDS = 10.0
"""A body must be here after so long."""


async def read_body(request: Request, most: int) -> bytes:
    """The bytes of a JSON body; refused by 415, 413 or 408."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send JSON (Content-Type: application/json)")
    told = request.headers.get("content-length", "0")
    if not (told.isascii() and told.isdigit()) or int(told) > most:
        raise HTTPException(413, f"send at most {most} bytes")
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HTTPException(413, f"send at most {most} bytes")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, "the request took too long to arrive") from None
    except ClientDisconnect:
        raise HTTPException(400, "the request ended too early") from None
    return b"".join(parts)
