"""How results show themselves: in a notebook, as a page, as a picture.

What renders them is in packages above this one and is imported when it is asked for. Each of the
three chooses by the type of the result.
"""

from __future__ import annotations

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
