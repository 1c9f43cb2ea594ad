"""Arrow streams that lie about themselves: each is refused or read as it stands, none ends us."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from didact.errors import InvalidFile
from didact.files.reading import Budget
from didact.mdp.recordings.arrow import read_columns, read_lists
from didact.mdp.recordings.imitation import DATA
from tests.effort import number
from tests.mdp.recordings.test_imitation import THEIRS

pyarrow = pytest.importorskip("pyarrow")

COLUMNS = ("obs", "acts")

EDITS = """
import struct, sys
from pathlib import Path
import pyarrow
from didact.errors import InvalidFile
from didact.files.reading import Budget
from didact.mdp.recordings.arrow import read_lists

content, target = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
first, step = int(sys.argv[3]), int(sys.argv[4])
names = pyarrow.ipc.open_stream(content).schema.names
wanted = pyarrow.ipc.IpcReadOptions(included_fields=[names.index("obs"), names.index("acts")])
tried = read = 0
for at in range(first, len(content) - 4, step):
    (word,) = struct.unpack_from("<i", content, at)
    for value in (-1, word + 1, 100_000_001, -(2**31), 2**31 - 1, word ^ 0x10000, 0):
        edited = bytearray(content)
        struct.pack_into("<I", edited, at, value % 2**32)
        target.write_bytes(edited)
        tried += 1
        try:
            found = list(read_lists(target, ("obs", "acts"), Budget((), 10**6)))
        except InvalidFile as error:
            assert "\\n" not in str(error)
            continue
        read += 1
        table = pyarrow.ipc.open_stream(edited, options=wanted).read_all().select(["obs", "acts"])
        table.validate(full=True)
        rows = table.to_pylist()
        assert found == [(row["obs"] or [], row["acts"] or []) for row in rows], at
print(tried, read)
"""


def streamed(path: Path, columns: dict, **options) -> Path:
    table = pyarrow.table(columns)
    with pyarrow.OSFile(str(path), "wb") as sink:
        write = pyarrow.ipc.IpcWriteOptions(**options)
        with pyarrow.ipc.new_stream(sink, table.schema, options=write) as writer:
            writer.write_table(table)
    return path


def lists(path: Path, most: int = 10**6):
    return list(read_lists(path, COLUMNS, Budget((), most)))


@pytest.mark.parametrize("source", ["short", "theirs"])
def test_thousands_of_edited_words_are_refused_or_read_as_they_stand(tmp_path, source):
    """In a process of its own, so that its end would be seen; every word, or every second one."""
    step = str(8 // number(1, 2))
    path = THEIRS / DATA
    if source == "short":
        columns = {"obs": [[0, 1], [2, 3, 4]], "acts": [[1], [0, 0]], "infos": [["{}"], None]}
        path = streamed(tmp_path / "short.arrow", columns)
    command = [sys.executable, "-c", EDITS, path, tmp_path / "edited.arrow", "0", step]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    tried, read = map(int, done.stdout.split())
    assert tried > 357
    assert 0 < read < tried


def test_packed_streams_are_read_and_weighed_first(tmp_path):
    columns = {"obs": [list(range(300))], "acts": [[7] * 299]}
    for packing in ("zstd", "lz4"):
        path = streamed(tmp_path / f"{packing}.arrow", columns, compression=packing)
        assert lists(path) == [(columns["obs"][0], columns["acts"][0])]
        content = path.read_bytes()
        at = content.index(struct.pack("<q", 300 * 8))
        lying = content[:at] + struct.pack("<q", 2**40) + content[at + 8 :]
        path.write_bytes(lying)
        with pytest.raises(InvalidFile, match="must unpack to at most 400000000 bytes"):
            lists(path)


def test_entries_are_counted_before_they_are_read(tmp_path):
    path = streamed(tmp_path / "a.arrow", {"obs": [[0] * 11], "acts": [[0] * 10]})
    assert len(lists(path, 23)) == 1
    with pytest.raises(InvalidFile, match="at most 22 in all"):
        lists(path, 22)
    nothing = pyarrow.array([[]] * 50, pyarrow.list_(pyarrow.int64(), 0))
    path = streamed(tmp_path / "b.arrow", {"obs": nothing, "acts": nothing})
    with pytest.raises(InvalidFile, match="at most 99 in all"):
        lists(path, 99)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"obs": [[1]]}, "must have the columns obs and acts; acts is missing"),
        ({"obs": [1], "acts": [[1]]}, "obs must be a list for each episode; it is int64"),
        ({"obs": [[[[[[[[1]]]]]]]], "acts": [[1]]}, "obs must be a list for each episode"),
        ({"obs": [[None]], "acts": [[1]]}, "obs must be a list for each episode"),
        ({"obs": [["a"]], "acts": [[1]]}, "obs must be a list for each episode"),
        ({"obs": [[{"a": 1}]], "acts": [[1]]}, "obs must be a list for each episode"),
    ],
)
def test_other_columns_are_refused(tmp_path, columns, words):
    with pytest.raises(InvalidFile, match=words):
        lists(streamed(tmp_path / "a.arrow", columns))


def test_a_column_that_stands_twice_is_refused(tmp_path):
    twice = pyarrow.Table.from_arrays(
        [pyarrow.array([[1]])] * 3, names=["obs", "acts", "obs"]
    ).to_batches()[0]
    with (
        pyarrow.OSFile(str(tmp_path / "a.arrow"), "wb") as sink,
        pyarrow.ipc.new_stream(sink, twice.schema) as writer,
    ):
        writer.write_batch(twice)
    with pytest.raises(InvalidFile, match="obs stands 2 times"):
        lists(tmp_path / "a.arrow")


def test_parquet_is_weighed_too(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": list(range(9)), "b": [1] * 9}), path)
    assert read_columns(path, ("b", "a"), Budget((), 18)) == ([1] * 9, list(range(9)))
    with pytest.raises(InvalidFile, match="at most 17 in all"):
        read_columns(path, ("b", "a"), Budget((), 17))
    parquet.write_table(pyarrow.table({"a": [0] * 6_000_000}), path)
    with pytest.raises(InvalidFile, match="at most"):
        read_columns(path, ("a",), Budget([path], 50_000_000))


@pytest.mark.parametrize(
    "content", [b"", b"ARROW1\0\0", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"PAR1"]
)
def test_foreign_and_cut_files_are_refused(tmp_path, content):
    for name in ("a.arrow", "a.parquet"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidFile, match="cannot be read"):
            read_columns(tmp_path / name, ("a",), Budget((), 10))
