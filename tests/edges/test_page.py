"""The lesson page in a real browser: it renders, plays, stays offline and can be used by all."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from didact import certify, equivalence_class, from_minigrid, frontier, make, observe, teach
from didact.report.page.lesson import lesson_fragment, lesson_page, task_fragment
from didact.report.page.simulators import simulator_page
from didact.report.page.templates import static_text
from tests.browser import AXE, CHROMIUM, CUT_OFF, DESK, PHONE, SMALL, broken_rules
from tests.report.drawn import HOSTILE, WORLDS

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "docs" / "reproduction" / "index.html"
OBSERVED = ("observed lines", "observed frames")
DRAWN = """() => [...document.querySelectorAll("svg[role=img]")]
  .filter((e) => e.getClientRects().length)
  .map((e) => e.getBoundingClientRect()).map((box) => [box.width, box.right])"""
"""Width and right end of every picture that is seen."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page of each world, written when it is first asked for."""
    return tmp_path_factory.mktemp("pages")


def room():
    pytest.importorskip("minigrid")
    return from_minigrid("MiniGrid-DoorKey-5x5-v0")


def watched(name: str):
    """The page of a policy in a simulator, its clips as lines or as frames."""
    given = {"discount": 0.9, "n_rollouts": 3, "length": 4}
    if name == "observed lines":
        seen = observe("lqr", **given)
    else:
        seen = observe("CartPole-v1", lambda o: int(o[2] > 0), features=lambda o, a, n, e: [1.0],
                       tolerance=1.0, **given)  # fmt: skip
    return simulator_page(certify(seen, teach(seen), n_states=8, extend=False))


def written(folder, name: str, **options):
    path = folder / f"{name}{len(options)}.html"
    if name in OBSERVED and not path.exists():
        path.write_text(watched(name))
    if not path.exists():
        task = room() if name == "room" else WORLDS[name]()
        bec = equivalence_class(task)
        lesson = teach(task, bec=bec, trim=False)
        path.write_text(lesson_page(task, lesson, bec=bec, **options))
    return path


@pytest.fixture(scope="module")
def window(browser):
    """One page for each kind of window: opening another takes longer than a test."""
    pages = {}

    def find(*, clock=True, **options):
        kind = (clock, *options.items())
        if kind not in pages:
            pages[kind] = page = browser.new_context(**options).new_page()
            troubles = page.troubles = []
            page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on("dialog", lambda dialog: troubles.append("a dialog opened"))
            page.on("request", lambda request: troubles.extend(loaded_from_elsewhere(request)))
            if clock:
                page.clock.install()
        return pages[kind]

    yield find
    for page in pages.values():
        page.context.close()


def loaded_from_elsewhere(request) -> list[str]:
    return [] if request.url.startswith(("file:", "data:")) else [request.url]


@pytest.fixture
def opened(window):
    """Open a file; at the end nothing was wrong and nothing was asked of the network."""
    pages = []

    def run(path, viewport=DESK, *, color_scheme="light", reduced_motion="no-preference", **kind):
        page = window(**kind)
        page.troubles.clear()
        pages.append(page)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        page.goto(path.as_uri())
        return page

    yield run
    assert [page.troubles for page in pages] == [[]] * len(pages)


def say(page, demo: str = "#demo1") -> str:
    return page.locator(f"{demo} .now").inner_text()


