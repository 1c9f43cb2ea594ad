"""What a dataset observed, put together as its metadata describe the space.

Datasets keep each part of an observation in a column of its own, and flatten arrays. A space is the
JSON object that Minari writes for it; nothing of it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from didact.errors import InvalidFile
from didact.inputs import is_whole, shown

WHOLE = ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Text")
DEEPEST = 8
"""Spaces within spaces."""


def require_space(space: Any, place: str, depth: int = DEEPEST) -> Mapping[str, Any]:
    """A space whose observations can be told apart by value."""
    found: dict[str, Any] = space if isinstance(space, dict) else {}
    kind, parts = found.get("type"), parts_of(found)
    if kind in WHOLE:
        return found
    if parts is None or depth == 0:
        raise InvalidFile(
            f"{place} must be one of {', '.join(WHOLE)}, Dict or Tuple; it is {shown(kind)}"
        )
    for name, part in parts.items():
        require_space(part, f"{place}[{name}]", depth - 1)
    return found


def parts_of(space: Mapping[str, Any]) -> dict[str, Any] | None:
    """The spaces in a Dict or a Tuple by name; None for others."""
    parts = space.get("subspaces")
    if space.get("type") == "Dict" and isinstance(parts, dict):
        return parts
    if space.get("type") == "Tuple" and isinstance(parts, list):
        return {str(i): part for i, part in enumerate(parts)}
    return None


def put_together(row: Any, space: Mapping[str, Any]) -> Any:
    """The observation of one step: a Tuple is a list, a Dict an object, arrays have their shape."""
    parts = parts_of(space)
    if parts is not None:
        if not isinstance(row, dict):
            raise InvalidFile(f"an observation must have the parts {', '.join(parts)}")
        together = {name: put_together(_part(row, name), part) for name, part in parts.items()}
        return list(together.values()) if space["type"] == "Tuple" else together
    shape = space.get("shape") if space["type"] == "Box" else None
    if shape is None:
        return row
    if not isinstance(shape, list) or not all(is_whole(side) and side >= 0 for side in shape):
        raise InvalidFile(f"the shape of a Box must be whole numbers; it is {shown(shape)}")
    try:
        return np.reshape(row, shape)
    except (TypeError, ValueError):
        raise InvalidFile(f"an observation must have the shape {shown(shape)}") from None


def _part(row: Mapping[str, Any], name: str) -> Any:
    """The part of that name; parts of a Tuple are also called _index_0, _index_1, ..."""
    for known in (name, f"_index_{name}"):
        if known in row:
            return row[known]
    raise InvalidFile(f"the part {shown(name)} of the observations is missing")
