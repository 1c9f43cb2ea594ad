"""The figures of studies, drawn from their descriptions: for a page, a paper and a slide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from didact.files.extras import require_package
from didact.plots.charts import (
    SHARE,
    bar_places,
    draw_bars,
    draw_line,
    finish,
    name_groups,
    whole_decades,
)
from didact.plots.cones import HalfPlane, half_planes, mark_point
from didact.plots.drawing import PRINT, SOFT, colour, legend_below, picture_bytes, print_style
from didact.plots.worlds import world
from didact.studies.summary import Bars, Figure, Lines, Panel, Plane, WorldPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

KINDS = ("svg", "pdf", "png")
WIDTH, PER_ROW = 7.0, 2
"""Inches of a page, and how many panels stand side by side."""
PAPERS = "the paper"
"""Series of this name are the paper's numbers: grey, without intervals."""
GREY = "#8a8a8a"
INTERVALS = "Bands and thin lines: 95% intervals of the means."


def pictures(figure: Figure, kinds: Sequence[str] = KINDS) -> dict[str, bytes]:
    """A figure of a study as files, by kind; the same bytes whenever it is drawn."""
    with print_style(figure.name):
        sheet = draw_figure(figure)
        return {kind: picture_bytes(sheet, kind, figure.title) for kind in kinds}


def draw_figure(figure: Figure) -> Sheet:
    """All panels of a figure, two in a row, under its title."""
    sheets: Any = require_package("matplotlib.figure", "plots", "figures")
    panels = figure.panels
    rows = [panels[i : i + PER_ROW] for i in range(0, len(panels), PER_ROW)]
    heights = [max(_height(panel) for panel in row) for row in rows]
    columns = min(PER_ROW, len(panels))
    width = WIDTH if columns > 1 else 0.62 * WIDTH
    sheet: Sheet = sheets.Figure((width, sum(heights) + 0.5), PRINT, layout="constrained")
    sheet.suptitle(figure.title, x=0.01, ha="left", weight="bold", size=10.5)
    grid = sheet.add_gridspec(len(rows), columns, height_ratios=heights)
    seen: set[int] = set()
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            ax = sheet.add_subplot(grid[i, j])
            draw_panel(panel, ax, seen)
            ax.set_title(panel.title)
    if any(each.lows for panel in panels for each in getattr(panel, "series", ())):
        sheet.supxlabel(INTERVALS, x=0.01, ha="left", size=7.0, color=SOFT)
    sheet.draw_without_rendering()
    sheet.set_layout_engine("none")  # what is laid out once is the same in every kind of file
    return sheet


def _height(panel: Panel) -> float:
    """Inches that a panel needs."""
    if isinstance(panel, Lines):
        return 2.7
    if isinstance(panel, Bars):
        return 1.3 + len(panel.categories) * (0.10 + 0.10 * len(panel.series))
    if isinstance(panel, Plane):
        return 3.4
    assert panel.task.layout is not None
    n_rows, n_columns = int(panel.task.layout["rows"]), int(panel.task.layout["columns"])
    return n_rows * min(0.75, 2.8 / n_columns) + 0.75


def draw_panel(panel: Panel, ax: Axes, seen: set[int] | None = None) -> None:
    """One panel on its axes; seen: worlds whose features were named already."""
    if isinstance(panel, Lines):
        _draw_lines(panel, ax)
    elif isinstance(panel, Bars):
        _draw_bars(panel, ax)
    elif isinstance(panel, Plane):
        _draw_plane(panel, ax)
    else:
        _draw_world(panel, ax, set() if seen is None else seen)


def _draw_lines(panel: Lines, ax: Axes) -> None:
    for number, each in enumerate(panel.series):
        style = {"color": GREY} if each.name == PAPERS else {}
        draw_line(ax, number, each.xs, each.ys, (each.lows, each.highs), label=each.name, **style)
    ax.set(xlabel=panel.x_title, ylabel=panel.y_title)
    if panel.log_y:
        whole_decades(ax)
    finish(ax)


def _draw_bars(panel: Bars, ax: Axes) -> None:
    for number, each in enumerate(panel.series):
        places = bar_places(each.xs, number, len(panel.series))
        tint = GREY if each.name == PAPERS else colour(number)
        draw_bars(
            ax,
            places,
            each.ys,
            (each.lows, each.highs),
            height=0.9 * SHARE / len(panel.series),
            color=tint,
            label=each.name,
        )
    name_groups(ax, panel.categories)
    ax.set_xlabel(panel.y_title)
    legend_below(ax, ax.get_legend_handles_labels()[0], drop=32, across=0.5)


def _draw_plane(panel: Plane, ax: Axes) -> None:
    reach = 1.25 * max([1.0, *(abs(v) for point in panel.points for v in point[:2])])
    planes = [HalfPlane(a, b, 0.0, label) for a, b, label in panel.normals]
    half_planes(ax, planes, (0.0, 0.0), reach)
    for first, second, name in panel.points:
        mark_point(ax, (first, second), name)
    ax.set(xlabel=panel.x_title, ylabel=panel.y_title)


def _draw_world(panel: WorldPanel, ax: Axes, seen: set[int]) -> None:
    world(
        panel.task,
        ax,
        policy=panel.policy,
        shown=[panel.shown] if panel.shown else (),
        marks=dict(panel.marks),
        legend=id(panel.task) not in seen,
    )
    seen.add(id(panel.task))
