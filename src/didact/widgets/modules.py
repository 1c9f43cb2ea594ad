"""The browser's side of a widget: the package's own modules as one, and their style.

A notebook loads no files of the package. So each widget carries its modules inside, put together as
a lesson's page does it, and its style in a shadow root, where it cannot restyle the notebook.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from didact.report.page.templates import inlined, static_text

OWN = Path(__file__).parent / "static"


def module_text(name: str) -> str:
    """A module of the widgets, or one that they share with pages and studio."""
    own = OWN / name
    return own.read_text(encoding="utf-8") if own.exists() else static_text(name)


@cache
def widget_module(entry: str) -> str:
    """The module of a widget with all that it imports, as a notebook wants it."""
    return f"{inlined(entry, module_text)}\nexport default {{ render }};\n"


@cache
def widget_style() -> str:
    """The style of pages and studio, for a shadow root."""
    style = static_text("page.css") + static_text("studio.css")
    style = style.replace(":root", ":host")
    return re.sub(r"^body \{", ".page {", style, flags=re.MULTILINE)
