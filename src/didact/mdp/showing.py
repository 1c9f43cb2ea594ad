"""How results show themselves: in a notebook, as a page, as a picture.

What renders them is in packages above this one and is imported when it is asked for. Each of the
three chooses by the type of the result.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

NOTEBOOK, PAGES, PLOTS = "didact.report.notebook", "didact.report.page.writing", "didact.plots"


def in_notebook(result: Any) -> str:
    """The HTML of a result in a notebook: the method `_repr_html_` of its class."""
    html: str = import_module(NOTEBOOK).fragment(result)
    return html


def write_page(result: Any, path: Any, **options: Any) -> Any:
    """Write the page of a result; what its writer returns."""
    return import_module(PAGES).write_page(result, path, **options)


def draw(result: Any, ax: Any, **style: Any) -> Any:
    """Draw a result on Matplotlib axes, new ones for None; the axes."""
    return import_module(PLOTS).draw(result, ax, **style)


class Showable:
    """What can be drawn, written as a page, and shown in a notebook without being told more."""

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw it.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of the function of `didact.plots` that draws it, or of its lines or bars.
        """
        return draw(self, ax, **style)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page of it.

        path: of the page, a name that ends with .html.
        """
        write_page(self, path)

    _repr_html_ = in_notebook
