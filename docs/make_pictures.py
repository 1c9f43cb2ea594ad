"""Makes the pictures of the documentation: `python docs/make_pictures.py`.

Pages are shown as a browser draws them, for which Playwright and Chromium are needed; plots are
drawn by Matplotlib.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.figure import Figure
from playwright.sync_api import Browser, sync_playwright

from didact import equivalence_class, from_gymnasium, learn, make, plots, teach
from didact.plots.drawing import print_style
from didact.report.page.lesson import lesson_page
from didact.teaching.lesson import verify

PICTURES = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 900, 1110


def lesson_html() -> str:
    """The page of a lesson for Gymnasium's Taxi, as `didact explain` teaches it."""
    task = from_gymnasium("Taxi-v4")
    bec = equivalence_class(task)
    lesson = teach(task, teacher="scot", trim=False, bec=bec)
    return lesson_page(task, lesson, bec=bec, verified=verify(task, lesson.document()))


def draw_plots(path: Path) -> None:
    """Four of the pictures that a lesson leads to, on one sheet."""
    task = make("random-grid", size=5, n_features=4, seed=2)
    lesson = teach(task, horizon=4)
    belief = learn(task.mdp, lesson.demonstrations, learner="birl", seed=0)
    with print_style("plots"):
        sheet = Figure((7.0, 5.6), layout="constrained")
        axes = sheet.subplots(2, 2)
        lesson.plot(axes[0, 0])
        lesson.bec.plot(axes[0, 1])
        belief.plot(axes[1, 0], truth=task.true_weights)
        plots.coverage(lesson, axes[1, 1])
        sheet.savefig(path, dpi=150, metadata={"Software": None})


@contextmanager
def studio() -> Iterator[str]:
    """The link of a studio that runs as long as it is looked at."""
    command = [sys.executable, "-u", "-m", "didact", "studio", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


def draw_studio(browser: Browser) -> None:
    """The studio as it opens, and its cone."""
    with studio() as link:
        screen = browser.new_page(viewport={"width": 1280, "height": 820})
        screen.goto(link)
        screen.wait_for_selector("#panel-lesson[data-answered]", state="attached")
        screen.screenshot(path=PICTURES / "studio.png")
        screen.click("#tab-cone")
        screen.wait_for_selector("#panel-cone[data-answered]")
        screen.screenshot(path=PICTURES / "cone.png")


def main() -> None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        sys.exit("there is no Chromium to draw with")
    PICTURES.mkdir(exist_ok=True)
    draw_plots(PICTURES / "plots.png")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder) / "lesson.html"
        page.write_text(lesson_html(), encoding="utf-8")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        screen = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        screen.goto(page.as_uri())
        screen.evaluate("document.querySelector('#world-title').parentElement.remove()")
        screen.wait_for_timeout(500)  # it stands at the first step, which states both half-spaces
        screen.screenshot(path=PICTURES / "lesson.png")
        draw_studio(browser)
        browser.close()


if __name__ == "__main__":
    main()
