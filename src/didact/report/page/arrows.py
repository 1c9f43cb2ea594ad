"""Arrows of pictures, as paths: the way from cell to cell, and stubs where nothing moves."""

from __future__ import annotations

from didact.report.page.scene import Place
from didact.report.page.svg import number

SHIFT = 2.4
"""Paths keep to the right, so that there and back do not cover each other."""


def way(here: Place, there: Place) -> str:
    """A line from cell to cell, shifted to its right side, with a head before its end."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = (dx * dx + dy * dy) ** 0.5
    ux, uy = dx / length, dy / length
    x0, y0 = here[0] - uy * SHIFT + ux * 2, here[1] + ux * SHIFT + uy * 2
    x1, y1 = there[0] - uy * SHIFT - ux * 2, there[1] + ux * SHIFT - uy * 2
    return f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}{_head(x1, y1, ux, uy)}"


def stub(here: Place, direction: tuple[int, int], length: float, *, hooked: bool = False) -> str:
    """A short line against the side of the cell; a bar across its end where it stays."""
    ux, uy = direction
    x1, y1 = here[0] + ux * length, here[1] + uy * length
    line = f"M{number(here[0])} {number(here[1])}L{number(x1)} {number(y1)}"
    if not hooked:
        return line + _head(x1, y1, ux, uy)
    ax, ay = x1 - uy * 3.4, y1 + ux * 3.4
    bx, by = x1 + uy * 3.4, y1 - ux * 3.4
    return f"{line}M{number(ax)} {number(ay)}L{number(bx)} {number(by)}"


def _head(x: float, y: float, ux: float, uy: float) -> str:
    ax, ay = x - 3 * ux - 2.4 * uy, y - 3 * uy + 2.4 * ux
    bx, by = x - 3 * ux + 2.4 * uy, y - 3 * uy - 2.4 * ux
    return f"M{number(ax)} {number(ay)}L{number(x)} {number(y)}L{number(bx)} {number(by)}"
