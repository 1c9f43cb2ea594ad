"""Edits that know their format: arrays, archives, databases, Arrow, Parquet and HDF5."""

import hashlib
import io
import random
import sqlite3
import zipfile
from contextlib import closing, suppress
from typing import Any

import numpy as np

from tests.fuzz.contract import Edit, Files
from tests.fuzz.edits import edited_bytes, edited_json

KINDS = ("<f8", ">f8", "<f4", "<i8", "<i4", "u1", "?", "c16", "<U3", "S3", "M8[s]", "O", "V8")
NUMBERS = (0.0, -1.0, 0.5, float("nan"), float("inf"), 1e308, 5e-324, 3.0, 2.0**63)


# NumPy


def edited_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """The array with another type, shape or entry."""
    way = rng.randrange(5)
    with suppress(ValueError, TypeError, OverflowError), np.errstate(all="ignore"):
        if way == 0:
            kind = rng.choice(KINDS)
            return array.astype("U").astype(kind) if kind == "O" else array.astype(kind)
        if way == 1:
            shapes = ((-1,), (1, -1), (-1, 1), (-1, 2), (0,), (), (*array.shape, 1))
            shape = rng.choice(shapes)
            return np.zeros(shape, array.dtype) if 0 in shape else array.reshape(shape)
        if way == 2:
            return np.resize(array, rng.choice(((3,), (6, 4), (7,), (1000,), (2, 2, 2))))
        if way == 3:
            return np.asfortranarray(array)
    changed = array.copy()
    if changed.size and changed.dtype.kind in "fiu":
        with suppress(ValueError, OverflowError):
            changed.flat[rng.randrange(changed.size)] = rng.choice(NUMBERS)
    return changed


def saved(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def described(rng: random.Random, content: bytes) -> bytes:
    """A .npy file that says something else of itself."""
    old, new = rng.choice(
        (
            (b"'<f8'", b"'<f4'"),
            (b"'<f8'", b"[('a', '<f8')]"),
            (b"'<i8'", b"'|O'"),
            (b"False", b"True"),
            (b"(", b"((" * 200),
            (b"}", b""),
            (b")", b", 1000000000000)"),
            (b"'shape'", b"'shapes'"),
            (b"(", b"(-"),
            (b"'descr'", b"'descr': '<f8', 'descr'"),
            (b"False", b"__import__('os').getpid()"),
        )
    )
    head, _, rest = content.partition(b"\n")
    text = head[10:].replace(old, new, 1).rstrip() + b"\n"
    version = rng.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + text + rest


def array_edit(name: str) -> Edit:
    """Edits of a .npy file as an array and as what it says of itself."""

    def edit(rng: random.Random, files: Files) -> Files:
        if rng.random() < 0.5:
            return {**files, name: described(rng, files[name])}
        array = np.load(io.BytesIO(files[name]))
        return {**files, name: saved(edited_array(rng, array))}

    return edit


def archive_edit(name: str) -> Edit:
    """Edits of an .npz file whose members are whole again afterwards."""

    def edit(rng: random.Random, files: Files) -> Files:
        with zipfile.ZipFile(io.BytesIO(files[name])) as archive:
            members = {entry: archive.read(entry) for entry in archive.namelist()}
        for _ in range(rng.choice((1, 1, 2))):
            _edit_member(rng, members)
        content = io.BytesIO()
        packing = rng.choice((zipfile.ZIP_STORED,) * 8 + (zipfile.ZIP_DEFLATED,))
        with zipfile.ZipFile(content, "w", packing) as archive:
            for entry, data in members.items():
                archive.writestr(entry, data)
        return {**files, name: content.getvalue()}

    return edit


def _edit_member(rng: random.Random, members: dict[str, bytes]) -> None:
    entry = rng.choice(["header.npy", *members]) if "header.npy" in members else "samples.npy"
    way = rng.randrange(12)
    if entry not in members or way == 0:
        members[rng.choice((entry, "x.npy", "../x.npy"))] = saved(np.zeros(1))
    elif way == 1:
        del members[entry]
    elif way == 2:
        members[entry] = edited_bytes(rng, members[entry])
    elif way == 3:
        members[entry] = described(rng, members[entry])
    else:
        with suppress(Exception):  # edited before, so that NumPy may not read it
            array = np.load(io.BytesIO(members[entry]))
            if entry == "header.npy":
                text = edited_json(rng, str(array).encode())
                array = np.array(text.decode("utf-8", "replace").replace("\0", ""))
            else:
                array = edited_array(rng, array)
            members[entry] = saved(array)


# SQLite

CELLS: tuple[Any, ...] = (
    *(
        None,
        0,
        1,
        -1,
        5,
        24,
        10**18,
        -(10**18),
        0.5,
        float("inf"),
        -1.0,
        1e300,
        "",
        "x",
        "1",
        "1.5",
    ),
    *("{}", "[]", "null", "NaN", '{"x": NaN}', '{"x": 1e999}', '{"x": "y"}', '{"draw": {"a": {}}}'),
    *('{"draw": true, "pair": 1}', '{"\\ud800": 1}', '{"x": ' + "9" * 5000 + "}", "[" * 50_000),
    *(b"", b"\xff\xfe", b"{}", "\x1b[31m\x07", "ä" * 1000, "0" * 100_000, '{"a": 1, "a": 2}'),
)
TABLES = {
    "about": ("name", "value"),
    "trials": ("number", "record", "seconds", "digest"),
    "failures": ("id", "number", "reason", "details"),
    "runs": ("id", "began", "workers", "place", "trials", "wall", "busy"),
}
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
SCHEMES = (
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} ADD COLUMN more TEXT",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    f"DROP TABLE {{table}}; CREATE VIEW {{table}} AS {ENDLESS} i AS {{column}} FROM n",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM trials; END",
    "CREATE TABLE more (a); INSERT INTO more VALUES (1)",
    "DELETE FROM {table}",
    "INSERT INTO trials SELECT number + 100, record, seconds, digest FROM trials",
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 7",
)


