"""The studio in a real browser: painted worlds, their pictures, lessons and links."""

import base64
import re
import signal
import subprocess

import pytest

from didact import exam, load_task, make, solve, teach
from didact.cli.studio import open_in_browser
from didact.studio.questions import MEADOW
from didact.studio.worlds import read_painting
from tests.browser import CHROMIUM, CUT_OFF, DESK, PHONE, broken_rules
from tests.edges.studio_server import (
    begin,
    no_trouble,
    running,
    settled,
    visit,
    watched,
    world,
)

pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette", reason="the studio is an extra")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture(scope="module")
def link():
    with running("studio", "--no-open") as (_, found):
        yield found


@pytest.fixture(scope="module")
def window(browser):
    """Pages in it are opened sooner than in windows of their own."""
    context = browser.new_context(viewport=DESK)
    yield context
    context.close()


@pytest.fixture(scope="module")
def one_page(window):
    return watched(window)


@pytest.fixture
def page(one_page, link):
    begin(one_page, link)
    yield one_page
    no_trouble(one_page)


@pytest.fixture
def traveller(one_page, link):
    """The same page, which opens another world, whatever it showed before."""
    if one_page.url == "about:blank":
        begin(one_page, link)
    one_page.click("#tab-lesson")
    yield one_page
    no_trouble(one_page)


@pytest.fixture(scope="module")
def one_meadow(window, link):
    page = watched(window)
    begin(page, link)
    return page


@pytest.fixture
def meadow(one_meadow):
    """A page on the first world, which nobody paints: each view is used by one test."""
    yield one_meadow
    no_trouble(one_meadow)


def n_arrows(page) -> int:
    return page.locator("#board .policy").get_attribute("d").count("M") // 2


def paint(page, brush: str, *cells: int) -> None:
    page.check(f"#brushes input[value='{brush}']", force=True)
    for cell in cells:
        page.locator(f".cell[data-cell='{cell}']").click()


def test_strokes_change_the_world_its_arrows_and_its_lesson(page):
    paint(page, "wall", 40)
    paint(page, "2", 0)
    paint(page, "end", 80)
    settled(page)
    painting = world(page)["painting"]
    assert painting["rows"][4] == "aaaa###aa"
    assert painting["rows"][0][0] == "c"
    assert painting["ends"] == [20, 61, 80]
    task = read_painting(painting).task()
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    assert n_arrows(page) == plan.optimal.sum()
    n_shown = len(teach(task, teacher="exact").demonstrations)
    assert page.locator("#panel-lesson .demo").count() == n_shown
    assert page.locator("#panel-lesson .badge").nth(1).inner_text() == "✓ Proof verified"


def test_a_stroke_is_one_step_to_undo(page):
    before = page.evaluate("document.body.dataset.first")
    page.check("#brushes input[value='wall']", force=True)
    boxes = [page.locator(f".cell[data-cell='{cell}']").bounding_box() for cell in (9, 10, 11)]
    page.mouse.move(boxes[0]["x"] + 5, boxes[0]["y"] + 5)
    page.mouse.down()
    for box in boxes[1:]:
        page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.up()
    assert world(page)["painting"]["rows"][1] == "###baaaca"
    page.click("#undo")
    assert world(page) == page.evaluate("(text) => JSON.parse(text)", before)
    assert page.locator("#undo").is_disabled()
    page.click("#redo")
    assert world(page)["painting"]["rows"][1] == "###baaaca"
    page.keyboard.press("Control+z")
    assert world(page)["painting"]["rows"][1] == MEADOW["rows"][1]
    settled(page)


def test_a_fast_stroke_paints_every_cell(page):
    page.check("#brushes input[value='wall']", force=True)
    first, last = (page.locator(f".cell[data-cell='{cell}']").bounding_box() for cell in (0, 8))
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 5, last["y"] + 5)
    page.mouse.up()
    assert world(page)["painting"]["rows"][0] == "#" * 9
    settled(page)


