"""Folders appear whole; what has the name already is never given up unasked."""

import os
from pathlib import Path

import pytest

from didact.errors import InvalidFile
from didact.files import folders
from didact.files.folders import rename_new, write_folder


def is_ours(path: Path) -> bool:
    return (path / "ours").exists()


def fill(text):
    return lambda folder: (folder / "ours").write_text(text)


def left_behind(folder):
    return [name for name in os.listdir(folder) if name.startswith(".didact-")]


@pytest.fixture(params=["renameat2", "without"], autouse=True)
def system(request, monkeypatch):
    """With the system's call, and on a system that does not have it."""
    if request.param == "without":
        monkeypatch.setattr(folders, "_renameat2", lambda *_: False)
    return request.param


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    target = tmp_path / "made"

    def slow(folder):
        fill("new")(folder)
        target.mkdir()
        (target / "precious").write_text("kept")

    with pytest.raises(InvalidFile, match="exists already"):
        write_folder(target, slow, replace=False, is_such=is_ours)
    assert (target / "precious").read_text() == "kept"
    assert not left_behind(tmp_path)


def test_replacing_is_one_step_or_refused(tmp_path, system, monkeypatch):
    target = tmp_path / "made"
    write_folder(target, fill("old"), replace=False, is_such=is_ours)
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("the name is free for a moment"))
    if system == "without":
        with pytest.raises(InvalidFile, match="in one step"):
            write_folder(target, fill("new"), replace=True, is_such=is_ours)
    else:
        write_folder(target, fill("new"), replace=True, is_such=is_ours)
    assert (target / "ours").read_text() == ("old" if system == "without" else "new")
    assert not left_behind(tmp_path)


def test_what_is_of_another_kind_and_appears_meanwhile_is_not_replaced(tmp_path):
    target = tmp_path / "made"

    def slow(folder):
        fill("new")(folder)
        target.mkdir()
        (target / "precious").write_text("kept")

    with pytest.raises(InvalidFile, match="not replaced"):
        write_folder(target, slow, replace=True, is_such=is_ours)
    assert (target / "precious").read_text() == "kept"


def test_a_file_takes_only_a_name_that_is_free(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("one")
    rename_new(one, other)
    one.write_text("again")
    with pytest.raises(FileExistsError):
        rename_new(one, other)
    assert (one.read_text(), other.read_text()) == ("again", "one")