def database_edit(name: str) -> Edit:
    """Cells and tables are others; digests fit again more often than not."""

    def edit(rng: random.Random, files: Files) -> Files:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.deserialize(_without_log(files[name]))
            for _ in range(rng.choice((1, 1, 2))):
                with suppress(sqlite3.Error, OverflowError):
                    _edit_database(rng, database)
            if rng.random() < 0.7:
                with suppress(sqlite3.Error, UnicodeError):
                    _fit_digests(database)
            return {**files, name: database.serialize()}

    return edit


def _without_log(content: bytes) -> bytes:
    """A database of the kind that needs no log beside it; memory has none."""
    return content[:18] + b"\x01\x01" + content[20:]


def _edit_database(rng: random.Random, database: sqlite3.Connection) -> None:
    table = rng.choice(["trials", *TABLES])
    column = rng.choice(TABLES[table])
    if rng.random() < 0.2:
        database.executescript(rng.choice(SCHEMES).format(table=table, column=column))
        return
    rows = [row for (row,) in database.execute(f"SELECT rowid FROM {table} LIMIT 50")]
    cell = rng.choice(CELLS)
    if rows and table == "trials" and column in ("record", "seconds") and rng.random() < 0.5:
        (text,) = database.execute(f"SELECT {column} FROM trials").fetchone()
        cell = edited_json(rng, text.encode()).decode("utf-8", "replace")
    if rows:
        row = rng.choice(rows)
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (cell, row))


