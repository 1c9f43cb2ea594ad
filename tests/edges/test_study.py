"""Studies with people as they are run: from init to export, in browsers, through crashes."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from scipy.stats import ttest_ind

from didact.random import stream
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
        "--no-tutorial", "--tries", "0", "--no-attention",
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
        "--no-tutorial", "--tries", "0", "--no-attention",
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
    """The reply to JSON that is posted as the page would post it, again while the study is busy."""
    base = link.rstrip("/")
    headers = {"Content-Type": "application/json", "Origin": base}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    while True:
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.2)


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


# ---------------------------------------------------------------- a whole study

WHOLE = (
    "random-grid", "-p", "size=5", "-p", "n_features=2", "--seed", "3",
    "--conditions", "exact,none", "--questions", "4", "--practice", "1", "--paths", "1",
    "--path-steps", "3", "--rounds", "1", "--likert", "likert.txt", "--points", "5",
    "--confidence", "--comments", "--watch-seconds", "1", "--code", "C0DE-1",
    "--return-link", "https://app.prolific.com/submissions/complete?cc=C0DE-1&of={id}",
)  # fmt: skip
PROLIFIC = "?PROLIFIC_PID=5f0000000000000000000abc&STUDY_ID=s1&SESSION_ID=t1"
STATEMENTS = "# about the demonstrations\nI knew what to do.\nThe demonstrations helped me.\n"


def join_by_http(link: str) -> str:
    """The link of a new participant."""
    with urllib.request.urlopen(f"{link}consent") as answer:
        return sent(link, "/join", {"token": json.load(answer)["token"]})["link"]


def http_participant(link: str, person: str, design, number: int) -> str:
    """Take part as the page would, by HTTP; the kind of the last step.

    Number 5 sends each answer twice, 6 fails the attention item, 7, 12 and 13 leave early.
    """
    rng, base = stream(7, "participant", number), link.rstrip("/")
    twice, fails = number == 5, number == 6
    stops_at = {7: "path", 12: "lesson", 13: "test"}.get(number)
    with urllib.request.urlopen(f"{base}{person}/step") as answer:
        told = json.load(answer)
    order = None
    while told["kind"] not in ("done", "excluded", stops_at):
        kind = told["kind"]
        assert not {"correct", "best"} & set(told)
        assert "right" not in told or kind == "tutorial"
        given = {"step": told["step"], "seconds": 1.5, "confidence": 3, "comment": "=1+1"}
        if kind in ("practice", "test", "retest"):
            order = order or design.steps(number)
            (_, place), knows = order[told["step"]], design.condition_of(number) == "exact"
            is_right = rng.random() < (0.9 if knows else 0.4)
            wrong = [a for a in range(4) if a not in design.right[place]]
            given["action"] = design.right[place][0] if is_right else wrong[0]
        elif kind == "gate":
            given["detail"] = [1, 1, 0]
        elif kind == "likert":
            given["detail"] = [1 + number % 5, 4]
        elif kind == "path":
            given["detail"] = path_by_http(base + person, told)
        elif kind in ("lesson", "again"):
            given["detail"] = {"watched": [[1, 2, 0, 3.25]] if told["parts"] else []}
            if told.get("seconds"):
                time.sleep(told["seconds"] + 0.01)
        else:
            given["action"] = 0 if kind == "attention" and fails else 1
        told, before = sent(link, f"{person}/answer", given), told
        if twice:
            assert sent(link, f"{person}/answer", given) == told, before
    return str(told["kind"])


def path_by_http(person: str, told: dict) -> list[list[int]]:
    path, here = [], told
    while len(path) < told["steps"] and not here["ends"]:
        path.append([here["state"], 3])
        with urllib.request.urlopen(f"{person}/world/{told['member']}/{here['next'][3]}") as answer:
            here = json.load(answer)
    return path


def tab_to(page, selector: str) -> None:
    """Reach an element as people do who have no mouse."""
    for _ in range(150):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no Tab leads to {selector}")


def answer_by_keyboard(page, kind: str) -> None:
    """Answer a step as far as it takes before the button that goes on."""
    if kind == "gate":
        for i, answer in enumerate(("1", "1", "0")):
            tab_to(page, f"[name=question-{i}]")
            page.keyboard.press("Space")
            for _ in range(int(answer)):
                page.keyboard.press("ArrowDown")
    elif kind == "likert":
        for i in range(2):
            tab_to(page, f"[name=question-{i}]")
            page.keyboard.press("Space")
    elif kind == "path":
        for i in range(3):
            tab_to(page, "[data-action='3']:not([disabled])")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#step .path li:nth-child({i + 1})")
    elif kind in ("tutorial", "practice", "test", "retest", "attention"):
        tab_to(page, "[data-action='1']")
        page.keyboard.press("Enter")
        if kind not in ("tutorial", "attention"):
            page.wait_for_selector("#sure")
            assert page.get_attribute("[data-action='1']", "aria-pressed") == "true"
            tab_to(page, "#sure ~ button")
            page.keyboard.press("Enter")
    elif kind == "lesson" and page.query_selector(".demo"):
        tab_to(page, "[data-do=play]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#step > .main:not([disabled])")


def by_keyboard(page, reload_at: str) -> list[str]:
    """Go through all steps by the keyboard alone; the kinds of steps, each free of violations."""
    kinds = []
    while True:
        kind, at = (page.get_attribute("#step", f"data-{name}") for name in ("kind", "step"))
        if kind == reload_at and kind not in kinds:
            page.reload()
            page.wait_for_selector(f"#step[data-step='{at}']")
        if kind not in kinds:
            assert broken_rules(page) == [], kind
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind
        kinds.append(kind)
        if kind in ("done", "excluded", "declined"):
            return kinds
        answer_by_keyboard(page, kind)
        if kind not in ("practice", "test", "retest", "attention"):
            tab_to(page, "#step .main:not([disabled])")
            page.keyboard.press("Enter")
        page.wait_for_selector(f"#step:not([data-step='{at}'])")


def analysed(*command: str) -> list[dict]:
    """The table that a script of the analysis prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@in_browser
