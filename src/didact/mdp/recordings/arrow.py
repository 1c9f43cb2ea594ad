"""Columns of Arrow streams and Parquet files, weighed and checked before any value is read.

pyarrow believes what a stream says of itself: an offset beyond its values ends the process, and a
compressed buffer may claim any size. So claims are added up before buffers are unpacked, only the
columns wanted are loaded, and batches are checked in full before their values are touched. What a
Parquet file unpacks to is counted by `parquet.Footer`.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.extras import require_package
from didact.files.reading import MAX_BYTES, Budget, open_file
from didact.inputs import in_one_line
from didact.mdp.recordings.parquet import Footer

MAGIC = b"ARROW1\0\0"
"""An Arrow file begins so, and then like a stream."""
BATCHES = ("record batch", "dictionary")
"""The messages of a stream that hold buffers."""

TEXT_AT_ONCE = 100_000_000
"""Bytes of texts that are unpacked at once."""

Accepts = Callable[[Any], bool]


def read_lists(
    path: Path, columns: Sequence[str], budget: Budget
) -> Iterator[tuple[list[Any], ...]]:
    """For each row its lists in the named columns."""
    with _told():
        for batch in _batches(path, columns, _is_list):
            lists = [batch.column(column) for column in columns]
            for name, column in zip(columns, lists, strict=True):
                budget.take(_n_entries(column), name)
            for row in range(batch.num_rows):
                yield tuple(column[row].as_py() or [] for column in lists)


def read_columns(path: Path, columns: Sequence[str], budget: Budget) -> tuple[list[Any], ...]:
    """The named columns as lists: of numbers, texts, or lists and objects of them."""
    found: tuple[list[Any], ...] = tuple([] for _ in columns)
    with _told():
        batches = (
            _parquet_batches(path, columns, budget)
            if path.suffix == ".parquet"
            else _batches(path, columns, _is_observed)
        )
        for batch in batches:
            for values, column in zip(found, columns, strict=True):
                budget.take(_n_entries(batch.column(column)), column)
                values += batch.column(column).to_pylist()
    return found


@contextmanager
def _told() -> Iterator[None]:
    """What pyarrow complains about, in one line."""
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:  # pyarrow's own, and whatever a damaged file brings about
        raise InvalidFile(f"cannot be read: {in_one_line(error):.200}") from None


def _batches(path: Path, columns: Sequence[str], accepts: Accepts) -> Iterator[Any]:
    """The batches of a stream or an Arrow file with the columns wanted, each checked in full."""
    pyarrow = require_package("pyarrow", "imitation", "folders for imitation")
    with open_file(path) as file:
        begin = len(MAGIC) if file.read(len(MAGIC)) == MAGIC else 0
    with pyarrow.memory_map(str(path)) as source:
        source.seek(begin)
        _require_sizes(pyarrow.ipc.MessageReader.open_stream(source))
        source.seek(begin)
        places = _places(pyarrow.ipc.open_stream(source).schema, columns, accepts)
        source.seek(begin)
        wanted = pyarrow.ipc.IpcReadOptions(included_fields=places)
        for batch in pyarrow.ipc.open_stream(source, options=wanted):
            batch.validate(full=True)
            yield batch


def _parquet_batches(path: Path, columns: Sequence[str], budget: Budget) -> Iterator[Any]:
    """The same of a Parquet file, whose pages are counted before they are unpacked."""
    parquet = require_package("pyarrow.parquet", "minari", "Minari datasets")
    with (
        open_file(path) as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content,
        memoryview(content) as view,
    ):
        footer = Footer(view)
        with parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
            _places(file.schema_arrow, columns, _is_observed)
            weight = footer.weight(_leaves(file.schema, columns))
            if weight.n_bytes > MAX_BYTES:
                raise InvalidFile(
                    f"must unpack to at most {MAX_BYTES} bytes; it says {weight.n_bytes}"
                )
            # Rows that hold nothing have no values.
            n_rows = sum(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))
            budget.require(max(weight.n_values, n_rows), " and ".join(columns))
            # A long text that is repeated stands once in its page.
            at_once = max(1, min(10_000, TEXT_AT_ONCE // max(weight.longest_text, 1)))
            for batch in file.iter_batches(columns=list(columns), batch_size=at_once):
                batch.validate(full=True)
                yield batch


def _leaves(schema: Any, columns: Sequence[str]) -> list[int]:
    """The numbers of the leaves of a Parquet schema that belong to some columns."""
    paths = [schema.column(i).path for i in range(len(schema))]
    return [
        i
        for i, path in enumerate(paths)
        if any(path == column or path.startswith(f"{column}.") for column in columns)
    ]


def _places(schema: Any, columns: Sequence[str], accepts: Accepts) -> list[int]:
    """The places of the columns, if each is there once and has a type that is accepted."""
    places = []
    for column in columns:
        found = schema.get_all_field_indices(column)
        if len(found) != 1:
            often = "is missing" if not found else f"stands {len(found)} times"
            raise InvalidFile(f"must have the columns {' and '.join(columns)}; {column} {often}")
        kind = schema.field(found[0]).type
        if not accepts(kind):
            what = "numbers" if accepts is _is_observed else "a list for each episode"
            raise InvalidFile(f"{column} must be {what}; it is {kind!s:.60}")
        places += found
    return places


def _is_number(kind: Any) -> bool:
    types = require_package("pyarrow.types", "imitation", "folders for imitation")
    return bool(types.is_primitive(kind))


def _is_observed(kind: Any, depth: int = 8) -> bool:
    """Whether a type is numbers or texts, or lists and objects of them."""
    types = require_package("pyarrow.types", "imitation", "folders for imitation")
    if types.is_struct(kind) and depth:
        return all(_is_observed(kind.field(i).type, depth - 1) for i in range(kind.num_fields))
    return bool(types.is_string(kind)) or _is_number(kind) or _is_list(kind, 6)


def _is_list(kind: Any, depth: int = 6) -> bool:
    """Whether a type is lists of numbers, or of lists of them."""
    types = require_package("pyarrow.types", "imitation", "folders for imitation")
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    inner = kind.value_type
    return _is_number(inner) or (depth > 1 and _is_list(inner, depth - 1))


def _n_entries(column: Any) -> int:
    """How many Python objects a column becomes: rows, entries of lists, fields, signs of texts."""
    types = require_package("pyarrow.types", "imitation", "folders for imitation")
    kind, n = column.type, len(column)
    if types.is_struct(kind):
        return n + sum(_n_entries(column.field(i)) for i in range(kind.num_fields))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return n + _n_entries(column.flatten())
    return n + (column.nbytes if types.is_string(kind) else 0)


def _require_sizes(messages: Any) -> None:
    """Refuse a stream whose compressed buffers claim more memory than a file may take."""
    claimed = 0
    for message in messages:
        if message.type in BATCHES:
            claimed += _claimed(message.type, memoryview(message.metadata), message.body)
        if claimed > MAX_BYTES:
            raise InvalidFile(f"must unpack to at most {MAX_BYTES} bytes; it says {claimed}")


# The part of Arrow's flatbuffers that says how a batch is packed (format/Message.fbs).

MESSAGE_HEADER, DICTIONARY_DATA, BATCH_BUFFERS, BATCH_COMPRESSION = 2, 1, 2, 3


def _claimed(kind: str, metadata: memoryview, body: Any) -> int:
    """How many bytes the compressed buffers of a batch say they unpack to; 0 where none is."""
    batch = _table(metadata, _field(metadata, _table(metadata, 0), MESSAGE_HEADER))
    if kind == "dictionary":
        batch = _table(metadata, _field(metadata, batch, DICTIONARY_DATA))
    buffers = _field(metadata, batch, BATCH_BUFFERS)
    if not _field(metadata, batch, BATCH_COMPRESSION) or not buffers:
        return 0
    vector = _table(metadata, buffers)
    (n_buffers,) = struct.unpack_from("<I", metadata, vector)
    claims: list[int] = []
    for i in range(n_buffers):
        start, size = struct.unpack_from("<qq", metadata, vector + 4 + 16 * i)
        if size:
            claims += struct.unpack_from("<q", memoryview(body), start)
    return sum(max(claim, 0) for claim in claims)


def _table(metadata: memoryview, place: int) -> int:
    """Where the offset at a place leads."""
    return place + int(struct.unpack_from("<I", metadata, place)[0])


def _field(metadata: memoryview, table: int, number: int) -> int:
    """The place of a table's field; 0 where it is left out."""
    names = table - int(struct.unpack_from("<i", metadata, table)[0])
    (size,) = struct.unpack_from("<H", metadata, names)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", metadata, names + 4 + 2 * number)
    return table + offset if offset else 0
