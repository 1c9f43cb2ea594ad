"""Packages that are extras, and modules that a person names: one line says what is missing."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from didact.errors import InvalidParameter, Unsupported


def require_package(module: str, extra: str, purpose: str) -> Any:
    """The module; without it, `purpose` says what needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = (getattr(error, "name", None) or module).partition(".")[0]
        raise Unsupported(
            f"{purpose} need the package {missing}; pip install 'didact[{extra}]'"
        ) from None


def named_object(text: str, place: str) -> Any:
    """What module:name or file.py:name names; modules of the current folder count too."""
    from didact.files.reading import shown_path
    from didact.inputs import FAILURES, reason_of

    module, _, name = text.partition(":")
    if not module or not name:  # the name of a file must not import a module of that name
        raise InvalidParameter(
            f"{place} must be module:name or file.py:name, or a file that is read here; it is "
            f"{shown_path(text)}"
        )
    try:
        _look_beside(module)
        found: Any = _from_file(module) if module.endswith(".py") else import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except FAILURES as error:
        raise InvalidParameter(
            f"{place} {shown_path(text)} cannot be loaded: {reason_of(error)}"
        ) from None
    return found


def _look_beside(module: str) -> None:
    """Look for modules in the folder of what is named, where that is a file or in this folder.

    Where an installed module is named, this folder may be a stranger's, and stays out.
    """
    is_file = module.endswith(".py")
    folder = os.path.dirname(os.path.abspath(module)) if is_file else os.getcwd()
    is_here = is_file or PathFinder.find_spec(module.partition(".")[0], [folder]) is not None
    if is_here and folder not in sys.path:
        sys.path.insert(0, folder)


def _from_file(path: str) -> Any:
    """The module in a file; its own folder counts for what it imports."""
    from didact.files.reading import shown_path

    spec = spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"no file {shown_path(path)}")
    made = module_from_spec(spec)
    sys.modules.setdefault(spec.name, made)
    spec.loader.exec_module(made)
    return made
