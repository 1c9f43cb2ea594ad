"""A body that comes too slowly is given up."""

import asyncio

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from starlette.exceptions import HTTPException
from starlette.requests import Request

from didact.studio import bodies

JSON = [(b"content-type", b"application/json; charset=utf-8")]


def read(receive, most=100):
    async def run():
        return await bodies.read_body(Request({"type": "http", "headers": JSON}, receive), most)

    return asyncio.run(run())


def test_parts_are_put_together():
    parts = [b"ab", b"", b"c"]

    async def receive():
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    assert read(receive) == b"abc"


def test_a_slow_body_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.0)

    async def receive():
        await asyncio.Event().wait()

    with pytest.raises(HTTPException) as refused:
        read(receive)
    assert refused.value.status_code == 408


def test_a_body_that_breaks_off_is_refused():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(HTTPException) as refused:
        read(receive)
    assert refused.value.status_code == 400