def place(page, token: str = "agent") -> str:
    return page.locator(f'#demo1 [data-token="{token}"]').get_attribute("transform")


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [(PHONE, "dark"), pytest.param(DESK, "light", marks=pytest.mark.slow)],
)
def test_pages_render_without_trouble_and_fit_the_screen(opened, folder, viewport, scheme):
    names = [name for name in WORLDS if name != "walls"]
    page = opened(written(folder, names[0]), viewport, color_scheme=scheme)
    for name in names:  # in one window: opening another takes longer than a page
        page.goto(written(folder, name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], name
        assert page.locator(".verdict").is_visible(), name
        assert page.title().startswith(page.locator("h1").inner_text()[:20]), name
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", ground))) > 3 * 128
        assert light == (scheme == "light"), name
        for width, right in page.evaluate(DRAWN):
            assert right <= viewport["width"], name
            assert width > 20, name


QUICK = [(name, SMALL) for name in ("room", "lake for people",
                                         *OBSERVED)]  # fmt: skip
EVERY = [
    (name, size)
    for size in (SMALL, DESK)
    for name in (*WORLDS, "room", "studies", *OBSERVED, *(f"{w} for people" for w in WORLDS))
]


def test_pages_are_held_against_the_rules_of_axe():
    if AXE is None:
        pytest.skip("axe-core is not installed: `make axe` (needs npm)")
    assert "axe v4." in AXE.read_text(encoding="utf-8")[:200]


@pytest.mark.parametrize(
    ("name", "viewport"),
    [*QUICK, *(pytest.param(*c, marks=pytest.mark.slow) for c in EVERY if c not in QUICK)],
)
def test_nothing_is_cut_off_and_all_can_use_it(opened, folder, name, viewport):
    """On a small phone and on a desk; the rules for all are those of axe, where that is there."""
    world, _, people = name.partition(" for ")
    options = {"audience": people} if people else {}
    path = STUDIES if name == "studies" else written(folder, world, **options)
    page = opened(path, viewport, clock=False, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert broken_rules(page) == []


def test_buttons_slider_and_keys_step_through_it(opened, folder):
    page = opened(written(folder, "six-cell"))
    assert say(page).startswith("Step 1 of 4: row 1, column 3, on white. Action: down.")
    first = place(page)
    page.click("#demo1 [data-do=next]")
    assert say(page).startswith("Step 2 of 4: row 2, column 3")
    assert place(page) != first
    page.click("#demo1 [data-do=back]")
    assert place(page) == first
    page.click("#demo1 [data-do=back]")
    assert say(page).startswith("Step 1 of 4")
    demo = page.locator("#demo1")
    demo.focus()
    for key, wanted in (
        ("ArrowRight", "Step 2"), ("ArrowRight", "Step 3"), ("ArrowLeft", "Step 2"),
        ("End", "The end: row 1, column 1"), ("ArrowRight", "The end"), ("Home", "Step 1"),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert say(page).startswith(wanted)
    slider = page.locator("#demo1 input")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert say(page).startswith("Step 2")
    assert slider.get_attribute("aria-valuetext") == say(page)
    assert page.locator("#demo1 [aria-current=step]").count() == 1


def test_play_goes_to_the_end_pauses_and_begins_again(opened, folder):
    page = opened(written(folder, "six-cell"))
    button = page.locator("#demo1 [data-do=play]")
    button.click()
    assert button.get_attribute("aria-label") == "Pause"
    assert page.locator("#demo1 .now").get_attribute("aria-live") == "off"
    page.clock.run_for(800)
    assert say(page).startswith("Step 2")
    button.click()
    page.clock.run_for(3000)
    assert say(page).startswith("Step 2")
    assert page.locator("#demo1 .now").get_attribute("aria-live") == "polite"
    button.click()
    page.clock.run_for(10_000)
    assert say(page).startswith("The end")
    assert button.get_attribute("aria-label") == "Play"
    page.locator("#demo1").focus()
    page.keyboard.press(" ")
    assert say(page).startswith("Step 1")
    page.clock.run_for(800)
    assert say(page).startswith("Step 2")


def test_the_taxi_takes_its_passenger_along(opened, folder):
    page = opened(written(folder, "taxi"))
    page.locator("#demo1").focus()
    apart = place(page, "rider") != place(page)
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert "passenger in the taxi" in say(page)
    assert apart
    assert place(page, "rider") == place(page)
    page.keyboard.press("End")
    assert "passenger brought to" in say(page)


def test_a_sentence_leads_to_its_step(opened, folder):
    page = opened(written(folder, "lake"))
    jump = page.locator(".jump").first
    wanted = int(jump.inner_text().rsplit(" ", 1)[1])
    jump.click()
    assert say(page).startswith(f"Step {wanted} of")
    assert page.evaluate("document.activeElement.id") == "demo1"


def test_slices_can_be_chosen(opened, folder):
    page = opened(written(folder, "grid"))
    slices = page.locator(".slice")
    assert slices.count() == 10
    page.locator("select").select_option(index=3)
    assert [slices.nth(i).is_visible() for i in range(10)] == [i == 3 for i in range(10)]


def test_dots_of_the_charts_say_their_numbers(opened, folder):
    page = opened(written(folder, "grid"))
    rows = page.locator("#coverage ~ * tbody tr").all_text_contents()
    assert len(rows) > 2
    for chart in page.locator(".chart").all():
        titles = chart.locator("circle title").all_text_contents()
        assert len(titles) == len(rows)
        assert titles[0].startswith("after 0: 0 covered, loss ")
        assert titles[-1] == f"after {len(rows) - 1}: 13 covered, loss 0"


@pytest.fixture(scope="module")
def studio(browser):
    """A page whose server has the package's modules as they are, as a studio would."""
    page = browser.new_context(viewport=DESK).new_page()
    troubles = page.troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))

    def answer(route):
        name = route.request.url.removeprefix("http://studio.test/")
        if name.endswith(".js"):
            route.fulfill(content_type="text/javascript", body=static_text(name))
        else:
            route.fulfill(content_type="text/html", body=page.markup)

    page.route("**/*", answer)
    yield page
    page.context.close()


@pytest.fixture
def served(studio):
    """Open markup on that server; at the end nothing was wrong."""
    studio.troubles.clear()

    def run(markup: str):
        studio.markup = markup
        studio.goto("http://studio.test/")
        return studio

    yield run
    assert studio.troubles == []


def without_script(page: str) -> str:
    """The page without its script and its rule that nothing may be loaded."""
    page = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    return re.sub(r"<meta http-equiv.*?>", "", page)


def test_modules_are_imported_as_they_are(served, folder):
    """What a page carries inside a studio imports, with the same markup."""
    page = served(without_script(written(folder, "grid").read_text()))
    page.evaluate("import('/lesson.js').then(({ lesson }) => lesson(document))")
    page.click("#demo1 [data-do=next]")
    assert say(page).startswith("Step 2 of")
    assert page.locator(".choose").is_visible()
    assert page.locator(".chart circle title").count() > 4


def test_parts_take_a_root_and_data(served, folder):
    page = served(without_script(written(folder, "grid").read_text()))
    told = page.evaluate(
        """async () => {
          const { player, stepsIn } = await import("/player.js");
          const { halfSpaces } = await import("/halfspaces.js");
          const { coverage } = await import("/coverage.js");
          const demo = document.getElementById("demo2");
          const steps = stepsIn(demo).map((step, i) => ({ ...step, say: `moment ${i}` }));
          const playing = player(demo, steps);
          playing.step(1);
          halfSpaces(document.querySelector(".choose").parentElement, 4).choose(2);
          const charts = document.querySelector(".charts");
          coverage(charts, [...charts.querySelectorAll("circle")].map((_, i) => (
            { shown: i, covered: 7, loss: "none" })));
          return [
            demo.querySelector(".now").textContent,
            document.querySelector("#demo1").classList.contains("live"),
            [...document.querySelectorAll(".slice")].findIndex((slice) => !slice.hidden),
            charts.querySelector("circle title").textContent,
          ];
        }"""
    )
    assert told == ["moment 1", False, 2, "after 0: 7 covered, loss none"]


def test_everything_is_reached_by_the_keyboard_and_has_a_name(opened, folder):
    page = opened(written(folder, "six-cell"))
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        told = page.evaluate(
            "[document.activeElement.tagName, document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent.trim()]"
        )
        if told[0] == "BODY":
            break
        assert told[1], f"{told[0]} has no name"
        seen.append(told[1])
    for wanted in ("Demonstration 1, 4 steps: arrow keys step, space plays", "Play", "Copy"):
        assert wanted in seen
    assert seen.index("One step back") < seen.index("Play") < seen.index("One step on")


def test_headings_follow_each_other(opened, folder):
    page = opened(written(folder, "lake"))
    levels = [int(tag[1]) for tag in page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName)"
    )]  # fmt: skip
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_pictures_speak(opened, folder):
    page = opened(written(folder, "grid"))
    snapshot = page.locator("main").aria_snapshot()
    for text in ("Demonstration 1, 20 steps", "Constraints covered, of 13", "The world: 9 rows"):
        assert text in snapshot


