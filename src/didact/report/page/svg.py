"""Small parts of pages: text that is safe in HTML, numbers in few signs, elements."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from didact.inputs import shown_name

LONGEST_TEXT = 400


def safe(text: Any, longest: int = LONGEST_TEXT) -> str:
    """Text for HTML, in elements and in quoted attributes: one line, cut where it is too long."""
    return escape(shown_name(str(text), longest), quote=True)


def number(value: float) -> str:
    """A coordinate in few signs: two decimals, no trailing zeros."""
    rounded = round(float(value), 2)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:g}"


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """Coordinates for a polygon or polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)


def amount(value: float) -> str:
    """A quantity for people: three significant digits, a true minus sign, never 1e+03."""
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    size = abs(value)
    text = f"{size:.3g}" if size < 1000 else f"{size:,.0f}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}×10^{int(exponent)}"
    return f"−{text}" if value < 0 else text


def text(x: float, y: float, content: str, classes: str = "", anchor: str = "start") -> str:
    """A line of text in a picture; the content is made safe here."""
    kind = f' class="{classes}"' if classes else ""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{number(x)}" y="{number(y)}"{kind}{where}>{safe(content, 60)}</text>'


def picture(
    view: tuple[float, float, float, float],
    title: str,
    inside: str,
    *,
    name: str,
    classes: str = "",
    description: str = "",
    widest: float | None = None,
) -> str:
    """An inline SVG with a title and a description for people who do not see it.

    widest: how wide it may be on the page, in rem.
    """
    box = " ".join(number(entry) for entry in view)
    told = f'<desc id="{name}-d">{safe(description, 2000)}</desc>' if description else ""
    style = "" if widest is None else f' style="max-width:{number(widest)}rem"'
    labels = f"{name}-t {name}-d" if description else f"{name}-t"
    return (
        f'<svg class="{classes}" viewBox="{box}" role="img" aria-labelledby="{labels}"{style}>'
        f'<title id="{name}-t">{safe(title, 2000)}</title>{told}{inside}</svg>'
    )
