"""The studio's site: its page, its files, its questions; sizes, types and names are checked."""

import asyncio
import json
import re

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from starlette.exceptions import HTTPException
from starlette.requests import Request

from didact.studio.pool import Limits
from didact.studio.questions import MEADOW
from didact.studio.site import LARGEST_QUESTION, assets, read_body, studio_site
from tests.studio.asgi import ask, asked

PAGE = ("X-Didact-Page", "0123456789abcdef")
JSON = ("Content-Type", "application/json")
TYPE = [(b"content-type", b"application/json; charset=utf-8")]
IMPORT = re.compile(r'from "\./([a-z_]+\.js)"')
HOSTILE = '"><script>hacked=1</script>'


@pytest.fixture
def site():
    return studio_site(Limits(n_workers=1), {"painting": {**MEADOW, "name": HOSTILE}})


def test_the_page_runs_only_scripts_in_files(site):
    answer = asked(site)
    assert answer.status == 200
    assert answer.body.count("<script") == 1
    assert '<script type="module" src="/static/studio.js"></script>' in answer.body
    assert " onclick" not in answer.body
    assert " style=" not in answer.body
    assert HOSTILE not in answer.body


def test_the_page_names_all_its_modules_before_it_needs_them(site):
    named = re.findall(r'<link rel="modulepreload" href="(/static/[a-z_]+\.js)">', asked(site).body)
    texts = {path: asked(site, path=path).body for path in named}
    assert "/static/studio.js" in texts
    assert {f"/static/{name}" for text in texts.values() for name in IMPORT.findall(text)} < {
        *texts
    }


def test_scripts_are_small():
    sizes = [len(body) for kind, body in assets().values() if kind == "text/javascript"]
    assert sum(sizes) < 150_000


def test_pages_and_studio_share_their_modules(site):
    shared = asked(site, path="/static/player.js")
    assert shared.status == 200
    assert "export function player(" in shared.body
    assert shared.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "path",
    ["/static/", "/static/..", "/static/../site.py", "/static/%2e%2e/site.py", "/static/site.py",
     "/static//etc/passwd", "/static/studio.html.jinja", "/etc/passwd", "/ask/", "/ask/look/x",
     "/static/studio.js\0"],
)  # fmt: skip
def test_nothing_else_is_served(site, path):
    assert asked(site, path=path).status in (404, 405)


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        ("/ask/nothing", [PAGE, JSON], b"{}", 404),
        ("/ask/__class__", [PAGE, JSON], b"{}", 404),
        ("/ask/look", [JSON], b"{}", 400),
        ("/stage/look", [PAGE, JSON], b"{}", 405),
        ("/ask/look", [("X-Didact-Page", "../../x"), JSON], b"{}", 400),
        ("/ask/look", [PAGE], b"{}", 415),
        ("/ask/look", [PAGE, ("Content-Type", "text/plain")], b"{}", 415),
        ("/ask/look", [PAGE, ("Content-Type", "multipart/form-data")], b"{}", 415),
        ("/ask/look", [PAGE, JSON, ("Content-Length", str(10**12))], b"{}", 413),
        ("/ask/look", [PAGE, JSON, ("Content-Length", "-1")], b"{}", 413),
        ("/ask/look", [PAGE, JSON, ("Content-Length", "x")], b"{}", 413),
    ],
)
def test_questions_are_checked_before_they_are_asked(site, path, headers, body, status):
    answer = asked(site, "POST", path, headers, body=body)
    assert answer.status == status
    assert "\n" not in json.loads(answer.body)["error"]


def test_stages_are_told_to_the_page_that_asks(site):
    assert json.loads(asked(site, path="/stage/teach", headers=[PAGE]).body) == {"stage": None}
    assert asked(site, path="/stage/nothing", headers=[PAGE]).status == 404
    assert asked(site, path="/stage/teach").status == 400


def test_a_body_that_grows_too_large_is_refused(site):
    body = b" " * (LARGEST_QUESTION + 1)
    assert asked(site, "POST", "/ask/look", [PAGE, JSON], body=body, chunk=2**16).status == 413


def test_a_question_is_answered_or_refused_by_its_status(site):
    async def work():
        await site.state.pool.start()
        try:
            questions = ({"painting": dict(MEADOW)}, {"painting": {}}, {"world": "/etc/passwd"})
            bodies = [json.dumps(each).encode() for each in questions]
            return [await ask(site, "POST", "/ask/look", [PAGE, JSON], body=b) for b in bodies]
        finally:
            await site.state.pool.stop()

    right, *wrong = asyncio.run(work())
    assert right.status == 200
    assert len(json.loads(right.body)["values"]) == 81
    assert [answer.status for answer in wrong] == [422, 422]


def read(receive, most=100):
    async def run():
        return await read_body(Request({"type": "http", "headers": TYPE}, receive), most)

    return asyncio.run(run())


def test_parts_are_put_together():
    parts = [b"ab", b"", b"c"]

    async def receive():
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    assert read(receive) == b"abc"


def test_a_slow_body_is_given_up(monkeypatch):
    monkeypatch.setattr("didact.studio.site.BODY_SECONDS", 0.0)

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
