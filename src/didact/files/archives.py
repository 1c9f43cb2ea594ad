"""Arrays that NumPy saved (.npy), and archives of arrays with one JSON header (.npz).

Plain numbers only: no pickle, nothing compressed. An archive holds exactly the arrays of its
format. Sizes are compared before memory is taken.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidFile, InvalidInput
from didact.files.json import parse_json, plain_numbers, write_bytes
from didact.files.kinds import archive_kind
from didact.files.reading import MAX_BYTES as MAX_READ
from didact.files.reading import Name, open_file, shown_path, system_reason
from didact.inputs import reason_of, shown

MAX_ENTRIES = 50_000_000
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
    if n_entries > MAX_ENTRIES or n_entries * dtype.itemsize > MAX_READ:
        raise InvalidFile(f"must hold at most {MAX_ENTRIES} numbers; its shape is {shape}")
    if file.tell() + n_entries * dtype.itemsize != n_bytes:
        raise ValueError(f"it says it has the shape {shape}, which its bytes are not")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


HEADER = "header"
MAX_BYTES = 2_000_000_000
"""Of all arrays together."""


def write_archive(header: Mapping[str, Any], arrays: Mapping[str, Any], path: Name) -> None:
    """Write header and arrays; the file appears whole or not at all."""
    content = io.BytesIO()
    try:
        # NumPy before 2.2 takes allow_pickle for one more array
        np.savez(content, **{HEADER: np.array(json.dumps(header, allow_nan=False)), **arrays})
    except ValueError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # the archive was open when it came
            raise KeyboardInterrupt from None
        raise
    write_bytes(content.getvalue(), path, kind=archive_kind(header["format"]))


class Archive:
    """An open archive of one format.

    kinds: of each array its NumPy kinds, as 'f' or 'iuf'; all of them have entries of 8 bytes.
    """

    def __init__(self, file: Any, format: str, kinds: Mapping[str, str], written_by: str):
        if not zipfile.is_zipfile(file):
            raise InvalidFile(f"must be a {format} file, as `{written_by}` writes it; it is not")
        self._archive, self._format, self._kinds = zipfile.ZipFile(file), format, dict(kinds)
        self._require_members()

    def _require_members(self) -> None:
        entries = self._archive.infolist()
        expected = sorted(f"{name}.npy" for name in (HEADER, *self._kinds))
        if sorted(entry.filename for entry in entries) != expected:
            raise InvalidFile(f"must hold the arrays of a {self._format} file; it holds others")
        n_bytes = sum(entry.file_size for entry in entries)
        if n_bytes > MAX_BYTES:
            raise InvalidFile(f"must hold at most {MAX_BYTES} bytes; it says it holds {n_bytes}")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise InvalidFile("must hold its arrays as they are; some are compressed. Unpack them")

    def header(self) -> dict[str, Any]:
        """The header, an object of this format."""
        header = plain_numbers(parse_json(str(self._read(HEADER, "U"))))
        if not isinstance(header, dict):
            raise ValueError(f"an object is expected, not {shown(header)}")
        if header.get("format") != self._format:
            raise InvalidFile(
                f"format must be {self._format!r}, which this didact reads; "
                f"it is {shown(header.get('format'))}"
            )
        return header

    def arrays(self) -> dict[str, Any]:
        """Every array by name."""
        return {name: self._read(name, kinds) for name, kinds in self._kinds.items()}

    def _read(self, name: str, kinds: str) -> Any:
        """An array whose own sizes agree with those of its entry, before memory is taken.

        Whatever order its bytes have in the file, they have this machine's.
        """
        with self._archive.open(f"{name}.npy") as entry:
            version = np.lib.format.read_magic(entry)
            if version != (1, 0):
                raise ValueError(f"{name} has another .npy version")
            shape, _, dtype = np.lib.format.read_array_header_1_0(entry)
            n_bytes = math.prod(shape) * dtype.itemsize
            if entry.tell() + n_bytes != self._archive.getinfo(f"{name}.npy").file_size:
                raise ValueError(f"{name} says it has the shape {shape}, which its bytes are not")
            if dtype.kind not in kinds or (dtype.kind != "U" and dtype.itemsize != 8):
                raise ValueError(f"{name} has the type {dtype}")
            entry.seek(0)
            array = np.lib.format.read_array(entry, allow_pickle=False)
        if dtype.kind == "U" and _signs(array).max(initial=0) > sys.maxunicode:
            raise ValueError(f"{name} holds what is no text")
        return array.astype(dtype.newbyteorder("="), copy=False)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()


def read_archive(path: Name, format: str, read: Any) -> Any:
    """What read(file) makes of an open file; whatever is wrong with it is told in one line."""
    place = shown_path(path)
    with open_file(path) as file:
        try:
            return read(file)
        except InvalidInput as error:
            raise InvalidFile(f"{place}: {error}") from None
        except OSError as error:
            raise InvalidFile(f"{place}: cannot be read: {error.strerror or error}") from None
        except DAMAGED as error:
            raise InvalidFile(
                f"{place}: is not a whole {format} file: {reason_of(error, 120)}"
            ) from None


def _signs(text: Any) -> Any:
    """The numbers of the signs of a text, which NumPy does not check."""
    return np.frombuffer(text.tobytes(), np.dtype(np.uint32).newbyteorder(text.dtype.byteorder))