def test_names_are_text_and_run_nothing(opened, folder):
    page = opened(written(folder, "hostile", command=HOSTILE, story=[HOSTILE]))
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("h1").inner_text().startswith("<script>hacked=1</script><img src=x")
    assert page.locator("code").inner_text() == HOSTILE
    page.locator("#demo1").focus()
    page.keyboard.press("End")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img").count() == 0


def test_without_scripts_everything_can_be_read(opened, folder):
    page = opened(written(folder, "six-cell"), java_script_enabled=False, clock=False)
    assert not page.locator(".controls").first.is_visible()
    assert not page.locator(".copy").is_visible()
    assert page.locator("#demo1 .chip").count() == 5
    assert page.locator("#demo1 .arrow").count() == 4


def test_reduced_motion_is_respected(opened, folder):
    moving = "getComputedStyle(document.querySelector('.token')).transitionDuration"
    still = opened(written(folder, "six-cell"), reduced_motion="reduce")
    assert still.evaluate(moving) == "0s"
    usual = opened(written(folder, "six-cell"), reduced_motion="no-preference")
    assert usual.evaluate(moving) != "0s"


@pytest.mark.slow
def test_ten_thousand_states_play_too(opened, folder):
    task = make("random-grid", size=100, n_features=8, seed=0)
    bec = equivalence_class(task, arithmetic="float")
    lesson = teach(task, bec=bec, budget=4)
    path = folder / "large.html"
    path.write_text(lesson_page(task, lesson, bec=bec))
    assert path.stat().st_size < 2_000_000
    page = opened(path, PHONE)
    page.click("#demo4 [data-do=next]")
    assert "Step" in say(page, "#demo4")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_notebook_frame_plays(opened, folder):
    task = make("six-cell")
    path = folder / "notebook.html"
    parts = lesson_fragment(task, teach(task)), task_fragment(task)
    path.write_text("<!doctype html><title>notebook</title>" + "".join(parts))
    page = opened(path, clock=False)
    frame = page.frame_locator("iframe").first
    frame.locator("#demo1 [data-do=next]").click()
    assert frame.locator("#demo1 .now").inner_text().startswith("Step 2 of 4")
    other = page.frame_locator("iframe").nth(1)
    assert other.locator("h1").inner_text() == "six-cell"
    assert other.locator("svg[role=img]").is_visible()


