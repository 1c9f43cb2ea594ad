"""The static site in a browser: from a file and below a sub-path, with no request after load."""

import base64
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser import CHROMIUM, CUT_OFF, DESK, PHONE, broken_rules

pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette", reason="the studio is an extra")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from didact.studio.questions import PRESETS
    from didact.studio.static_site import export_site

    folder = tmp_path_factory.mktemp("class") / "course" / "site"
    export_site(folder, [PRESETS[0], PRESETS[4]])
    return folder


@pytest.fixture(scope="module")
def address(site):
    """The site below a sub-path of a plain web server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *told):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.parent.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course/site/index.html"
    server.shutdown()
    server.server_close()


def told(page) -> str:
    page.wait_for_selector("#panel-lesson .verdict:not(:empty)")
    return page.inner_text("#panel-lesson .verdict")


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("way", ["file", "server"])
def test_all_of_it_is_there_without_a_request(browser, site, address, way, viewport):
    context = browser.new_context(viewport=viewport, bypass_csp=True)
    page, troubles, requests = context.new_page(), [], []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto((site / "index.html").as_uri() if way == "file" else address)
    page.wait_for_load_state("networkidle")
    page.on("request", lambda request: requests.append(request.url))
    for name in ("Shortcut", "Frozen lake"):
        page.click(f"#presets button:has-text('{name}')")
        assert "step" in told(page)
        for tab in ("cone", "teacher", "asked", "export", "learner", "exam"):
            page.click(f"#tab-{tab}")
            if tab == "learner":
                page.click("#panel-learner .main")
                while page.locator("#panel-learner .asking button").count():
                    page.locator("#panel-learner .asking button").first.click()
                page.wait_for_selector("#panel-learner[data-scored]")
                assert "You: " in page.inner_text("#panel-learner .verdict")
            if tab == "exam":
                page.click("#panel-exam .main")
                page.wait_for_selector("#panel-exam[data-asked] form .main")
                page.click("#panel-exam form .main")
                page.wait_for_selector("#panel-exam[data-graded]")
                assert "Correct:" not in page.inner_text("#panel-exam")
            if tab in ("teacher", "asked"):
                assert "run `didact studio`" in page.inner_text(f"#panel-{tab}")
            assert broken_rules(page) == []
            assert page.evaluate(CUT_OFF) == []
        page.click("#tab-lesson")
    assert page.locator("#open-world").is_disabled()
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == []
    assert troubles == []
    context.close()


def test_links_open_their_world_and_others_are_told(browser, site):
    from didact.studio.questions import PRESETS

    page = browser.new_page()
    start = (site / "index.html").as_uri()
    lake, other = PRESETS[4][1], PRESETS[1][1]
    for subject, is_there in ((lake, True), (other, False)):
        code = base64.urlsafe_b64encode(json.dumps(subject).encode()).decode().rstrip("=")
        page.goto("about:blank")
        page.goto(f"{start}#{code}")
        told(page)
        assert (page.input_value("#name") == "FrozenLake-v1") == is_there
        assert bool(page.inner_text("#link-problem")) != is_there
    page.goto((site / "lessons" / "frozen-lake-2.html").as_uri())
    page.click("text=Open this world in the studio")
    told(page)
    assert page.input_value("#name") == "FrozenLake-v1"
    page.close()


def test_the_command_writes_it(didact, in_own_folder):
    answer = didact("studio", "six-cell", "--export", "site")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("a site of 1 world: site/index.html")
    assert didact("studio", "six-cell", "--add", "garnet").code == 2
