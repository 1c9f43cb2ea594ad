"""Attacks on a running studio: none succeeds, and the server answers afterwards."""

import asyncio
import json
import os
import random
import re
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact.studio.questions import MEADOW, QUESTIONS
from didact.studio.worlds import looked_at, read_painting
from tests.edges.studio_server import running

SCRIPT = '"><script>alert(1)</script>'
LOOK = json.dumps({"painting": dict(MEADOW)})


class Client:
    """Raw requests to a studio, with its cookie or without."""

    def __init__(self, link: str):
        self.host = re.match(r"http://([^/]*)/", link)[1]
        self.address = (self.host.partition(":")[0], int(self.host.partition(":")[2]))
        self.token = link.partition("token=")[2]
        answer = self.raw(f"GET /?token={self.token} HTTP/1.0\r\nHost: {self.host}\r\n\r\n")
        self.cookie = re.search(r"set-cookie: ([^;]*)", answer, re.I)[1]

    def raw(self, text: str | bytes, patience: float = 60) -> str:
        """What comes back for these very bytes; patience: seconds to wait for it."""
        sent = text.encode("latin-1") if isinstance(text, str) else text
        with socket.create_connection(self.address, timeout=patience) as connection:
            parts = []
            with suppress(ConnectionError, TimeoutError):  # it may hang up, or wait for more
                connection.sendall(sent)
                while part := connection.recv(65536):
                    parts.append(part)
        return b"".join(parts).decode("latin-1")

    def request(self, method="GET", path="/", body: str | None = None, *, patience=60, **headers):
        """A request as the page sends it, but for what is given; a header of '' is left out."""
        usual = {"Host": self.host, "Cookie": self.cookie, "Connection": "close"}
        if body is not None:
            usual |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/json",
                "X-Didact-Page": "0123456789abcdef",
                "Content-Length": str(len(body.encode())),
            }
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in usual.items() if value]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return self.raw(head.encode("latin-1") + (body or "").encode(), patience)

    def ask(self, kind: str, question, **headers: str) -> str:
        return self.request("POST", f"/ask/{kind}", json.dumps(question), **headers)


def status(answer: str) -> int:
    """Of an answer; 0 where there was none."""
    return int(answer.split(" ", 2)[1]) if answer.startswith("HTTP/1.1 ") else 0


def outsiders(client: Client):
    """Requests of those who must not come in, as (name, answer)."""
    hosts = [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "0.0.0.0",
        f"{client.host}.x",
        f"x@{client.host}",
        f"{client.host}, evil",
        "[::1]",
        "2130706433",
        "0x7f000001",
    ]
    origins = [
        "null",
        "http://evil.example",
        f"https://{client.host}",
        f"http://{client.host}.evil",
        "http://127.0.0.1",
        "file://",
        f"http://{client.host}/",
        f"HTTP://{client.host}@evil",
    ]
    cookies = [
        "x",
        "didact=",
        f"didact={client.token}",
        client.cookie[:-1],
        client.cookie + "x",
        client.cookie.replace("=", "=="),
        "=".join(reversed(client.cookie.split("=", 1))),
    ]
    for method, body in (("GET", None), ("POST", LOOK)):
        path = "/" if body is None else "/ask/look"
        for host in hosts:
            yield f"host {host}", client.request(method, path, body, Host=host)
        for origin in origins:
            yield f"origin {origin}", client.request(method, path, body, Origin=origin)
        for cookie in cookies:
            yield f"cookie {cookie}", client.request(method, path, body, Cookie=cookie)
        yield "no cookie", client.request(method, path, body, Cookie="")
    yield "no origin", client.request("POST", "/ask/look", LOOK, Origin="")
    yield "no host", client.raw("GET / HTTP/1.1\r\n\r\n", 0.5)
    yield "old", client.raw("GET / HTTP/1.0\r\n\r\n")
    for token in ("", "x", client.token[:-1], client.token + "x", "%00", "a" * 5000):
        yield f"token {token[:9]}", client.request("GET", f"/?token={token}", Cookie="")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"):
        yield f"method {method}", client.request(method, "/")


