"""Folders appear whole; what has the name already is never given up unasked."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from didact.errors import InvalidFile
from didact.files import folders
from didact.files.folders import rename_new, write_folder
from tests.effort import number


def is_ours(path: Path) -> bool:
    return (path / "ours").exists()


def fill(text):
    return lambda folder: (folder / "ours").write_text(text)


def left_behind(folder):
    return [name for name in os.listdir(folder) if name.endswith(".didact-tmp")]


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


def test_what_cannot_be_given_back_is_kept_under_another_name(tmp_path, system, monkeypatch):
    """Something else takes the name, and is gone again when it is to be given back."""
    if system == "without":
        pytest.skip("nothing is replaced there")
    target, real = tmp_path / "made", folders._renameat2

    def meanwhile(old, new, flag):
        if flag == folders.RENAME_EXCHANGE and (new / "ours").exists():
            shutil.rmtree(new)
            new.mkdir()
            (new / "precious").write_text("kept")
            made = real(old, new, flag)
            shutil.rmtree(new)
            return made
        return real(old, new, flag)

    write_folder(target, fill("old"), replace=False, is_such=is_ours)
    monkeypatch.setattr(folders, "_renameat2", meanwhile)
    with pytest.raises(InvalidFile, match=r"it is kept as .*\.kept"):
        write_folder(target, fill("new"), replace=True, is_such=is_ours)
    (kept,) = tmp_path.glob("made.*.kept")
    assert (kept / "precious").read_text() == "kept"


def in_child(work) -> int:
    """The exit code of work in a process of its own: 2 where it was refused; below 0 if killed."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except InvalidFile:
            os._exit(2)
        finally:
            os._exit(3)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(call: int) -> None:
    """Kill this process at so many of its calls that change files or flush them."""
    count = 0

    def counted(function):
        def call_it(*arguments, **options):
            nonlocal count
            count += 1
            if count == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call_it

    for name in ("fsync", "rename", "unlink", "rmdir", "mkdir", "open", "close", "link"):
        setattr(os, name, counted(getattr(os, name)))
    folders._renameat2 = counted(folders._renameat2)


def many(text):
    def write(folder):
        for name in ("ours", "more"):
            (folder / name).write_text(text)

    return write


def test_a_kill_at_any_call_leaves_the_old_or_the_new_folder(tmp_path, system):
    target, call, seen = tmp_path / "made", 0, set()
    while True:
        call += 1
        shutil.rmtree(target, ignore_errors=True)
        write_folder(target, many("old"), replace=False, is_such=is_ours)

        def replace(call=call):
            kill_at(call)
            write_folder(target, many("new"), replace=True, is_such=is_ours)

        code = ended(in_child(replace))
        texts = {(target / name).read_text() for name in ("ours", "more")}
        assert texts in ({"old"}, {"new"}), call
        seen |= texts
        for left in left_behind(tmp_path):
            assert left.startswith(".made.")
            shutil.rmtree(tmp_path / left)
        if code >= 0:
            break
    assert call > 8
    assert seen == ({"old"} if system == "without" else {"old", "new"})


def test_of_two_writers_of_one_name_one_succeeds(tmp_path):
    for race in range(number(4, 100)):
        target = tmp_path / f"made{race}"

        def write(target=target):
            write_folder(target, many(str(os.getpid())), replace=False, is_such=is_ours)

        children = [in_child(write) for _ in range(2)]
        codes = [ended(child) for child in children]
        assert sorted(codes) == [0, 2]
        winner = children[codes.index(0)]
        assert (target / "ours").read_text() == (target / "more").read_text() == str(winner)
    assert not left_behind(tmp_path)


def test_of_two_that_replace_one_name_both_succeed(tmp_path, system):
    if system == "without":
        pytest.skip("nothing is replaced there")
    target = tmp_path / "made"
    for _ in range(number(4, 100)):
        write_folder(target, many("old"), replace=True, is_such=is_ours)

        def write():
            write_folder(target, many(str(os.getpid())), replace=True, is_such=is_ours)

        children = [in_child(write) for _ in range(2)]
        assert [ended(child) for child in children] == [0, 0]
        text = (target / "ours").read_text()
        assert text == (target / "more").read_text()
        assert int(text) in children
    assert not left_behind(tmp_path)
