"""Kinds of files: told by what stands first, in files that our own writers made."""

import os
import threading

import numpy as np
import pytest

from didact.errors import InvalidFile
from didact.files.archives import write_archive
from didact.files.json import write_bytes, write_json
from didact.files.kinds import archive_kind, json_kind, require_kind, require_other


def test_files_of_one_format_are_known_in_any_version(tmp_path):
    write_json({"format": "didact.lesson/1", "x": 1}, tmp_path / "a")
    require_kind(tmp_path / "a", json_kind("didact.lesson/2"))
    require_kind(tmp_path / "a", json_kind("didact.run/1", "didact.lesson/1"))
    with pytest.raises(InvalidFile, match=r"is not a didact\.task file, so it is not replaced"):
        require_kind(tmp_path / "a", json_kind("didact.task/1"))
    with pytest.raises(InvalidFile, match="not replaced"):
        write_json({"format": "didact.lessons/1"}, tmp_path / "a")
    write_archive({"format": "didact.belief/1"}, {"x": np.zeros(3)}, tmp_path / "b")
    require_kind(tmp_path / "b", archive_kind("didact.belief/1"))
    with pytest.raises(InvalidFile, match="not replaced"):
        write_archive({"format": "didact.observed/1"}, {"x": np.zeros(3)}, tmp_path / "b")


def test_what_holds_nothing_or_is_no_file_is_no_obstacle(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    for name in ("empty", "missing"):
        require_kind(tmp_path / name, json_kind("didact.task/1"))
    require_kind(os.devnull, json_kind("didact.task/1"))
    require_other(tmp_path / "missing", [tmp_path / "missing", None, "\0"])


def test_of_many_writers_of_a_new_file_one_succeeds(tmp_path):
    for number in range(20):
        target, done, told = tmp_path / f"{number}", [], []
        start = threading.Barrier(4)

        def write(name, target=target, done=done, told=told, start=start):
            start.wait()
            try:
                write_bytes(name, target, kind=None, new=True)
                done.append(name)
            except InvalidFile as error:
                told.append("exists already" in str(error))

        writers = [threading.Thread(target=write, args=(bytes([65 + i]),)) for i in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert [target.read_bytes()] == done
        assert told == [True] * 3
    assert len(os.listdir(tmp_path)) == 20