def intruders(client: Client):
    """Requests for what is not to be had."""
    paths = [
        "/etc/passwd",
        "/../etc/passwd",
        "/static/../../etc/passwd",
        "/static/..%2f..%2fsite.py",
        "/static/%2e%2e/site.py",
        "/static/....//site.py",
        "/static/site.py",
        "/static/",
        "/static/studio.js%00.css",
        "/static\\..\\site.py",
        "//etc/passwd",
        "/ask",
        "/ask/",
        "/ask/look",
        "/ask/../static/studio.js",
        "/.git/config",
        "/proc/self/environ",
        "/static/C:\\windows",
        "/static/%c0%ae%c0%ae/site.py",
        "/p/x",
        "/join",
    ]
    for path in paths:
        yield f"path {path}", client.request("GET", path)
    for kind in ("__class__", "eval", "look/", "../look", "LOOK", "look%00", "", "x" * 3000):
        yield f"question {kind[:9]}", client.request("POST", f"/ask/{kind}", LOOK)
    for world in (
        "os:system",
        "/etc/passwd",
        "file.json",
        "../x.json",
        "subprocess:run",
        "gymnasium",
        "ALE/../../x-v0",
        "http://evil/x.json",
        "module:Env-v0",
        "~/.ssh/id_rsa",
        "grid",
    ):
        yield f"world {world}", client.ask("open", {"world": world, "parameters": {}})
    for value in ("/etc/passwd", "__import__('os')", {"a": 1}, [1] * 1000, None, "9" * 400, 1e308):
        question = {"world": "random-grid", "parameters": {"size": value}}
        yield f"parameter {value!r:.20}", client.ask("open", question)


def monsters(client: Client):
    """Bodies that are too large, of a wrong type, too deep, or nonsense."""
    texts = [
        "",
        "{",
        "[",
        "nul",
        "NaN",
        "{}",
        "[]",
        "1",
        '"x"',
        "[" * 50_000,
        '{"a":' * 20_000,
        '{"painting": {}}',
        '{"painting": {}, "world": 1}',
        "\x00",
        "1e400",
        "-" * 99,
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        "9" * 100_000,
        "{}{}",
        "\ufeff{}",
    ]
    for text in texts:
        yield f"body {text[:9]!r}", client.request("POST", "/ask/look", text)
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json2",
        "text/html",
        "application/json, text/html",
    ):
        yield f"type {kind}", client.request("POST", "/ask/look", LOOK, Content_Type=kind)
    yield "large", client.request("POST", "/ask/look", " " * (5 * 2**20))
    for length in ("-1", "1e9", "99999999999999999999", "0x10", "2, 3"):
        yield (
            f"length {length}",
            client.request("POST", "/ask/look", LOOK, Content_Length=length, patience=0.5),
        )
    yield "header", client.request("GET", "/", X=f"{'y' * 100_000}")
    yield "path", client.request("GET", "/" + "z" * 100_000)
    yield (
        "smuggled",
        client.request("POST", "/ask/look", LOOK, Transfer_Encoding="chunked", patience=0.5),
    )
    for page in ("", "x", "../../x", "y" * 100, "0123456789ABCDEF"):
        yield f"page {page[:5]}", client.request("POST", "/ask/look", LOOK, X_Didact_Page=page)
    for change in (
        {"rows": ["a" * 31]},
        {"rows": ["a"] * 1000},
        {"slip": "9" * 99},
        {"discount": "1"},
        {"ends": [10**30]},
        {"ends": [-1]},
        {"starts": ["x"]},
        {"features": []},
        {"features": [["a", "1e9999", 0]]},
        {"name": "x" * 10_000},
        {"name": 3},
    ):
        yield f"painting {change!r:.30}", client.ask("look", {"painting": {**MEADOW, **change}})
    for kind in QUESTIONS:
        for question in (
            None,
            [],
            {"task": {"format": "didact.task/1"}},
            {"painting": None},
            {"task": {"format": "didact.family/1", "weights": [], "members": ["/etc/passwd"]}},
        ):
            yield f"{kind} {question!r:.20}", client.ask(kind, question)


def scripts(client: Client):
    """Scripts in every name: they come back as text or not at all."""
    hostile = {
        **MEADOW,
        "name": SCRIPT,
        "features": [[f"{SCRIPT}{i}", w, c] for i, (_, w, c) in enumerate(MEADOW["features"])],
    }
    for kind in ("look", "teach", "open", "quiz", "exam", "export"):
        yield f"script in {kind}", client.ask(kind, {"painting": hostile})


def markup_in(answer: str) -> list[str]:
    """The pieces of markup in an answer of the server."""
    body = json.loads(answer.partition("\r\n\r\n")[2])
    return [body[name] for name in ("html", "picture", "page") if body.get(name)]