def test_a_slider_goes_over_the_lessons_of_a_frontier(opened, tmp_path):
    task = make("random-grid", size=4, n_features=3, seed=2)
    found = frontier(
        task, losses=["50%", "1%"], horizon=1, learner_model="half-spaces", time_limit=600.0
    )
    found.report(tmp_path / "frontier.html")
    for viewport in (DESK, PHONE):
        page = opened(tmp_path / "frontier.html", viewport)
        points, slider = page.locator(".point"), page.locator("input[type=range]")
        assert [points.nth(i).is_visible() for i in range(3)] == [True, False, False]
        slider.focus()
        page.keyboard.press("End")
        assert [points.nth(i).is_visible() for i in range(3)] == [False, False, True]
        assert page.locator("output").inner_text().startswith("exact: ")
        assert slider.get_attribute("aria-valuetext").startswith("exact: ")
        assert page.evaluate(CUT_OFF) == []
        assert broken_rules(page) == []


def test_without_scripts_all_lessons_of_a_frontier_are_seen(opened, tmp_path):
    task = make("random-grid", size=4, n_features=3, seed=2)
    frontier(task, losses=["50%"], horizon=1, learner_model="half-spaces").report(
        tmp_path / "f.html"
    )
    page = opened(tmp_path / "f.html", clock=False, java_script_enabled=False)
    assert all(page.locator(".point").nth(i).is_visible() for i in range(2))
    assert not page.locator("input[type=range]").is_visible()
