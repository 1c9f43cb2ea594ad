"""Texts from anything a path may name: never more than there may be, never for ever."""

import os
import threading

import pytest

from didact.errors import InvalidFile
from didact.files import reading
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
