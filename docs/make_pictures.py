"""Makes the pictures of the documentation: `python docs/make_pictures.py`.

Needs Playwright and Chromium. The pictures show pages as a browser draws them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from didact import equivalence_class, from_gymnasium, teach
from didact.app.teach import verify
from didact.report.page.lesson import lesson_page

PICTURES = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 900, 1110


def lesson_html() -> str:
    """The page of a lesson for Gymnasium's Taxi."""
    task = from_gymnasium("Taxi-v4")
    known = equivalence_class(task)
    lesson = teach(task, known=known)
    return lesson_page(task, lesson, known=known, verified=verify(task, lesson.document()))


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no Chromium to draw with")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page = Path(folder) / "lesson.html"
        page.write_text(lesson_html(), encoding="utf-8")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        screen = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        screen.goto(page.as_uri())
        screen.evaluate("document.querySelector('#world-title').parentElement.remove()")
        for _ in range(11):
            screen.locator("#demo1 [data-do=next]").click()
        screen.wait_for_timeout(500)
        screen.screenshot(path=PICTURES / "lesson.png")
        browser.close()


if __name__ == "__main__":
    main()
