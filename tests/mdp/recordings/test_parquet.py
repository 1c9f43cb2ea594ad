"""Parquet files whose few bytes unpack to millions of values, and files that hide it."""

import os
import sys

import numpy as np
import pytest

from didact.errors import InvalidFile
from didact.files.reading import Budget
from didact.mdp.recordings.arrow import read_columns
from didact.mdp.recordings.parquet import Footer
from tests.command_line import in_own_process

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = ("observations", "actions")
MANY = 5_000_000
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def written(path, observations, **options):
    table = pyarrow.table({"observations": observations, "actions": [0] * len(observations)})
    parquet.write_table(table, path, **options)
    assert os.path.getsize(path) < 1_000_000
    return path


def one_list(path, n=MANY, **options):
    """One row: a list of equal values."""
    values = pyarrow.array(np.zeros(n, np.int8))
    column = pyarrow.ListArray.from_arrays(pyarrow.array([0, n], pyarrow.int32()), values)
    return written(path, column, data_page_size=2**30, compression="zstd", **options)


def varint(n, size=0):
    """A number of Thrift's compact protocol, with as many bytes as wanted."""
    parts = []
    n *= 2  # zigzag
    while n > 127 or len(parts) + 1 < size:
        parts.append(n & 127 | 128)
        n >>= 7
    return bytes([*parts, n])


def read(path):
    return read_columns(path, COLUMNS, Budget([path], 100_000_000))


def cost(path):
    """What refusing or reading a file takes: kilobytes and seconds, in a process of its own."""
    code = """
import resource, sys
from pathlib import Path
from didact.files.reading import Budget
from didact.errors import InvalidFile
from didact.mdp.recordings.arrow import read_columns
try:
    read_columns(Path(sys.argv[1]), ("observations", "actions"), Budget(sys.argv[1:], 10**8))
except InvalidFile as error:
    print(str(error).replace(" ", "_"), end=" ")
used = resource.getrusage(resource.RUSAGE_SELF)
status = Path("/proc/self/status").read_text()  # ru_maxrss is that of the process before, too
print(status.partition("VmHWM:")[2].split()[0], used.ru_utime + used.ru_stime)
"""
    done = in_own_process(path, python=("-c", code))
    assert done.code == 0, done.err
    said, kilobytes, seconds = done.out.split()
    return said, int(kilobytes), float(seconds)


def test_values_are_counted_before_any_is_unpacked(tmp_path, monkeypatch):
    path = one_list(tmp_path / "a.parquet", 10_000)
    assert read(path) == ([[0] * 10_000], [0])
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", None)
    with pytest.raises(InvalidFile, match=r"has 10001 entries.* at most 9000 in all"):
        read_columns(path, COLUMNS, Budget((), 9_000))


@needs_linux
@pytest.mark.slow
def test_one_row_may_be_a_huge_list(tmp_path):
    said, kilobytes, seconds = cost(one_list(tmp_path / "a.parquet", 100_000_000))
    assert "may_hold_at_most_2000000_in_all" in said
    assert kilobytes < 1_000_000
    assert seconds < 10


@needs_linux
@pytest.mark.parametrize("inside", [False, True])
def test_a_long_text_may_stand_often(inside, tmp_path):
    """Once in the dictionary of its column, and one run of places in it."""
    places = pyarrow.array(np.zeros(10_000, np.int32))
    texts = pyarrow.DictionaryArray.from_arrays(places, ["x" * 900_000])
    if inside:
        texts = pyarrow.StructArray.from_arrays([texts, places], names=["a", "b"])
    many = {"dictionary_pagesize_limit": 2**21, "store_schema": False}
    said, kilobytes, seconds = cost(written(tmp_path / "a.parquet", texts, **many))
    assert "may_hold_at_most_2000000_in_all" in said
    assert kilobytes < 1_000_000
    assert seconds < 10


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_share_their_beginnings_are_refused(encoding, tmp_path):
    chosen = {"use_dictionary": False, "column_encoding": {"observations": encoding}}
    path = written(tmp_path / "a.parquet", ["x" * 50] * 9, **chosen)
    with pytest.raises(InvalidFile, match="texts are packed as differences"):
        read(path)


