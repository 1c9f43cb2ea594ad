"""Shapes drawn by Matplotlib, for papers and slides; only where it is installed."""

from __future__ import annotations

import io
from typing import Any

from didact.errors import Unsupported
from didact.report.figures.layout import lay_out
from didact.report.figures.shapes import Area, Line, Shape
from didact.studies.figure import Figure

DPI = 144


def figure_png(figure: Figure) -> bytes:
    """The figure as a PNG picture; raises Unsupported where Matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Sheet
    except ImportError:
        raise Unsupported(
            "pictures in PNG need Matplotlib, which is not installed: pip install 'didact[figures]'"
        ) from None
    canvas = lay_out(figure)
    sheet: Any = Sheet(figsize=(canvas.width / 72, canvas.height / 72), dpi=DPI)
    FigureCanvasAgg(sheet)
    axes: Any = sheet.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, canvas.width)
    axes.set_ylim(canvas.height, 0)
    axes.axis("off")
    for order, shape in enumerate(canvas.shapes):
        _draw(axes, shape, order)
    picture = io.BytesIO()
    sheet.savefig(picture, format="png", dpi=DPI, metadata={"Software": None})
    return picture.getvalue()


def _draw(axes: Any, shape: Shape, order: int) -> None:
    if isinstance(shape, Line):
        xs, ys = zip(*shape.points, strict=True)
        axes.plot(xs, ys, color=shape.colour, linewidth=shape.width, zorder=order)
    elif isinstance(shape, Area):
        xs, ys = zip(*shape.points, strict=True)
        axes.fill(
            xs, ys, facecolor=shape.fill, alpha=shape.opacity, zorder=order,
            edgecolor=shape.stroke or "none", linewidth=0.8 if shape.stroke else 0,
        )  # fmt: skip
    else:
        axes.text(
            *shape.at, shape.text, fontsize=shape.size, color=shape.colour, zorder=order,
            ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor], va="baseline",
            rotation=shape.angle, rotation_mode="anchor", parse_math=False,
            fontweight="bold" if shape.bold else "normal",
        )  # fmt: skip