@pytest.mark.slow
def test_three_hundred_attacks():
    with running("studio", "--no-open") as (process, link):
        client = Client(link)
        tried = 0
        for attacks in (outsiders, intruders, monsters):
            for name, answer in attacks(client):
                tried += 1
                assert status(answer) not in (200, 500), (name, answer[:300])
                assert "root:" not in answer, name
                assert "Traceback" not in answer, name
                assert "access-control-allow" not in answer.lower(), name
        for name, answer in scripts(client):
            tried += 1
            assert status(answer) in (200, 422), (name, answer[:300])
            for markup in markup_in(answer) if status(answer) == 200 else []:
                assert SCRIPT not in markup, name
        assert tried >= 230, tried
        many = [socket.create_connection(client.address) for _ in range(80)]
        for connection in many:
            connection.sendall(b"POST /ask/look HTTP/1.1\r\nHost: ")
            tried += 1
        assert tried >= 300, tried
        assert process.poll() is None
        assert status(client.request("POST", "/ask/look", LOOK)) == 200
        for connection in many:
            connection.close()


@pytest.mark.slow
def test_slow_clients_are_cut_off():
    with running("studio", "--no-open") as (_, link):
        client = Client(link)
        with socket.create_connection(client.address, timeout=60) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
            assert connection.recv(1000) == b""


N_CLIENTS, A_MINUTE = 200, 60.0


async def painter(client: Client, number: int, seconds: float) -> int:
    """Paint at random for so long; how many strokes. The last answer must be of the last world."""
    rng, painting = random.Random(number), dict(MEADOW)
    reader, writer = await asyncio.open_connection(*client.address)
    until, n_strokes = time.monotonic() + seconds, 0
    while not n_strokes or time.monotonic() < until:
        n_strokes += 1
        row = rng.randrange(9)
        line = list(painting["rows"][row])
        line[rng.randrange(9)] = rng.choice("abc")
        painting = {**painting, "rows": [*painting["rows"]]}
        painting["rows"][row] = "".join(line)
        body = json.dumps({"painting": {**painting, "ends": [], "starts": []}}).encode()
        head = (
            f"POST /ask/look HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            f"Cookie: {client.cookie}\r\nContent-Type: application/json\r\n"
            f"X-Didact-Page: {number:012d}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        told = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", told, re.I)[1])
        answer = await reader.readexactly(length)
        assert told.startswith("HTTP/1.1 200"), (told, answer)
        assert json.loads(answer)["values"]
    writer.close()
    wanted = looked_at(read_painting({**painting, "ends": [], "starts": []}))
    assert json.loads(answer)["values"] == pytest.approx(wanted["values"])
    return n_strokes


async def most_memory_of(process_id: int, seen: list[int]) -> None:
    """Keep the most MiB that a process and its children have had, until cancelled."""
    while True:
        seen[:] = [max([*seen, memory_of(process_id)])]
        await asyncio.sleep(1)


def memory_of(process_id: int) -> int:
    """MiB that a process and its children have now."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            if (
                process_id in (int(path.parent.name), int(fields[1]))
                or parent_of(int(fields[1])) == process_id
            ):
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            continue
    return total // 2**20


def parent_of(process_id: int) -> int:
    try:
        return int(Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.slow
def test_two_hundred_clients_paint_for_a_minute():
    with running("studio", "--no-open") as (process, link):
        client = Client(link)

        async def crowd():
            await painter(client, 0, 0.0)
            before = memory_of(process.pid)
            most = [before]
            watch = asyncio.create_task(most_memory_of(process.pid, most))
            clients = (painter(client, i, A_MINUTE) for i in range(1, N_CLIENTS + 1))
            strokes = await asyncio.gather(*clients)
            watch.cancel()
            return before, most[0], strokes

        before, most, strokes = asyncio.run(crowd())
        print(f"{sum(strokes)} strokes of {len(strokes)} clients; {before} MiB, then {most} MiB")
        assert len(strokes) == N_CLIENTS
        assert min(strokes) > 1
        assert most < before + 500
        process.send_signal(signal.SIGINT)


def test_idle_strangers_crowd_out_nobody():
    """600 connections that say nothing; who has the cookie or the token is answered."""
    with running("studio", "--no-open") as (_, link):
        client = Client(link)
        idle = [socket.create_connection(client.address) for _ in range(600)]
        try:
            for _ in range(5):
                assert status(client.request()) == 200
            assert status(client.request(path=f"/?token={client.token}", Cookie="")) == 303
            until = time.monotonic() + 30.0
            while sum(map(is_open, idle)) > 100:
                assert time.monotonic() < until, "strangers beyond the limit stay"
                time.sleep(0.2)
        finally:
            for each in idle:
                each.close()


def is_open(connection) -> bool:
    """Whether the server has not closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
