"""In a browser: pictures of studies and games are the same, byte for byte, for fifty rewards."""

import base64
import json
import random
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.browser import CHROMIUM
from tests.edges.studio_server import running, settled, visit
from tests.effort import number

pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette", reason="the studio is an extra")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

N_REWARDS = number(12, 50)
GROUNDS = ("floor", "snack", "dock", "mud")
ROWS = ["aaab", "a#da", "adac"]

SEEN = """() => JSON.stringify([
  document.querySelector("#board .picture").innerHTML, document.querySelector("#key").innerHTML,
  document.querySelector("#status").textContent,
  [...document.querySelectorAll(".cell")].map((cell) => cell.outerHTML),
])"""
GAME = """() => JSON.stringify([...document.querySelector("#panel-learner").querySelectorAll(
  "svg.stock, .legend, .key")].map((each) => each.outerHTML))"""


def rewards():
    """Weights of floor, snack, dock and mud: above all, which end pays more changes."""
    rng = random.Random(1)
    return [
        [rng.randint(-3, 0), *rng.sample(range(-12, 13), 2), rng.randint(-9, 3)]
        for _ in range(N_REWARDS)
    ]


def painting(weights) -> dict:
    return {
        "name": "harbour",
        "rows": ROWS,
        "features": [[n, str(w), i] for i, (n, w) in enumerate(zip(GROUNDS, weights, strict=True))],
        "ends": [3, 11],
        "starts": [],
        "slip": "0",
        "discount": "0.9",
    }


def test_games_show_the_same_for_all_rewards(browser):
    boards, lessons = set(), set()
    with running("studio", "--no-open") as (_, link), visit(browser, link) as page:
        for i, weights in enumerate(rewards()):
            subject = json.dumps({"painting": painting(weights)}).encode()
            page.evaluate("(hash) => { location.hash = hash; }",
                          base64.urlsafe_b64encode(subject).decode().rstrip("="))  # fmt: skip
            page.wait_for_function("(w) => document.querySelector('#grounds .weight')?.value === w",
                                   arg=str(weights[0]))  # fmt: skip
            settled(page)
            for tab in ("asked", "exam", "learner")[0 if i < 5 else 2 :]:
                page.click(f"#tab-{tab}")
                boards.add(page.evaluate(SEEN))
            if i < 20:
                page.click("#panel-learner .main")
                done = "#panel-learner svg.stock, #panel-learner .status:text('nothing')"
                page.wait_for_selector(done, state="attached")
                lessons.add(page.evaluate(GAME))
            page.click("#tab-lesson")
    assert len(boards) == 1
    assert len(lessons - {"[]"}) == 1
    assert all(name in next(iter(boards)) for name in GROUNDS)


def test_studies_show_the_same_for_all_rewards(browser, tmp_path):
    from didact.mdp.files import task_document
    from didact.studies.people.design import design_study
    from didact.studies.people.records import Records
    from didact.studio.study_site import study_site
    from didact.studio.study_stage import staged
    from didact.studio.worlds import read_painting
    from tests.studio.asgi import asked

    pictures: dict[str, set[str]] = {}
    page = browser.new_page()
    with ThreadPoolExecutor(1) as pool:
        for i, weights in enumerate(rewards()):
            task = read_painting(painting(weights)).task()
            made = {"conditions": ("exact", "none"), "n_questions": 3, "n_practice": 0, "seed": i}
            try:
                design = design_study(task, **made)
            except Exception:  # this reward leaves nothing to ask about
                continue
            path = str(tmp_path / f"{i}.sqlite")
            Records.create(path, design, task_document(task)).close()
            records = Records(path)
            site = study_site(records, staged(records))

            def answer(route, request, site=site):
                body = request.post_data_buffer or b""
                headers = [("Content-Type", "application/json")]
                path = urlsplit(request.url).path
                told = pool.submit(asked, site, request.method, path, headers, "", body).result()
                route.fulfill(status=told.status, headers=told.headers, body=told.body)

            page.unroute_all()
            page.route("**/*", answer)
            page.goto("http://study.test/")
            page.click("text=I agree")
            page.wait_for_selector("#step[data-kind=lesson]")
            page.click("#step > .main")
            for step in range(3):
                page.wait_for_selector(f"#step[data-kind=test][data-step='{step + 2}']")
                place = page.inner_text("#step h2 ~ p")
                shown = page.evaluate(
                    "[...document.querySelectorAll('#step svg, #step .legend, #step .key')]"
                    ".map((each) => each.outerHTML).join('')"
                )
                pictures.setdefault(place, set()).add(shown)
                page.click("[data-action='0']")
            records.close()
    page.close()
    assert sum(map(len, pictures.values())) == len(pictures)
    assert len(pictures) > 3
    assert all("snack" in each and "dock" in each for shown in pictures.values() for each in shown)
