"""A real browser for tests: Chromium through Playwright, and the rules of axe where they are."""

import os
import shutil
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")


def _installed_by_playwright() -> str | None:
    """The browser that `playwright install chromium` brings, as in the workflows."""
    home = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    found = sorted(Path(home).glob("chromium*/chrome-*/*shell"))
    return str(found[-1]) if found else None


CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None) or _installed_by_playwright()
"""The one without windows where it is: its pages take half the time."""
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SMALL = {"width": 360, "height": 640}
AXE = next(
    (
        path
        for folder in (
            os.environ.get("AXE_CORE"),
            Path(__file__).parent / "node_modules" / "axe-core",
        )
        if folder and (path := Path(folder) / "axe.min.js").exists()
    ),
    None,
)
"""The rules of axe, as `make axe` installs them, or where AXE_CORE says."""

CUT_OFF = """() => [...document.querySelectorAll("body *")].filter((e) => {
  const r = e.getBoundingClientRect();
  if (!r.width || !r.height || e.closest("svg.stock, .unseen")) return false;
  const drawn = e.tagName === "text" && e.ownerSVGElement.getBoundingClientRect();
  if (drawn) return r.left < drawn.left - 1 || r.right > drawn.right + 1;
  for (let p = e.parentElement; p; p = p.parentElement)
    if (getComputedStyle(p).overflowX !== "visible") return false;
  return r.left < -0.5 || r.right > innerWidth + 0.5;
}).map((e) => e.outerHTML.slice(0, 120))"""
"""What sticks out of the screen, or of its picture."""


def broken_rules(page) -> list:
    """The rules of axe that a page breaks; none where axe is not installed."""
    if AXE is None:
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    # All rules are tried; that what keeps to them is not told saves most of the time.
    run = "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)"
    found = page.evaluate(run)
    return [(v["id"], [n["html"][:100] for n in v["nodes"][:3]]) for v in found]
