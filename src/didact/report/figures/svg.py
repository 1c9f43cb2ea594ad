"""Shapes as SVG: the same bytes for the same figure, everywhere."""

from __future__ import annotations

from html import escape

from didact.report.figures.layout import lay_out
from didact.report.figures.shapes import Area, Canvas, Line, Point, Shape
from didact.studies.figure import Figure

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def figure_svg(figure: Figure) -> str:
    """The figure as a whole SVG document."""
    return canvas_svg(lay_out(figure))


def canvas_svg(canvas: Canvas) -> str:
    """The shapes of a canvas as an SVG document with a title for readers that do not see it."""
    width, height = _number(canvas.width), _number(canvas.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(canvas.title)}" '
        f'font-family="{escape(FONT)}">',
        f"<title>{escape(canvas.title)}</title>",
        *(_shape(shape) for shape in canvas.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _shape(shape: Shape) -> str:
    if isinstance(shape, Line):
        return (
            f'<polyline points="{_points(shape.points)}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_number(shape.width)}"/>'
        )
    if isinstance(shape, Area):
        stroke = "" if shape.stroke is None else f' stroke="{shape.stroke}"'
        opacity = "" if shape.opacity == 1 else f' fill-opacity="{_number(shape.opacity)}"'
        return f'<polygon points="{_points(shape.points)}" fill="{shape.fill}"{opacity}{stroke}/>'
    x, y = (_number(value) for value in shape.at)
    weight = ' font-weight="bold"' if shape.bold else ""
    turn = f' transform="rotate({_number(-shape.angle)} {x} {y})"' if shape.angle else ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    return (
        f'<text x="{x}" y="{y}" font-size="{_number(shape.size)}" fill="{shape.colour}"'
        f"{anchor}{weight}{turn}>{escape(shape.text)}</text>"
    )


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    """At most two decimals; never -0."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