def _fit_digests(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT number, record, seconds FROM trials LIMIT 50").fetchall()
    for number, record, seconds in rows:
        digest = hashlib.sha256(f"{number}\n{record}\n{seconds}".encode()).hexdigest()
        database.execute("UPDATE trials SET digest = ? WHERE number = ?", (digest, number))


# Arrow and Parquet


def _values(rng: random.Random, n: int) -> list[Any]:
    """A column's values: of one strange kind, or whole numbers with strange ones among them."""
    whole = [rng.randrange(4) for _ in range(n)]
    odd: Any = rng.choice(
        (None, -1, 2**62, 1.5, float("nan"), "x", True, b"x", [1], {"a": 1}, 2**63)
    )
    return rng.choice(([odd] * n, [odd, *whole[1:]], whole, [float(x) for x in whole], whole[:-1]))


def column_edit(name: str, columns: tuple[str, ...], *, lists: bool) -> Edit:
    """A stream or a Parquet file with columns of other types, names, lengths and packings."""

    def edit(rng: random.Random, files: Files) -> Files:
        import pyarrow

        chosen = rng.choice([path for path in files if path.endswith(name)])
        n = rng.randrange(1, 5)
        table: dict[str, Any] = {}
        arrays = []
        for column in columns:
            values: Any = (
                [_values(rng, k) for k in range(1, n + 1)] if lists else _values(rng, n + 1)
            )
            arrays.append(_array(rng, pyarrow, values))
            table[column] = arrays[-1]
        if rng.random() < 0.15:
            table.pop(rng.choice(columns))
        names = [*table, *rng.choice(((), (), (), ("extra",), (columns[0],)))]
        arrays = [table.get(column, arrays[0]) for column in names]
        length = min(map(len, arrays))
        batch = pyarrow.RecordBatch.from_arrays([a[:length] for a in arrays], names=names)
        return {**files, chosen: _packed(rng, pyarrow, batch, chosen.endswith(".parquet"))}

    return edit


def _array(rng: random.Random, pyarrow: Any, values: Any) -> Any:
    """The values in some type of Arrow that takes them."""
    kinds = ("int8", "uint64", "float32", "string", "large_string", "bool_", "binary", "int64")
    made: Any = None
    for _ in range(4):
        inner = getattr(pyarrow, rng.choice(kinds))()
        lists = (pyarrow.list_(inner), pyarrow.large_list(inner), pyarrow.list_(inner, 2))
        kind = rng.choice((None, inner, *lists, pyarrow.list_(pyarrow.list_(inner))))
        with suppress(pyarrow.ArrowException, TypeError, ValueError, OverflowError):
            made = pyarrow.array(values, type=kind)
            break
    if made is None:
        made = pyarrow.nulls(len(values))
    if rng.random() < 0.1:
        with suppress(pyarrow.ArrowException):
            made = made.dictionary_encode()
    return made


def _packed(rng: random.Random, pyarrow: Any, batch: Any, as_parquet: bool) -> bytes:
    content = pyarrow.BufferOutputStream()
    if as_parquet:
        import pyarrow.parquet

        packing = rng.choice(("none", "snappy", "zstd", "gzip"))
        with suppress(pyarrow.ArrowException, NotImplementedError):
            table = pyarrow.Table.from_batches([batch])
            pyarrow.parquet.write_table(table, content, compression=packing)
        return content.getvalue().to_pybytes() or b"PAR1PAR1"
    make = rng.choice((pyarrow.ipc.new_stream, pyarrow.ipc.new_stream, pyarrow.ipc.new_file))
    options = pyarrow.ipc.IpcWriteOptions(compression=rng.choice((None, None, "lz4", "zstd")))
    with make(content, batch.schema, options=options) as writer:
        for _ in range(rng.choice((1, 1, 0, 2))):
            writer.write_batch(batch)
    packed: bytes = content.getvalue().to_pybytes()
    return packed if rng.random() < 0.6 else edited_bytes(rng, packed)


# HDF5


def tree_edit(name: str) -> Edit:
    """An HDF5 file with other arrays, links and attributes."""

    def edit(rng: random.Random, files: Files) -> Files:
        import h5py

        content = io.BytesIO(files[name])
        with h5py.File(content, "r+") as file:
            for _ in range(rng.choice((1, 1, 2))):
                with suppress(
                    ValueError, TypeError, KeyError, OSError, RuntimeError, OverflowError
                ):
                    _edit_group(rng, h5py, file)
        return {**files, name: content.getvalue()}

    return edit


def _edit_group(rng: random.Random, h5py: Any, file: Any) -> None:
    episode = rng.choice(list(file))
    group = file[episode]
    member = rng.choice(("observations", "actions"))
    way = rng.randrange(12)
    if way < 5 and getattr(group[member], "size", 10**6) < 10**6:
        array = edited_array(rng, np.array(group[member]))
        del group[member]
        group[member] = array
        return
    if way == 5:
        group.attrs["options/start_state"] = rng.choice(
            (-1, 7, "x", 2.5, [1, 2], np.zeros(3), True)
        )
        return
    if way == 6:
        file.move(episode, rng.choice(("episode_7", "other", "episode_00")))
        return
    del group[member]
    if way == 7:
        group[member] = rng.choice(
            (
                h5py.SoftLink(f"/{episode}/{member}"),
                h5py.SoftLink("/nowhere"),
                h5py.ExternalLink("/etc/passwd", "/x"),
                h5py.ExternalLink(".", "/"),
            )
        )
    elif way == 8:
        group.create_group(member)
    elif way == 9:
        kind = rng.choice((h5py.string_dtype(), h5py.vlen_dtype(np.int64), h5py.ref_dtype))
        group.create_dataset(member, (3,), dtype=kind)
    elif way == 10:
        shape = rng.choice(((10**12,), (10**9, 1), (10**7,), (49_000_000,)))
        group.create_dataset(member, shape, dtype="i8", chunks=(1000, *shape[1:]))
    else:
        data = np.arange(3)
        packed = {"compression": rng.choice(("gzip", "lzf")), "shuffle": True, "fletcher32": True}
        group.create_dataset(member, data=data, chunks=(3,), **packed)