def test_a_world_that_is_wrong_has_no_verdict_and_names_its_field(page):
    assert page.locator("#panel-lesson .verdict").inner_text()
    page.fill("[aria-label='Weight of mud']", "much")
    page.keyboard.press("Tab")
    page.wait_for_selector("#status.problem")
    assert "weight of 'mud'" in page.locator("#status").inner_text()
    assert page.locator("#panel-lesson .verdict").inner_text() == ""
    page.click("#undo")
    settled(page)


def test_a_cell_that_is_named_is_lit(page):
    told = page.locator("#panel-lesson .now").first
    told.hover()
    row, column = re.search(r"row (\d+), column (\d+)", told.inner_text()).groups()
    lit = page.locator(".cell.lit")
    assert lit.get_attribute("data-cell") == str((int(row) - 1) * 9 + int(column) - 1)


def test_taxi_has_a_board_to_choose_on(traveller):
    traveller.click("#presets button:has-text('Taxi')")
    traveller.wait_for_selector("#situation select")
    traveller.click("#tab-teacher")
    traveller.select_option("#situation select >> nth=0", "passenger in taxi")
    traveller.wait_for_function(
        "document.querySelectorAll('.cell')[12]?.ariaLabel.includes('best')"
    )
    traveller.locator(".cell[data-cell='12']").click()
    traveller.wait_for_selector("#panel-teacher[data-answered='1']")
    assert traveller.locator("#panel-teacher .chosen li").count() == 1
    traveller.wait_for_selector("#panel-teacher .believer svg", state="attached")


def test_arrows_that_come_late_are_not_shown_in_a_game(traveller):
    traveller.click("#presets button:has-text('Taxi')")
    traveller.wait_for_selector("#board .policy", state="attached")
    settled(traveller)
    held = []
    first_only = lambda route: route.continue_() if held else held.append(route)  # noqa: E731
    traveller.route("**/ask/view", first_only)
    with traveller.expect_request("**/ask/view"):
        traveller.locator(".cell[data-cell='12']").click()
    traveller.click("#tab-exam")
    assert traveller.locator("#board .policy").count() == 0
    traveller.evaluate(
        "() => { const place = document.querySelector('#board .picture'); window.pictures = [];"
        " new MutationObserver(() => pictures.push(place.innerHTML)).observe"
        "(place, { childList: true }); }"
    )
    held[0].continue_()
    traveller.wait_for_selector("#board .picture svg", state="attached")
    traveller.unroute("**/ask/view")
    pictures = traveller.evaluate("pictures")
    assert pictures
    assert not any('class="policy"' in each for each in pictures)


def test_nothing_of_the_last_world_stays(traveller):
    traveller.click("#presets button:has-text('Shortcut')")
    settled(traveller)
    for tab, ready in (("teacher", "answered"), ("export", "ready"), ("cone", "answered")):
        traveller.click(f"#tab-{tab}")
        traveller.wait_for_selector(f"#panel-{tab}[data-{ready}]", state="attached")
    assert "constraints are open" in traveller.inner_text("#panel-cone")
    traveller.route("**/ask/fit", lambda route: None)
    traveller.click("#presets button:has-text('Two ends')")
    assert "constraints are open" not in traveller.inner_text("#panel-cone")
    traveller.click("#tab-lesson")
    for tab, words in (("teacher", "constraints stay open"), ("export", "shortcut")):
        assert words not in traveller.text_content(f"#panel-{tab}")
    traveller.unroute("**/ask/fit")


