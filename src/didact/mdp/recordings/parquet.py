"""What a Parquet file unpacks to, counted in its own bytes before any of its pages is unpacked.

A page of a few bytes may hold two thousand million equal values: a run is one number. pyarrow makes
room for all of them at once, for it reads whole rows, and a row may be one list. What the footer
says of the file is no bound, so the headers of the pages are read: pyarrow unpacks as many values
and bytes as they say. The walk from page to page is pyarrow's own; whatever could make it take
another way - a field twice, or of another type - is refused.

The headers are structs of Thrift's compact protocol; the numbers of their fields are from Parquet's
`parquet.thrift`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from didact.errors import InvalidFile

MAGIC = b"PAR1"
DEEPEST = 64
"""Structs in structs, and groups of columns in groups: both are followed by recursion."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
NUMBERS = (I16, I32, I64)

DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
TEXT = 6
"""The physical type BYTE_ARRAY."""
PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY = 0, 2, 8

Struct = dict[int, tuple[int, Any]]
"""The fields of a struct by their numbers: type and value."""


@dataclass(frozen=True)
class Weight:
    """What some columns of a file unpack to.

    n_values: in all their pages. n_bytes: of these pages, unpacked. longest_text: no text that
    stands once in a page and often in the column has more bytes.
    """

    n_values: int
    n_bytes: int
    longest_text: int


class Footer:
    """The end of a Parquet file, which says where the pages of its columns begin."""

    def __init__(self, content: memoryview):
        if len(content) < 12 or content[-4:] != MAGIC:
            raise InvalidFile("cannot be read: is no Parquet file, or an encrypted one")
        size = int.from_bytes(content[-8:-4], "little")
        if size > len(content) - 12:
            raise InvalidFile("cannot be read: its footer is longer than the file")
        self._content = content
        with _told("its footer"):
            footer = _Reader(content, len(content) - 8 - size).struct()
            if 8 in footer:
                raise InvalidFile("cannot be read: it is encrypted")
            _require_flat([each for _, each in _list(footer, 2)])
            self._groups = [_chunks(group) for _, group in _list(footer, 4)]

    def weight(self, columns: Collection[int]) -> Weight:
        """What the columns of these numbers unpack to, each the number of a leaf of the schema."""
        values = n_bytes = longest = packed = 0
        for group in self._groups:
            for number in columns:
                if number >= len(group):
                    raise InvalidFile("cannot be read: a part of it lacks a column")
                chunk = group[number]
                packed += chunk.n_packed
                if packed > len(self._content):  # chunks that share pages would be walked for ever
                    raise InvalidFile("cannot be read: its columns have more bytes than the file")
                with _told("a page"):
                    weight = self._chunk_weight(chunk)
                values += weight.n_values
                n_bytes += weight.n_bytes
                longest = max(longest, weight.longest_text)
        return Weight(values, n_bytes, longest)

    def _chunk_weight(self, chunk: _Chunk) -> Weight:
        """What the pages of a column in one row group unpack to."""
        place, end = chunk.start, chunk.start + chunk.n_packed
        values = entries = n_bytes = longest = 0
        while place < end:
            reader = _Reader(self._content, place)
            header = reader.struct()
            kind, unpacked, packed = (_number(header, field) for field in (1, 2, 3))
            if kind == DICTIONARY_PAGE:
                entries += _number(_field(header, 7, STRUCT), 1)
                longest = max(longest, unpacked)
            elif kind in (DATA_PAGE, DATA_PAGE_V2):
                is_new = kind == DATA_PAGE_V2
                data = _field(header, 8 if is_new else 5, STRUCT)
                values += _number(data, 1)
                _require_encoding(chunk, _number(data, 4 if is_new else 2))
            n_bytes += unpacked
            place = reader.place + packed
        if place > end or values < chunk.n_values:  # pyarrow would read on behind the column
            raise InvalidFile("cannot be read: a column has fewer pages than it says")
        return Weight(max(values, entries), n_bytes, longest if chunk.is_text else 0)


