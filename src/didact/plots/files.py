"""Pictures as files: the same bytes whenever the same picture is drawn, by anybody.

Dates and program names stay out, marks are numbered from the picture's own name, and settings that
a person keeps for Matplotlib do not count. Text in SVG is text, in the type that Matplotlib brings.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from didact.files.extras import require_package

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINT = 300
"""Dots per inch of a PNG."""
STYLE = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "axes.formatter.use_locale": False,
    "axes.unicode_minus": True,
}
"""Sizes in points, for a page of seven inches."""
SVG, XLINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
NOTHING = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    "png": {"Software": None},
}


@contextmanager
def print_style(name: str) -> Iterator[None]:
    """Matplotlib's own settings and ours, whatever a person has set; name: of the picture."""
    matplotlib: Any = require_package("matplotlib", "plots", "figures")
    with _without_news_of_fonts():
        style: Any = require_package("matplotlib.style", "plots", "figures")
        with style.context("default"), matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
            yield


@contextmanager
def _without_news_of_fonts() -> Iterator[None]:
    """On a slow machine Matplotlib says that it looks for fonts, the first time; nobody asked."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def picture_bytes(sheet: Figure, kind: str, title: str) -> bytes:
    """A picture as 'svg', 'pdf' or 'png'; to be called inside `print_style`."""
    file = io.BytesIO()
    sheet.savefig(file, format=kind, dpi=PRINT, metadata=NOTHING[kind])
    found = file.getvalue()
    return tidy_svg(found.decode(), title).encode() if kind == "svg" else found


def tidy_svg(text: str, title: str) -> str:
    """An SVG that can stand in a page beside others.

    It has a title for readers that do not see it, no names that nobody uses, and no style sheet,
    which would reach the whole page.
    """
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style")]:
            parent.remove(child)
    used = set(re.findall(r"(?:url\(#|href=\"#)([\w-]+)", text))
    for node in root.iter():
        if node.get("id") not in used:
            node.attrib.pop("id", None)
        if XLINK in node.attrib:
            node.set("href", node.attrib.pop(XLINK))
    root.attrib |= {"role": "img", "aria-label": title, "style": "stroke-linejoin: round"}
    name = ElementTree.Element(f"{{{SVG}}}title")
    name.text = title
    root.insert(0, name)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
