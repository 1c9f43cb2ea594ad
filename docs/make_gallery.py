"""Makes the pictures of the gallery, small and the same every time: `python docs/make_gallery.py`.

Each is taken from the page of the task: its first demonstration, or the rewards that fit it where
the world cannot be drawn. Whole pages are made by the commands in `docs/gallery.md`, and when the
docs are built (`docs/conf.py`), so that the gallery links to them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from didact.cli.explain import explain_task
from didact.report.page.templates import static_text
from didact.worlds.opening import open_task

EXAMPLES = Path(__file__).parents[1] / "examples"
PICTURES = Path(__file__).parent / "pictures" / "gallery"
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "taxi": ("Taxi-v4", {}),
    "lake": ("FrozenLake-v1", {}),
    "cliff": ("CliffWalking-v1", {}),
    "door": ("MiniGrid-DoorKey-5x5-v0", {}),
    "lava": ("MiniGrid-LavaGapS5-v0", {}),
    "garnet": ("garnet", {}),
    "driving": (
        "grid",
        {
            "rows": "=.G./=.c./=..c/=c../=..c/=S..",
            "weights": "S=-1,.=-1,c=-20,==-5,G=10",
            "terminal": "G",
            "start": "S",
        },
    ),
    "balls": ("ball-sorting", {}),
    "own": ("own_environment:Corridor", {}),
    "minari": ("six-cell", {}),
}
RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")


def picture(page: str) -> str:
    """The first demonstration of a page, or the rewards that fit, as a file of its own."""
    found = re.search(r'<svg class="scene"[^>]*demo1-t.*?</svg>', page, re.S) or re.search(
        r'<svg class="halfspaces".*?</svg>', page, re.S
    )
    assert found is not None, "the page has no picture"
    shown = found[0]
    stock = re.search(r'<svg class="stock".*?(<defs>.*?</defs>)</svg>', page, re.S)
    inside = (stock[1] if stock and "#world" in shown else "") + shown.partition(">")[2]
    view = re.search(r'viewBox="([^"]*)"', shown)
    assert view is not None
    width, height = (float(number) for number in view[1].split()[2:])
    scale = 260 / max(width, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view[1]}" '
        f'width="{width * scale:.0f}" height="{height * scale:.0f}">\n'
        f"<style>\ntext{{font-family:sans-serif}}\n{style_for(inside)}</style>\n{inside.strip()}\n"
    )


def style_for(markup: str) -> str:
    """The rules of the pages' style that the markup needs, for paper."""
    used = {name for text in re.findall(r'class="([^"]*)"', markup) for name in text.split()}
    style = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}", "", static_text("page.css"))
    kept = []
    for selector, rules in RULE.findall(style):
        wanted = [
            part.strip()
            for part in selector.split(",")
            if part.strip() == ":root" or set(re.findall(r"\.([\w-]+)", part)) & used
        ]
        if wanted and ".live" not in selector:
            kept.append(f"{','.join(wanted)}{{{' '.join(rules.split())}}}\n")
    return "".join(kept)


def page_of(name: str) -> str:
    """The page of a task of the gallery."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        page = explain_task(open_task(*TASKS[name])).page
    finally:
        sys.path.remove(str(EXAMPLES))
    assert page is not None
    return page


def write_pages(folder: Path, names: Iterable[str] = TASKS) -> None:
    """Write the page of each task into a folder, as the docs link to them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.html").write_text(page_of(name), encoding="utf-8")


def main(names: list[str]) -> None:
    """Write the named pictures, all of them by default."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in names or TASKS:
        (PICTURES / f"{name}.svg").write_text(picture(page_of(name)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
