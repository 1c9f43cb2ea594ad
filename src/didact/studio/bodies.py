"""The body of a request: JSON by its type, within its size, sent within its time."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

SECONDS = 10.0
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
        async with asyncio.timeout(SECONDS):
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