@pytest.mark.parametrize("claim", [0, 1, 10])
def test_a_footer_that_hides_its_values_is_seen_through(claim, tmp_path):
    """pyarrow unpacks what the pages hold, whatever the footer says."""
    path = one_list(tmp_path / "a.parquet")
    content = path.read_bytes()
    at = content.rindex(varint(MANY))
    assert at > len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    size = len(varint(MANY))
    path.write_bytes(content[:at] + varint(claim, size) + content[at + size :])
    with pytest.raises(InvalidFile, match="may hold at most 2000000 in all"):
        read(path)


def test_pages_say_what_they_unpack_to(tmp_path):
    path = written(tmp_path / "a.parquet", [7] * 9, use_dictionary=False, compression="zstd")
    content = path.read_bytes()
    assert read(path) == ([7] * 9, [0] * 9)
    size = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    at = content.index(b"\x15" + varint(0) + b"\x15")  # the header of the first page
    for n in (2**30, 2**31 - 1):
        head = b"\x15" + varint(0) + b"\x15" + varint(n, 5)
        lying = content[:at] + head + content[at + 4 + len(varint(72)) - 1 :]
        path.write_bytes(lying)
        with pytest.raises(InvalidFile, match=r"must unpack to at most|cannot be read"):
            read(path)
    assert size.num_values == 9


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_what_is_counted_is_what_pyarrow_counts(version, use_dictionary, compression, tmp_path):
    rows = [{"a": [i, 2], "b": f"s{i % 7}", "c": None if i % 3 else 0.5} for i in range(1000)]
    path = tmp_path / "a.parquet"
    written(
        path,
        rows,
        data_page_version=version,
        use_dictionary=use_dictionary,
        compression=compression,
        row_group_size=90,
        data_page_size=100,
    )
    file = parquet.ParquetFile(path)
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    with memoryview(path.read_bytes()) as view:
        for leaf in range(len(file.schema)):
            weight = Footer(view).weight([leaf])
            chunks = [group.column(leaf) for group in groups]
            assert weight.n_values == sum(chunk.num_values for chunk in chunks)
            headers = sum(chunk.total_uncompressed_size for chunk in chunks)
            assert 0 < weight.n_bytes <= headers
    assert read(path) == (rows, [0] * 1000)


def test_columns_that_share_their_pages_are_refused(tmp_path):
    """They would be walked once for each."""
    path = written(tmp_path / "a.parquet", list(range(1000)), compression="none")
    with memoryview(path.read_bytes()) as view:
        footer = Footer(view)
        footer.weight([0, 1])
        with pytest.raises(InvalidFile, match="more bytes than the file"):
            footer.weight([0] * 10)
        with pytest.raises(InvalidFile, match="lacks a column"):
            footer.weight([2])


def test_every_cut_and_every_changed_byte_of_the_headers_is_refused_or_read(tmp_path):
    """In no way does the walk fail otherwise, nor take long."""
    path = written(tmp_path / "a.parquet", [[1, 2], [3]], compression="none")
    content = path.read_bytes()
    seen = set()
    for at in range(len(content)):
        for value in (0, 0x15, 0x1C, 0x7F, 0xFF, content[at] ^ 1):
            edited = content[:at] + bytes([value]) + content[at + 1 :]
            with memoryview(edited) as view:
                try:
                    seen.add(Footer(view).weight([0, 1]).n_values)
                except InvalidFile as error:
                    seen.add("refused" if "\n" not in str(error) else str(error))
        with pytest.raises(InvalidFile), memoryview(content[:at]) as view:
            Footer(view).weight([0, 1])
    assert {5, "refused"} < seen
    assert [each for each in seen if isinstance(each, str)] == ["refused"]