def test_parts_of_a_situation_are_chosen_one_by_one(traveller):
    pytest.importorskip("minigrid")
    traveller.click("#open-world")
    traveller.fill("#open-name", "MiniGrid-DoorKey-5x5-v0")
    traveller.fill("#open-parameters", "")
    traveller.click("#open-go")
    traveller.wait_for_selector("#situation label >> nth=2")
    named = traveller.locator("#situation label").all_inner_texts()
    assert [each.split("\n")[0] for each in named] == ["Looking", "Situation", "Situation"]
    assert "Best here: right." in traveller.inner_text("#key")
    traveller.select_option("#situation select >> nth=1", "carrying yellow key")
    traveller.wait_for_function(
        "() => document.querySelectorAll('#situation select')[2].value.includes('door')"
    )
    assert traveller.input_value("#situation select >> nth=1") == "carrying yellow key"


def test_what_was_given_last_is_opened(traveller, tmp_path):
    (tmp_path / "bad.json").write_text("no JSON")
    traveller.click("#open-world")
    traveller.set_input_files("#open-file", tmp_path / "bad.json")
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-problem:not(:empty)")
    traveller.set_input_files("#open-file", tmp_path / "bad.json")
    traveller.fill("#open-name", "six-cell")
    traveller.fill("#open-parameters", "")
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-dialog:not([open])", state="attached")
    settled(traveller)
    assert world(traveller)["painting"]["name"] == "six-cell"


