"""Asking an ASGI application without a server."""

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: str


def asked(app, method="GET", path="/", headers=(), query="", body=b"", chunk=None) -> Answer:
    """The answer to one request; headers: pairs, exactly as given."""
    return asyncio.run(ask(app, method, path, headers, query, body, chunk))


async def ask(app, method="GET", path="/", headers=(), query="", body=b"", chunk=None) -> Answer:
    """The same inside a loop. chunk: send the body in parts of so many bytes."""
    sent, parts = [], [body] if chunk is None else [
        body[i : i + chunk] for i in range(0, max(len(body), 1), chunk)
    ]  # fmt: skip
    waiting = [
        {"type": "http.request", "body": part, "more_body": i < len(parts) - 1}
        for i, part in enumerate(parts)
    ]
    done = asyncio.Event()

    async def receive():
        if waiting:
            return waiting.pop(0)
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "root_path": "", "scheme": "http",
        "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }  # fmt: skip
    await app(scope, receive, send)
    done.set()
    start = sent[0]
    return Answer(
        start["status"],
        {name.decode(): value.decode() for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]).decode(),
    )
