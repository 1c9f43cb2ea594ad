"""What every picture shares: Matplotlib when it is needed, colours, signs, small print, and files.

A file has the same bytes whenever the same picture is drawn, by anybody: dates and program names
stay out, marks are numbered from the picture's own name, and settings that a person keeps for
Matplotlib do not count. Text in SVG is text, in the type that Matplotlib brings.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from didact.files.extras import require_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, FAINT = "#222222", "#555555", "#b8b8b8"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
"""Seven that people with any colour vision tell apart (Okabe and Ito), without yellow."""
SIGNS = ("s", "^", "D", "v", "o", "*")
"""Markers, a different one for each of six lines in turn: colour alone tells nothing."""
SMALL = 8.0
"""Points: the size of what is written inside a picture."""
LINE = 48
"""So many letters of that size stand side by side on half a page."""


def axes_of(ax: Axes | None, width: float = 5.0, height: float = 3.5) -> Axes:
    """The axes given, or new ones of so many inches; without Matplotlib, what to install."""
    pyplot: Any = require_package("matplotlib.pyplot", "plots", "pictures")
    if ax is not None:
        return ax
    found: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return found


def colour(number: int) -> str:
    """The colour of a line, a bar or a demonstration by its number."""
    return COLOURS[number % len(COLOURS)]


def sign(number: int) -> str:
    """The marker of a line by its number."""
    return SIGNS[number % len(SIGNS)]


def without_box(ax: Axes, *, grid: str | None = None) -> None:
    """Leave only the left and lower edge; grid: 'x' or 'y', faint lines behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis="x" if grid == "x" else "y", color=FAINT, linewidth=0.5)
        ax.set_axisbelow(True)


def count_axis(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def legend_below(ax: Axes, handles: Sequence[Any], *, drop: float, across: float = 0.0) -> None:
    """A legend under the axes, `drop` points below them, in as many columns as fit their width.

    across: 0 for the left edge, 0.5 for the middle.
    """
    from matplotlib.transforms import ScaledTranslation

    sheet = ax.get_figure()
    assert sheet is not None
    longest = max(len(str(handle.get_label())) for handle in handles)
    lower = ScaledTranslation(0.0, -drop / 72, sheet.dpi_scale_trans)
    ax.legend(
        handles=list(handles),
        loc="upper left" if across == 0 else "upper center",
        bbox_to_anchor=(across, 0.0),
        bbox_transform=ax.transAxes + lower,
        ncols=max(1, min(len(handles), LINE // (longest + 5))),
        frameon=False,
        fontsize=SMALL,
        handlelength=1.4,
        columnspacing=1.2,
        borderaxespad=0.0,
        borderpad=0.2,
    )


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