def test_a_whole_study_from_init_to_its_analysis(browser, didact, in_own_folder):
    """Twenty people: one in a browser from Prolific, with a reload; two leave, one sends twice."""
    Path("likert.txt").write_text(STATEMENTS, encoding="utf-8")
    assert didact("study", "init", "s.sqlite", *WHOLE).code == 0
    told = didact("study", "preregister", "s.sqlite", "--out", "plan", "-n", "12")
    assert told.code == 0, told
    plan = Path("plan/preregistration.md").read_text(encoding="utf-8")
    assert "| in each condition | power of one test |" in plan
    records = Records("s.sqlite")
    design = records.design
    records.close()
    with serving("s.sqlite") as (_, link):
        context = browser.new_context(viewport=PHONE, bypass_csp=True)
        page, troubles = context.new_page(), []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(link + PROLIFIC)
        page.wait_for_selector("#step[data-kind=consent]")
        assert broken_rules(page) == []
        page.click("text=I do not agree")
        assert by_keyboard(page, "none") == ["declined"]
        page.click("text=Back to the first page")
        page.click("text=I agree")
        page.wait_for_selector("#step[data-kind=intro]")
        link_of_person = urlsplit(page.url).path
        page.goto(link + PROLIFIC)
        page.wait_for_selector("#step[data-kind=intro]")
        assert urlsplit(page.url).path == link_of_person
        kinds = by_keyboard(page, reload_at="test")
        back = page.get_attribute("#step a", "href")
        assert back.endswith("cc=C0DE-1&of=5f0000000000000000000abc")
        assert page.inner_text("#step .code") == "C0DE-1"
        assert troubles == []
        context.close()
        with urllib.request.urlopen(f"{link}consent") as answer:
            token = json.load(answer)["token"]
        again = {"token": token, "query": dict(parse_qsl(PROLIFIC[1:]))}
        assert sent(link, "/join", again)["link"] == link_of_person
        people = [(number, join_by_http(link)) for number in range(1, 20)]
        with ThreadPoolExecutor(6) as pool:
            take_part = lambda who: http_participant(link, who[1], design, who[0])  # noqa: E731
            ends = list(pool.map(take_part, people))
    assert Counter(ends) == {"done": 16, "path": 1, "lesson": 1, "test": 1}
    assert set(kinds) == {step for step, _ in design.steps(0)} - {"consent"} | {"done"}
    checked_analysis(didact, design)


