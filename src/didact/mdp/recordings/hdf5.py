"""HDF5 files: numbers and texts, without what leads out of the file; and files made in memory.

HDF5 may point elsewhere: by links into other files, by arrays that lie in others, and by arrays
that are put together from others. A stranger could so have any file of this machine read.
Only what lies in the file itself is taken, and its sizes are compared before memory is.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile
from didact.files.extras import require_package
from didact.files.reading import MAX_BYTES, Budget, open_file
from didact.inputs import shown

AS_JPEG = (
    "must be pictures as they were observed; Minari kept them as JPEG, which changes them. Record "
    "them with DataCollector(env, jpeg_encoding=False)"
)


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """The file, open for reading."""
    h5py = require_package("h5py", "minari", "Minari datasets")
    open_file(path).close()
    with h5py.File(path, "r") as file:
        yield file


def image_of(fill: Callable[[Any], None]) -> bytes:
    """The bytes of an HDF5 file that `fill` has filled, made in memory.

    Where a disk is full HDF5 ends the process; what is in memory can be written by others.
    """
    h5py = require_package("h5py", "minari", "Minari datasets")
    content = io.BytesIO()
    with h5py.File(content, "w", track_order=True) as file:
        fill(file)
    return content.getvalue()


def group_in(parent: Any, name: str) -> Any:
    """The group of this name."""
    h5py = require_package("h5py", "minari", "Minari datasets")
    found = _member(h5py, parent, name)
    if not isinstance(found, h5py.Group):
        raise InvalidFile(f"{name} must be a group; it is {shown(found)}")
    return found


def _array(h5py: Any, found: Any, name: str, budget: Budget) -> Any:
    """An array that lies in the file and is not too large."""
    if not isinstance(found, h5py.Dataset) or found.shape is None:
        raise InvalidFile(f"{name} must be an array; it is {shown(found)}")
    if found.external or found.is_virtual:
        raise InvalidFile(f"{name} must lie in this file; it lies in others")
    words = -(-found.dtype.itemsize // 8)
    budget.take(math.prod(found.shape) * words, f"{name}, of the shape {found.shape},")
    at_once = math.prod(found.chunks or (1,)) * found.dtype.itemsize
    if at_once > MAX_BYTES:
        raise InvalidFile(f"{name} must be kept in smaller parts; one has {at_once} bytes")
    return found


def rows_in(parent: Any, name: str, budget: Budget, depth: int = 8) -> list[Any]:
    """For each step what the array of this name holds; of a group, an object with its parts."""
    h5py = require_package("h5py", "minari", "Minari datasets")
    found = _member(h5py, parent, name)
    if isinstance(found, h5py.Group) and depth:
        parts = {key: rows_in(found, key, budget, depth - 1) for key in found}
        steps = {len(rows) for rows in parts.values()}
        if len(steps) != 1:
            raise InvalidFile(f"{name} must have parts of one length; it has {shown(steps)}")
        return [{key: rows[i] for key, rows in parts.items()} for i in range(steps.pop())]
    array = _array(h5py, found, name, budget)
    if array.ndim and array.dtype.kind in "biuf":
        return list(array[()])
    if array.ndim == 1 and h5py.check_string_dtype(array.dtype) is not None:
        return _texts(array, name, budget)
    if h5py.check_vlen_dtype(array.dtype) == "uint8":
        raise InvalidFile(f"{name} {AS_JPEG}")
    raise InvalidFile(f"{name} must hold numbers or texts; its type is {array.dtype!s:.60}")


def _texts(array: Any, name: str, budget: Budget) -> list[str]:
    """Texts, one after another: what each takes is known only when it is read."""
    found = []
    for i in range(array.shape[0]):
        found.append(bytes(array[i]).decode("utf-8", "replace"))
        budget.take(len(found[-1]), name)
    return found


def whole_number_beside(group: Any, name: str) -> int | None:
    """The attribute of this name; None where there is none."""
    if name not in group.attrs:
        return None
    attribute = group.attrs.get_id(name)
    if attribute.shape != () or attribute.dtype.kind not in "iu":
        raise InvalidFile(f"{name} must be a whole number; its type is {attribute.dtype!s:.60}")
    return int(group.attrs[name])


def _member(h5py: Any, parent: Any, name: str) -> Any:
    link = parent.get(name, getlink=True)
    if link is None:
        raise InvalidFile(f"{name} is missing")
    if not isinstance(link, h5py.HardLink):
        raise InvalidFile(f"{name} must lie in this file; it is a link")
    return parent[name]
