"""Packages that are extras: imported when they are needed, or one line says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from didact.errors import Unsupported


def require_package(module: str, extra: str, purpose: str) -> Any:
    """The module; without it, `purpose` says what needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or module
        raise Unsupported(
            f"{purpose} need the package {missing}; pip install 'didact[{extra}]'"
        ) from None
