"""How quickly the studio answers, in a real browser: `python -m benchmarks.studio`.

From a stroke to the new picture on the screen, for a 9x9 world of 8 features and a 20x20 one; and
from the command to the first byte and the first picture, in a window of the browser that is open
already. The first lesson of a static site of the studio's presets is opened as a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from didact.studio.site import assets
from didact.studio.static_site import export_site
from tests.browser import CHROMIUM

N_STROKES, N_STARTS = 40, 9
STROKE = """async (cell) => {
  const board = document.getElementById("board"), cells = board.querySelector(".cells");
  const box = board.querySelector(`.cell[data-cell='${cell}']`).getBoundingClientRect();
  const at = { clientX: box.x + 4, clientY: box.y + 4, button: 0, pointerId: 1, bubbles: true };
  const began = performance.now();
  cells.setPointerCapture = () => {};
  cells.dispatchEvent(new PointerEvent("pointerdown", at));
  cells.dispatchEvent(new PointerEvent("pointerup", at));
  const number = board.dataset.shown;
  while (board.dataset.shown === number || board.dataset.current !== "true")
    await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - began;
}"""


@contextmanager
def studio(*arguments: str) -> Iterator[tuple[str, float]]:
    """The link of a studio, and when its command was given."""
    began = time.perf_counter()
    command = [sys.executable, "-u", "-m", "didact", "studio", *arguments, "--no-open"]
    # Bytecode is kept, as of a package that is installed: to compile it takes a second and more.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1], began
    finally:
        process.terminate()
        process.wait()


def window(browser: Browser) -> Page:
    return browser.new_page(viewport={"width": 1280, "height": 900})


def show(page: Page, link: str) -> None:
    page.goto(link, wait_until="commit")
    page.wait_for_selector("#board[data-current=true]")


def first_picture(browser: Browser) -> tuple[float, float, float]:
    """Seconds until the command listens and until the picture, and from a request to its answer."""
    page = window(browser)
    with studio() as (link, began):
        said = time.perf_counter()
        with suppress(urllib.error.HTTPError):  # 403 without the token is an answer too
            urllib.request.urlopen(link.partition("?")[0])
        byte = time.perf_counter()
        show(page, link)
        picture = time.perf_counter()
    page.close()
    return said - began, picture - began, byte - said


def strokes(browser: Browser, size: int) -> list[float]:
    """Milliseconds from a stroke to its picture, sorted; lessons are made meanwhile."""
    with studio("random-grid", "-p", f"size={size}", "-p", "n_features=8") as (link, _):
        page = window(browser)
        show(page, link)
        page.wait_for_timeout(2000)
        page.check("#brushes input[value='end']", force=True)
        found = []
        for i in range(N_STROKES):
            found.append(page.evaluate(STROKE, (7 * i) % (size * size)))
            page.wait_for_timeout(150)
        return sorted(found)


def static_lessons(browser: Browser) -> tuple[list[float], float]:
    """Seconds from opening a static site to its first lesson, sorted; and the site's megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        files = export_site(Path(folder) / "site")
        found = []
        for _ in range(N_STARTS):
            page = window(browser)
            began = time.perf_counter()
            page.goto(files[-1].as_uri(), wait_until="commit")
            page.wait_for_selector("#panel-lesson .verdict:not(:empty)")
            found.append(time.perf_counter() - began)
            page.close()
        return sorted(found), sum(path.stat().st_size for path in files) / 1e6


def report() -> None:
    """The table, where there is a browser."""
    if CHROMIUM is None:
        print("the studio: no Chromium is installed")
        return
    scripts = sum(len(body) for kind, body in assets().values() if kind == "text/javascript")
    print(f"scripts: {scripts / 1000:.0f} kB")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        listens, pictures, bytes_ = zip(
            *(first_picture(browser) for _ in range(N_STARTS)), strict=True
        )
        print(f"the command listens after {median(listens):.2f} s")
        print(f"first byte after {1000 * median(bytes_):.0f} ms")
        print(
            f"first picture {median(pictures):.2f} s after the command"
            f" ({min(pictures):.2f} to {max(pictures):.2f} in {N_STARTS} starts)"
        )
        for size in (9, 20):
            found = strokes(browser, size)
            middle, most = found[len(found) // 2], found[int(0.95 * len(found))]
            print(
                f"{size}x{size}, k = 8: stroke to picture {middle:.0f} ms, 95% under {most:.0f} ms"
            )
        found, megabytes = static_lessons(browser)
        print(
            f"static site of {megabytes:.1f} MB: first lesson {median(found):.2f} s after it is"
            f" opened, at most {found[-1]:.2f} s"
        )
        browser.close()


if __name__ == "__main__":
    report()
