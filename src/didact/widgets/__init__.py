"""Widgets for notebooks: a world to paint, a lesson to play, the cone of rewards that fit.

They are the modules of the lesson's page and of the studio, through anywidget, and so work in
JupyterLab, VS Code and marimo. The extra is `notebook`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from didact.files.extras import require_package

if TYPE_CHECKING:
    from didact.widgets.views import ConeView, LessonPlayer, World

__all__ = ["ConeView", "LessonPlayer", "World"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'didact.widgets' has no attribute {name!r}")
    require_package("anywidget", "notebook", "widgets in notebooks")
    from didact.widgets import views

    return getattr(views, name)
