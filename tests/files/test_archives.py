"""Arrays that NumPy saved, alone and in archives: plain numbers whole, all else refused before
memory is taken, bytes in any order read as this machine's."""

import os
import tracemalloc

import numpy as np
import pytest

from didact.errors import InvalidFile
from didact.files.archives import MAX_ENTRIES, Archive, read_array, write_archive


@pytest.mark.parametrize("kind", ["<i8", ">i4", "u1", "<f4", "<f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_numbers_are_read(tmp_path, kind, order):
    given = np.asarray(np.arange(12).reshape(3, 4), dtype=kind, order=order)
    np.save(tmp_path / "a.npy", given)
    found = read_array(tmp_path / "a.npy")
    assert (found.dtype, found.tolist()) == (given.dtype, given.tolist())


@pytest.mark.parametrize(
    "given",
    [
        np.ones((2, 2), bool),
        np.ones((2, 2), complex),
        np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["a", "b"]),
        np.array([b"a"]),
        np.zeros(2, "M8[s]"),
        np.array([print, 1], dtype=object),
    ],
    ids=lambda given: str(given.dtype),
)
def test_other_arrays_are_refused(tmp_path, given):
    np.save(tmp_path / "a.npy", given, allow_pickle=True)
    with pytest.raises(InvalidFile, match=r"a\.npy: must hold plain numbers"):
        read_array(tmp_path / "a.npy")


def sparse(path, shape, kind="<f8", *, n_bytes=None):
    """A file with such a header, and zeros that take no place on the disk."""
    with open(path, "wb") as file:
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        size = int(np.prod(shape)) * np.dtype(kind).itemsize if n_bytes is None else n_bytes
        file.truncate(file.tell() + size)


@pytest.mark.parametrize(
    ("shape", "kind", "n_bytes", "words"),
    [
        ((250_000_000,), "<f8", None, "must hold at most"),
        ((MAX_ENTRIES + 1,), "i1", None, "must hold at most"),
        ((10**9, 10**9), "<f8", 100, "must hold at most"),
        ((MAX_ENTRIES,), "<f8", 100, "no array that NumPy saved, or not whole"),
        ((3,), "<f8", 2**31, "no array that NumPy saved, or not whole"),
        ((3,), "<f8", 23, "no array that NumPy saved, or not whole"),
        ((-3,), "<f8", 0, "no array that NumPy saved, or not whole"),
    ],
)
def test_sizes_are_compared_before_memory_is_taken(tmp_path, shape, kind, n_bytes, words):
    sparse(tmp_path / "a.npy", shape, kind, n_bytes=n_bytes)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=words):
            read_array(tmp_path / "a.npy")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff{"])
def test_foreign_and_cut_files_are_refused(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InvalidFile, match="no array that NumPy saved"):
        read_array(tmp_path / "a.npy")


def test_devices_pipes_and_absent_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    os.symlink("/dev/zero", tmp_path / "zero.npy")
    for name, words in (("pipe", "a pipe"), ("zero", "a device"), ("no", "No such file")):
        with pytest.raises(InvalidFile, match=words):
            read_array(tmp_path / f"{name}.npy")


NUMBERS = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("order", "<>")
def test_bytes_in_any_order_are_read_as_the_same_numbers(order, tmp_path):
    path = tmp_path / "a.npz"
    write_archive({"format": "x/1"}, {"a": NUMBERS.astype(f"{order}f8")}, path)
    with open(path, "rb") as file, Archive(file, "x/1", {"a": "f"}, "save") as archive:
        assert archive.header() == {"format": "x/1"}
        found = archive.arrays()["a"]
    assert found.dtype.isnative
    assert found.tobytes() == NUMBERS.tobytes()