@pytest.mark.slow
def test_two_hundred_people_at_once(didact, in_own_folder):
    assert didact("study", "init", "s.sqlite", *WHOLE[:13], "--comments").code == 0
    records = Records("s.sqlite")
    design = records.design
    records.close()
    with serving("s.sqlite") as (_, link), ThreadPoolExecutor(100) as pool:
        people = list(pool.map(join_by_http, [link] * 200))
        numbers = range(20, 220)
        ends = list(pool.map(http_participant, [link] * 200, people, [design] * 200, numbers))
    assert ends == ["done"] * 200
    records = Records("s.sqlite")
    assert {each["steps"] for each in records.participants()} == {len(design.steps(0))}
    assert Counter(p["condition"] for p in records.participants()) == {"exact": 100, "none": 100}
    records.close()


def checked_analysis(didact, design) -> None:
    """The export, and the same numbers from Python, from R and from SciPy's own test."""
    assert didact("study", "export", "s.sqlite", "--out", "results").code == 0
    with open("results/participants.csv", encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file))
    assert len(people) == 20
    assert (people[0]["platform"], people[0]["session"]) == ("prolific", "t1")
    assert Counter(person["condition"] for person in people) == {"exact": 10, "none": 10}
    assert [p["participant"] for p in people if p["finished"] == "0"] == ["12", "13"]
    assert [p["participant"] for p in people if p["attention"] == "0"] == ["6"]
    assert float(people[0]["watched"]) > 0 or people[0]["condition"] == "none"
    with open("results/likert.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * 17
    with open("results/paths.csv", encoding="utf-8", newline="") as file:
        assert {row["position"] for row in csv.DictReader(file)} >= {"1"}
    book = Path("results/codebook.md").read_text(encoding="utf-8")
    assert "| 0 | 3 | right |" in book
    assert "| row 1, column" in book
    kept = [p for p in people if p["finished"] == "1" and p["attention"] != "0"]
    one, other = (
        [float(p["score"]) for p in kept if p["condition"] == name] for name in ("exact", "none")
    )
    wanted = ttest_ind(one, other, equal_var=False)
    found = analysed(sys.executable, "plan/analysis.py", "results", "none")
    (row,) = (each for each in found if each["row"] == "difference")
    assert (int(row["n"]), float(row["p"])) == (17, pytest.approx(wanted.pvalue))
    assert float(row["t"]) == pytest.approx(wanted.statistic)
    assert f"{float(row['estimate']):+.3f}" in Path("results/report.md").read_text("utf-8")
    if shutil.which("Rscript"):
        in_r = analysed("Rscript", "plan/analysis.R", "results", "none")
        assert [(r["row"], r["condition"]) for r in in_r] == [
            (r["row"], r["condition"]) for r in found
        ]
        for mine, theirs in zip(found, in_r, strict=True):
            for name in ("n", "estimate", "low", "high", "t", "df", "p", "p_holm", "g"):
                assert bool(mine[name]) == bool(theirs[name]), name
                if mine[name]:
                    assert float(mine[name]) == pytest.approx(float(theirs[name]), abs=1e-9)


def test_nonsense_is_refused_in_one_line(didact, in_own_folder):
    from tests.command_line import refused

    refused(didact("study", "export", "nothing.sqlite"), "no such study")
    refused(didact("study", "init", "s.sqlite", "six-cell"), "states that no condition shows")
    refused(didact("study", "init", "s.sqlite", "chain", "--conditions", "exact,x"), "condition")