def test_the_keyboard_alone_is_enough(page):
    page.locator("#brushes input[value='0']").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.locator("#brushes input[value='wall']").is_checked()
    page.locator(".cell[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    settled(page)
    assert world(page)["painting"]["rows"][1].startswith("##b")
    assert (
        page.locator(".cell[data-cell='9']").get_attribute("aria-label") == "row 2, column 1: wall"
    )
    page.locator("#tab-lesson").focus()
    page.locator("#demo1").focus()
    page.keyboard.press("ArrowRight")
    assert not page.locator("#demo1 .now").inner_text().startswith("Step 1 of")


@pytest.mark.slow
def test_the_keyboard_goes_through_all_views(page):
    page.locator("#tab-lesson").focus()
    for name in ("cone", "enough", "teacher"):
        page.keyboard.press("ArrowRight")
        assert page.locator(f"#panel-{name}").is_visible()
    page.wait_for_selector("#panel-teacher[data-answered='0']")
    page.locator(".cell[tabindex='0']").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-teacher[data-answered='1']")
    page.locator("#tab-teacher").focus()
    page.keyboard.press("ArrowRight")
    tab_to(page, "Watch a lesson")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-learner[data-lessons='1']")
    for _ in range(8):  # each question has the focus
        page.keyboard.press("Enter")
    page.wait_for_selector("#panel-learner[data-scored='1']")
    page.locator("#tab-learner").focus()
    page.keyboard.press("ArrowRight")
    tab_to(page, "Begin")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-asked[data-answered='0']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-asked[data-answered='1']")
    page.locator("#tab-asked").focus()
    page.keyboard.press("ArrowRight")
    tab_to(page, "Begin")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-exam[data-asked]")
    for i in range(page.locator("#panel-exam fieldset").count()):
        page.locator(f"#panel-exam [name=q{i}]").first.focus()
        page.keyboard.press("Space")
    tab_to(page, "Grade")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-exam[data-graded]")


def tab_to(page, words: str) -> None:
    """Press Tab until the button with these words has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == words:
            return
    raise AssertionError(f"Tab does not lead to {words}")


def test_weights_names_colours_and_numbers_are_kept_as_they_are_written(page):
    page.fill("[aria-label='Weight of mud']", "-1/3")
    page.keyboard.press("Tab")
    page.fill("[aria-label='Name of kind 1']", "<b>lawn</b>")
    page.keyboard.press("Tab")
    page.select_option("[aria-label='Colour of water']", "11")
    page.fill("#discount", "0.9")
    page.keyboard.press("Tab")
    page.fill("#slip", "1/8")
    page.keyboard.press("Tab")
    page.fill("#n-rows", "4")
    page.keyboard.press("Tab")
    settled(page)
    painting = world(page)["painting"]
    assert painting["features"][:3] == [
        ["<b>lawn</b>", "-1", 3],
        ["mud", "-1/3", 9],
        ["water", "-6", 11],
    ]
    assert (painting["discount"], painting["slip"], len(painting["rows"])) == ("0.9", "1/8", 4)
    assert "<b>lawn</b>" in page.locator("#panel-lesson").inner_text()


def test_a_slider_moves_a_weight_and_kinds_come_and_go(page):
    page.locator("[aria-label='Weight of mud, slider']").focus()
    page.keyboard.press("Home")
    assert world(page)["painting"]["features"][1] == ["mud", "-10", 9]
    page.click("#add-ground")
    assert len(world(page)["painting"]["features"]) == 6
    page.click("[aria-label='Remove mud']")
    settled(page)
    painting = world(page)["painting"]
    assert [name for name, *_ in painting["features"]][:2] == ["grass", "water"]
    assert painting["rows"][1] == "aaaaaaaba"


def test_what_is_wrong_is_told_and_the_old_picture_stays(page):
    before = n_arrows(page)
    page.fill("#discount", "1.5")
    page.keyboard.press("Tab")
    page.wait_for_selector("#status.problem")
    assert "discount" in page.locator("#status").inner_text()
    assert n_arrows(page) == before
    page.fill("#discount", "0.5")
    page.keyboard.press("Tab")
    page.wait_for_selector("#status:not(.problem)")


def test_a_link_is_the_world(page, link):
    paint(page, "3", 44)
    settled(page)
    wanted, address = world(page), page.url
    token = re.search(r"token=[^#]*", link)[0]
    page.context.clear_cookies()  # as a browser that was never here
    begin(page, address.replace("/#", f"/?{token}#"))
    assert page.url == address
    assert world_on_board(page) == wanted["painting"]["rows"][4]


def world_on_board(page) -> str:
    """The kinds of ground of the fifth row, as the cells say them."""
    names = {"grass": "a", "mud": "b", "water": "c", "berries": "d", "home": "e", "wall": "#"}
    words = [
        page.locator(f".cell[data-cell='{cell}']").get_attribute("aria-label")
        for cell in range(36, 45)
    ]
    return "".join(names[re.match(r"[^:]*: (\w+)", each)[1]] for each in words)


@pytest.mark.parametrize(
    ("name", "parameters", "verdict"),
    [
        ("six-cell", "", "One demonstration of 4 steps is enough."),
        ("FrozenLake-v1", "", "leaves"),
        ("random-grid", "size=3 members=3", "enough for all of them"),
        pytest.param(
            *("random-grid", "size=4 n_features=3 seed=5", "enough"), marks=pytest.mark.slow
        ),
    ],
)
def test_other_worlds_are_opened(traveller, name, parameters, verdict):
    traveller.click("#open-world")
    traveller.fill("#open-name", name)
    traveller.fill("#open-parameters", parameters)
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-dialog:not([open])", state="attached")
    settled(traveller)
    assert verdict in traveller.locator("#panel-lesson .verdict").inner_text()
    assert traveller.locator("#panel-lesson svg[role=img]").count() > 0


def test_views_of_one_world_say_so_of_a_family(traveller):
    traveller.click("#open-world")
    traveller.fill("#open-name", "random-grid")
    traveller.fill("#open-parameters", "size=3 members=3")
    traveller.click("#open-go")
    settled(traveller)
    traveller.wait_for_selector("#open-member")
    for view in ("cone", "asked"):
        traveller.click(f"#tab-{view}")
        assert traveller.locator(f"#panel-{view}").inner_text().startswith("This view is of one")
        assert not traveller.locator(f"#panel-{view} .lead, #panel-{view} .slide").is_visible()
    traveller.click("#open-member")
    traveller.wait_for_selector("#tab-lesson[aria-selected=true]")
    settled(traveller)
    traveller.click("#tab-asked")
    assert traveller.locator("#panel-asked .lead").is_visible()


def test_work_about_a_world_that_is_no_longer_shown_is_dropped(traveller):
    traveller.route("**/ask/next", lambda route: None)
    traveller.click("#tab-asked")
    traveller.click("#panel-asked .main")
    traveller.clock.fast_forward(2000)
    traveller.wait_for_selector("#panel-asked .work")
    traveller.click("#presets button >> nth=0")
    settled(traveller)
    assert traveller.locator("#panel-asked .status").inner_text() == ""
    traveller.unroute("**/ask/next")


def test_three_weights_are_a_sphere_that_turns(traveller):
    traveller.click("#open-world")
    traveller.fill("#open-name", "random-grid")
    traveller.fill("#open-parameters", "size=4 n_features=3 seed=3")
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-dialog:not([open])", state="attached")
    settled(traveller)
    traveller.click("#tab-cone")
    ball = traveller.locator("#panel-cone canvas.sphere")
    traveller.wait_for_selector("#panel-cone canvas.sphere[aria-label*='directions fit']")
    before = ball.evaluate("(canvas) => canvas.toDataURL()")
    ball.focus()
    traveller.keyboard.press("ArrowRight")
    assert ball.evaluate("(canvas) => canvas.toDataURL()") != before


def test_files_and_nonsense(traveller, tmp_path):
    traveller.click("#open-world")
    traveller.fill("#open-name", "/etc/passwd")
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-problem:not(:empty)")
    assert "must be the name" in traveller.locator("#open-problem").inner_text()
    path = tmp_path / "task.json"
    make("random-grid", size=3, n_features=2).save(path)
    traveller.set_input_files("#open-file", path)
    traveller.click("#open-go")
    traveller.wait_for_selector("#open-dialog:not([open])", state="attached")
    settled(traveller)
    assert len(world(traveller)["painting"]["rows"]) == 3


def test_without_the_token_there_is_nothing(browser, link):
    context = browser.new_context()
    page = context.new_page()
    assert page.goto(link.partition("?")[0]).status == 403
    context.close()


def test_an_interrupt_ends_it_without_a_word(browser):
    """Also while it works on something."""
    with running("studio", "six-cell", "--no-open", stderr=subprocess.PIPE) as (process, link):
        assert link.startswith("http://127.0.0.1:")
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        settled(page)
        page.evaluate(
            "import('/static/ask.js').then(({ ask }) => { ask('teach', { world: 'random-grid',"
            " parameters: { size: 30, n_features: 20 } }).catch(() => null); })"
        )
        page.evaluate("import('/static/ask.js').then(({ ask }) => ask('open', { world: 'chain' }))")
        process.send_signal(signal.SIGINT)
        assert (process.wait(), process.stderr.read()) == (0, b"")
        context.close()


@pytest.mark.slow
def test_long_work_tells_its_stage_and_is_cancelled_by_the_keyboard(browser, link):
    with visit(browser, link) as page:
        shown = page.locator("#panel-lesson .verdict").inner_text()
        page.click("#open-world")
        page.fill("#open-parameters", "size=16 n_features=20 slip=1/10")
        page.click("#open-go")
        cancel = page.locator("#panel-lesson .work .cancel")
        page.wait_for_selector("#panel-lesson .work :text-matches('proof: (solving|facets: .*)')")
        cancel.focus()
        page.keyboard.press("Enter")
        again = page.locator("#panel-lesson .again")
        assert again.evaluate("(button) => button === document.activeElement")
        assert page.locator("#panel-lesson .verdict").inner_text() == shown
        assert page.locator("#panel-lesson .demo").count() > 0
        page.wait_for_function(
            "import('/static/ask.js').then(async ({ stage }) => await stage('teach') === null)"
        )
        page.keyboard.press("Enter")
        cancel.click()


def test_the_cone_follows_the_slider(meadow):
    meadow.click("#tab-cone")
    meadow.wait_for_selector("#panel-cone[data-answered='3']")
    assert "0 of 4 constraints are open" in meadow.locator("#panel-cone .verdict").inner_text()
    meadow.locator("#panel-cone .slide input").focus()
    meadow.keyboard.press("Home")
    meadow.wait_for_selector("#panel-cone[data-answered='0']")
    assert "4 of 4 constraints are open" in meadow.locator("#panel-cone .verdict").inner_text()
    assert meadow.locator("#panel-cone .believer svg").is_visible()
    meadow.select_option("[aria-label='Weight that is the unit']", "0")
    meadow.wait_for_selector("#panel-cone .weight-bars .told:text-is('-1 to -1')")


def test_a_person_teaches_until_nothing_is_open(meadow):
    best = teach(read_painting(dict(MEADOW)).task(), teacher="exact")
    meadow.click("#tab-teacher")
    meadow.wait_for_selector("#panel-teacher[data-answered='0']")
    free = [i for i, sign in enumerate("".join(MEADOW["rows"])) if sign != "#"]
    for n, shown in enumerate(best.demonstrations):
        meadow.fill("[aria-label='Steps of a demonstration']", str(len(shown)))
        meadow.locator(f".cell[data-cell='{free[shown[0][0]]}']").click()
        meadow.wait_for_selector(f"#panel-teacher[data-answered='{n + 1}']")
    assert meadow.locator(".cell.marked").count() >= len(best.demonstrations)
    assert meadow.locator("#panel-teacher .chosen li").count() == len(best.demonstrations)
    told = meadow.locator("#panel-teacher").inner_text()
    assert "Taught. Nothing stays open." in told
    assert f"The fewest: {len(best.demonstrations)} demonstrations" in told


def test_a_person_learns_and_is_compared(meadow):
    meadow.click("#tab-learner")
    assert not meadow.locator("#board .policy").is_visible()
    assert not meadow.locator("[aria-label='Weight of mud']").is_visible()
    assert not meadow.locator("#key").inner_text().startswith("Arrows")
    meadow.click("#panel-learner .main")
    meadow.wait_for_selector("#panel-learner[data-lessons='1']")
    assert "still fit" not in meadow.locator("#panel-learner").inner_text()
    for _ in range(8):
        meadow.locator("#panel-learner .asking button").first.click()
    meadow.wait_for_selector("#panel-learner[data-scored='1']")
    told = meadow.locator("#panel-learner").inner_text()
    assert re.search(r"You: \d of 8", told)
    assert "A Bayesian learner after the same lesson: 8 of 8." in told
    meadow.click("#tab-lesson")
    assert meadow.locator("#board .policy").is_visible()
    assert meadow.locator("[aria-label='Weight of mud']").is_visible()


@pytest.mark.slow
def test_a_person_is_asked(meadow):
    meadow.click("#tab-asked")
    meadow.click("#panel-asked .main")
    for n in range(2):
        meadow.wait_for_selector(f"#panel-asked[data-answered='{n}']")
        assert meadow.locator(".cell.marked").count() == 1
        meadow.locator("#panel-asked .asking button").first.click()
    meadow.wait_for_selector("#panel-asked[data-answered='2']")
    assert "After 2 answers" in meadow.locator("#panel-asked").inner_text()


def test_a_person_is_examined(meadow, tmp_path):
    meadow.click("#tab-exam")
    meadow.click("#panel-exam .main")
    meadow.wait_for_selector("#panel-exam[data-asked]")
    key = exam(read_painting(dict(MEADOW)).task()).questions
    for i, question in enumerate(key):
        side = ("first", "second", "equal").index(question.key)
        meadow.check(f"#panel-exam [name=q{i}][value='{side}']")
    meadow.click("#panel-exam form .main")
    meadow.wait_for_selector("#panel-exam[data-graded]")
    assert meadow.locator("#panel-exam .verdict").inner_text() == "Passed."
    (tmp_path / "policy.json").write_text(str([0] * 76))
    meadow.set_input_files("#panel-exam input[type=file]", tmp_path / "policy.json")
    meadow.wait_for_selector("#panel-exam[data-audited]")
    assert meadow.locator("#panel-exam .verdict").inner_text() == "Failed."


def test_everything_can_be_taken_home(meadow, tmp_path):
    meadow.click("#tab-export")
    meadow.wait_for_selector("#panel-export[data-ready]")
    assert "didact.gridworld(" in meadow.locator("#panel-export pre").first.inner_text()
    for kind, name in (("task", "task.json"), ("page", "lesson.html"), ("png", "world.png")):
        with meadow.expect_download() as saved:
            meadow.click(f"#export-{kind}")
        assert saved.value.suggested_filename == name
        saved.value.save_as(tmp_path / name)
    assert (tmp_path / "world.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert load_task(tmp_path / "task.json").name == "meadow"


VIEWS = {
    "lesson": "answered", "cone": "answered", "teacher": "answered", "learner": "lessons",
    "asked": "answered", "exam": "asked", "export": "ready",
}  # fmt: skip
"""What each view's panel says when it has its answer."""


@pytest.mark.parametrize(
    ("viewport", "scheme", "names"),
    [
        pytest.param(DESK, "light", ("lesson",), marks=pytest.mark.slow),
        (PHONE, "dark", ("lesson", "cone", "teacher", "exam", "export")),
        *(
            pytest.param(viewport, scheme, tuple(VIEWS), marks=pytest.mark.slow)
            for viewport in (PHONE, DESK)
            for scheme in ("light", "dark")
        ),
    ],
)
def test_all_views_fit_the_screen_and_all_can_use_them(browser, link, viewport, scheme, names):
    with visit(browser, link, viewport, color_scheme=scheme, bypass_csp=True) as page:
        for name in names:
            page.click(f"#tab-{name}")
            if name in ("learner", "asked", "exam"):
                page.click(f"#panel-{name} .main")
            page.wait_for_selector(f"#panel-{name}[data-{VIEWS[name]}]")
            assert page.evaluate(CUT_OFF) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            assert broken_rules(page) == []


@pytest.mark.slow
def test_lessons_that_are_good_enough_have_a_slider(page):
    page.fill("#n-rows", "4")
    page.keyboard.press("Tab")
    settled(page)
    page.click("#tab-enough")
    page.click("#panel-enough .main")
    page.wait_for_selector("#panel-enough[data-answered]")
    points = page.locator("#panel-enough .point")
    assert points.count() > 2
    page.locator("#panel-enough input[type=range]").focus()
    page.keyboard.press("End")
    assert points.last.is_visible()
    assert not points.first.is_visible()


MALFORMED = [
    "%%%",
    "bnVsbA",
    '{"painting": 5}',
    '{"painting": {"rows": "abc"}}',
    '{"painting": {"rows": ["ab", "a"], "features": [], "ends": [], "starts": []}}',
    '{"world": 7}',
    '{"task": []}',
    '{"world": "six-cell", "task": {}}',
]


def test_a_link_that_names_no_world_is_told(page, link):
    begin(page, f"{link.partition('#')[0]}#x")
    told = page.locator("#link-problem")
    assert "names no world" in told.inner_text()
    assert page.locator(".cell").count() == 81
    for written in MALFORMED:
        page.evaluate("document.getElementById('link-problem').textContent = ''")
        end = base64.urlsafe_b64encode(written.encode()).decode() if "{" in written else written
        page.evaluate(f"location.hash = {end!r}")
        page.wait_for_selector("#link-problem:not(:empty)")
    paint(page, "2", 44)
    assert told.inner_text() == ""


def test_the_browser_is_opened_through_a_file_without_the_token_in_its_address(
    browser, link, tmp_path, monkeypatch
):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    open_in_browser(link, tmp_path)
    (address,) = opened
    assert address.startswith("file://")
    assert link.partition("token=")[2] not in address
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#ready", state="attached")
    assert "token" not in page.url
    context.close()