@contextmanager
def _told(part: str) -> Iterator[None]:
    """What is wrong with the bytes of a part, in one line."""
    try:
        yield
    except InvalidFile:
        raise
    except (IndexError, KeyError, TypeError, ValueError):
        raise InvalidFile(f"cannot be read: {part} is damaged") from None


@dataclass(frozen=True)
class _Chunk:
    """One column in one row group: where its pages begin, their bytes and its values."""

    start: int
    n_packed: int
    n_values: int
    is_text: bool


def _chunks(group: Struct) -> list[_Chunk]:
    found = []
    for _, chunk in _list(group, 1):
        if 8 in chunk or 9 in chunk:
            raise InvalidFile("cannot be read: a column is encrypted")
        about = _field(chunk, 3, STRUCT)
        start = _number(about, 9)
        if 11 in about and 0 < (dictionary := _number(about, 11)) < start:
            start = dictionary
        found.append(_Chunk(start, _number(about, 7), _number(about, 5), _number(about, 1) == TEXT))
    return found


def _require_flat(elements: Sequence[Struct]) -> None:
    """Refuse groups of columns in groups without end."""
    left: list[int] = []  # of each open group the members that are still to come
    for element in elements:
        if left:
            left[-1] -= 1
        n_members = _number(element, 5) if 5 in element else 0
        left.append(n_members)
        while left and not left[-1]:
            left.pop()
        if len(left) > DEEPEST:
            raise InvalidFile(f"cannot be read: its columns are nested more than {DEEPEST} deep")


def _require_encoding(chunk: _Chunk, encoding: int) -> None:
    """Texts whose beginnings are shared have any length, so that their pages do not bound them."""
    if chunk.is_text and encoding not in (PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY):
        raise InvalidFile("cannot be read: its texts are packed as differences; keep them plain")


def _field(struct: Struct, number: int, kind: int) -> Any:
    """A field that must be there, of this type."""
    found, value = struct[number]
    if found != kind:
        raise TypeError(f"field {number} is of type {found}")
    return value


def _number(struct: Struct, number: int) -> int:
    """A field that must be there, a number from 0."""
    kind, value = struct[number]
    if kind not in NUMBERS or value < 0:
        raise TypeError(f"field {number} is {value!s:.20}")
    return int(value)


def _list(struct: Struct, number: int) -> Any:
    """The structs in a field that must be a list of them, each with its type."""
    found = _field(struct, number, LIST)
    if any(kind != STRUCT for kind, _ in found):
        raise TypeError(f"field {number} lists no structs")
    return found


class _Reader:
    """Structs of Thrift's compact protocol, from a place of some bytes on."""

    def __init__(self, content: memoryview, place: int):
        self._content = content
        self.place = place

    def struct(self, depth: int = DEEPEST) -> Struct:
        """The struct that begins here."""
        if not depth:
            raise ValueError("structs in structs without end")
        found: Struct = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            if number in found:
                raise ValueError(f"field {number} stands twice")
            found[number] = (kind, self._value(kind, depth - 1))
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in NUMBERS:
            return self._signed()
        if kind == STRUCT:
            return self.struct(depth)
        if kind in (LIST, SET):
            return self._entries(depth)
        if kind == BINARY:
            return self._skipped(self._unsigned())
        if kind in (BYTE, DOUBLE):
            return self._skipped(8 if kind == DOUBLE else 1)
        raise ValueError(f"there is no type {kind} in Parquet")  # maps among them

    def _entries(self, depth: int) -> list[tuple[int, Any]]:
        head = self._byte()
        n, kind = head >> 4, head & 15
        n = self._unsigned() if n == 15 else n
        if kind in (TRUE, FALSE):  # in lists they are bytes
            kind = BYTE
        if n > len(self._content):
            raise ValueError("a list is longer than the file")
        return [(kind, self._value(kind, depth)) for _ in range(n)]

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _skipped(self, n: int) -> None:
        self.place += n
        if self.place > len(self._content):
            raise IndexError("the file ends before")

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number has too many bytes")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
