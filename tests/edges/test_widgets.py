"""Widgets in a real browser, with a model that stands for the notebook's."""

import json

import pytest

from didact import make, teach
from tests.browser import CHROMIUM

pytest.importorskip("anywidget", reason="the widgets are an extra")

from didact.widgets import ConeView, LessonPlayer, World

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")

MODEL = """async (state) => {
  const listeners = {};
  window.model = {
    get: (name) => state[name],
    set(name, value) { state[name] = value; },
    save_changes() { window.saved = structuredClone(state); },
    on: (event, call) => { (listeners[event] ??= []).push(call); },
    off: () => {},
    tell(name, value) {
      state[name] = value;
      (listeners[`change:${name}`] ?? []).forEach((call) => call());
    },
  };
  const { default: widget } = await import("/widget.js");
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model: window.model, el });
}"""


@pytest.fixture(scope="module")
def notebook(browser):
    """A page whose server has an empty page and the module of a widget."""
    page = browser.new_context().new_page()
    troubles = page.troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.route(
        "**/widget.js",
        lambda route: route.fulfill(content_type="text/javascript", body=page.module),
    )
    plain = {"content_type": "text/html", "body": "<!doctype html><title>notebook</title>"}
    page.route("http://notebook.test/", lambda route: route.fulfill(**plain))
    yield page
    page.context.close()


@pytest.fixture
def shown(notebook):
    """Show a widget; at the end nothing was wrong."""
    notebook.troubles.clear()

    def run(widget, names):
        notebook.module = widget._esm
        notebook.goto("http://notebook.test/")
        state = {name: getattr(widget, name) for name in ("style", *names)}
        notebook.evaluate(MODEL, json.loads(json.dumps(state)))
        return notebook

    yield run
    assert notebook.troubles == []


def test_a_world_is_painted(shown):
    widget = World()
    page = shown(widget, ("painting", "seen"))
    assert page.locator(".policy").count() == 1
    page.check("input[value=wall]")
    page.locator(".cell[data-cell='0']").click()
    saved = page.evaluate("window.saved.painting")
    assert saved["rows"][0] == "#aaaaaaaa"
    widget.painting = saved
    page.evaluate("(seen) => window.model.tell('seen', seen)", json.loads(json.dumps(widget.seen)))
    assert page.locator(".cell[data-cell='0']").get_attribute("aria-label").endswith("wall")


def test_a_lesson_plays(shown):
    task = make("six-cell")
    page = shown(LessonPlayer(task, teach(task)), ("html",))
    page.click("#demo1 [data-do=next]")
    assert page.locator("#demo1 .now").inner_text().startswith("Step 2 of 4")
    page.locator(".jump").first.click()


def test_a_cone_follows_its_slider(shown):
    task = make("random-grid", size=4, n_features=3, seed=3)
    page = shown(ConeView(task, teach(task, teacher="exact")), ("n", "most", "wish", "told"))
    assert page.locator(".weight-bars li").count() == 3
    assert "directions fit" in page.locator("canvas").get_attribute("aria-label")
    page.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    assert page.evaluate("window.saved.n") == 0
