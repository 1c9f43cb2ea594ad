"""Arrays that NumPy has saved (.npy): plain numbers, their sizes compared before they are read."""

from __future__ import annotations

import math
import os
import tokenize
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidFile
from didact.files.reading import MOST_BYTES, Name, open_file, shown_path, system_reason

MOST_ENTRIES = 50_000_000
"""An array has at most so many entries; no task has more states times actions."""

DAMAGED = (
    EOFError, KeyError, ValueError, TypeError, AttributeError, SyntaxError, IndexError,
    RuntimeError, NotImplementedError, RecursionError, OverflowError, MemoryError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What NumPy, zip and JSON readers raise on damaged data."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_array(path: Name) -> NDArray[Any]:
    """The array in a .npy file: whole numbers or floats."""
    place = shown_path(path)
    with open_file(path) as file:
        try:
            return read_entry(file, os.fstat(file.fileno()).st_size, "iuf")
        except InvalidFile as error:
            raise InvalidFile(f"{place}: {error}") from None
        except OSError as error:
            raise InvalidFile(f"{place}: cannot be read: {system_reason(error)}") from None
        except DAMAGED:
            raise InvalidFile(
                f"{place}: cannot be read: it is no array that NumPy saved, or not whole"
            ) from None


def read_entry(file: IO[bytes], n_bytes: int, kinds: str) -> NDArray[Any]:
    """The one array in a file of so many bytes, if its type is of one of the kinds."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"it has another .npy version, {version}")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.kind not in kinds:
        raise InvalidFile(f"must hold plain numbers, whole or with decimals; it holds {dtype}")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise InvalidFile(f"must hold floats of at most 64 bits; it holds {dtype}. Convert it")
    n_entries = math.prod(shape)
    if n_entries > MOST_ENTRIES or n_entries * dtype.itemsize > MOST_BYTES:
        raise InvalidFile(f"must hold at most {MOST_ENTRIES} numbers; its shape is {shape}")
    if file.tell() + n_entries * dtype.itemsize != n_bytes:
        raise ValueError(f"it says it has the shape {shape}, which its bytes are not")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array
