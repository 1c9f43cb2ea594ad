"""Pipes and devices as targets: written to where somebody reads, refused in one line where not."""

import os
import threading

import pytest

from didact.errors import InvalidFile
from didact.files import pipes
from didact.files.json import require_writable, write_bytes, write_text

LONG = b"0123456789" * 100_000
"""More than a pipe holds at once."""


def test_a_pipe_that_nobody_reads_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pipes, "PATIENCE", 0)
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

    monkeypatch.setattr(pipes.time, "sleep", look_again)
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
    monkeypatch.setattr(pipes, "PATIENCE", 0)
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
