"""Texts from anything a path may name: never more than there may be, never for ever.

Pipes and devices as targets: written to where somebody reads, refused in one line where not.
"""

import os
import threading

import pytest

from didact.errors import InvalidFile
from didact.files import reading
from didact.files.json import require_writable, write_bytes, write_text
from didact.files.reading import open_file, read_lines, read_text, shown_path


def read_all_lines(path):
    return "".join(read_lines(path))


READERS = pytest.mark.parametrize("read", [read_text, read_all_lines])


@pytest.fixture
def piped(tmp_path):
    """A pipe that somebody writes to until nobody reads: piped(b"...", endless=True)."""
    writers = []

    def open_pipe(content: bytes, *, endless: bool = False):
        path = tmp_path / f"pipe{len(writers)}"
        os.mkfifo(path)

        def write():
            try:
                with open(path, "wb") as pipe:
                    pipe.write(content)
                    while endless:
                        pipe.write(content)
            except BrokenPipeError:
                pass

        writers.append(threading.Thread(target=write))
        writers[-1].start()
        return path

    yield open_pipe
    for writer in writers:
        writer.join()


@READERS
def test_files_and_pipes_are_read_whole(tmp_path, piped, read):
    text = "ä\n\nb\r\nlast" * 1000
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    assert read(path) == text
    assert read(piped(text.encode())) == text
    assert read(piped(b"")) == ""


@READERS
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/tty0"])
def test_devices_are_refused(read, device):
    if not os.path.exists(device):
        pytest.skip(f"there is no {device}")
    with pytest.raises(InvalidFile, match="must be a file; it is a device"):
        read(device)


@READERS
@pytest.mark.parametrize("line", [b"[[0, 0]]\n", b"["])
def test_an_endless_pipe_is_read_up_to_its_limit(monkeypatch, piped, read, line):
    monkeypatch.setattr(reading, "MAX_PIPED", 100_000)
    with pytest.raises(InvalidFile, match="must have at most 100000 bytes; it has more"):
        read(piped(line * 1000, endless=True))


@READERS
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(monkeypatch, tmp_path, read):
    monkeypatch.setattr(reading, "PATIENCE", 0)
    os.mkfifo(tmp_path / "idle")
    with pytest.raises(InvalidFile, match="is a pipe that nobody has written to"):
        read(tmp_path / "idle")


@READERS
def test_a_sparse_file_is_refused_by_its_size_or_at_its_first_zero(tmp_path, read):
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(2**31)
    with pytest.raises(InvalidFile, match="must have at most"):
        read(path)
    os.truncate(path, 300_000_000)
    with pytest.raises(InvalidFile, match="it is binary"):
        read(path)


@READERS
def test_other_bytes_and_other_places_are_refused(tmp_path, read):
    path = tmp_path / "binary"
    path.write_bytes(b"ab\n\xff\n")
    with pytest.raises(InvalidFile, match="must be a text file in UTF-8; it is binary"):
        read(path)
    for name, reason in ((tmp_path, "Is a directory"), ("x" * 300, "too long"), ("a\0b", "null")):
        with pytest.raises(InvalidFile, match=f"cannot be read: .*{reason}"):
            read(name)


def test_what_seeks_takes_no_pipe(tmp_path):
    os.mkfifo(tmp_path / "idle")
    with pytest.raises(InvalidFile, match="must be a file; it is a pipe"):
        open_file(tmp_path / "idle")


def test_a_very_long_path_is_shown_without_its_middle():
    assert shown_path("a" * 300) == "a" * 300
    shown = shown_path("a" * 100 + "b" * 5000 + "c" * 197)
    assert shown == "a" * 100 + "..." + "c" * 197


LONG = b"0123456789" * 100_000
"""More than a pipe holds at once."""


def test_a_pipe_that_nobody_reads_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PATIENCE", 0)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        InvalidFile, match="is a pipe that nobody reads, for 0 seconds; start its reader"
    ) as told:
        write_bytes(b"anything", tmp_path / "pipe", kind=None)
    assert str(told.value).count("cannot be written") == 1


def test_a_reader_may_come_after_the_writer(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    readers = []

    def look_again(seconds):
        if not readers:
            readers.append(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))

    monkeypatch.setattr(reading.time, "sleep", look_again)
    write_bytes(b"anything", tmp_path / "pipe", kind=None)
    assert os.read(readers[0], 100) == b"anything"
    os.close(readers[0])


@pytest.mark.parametrize("content", [b"", b"a few", LONG], ids=["nothing", "little", "much"])
def test_what_somebody_reads_arrives_whole(tmp_path, content):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)
    given = (content, tmp_path / "pipe")
    writer = threading.Thread(target=write_bytes, args=given, kwargs={"kind": None}, daemon=True)
    writer.start()
    taken = b""
    while len(taken) < len(content):
        taken += os.read(reader, 2**16)
    writer.join()
    os.close(reader)
    assert taken == content


def test_a_reader_that_takes_nothing_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PATIENCE", 0)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(InvalidFile, match="a pipe whose reader has taken nothing for 0 seconds"):
        write_bytes(LONG, tmp_path / "pipe", kind=None)
    os.close(reader)


def test_devices_are_written_to():
    write_text("anything", os.devnull, kind=None)
    with pytest.raises(InvalidFile, match="cannot be written: No space left on device"):
        write_text("anything", "/dev/full", kind=None)


def test_a_pipe_without_a_name_of_its_own_can_be_written():
    reader, writer = os.pipe()
    place = f"/dev/fd/{writer}"
    require_writable(place, None)
    write_bytes(b"anything", place, kind=None)
    os.close(writer)
    assert os.read(reader, 100) == b"anything"
    os.close(reader)
