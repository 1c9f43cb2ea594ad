"""Studies with people as they are run: from init to export, in browsers, through crashes."""

import json
import os
import signal
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from didact.studies.people.records import Records
from tests.browser import CHROMIUM, DESK, PHONE, broken_rules
from tests.edges.studio_server import serving

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette", reason="the studio is an extra")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture
def study(didact, in_own_folder):
    made = didact(
        "study", "init", "s.sqlite", "random-grid", "-p", "size=6", "-p", "n_features=2",
        "--questions", "4", "--practice", "1", "--confidence", "--comments",
    )  # fmt: skip
    assert made.code == 0, made
    return "s.sqlite"


def take(page, reload_at: int | None = None) -> dict[str, list[str]]:
    """Go through all steps of a participant's page; what each kind of step said."""
    told = {}
    page.wait_for_selector("#step[data-kind=consent]")
    page.click("text=I agree")
    page.wait_for_selector("#step[data-kind=practice]")
    while (kind := page.get_attribute("#step", "data-kind")) != "done":
        at = page.get_attribute("#step", "data-step")
        told.setdefault(kind, []).append(page.inner_text("#step").partition("\n\n")[2])
        if reload_at is not None and at == str(reload_at):
            page.reload()
            page.wait_for_selector(f"#step[data-step='{at}']")
        if kind == "lesson":
            page.click("#step > .main")
        elif kind == "comments":
            page.fill("textarea", "<b>fine</b>")
            page.click("text=Finish")
        else:
            page.locator("[data-action='2']").click()
            page.click("text=certain")
        page.wait_for_selector(f"#step:not([data-step='{at}'])")
    return told


@in_browser
def test_a_person_takes_part_on_a_phone_and_comes_back(browser, study, didact):
    with serving(study) as (_, link):
        troubles = []
        context = browser.new_context(viewport=PHONE, color_scheme="dark", bypass_csp=True)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(link)
        page.wait_for_selector("#step[data-kind=consent]")
        assert broken_rules(page) == []
        take(page, reload_at=3)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert broken_rules(page) == []
        assert troubles == []
        context.close()
    records = Records(study)
    kept = records.answers()
    records.close()
    steps = ["consent", "practice", "lesson", *["test"] * 4, "comments"]
    assert [row["kind"] for row in kept] == steps
    assert kept[-1]["comment"] == "<b>fine</b>"
    assert didact("study", "export", study, "--out", "out").code == 0
    assert "| 1 |" in Path("out/report.md").read_text(encoding="utf-8")
    assert didact("study", "delete", study, "0").out == "participant 0 and 8 answers are gone\n"


@in_browser
@pytest.mark.slow
def test_a_family_is_taken_world_by_world(browser, didact, in_own_folder):
    made = didact(
        "study", "init", "f.sqlite", "random-grid", "-p", "size=5", "-p", "n_features=3",
        "--members", "4", "--seed", "2", "--unseen", "3", "--conditions", "exact,scot",
        "--questions", "2", "--practice", "1", "--confidence",
    )  # fmt: skip
    assert made.code == 0, made
    with serving("f.sqlite") as (_, link):
        troubles = []
        context = browser.new_context(viewport=DESK)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.goto(link)
        told = take(page)
        context.close()
    assert [words.startswith("You are in world 4, ") for words in told["test"]] == [True] * 2
    assert "In world" in told["lesson"][0]
    assert troubles == []
    records = Records("f.sqlite")
    assert [row["member"] for row in records.answers() if row["kind"] == "test"] == [3, 3]
    records.close()


def sent(link: str, path: str, body: dict) -> dict:
    """The reply to JSON that is posted as the page would post it."""
    base = link.rstrip("/")
    headers = {"Content-Type": "application/json", "Origin": base}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def killed_and_kept(study: str, n_kills: int) -> None:
    """What the server acknowledged before it was killed is there, every time."""
    acknowledged = []
    for kill in range(n_kills):
        with serving(study) as (process, link):
            person = sent(link, "/join", {"token": f"the-token-of-{kill:06}"})["link"]
            acknowledged.append((kill, 0))
            for step in range(1, 1 + kill % 7):
                answer = {"step": step, "action": 0, "confidence": 1, "comment": ""}
                sent(link, f"{person}/answer", answer)
                acknowledged.append((kill, step))
            os.kill(process.pid, signal.SIGKILL)
    records = Records(study)
    kept = {(row["participant"], row["step"]) for row in records.answers()}
    records.close()
    assert {*acknowledged} <= kept


def test_what_was_acknowledged_survives_a_kill_of_the_server(study):
    killed_and_kept(study, 2)


@pytest.mark.slow
def test_fifty_kills_lose_nothing(study):
    killed_and_kept(study, 50)


@pytest.mark.slow
@in_browser
def test_fifty_participants_in_ten_browsers_at_once(study):
    all_there = threading.Barrier(10)

    def five_people(link: str) -> list[tuple[float, float]]:
        """In a browser of their own, one after the other; when each came and went."""
        with playwright.sync_playwright() as started:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            all_there.wait()
            times = []
            for _ in range(5):
                context = browser.new_context(viewport=DESK)
                context.set_default_timeout(0)
                page = context.new_page()
                began = time.monotonic()
                page.goto(link)
                take(page)
                times.append((began, time.monotonic()))
                context.close()
            browser.close()
        return times

    with serving(study) as (_, link), ThreadPoolExecutor(10) as pool:
        times = list(pool.map(five_people, [link] * 10))
    assert max(first[0][0] for first in times) < min(first[0][1] for first in times)
    records = Records(study)
    people, kept = records.participants(), records.answers()
    records.close()
    assert len(people) == 50
    assert all(person["steps"] == 8 for person in people)
    assert len(kept) == 400
    sizes = [sum(p["condition"] == name for p in people) for name in ("exact", "random", "none")]
    assert max(sizes) - min(sizes) <= 1


def test_nonsense_is_refused_in_one_line(didact, in_own_folder):
    from tests.command_line import refused

    refused(didact("study", "export", "nothing.sqlite"), "no such study")
    refused(didact("study", "init", "s.sqlite", "six-cell"), "states that no condition shows")
    refused(didact("study", "init", "s.sqlite", "chain", "--conditions", "exact,x"), "condition")
